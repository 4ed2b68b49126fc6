//! What the kernels of hash/insert, hash/find and hash/count in Rust share: where a key may stand,
//! in which order slots are tried, and sectors (4 slots, 32 bytes) read whole. See hash.cuh.
#![allow(dead_code)] // each file of kernels uses a part

use gpu::*;

pub const EMPTY: u64 = u64::MAX;
pub const NONE: u32 = u32::MAX;
pub const UNIT: u32 = 4; // slots of a bucket

#[inline(always)]
pub fn first_hash(key: u64) -> u32 {
    (key.wrapping_mul(0x9e3779b97f4a7c15) >> 32) as u32
}

#[inline(always)]
pub fn second_hash(key: u64) -> u32 {
    ((key ^ key >> 29).wrapping_mul(0xd1342543de82ef95) >> 32) as u32
}

#[inline(always)]
pub fn place(hash: u32, count: u32) -> u32 {
    (hash as u64 * count as u64 >> 32) as u32
}

/// The first slot of the bucket that a hash means.
#[inline(always)]
pub fn bucket_of(hash: u32, slots: u32) -> u32 {
    place(hash, slots / UNIT) * UNIT
}

/// The first slot of the bucket behind this one.
#[inline(always)]
pub fn next_bucket(bucket: u32, slots: u32) -> u32 {
    if bucket + UNIT == slots { 0 } else { bucket + UNIT }
}

/// Of the two buckets of a key in a cuckoo table, the one that is not this.
#[inline(always)]
pub fn other_bucket(key: u64, bucket: u32, slots: u32) -> u32 {
    let (one, two) = (bucket_of(first_hash(key), slots), bucket_of(second_hash(key), slots));
    if one == bucket { two } else { one }
}

/// The order in which slots are tried: slot after slot, or bucket after bucket.
pub trait Probing {
    fn first_slot(hash: u32, slots: u32) -> u32;
    fn next_slot(slot: u32, hash: u32, slots: u32) -> u32;
}

pub struct Linear;
pub struct Bucket;

impl Probing for Linear {
    #[inline(always)]
    fn first_slot(hash: u32, slots: u32) -> u32 {
        place(hash, slots)
    }

    #[inline(always)]
    fn next_slot(slot: u32, _hash: u32, slots: u32) -> u32 {
        if slot + 1 == slots { 0 } else { slot + 1 }
    }
}

/// Within a bucket the start differs from key to key, so that it is often empty.
impl Probing for Bucket {
    #[inline(always)]
    fn first_slot(hash: u32, slots: u32) -> u32 {
        bucket_of(hash, slots) + hash % UNIT
    }

    #[inline(always)]
    fn next_slot(slot: u32, hash: u32, slots: u32) -> u32 {
        let (bucket, next) = (slot / UNIT * UNIT, (slot + 1) % UNIT);
        if next == hash % UNIT { next_bucket(bucket, slots) + next } else { bucket + next }
    }
}

// ---- sectors ----

#[derive(Clone, Copy)]
pub struct Sector(pub u64, pub u64, pub u64, pub u64);

impl Sector {
    #[inline(always)]
    pub unsafe fn load(at: *const u64) -> Sector {
        let ((a, b), (c, d)) = unsafe { (load_constant_u64x2(at), load_constant_u64x2(at.add(2))) };
        Sector(a, b, c, d)
    }

    /// While others write to the table.
    #[inline(always)]
    pub unsafe fn load_relaxed(at: *const u64) -> Sector {
        let ((a, b), (c, d)) = unsafe { (load_relaxed_u64x2(at), load_relaxed_u64x2(at.add(2))) };
        Sector(a, b, c, d)
    }

    #[inline(always)]
    pub fn slot(&self, index: u32) -> u64 {
        let low = if index & 1 != 0 { self.1 } else { self.0 };
        let high = if index & 1 != 0 { self.3 } else { self.2 };
        if index & 2 != 0 { high } else { low }
    }

    /// Bit i: slot i has this content.
    #[inline(always)]
    pub fn equal(&self, content: u64) -> u32 {
        let bit = |slot: u64, i: u32| ((slot == content) as u32) << i;
        bit(self.0, 0) | bit(self.1, 1) | bit(self.2, 2) | bit(self.3, 3)
    }
}

// ---- inserting ----

/// What was in the slot; EMPTY when it is the key's now.
#[inline(always)]
pub unsafe fn claim(table: *mut u64, slot: u32, key: u64) -> u64 {
    unsafe { compare_and_swap_u64(table.add(slot as usize), EMPTY, key) }
}

/// The sector of a slot, while others write to the table.
#[inline(always)]
pub unsafe fn shared_sector_of(table: *const u64, slot: u32) -> Sector {
    unsafe { Sector::load_relaxed(table.add((slot / UNIT * UNIT) as usize)) }
}

/// Tries the slots of a sector from `slot` on, `sector` being what was in it: whether the key is in
/// one of them now, and that one, or else the first of the next sector.
#[inline(always)]
pub unsafe fn settle_in<P: Probing>(
    table: *mut u64, key: u64, mut slot: u32, hash: u32, slots: u32, sector: Sector,
) -> (bool, u32) {
    let start = slot / UNIT;
    while slot / UNIT == start {
        let mut there = sector.slot(slot % UNIT);
        if there == EMPTY {
            there = unsafe { claim(table, slot, key) };
        }
        if there == EMPTY || there == key {
            return (true, slot);
        }
        slot = P::next_slot(slot, hash, slots);
    }
    (false, slot)
}

/// Puts `key` into the first slot from `slot` on that is empty or has it already; returns it.
/// `sector` is what was in the first one's.
#[inline(always)]
pub unsafe fn settle<P: Probing>(
    table: *mut u64, key: u64, slot: u32, hash: u32, slots: u32, mut sector: Sector,
) -> u32 {
    let (mut done, mut slot) = (false, slot);
    while !done {
        (done, slot) = unsafe { settle_in::<P>(table, key, slot, hash, slots, sector) };
        if !done {
            sector = unsafe { shared_sector_of(table, slot) };
        }
    }
    slot
}

// ---- several keys a thread ----

pub const EACH: usize = 4; // keys in flight

/// `each!(4, k => body)`: the array of what the body is for k = 0, 1, 2, 3, written out. LLVM does
/// not unroll a loop with a loop in it, and arrays that its counter indexes would live in local
/// memory.
macro_rules! each {
    (4, $k:ident => $body:expr) => {
        each!(@ $k, $body, 0 1 2 3)
    };
    (8, $k:ident => $body:expr) => {
        each!(@ $k, $body, 0 1 2 3 4 5 6 7)
    };
    (16, $k:ident => $body:expr) => {
        each!(@ $k, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $k:ident, $body:expr, $($value:literal)*) => { [$( {
        let $k: usize = $value;
        $body
    } ),*] };
}

/// The i-th of `n` keys, which is read once; EMPTY behind the last. Without a branch: loads that
/// branches part are not in flight together.
#[inline(always)]
pub unsafe fn key_at(keys: *const u64, i: u32, n: u32) -> u64 {
    let key = unsafe { load_streaming_u64(keys.add(i.min(n - 1) as usize)) };
    if i < n { key } else { EMPTY }
}

/// The keys of a thread, those of a block side by side, EMPTY behind the last.
#[inline(always)]
pub unsafe fn keys_of(keys: *const u64, n: i32) -> [u64; EACH] {
    each!(4, k => unsafe { key_at(keys, index_of(k), n as u32) })
}

/// The place among the keys of the k-th of a thread.
#[inline(always)]
pub fn index_of(k: usize) -> u32 {
    (block_x() * EACH as u32 + k as u32) * block_size_x() + thread_x()
}
