// Counts how often 64-bit keys occur (task hash/count), sorted by region of the table first, so
// that keys and counters of each region are made in shared memory and written once.
// ptx-lines: own
#include "partition.cuh"

constexpr int kAtOnce = 4;  // keys a thread
constexpr unsigned kWarp = 0xffffffffu;

// All lanes of a warp, some with kNone. Of those that count the slot which the first of them has,
// one counts for all: else all would wait for the counter of a frequent key.
__device__ inline void count_in_region(unsigned* count, unsigned slot) {
  unsigned lane = threadIdx.x % 32, asks = __ballot_sync(kWarp, slot != kNone);
  int first = asks ? __ffs(asks) - 1 : 0;
  unsigned same = __ballot_sync(kWarp, slot == __shfl_sync(kWarp, slot, first));
  if (slot == kNone) return;
  if (lane == first)
    atomicAdd(&count[slot], __popc(same));
  else if (!(same >> lane & 1))
    atomicAdd(&count[slot], 1);
}

template <Probing P>
__device__ inline void fill(const u64* sorted, u64* table, unsigned* counts, const unsigned* bins,
                             u64* list, unsigned* spilled, unsigned slots, int bits) {
  extern __shared__ u64 taken[];
  Region region = region_of<P>(blockIdx.x, bits, slots);
  unsigned* count = (unsigned*)(taken + region.size);
  for (unsigned s = threadIdx.x; s < region.size; s += blockDim.x) {
    taken[s] = kEmpty;
    count[s] = 0;
  }
  __syncthreads();
  unsigned first = blockIdx.x ? bins[blockIdx.x - 1] : 0, last = bins[blockIdx.x];
  for (unsigned tile = first; tile < last; tile += blockDim.x * kAtOnce) {
    u64 key[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      unsigned i = tile + k * blockDim.x + threadIdx.x;
      key[k] = i < last ? __ldcs(&sorted[i]) : kEmpty;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      unsigned slot = kNone;
      if (key[k] != kEmpty) slot = settle_in_region<P>(taken, region, key[k], slots);
      if (key[k] != kEmpty && slot == kNone) spill(list, spilled, key[k]);
      count_in_region(count, slot);
    }
  }
  __syncthreads();
  for (unsigned s = threadIdx.x; s < region.size; s += blockDim.x) {
    __stcs(&table[region.start + s], taken[s]);
    __stcs(&counts[region.start + s], count[s]);
  }
}

extern "C" __global__ void __launch_bounds__(512)
    fill_linear(const u64* sorted, u64* table, unsigned* counts, const unsigned* bins, u64* list,
                 unsigned* spilled, unsigned slots, int bits) {
  fill<kLinear>(sorted, table, counts, bins, list, spilled, slots, bits);
}

extern "C" __global__ void __launch_bounds__(512)
    fill_bucket(const u64* sorted, u64* table, unsigned* counts, const unsigned* bins, u64* list,
                 unsigned* spilled, unsigned slots, int bits) {
  fill<kBucket>(sorted, table, counts, bins, list, spilled, slots, bits);
}

template <Probing P>
__device__ inline void count_spilled(const u64* list, const unsigned* spilled, u64* table,
                                     unsigned* counts, unsigned slots) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i < *spilled; i += gridDim.x * blockDim.x) {
    unsigned hash = first_hash(list[i]);
    unsigned slot = settle<P>(table, list[i], first_slot<P>(hash, slots), hash, slots);
    atomicAdd(&counts[slot], 1);
  }
}

extern "C" __global__ void spilled_linear(const u64* list, const unsigned* spilled, u64* table,
                                          unsigned* counts, unsigned slots) {
  count_spilled<kLinear>(list, spilled, table, counts, slots);
}

extern "C" __global__ void spilled_bucket(const u64* list, const unsigned* spilled, u64* table,
                                          unsigned* counts, unsigned slots) {
  count_spilled<kBucket>(list, spilled, table, counts, slots);
}
