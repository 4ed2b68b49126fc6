//! Counts how often 64-bit keys occur (task hash/count) in Rust: the first sectors of several keys
//! in flight a thread, equal keys of a warp counted by one lane. See count_flight.cu.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

#[macro_use]
mod hash;

use gpu::*;
use hash::*;

#[inline(always)]
unsafe fn count<P: Probing>(
    keys: *const u64, table: *mut u64, counts: *mut u32, n: i32, slots: u32,
) {
    unsafe {
        let mine = keys_of(keys, n);
        let sectors = each!(4, k => {
            shared_sector_of(table, P::first_slot(first_hash(mine[k]), slots))
        });
        each!(4, k => {
            let same = match_any_u64(FULL_WARP, mine[k]);
            if mine[k] != EMPTY && first_lane(same) == lane() {
                let hash = first_hash(mine[k]);
                let slot = P::first_slot(hash, slots);
                let slot = settle::<P>(table, mine[k], slot, hash, slots, sectors[k]);
                add_u32(counts.add(slot as usize), same.count_ones());
            }
            sync_warp(FULL_WARP);
        });
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
