// Inserts 64-bit keys into a hash table (task hash/insert). A thread has several keys in flight: it
// reads the first sectors of all before it claims a slot for any. To look first costs nothing: a
// sector that is not in L2 is read in half the time of an atomic that has to wait for it there.
#include "hash.cuh"

constexpr int kKeys = 4;           // a thread
constexpr int kEvictions = 10000;  // of cuckoo tables

template <Probing P>
__device__ inline void insert(const u64* keys, u64* table, int n, unsigned slots) {
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
    if (key[k] == kEmpty) continue;
    unsigned hash = first_hash(key[k]);
    settle<P>(table, key[k], first_slot<P>(hash, slots), hash, slots, sector[k]);
  }
}

extern "C" __global__ void insert_linear(const u64* keys, u64* table, int n, unsigned slots) {
  insert<kLinear>(keys, table, n, slots);
}

extern "C" __global__ void insert_bucket(const u64* keys, u64* table, int n, unsigned slots) {
  insert<kBucket>(keys, table, n, slots);
}

// Into one of the slots of a bucket that were empty.
__device__ inline bool put(u64* table, unsigned bucket, u64 key, const Sector& s) {
  unsigned empty = equal(s, kEmpty);
  for (; empty; empty &= empty - 1)
    if (atomicCAS(&table[bucket + __ffs(empty) - 1], kEmpty, key) == kEmpty) return true;
  return false;
}

// Keys are all different. Where both buckets are full, one of the keys there has to move.
__device__ inline void settle_cuckoo(u64* table, u64 key, unsigned slots, const Sector& first) {
  if (put(table, cuckoo_first(key, slots), key, first)) return;
  unsigned bucket = cuckoo_second(key, slots);
  for (int step = 0; step < kEvictions; ++step) {
    if (put(table, bucket, key, load_shared_sector(table + bucket))) return;
    unsigned victim = bucket + first_hash(key + step) % kUnit;
    key = atomicExch(&table[victim], key);
    unsigned one = cuckoo_first(key, slots), two = cuckoo_second(key, slots);
    bucket = one == bucket ? two : one;
  }
}

extern "C" __global__ void insert_cuckoo(const u64* keys, u64* table, int n, unsigned slots) {
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
    sector[k] = load_shared_sector(table + cuckoo_first(key[k], slots));
#pragma unroll
  for (int k = 0; k < kKeys; ++k)
    if (key[k] != kEmpty) settle_cuckoo(table, key[k], slots, sector[k]);
}
