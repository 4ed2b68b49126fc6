// Looks up 64-bit keys in a hash table (task hash/find): a thread reads the sectors of several
// queries before it compares any; what is not answered by its first sector goes on alone.
#include "hash.cuh"

constexpr int kQueries = 4;  // a thread

// What one sector says: the slot, kNone (the key is not in the table), or that it must go on.
struct Answer {
  unsigned slot;
  bool done;
};

// In linear tables slots before `from` do not count, and whatever comes first decides.
template <Probing P>
__device__ inline Answer look(const Sector& s, unsigned sector, unsigned from, u64 query) {
  unsigned hit = equal(s, query), empty = equal(s, kEmpty);
  if (P == kLinear) {
    unsigned first = (hit | empty) >> from << from;
    hit &= first & (0u - first);
  }
  if (P == kLinear) empty = empty >> from << from;
  return {hit ? sector + __ffs(hit) - 1 : kNone, (hit | empty) != 0};
}

template <Probing P>
__device__ inline unsigned start(u64 query, unsigned slots) {
  unsigned hash = first_hash(query);
  return P == kLinear ? place(hash, slots) : place(hash, slots / kUnit) * kUnit;
}

template <Probing P>
__device__ inline void find(const u64* table, const u64* queries, unsigned* at, int n,
                            unsigned slots) {
  int first = blockIdx.x * blockDim.x * kQueries + threadIdx.x;
  u64 query[kQueries];
  Sector sector[kQueries];
#pragma unroll
  for (int k = 0; k < kQueries; ++k) {
    int i = first + k * blockDim.x;
    query[k] = __ldcs(&queries[i < n ? i : n - 1]);
  }
#pragma unroll
  for (int k = 0; k < kQueries; ++k)
    sector[k] = load_sector(table + start<P>(query[k], slots) / kUnit * kUnit);
#pragma unroll
  for (int k = 0; k < kQueries; ++k) {
    unsigned slot = start<P>(query[k], slots), bucket = slot / kUnit * kUnit;
    Answer answer = look<P>(sector[k], bucket, slot % kUnit, query[k]);
    while (!answer.done) {
      bucket = bucket + kUnit == slots ? 0 : bucket + kUnit;
      answer = look<P>(load_sector(table + bucket), bucket, 0, query[k]);
    }
    int i = first + k * blockDim.x;
    if (i < n) __stcs(&at[i], answer.slot);
  }
}

extern "C" __global__ void find_linear(const u64* table, const u64* queries, unsigned* at, int n,
                                       unsigned slots) {
  find<kLinear>(table, queries, at, n, slots);
}

extern "C" __global__ void find_bucket(const u64* table, const u64* queries, unsigned* at, int n,
                                       unsigned slots) {
  find<kBucket>(table, queries, at, n, slots);
}

extern "C" __global__ void find_cuckoo(const u64* table, const u64* queries, unsigned* at, int n,
                                       unsigned slots) {
  int first = blockIdx.x * blockDim.x * kQueries + threadIdx.x;
  u64 query[kQueries];
  Sector sector[kQueries];
#pragma unroll
  for (int k = 0; k < kQueries; ++k) {
    int i = first + k * blockDim.x;
    query[k] = __ldcs(&queries[i < n ? i : n - 1]);
  }
#pragma unroll
  for (int k = 0; k < kQueries; ++k)
    sector[k] = load_sector(table + cuckoo_first(query[k], slots));
  // The second bucket only where the first does not have it: half of the keys that are there.
  unsigned slot[kQueries];
#pragma unroll
  for (int k = 0; k < kQueries; ++k) {
    unsigned bucket = cuckoo_first(query[k], slots);
    slot[k] = look<kBucket>(sector[k], bucket, 0, query[k]).slot;
    if (slot[k] == kNone) sector[k] = load_sector(table + cuckoo_second(query[k], slots));
  }
#pragma unroll
  for (int k = 0; k < kQueries; ++k) {
    unsigned bucket = cuckoo_second(query[k], slots);
    if (slot[k] == kNone) slot[k] = look<kBucket>(sector[k], bucket, 0, query[k]).slot;
    int i = first + k * blockDim.x;
    if (i < n) __stcs(&at[i], slot[k]);
  }
}
