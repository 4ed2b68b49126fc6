// What the kernels of the tasks hash/insert, hash/find and hash/count share: where a key may stand,
// in which order slots are tried, and sectors (4 slots, 32 bytes) read whole.
//
// An entry is never emptied, and all who look for a key try the slots in one order. So whoever sees
// a slot taken by another key may go on, and equal keys meet in the same slot.
#pragma once

typedef unsigned long long u64;

constexpr u64 kEmpty = 0xffffffffffffffffull;
constexpr unsigned kNone = 0xffffffffu;
constexpr int kUnit = 4;  // slots of a bucket

enum Probing { kLinear, kBucket };

__device__ inline unsigned first_hash(u64 key) {
  return (unsigned)(key * 0x9e3779b97f4a7c15ull >> 32);
}

__device__ inline unsigned second_hash(u64 key) {
  return (unsigned)((key ^ key >> 29) * 0xd1342543de82ef95ull >> 32);
}

__device__ inline unsigned place(unsigned hash, unsigned count) { return __umulhi(hash, count); }

// The slot that is tried first. Within a bucket the start differs, so that it is often empty.
template <Probing P>
__device__ inline unsigned first_slot(unsigned hash, unsigned slots) {
  if (P == kLinear) return place(hash, slots);
  return place(hash, slots / kUnit) * kUnit + hash % kUnit;
}

template <Probing P>
__device__ inline unsigned next_slot(unsigned slot, unsigned hash, unsigned slots) {
  if (P == kLinear) return slot + 1 == slots ? 0 : slot + 1;
  unsigned bucket = slot / kUnit * kUnit, in = (slot + 1) % kUnit;
  if (in == hash % kUnit) bucket = bucket + kUnit == slots ? 0 : bucket + kUnit;
  return bucket + in;
}

// The first slots of the two buckets of a key.
__device__ inline unsigned cuckoo_first(u64 key, unsigned slots) {
  return place(first_hash(key), slots / kUnit) * kUnit;
}

__device__ inline unsigned cuckoo_second(u64 key, unsigned slots) {
  return place(second_hash(key), slots / kUnit) * kUnit;
}

// ---- sectors ----

struct Sector {
  u64 slot[kUnit];
};

// While others write to the table.
__device__ inline Sector load_shared_sector(const u64* at) {
  Sector s;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(s.slot[0]), "=l"(s.slot[1])
               : "l"(__cvta_generic_to_global(at))
               : "memory");
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(s.slot[2]), "=l"(s.slot[3])
               : "l"(__cvta_generic_to_global(at + 2))
               : "memory");
  return s;
}

__device__ inline u64 load_shared_slot(const u64* at) {
  u64 value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];"
               : "=l"(value)
               : "l"(__cvta_generic_to_global(at))
               : "memory");
  return value;
}

__device__ inline Sector load_sector(const u64* at) {
  ulonglong2 low = __ldg((const ulonglong2*)at), high = __ldg((const ulonglong2*)at + 1);
  return {{low.x, low.y, high.x, high.y}};
}

// A slot that is not known when compiling, without an array in local memory.
__device__ inline u64 pick(const Sector& s, unsigned in) {
  u64 low = in & 1 ? s.slot[1] : s.slot[0], high = in & 1 ? s.slot[3] : s.slot[2];
  return in & 2 ? high : low;
}

// Bit i: slot i has this content.
__device__ inline unsigned equal(const Sector& s, u64 content) {
  unsigned mask = 0;
#pragma unroll
  for (int i = 0; i < kUnit; ++i) mask |= (unsigned)(s.slot[i] == content) << i;
  return mask;
}

// ---- inserting ----

__device__ inline Sector shared_sector_of(const u64* table, unsigned slot) {
  return load_shared_sector(table + slot / kUnit * (size_t)kUnit);
}

// Tries the slots of a sector from `slot` on, `s` being what was in it: whether the key is in one
// of them now, which `slot` is then; else it is the first of the next sector.
template <Probing P>
__device__ inline bool settle_in(u64* table, u64 key, unsigned& slot, unsigned hash,
                                 unsigned slots, const Sector& s) {
  unsigned sector = slot / kUnit;
  do {
    u64 there = pick(s, slot % kUnit);
    if (there == kEmpty) there = atomicCAS(&table[slot], kEmpty, key);
    if (there == kEmpty || there == key) return true;
    slot = next_slot<P>(slot, hash, slots);
  } while (slot / kUnit == sector);
  return false;
}

// Puts `key` into the first slot from `slot` on that is empty or has it already; returns it. `s` is
// what was in the first one's sector.
template <Probing P>
__device__ inline unsigned settle(u64* table, u64 key, unsigned slot, unsigned hash,
                                  unsigned slots, Sector s) {
  while (!settle_in<P>(table, key, slot, hash, slots, s)) s = shared_sector_of(table, slot);
  return slot;
}
