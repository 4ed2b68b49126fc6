// Inserts 64-bit keys into a hash table (task hash/insert). A thread has several keys in flight: it
// tries the first slot of each without looking (below load 0.75 most are empty: one access), and
// only then reads whole sectors for those that met another key.
#include "hash.cuh"

constexpr int kKeys = 4;           // a thread
constexpr int kEvictions = 10000;  // of cuckoo tables

template <Probing P>
__device__ inline void insert(const u64* keys, u64* table, int n, unsigned slots) {
  int first = blockIdx.x * blockDim.x * kKeys + threadIdx.x;
  u64 key[kKeys], there[kKeys];
#pragma unroll
  for (int k = 0; k < kKeys; ++k) {
    int i = first + k * blockDim.x;
    key[k] = i < n ? __ldcs(&keys[i]) : kEmpty;
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

extern "C" __global__ void insert_linear(const u64* keys, u64* table, int n, unsigned slots) {
  insert<kLinear>(keys, table, n, slots);
}

extern "C" __global__ void insert_bucket(const u64* keys, u64* table, int n, unsigned slots) {
  insert<kBucket>(keys, table, n, slots);
}

// Into one of the slots of a bucket that are empty.
__device__ inline bool put(u64* table, unsigned bucket, u64 key) {
  unsigned empty = equal(load_shared_sector(table + bucket), kEmpty);
  for (; empty; empty &= empty - 1)
    if (atomicCAS(&table[bucket + __ffs(empty) - 1], kEmpty, key) == kEmpty) return true;
  return false;
}

// Keys are all different. Where both buckets are full, one of the keys there has to move.
__device__ inline void settle_cuckoo(u64* table, u64 key, unsigned slots) {
  if (put(table, cuckoo_first(key, slots), key)) return;
  unsigned bucket = cuckoo_second(key, slots);
  for (int step = 0; step < kEvictions; ++step) {
    if (put(table, bucket, key)) return;
    unsigned victim = bucket + first_hash(key + step) % kUnit;
    key = atomicExch(&table[victim], key);
    unsigned one = cuckoo_first(key, slots), two = cuckoo_second(key, slots);
    bucket = one == bucket ? two : one;
  }
}

extern "C" __global__ void insert_cuckoo(const u64* keys, u64* table, int n, unsigned slots) {
  int first = blockIdx.x * blockDim.x * kKeys + threadIdx.x;
  u64 key[kKeys], there[kKeys];
#pragma unroll
  for (int k = 0; k < kKeys; ++k) {
    int i = first + k * blockDim.x;
    key[k] = i < n ? __ldcs(&keys[i]) : kEmpty;
  }
#pragma unroll
  for (int k = 0; k < kKeys; ++k) {
    unsigned slot = cuckoo_first(key[k], slots) + first_hash(key[k]) % kUnit;
    there[k] = key[k] == kEmpty ? kEmpty : atomicCAS(&table[slot], kEmpty, key[k]);
  }
#pragma unroll
  for (int k = 0; k < kKeys; ++k)
    if (there[k] != kEmpty) settle_cuckoo(table, key[k], slots);
}
