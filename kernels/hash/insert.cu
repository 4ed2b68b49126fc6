// Inserts 64-bit keys into a hash table (task hash/insert), one key a thread, as the text says.
#include "hash.cuh"

constexpr int kEvictions = 10000;

template <Probing P>
__device__ inline void insert(const u64* keys, u64* table, int n, unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 key = keys[i];
  unsigned hash = first_hash(key), slot = first_slot<P>(hash, slots);
  for (;;) {
    u64 there = atomicCAS(&table[slot], kEmpty, key);
    if (there == kEmpty || there == key) return;
    slot = next_slot<P>(slot, hash, slots);
  }
}

extern "C" __global__ void insert_linear(const u64* keys, u64* table, int n, unsigned slots) {
  insert<kLinear>(keys, table, n, slots);
}

extern "C" __global__ void insert_bucket(const u64* keys, u64* table, int n, unsigned slots) {
  insert<kBucket>(keys, table, n, slots);
}

__device__ inline bool put(u64* table, unsigned bucket, u64 key) {
  for (int i = 0; i < kUnit; ++i)
    if (atomicCAS(&table[bucket + i], kEmpty, key) == kEmpty) return true;
  return false;
}

// Keys are all different. Where both buckets are full, one of the keys there has to move.
extern "C" __global__ void insert_cuckoo(const u64* keys, u64* table, int n, unsigned slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 key = keys[i];
  if (put(table, cuckoo_first(key, slots), key)) return;
  unsigned bucket = cuckoo_second(key, slots);
  for (int step = 0; step < kEvictions; ++step) {
    if (put(table, bucket, key)) return;
    unsigned victim = bucket + first_hash(key + step) % kUnit;
    key = atomicExch(&table[victim], key);
    bucket = cuckoo_first(key, slots) == bucket ? cuckoo_second(key, slots)
                                                : cuckoo_first(key, slots);
  }
}
