// c = a b (task matmul/f32) from tiles in shared memory: a block makes BM x BN elements of c, a
// thread TM x TN of them, BK columns of a and rows of b at a time. Tiles come by cp.async, which
// needs no registers; STAGES - 1 of them are on their way while one is multiplied.
//
// The lanes of a warp are LM x LN threads, in an order where lanes 2 apart share what they read of
// a and neighbours what they read of b: then a 16-byte read of shared memory takes the warp 2
// cycles instead of 4. A thread reads 4 columns of its rows of a at once.

#ifndef BM
#define BM 128
#define BN 128
#define BK 16
#define TM 8
#define TN 8
#define STAGES 2
#define PER_SM 2
#endif

constexpr int LM = 4, LN = 8;            // lanes of a warp
constexpr int WARPS_N = BN / (TN * LN);  // warps across
constexpr int THREADS = (BM / TM) * (BN / TN);
constexpr int STRIDE_A = BK + 4, STRIDE_B = BN;  // 4 more: rows of a begin in different banks
constexpr int TILE_A = BM * STRIDE_A, TILE = TILE_A + BK * STRIDE_B;
constexpr int FOURS_A = BM * BK / 4 / THREADS, FOURS_B = BK * BN / 4 / THREADS;  // a thread loads
constexpr int GROUP = 8;  // rows of tiles that are worked on together, to find b in the L2 cache

static_assert(TN % 4 == 0 && BK % 4 == 0, "loads are of four elements");
static_assert(BM % (TM * LM) == 0 && BN % (TN * LN) == 0, "warps must fill the tile");
static_assert(FOURS_A * 4 * THREADS == BM * BK && FOURS_B * 4 * THREADS == BK * BN,
              "threads must share the loads evenly");

__device__ inline void copy_async(float* to, const float* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"l"(__cvta_generic_to_shared(to)),
               "l"(from)
               : "memory");
}

__device__ inline void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until at most STAGES - 2 groups of this thread are under way.
__device__ inline void wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
}

// Four elements of a row to shared memory; 0 for what lies outside.
template <bool INSIDE>
__device__ inline void bring(float* to, const float* matrix, int row, int column, int rows,
                             int columns) {
  const float* from = matrix + (size_t)row * columns + column;
  if (INSIDE) return copy_async(to, from);
  for (int i = 0; i < 4; i++) to[i] = row < rows && column + i < columns ? from[i] : 0.0f;
}

template <bool INSIDE>
__device__ inline void bring_tile(float* tile, const float* a, const float* b, int row, int column,
                                  int depth, int m, int n, int k) {
#pragma unroll
  for (int i = 0; i < FOURS_A; i++) {
    int four = threadIdx.x + i * THREADS, y = four / (BK / 4), x = four % (BK / 4) * 4;
    bring<INSIDE>(tile + y * STRIDE_A + x, a, row + y, depth + x, m, k);
  }
#pragma unroll
  for (int i = 0; i < FOURS_B; i++) {
    int four = threadIdx.x + i * THREADS, y = four / (BN / 4), x = four % (BN / 4) * 4;
    bring<INSIDE>(tile + TILE_A + y * STRIDE_B + x, b, depth + y, column + x, k, n);
  }
}

__device__ inline float4 read4(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

__device__ inline float component(const float4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

__device__ inline void multiply_tile(float (&sum)[TM][TN], const float* a, const float* b) {
#pragma unroll
  for (int depth = 0; depth < BK; depth += 4) {
    float4 of_a[TM];
#pragma unroll
    for (int i = 0; i < TM; i++) of_a[i] = read4(a + i * LM * STRIDE_A + depth);
#pragma unroll
    for (int d = 0; d < 4; d++) {
      float4 of_b[TN / 4];
#pragma unroll
      for (int j = 0; j < TN / 4; j++) of_b[j] = read4(b + (depth + d) * STRIDE_B + j * LN * 4);
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++)
          sum[i][j] += component(of_a[i], d) * component(of_b[j / 4], j % 4);
    }
  }
}

template <bool INSIDE>
__device__ inline void store4(float* matrix, int row, int column, int rows, int columns,
                              const float* values) {
  float* to = matrix + (size_t)row * columns + column;
  if (INSIDE) {
    *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (row < rows && column + i < columns) to[i] = values[i];
}

template <bool INSIDE>
__device__ inline void make_tile(const float* a, const float* b, float* c, int m, int n, int k,
                                 int first_row, int first_column, float* shared) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int row = warp / WARPS_N * (TM * LM) + (lane / 16 * 2 + lane % 2);
  int column = warp % WARPS_N * (TN * LN) + lane / 2 % 8 * 4;
  float sum[TM][TN] = {};
  for (int stage = 0; stage < STAGES - 1; stage++) {
    if (stage * BK < k)
      bring_tile<INSIDE>(shared + stage * TILE, a, b, first_row, first_column, stage * BK, m, n, k);
    commit();
  }
  int now = 0, next = STAGES - 1;
  for (int depth = 0; depth < k; depth += BK) {
    wait();
    __syncthreads();  // this tile is there for all, and all are done with the one before
    int ahead = depth + (STAGES - 1) * BK;
    if (ahead < k)
      bring_tile<INSIDE>(shared + next * TILE, a, b, first_row, first_column, ahead, m, n, k);
    commit();
    const float* tile = shared + now * TILE;
    multiply_tile(sum, tile + row * STRIDE_A, tile + TILE_A + column);
    now = now + 1 == STAGES ? 0 : now + 1;
    next = next + 1 == STAGES ? 0 : next + 1;
  }
#pragma unroll
  for (int i = 0; i < TM; i++)
#pragma unroll
    for (int j = 0; j < TN; j += 4)
      store4<INSIDE>(c, first_row + row + i * LM, first_column + column + j * LN, m, n, sum[i] + j);
}

// A grid of one dimension, in the order: GROUP rows of tiles, column by column.
extern "C" __global__ void __launch_bounds__(THREADS, PER_SM)
    matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  extern __shared__ float4 memory[];
  int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
  int group = blockIdx.x / (GROUP * tiles_n), within = blockIdx.x % (GROUP * tiles_n);
  int rows = min(GROUP, tiles_m - group * GROUP);
  int first_row = (group * GROUP + within % rows) * BM, first_column = within / rows * BN;
  bool inside = first_row + BM <= m && first_column + BN <= n && k % BK == 0 && n % 4 == 0;
  float* shared = reinterpret_cast<float*>(memory);
  if (inside) make_tile<true>(a, b, c, m, n, k, first_row, first_column, shared);
  else make_tile<false>(a, b, c, m, n, k, first_row, first_column, shared);
}
