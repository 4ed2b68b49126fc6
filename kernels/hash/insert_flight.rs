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

/// Claims a slot for each key without looking; what was there, EMPTY where there is no key.
#[inline(always)]
unsafe fn claim_first(
    table: *mut u64, mine: &[u64; EACH], slot_of: impl Fn(u64) -> u32,
) -> [u64; EACH] {
    each!(4, k => match mine[k] {
        EMPTY => EMPTY,
        key => unsafe { claim(table, slot_of(key), key) },
    })
}

#[inline(always)]
unsafe fn insert<P: Probing>(keys: *const u64, table: *mut u64, n: i32, slots: u32) {
    unsafe {
        let mine = keys_of(keys, n);
        let there = claim_first(table, &mine, |key| P::first_slot(first_hash(key), slots));
        each!(4, k => {
            if there[k] != EMPTY && there[k] != mine[k] {
                let hash = first_hash(mine[k]);
                let slot = P::next_slot(P::first_slot(hash, slots), hash, slots);
                settle::<P>(table, mine[k], slot, hash, slots);
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

/// Into one of the slots of a bucket that are empty.
#[inline(always)]
unsafe fn put(table: *mut u64, bucket: u32, key: u64) -> bool {
    let mut empty = unsafe { Sector::load_relaxed(table.add(bucket as usize)) }.equal(EMPTY);
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
    unsafe {
        let mine = keys_of(keys, n);
        let there = claim_first(table, &mine, |key| Bucket::first_slot(first_hash(key), slots));
        each!(4, k => {
            if there[k] != EMPTY {
                settle_cuckoo(table, mine[k], slots);
            }
        });
    }
}
