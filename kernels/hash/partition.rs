//! Keys sorted by region of the table where they belong, in Rust: see partition.cuh.
//! `partition_kernels!("ptx-kernel")` stands where a file wants the kernels.

use super::hash::*;
use gpu::*;

pub const MOST: usize = 256; // bins of one move; as many threads
const ITEMS: usize = 16; // keys a thread
pub const TILE: usize = MOST * ITEMS;
const AT_ONCE: u32 = 8; // keys a thread, where they are counted

#[inline(always)]
pub fn bin_of(key: u64, bits: u32) -> u32 {
    (first_hash(key) as u64 >> (32 - bits)) as u32
}

/// Where the k-th of a thread's keys is when those of a block lie side by side.
#[inline(always)]
pub fn beside(k: usize) -> u32 {
    k as u32 * block_size_x() + thread_x()
}

/// Calls `each` for what this thread does of `count` things that the block does.
#[inline(always)]
pub fn for_all(count: u32, mut each: impl FnMut(usize)) {
    let mut i = thread_x();
    while i < count {
        each(i as usize);
        i += block_size_x();
    }
}

/// The sum of what the threads of the block before this one have. `of_warp`: shared, one a warp.
#[inline(always)]
unsafe fn sum_before(mine: u32, of_warp: *mut u32) -> u32 {
    let (lane, warp, mut sum) = (lane(), thread_x() / 32, mine);
    let mut d = 1;
    while d < 32 {
        let before = shuffle_up(FULL_WARP, sum, d);
        if lane >= d {
            sum += before;
        }
        d *= 2;
    }
    unsafe {
        sync_threads();
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

// ---- how many, and from where ----

/// Calls `add` for the bin of every key.
#[inline(always)]
pub unsafe fn for_bins(keys: *const u64, n: i32, bits: u32, mut add: impl FnMut(usize)) {
    let (n, step) = (n as u32, block_size_x() * AT_ONCE);
    let mut tile = block_x() * step;
    while tile < n {
        let mine = each!(8, k => unsafe { key_at(keys, tile + beside(k), n) });
        each!(8, k => {
            if mine[k] != EMPTY {
                add(bin_of(mine[k], bits) as usize);
            }
        });
        tile += grid_size_x() * step;
    }
}

/// bins[1 << bits], zero before. `count`: shared, as many.
#[inline(always)]
pub unsafe fn count(keys: *const u64, bins: *mut u32, n: i32, bits: u32, count: *mut u32) {
    unsafe {
        for_all(1 << bits, |b| *count.add(b) = 0);
        sync_threads();
        for_bins(keys, n, bits, |b| {
            atomic_add_shared_u32(count.add(b), 1);
        });
        sync_threads();
        for_all(1 << bits, |b| {
            if *count.add(b) != 0 {
                add_u32(bins.add(b), *count.add(b));
            }
        });
    }
}

/// What `begin` writes besides `bins`.
pub struct Plan {
    pub bins: *mut u32,
    pub coarse_bins: *mut u32, // where each begins
    pub tiles: *mut u32,       // of the second move: the first of each coarse bin
    pub rest: *mut u32,        // zero: see Rest
}

/// One block of 1024: each bin's number of keys becomes where it begins.
#[inline(always)]
pub unsafe fn begin(plan: Plan, n: i32, coarse: u32, fine: u32, of_warp: *mut u32) {
    let (all, me) = (1u32 << (coarse + fine), thread_x());
    let each = all.div_ceil(1024);
    let (first, last) = ((me * each).min(all), ((me + 1) * each).min(all));
    unsafe {
        let mut sum = 0;
        for b in first..last {
            sum += *plan.bins.add(b as usize);
        }
        sum = sum_before(sum, of_warp);
        for b in first..last {
            let bin = plan.bins.add(b as usize);
            let mine = *bin;
            *bin = sum;
            sum += mine;
        }
        sync_threads();
        let from = |c: u32| match c < 1 << coarse {
            true => *plan.bins.add((c << fine) as usize),
            false => n as u32,
        };
        let (start, end) = (from(me), from(me + 1));
        let before = sum_before((end - start).div_ceil(TILE as u32), of_warp);
        if me < 1 << coarse {
            *plan.coarse_bins.add(me as usize) = start;
        }
        if me <= 1 << coarse {
            *plan.tiles.add(me as usize) = before;
        }
        if me < 2 {
            *plan.rest.add(me as usize) = 0;
        }
    }
}

// ---- moved ----

/// What a block that moves keys has in shared memory.
pub struct Room {
    pub tile: *mut u64,    // TILE
    pub count: *mut u32,   // MOST
    pub start: *mut u32,   // MOST
    pub base: *mut u32,    // MOST
    pub of_warp: *mut u32, // one a warp
    pub which: *mut u32,   // 3
}

/// The bits of the bins that a move sorts by.
#[derive(Clone, Copy)]
pub struct Digit {
    bits: u32,
    shift: u32,
    mask: u32,
}

impl Digit {
    #[inline(always)]
    fn of(&self, key: u64) -> usize {
        (bin_of(key, self.bits) >> self.shift & self.mask) as usize
    }
}

/// `total` keys from `keys` go to where the cursors of their digits are. The tile is put in order
/// in shared memory first, and then written in runs.
#[inline(always)]
unsafe fn move_tile(
    keys: *const u64, to: *mut u64, cursor: *mut u32, total: u32, digit: Digit, room: &Room,
) {
    let me = thread_x() as usize;
    unsafe {
        // Of a full tile at distances that are known: one address for all.
        let mine = if total == TILE as u32 {
            each!(16, k => load_streaming_u64(keys.add(me + k * MOST)))
        } else {
            each!(16, k => key_at(keys, (me + k * MOST) as u32, total))
        };
        *room.count.add(me) = 0;
        sync_threads();
        let mut rank = [0; ITEMS / 2]; // two in one register: more warps fit
        each!(16, k => {
            if mine[k] != EMPTY {
                let here = atomic_add_shared_u32(room.count.add(digit.of(mine[k])), 1);
                rank[k / 2] |= here << (16 * (k % 2));
            }
        });
        sync_threads();
        let keys_here = *room.count.add(me);
        let before = sum_before(keys_here, room.of_warp);
        *room.start.add(me) = before;
        if keys_here != 0 {
            *room.base.add(me) = atomic_add_u32(cursor.add(me), keys_here).wrapping_sub(before);
        }
        sync_threads();
        each!(16, k => {
            if mine[k] != EMPTY {
                let rank = rank[k / 2] >> (16 * (k % 2)) & 0xffff;
                *room.tile.add((*room.start.add(digit.of(mine[k])) + rank) as usize) = mine[k];
            }
        });
        sync_threads();
        each!(16, k => {
            let i = (me + k * MOST) as u32;
            if i < total {
                let key = *room.tile.add(i as usize);
                *to.add((*room.base.add(digit.of(key))).wrapping_add(i) as usize) = key;
            }
        });
    }
}

#[inline(always)]
pub unsafe fn move_coarse(
    keys: *const u64, binned: *mut u64, coarse_bins: *mut u32, n: i32, coarse: u32, fine: u32,
    room: &Room,
) {
    let first = block_x() * TILE as u32;
    let digit = Digit { bits: coarse + fine, shift: fine, mask: MOST as u32 - 1 };
    let total = (n as u32 - first).min(TILE as u32);
    unsafe { move_tile(keys.add(first as usize), binned, coarse_bins, total, digit, room) }
}

/// After the first move the cursor of a coarse bin is where the next one begins.
#[inline(always)]
pub unsafe fn move_fine(
    binned: *const u64, sorted: *mut u64, bins: *mut u32, coarse_bins: *const u32,
    tiles: *const u32, coarse: u32, fine: u32, room: &Room,
) {
    let (c, tile) = (thread_x(), block_x());
    unsafe {
        if c == 0 {
            *room.which.add(1) = 0;
        }
        sync_threads();
        if c < 1 << coarse {
            let here = *tiles.add(c as usize);
            if here <= tile && tile < *tiles.add(c as usize + 1) {
                let start = if c > 0 { *coarse_bins.add(c as usize - 1) } else { 0 };
                let first = start + (tile - here) * TILE as u32;
                *room.which = first;
                *room.which.add(1) = (*coarse_bins.add(c as usize) - first).min(TILE as u32);
                *room.which.add(2) = c;
            }
        }
        sync_threads();
        let (first, total, bin) = (*room.which, *room.which.add(1), *room.which.add(2));
        if total != 0 {
            let digit = Digit { bits: coarse + fine, shift: 0, mask: (1 << fine) - 1 };
            let cursor = bins.add((bin << fine) as usize);
            move_tile(binned.add(first as usize), sorted, cursor, total, digit, room);
        }
    }
}

// ---- the kernels ----

macro_rules! partition_kernels {
    ($abi:literal) => {
        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn partition_count(
            keys: *const u64, bins: *mut u32, n: i32, bits: u32,
        ) {
            unsafe { partition::count(keys, bins, n, bits, dynamic() as *mut u32) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn partition_count_many(
            keys: *const u64, bins: *mut u32, n: i32, bits: u32,
        ) {
            unsafe { partition::for_bins(keys, n, bits, |b| add_u32(bins.add(b), 1)) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn partition_begin(
            bins: *mut u32, coarse_bins: *mut u32, tiles: *mut u32, rest: *mut u32, n: i32,
            coarse: u32, fine: u32,
        ) {
            let plan = partition::Plan { bins, coarse_bins, tiles, rest };
            unsafe { partition::begin(plan, n, coarse, fine, shared!(u32, 32)) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn partition_coarse(
            keys: *const u64, binned: *mut u64, coarse_bins: *mut u32, n: i32, coarse: u32,
            fine: u32,
        ) {
            launch_bounds!(256, 4);
            let room = partition_room!();
            unsafe { partition::move_coarse(keys, binned, coarse_bins, n, coarse, fine, &room) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern $abi fn partition_fine(
            binned: *const u64, sorted: *mut u64, bins: *mut u32, coarse_bins: *const u32,
            tiles: *const u32, coarse: u32, fine: u32,
        ) {
            launch_bounds!(256, 4);
            let room = partition_room!();
            unsafe {
                partition::move_fine(
                    binned, sorted, bins, coarse_bins, tiles, coarse, fine, &room,
                )
            }
        }
    };
}

macro_rules! partition_room {
    () => {
        partition::Room {
            tile: shared!(u64, partition::TILE),
            count: shared!(u32, partition::MOST),
            start: shared!(u32, partition::MOST),
            base: shared!(u32, partition::MOST),
            of_warp: shared!(u32, partition::MOST / 32),
            which: shared!(u32, 3),
        }
    };
}
