// Counts how often 64-bit keys occur (task hash/count). A thread reads the first sectors of several
// keys before it goes on with any; most keys are there already and need no claim. Equal keys of a
// warp are counted by one of its lanes: else all wait for the counter of a frequent key.
#include "hash.cuh"

constexpr int kKeys = 4;  // a thread

template <Probing P>
__device__ inline void count(const u64* keys, u64* table, unsigned* counts, int n,
                             unsigned slots) {
  int first = blockIdx.x * blockDim.x * kKeys + threadIdx.x;
  u64 key[kKeys];
  Sector sector[kKeys];
#pragma unroll
  for (int k = 0; k < kKeys; ++k) {
    int i = first + k * blockDim.x;
    key[k] = i < n ? __ldcs(&keys[i]) : kEmpty;
  }
#pragma unroll
  for (int k = 0; k < kKeys; ++k)
    sector[k] = shared_sector_of(table, first_slot<P>(first_hash(key[k]), slots));
#pragma unroll
  for (int k = 0; k < kKeys; ++k) {
    unsigned same = __match_any_sync(0xffffffffu, key[k]);
    if (key[k] == kEmpty || __ffs(same) - 1 != threadIdx.x % 32) continue;
    unsigned hash = first_hash(key[k]), slot = first_slot<P>(hash, slots);
    slot = settle<P>(table, key[k], slot, hash, slots, sector[k]);
    atomicAdd(&counts[slot], __popc(same));
  }
}

extern "C" __global__ void count_linear(const u64* keys, u64* table, unsigned* counts, int n,
                                        unsigned slots) {
  count<kLinear>(keys, table, counts, n, slots);
}

extern "C" __global__ void count_bucket(const u64* keys, u64* table, unsigned* counts, int n,
                                        unsigned slots) {
  count<kBucket>(keys, table, counts, n, slots);
}
