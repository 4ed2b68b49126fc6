// Keys sorted into bins by the region of the table where they belong, in three launches: how many
// there are for each bin, where each bin begins, and the keys moved, tile by tile. What then goes
// through them in order keeps the part of the table in use in the L2 cache: memory is read and
// written once where random access would do so for every key.
#pragma once
#include "hash.cuh"

constexpr int kBins = 256;     // as many as threads of a block that moves keys
constexpr int kBinShift = 24;  // 32-bit hashes by their first 8 bits
constexpr int kItems = 16;     // keys a thread
constexpr int kTile = kBins * kItems;

__device__ inline unsigned bin_of(u64 key) { return first_hash(key) >> kBinShift; }

// The sum of what the threads of the block before this one have.
__device__ inline unsigned sum_before(unsigned mine) {
  __shared__ unsigned of_warp[kBins / 32];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = mine;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    unsigned before = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += before;
  }
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  for (unsigned w = 0; w < warp; ++w) sum += of_warp[w];
  return sum - mine;
}

// bins[kBins], zero before.
extern "C" __global__ void __launch_bounds__(kBins)
    partition_count(const u64* keys, unsigned* bins, int n) {
  __shared__ unsigned count[kBins];
  count[threadIdx.x] = 0;
  __syncthreads();
  for (long long tile = (long long)blockIdx.x * kTile; tile < n; tile += gridDim.x * kTile) {
    u64 key[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      long long i = tile + k * kBins + threadIdx.x;
      key[k] = i < n ? __ldcs(&keys[i]) : kEmpty;
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k)
      if (key[k] != kEmpty) atomicAdd(&count[bin_of(key[k])], 1);
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], count[threadIdx.x]);
}

// One block: each bin's number of keys becomes where it begins.
extern "C" __global__ void __launch_bounds__(kBins) partition_begin(unsigned* bins) {
  unsigned mine = bins[threadIdx.x];
  bins[threadIdx.x] = sum_before(mine);
}

// A tile is put in order in shared memory, and then written in runs of about kItems keys.
extern "C" __global__ void __launch_bounds__(kBins)
    partition_move(const u64* keys, u64* binned, unsigned* bins, int n) {
  __shared__ u64 tile[kTile];
  __shared__ unsigned count[kBins], start[kBins], to[kBins];
  int first = blockIdx.x * kTile, total = min(n - first, kTile);
  u64 key[kItems];
  unsigned rank[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    int i = k * kBins + threadIdx.x;
    key[k] = i < total ? __ldcs(&keys[first + i]) : kEmpty;
  }
  count[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k)
    if (key[k] != kEmpty) rank[k] = atomicAdd(&count[bin_of(key[k])], 1);
  __syncthreads();
  unsigned mine = count[threadIdx.x], before = sum_before(mine);
  start[threadIdx.x] = before;
  if (mine) to[threadIdx.x] = atomicAdd(&bins[threadIdx.x], mine) - before;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k)
    if (key[k] != kEmpty) tile[start[bin_of(key[k])] + rank[k]] = key[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    int i = k * kBins + threadIdx.x;
    if (i < total) binned[to[bin_of(tile[i])] + i] = tile[i];
  }
}
