//! Regions of a table filled in shared memory, with keys that partition.rs has sorted, in Rust: see
//! region.cuh.

use super::hash::*;
use super::partition::{beside, bin_of};
use gpu::*;

/// A slot behind the last one, counted from the first.
#[inline(always)]
fn around(slot: u32, slots: u32) -> u32 {
    unsafe { core::hint::assert_unchecked(slots > 0) }; // or the division would check
    slot % slots
}

/// How regions divide the table, and the order in which slots are tried.
pub trait Regional: Probing {
    const UNIT: u32;
    /// In a region; behind its last slot, its size or more.
    fn next_in_region(slot: u32, hash: u32) -> u32;
    /// After `step` others, from a slot or a bucket on.
    fn slot_after(from: u32, step: u32, hash: u32) -> u32;
}

impl Regional for Linear {
    const UNIT: u32 = 1;

    #[inline(always)]
    fn next_in_region(slot: u32, _hash: u32) -> u32 {
        slot + 1
    }

    #[inline(always)]
    fn slot_after(from: u32, step: u32, _hash: u32) -> u32 {
        from + step
    }
}

impl Regional for Bucket {
    const UNIT: u32 = UNIT;

    #[inline(always)]
    fn next_in_region(slot: u32, hash: u32) -> u32 {
        let next = (slot + 1) % UNIT;
        slot / UNIT * UNIT + next + if next == hash % UNIT { UNIT } else { 0 }
    }

    #[inline(always)]
    fn slot_after(from: u32, step: u32, hash: u32) -> u32 {
        from + step / UNIT * UNIT + hash.wrapping_add(step) % UNIT
    }
}

/// The part of the table that belongs to a bin. Hashes of a bin may belong to the slot that the
/// next region starts with.
pub struct Region {
    pub start: u32,
    pub size: u32,
}

impl Region {
    #[inline(always)]
    pub fn of<P: Regional>(bin: u32, bits: u32, slots: u32) -> Region {
        let units = (slots / P::UNIT) as u64;
        let edge = |bin: u32| (((bin as u64) << (32 - bits)).wrapping_mul(units) >> 32) as u32;
        let start = edge(bin) * P::UNIT;
        Region { start, size: edge(bin + 1) * P::UNIT - start }
    }
}

/// Where the search of a key goes on that found no slot in its region.
#[inline(always)]
fn behind_region<P: Regional>(key: u64, bits: u32, slots: u32) -> u32 {
    let home = place(first_hash(key), slots / P::UNIT) * P::UNIT;
    let region = Region::of::<P>(bin_of(key, bits), bits, slots);
    around(home.max(region.start + region.size), slots)
}

/// What a bin has too many of for one block, in parts of this many keys.
const PART: u32 = 8192;

/// What is left to do when the regions are in the table.
#[derive(Clone, Copy)]
pub struct Rest {
    pub keys: *mut u64,  // those without a slot in their region
    pub parts: *mut u32, // first and last of the keys of a part
    pub count: *mut u32, // of keys, of parts
}

impl Rest {
    #[inline(always)]
    unsafe fn spill(&self, key: u64) {
        unsafe { *self.keys.add(atomic_add_u32(self.count, 1) as usize) = key }
    }

    /// The keys of the block's bin that it takes, first and last; the parts of others are listed.
    #[inline(always)]
    pub unsafe fn split(&self, bins: *const u32, most: u32) -> (u32, u32) {
        unsafe {
            let first = if block_x() > 0 { *bins.add(block_x() as usize - 1) } else { 0 };
            let last = *bins.add(block_x() as usize);
            if last - first <= most {
                return (first, last);
            }
            let mut part = first + most + thread_x() * PART;
            while part < last {
                let i = atomic_add_u32(self.count.add(1), 1) as usize;
                *self.parts.add(2 * i) = part;
                *self.parts.add(2 * i + 1) = (part + PART).min(last);
                part += block_size_x() * PART;
            }
            (first, first + most)
        }
    }
}

/// A whole warp puts one key into a region, from a slot on, 32 slots at a time. Returns its slot, or
/// NONE when there is no room.
#[inline(always)]
unsafe fn settle_in_region_by_warp<P: Regional>(
    taken: *mut u64, region: &Region, key: u64, from: u32,
) -> u32 {
    let (hash, mut from) = (first_hash(key), from / P::UNIT * P::UNIT);
    loop {
        let slot = P::slot_after(from, lane(), hash);
        let (at, inside) = (unsafe { taken.add(slot as usize) }, slot < region.size);
        let mut there = if inside { unsafe { load_relaxed_shared_u64(at) } } else { EMPTY };
        let stops = ballot(FULL_WARP, there == EMPTY || there == key);
        if stops == 0 {
            from += 32;
            continue;
        }
        let first = first_lane(stops);
        if lane() == first && inside && there == EMPTY {
            there = unsafe { compare_and_swap_shared_u64(at, EMPTY, key) };
        }
        let here = ballot(FULL_WARP, there == EMPTY || there == key);
        if here >> first & 1 != 0 {
            return shuffle(FULL_WARP, if inside { slot } else { NONE }, first);
        }
    }
}

#[inline(always)]
fn shuffle_u64(value: u64, from: u32) -> u64 {
    let low = shuffle(FULL_WARP, value as u32, from);
    (shuffle(FULL_WARP, (value >> 32) as u32, from) as u64) << 32 | low as u64
}

pub const HELD: u32 = 4; // keys of a thread at once
const ALONE: u32 = 8; // slots that a thread tries for a key by itself

/// Puts keys into a region. What does not find its slot soon is given to the whole warp: in a table
/// that is nearly full the longest search of 32 takes six times as long as the mean. Calls `found`
/// with the slot, or NONE, for all lanes of a warp at once.
#[inline(always)]
pub unsafe fn settle_in_region<P: Regional>(
    taken: *mut u64, region: &Region, keys: *const u64, total: u32, slots: u32, rest: Rest,
    mut found: impl FnMut(u32),
) {
    unsafe {
        let key = each!(4, k => key_at(keys, beside(k), total));
        each!(4, k => {
            let hash = first_hash(key[k]);
            let mut slot = P::first_slot(hash, slots).wrapping_sub(region.start);
            let mut asks = key[k] != EMPTY;
            for _ in 0..ALONE {
                if asks && slot < region.size {
                    let at = taken.add(slot as usize);
                    let mut there = load_relaxed_shared_u64(at);
                    if there == EMPTY {
                        there = compare_and_swap_shared_u64(at, EMPTY, key[k]);
                    }
                    asks = there != EMPTY && there != key[k];
                    if asks {
                        slot = P::next_in_region(slot, hash);
                    }
                }
                sync_warp(FULL_WARP);
            }
            let mut left = ballot(FULL_WARP, asks && slot < region.size);
            while left != 0 {
                let owner = first_lane(left);
                let from = shuffle(FULL_WARP, slot, owner);
                let asked = shuffle_u64(key[k], owner);
                let at = settle_in_region_by_warp::<P>(taken, region, asked, from);
                if lane() == owner {
                    slot = at;
                    asks = at == NONE;
                }
                left &= left - 1;
            }
            if asks {
                rest.spill(key[k]);
            }
            found(if asks || key[k] == EMPTY { NONE } else { slot });
        });
    }
}

/// The same in the whole table, which has room.
#[inline(always)]
unsafe fn settle_by_warp<P: Regional>(table: *mut u64, key: u64, mut from: u32, slots: u32) -> u32 {
    let hash = first_hash(key);
    loop {
        let slot = around(P::slot_after(from, lane(), hash), slots);
        let mut there = unsafe { load_relaxed_u64(table.add(slot as usize)) };
        let stops = ballot(FULL_WARP, there == EMPTY || there == key);
        if stops == 0 {
            from = around(from + 32, slots);
            continue;
        }
        let first = first_lane(stops);
        if lane() == first && there == EMPTY {
            there = unsafe { claim(table, slot, key) };
        }
        let here = ballot(FULL_WARP, there == EMPTY || there == key);
        if here >> first & 1 != 0 {
            return shuffle(FULL_WARP, slot, first);
        }
    }
}

/// Does what is left: calls `found` with the slots of keys of the parts, for all lanes of a warp at
/// once, NONE where there is no key, and with that of a key without a slot in its region for one.
#[inline(always)]
pub unsafe fn settle_rest<P: Regional>(
    table: *mut u64, sorted: *const u64, rest: Rest, slots: u32, bits: u32,
    mut found: impl FnMut(u32),
) {
    unsafe {
        let (keys, parts) = (*rest.count, *rest.count.add(1));
        let mut i = global_x() / 32;
        while i < keys {
            let key = *rest.keys.add(i as usize);
            let from = behind_region::<P>(key, bits, slots);
            let slot = settle_by_warp::<P>(table, key, from, slots);
            found(if lane() == 0 { slot } else { NONE });
            i += grid_size_x() * block_size_x() / 32;
        }
        let mut part = block_x();
        while part < parts {
            let mut tile = *rest.parts.add(2 * part as usize);
            let last = *rest.parts.add(2 * part as usize + 1);
            while tile < last {
                let (i, mut slot) = (tile + thread_x(), NONE);
                if i < last {
                    let key = *sorted.add(i as usize);
                    let hash = first_hash(key);
                    slot = P::first_slot(hash, slots);
                    let sector = shared_sector_of(table, slot);
                    slot = settle::<P>(table, key, slot, hash, slots, sector);
                }
                sync_warp(FULL_WARP);
                found(slot);
                tile += block_size_x();
            }
            part += grid_size_x();
        }
    }
}
