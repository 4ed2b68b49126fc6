// c = a b (task matmul/f32) from tiles in shared memory: a block makes BM x BN elements of c, a
// thread TM x TN of them, BK columns of a and rows of b at a time. While a tile is being multiplied
// the next one is on its way to registers; with BUFFERS = 2 it is stored beside the tile in use.
//
// The lanes of a warp are LM x LN threads; a thread's rows and columns come in fours that lie
// 4 LM and 4 LN apart, so that 16-byte reads of shared memory meet no bank twice.

#ifndef BM
#define BM 128
#define BN 128
#define BK 16
#define TM 8
#define TN 8
#define BUFFERS 2
#endif

constexpr int LM = 4, LN = 8;           // lanes of a warp
constexpr int WARPS_N = BN / (TN * LN); // warps across
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int BLOCKS = TM * TN * THREADS <= 128 * 128 ? 2 : 1; // on a multiprocessor, at least
constexpr int STRIDE_A = BM + 4, STRIDE_B = BN;                // a is kept transposed
constexpr int TILE_A = BK * STRIDE_A, TILE = TILE_A + BK * STRIDE_B;
constexpr int FOURS_A = BM * BK / 4 / THREADS, FOURS_B = BK * BN / 4 / THREADS; // a thread loads
constexpr int GROUP = 8; // rows of tiles that are worked on together, to find b in the L2 cache

static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0, "loads are of four elements");
static_assert(BM % (TM * LM) == 0 && BN % (TN * LN) == 0, "warps must fill the tile");
static_assert(FOURS_A * 4 * THREADS == BM * BK && FOURS_B * 4 * THREADS == BK * BN,
              "threads must share the loads evenly");

// Four elements of a row from `column` on; 0 for what lies outside.
template <bool INSIDE>
__device__ inline float4 load4(const float *matrix, int row, int column, int rows, int columns) {
  const float *from = matrix + (size_t)row * columns + column;
  if (INSIDE) return *reinterpret_cast<const float4 *>(from);
  float4 v = make_float4(0, 0, 0, 0);
  if (row >= rows) return v;
  if (column < columns) v.x = from[0];
  if (column + 1 < columns) v.y = from[1];
  if (column + 2 < columns) v.z = from[2];
  if (column + 3 < columns) v.w = from[3];
  return v;
}

template <bool INSIDE>
__device__ inline void store4(float *matrix, int row, int column, int rows, int columns, float4 v) {
  float *to = matrix + (size_t)row * columns + column;
  if (INSIDE) {
    *reinterpret_cast<float4 *>(to) = v;
    return;
  }
  if (row >= rows) return;
  if (column < columns) to[0] = v.x;
  if (column + 1 < columns) to[1] = v.y;
  if (column + 2 < columns) to[2] = v.z;
  if (column + 3 < columns) to[3] = v.w;
}

// What a thread brings of the next tile.
struct Staged {
  float4 a[FOURS_A], b[FOURS_B];

  template <bool INSIDE>
  __device__ void load(const float *from_a, const float *from_b, int row, int column, int depth,
                       int m, int n, int k) {
#pragma unroll
    for (int i = 0; i < FOURS_A; i++) {
      int four = threadIdx.x + i * THREADS;
      a[i] = load4<INSIDE>(from_a, row + four / (BK / 4), depth + four % (BK / 4) * 4, m, k);
    }
#pragma unroll
    for (int i = 0; i < FOURS_B; i++) {
      int four = threadIdx.x + i * THREADS;
      b[i] = load4<INSIDE>(from_b, depth + four / (BN / 4), column + four % (BN / 4) * 4, k, n);
    }
  }

  __device__ void store(float *tile) const {
#pragma unroll
    for (int i = 0; i < FOURS_A; i++) {
      int four = threadIdx.x + i * THREADS;
      float *to = tile + four % (BK / 4) * 4 * STRIDE_A + four / (BK / 4);
      to[0] = a[i].x;
      to[STRIDE_A] = a[i].y;
      to[2 * STRIDE_A] = a[i].z;
      to[3 * STRIDE_A] = a[i].w;
    }
#pragma unroll
    for (int i = 0; i < FOURS_B; i++) {
      int four = threadIdx.x + i * THREADS;
      float *to = tile + TILE_A + four / (BN / 4) * STRIDE_B + four % (BN / 4) * 4;
      *reinterpret_cast<float4 *>(to) = b[i];
    }
  }
};

// One row of a tile of a and of b, as a thread needs it.
struct Fragment {
  float a[TM], b[TN];

  __device__ void load(const float *tile, int row, int column, int depth) {
#pragma unroll
    for (int i = 0; i < TM; i += 4)
      *reinterpret_cast<float4 *>(a + i) =
          *reinterpret_cast<const float4 *>(tile + depth * STRIDE_A + row + i * LM);
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      *reinterpret_cast<float4 *>(b + j) =
          *reinterpret_cast<const float4 *>(tile + TILE_A + depth * STRIDE_B + column + j * LN);
  }
};

template <bool INSIDE>
__device__ inline void make_tile(const float *a, const float *b, float *c, int m, int n, int k,
                                 int first_row, int first_column, float *shared) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int row = warp / WARPS_N * (TM * LM) + lane / LN * 4;
  int column = warp % WARPS_N * (TN * LN) + lane % LN * 4;
  float sum[TM][TN] = {};
  Staged staged;
  staged.template load<INSIDE>(a, b, first_row, first_column, 0, m, n, k);
  staged.store(shared);
  __syncthreads();
  float *tile = shared;
  for (int depth = BK;; depth += BK) {
    bool more = depth < k;
    if (more) staged.template load<INSIDE>(a, b, first_row, first_column, depth, m, n, k);
    Fragment fragment[2];
    fragment[0].load(tile, row, column, 0);
#pragma unroll(INSIDE ? BK : 2)
    for (int d = 0; d < BK; d++) {
      if (d + 1 < BK) fragment[(d + 1) % 2].load(tile, row, column, d + 1);
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) sum[i][j] += fragment[d % 2].a[i] * fragment[d % 2].b[j];
    }
    if (!more) break;
    if (BUFFERS == 1)
      __syncthreads();
    else
      tile = tile == shared ? shared + TILE : shared;
    staged.store(tile);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store4<INSIDE>(c, first_row + row + i / 4 * 4 * LM + i % 4, first_column + column + j * LN, m,
                     n, make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]));
}

// A grid of one dimension, in the order: GROUP rows of tiles, column by column.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    matmul(const float *a, const float *b, float *c, int m, int n, int k) {
  extern __shared__ float4 memory[];
  int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
  int group = blockIdx.x / (GROUP * tiles_n), within = blockIdx.x % (GROUP * tiles_n);
  int rows = min(GROUP, tiles_m - group * GROUP);
  int first_row = (group * GROUP + within % rows) * BM, first_column = within / rows * BN;
  bool inside = first_row + BM <= m && first_column + BN <= n && k % BK == 0 && n % 4 == 0;
  float *shared = reinterpret_cast<float *>(memory);
  if (inside)
    make_tile<true>(a, b, c, m, n, k, first_row, first_column, shared);
  else
    make_tile<false>(a, b, c, m, n, k, first_row, first_column, shared);
}
