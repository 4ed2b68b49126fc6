// c = a b of half-precision factors on tensor cores (task matmul/f16): a block makes BM x BN elements
// of c, a warp WM x WN of them by mma.sync, BK columns of a and rows of b at a time. While one tile is
// multiplied, the next STAGES - 1 are on their way by cp.async. Tiles lie in shared memory row by
// row, in chunks of 16 bytes whose order within a row depends on the row, so that ldmatrix and
// cp.async meet no bank twice.
#include <cuda_fp16.h>

#ifndef BM
#define BM 128
#define BN 256
#define BK 64
#define WM 64
#define WN 64
#define STAGES 3
#endif

constexpr int WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32;
constexpr int CHUNK = 8;  // halves that are moved together
constexpr int CHUNKS_A = BK / CHUNK, CHUNKS_B = BN / CHUNK;
constexpr int TILE_A = BM * CHUNKS_A, TILE = TILE_A + BK * CHUNKS_B;
constexpr int TILES_M = WM / 16, TILES_N = WN / 8;
constexpr int GROUP = 8;  // rows of tiles that are worked on together, to find b in the L2 cache

static_assert(TILE_A % THREADS == 0 && (TILE - TILE_A) % THREADS == 0,
              "threads must share the loads evenly");
static_assert(BK % 16 == 0 && WM % 16 == 0 && WN % 16 == 0, "whole matrices of mma.sync");

// Where chunk `at` of a row lies.
template <int CHUNKS>
__device__ inline int place(int row, int at) {
  return row * CHUNKS + (CHUNKS >= 8 ? at ^ (row & 7) : at ^ (row / 2 & 3));
}

__device__ inline unsigned address(const uint4* chunk) {
  return static_cast<unsigned>(__cvta_generic_to_shared(chunk));
}

// Eight halves of a row from `column` on, 0 for what lies outside. ALIGNED: rows are whole chunks.
template <bool ALIGNED>
__device__ inline void bring(uint4* to, const half* matrix, int row, int column, int rows,
                             int columns) {
  bool inside = row < rows && column < columns;
  const half* from = inside ? matrix + (size_t)row * columns + column : matrix;
  if (ALIGNED) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to)), "l"(from),
                 "r"(inside ? 16 : 0)
                 : "memory");
    return;
  }
  unsigned words[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned short* bits = reinterpret_cast<const unsigned short*>(from) + 2 * i;
    unsigned low = inside && column + 2 * i < columns ? bits[0] : 0;
    unsigned high = inside && column + 2 * i + 1 < columns ? bits[1] : 0;
    words[i] = high << 16 | low;
  }
  *to = make_uint4(words[0], words[1], words[2], words[3]);
}

template <bool ALIGNED>
__device__ inline void bring_tile(uint4* tile, const half* a, const half* b, int row, int column,
                                  int depth, int m, int n, int k) {
#pragma unroll
  for (int i = 0; i < TILE_A / THREADS; i++) {
    int at = threadIdx.x + i * THREADS, y = at / CHUNKS_A, x = at % CHUNKS_A;
    bring<ALIGNED>(tile + place<CHUNKS_A>(y, x), a, row + y, depth + x * CHUNK, m, k);
  }
#pragma unroll
  for (int i = 0; i < (TILE - TILE_A) / THREADS; i++) {
    int at = threadIdx.x + i * THREADS, y = at / CHUNKS_B, x = at % CHUNKS_B;
    bring<ALIGNED>(tile + TILE_A + place<CHUNKS_B>(y, x), b, depth + y, column + x * CHUNK, k, n);
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ inline void load_a(unsigned (&r)[4], const uint4* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address(from))
               : "memory");
}

__device__ inline void load_b(unsigned (&r)[4], const uint4* from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address(from))
               : "memory");
}

__device__ inline void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The tile of a warp begins at `row` and `column` of the block's.
__device__ inline void multiply_tile(float (&sum)[TILES_M][TILES_N][4], const uint4* tile, int row,
                                     int column) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int depth = 0; depth < BK; depth += 16) {
    unsigned a[TILES_M][4], b[TILES_N / 2][4];
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
      load_a(a[i], tile + place<CHUNKS_A>(row + i * 16 + lane % 16, depth / CHUNK + lane / 16));
#pragma unroll
    for (int j = 0; j < TILES_N / 2; j++)
      load_b(b[j], tile + TILE_A + place<CHUNKS_B>(depth + lane % 16,
                                                   (column + j * 16) / CHUNK + lane / 16));
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
      for (int j = 0; j < TILES_N; j++)
        multiply(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
  }
}

__device__ inline void store_pair(float* c, int row, int column, int m, int n, float x, float y) {
  if (row >= m || column >= n) return;
  float* to = c + (size_t)row * n + column;
  if (n % 2 == 0) {
    *reinterpret_cast<float2*>(to) = make_float2(x, y);
    return;
  }
  to[0] = x;
  if (column + 1 < n) to[1] = y;
}

template <bool ALIGNED>
__device__ inline void make_tile(const half* a, const half* b, float* c, int m, int n, int k,
                                 int first_row, int first_column, uint4* shared) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int row = warp / WARPS_N * WM, column = warp % WARPS_N * WN;
  float sum[TILES_M][TILES_N][4] = {};
#pragma unroll
  for (int s = 0; s < STAGES - 1; s++)
    bring_tile<ALIGNED>(shared + s * TILE, a, b, first_row, first_column, s * BK, m, n, k);
  int now = 0, next = STAGES - 1;
  for (int depth = 0; depth < k; depth += BK) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();  // this tile is there for all, and all are done with the one before
    bring_tile<ALIGNED>(shared + next * TILE, a, b, first_row, first_column,
                        depth + (STAGES - 1) * BK, m, n, k);
    multiply_tile(sum, shared + now * TILE, row, column);
    now = now + 1 == STAGES ? 0 : now + 1;
    next = next + 1 == STAGES ? 0 : next + 1;
  }
  row += first_row + lane / 4;
  column += first_column + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < TILES_M; i++)
#pragma unroll
    for (int j = 0; j < TILES_N; j++) {
      const float* of = sum[i][j];
      store_pair(c, row + i * 16, column + j * 8, m, n, of[0], of[1]);
      store_pair(c, row + i * 16 + 8, column + j * 8, m, n, of[2], of[3]);
    }
}

// A grid of one dimension, in the order: GROUP rows of tiles, column by column.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    matmul(const half* a, const half* b, float* c, int m, int n, int k) {
  extern __shared__ uint4 memory[];
  int tiles_m = (m + BM - 1) / BM, tiles_n = (n + BN - 1) / BN;
  int group = blockIdx.x / (GROUP * tiles_n), within = blockIdx.x % (GROUP * tiles_n);
  int rows = min(GROUP, tiles_m - group * GROUP);
  int first_row = (group * GROUP + within % rows) * BM, first_column = within / rows * BN;
  if (k % CHUNK == 0 && n % CHUNK == 0)
    make_tile<true>(a, b, c, m, n, k, first_row, first_column, memory);
  else make_tile<false>(a, b, c, m, n, k, first_row, first_column, memory);
}
