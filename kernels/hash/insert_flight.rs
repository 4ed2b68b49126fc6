//! Inserts 64-bit keys into a hash table (task hash/insert) in Rust, several keys in flight a
//! thread: see insert_flight.cu.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

#[macro_use]
mod hash;

use gpu::*;
use hash::*;

const EVICTIONS: u32 = 10000; // of cuckoo tables

#[inline(always)]
unsafe fn insert<P: Probing>(keys: *const u64, table: *mut u64, n: i32, slots: u32) {
    unsafe {
        let mine = keys_of(keys, n);
        let sectors = each!(4, k => {
            shared_sector_of(table, P::first_slot(first_hash(mine[k]), slots))
        });
        each!(4, k => {
            if mine[k] != EMPTY {
                let hash = first_hash(mine[k]);
                settle::<P>(table, mine[k], P::first_slot(hash, slots), hash, slots, sectors[k]);
            }
        });
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
unsafe fn put(table: *mut u64, bucket: u32, key: u64, sector: Sector) -> bool {
    let mut empty = sector.equal(EMPTY);
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
unsafe fn settle_cuckoo(table: *mut u64, mut key: u64, slots: u32, first: Sector) {
    unsafe {
        if put(table, bucket_of(first_hash(key), slots), key, first) {
            return;
        }
        let mut bucket = bucket_of(second_hash(key), slots);
        for step in 0..EVICTIONS {
            if put(table, bucket, key, shared_sector_of(table, bucket)) {
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
    unsafe {
        let mine = keys_of(keys, n);
        let sectors = each!(4, k => {
            shared_sector_of(table, bucket_of(first_hash(mine[k]), slots))
        });
        each!(4, k => {
            if mine[k] != EMPTY {
                settle_cuckoo(table, mine[k], slots, sectors[k]);
            }
        });
    }
}
