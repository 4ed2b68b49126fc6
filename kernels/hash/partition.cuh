// Keys sorted by region of the table where they belong, to be put there by region.cuh.
//
// A region's keys are a bin; there are 2^(coarse + fine) of them, by the first bits of the hash. In
// six launches: how many keys there are for each bin, where each begins, keys moved by the coarse
// bits, then by the fine ones, bin after bin into its region, and the rest into the table as it
// then is: keys that found no slot in their region (a few at each border), and, of bins with many
// more keys than others, what would keep one block busy when all others are done.
#pragma once
#include "hash.cuh"

constexpr unsigned kWarp = 0xffffffffu;
constexpr int kMost = 256;  // bins of one move; as many threads
constexpr int kItems = 16;  // keys a thread
constexpr int kTile = kMost * kItems;

__device__ inline unsigned bin_of(u64 key, int bits) {
  return (unsigned)((u64)first_hash(key) >> (32 - bits));
}

// The sum of what the threads of the block before this one have.
template <int Threads>
__device__ inline unsigned sum_before(unsigned mine) {
  __shared__ unsigned of_warp[Threads / 32];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = mine;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    unsigned before = __shfl_up_sync(kWarp, sum, d);
    if (lane >= d) sum += before;
  }
  __syncthreads();
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  for (unsigned w = 0; w < warp; ++w) sum += of_warp[w];
  return sum - mine;
}

// ---- how many, and from where ----

// Adds the keys' bins to `count`, in shared or in global memory.
__device__ inline void count_bins(const u64* keys, unsigned* count, int n, int bits) {
  constexpr int kAtOnce = 8;
  unsigned step = blockDim.x * kAtOnce;
  for (unsigned tile = blockIdx.x * step; tile < n; tile += gridDim.x * step) {
    u64 key[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      unsigned i = tile + k * blockDim.x + threadIdx.x;
      key[k] = i < n ? __ldcs(&keys[i]) : kEmpty;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (key[k] != kEmpty) atomicAdd(&count[bin_of(key[k], bits)], 1);
  }
}

// bins[1 << bits], zero before, with as many counters in shared memory.
extern "C" __global__ void __launch_bounds__(1024)
    partition_count(const u64* keys, unsigned* bins, int n, int bits) {
  extern __shared__ unsigned count[];
  for (int b = threadIdx.x; b < 1 << bits; b += blockDim.x) count[b] = 0;
  __syncthreads();
  count_bins(keys, count, n, bits);
  __syncthreads();
  for (int b = threadIdx.x; b < 1 << bits; b += blockDim.x)
    if (count[b]) atomicAdd(&bins[b], count[b]);
}

// The same for more bins than there is shared memory for.
extern "C" __global__ void __launch_bounds__(1024)
    partition_count_many(const u64* keys, unsigned* bins, int n, int bits) {
  count_bins(keys, bins, n, bits);
}

// One block: each bin's number of keys becomes where it begins, for the coarse bins too; and tiles
// of the second move, each within one coarse bin, are numbered: tiles[c] is the first of bin c.
extern "C" __global__ void __launch_bounds__(1024)
    partition_begin(unsigned* bins, unsigned* coarse_bins, unsigned* tiles, unsigned* rest, int n,
                    int coarse, int fine) {
  int all = 1 << (coarse + fine), each = (all + 1023) / 1024;
  int first = min((int)threadIdx.x * each, all), last = min(first + each, all);
  unsigned sum = 0;
  for (int b = first; b < last; ++b) sum += bins[b];
  sum = sum_before<1024>(sum);
  for (int b = first; b < last; ++b) {
    unsigned mine = bins[b];
    bins[b] = sum;
    sum += mine;
  }
  __syncthreads();
  int c = threadIdx.x;
  unsigned begin = c < 1 << coarse ? bins[c << fine] : n;
  unsigned end = c + 1 < 1 << coarse ? bins[(c + 1) << fine] : n;
  unsigned before = sum_before<1024>((end - begin + kTile - 1) / kTile);
  if (c < 1 << coarse) coarse_bins[c] = begin;
  if (c <= 1 << coarse) tiles[c] = before;
  if (c < 2) rest[c] = 0;
}

// ---- moved ----

// `total` keys from `keys` go to where the cursors of their digits are. The tile is put in order in
// shared memory first, and then written in runs.
__device__ inline void move(const u64* keys, u64* to, unsigned* cursor, int total, int bits,
                            unsigned mask, int shift) {
  __shared__ u64 tile[kTile];
  __shared__ unsigned count[kMost], start[kMost], base[kMost];
  auto digit = [=](u64 key) { return bin_of(key, bits) >> shift & mask; };
  u64 key[kItems];
  unsigned rank[kItems / 2] = {};  // two in one register: more warps fit
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    int i = k * kMost + threadIdx.x;
    key[k] = i < total ? __ldcs(&keys[i]) : kEmpty;
  }
  count[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k)
    if (key[k] != kEmpty) rank[k / 2] |= atomicAdd(&count[digit(key[k])], 1) << 16 * (k % 2);
  __syncthreads();
  unsigned mine = count[threadIdx.x], before = sum_before<kMost>(mine);
  start[threadIdx.x] = before;
  if (mine) base[threadIdx.x] = atomicAdd(&cursor[threadIdx.x], mine) - before;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    unsigned in_bin = rank[k / 2] >> 16 * (k % 2) & 0xffff;
    if (key[k] != kEmpty) tile[start[digit(key[k])] + in_bin] = key[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    int i = k * kMost + threadIdx.x;
    if (i < total) to[base[digit(tile[i])] + i] = tile[i];
  }
}

extern "C" __global__ void __launch_bounds__(kMost, 4)
    partition_coarse(const u64* keys, u64* binned, unsigned* coarse_bins, int n, int coarse,
                     int fine) {
  int first = blockIdx.x * kTile;
  move(keys + first, binned, coarse_bins, min(n - first, kTile), coarse + fine, kMost - 1, fine);
}

// After the first move the cursor of a coarse bin is where the next one begins.
extern "C" __global__ void __launch_bounds__(kMost, 4)
    partition_fine(const u64* binned, u64* sorted, unsigned* bins, const unsigned* coarse_bins,
                   const unsigned* tiles, int coarse, int fine) {
  __shared__ int first, total, bin;
  int c = threadIdx.x;
  if (c == 0) total = 0;
  __syncthreads();
  if (c < 1 << coarse && tiles[c] <= blockIdx.x && blockIdx.x < tiles[c + 1]) {
    bin = c;
    first = (c ? coarse_bins[c - 1] : 0) + (blockIdx.x - tiles[c]) * kTile;
    total = min((int)coarse_bins[c] - first, kTile);
  }
  __syncthreads();
  if (total == 0) return;
  move(binned + first, sorted, bins + (bin << fine), total, coarse + fine, (1u << fine) - 1, 0);
}
