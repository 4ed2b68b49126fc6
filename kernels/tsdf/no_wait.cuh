// An insert that waits for no other thread: for stages that do not need the block's number.
#pragma once
#include "tsdf.cuh"

// find_or_insert of tsdf.cuh but for its waits: a block that another thread has claimed is left to
// that one.
__device__ inline void insert_without_waiting(const Pool &pool, int x, int y, int z) {
  const long long key = block_key(x, y, z);
  u32 slot = block_hash(x, y, z) & pool.mask;
  for (u32 left = pool.mask + 1; left > 0;) {
    Entry seen = load_entry(&pool.table[slot]);
    for (--left; seen.key != key && seen.key != kEmpty && left > 0; --left) {
      slot = next_slot(slot, pool.mask);
      seen = load_entry(&pool.table[slot]);
    }
    Entry *entry = &pool.table[slot];
    if (seen.key != kEmpty) return;
    const long long other = (long long)atomicCAS((u64 *)&entry->key, (u64)kEmpty, (u64)key);
    if (other == kEmpty) publish<Publish::after_coord>(pool, entry, x, y, z);
    if (other == kEmpty || other == key) return;
    slot = next_slot(slot, pool.mask);
  }
}
