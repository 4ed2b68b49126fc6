//! Counts how often 64-bit keys occur (task hash/count) in Rust, sorted by region of the table
//! first: see count_partitioned.cu.
// ptx-lines: own
#![no_std]
#![feature(abi_ptx, asm_experimental_arch)]
#![allow(clippy::missing_safety_doc, clippy::too_many_arguments)]

#[macro_use]
mod hash;
#[macro_use]
mod partition;

use gpu::*;
use hash::*;
use partition::*;

dynamic_shared!(dynamic: u64);
partition_kernels!("ptx-kernel");

/// All lanes of a warp, some with NONE. Of those that count the slot which the first of them has,
/// one counts for all: else all would wait for the counter of a frequent key.
#[inline(always)]
unsafe fn count_in_region(count: *mut u32, slot: u32) {
    let asks = ballot(FULL_WARP, slot != NONE);
    let first = first_lane(asks) % 32;
    let same = ballot(FULL_WARP, slot == shuffle(FULL_WARP, slot, first));
    let adds = if lane() == first {
        same.count_ones()
    } else {
        1 - (same >> lane() & 1)
    };
    if slot != NONE && adds != 0 {
        unsafe { atomic_add_shared_u32(count.add(slot as usize), adds) };
    }
}

#[inline(always)]
unsafe fn fill<P: Regional>(
    sorted: *const u64, table: *mut u64, counts: *mut u32, bins: *const u32, list: *mut u64,
    spilled: *mut u32, slots: u32, bits: u32,
) {
    unsafe {
        let region = Region::of_block::<P>(dynamic(), bins, slots, bits);
        let count = region.taken.add(region.size as usize) as *mut u32;
        for_all(region.size, |slot| {
            *region.taken.add(slot) = EMPTY;
            *count.add(slot) = 0;
        });
        sync_threads();
        let mut tile = region.first;
        while tile < region.last {
            let mine = each!(4, k => key_at(sorted, tile + beside(k), region.last));
            each!(4, k => {
                let mut slot = NONE;
                if mine[k] != EMPTY {
                    slot = region.settle::<P>(mine[k], slots);
                    if slot == NONE {
                        spill(list, spilled, mine[k]);
                    }
                }
                count_in_region(count, slot);
            });
            tile += block_size_x() * EACH as u32;
        }
        sync_threads();
        let (table, counts) = (table.add(region.start as usize), counts.add(region.start as usize));
        for_all(region.size, |slot| {
            store_streaming_u64(table.add(slot), *region.taken.add(slot));
            store_streaming_u32(counts.add(slot), *count.add(slot));
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fill_linear(
    sorted: *const u64, table: *mut u64, counts: *mut u32, bins: *const u32, list: *mut u64,
    spilled: *mut u32, slots: u32, bits: u32,
) {
    unsafe { fill::<Linear>(sorted, table, counts, bins, list, spilled, slots, bits) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fill_bucket(
    sorted: *const u64, table: *mut u64, counts: *mut u32, bins: *const u32, list: *mut u64,
    spilled: *mut u32, slots: u32, bits: u32,
) {
    unsafe { fill::<Bucket>(sorted, table, counts, bins, list, spilled, slots, bits) }
}

#[inline(always)]
unsafe fn count_spilled<P: Probing>(
    list: *const u64, spilled: *const u32, table: *mut u64, counts: *mut u32, slots: u32,
) {
    unsafe {
        let (mut i, count) = (global_x(), *spilled);
        while i < count {
            let key = *list.add(i as usize);
            let hash = first_hash(key);
            let slot = settle::<P>(table, key, P::first_slot(hash, slots), hash, slots);
            add_u32(counts.add(slot as usize), 1);
            i += grid_size_x() * block_size_x();
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn spilled_linear(
    list: *const u64, spilled: *const u32, table: *mut u64, counts: *mut u32, slots: u32,
) {
    unsafe { count_spilled::<Linear>(list, spilled, table, counts, slots) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn spilled_bucket(
    list: *const u64, spilled: *const u32, table: *mut u64, counts: *mut u32, slots: u32,
) {
    unsafe { count_spilled::<Bucket>(list, spilled, table, counts, slots) }
}
