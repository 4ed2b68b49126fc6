// Looks up 64-bit keys in a hash table (task hash/find), one query a thread, as the text says.
#include "hash.cuh"

extern "C" __global__ void find_linear(const u64* table, const u64* queries, unsigned* at, int n,
                                       unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 query = queries[i];
  unsigned slot = place(first_hash(query), slots);
  while (table[slot] != query && table[slot] != kEmpty)
    slot = next_slot<kLinear>(slot, 0, slots);
  at[i] = table[slot] == query ? slot : kNone;
}

// The slot of a key in a bucket, or kNone; whether none of its slots is empty.
__device__ inline unsigned search(const u64* table, unsigned bucket, u64 query, bool* full) {
  *full = true;
  for (unsigned slot = bucket; slot < bucket + kUnit; ++slot) {
    if (table[slot] == query) return slot;
    if (table[slot] == kEmpty) *full = false;
  }
  return kNone;
}

extern "C" __global__ void find_bucket(const u64* table, const u64* queries, unsigned* at, int n,
                                       unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 query = queries[i];
  unsigned bucket = place(first_hash(query), slots / kUnit) * kUnit;
  bool full;
  unsigned slot = search(table, bucket, query, &full);
  while (slot == kNone && full) {
    bucket = bucket + kUnit == slots ? 0 : bucket + kUnit;
    slot = search(table, bucket, query, &full);
  }
  at[i] = slot;
}

extern "C" __global__ void find_cuckoo(const u64* table, const u64* queries, unsigned* at, int n,
                                       unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 query = queries[i];
  bool full;
  unsigned slot = search(table, cuckoo_first(query, slots), query, &full);
  at[i] = slot != kNone ? slot : search(table, cuckoo_second(query, slots), query, &full);
}
