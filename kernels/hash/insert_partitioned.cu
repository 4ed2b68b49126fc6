// Inserts 64-bit keys into a hash table (task hash/insert) in two passes. The first sorts the keys
// into bins by the region of the table where they belong: it moves them in order, tile by tile. The
// second inserts bin after bin, so that the part of the table in use stays in the L2 cache, and
// memory is read and written once where random access would do so for every key.
//
// A bin has room for `capacity` keys, a little more than its share. Where keys are so unequal that
// this is too few, the first pass inserts the rest itself: the order of inserts does not matter.
#include "hash.cuh"

constexpr int kBins = 256;     // as many as threads of a block of the first pass
constexpr int kItems = 16;     // keys a thread of the first pass
constexpr int kTile = kBins * kItems;
constexpr int kKeys = 4;       // a thread of the second pass
constexpr int kBinShift = 24;  // 32-bit hashes by their first 8 bits

__device__ inline unsigned bin_of(u64 key) { return first_hash(key) >> kBinShift; }

// The sum of what the threads before this one have.
__device__ inline unsigned sum_before(unsigned mine) {
  __shared__ unsigned of_warp[kBins / 32];
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, sum = mine;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    unsigned below = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += below;
  }
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  for (unsigned w = 0; w < warp; ++w) sum += of_warp[w];
  return sum - mine;
}

template <Probing P>
__device__ inline void partition(const u64* keys, u64* table, u64* binned, unsigned* taken, int n,
                                 unsigned slots, unsigned capacity) {
  __shared__ u64 tile[kTile];
  __shared__ unsigned count[kBins], start[kBins], base[kBins];
  int first = blockIdx.x * kTile;
  int total = min(n - first, kTile);
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
  unsigned mine = count[threadIdx.x];
  start[threadIdx.x] = sum_before(mine);
  if (mine) base[threadIdx.x] = atomicAdd(&taken[threadIdx.x], mine);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k)
    if (key[k] != kEmpty) tile[start[bin_of(key[k])] + rank[k]] = key[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    int i = k * kBins + threadIdx.x;
    if (i >= total) break;
    u64 moved = tile[i];
    unsigned bin = bin_of(moved), at = base[bin] + i - start[bin], hash = first_hash(moved);
    if (at < capacity)
      binned[bin * (size_t)capacity + at] = moved;
    else
      settle<P>(table, moved, first_slot<P>(hash, slots), hash, slots);
  }
}

extern "C" __global__ void __launch_bounds__(kBins)
    partition_linear(const u64* keys, u64* table, u64* binned, unsigned* taken, int n,
                     unsigned slots, unsigned capacity) {
  partition<kLinear>(keys, table, binned, taken, n, slots, capacity);
}

extern "C" __global__ void __launch_bounds__(kBins)
    partition_bucket(const u64* keys, u64* table, u64* binned, unsigned* taken, int n,
                     unsigned slots, unsigned capacity) {
  partition<kBucket>(keys, table, binned, taken, n, slots, capacity);
}

// Blocks in the order of the bins, as many for each.
template <Probing P>
__device__ inline void insert(u64* table, const u64* binned, const unsigned* taken,
                              unsigned slots, unsigned capacity) {
  unsigned blocks = gridDim.x / kBins, bin = blockIdx.x / blocks;
  unsigned first = blockIdx.x % blocks * (blockDim.x * kKeys) + threadIdx.x;
  unsigned count = min(taken[bin], capacity);
  u64 key[kKeys], there[kKeys];
#pragma unroll
  for (int k = 0; k < kKeys; ++k) {
    unsigned i = first + k * blockDim.x;
    key[k] = i < count ? __ldcs(&binned[bin * (size_t)capacity + i]) : kEmpty;
  }
#pragma unroll
  for (int k = 0; k < kKeys; ++k) {
    unsigned slot = first_slot<P>(first_hash(key[k]), slots);
    there[k] = key[k] == kEmpty ? kEmpty : atomicCAS(&table[slot], kEmpty, key[k]);
  }
#pragma unroll
  for (int k = 0; k < kKeys; ++k) {
    if (there[k] == kEmpty || there[k] == key[k]) continue;
    unsigned hash = first_hash(key[k]);
    settle<P>(table, key[k], next_slot<P>(first_slot<P>(hash, slots), hash, slots), hash, slots);
  }
}

extern "C" __global__ void insert_linear(u64* table, const u64* binned, const unsigned* taken,
                                         unsigned slots, unsigned capacity) {
  insert<kLinear>(table, binned, taken, slots, capacity);
}

extern "C" __global__ void insert_bucket(u64* table, const u64* binned, const unsigned* taken,
                                         unsigned slots, unsigned capacity) {
  insert<kBucket>(table, binned, taken, slots, capacity);
}
