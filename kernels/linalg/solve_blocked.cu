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

struct Pivots {
  unsigned size[WARPS];  // of the largest element of each warp, as bits
  int row[WARPS];
  float pivot[PANEL], top[PANEL];  // rows that change places
  int pivot_from, top_from, moved;
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

__device__ inline void put(float (&to)[PANEL], int& to_from, const float (&v)[PANEL], int from) {
#pragma unroll
  for (int c = 0; c < PANEL; c++) to[c] = v[c];
  to_from = from;
}

// Rows `at` and below of the 16 columns from `at` on; a thread has ROWS of them, THREADS apart. The
// column to eliminate is always the first: rows are turned by one with every column, and are in
// their order again after the last. from says where a row was at the start.
template <int ROWS>
__device__ inline void factor_panel(float* w, int* moves, int size, int stride, int at) {
  __shared__ Pivots shared;
  float v[ROWS][PANEL];
  int from[ROWS], count = size - at;
  float* panel = w + (size_t)at * stride + at;
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    from[i] = threadIdx.x + i * THREADS;
    if (from[i] < count) load_row(v[i], panel + (size_t)from[i] * stride);
    else
#pragma unroll
      for (int c = 0; c < PANEL; c++) v[i][c] = 0;
  }
#pragma unroll 1
  for (int j = 0; j < PANEL; j++) {
    unsigned best = 0;
    int best_row = j;
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      int row = threadIdx.x + i * THREADS;
      unsigned bits = __float_as_uint(v[i][0]) & 0x7fffffffu;
      if (row >= j && bits >= best) best = bits, best_row = row;
    }
    int pivot = largest_row(shared, best, best_row);
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      if (threadIdx.x + i * THREADS == pivot) put(shared.pivot, shared.pivot_from, v[i], from[i]);
    if (threadIdx.x == j) put(shared.top, shared.top_from, v[0], from[0]);
    __syncthreads();
    float u[PANEL], reciprocal = 1 / shared.pivot[0];
#pragma unroll
    for (int c = 1; c < PANEL; c++) u[c] = c < PANEL - j ? shared.pivot[c] : 0;
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      int row = threadIdx.x + i * THREADS;
      if (row == j) put(v[i], from[i], shared.pivot, shared.pivot_from);
      else if (row == pivot) put(v[i], from[i], shared.top, shared.top_from);
      float factor = row > j ? v[i][0] * reciprocal : 0, last = row > j ? factor : v[i][0];
#pragma unroll
      for (int c = 1; c < PANEL; c++) v[i][c - 1] = v[i][c] - factor * u[c];
      v[i][PANEL - 1] = last;
    }
  }
  if (threadIdx.x == 0) shared.moved = 0;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < ROWS; i++) {
    int row = threadIdx.x + i * THREADS;
    if (row >= count) continue;
    store_row(panel + (size_t)row * stride, v[i]);
    if (row < PANEL) moves[row] = at + from[i];
    else if (from[i] != row) {
      int place = atomicAdd(&shared.moved, 1);
      moves[PANEL + 1 + 2 * place] = at + row;
      moves[PANEL + 2 + 2 * place] = at + from[i];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) moves[PANEL] = shared.moved;
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

extern "C" __global__ void __launch_bounds__(THREADS)
    solve_panel_8(float* w, int* moves, int size, int stride) {
  factor_panel<8>(w, moves, size, stride, 0);
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

extern "C" __global__ void __launch_bounds__(THREADS)
    solve_update_8(float* w, int* moves, unsigned* ticket, int size, int stride, int at) {
  update<8>(w, moves, ticket, size, stride, at);
}

// Rows `at` to `at` + 31 of x: every block makes them for itself, one of them for all, and subtracts
// what they contribute to 32 rows above. Eight warps have 32 right-hand sides, a warp four; lane i
// has row i.
extern "C" __global__ void __launch_bounds__(256)
    solve_back(float* w, float* x, int n, int m, int size, int stride, int at) {
  int lane = threadIdx.x % 32, row = blockIdx.y * BACK;
  int first = blockIdx.x * 32 + threadIdx.x / 32 * 4;  // right-hand side
  const float* triangle = w + (size_t)(at + lane) * stride + at;
  float u[BACK], c[4];
#pragma unroll
  for (int i = 0; i < BACK; i++) u[i] = i >= lane ? triangle[i] : 0;
#pragma unroll
  for (int s = 0; s < 4; s++)
    c[s] = first + s < m ? w[(size_t)(at + lane) * stride + size + first + s] : 0;
#pragma unroll
  for (int i = BACK - 1; i >= 0; i--) {
    float diagonal = __shfl_sync(~0u, u[i], i);
#pragma unroll
    for (int s = 0; s < 4; s++) {
      float solved = __shfl_sync(~0u, c[s], i) / diagonal;
      c[s] = lane == i ? solved : c[s] - u[i] * solved;
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
#pragma unroll
  for (int i = 0; i < BACK; i++) {
    float factor = above[at + i];
#pragma unroll
    for (int s = 0; s < 4; s++) sum[s] += factor * __shfl_sync(~0u, c[s], i);
  }
#pragma unroll
  for (int s = 0; s < 4; s++)
    if (first + s < m) above[size + first + s] -= sum[s];
}
