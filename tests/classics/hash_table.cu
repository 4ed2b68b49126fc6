// Counts of 64-bit keys in a table with linear probing; an empty slot is all ones.
typedef unsigned int u32;
typedef unsigned long long u64;
#define EMPTY (~0ull)

__device__ u32 hash(u64 key) {
  key = (key ^ key >> 33) * 0xff51afd7ed558ccdull;
  return (u32)(key >> 32);
}

extern "C" __global__ void hash_insert(const u64* keys, int n, u64* slots, u32* counts, u32 mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 key = keys[i];
  for (u32 at = hash(key) & mask;; at = (at + 1) & mask) {
    u64 there = slots[at]; // a weak read: an old EMPTY is put right by the compare-and-swap
    if (there == EMPTY) there = atomicCAS(&slots[at], EMPTY, key);
    if (there != EMPTY && there != key) continue;
    atomicAdd(&counts[at], 1u);
    return;
  }
}

extern "C" __global__ void hash_find(const u64* keys, u32* found, int n, const u64* slots, const u32* counts, u32 mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 key = keys[i];
  u32 at = hash(key) & mask;
  while (slots[at] != key && slots[at] != EMPTY) at = (at + 1) & mask;
  found[i] = slots[at] == key ? counts[at] : 0;
}
