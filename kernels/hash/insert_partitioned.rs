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
mod region;

use gpu::*;
use hash::*;
use partition::for_all;
use region::*;

dynamic_shared!(dynamic: u64);
partition_kernels!("ptx-kernel");

#[inline(always)]
unsafe fn fill<P: Regional>(
    sorted: *const u64, table: *mut u64, bins: *const u32, rest: Rest, slots: u32, bits: u32,
    most: u32,
) {
    unsafe {
        let (taken, region) = (dynamic(), Region::of::<P>(block_x(), bits, slots));
        for_all(region.size, |slot| *taken.add(slot) = EMPTY);
        sync_threads();
        let (mut tile, last) = rest.split(bins, most);
        while tile < last {
            let (keys, total) = (sorted.add(tile as usize), last - tile);
            settle_in_region::<P>(taken, &region, keys, total, slots, rest, |_| ());
            tile += HELD * block_size_x();
        }
        sync_threads();
        let table = table.add(region.start as usize);
        for_all(region.size, |slot| store_streaming_u64(table.add(slot), *taken.add(slot)));
    }
}

#[inline(always)]
unsafe fn finish<P: Regional>(
    sorted: *const u64, table: *mut u64, rest: Rest, slots: u32, bits: u32,
) {
    unsafe { settle_rest::<P>(table, sorted, rest, slots, bits, |_| ()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fill_linear(
    sorted: *const u64, table: *mut u64, bins: *const u32, keys: *mut u64, parts: *mut u32,
    count: *mut u32, slots: u32, bits: u32, most: u32,
) {
    launch_bounds!(512, 2);
    let rest = Rest { keys, parts, count };
    unsafe { fill::<Linear>(sorted, table, bins, rest, slots, bits, most) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn rest_linear(
    sorted: *const u64, table: *mut u64, keys: *mut u64, parts: *mut u32, count: *mut u32,
    slots: u32, bits: u32,
) {
    let rest = Rest { keys, parts, count };
    unsafe { finish::<Linear>(sorted, table, rest, slots, bits) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fill_bucket(
    sorted: *const u64, table: *mut u64, bins: *const u32, keys: *mut u64, parts: *mut u32,
    count: *mut u32, slots: u32, bits: u32, most: u32,
) {
    launch_bounds!(512, 2);
    let rest = Rest { keys, parts, count };
    unsafe { fill::<Bucket>(sorted, table, bins, rest, slots, bits, most) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn rest_bucket(
    sorted: *const u64, table: *mut u64, keys: *mut u64, parts: *mut u32, count: *mut u32,
    slots: u32, bits: u32,
) {
    let rest = Rest { keys, parts, count };
    unsafe { finish::<Bucket>(sorted, table, rest, slots, bits) }
}
