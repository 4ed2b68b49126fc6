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
mod region;

use gpu::*;
use hash::*;
use partition::for_all;
use region::*;

dynamic_shared!(dynamic: u64);
partition_kernels!("ptx-kernel");

/// What each lane of a warp is to add to the counter of its slot, if it has one. Of those with the
/// slot of the first of them, one adds for all: else all would wait for the counter of a frequent
/// key.
#[inline(always)]
fn share_of(slot: u32) -> u32 {
    let asks = ballot(FULL_WARP, slot != NONE);
    let first = first_lane(asks) % 32;
    let same = ballot(FULL_WARP, slot == shuffle(FULL_WARP, slot, first));
    match slot {
        NONE => 0,
        _ if lane() == first => same.count_ones(),
        _ => 1 - (same >> lane() & 1),
    }
}

#[inline(always)]
unsafe fn fill<P: Regional>(
    sorted: *const u64, table: *mut u64, counts: *mut u32, bins: *const u32, rest: Rest,
    slots: u32, bits: u32, most: u32,
) {
    unsafe {
        let (taken, region) = (dynamic(), Region::of::<P>(block_x(), bits, slots));
        let count = taken.add(region.size as usize) as *mut u32;
        for_all(region.size, |slot| {
            *taken.add(slot) = EMPTY;
            *count.add(slot) = 0;
        });
        sync_threads();
        let (mut tile, last) = rest.split(bins, most);
        while tile < last {
            let (keys, total) = (sorted.add(tile as usize), last - tile);
            settle_in_region::<P>(taken, &region, keys, total, slots, rest, |slot| {
                let adds = share_of(slot);
                if adds != 0 {
                    atomic_add_shared_u32(count.add(slot as usize), adds);
                }
            });
            tile += HELD * block_size_x();
        }
        sync_threads();
        let (table, counts) = (table.add(region.start as usize), counts.add(region.start as usize));
        for_all(region.size, |slot| {
            store_streaming_u64(table.add(slot), *taken.add(slot));
            store_streaming_u32(counts.add(slot), *count.add(slot));
        });
    }
}

#[inline(always)]
unsafe fn finish<P: Regional>(
    sorted: *const u64, table: *mut u64, counts: *mut u32, rest: Rest, slots: u32, bits: u32,
) {
    unsafe {
        settle_rest::<P>(table, sorted, rest, slots, bits, |slot| {
            let adds = share_of(slot);
            if adds != 0 {
                add_u32(counts.add(slot as usize), adds);
            }
        })
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fill_linear(
    sorted: *const u64, table: *mut u64, counts: *mut u32, bins: *const u32, keys: *mut u64,
    parts: *mut u32, count: *mut u32, slots: u32, bits: u32, most: u32,
) {
    launch_bounds!(512, 2);
    let rest = Rest { keys, parts, count };
    unsafe { fill::<Linear>(sorted, table, counts, bins, rest, slots, bits, most) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn rest_linear(
    sorted: *const u64, table: *mut u64, counts: *mut u32, keys: *mut u64, parts: *mut u32,
    count: *mut u32, slots: u32, bits: u32,
) {
    let rest = Rest { keys, parts, count };
    unsafe { finish::<Linear>(sorted, table, counts, rest, slots, bits) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fill_bucket(
    sorted: *const u64, table: *mut u64, counts: *mut u32, bins: *const u32, keys: *mut u64,
    parts: *mut u32, count: *mut u32, slots: u32, bits: u32, most: u32,
) {
    launch_bounds!(512, 2);
    let rest = Rest { keys, parts, count };
    unsafe { fill::<Bucket>(sorted, table, counts, bins, rest, slots, bits, most) }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn rest_bucket(
    sorted: *const u64, table: *mut u64, counts: *mut u32, keys: *mut u64, parts: *mut u32,
    count: *mut u32, slots: u32, bits: u32,
) {
    let rest = Rest { keys, parts, count };
    unsafe { finish::<Bucket>(sorted, table, counts, rest, slots, bits) }
}
