// Systems of linear equations (task linalg/solve) by panels of 16 columns. A panel is factored in the
// registers of one block, with partial pivoting. For each, solve_rows exchanges rows of what is
// right of it and solves for its 16 rows of the upper triangle; solve_update subtracts their
// products from the rest, and the last of its blocks that have columns of the next panel goes on to
// factor it while the others still multiply. solve_back then goes up again, 32 rows at a time.
//
// w is a, padded with a unit matrix to `size`, a multiple of 32, with b right of it, `stride`
// numbers a row. moves says what solve_panel did to rows: 16 times where one at its top came from,
// how many others have changed, and of each of them where it is and where it came from.

constexpr int PANEL = 16, THREADS = 512, WARPS = THREADS / 32, BACK = 32;
constexpr int TILE_ROWS = 128, TILE_COLUMNS = 64;  // of solve_update

extern "C" __global__ void solve_begin(const float* a, const float* b, float* w, int n, int m,
                                       int size, int stride) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= stride) return;
  float value = row == column ? 1 : 0;
  if (column < size && row < n && column < n) value = a[(size_t)row * n + column];
  if (column >= size) {
    bool inside = row < n && column - size < m;
    value = inside ? b[(size_t)row * m + column - size] : 0;
  }
  w[(size_t)row * stride + column] = value;
}

// Rows in registers and in memory that is aligned to 16 bytes.
__device__ inline void load_row(float (&v)[PANEL], const float* from) {
#pragma unroll
  for (int c = 0; c < PANEL; c += 4) {
    float4 four = __ldcg(reinterpret_cast<const float4*>(from + c));  // of other blocks, perhaps
    v[c] = four.x, v[c + 1] = four.y, v[c + 2] = four.z, v[c + 3] = four.w;
  }
}

__device__ inline void store_row(float* to, const float (&v)[PANEL]) {
#pragma unroll
  for (int c = 0; c < PANEL; c += 4)
    *reinterpret_cast<float4*>(to + c) = make_float4(v[c], v[c + 1], v[c + 2], v[c + 3]);
}

struct Row {
  float4 v[PANEL / 4];
  int from;  // where it was at the start

  __device__ void put(const float (&row)[PANEL], int row_from) {
#pragma unroll
    for (int c = 0; c < PANEL; c += 4)
      v[c / 4] = make_float4(row[c], row[c + 1], row[c + 2], row[c + 3]);
    from = row_from;
  }

  __device__ void get(float (&row)[PANEL], int& row_from) const {
#pragma unroll
    for (int c = 0; c < PANEL; c += 4) {
      float4 four = v[c / 4];
      row[c] = four.x, row[c + 1] = four.y, row[c + 2] = four.z, row[c + 3] = four.w;
    }
    row_from = from;
  }
};

struct Pivots {
  Row pivot, top;        // rows that change places
  unsigned size[WARPS];  // of the largest element of each warp, as bits
  int row[WARPS], moved;
};

// The row of the largest element of the block, with what each thread has found.
__device__ inline int largest_row(Pivots& shared, unsigned size, int row) {
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned top = __reduce_max_sync(~0u, size);
  int leader = __ffs(__ballot_sync(~0u, size == top)) - 1;
  if (lane == leader) {
    shared.size[warp] = size;
    shared.row[warp] = row;
  }
  __syncthreads();
  size = lane < WARPS ? shared.size[lane] : 0;
  top = __reduce_max_sync(~0u, size);
  return shared.row[__ffs(__ballot_sync(~0u, size == top)) - 1];
}

// Column `j` of the panel, which is v[.][R] now: the largest element below comes to row j, and all
// rows below lose their part of that row, in the `fours` groups of four columns that are left.
template <int ROWS, int R>
__device__ inline void eliminate(float (&v)[ROWS][PANEL], int (&from)[ROWS], Pivots& shared, int j,
                                 int fours) {
  unsigned best = 0;
  int best_row = j, t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    unsigned bits = __float_as_uint(v[i][R]) & 0x7fffffffu;
    if ((i > 0 || t >= j) && bits >= best) best = bits, best_row = t + i * THREADS;
  }
  int pivot = largest_row(shared, best, best_row);
#pragma unroll
  for (int i = 0; i < ROWS; i++)
    if (t + i * THREADS == pivot) shared.pivot.put(v[i], from[i]);
  if (t == j) shared.top.put(v[0], from[0]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ROWS; i++)
    if (t + i * THREADS == pivot) shared.top.get(v[i], from[i]);
  if (t == j) shared.pivot.get(v[0], from[0]);
  float u[4], factor[ROWS];
  float4 first = shared.pivot.v[0];
  u[0] = first.x, u[1] = first.y, u[2] = first.z, u[3] = first.w;
  float reciprocal = __fdividef(1, u[R]);
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    bool below = i > 0 || t > j;
    factor[i] = below ? v[i][R] * reciprocal : 0;
    if (below) v[i][R] = factor[i];
#pragma unroll
    for (int c = R + 1; c < 4; c++) v[i][c] -= factor[i] * u[c];
  }
#pragma unroll
  for (int four = 1; four < PANEL / 4; four++) {
    if (four >= fours) break;
    float4 of = shared.pivot.v[four];
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      v[i][4 * four] -= factor[i] * of.x;
      v[i][4 * four + 1] -= factor[i] * of.y;
      v[i][4 * four + 2] -= factor[i] * of.z;
      v[i][4 * four + 3] -= factor[i] * of.w;
    }
  }
}

// Rows are turned by four columns.
template <int ROWS>
__device__ inline void turn(float (&v)[ROWS][PANEL]) {
#pragma unroll
  for (int i = 0; i < ROWS; i++)
#pragma unroll
    for (int c = 0; c < 4; c++) {
      float first = v[i][c];
#pragma unroll
      for (int four = 0; four < PANEL - 4; four += 4) v[i][four + c] = v[i][four + 4 + c];
      v[i][PANEL - 4 + c] = first;
    }
}

// What became of rows: see moves above.
template <int ROWS>
__device__ inline void store_panel(const float (&v)[ROWS][PANEL], const int (&from)[ROWS],
                                   Pivots& shared, float* panel, int* moves, int count, int stride,
                                   int at) {
  if (threadIdx.x == 0) shared.moved = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    int row = threadIdx.x + i * THREADS;
    if (row >= count) continue;
    store_row(panel + (size_t)row * stride, v[i]);
    if (row < PANEL) {
      moves[row] = at + from[i];
    } else if (from[i] != row) {
      int place = atomicAdd(&shared.moved, 1);
      moves[PANEL + 1 + 2 * place] = at + row;
      moves[PANEL + 2 + 2 * place] = at + from[i];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) moves[PANEL] = shared.moved;
}

// Rows `at` and below of the 16 columns from `at` on; a thread has ROWS of them, THREADS apart. The
// four columns that are being eliminated are always the first: then rows are turned.
template <int ROWS>
__device__ inline void factor_panel(float* w, int* moves, int size, int stride, int at) {
  __shared__ Pivots shared;
  float v[ROWS][PANEL];
  int from[ROWS], count = size - at;
  float* panel = w + (size_t)at * stride + at;
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    from[i] = threadIdx.x + i * THREADS;
#pragma unroll
    for (int c = 0; c < PANEL; c++) v[i][c] = 0;
    if (from[i] < count) load_row(v[i], panel + (size_t)from[i] * stride);
  }
#pragma unroll 1
  for (int j = 0; j < PANEL; j += 4) {
    int fours = (PANEL - j) / 4;
    eliminate<ROWS, 0>(v, from, shared, j, fours);
    eliminate<ROWS, 1>(v, from, shared, j + 1, fours);
    eliminate<ROWS, 2>(v, from, shared, j + 2, fours);
    eliminate<ROWS, 3>(v, from, shared, j + 3, fours);
    turn(v);
  }
  store_panel(v, from, shared, panel, moves, count, stride, at);
}

// The first panel.
extern "C" __global__ void __launch_bounds__(THREADS)
    solve_panel_2(float* w, int* moves, int size, int stride) {
  factor_panel<2>(w, moves, size, stride, 0);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    solve_panel_4(float* w, int* moves, int size, int stride) {
  factor_panel<4>(w, moves, size, stride, 0);
}

// A thread for each column right of the panel: all that it moves is read before it is written.
extern "C" __global__ void __launch_bounds__(128)
    solve_rows(float* w, const int* moves, int stride, int at) {
  __shared__ float l[PANEL][PANEL];
  for (int i = threadIdx.x; i < PANEL * PANEL; i += blockDim.x)
    l[i / PANEL][i % PANEL] = w[(size_t)(at + i / PANEL) * stride + at + i % PANEL];
  __syncthreads();
  int column = at + PANEL + blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= stride) return;
  float top[PANEL], other[PANEL];
  int moved = moves[PANEL];
#pragma unroll
  for (int j = 0; j < PANEL; j++) top[j] = w[(size_t)moves[j] * stride + column];
#pragma unroll
  for (int j = 0; j < PANEL; j++)
    if (j < moved) other[j] = w[(size_t)moves[PANEL + 2 + 2 * j] * stride + column];
#pragma unroll
  for (int j = 0; j < PANEL; j++)
    if (j < moved) w[(size_t)moves[PANEL + 1 + 2 * j] * stride + column] = other[j];
#pragma unroll
  for (int j = 0; j < PANEL; j++) {
#pragma unroll
    for (int k = 0; k < j; k++) top[j] -= l[j][k] * top[k];
    w[(size_t)(at + j) * stride + column] = top[j];
  }
}

// A block subtracts from 128 x 64 elements of what is below and right of the panel, a thread from
// 4 x 4. Blocks with the same columns follow each other.
__device__ inline void update_tile(float* w, int size, int stride, int at) {
  __shared__ float4 l[PANEL][TILE_ROWS / 4], u[PANEL][TILE_COLUMNS / 4];
  int next = at + PANEL, t = threadIdx.x;
  int row = next + blockIdx.x * TILE_ROWS, column = next + blockIdx.y * TILE_COLUMNS;
  int y = t / 4, x = t % 4 * 4;  // of l: 128 rows of 4 fours, stored transposed
  float4 four = make_float4(0, 0, 0, 0);
  if (row + y < size)
    four = *reinterpret_cast<const float4*>(w + (size_t)(row + y) * stride + at + x);
  float* to = reinterpret_cast<float*>(l) + x * TILE_ROWS + y;
  to[0] = four.x;
  to[TILE_ROWS] = four.y;
  to[2 * TILE_ROWS] = four.z;
  to[3 * TILE_ROWS] = four.w;
  y = t / 16, x = t % 16 * 4;  // of u: 16 rows of 16 fours
  if (y < PANEL)
    u[y][x / 4] = column + x < stride ? *reinterpret_cast<const float4*>(
                                            w + (size_t)(at + y) * stride + column + x)
                                      : make_float4(0, 0, 0, 0);
  __syncthreads();
  y *= 4;
  if (column + x >= stride) return;
  float* here = w + (size_t)(row + y) * stride + column + x;
  float4 sum[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    sum[i] = row + y + i < size ? *reinterpret_cast<const float4*>(here + (size_t)i * stride)
                                : make_float4(0, 0, 0, 0);
#pragma unroll
  for (int k = 0; k < PANEL; k++) {
    float4 of_u = u[k][x / 4], of_l = l[k][y / 4];
    float factor[4] = {of_l.x, of_l.y, of_l.z, of_l.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
      sum[i].x -= factor[i] * of_u.x;
      sum[i].y -= factor[i] * of_u.y;
      sum[i].z -= factor[i] * of_u.z;
      sum[i].w -= factor[i] * of_u.w;
    }
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (row + y + i < size) *reinterpret_cast<float4*>(here + (size_t)i * stride) = sum[i];
}

// Whether this block is the last of `blocks` to come here; the ticket is 0 again then.
__device__ inline bool is_last(unsigned* ticket, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(ticket, 1) == blocks - 1;
    if (last) *ticket = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

template <int ROWS>
__device__ inline void update(float* w, int* moves, unsigned* ticket, int size, int stride, int at) {
  update_tile(w, size, stride, at);
  if (blockIdx.y > 0 || !is_last(ticket, gridDim.x)) return;
  factor_panel<ROWS>(w, moves, size, stride, at + PANEL);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    solve_update_2(float* w, int* moves, unsigned* ticket, int size, int stride, int at) {
  update<2>(w, moves, ticket, size, stride, at);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    solve_update_4(float* w, int* moves, unsigned* ticket, int size, int stride, int at) {
  update<4>(w, moves, ticket, size, stride, at);
}

__device__ inline void load_part(float (&u)[BACK], const float* from) {
#pragma unroll
  for (int c = 0; c < BACK; c += 4) {
    float4 four = *reinterpret_cast<const float4*>(from + c);
    u[c] = four.x, u[c + 1] = four.y, u[c + 2] = four.z, u[c + 3] = four.w;
  }
}

// Rows `at` to `at` + 31 of x: every block makes them for itself, one of them for all, and subtracts
// what they contribute to 32 rows above. Eight warps have 32 right-hand sides, a warp four; lane i
// has row i.
extern "C" __global__ void __launch_bounds__(256)
    solve_back(float* w, float* x, int n, int m, int size, int stride, int at) {
  int lane = threadIdx.x % 32, row = blockIdx.y * BACK;
  int first = blockIdx.x * 32 + threadIdx.x / 32 * 4;  // right-hand side
  float u[BACK], c[4];
  load_part(u, w + (size_t)(at + lane) * stride + at);
#pragma unroll
  for (int s = 0; s < 4; s++)
    c[s] = first + s < m ? w[(size_t)(at + lane) * stride + size + first + s] : 0;
  float reciprocal = 1;
#pragma unroll
  for (int i = 0; i < BACK; i++)
    if (i == lane) reciprocal = 1 / u[i];
#pragma unroll
  for (int i = BACK - 1; i >= 0; i--) {
#pragma unroll
    for (int s = 0; s < 4; s++) {
      float solved = __shfl_sync(~0u, c[s] * reciprocal, i);
      c[s] = lane == i ? solved : lane < i ? c[s] - u[i] * solved : c[s];
    }
  }
  if (row == at) {
#pragma unroll
    for (int s = 0; s < 4; s++)
      if (at + lane < n && first + s < m) x[(size_t)(at + lane) * m + first + s] = c[s];
    return;
  }
  float* above = w + (size_t)(row + lane) * stride;
  float sum[4] = {};
  load_part(u, above + at);
#pragma unroll
  for (int i = 0; i < BACK; i++)
#pragma unroll
    for (int s = 0; s < 4; s++) sum[s] += u[i] * __shfl_sync(~0u, c[s], i);
#pragma unroll
  for (int s = 0; s < 4; s++)
    if (first + s < m) above[size + first + s] -= sum[s];
}
