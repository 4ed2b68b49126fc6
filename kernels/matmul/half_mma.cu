// c = a b of half-precision factors on tensor cores (task matmul/f16): a block makes BM x BN elements
// of c, a warp WM x WN of them by mma.sync, BK columns of a and rows of b at a time. While one tile
// is multiplied, the next STAGES - 1 are on their way by cp.async, and while 16 columns of it are
// multiplied, the next 16 come to registers. Tiles lie in shared memory row by row, in chunks of 16
// bytes whose order within a row depends on the row, so that ldmatrix and cp.async meet no bank
// twice.
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

constexpr int SLICES = BK / 16;  // of a tile, one multiplication each

static_assert(TILE_A % THREADS == 0 && (TILE - TILE_A) % THREADS == 0,
              "threads must share the loads evenly");
static_assert(THREADS % (8 * CHUNKS_A) == 0 && THREADS % (8 * CHUNKS_B) == 0,
              "a thread stays in its column, and in its place of the order");
static_assert(BK % 16 == 0 && WM % 16 == 0 && WN % 16 == 0, "whole matrices of mma.sync");

// Where chunk `at` of a row lies.
template <int CHUNKS>
__device__ inline int place(int row, int at) {
  return row * CHUNKS + (CHUNKS >= 8 ? at ^ (row & 7) : at ^ (row / 2 & 3));
}

__device__ inline unsigned address(const uint4* chunk) {
  return static_cast<unsigned>(__cvta_generic_to_shared(chunk));
}

// Eight halves, 0 if they lie outside. ALIGNED: rows are whole chunks; else the first `left` count.
template <bool ALIGNED>
__device__ inline void bring(uint4* to, const half* from, bool inside, int left) {
  if (ALIGNED) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to)), "l"(from),
                 "r"(inside ? 16 : 0)
                 : "memory");
    return;
  }
  unsigned words[4];
  const unsigned short* bits = reinterpret_cast<const unsigned short*>(from);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    unsigned low = inside && 2 * i < left ? bits[2 * i] : 0;
    unsigned high = inside && 2 * i + 1 < left ? bits[2 * i + 1] : 0;
    words[i] = high << 16 | low;
  }
  *to = make_uint4(words[0], words[1], words[2], words[3]);
}

// What a thread brings of every tile: of a, chunks of one column, STEP_A rows apart; of b likewise.
template <bool ALIGNED>
struct Supply {
  static constexpr int STEP_A = THREADS / CHUNKS_A, STEP_B = THREADS / CHUNKS_B;
  const half *a, *b;  // of the next tile
  int depth_a, depth_b, rows, columns;  // rows and columns: what is left from here on
  int to_a, to_b, n, k;

  __device__ Supply(const half* from_a, const half* from_b, int row, int column, int m, int n_,
                    int k_)
      : n(n_), k(k_) {
    int y = threadIdx.x / CHUNKS_A, x = threadIdx.x % CHUNKS_A;
    depth_a = x * CHUNK;
    rows = m - row - y;
    a = from_a + (size_t)(row + y) * k + depth_a;
    to_a = place<CHUNKS_A>(y, x);
    y = threadIdx.x / CHUNKS_B, x = threadIdx.x % CHUNKS_B;
    depth_b = y;
    columns = n - column - x * CHUNK;
    b = from_b + (size_t)y * n + column + x * CHUNK;
    to_b = TILE_A + place<CHUNKS_B>(y, x);
  }

  // Part `slice` of SLICES of the tile.
  __device__ void bring_slice(uint4* tile, int slice, const half* valid) const {
    constexpr int OF_A = TILE_A / THREADS, OF_B = (TILE - TILE_A) / THREADS;
#pragma unroll
    for (int i = 0; i < OF_A; i++)
      if (i * SLICES / OF_A == slice) {
        bool inside = i * STEP_A < rows && depth_a < k;
        bring<ALIGNED>(tile + to_a + i * STEP_A * CHUNKS_A,
                       inside ? a + (size_t)(i * STEP_A) * k : valid, inside, k - depth_a);
      }
#pragma unroll
    for (int i = 0; i < OF_B; i++)
      if (i * SLICES / OF_B == slice) {
        bool inside = depth_b + i * STEP_B < k && columns > 0;
        bring<ALIGNED>(tile + to_b + i * STEP_B * CHUNKS_B,
                       inside ? b + (size_t)(i * STEP_B) * n : valid, inside, columns);
      }
  }

  __device__ void next() {
    a += BK;
    b += (size_t)BK * n;
    depth_a += BK;
    depth_b += BK;
  }
};

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

// What a warp multiplies at once: its rows of a and columns of b, 16 deep.
struct Factors {
  unsigned a[TILES_M][4], b[TILES_N / 2][4];

  // The warp's tile begins at `row` and `column` of the block's.
  __device__ void load(const uint4* tile, int row, int column, int slice) {
    int lane = threadIdx.x % 32, depth = slice * 16;
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
      load_a(a[i], tile + place<CHUNKS_A>(row + i * 16 + lane % 16, depth / CHUNK + lane / 16));
#pragma unroll
    for (int j = 0; j < TILES_N / 2; j++)
      load_b(b[j], tile + TILE_A + place<CHUNKS_B>(depth + lane % 16,
                                                   (column + j * 16) / CHUNK + lane / 16));
  }
};

__device__ inline void multiply(float (&sum)[TILES_M][TILES_N][4], const Factors& f) {
#pragma unroll
  for (int i = 0; i < TILES_M; i++)
#pragma unroll
    for (int j = 0; j < TILES_N; j++)
      multiply(sum[i][j], f.a[i], f.b[j / 2][j % 2 * 2], f.b[j / 2][j % 2 * 2 + 1]);
}

__device__ inline void commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// The oldest tile on its way is there for all, and all are done with the one before.
__device__ inline void wait_for_tile() {
  asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
  __syncthreads();
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
  Supply<ALIGNED> supply(a, b, first_row, first_column, m, n, k);
#pragma unroll
  for (int s = 0; s < STAGES - 1; s++) {
#pragma unroll
    for (int slice = 0; slice < SLICES; slice++) supply.bring_slice(shared + s * TILE, slice, a);
    commit();
    supply.next();
  }
  wait_for_tile();
  Factors factors[2];
  factors[0].load(shared, row, column, 0);
  uint4 *now = shared, *next = shared + (STAGES - 1) * TILE;
  for (int depth = 0; depth < k; depth += BK) {
#pragma unroll
    for (int slice = 0; slice < SLICES; slice++) {
      if (slice + 1 < SLICES) {
        factors[(slice + 1) % 2].load(now, row, column, slice + 1);
        supply.bring_slice(next, slice, a);
      } else {
        supply.bring_slice(next, slice, a);
        commit();
        supply.next();
        wait_for_tile();
        next = now;
        now = now == shared + (STAGES - 1) * TILE ? shared : now + TILE;
        factors[(slice + 1) % 2].load(now, row, column, 0);
      }
      multiply(sum, factors[slice % 2]);
    }
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
