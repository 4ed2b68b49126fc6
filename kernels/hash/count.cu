// Counts how often 64-bit keys occur (task hash/count), one key a thread, as the text says.
#include "hash.cuh"

template <Probing P>
__device__ inline void count(const u64* keys, u64* table, unsigned* counts, int n,
                             unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 key = keys[i], there;
  unsigned hash = first_hash(key), slot = first_slot<P>(hash, slots);
  while ((there = atomicCAS(&table[slot], kEmpty, key)) != kEmpty && there != key)
    slot = next_slot<P>(slot, hash, slots);
  atomicAdd(&counts[slot], 1);
}

extern "C" __global__ void count_linear(const u64* keys, u64* table, unsigned* counts, int n,
                                        unsigned slots) {
  count<kLinear>(keys, table, counts, n, slots);
}

extern "C" __global__ void count_bucket(const u64* keys, u64* table, unsigned* counts, int n,
                                        unsigned slots) {
  count<kBucket>(keys, table, counts, n, slots);
}
