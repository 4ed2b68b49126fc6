// Cholesky factorization, a = l l^T (task linalg/cholesky), by tiles of 64 x 64. For each column of
// tiles, cholesky_panel makes the tiles below the diagonal of l, by products with the inverse of
// the tile on it, and cholesky_update subtracts their products from all tiles right of them. Its
// first block goes on to factor and invert the next tile on the diagonal while the others still
// multiply.
//
// w is the lower triangle of a on its way to l, in whole tiles: size is a multiple of 64, and what
// is beyond n is that of a unit matrix.

constexpr int TILE = 64, HALF = 32, STRIDE = TILE + 4, THREADS = 256;  // STRIDE: no bank twice

typedef float Tile[TILE][STRIDE];

__device__ inline void load_tile(Tile& tile, const float* from, int size) {
  for (int i = threadIdx.x; i < TILE * TILE / 4; i += THREADS) {
    int y = i / (TILE / 4), x = i % (TILE / 4) * 4;
    *reinterpret_cast<float4*>(&tile[y][x]) =
        *reinterpret_cast<const float4*>(from + (size_t)y * size + x);
  }
}

// A thread's 4 x 4 elements of a tile lie 16 apart.
__device__ inline int row_of(int i) {
  return threadIdx.x / 16 + 16 * i;
}

__device__ inline int column_of(int j) {
  return threadIdx.x % 16 + 16 * j;
}

// sum += a b^T
__device__ inline void add_product(float (&sum)[4][4], const Tile& a, const Tile& b) {
#pragma unroll 4
  for (int k = 0; k < TILE; k += 4) {
    float4 of_a[4], of_b[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      of_a[i] = *reinterpret_cast<const float4*>(&a[row_of(i)][k]);
      of_b[i] = *reinterpret_cast<const float4*>(&b[column_of(i)][k]);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int j = 0; j < 4; j++)
        sum[i][j] += of_a[i].x * of_b[j].x + of_a[i].y * of_b[j].y + of_a[i].z * of_b[j].z +
                     of_a[i].w * of_b[j].w;
  }
}

// One warp factors the half tile at t[first][first]; lane i has row i.
__device__ inline void factor_half(Tile& t, int first) {
  int lane = threadIdx.x % 32;
  float row[HALF];
#pragma unroll
  for (int k = 0; k < HALF; k++) row[k] = t[first + lane][first + k];
#pragma unroll
  for (int j = 0; j < HALF; j++) {
    row[j] *= rsqrtf(__shfl_sync(~0u, row[j], j));
#pragma unroll
    for (int k = j + 1; k < HALF; k++) row[k] -= row[j] * __shfl_sync(~0u, row[j], k);
  }
#pragma unroll
  for (int k = 0; k < HALF; k++) t[first + lane][first + k] = k <= lane ? row[k] : 0.0f;
}

// One warp inverts the triangle at t[first][first]; lane c makes column c.
__device__ inline void invert_half(Tile& inverse, const Tile& t, int first) {
  int lane = threadIdx.x % 32;
  float column[HALF];
#pragma unroll
  for (int i = 0; i < HALF; i++) {
    float sum = i == lane ? 1.0f : 0.0f;
#pragma unroll
    for (int k = 0; k < i; k++) sum -= t[first + i][first + k] * column[k];
    column[i] = __fdividef(sum, t[first + i][first + i]);
  }
#pragma unroll
  for (int i = 0; i < HALF; i++) inverse[first + i][first + lane] = column[i];
}

// A thread's four elements of a half tile: one column, rows 8 apart. sum += a b or a b^T of the
// half tiles that begin at a and b.
template <bool TRANSPOSED>
__device__ inline void add_half_product(float (&sum)[4], const float* a, const float* b) {
  int row = threadIdx.x / 32, column = threadIdx.x % 32;
#pragma unroll 8
  for (int k = 0; k < HALF; k++) {
    float of_b = TRANSPOSED ? b[column * STRIDE + k] : b[k * STRIDE + column];
#pragma unroll
    for (int i = 0; i < 4; i++) sum[i] += a[(row + 8 * i) * STRIDE + k] * of_b;
  }
}

__device__ inline void put_half(float* to, float scale, const float (&sum)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i++)
    to[(threadIdx.x / 32 + 8 * i) * STRIDE + threadIdx.x % 32] = scale * sum[i];
}

// t becomes its Cholesky factor, `inverse` the inverse of that. All threads call it.
__device__ inline void factor_tile(Tile& t, Tile& inverse) {
  float* corner = &t[HALF][0];
  bool first_warp = threadIdx.x < 32;
  for (int i = threadIdx.x; i < HALF * HALF; i += THREADS) {
    t[i / HALF][HALF + i % HALF] = 0;
    inverse[i / HALF][HALF + i % HALF] = 0;
  }
  __syncthreads();
  if (first_warp) {
    factor_half(t, 0);
    __syncwarp();
    invert_half(inverse, t, 0);
  }
  __syncthreads();
  float below[4] = {};  // the half tile below: its product with the inverse, transposed
  add_half_product<true>(below, corner, &inverse[0][0]);
  __syncthreads();
  put_half(corner, 1, below);
  __syncthreads();
  float square[4] = {};
  add_half_product<true>(square, corner, corner);
#pragma unroll
  for (int i = 0; i < 4; i++)
    t[HALF + threadIdx.x / 32 + 8 * i][HALF + threadIdx.x % 32] -= square[i];
  __syncthreads();
  if (first_warp) {
    factor_half(t, HALF);
    __syncwarp();
    invert_half(inverse, t, HALF);
  }
  float half[4] = {};  // of the inverse: -(inverse of the second) corner (inverse of the first)
  add_half_product<false>(half, corner, &inverse[0][0]);
  put_half(&inverse[HALF][0], -1, half);
  __syncthreads();
  float last[4] = {};
  add_half_product<false>(last, &inverse[HALF][HALF], &inverse[HALF][0]);
  __syncthreads();
  put_half(&inverse[HALF][0], 1, last);
  __syncthreads();
}

// A finished tile of l at tile row and column (y, x), and its inverse.
__device__ inline void store_factor(const Tile& t, const Tile& inverse, float* l, float* inverse_to,
                                    int n, int at) {
  for (int i = threadIdx.x; i < TILE * TILE; i += THREADS) {
    int y = i / TILE, x = i % TILE;
    inverse_to[i] = inverse[y][x];
    if (at + y < n && at + x < n) l[(size_t)(at + y) * n + at + x] = t[y][x];
  }
}

// w from a; 0 above the diagonal of l. A block for each 64 x 64 of the lower triangle and above.
extern "C" __global__ void __launch_bounds__(THREADS)
    cholesky_begin(const float* a, float* l, float* w, int n, int size) {
  for (int i = threadIdx.x; i < TILE * TILE; i += THREADS) {
    int y = blockIdx.y * TILE + i / TILE, x = blockIdx.x * TILE + i % TILE;
    bool inside = y < n && x < n;
    if (blockIdx.x > blockIdx.y) {
      if (inside) l[(size_t)y * n + x] = 0;
    } else {
      w[(size_t)y * size + x] = inside ? a[(size_t)y * n + x] : y == x ? 1.0f : 0.0f;
    }
  }
}

// The first tile on the diagonal.
extern "C" __global__ void __launch_bounds__(THREADS)
    cholesky_first(const float* w, float* l, float* inverse, int n, int size) {
  __shared__ Tile t, inverted;
  load_tile(t, w, size);
  __syncthreads();
  factor_tile(t, inverted);
  store_factor(t, inverted, l, inverse, n, 0);
}

// The tiles below the diagonal in tile column `step`, a block each.
extern "C" __global__ void __launch_bounds__(THREADS)
    cholesky_panel(float* w, float* l, const float* inverse, int n, int size, int step) {
  __shared__ Tile tile, inverted;
  int row = (step + 1 + blockIdx.x) * TILE, column = step * TILE;
  float* here = w + (size_t)row * size + column;
  load_tile(tile, here, size);
  load_tile(inverted, inverse, TILE);
  __syncthreads();
  float sum[4][4] = {};
  add_product(sum, tile, inverted);
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int y = row_of(i), x = column_of(j);
      here[(size_t)y * size + x] = sum[i][j];
      if (row + y < n) l[(size_t)(row + y) * n + column + x] = sum[i][j];
    }
}

// The lower triangle of tiles right of column `step`: block 0 has the next one on the diagonal.
extern "C" __global__ void __launch_bounds__(THREADS)
    cholesky_update(float* w, float* l, float* inverse, int n, int size, int step) {
  __shared__ Tile a, b;
  int ty = static_cast<int>((sqrtf(8.0f * blockIdx.x + 1) - 1) / 2);
  while ((ty + 1) * (ty + 2) / 2 <= blockIdx.x) ty++;
  while (ty * (ty + 1) / 2 > blockIdx.x) ty--;
  int tx = blockIdx.x - ty * (ty + 1) / 2;
  int row = (step + 1 + ty) * TILE, column = (step + 1 + tx) * TILE;
  load_tile(a, w + (size_t)row * size + step * TILE, size);
  load_tile(b, w + (size_t)column * size + step * TILE, size);
  __syncthreads();
  float sum[4][4] = {};
  add_product(sum, a, b);
  float* here = w + (size_t)row * size + column;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      size_t at = (size_t)row_of(i) * size + column_of(j);
      float value = here[at] - sum[i][j];
      if (blockIdx.x == 0) a[row_of(i)][column_of(j)] = value;
      else here[at] = value;
    }
  if (blockIdx.x != 0) return;
  __syncthreads();
  factor_tile(a, b);
  store_factor(a, b, l, inverse, n, row);
}
