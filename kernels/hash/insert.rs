//! Inserts 64-bit keys into a hash table (task hash/insert) in Rust, one key a thread, as the text
//! says: see insert.cu.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

mod hash;

use gpu::*;
use hash::*;

const EVICTIONS: u32 = 10000;

#[inline(always)]
unsafe fn insert<P: Probing>(keys: *const u64, table: *mut u64, n: i32, slots: u32) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    unsafe {
        let key = *keys.add(i as usize);
        let hash = first_hash(key);
        let mut slot = P::first_slot(hash, slots);
        loop {
            let there = claim(table, slot, key);
            if there == EMPTY || there == key {
                return;
            }
            slot = P::next_slot(slot, hash, slots);
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

#[inline(always)]
unsafe fn put(table: *mut u64, bucket: u32, key: u64) -> bool {
    for i in 0..UNIT {
        if unsafe { claim(table, bucket + i, key) } == EMPTY {
            return true;
        }
    }
    false
}

/// Keys are all different. Where both buckets are full, one of the keys there has to move.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn insert_cuckoo(
    keys: *const u64, table: *mut u64, n: i32, slots: u32,
) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    unsafe {
        let mut key = *keys.add(i as usize);
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
