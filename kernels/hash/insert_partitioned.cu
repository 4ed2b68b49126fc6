// Inserts 64-bit keys into an empty hash table (task hash/insert), sorted by region of the table
// first, so that each region is filled in shared memory and written once.
// ptx-lines: own
#include "partition.cuh"

constexpr int kAtOnce = 4;  // keys a thread

template <Probing P>
__device__ inline void fill(const u64* sorted, u64* table, const unsigned* bins, u64* list,
                              unsigned* spilled, unsigned slots, int bits) {
  extern __shared__ u64 taken[];
  Region region = region_of<P>(blockIdx.x, bits, slots);
  for (unsigned s = threadIdx.x; s < region.size; s += blockDim.x) taken[s] = kEmpty;
  __syncthreads();
  unsigned first = blockIdx.x ? bins[blockIdx.x - 1] : 0, last = bins[blockIdx.x];
  for (unsigned i = first + threadIdx.x; i < last; i += blockDim.x * kAtOnce) {
    u64 key[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      key[k] = i + k * blockDim.x < last ? __ldcs(&sorted[i + k * blockDim.x]) : kEmpty;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      if (key[k] != kEmpty && settle_in_region<P>(taken, region, key[k], slots) == kNone)
        spill(list, spilled, key[k]);
  }
  __syncthreads();
  for (unsigned s = threadIdx.x; s < region.size; s += blockDim.x)
    __stcs(&table[region.start + s], taken[s]);
}

extern "C" __global__ void __launch_bounds__(512)
    fill_linear(const u64* sorted, u64* table, const unsigned* bins, u64* list,
                  unsigned* spilled, unsigned slots, int bits) {
  fill<kLinear>(sorted, table, bins, list, spilled, slots, bits);
}

extern "C" __global__ void __launch_bounds__(512)
    fill_bucket(const u64* sorted, u64* table, const unsigned* bins, u64* list,
                  unsigned* spilled, unsigned slots, int bits) {
  fill<kBucket>(sorted, table, bins, list, spilled, slots, bits);
}

template <Probing P>
__device__ inline void insert_spilled(const u64* list, const unsigned* spilled, u64* table,
                                      unsigned slots) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  for (; i < *spilled; i += gridDim.x * blockDim.x) {
    unsigned hash = first_hash(list[i]);
    settle<P>(table, list[i], first_slot<P>(hash, slots), hash, slots);
  }
}

extern "C" __global__ void spilled_linear(const u64* list, const unsigned* spilled, u64* table,
                                          unsigned slots) {
  insert_spilled<kLinear>(list, spilled, table, slots);
}

extern "C" __global__ void spilled_bucket(const u64* list, const unsigned* spilled, u64* table,
                                          unsigned slots) {
  insert_spilled<kBucket>(list, spilled, table, slots);
}
