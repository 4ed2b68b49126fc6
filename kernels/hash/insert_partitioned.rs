//! Inserts 64-bit keys into an empty hash table (task hash/insert) in Rust, sorted by region of the
//! table first: see insert_partitioned.cu.
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

#[inline(always)]
unsafe fn fill<P: Regional>(
    sorted: *const u64, table: *mut u64, bins: *const u32, list: *mut u64, spilled: *mut u32,
    slots: u32, bits: u32,
) {
    unsafe {
        let region = Region::of_block::<P>(dynamic(), bins, slots, bits);
        for_all(region.size, |slot| *region.taken.add(slot) = EMPTY);
        sync_threads();
        let mut tile = region.first;
        while tile < region.last {
            let mine = each!(4, k => key_at(sorted, tile + beside(k), region.last));
            each!(4, k => {
                if mine[k] != EMPTY && region.settle::<P>(mine[k], slots) == NONE {
                    spill(list, spilled, mine[k]);
                }
            });
            tile += block_size_x() * EACH as u32;
        }
        sync_threads();
        let table = table.add(region.start as usize);
        for_all(region.size, |slot| store_streaming_u64(table.add(slot), *region.taken.add(slot)));
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fill_linear(
    sorted: *const u64, table: *mut u64, bins: *const u32, list: *mut u64, spilled: *mut u32,
    slots: u32, bits: u32,
) {
    unsafe { fill::<Linear>(sorted, table, bins, list, spilled, slots, bits) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fill_bucket(
    sorted: *const u64, table: *mut u64, bins: *const u32, list: *mut u64, spilled: *mut u32,
    slots: u32, bits: u32,
) {
    unsafe { fill::<Bucket>(sorted, table, bins, list, spilled, slots, bits) }
}

#[inline(always)]
unsafe fn insert_spilled<P: Probing>(
    list: *const u64, spilled: *const u32, table: *mut u64, slots: u32,
) {
    unsafe {
        let (mut i, count) = (global_x(), *spilled);
        while i < count {
            let key = *list.add(i as usize);
            let hash = first_hash(key);
            settle::<P>(table, key, P::first_slot(hash, slots), hash, slots);
            i += grid_size_x() * block_size_x();
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn spilled_linear(
    list: *const u64, spilled: *const u32, table: *mut u64, slots: u32,
) {
    unsafe { insert_spilled::<Linear>(list, spilled, table, slots) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn spilled_bucket(
    list: *const u64, spilled: *const u32, table: *mut u64, slots: u32,
) {
    unsafe { insert_spilled::<Bucket>(list, spilled, table, slots) }
}
