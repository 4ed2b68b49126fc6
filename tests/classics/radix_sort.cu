// Stable sort of keys with values, eight bits a pass: count digits by block, scan the counts, scatter.
#include <cub/block/block_scan.cuh>

typedef unsigned int u32;
enum { THREADS = 128, ROUNDS = 4, TILE = THREADS * ROUNDS, DIGITS = 256, WARPS = THREADS / 32 };

// counts[digit * blocks + block]
extern "C" __global__ void radix_count(const u32* keys, u32* counts, int n, int shift) {
  __shared__ u32 count[DIGITS];
  int t = threadIdx.x;
  for (int d = t; d < DIGITS; d += THREADS) count[d] = 0;
  __syncthreads();
  for (int r = 0; r < ROUNDS; r++) {
    int i = blockIdx.x * TILE + r * THREADS + t;
    if (i < n) atomicAdd(&count[keys[i] >> shift & 255], 1u);
  }
  __syncthreads();
  for (int d = t; d < DIGITS; d += THREADS) counts[d * gridDim.x + blockIdx.x] = count[d];
}

// Where the first key of each digit and block goes: one block, an exclusive sum in place.
extern "C" __global__ void radix_scan(u32* counts, int n) {
  using Scan = cub::BlockScan<u32, THREADS>;
  __shared__ typename Scan::TempStorage temp;
  u32 before = 0, total;
  for (int first = 0; first < n; first += THREADS) {
    int i = first + threadIdx.x;
    u32 mine = i < n ? counts[i] : 0;
    Scan(temp).ExclusiveSum(mine, mine, total);
    if (i < n) counts[i] = before + mine;
    before += total;
    __syncthreads();
  }
}

// A round of 128 keys at a time, so that equal digits keep their order.
extern "C" __global__ void radix_scatter(const u32* keys, const u32* values, u32* to_keys, u32* to_values,
                                         const u32* starts, int n, int shift) {
  __shared__ u32 at[DIGITS], of_warp[WARPS][DIGITS];
  int t = threadIdx.x, warp = t / 32;
  for (int d = t; d < DIGITS; d += THREADS) at[d] = starts[d * gridDim.x + blockIdx.x];
  for (int r = 0; r < ROUNDS; r++) {
    for (int d = t; d < WARPS * DIGITS; d += THREADS) of_warp[d / DIGITS][d % DIGITS] = 0;
    __syncthreads();
    int i = blockIdx.x * TILE + r * THREADS + t;
    u32 key = i < n ? keys[i] : 0, digit = i < n ? key >> shift & 255 : DIGITS; // past the end: a digit of its own
    u32 same = __match_any_sync(~0u, digit), rank = __popc(same & ((1u << t % 32) - 1));
    if (i < n && rank == 0) of_warp[warp][digit] = __popc(same);
    __syncthreads();
    if (i < n) {
      u32 place = at[digit] + rank;
      for (int w = 0; w < warp; w++) place += of_warp[w][digit];
      to_keys[place] = key;
      to_values[place] = values[i];
    }
    __syncthreads();
    for (int d = t; d < DIGITS; d += THREADS)
      for (int w = 0; w < WARPS; w++) at[d] += of_warp[w][d];
    __syncthreads();
  }
}
