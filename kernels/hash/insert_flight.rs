//! Inserts 64-bit keys into a hash table (task hash/insert) in Rust; a thread takes its next key when
//! one is done. See insert_flight.cu.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

#[macro_use]
mod hash;

use gpu::*;
use hash::*;

const KEYS: u32 = 8; // a thread
const EVICTIONS: u32 = 10000; // of cuckoo tables

#[inline(always)]
unsafe fn insert<P: Probing>(keys: *const u64, table: *mut u64, n: i32, slots: u32) {
    let each = block_size_x() * KEYS;
    let (mut i, end) = (block_x() * each + thread_x(), ((block_x() + 1) * each).min(n as u32));
    unsafe {
        let mut key = key_at(keys, i, end);
        let mut hash = first_hash(key);
        let mut slot = P::first_slot(hash, slots);
        while any(FULL_WARP, i < end) {
            let mut done = false;
            if i < end {
                let sector = shared_sector_of(table, slot);
                (done, slot) = settle_in::<P>(table, key, slot, hash, slots, sector);
            }
            if done {
                i += block_size_x();
                key = key_at(keys, i, end);
                hash = first_hash(key);
                slot = P::first_slot(hash, slots);
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn insert_linear(
    keys: *const u64, table: *mut u64, n: i32, slots: u32,
) {
    unsafe { insert::<Linear>(keys, table, n, slots) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn insert_bucket(
    keys: *const u64, table: *mut u64, n: i32, slots: u32,
) {
    unsafe { insert::<Bucket>(keys, table, n, slots) }
}

/// Into one of the slots of a bucket that were empty.
#[inline(always)]
unsafe fn put(table: *mut u64, bucket: u32, key: u64) -> bool {
    let mut empty = unsafe { shared_sector_of(table, bucket) }.equal(EMPTY);
    while empty != 0 {
        if unsafe { claim(table, bucket + empty.trailing_zeros(), key) } == EMPTY {
            return true;
        }
        empty &= empty - 1;
    }
    false
}

/// Keys are all different. Where both buckets are full, one of the keys there has to move.
#[inline(always)]
unsafe fn settle_cuckoo(table: *mut u64, mut key: u64, slots: u32) {
    unsafe {
        if put(table, bucket_of(first_hash(key), slots), key) {
            return;
        }
        let mut bucket = bucket_of(second_hash(key), slots);
        for step in 0..EVICTIONS {
            if put(table, bucket, key) {
                return;
            }
            let victim = bucket + first_hash(key.wrapping_add(step as u64)) % UNIT;
            key = atomic_exchange_u64(table.add(victim as usize), key);
            bucket = other_bucket(key, bucket, slots);
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn insert_cuckoo(
    keys: *const u64, table: *mut u64, n: i32, slots: u32,
) {
    let first = block_x() * block_size_x() * KEYS + thread_x();
    for k in 0..KEYS {
        unsafe {
            let key = key_at(keys, first + k * block_size_x(), n as u32);
            if key != EMPTY {
                settle_cuckoo(table, key, slots);
            }
        }
    }
}
