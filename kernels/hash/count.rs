//! Counts how often 64-bit keys occur (task hash/count) in Rust, one key a thread, as the text
//! says: see count.cu.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

mod hash;

use gpu::*;
use hash::*;

#[inline(always)]
unsafe fn count<P: Probing>(
    keys: *const u64, table: *mut u64, counts: *mut u32, n: i32, slots: u32,
) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    unsafe {
        let key = *keys.add(i as usize);
        let hash = first_hash(key);
        let mut slot = P::first_slot(hash, slots);
        let mut there = claim(table, slot, key);
        while there != EMPTY && there != key {
            slot = P::next_slot(slot, hash, slots);
            there = claim(table, slot, key);
        }
        add_u32(counts.add(slot as usize), 1);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn count_linear(
    keys: *const u64, table: *mut u64, counts: *mut u32, n: i32, slots: u32,
) {
    unsafe { count::<Linear>(keys, table, counts, n, slots) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn count_bucket(
    keys: *const u64, table: *mut u64, counts: *mut u32, n: i32, slots: u32,
) {
    unsafe { count::<Bucket>(keys, table, counts, n, slots) }
}
