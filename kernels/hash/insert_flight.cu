// Inserts 64-bit keys into a hash table (task hash/insert). A thread has several keys, and takes the
// next when one is done: it does not wait for the longest search of its warp. A sector is read
// before a slot of it is claimed: of keys that are there already most find themselves, and many
// claims of one slot would wait for each other.
#include "hash.cuh"

constexpr int kKeys = 8;           // a thread
constexpr int kEvictions = 10000;  // of cuckoo tables
constexpr unsigned kWarp = 0xffffffffu;

template <Probing P>
__device__ inline void insert(const u64* keys, u64* table, int n, unsigned slots) {
  int i = blockIdx.x * blockDim.x * kKeys + threadIdx.x;
  int end = min(n, (blockIdx.x + 1) * blockDim.x * kKeys);
  u64 key = i < end ? __ldcs(&keys[i]) : kEmpty;
  unsigned hash = first_hash(key), slot = first_slot<P>(hash, slots);
  while (__any_sync(kWarp, i < end)) {
    if (i >= end) continue;
    if (!settle_in<P>(table, key, slot, hash, slots, shared_sector_of(table, slot))) continue;
    i += blockDim.x;
    if (i < end) key = __ldcs(&keys[i]);
    hash = first_hash(key);
    slot = first_slot<P>(hash, slots);
  }
}

extern "C" __global__ void insert_linear(const u64* keys, u64* table, int n, unsigned slots) {
  insert<kLinear>(keys, table, n, slots);
}

extern "C" __global__ void insert_bucket(const u64* keys, u64* table, int n, unsigned slots) {
  insert<kBucket>(keys, table, n, slots);
}

// Into one of the slots of a bucket that were empty.
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
  for (int k = 0; k < kKeys; ++k) {
    int i = first + k * blockDim.x;
    if (i < n) settle_cuckoo(table, __ldcs(&keys[i]), slots);
  }
}
