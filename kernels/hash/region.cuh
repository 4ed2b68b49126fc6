// Regions of a table filled in shared memory, with keys that partition.cuh has sorted: the table is
// written once, in order, where access at random would read and write a sector for every key. This
// rests on the table being empty before.
#pragma once
#include "partition.cuh"

// A part of the table in shared memory, slots counted from its start.
struct Region {
  unsigned start, size;
};

// The region of a bin. Hashes of a bin may belong to the slot that the next region starts with.
template <Probing P>
__device__ inline Region region_of(unsigned bin, int bits, unsigned slots) {
  unsigned unit = P == kLinear ? 1 : kUnit;
  u64 units = slots / unit;
  unsigned start = (unsigned)(((u64)bin << (32 - bits)) * units >> 32) * unit;
  unsigned end = (unsigned)(((u64)(bin + 1) << (32 - bits)) * units >> 32) * unit;
  return {start, end - start};
}

// The next slot of those tried; behind the last of a region, its size or more.
template <Probing P>
__device__ inline unsigned next_in_region(unsigned slot, unsigned hash) {
  if (P == kLinear) return slot + 1;
  unsigned in = (slot + 1) % kUnit;
  return slot / kUnit * kUnit + in + (in == hash % kUnit ? kUnit : 0);
}

// Where the search of a key goes on that found no slot in its region.
template <Probing P>
__device__ inline unsigned behind_region(u64 key, int bits, unsigned slots) {
  unsigned unit = P == kLinear ? 1 : kUnit, home = place(first_hash(key), slots / unit) * unit;
  Region region = region_of<P>(bin_of(key, bits), bits, slots);
  return max(home, region.start + region.size) % slots;
}

// What a bin has too many of for one block, in parts of this many keys.
constexpr unsigned kPart = 8192;

// What is left to do when the regions are in the table.
struct Rest {
  u64* keys;        // those without a slot in their region
  unsigned* parts;  // first and last of the keys of a part
  unsigned* count;  // of keys, of parts
};

__device__ inline void spill(Rest rest, u64 key) {
  rest.keys[atomicAdd(&rest.count[0], 1)] = key;
}

// Where the keys end that this block takes; the parts of the others are listed.
__device__ inline unsigned split(Rest rest, unsigned first, unsigned last, unsigned most) {
  if (last - first <= most) return last;
  unsigned part = first + most + threadIdx.x * kPart;
  for (; part < last; part += blockDim.x * kPart) {
    unsigned i = atomicAdd(&rest.count[1], 1);
    rest.parts[2 * i] = part;
    rest.parts[2 * i + 1] = min(part + kPart, last);
  }
  return first + most;
}

// The slot that a search tries after `step` others, from a slot (linear) or a bucket on.
template <Probing P>
__device__ inline unsigned slot_after(unsigned from, unsigned step, unsigned hash) {
  if (P == kBucket) step = step / kUnit * kUnit + (hash + step) % kUnit;
  return from + step;
}

// A whole warp puts one key into a region, from a slot on, 32 slots at a time. Returns its slot, or
// kNone when there is no room.
template <Probing P>
__device__ inline unsigned settle_by_warp(u64* taken, Region region, u64 key, unsigned from) {
  unsigned lane = threadIdx.x % 32, hash = first_hash(key);
  if (P == kBucket) from = from / kUnit * kUnit;
  for (;;) {
    unsigned slot = slot_after<P>(from, lane, hash);
    u64 there = slot < region.size ? *(volatile u64*)&taken[slot] : kEmpty;
    unsigned stops = __ballot_sync(kWarp, there == kEmpty || there == key);
    int first = __ffs(stops) - 1;
    if (!stops) {
      from += 32;
    } else {
      if (lane == first && slot < region.size && there == kEmpty)
        there = atomicCAS(&taken[slot], kEmpty, key);
      bool here = there == kEmpty || there == key;
      slot = __shfl_sync(kWarp, slot, first);
      if (__shfl_sync(kWarp, here, first)) return slot < region.size ? slot : kNone;
    }
  }
}

constexpr int kHeld = 4;   // keys of a thread at once
constexpr int kAlone = 8;  // slots that a thread tries for a key by itself

// Puts keys into a region. What does not find its slot soon is given to the whole warp: in a table
// that is nearly full the longest search of 32 takes six times as long as the mean. Calls `found`
// with the slot, or kNone, for all lanes of a warp at once.
template <Probing P, class Found>
__device__ inline void settle_in_region(u64* taken, Region region, const u64* keys, unsigned total,
                                        unsigned slots, Rest rest, Found found) {
  u64 key[kHeld];
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    unsigned i = k * blockDim.x + threadIdx.x;
    key[k] = i < total ? __ldcs(&keys[i]) : kEmpty;
  }
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    unsigned hash = first_hash(key[k]), slot = first_slot<P>(hash, slots) - region.start;
    bool asks = key[k] != kEmpty;
#pragma unroll
    for (int tried = 0; tried < kAlone; ++tried) {
      if (asks && slot < region.size) {
        u64 there = *(volatile u64*)&taken[slot];
        if (there == kEmpty) there = atomicCAS(&taken[slot], kEmpty, key[k]);
        asks = there != kEmpty && there != key[k];
        if (asks) slot = next_in_region<P>(slot, hash);
      }
      __syncwarp();
    }
    unsigned left = __ballot_sync(kWarp, asks && slot < region.size);
    for (; left; left &= left - 1) {
      int owner = __ffs(left) - 1;
      unsigned from = __shfl_sync(kWarp, slot, owner);
      unsigned at = settle_by_warp<P>(taken, region, __shfl_sync(kWarp, key[k], owner), from);
      if (threadIdx.x % 32 == owner) {
        slot = at;
        asks = at == kNone;
      }
    }
    if (asks) spill(rest, key[k]);
    found(asks || key[k] == kEmpty ? kNone : slot);
  }
}

// The same in the whole table, which has room.
template <Probing P>
__device__ inline unsigned settle_by_warp(u64* table, u64 key, unsigned from, unsigned slots) {
  unsigned lane = threadIdx.x % 32, hash = first_hash(key);
  for (;;) {
    unsigned slot = slot_after<P>(from, lane, hash) % slots;
    u64 there = load_shared_slot(&table[slot]);
    unsigned stops = __ballot_sync(kWarp, there == kEmpty || there == key);
    if (!stops) {
      from = (from + 32) % slots;
      continue;
    }
    int first = __ffs(stops) - 1;
    if (lane == first && there == kEmpty) there = atomicCAS(&table[slot], kEmpty, key);
    bool here = there == kEmpty || there == key;
    if (__shfl_sync(kWarp, here, first)) return __shfl_sync(kWarp, slot, first);
  }
}

// Does what is left: calls `found` with the slot of each key of the parts and the number of keys
// that are there, for all lanes of a warp at once, and with that of keys without a slot in their
// region for one.
template <Probing P, class Found>
__device__ inline void settle_rest(u64* table, const u64* sorted, Rest rest, unsigned slots,
                                   int bits, Found found) {
  unsigned warps = gridDim.x * blockDim.x / 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  for (unsigned i = warp; i < rest.count[0]; i += warps) {
    u64 key = rest.keys[i];
    unsigned slot = settle_by_warp<P>(table, key, behind_region<P>(key, bits, slots), slots);
    found(threadIdx.x % 32 == 0 ? slot : kNone);
  }
  for (unsigned part = blockIdx.x; part < rest.count[1]; part += gridDim.x) {
    unsigned first = rest.parts[2 * part], last = rest.parts[2 * part + 1];
    for (unsigned tile = first; tile < last; tile += blockDim.x) {
      unsigned i = tile + threadIdx.x, slot = kNone;
      if (i < last) {
        unsigned hash = first_hash(sorted[i]);
        slot = first_slot<P>(hash, slots);
        slot = settle<P>(table, sorted[i], slot, hash, slots, shared_sector_of(table, slot));
      }
      __syncwarp();
      found(slot);
    }
  }
}
