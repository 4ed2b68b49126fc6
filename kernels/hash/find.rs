//! Looks up 64-bit keys in a hash table (task hash/find) in Rust, one query a thread, as the text
//! says: see find.cu.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

mod hash;

use gpu::*;
use hash::*;

/// Writes where this thread's query stands, as `find` says.
#[inline(always)]
unsafe fn answer(queries: *const u64, at: *mut u32, n: i32, find: impl FnOnce(u64) -> u32) {
    let i = global_x() as usize;
    if i < n as usize {
        unsafe { *at.add(i) = find(*queries.add(i)) }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn find_linear(
    table: *const u64, queries: *const u64, at: *mut u32, n: i32, slots: u32,
) {
    let find = |query| unsafe {
        let mut slot = Linear::first_slot(first_hash(query), slots);
        let mut there = *table.add(slot as usize);
        while there != query && there != EMPTY {
            slot = Linear::next_slot(slot, 0, slots);
            there = *table.add(slot as usize);
        }
        if there == query { slot } else { NONE }
    };
    unsafe { answer(queries, at, n, find) }
}

/// The slot of a key in a bucket, or NONE; and whether none of its slots is empty.
#[inline(always)]
unsafe fn search(table: *const u64, bucket: u32, query: u64) -> (u32, bool) {
    let mut full = true;
    for slot in bucket..bucket + UNIT {
        let there = unsafe { *table.add(slot as usize) };
        if there == query {
            return (slot, true);
        }
        full = full && there != EMPTY;
    }
    (NONE, full)
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn find_bucket(
    table: *const u64, queries: *const u64, at: *mut u32, n: i32, slots: u32,
) {
    let find = |query| unsafe {
        let mut bucket = bucket_of(first_hash(query), slots);
        let mut seen = search(table, bucket, query);
        while seen == (NONE, true) {
            bucket = next_bucket(bucket, slots);
            seen = search(table, bucket, query);
        }
        seen.0
    };
    unsafe { answer(queries, at, n, find) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn find_cuckoo(
    table: *const u64, queries: *const u64, at: *mut u32, n: i32, slots: u32,
) {
    let find = |query| unsafe {
        let (slot, _) = search(table, bucket_of(first_hash(query), slots), query);
        match slot {
            NONE => search(table, bucket_of(second_hash(query), slots), query).0,
            _ => slot,
        }
    };
    unsafe { answer(queries, at, n, find) }
}
