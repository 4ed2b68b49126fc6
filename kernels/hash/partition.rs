//! Keys sorted into bins by the region of the table where they belong, in Rust: see partition.cuh.
//! `partition_kernels!("ptx-kernel")` stands where a file of kernels wants the three.

use super::hash::*;
use gpu::*;

pub const BINS: usize = 256; // as many as threads of a block that moves keys
const BIN_SHIFT: u32 = 24; // 32-bit hashes by their first 8 bits
const ITEMS: usize = 16; // keys a thread
pub const TILE: usize = BINS * ITEMS;
pub const WARPS: usize = BINS / 32;

#[inline(always)]
fn bin_of(key: u64) -> usize {
    (first_hash(key) >> BIN_SHIFT) as usize
}

/// Keys of a tile, EMPTY behind the last of `total`.
#[inline(always)]
unsafe fn tile_of(keys: *const u64, total: u32) -> [u64; ITEMS] {
    let mut mine = [EMPTY; ITEMS];
    for (k, key) in mine.iter_mut().enumerate() {
        let i = (k * BINS) as u32 + thread_x();
        if i < total {
            *key = unsafe { load_streaming_u64(keys.add(i as usize)) };
        }
    }
    mine
}

/// The sum of what the threads of the block before this one have. `of_warp`: WARPS values, shared.
#[inline(always)]
unsafe fn sum_before(mine: u32, of_warp: *mut u32) -> u32 {
    let (lane, warp, mut sum) = (lane(), thread_x() / 32, mine);
    for d in [1, 2, 4, 8, 16] {
        let before = shuffle_up(FULL_WARP, sum, d);
        if lane >= d {
            sum += before;
        }
    }
    unsafe {
        if lane == 31 {
            *of_warp.add(warp as usize) = sum;
        }
        sync_threads();
        for w in 0..warp {
            sum += *of_warp.add(w as usize);
        }
    }
    sum - mine
}

/// bins[BINS], zero before. `count`: BINS values, shared.
#[inline(always)]
pub unsafe fn count(keys: *const u64, bins: *mut u32, n: i32, count: *mut u32) {
    let (me, n) = (thread_x() as usize, n as u64);
    unsafe {
        *count.add(me) = 0;
        sync_threads();
        let mut tile = block_x() as u64 * TILE as u64;
        while tile < n {
            let mine = tile_of(keys.add(tile as usize), (n - tile).min(TILE as u64) as u32);
            for k in 0..ITEMS {
                if mine[k] != EMPTY {
                    atomic_add_shared_u32(count.add(bin_of(mine[k])), 1);
                }
            }
            tile += grid_size_x() as u64 * TILE as u64;
        }
        sync_threads();
        add_u32(bins.add(me), *count.add(me));
    }
}

/// One block: each bin's number of keys becomes where it begins.
#[inline(always)]
pub unsafe fn begin(bins: *mut u32, of_warp: *mut u32) {
    unsafe {
        let mine = bins.add(thread_x() as usize);
        *mine = sum_before(*mine, of_warp);
    }
}

/// What a block that moves keys has in shared memory.
pub struct Room {
    pub tile: *mut u64,    // TILE
    pub count: *mut u32,   // BINS
    pub start: *mut u32,   // BINS
    pub to: *mut u32,      // BINS
    pub of_warp: *mut u32, // WARPS
}

/// A tile is put in order in shared memory, and then written in runs of about ITEMS keys.
#[inline(always)]
pub unsafe fn move_tile(keys: *const u64, binned: *mut u64, bins: *mut u32, n: i32, room: Room) {
    let (me, first) = (thread_x() as usize, block_x() * TILE as u32);
    let total = (n as u32 - first).min(TILE as u32);
    unsafe {
        let mine = tile_of(keys.add(first as usize), total);
        *room.count.add(me) = 0;
        sync_threads();
        let mut rank = [0; ITEMS];
        for k in 0..ITEMS {
            if mine[k] != EMPTY {
                rank[k] = atomic_add_shared_u32(room.count.add(bin_of(mine[k])), 1);
            }
        }
        sync_threads();
        let keys_here = *room.count.add(me);
        let before = sum_before(keys_here, room.of_warp);
        *room.start.add(me) = before;
        if keys_here != 0 {
            *room.to.add(me) = atomic_add_u32(bins.add(me), keys_here).wrapping_sub(before);
        }
        sync_threads();
        for k in 0..ITEMS {
            if mine[k] != EMPTY {
                *room.tile.add((*room.start.add(bin_of(mine[k])) + rank[k]) as usize) = mine[k];
            }
        }
        sync_threads();
        for k in 0..ITEMS {
            let i = (k * BINS) as u32 + thread_x();
            if i < total {
                let key = *room.tile.add(i as usize);
                let to = (*room.to.add(bin_of(key))).wrapping_add(i);
                *binned.add(to as usize) = key;
            }
        }
    }
}

macro_rules! partition_kernels {
    ($abi:literal) => {
        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn partition_count(keys: *const u64, bins: *mut u32, n: i32) {
            unsafe { partition::count(keys, bins, n, shared!(u32, partition::BINS)) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn partition_begin(bins: *mut u32) {
            unsafe { partition::begin(bins, shared!(u32, partition::WARPS)) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn partition_move(
            keys: *const u64, binned: *mut u64, bins: *mut u32, n: i32,
        ) {
            let room = partition::Room {
                tile: shared!(u64, partition::TILE),
                count: shared!(u32, partition::BINS),
                start: shared!(u32, partition::BINS),
                to: shared!(u32, partition::BINS),
                of_warp: shared!(u32, partition::WARPS),
            };
            unsafe { partition::move_tile(keys, binned, bins, n, room) }
        }
    };
}
