//! Stage "stencil" in Rust: see stencil.cu, whose kernels these are.
#![no_std]
#![feature(abi_ptx, asm_experimental_arch)]
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

mod tsdf;

use gpu::*;
use tsdf::*;

const SIDE: i32 = 10; // a block with one voxel more on each side
const HALO: usize = (SIDE * SIDE * SIDE) as usize;

/// Neighbouring block t of 27: x runs fastest, 13 is the block itself.
#[inline(always)]
fn offset_of(t: i32) -> (i32, i32, i32) {
    (t % 3 - 1, t / 3 % 3 - 1, t / 9 - 1)
}

#[inline(always)]
fn is_tap<const TAPS: i32>((x, y, z): (i32, i32, i32)) -> bool {
    TAPS == 27 || x * x + y * y + z * z <= 1
}

/// Where neighbouring blocks come from.
trait Near {
    unsafe fn of(&self, block: i32, t: i32) -> i32;
}

struct ByHash {
    table: *const Entry,
    coord: *const i32,
    mask: u32,
}

impl Near for ByHash {
    #[inline(always)]
    unsafe fn of(&self, block: i32, t: i32) -> i32 {
        if t == 13 {
            return block;
        }
        let (x, y, z) = offset_of(t);
        unsafe {
            let at = self.coord.add(3 * block as usize);
            let block = (*at + x, *at.add(1) + y, *at.add(2) + z);
            find(self.table, self.mask, block_key(block), block)
        }
    }
}

struct ByIndex {
    neighbor: *const i32,
}

impl Near for ByIndex {
    #[inline(always)]
    unsafe fn of(&self, block: i32, t: i32) -> i32 {
        unsafe { *self.neighbor.add(27 * block as usize + t as usize) }
    }
}

/// The value of a voxel, -1 to 8 along each axis of the block in the middle; 0 in a block that is
/// not there.
#[inline(always)]
unsafe fn value_at(tsdf: *const f32, near: *const i32, x: i32, y: i32, z: i32) -> f32 {
    let which = (x + 8) / 8 + 3 * ((y + 8) / 8) + 9 * ((z + 8) / 8);
    unsafe {
        let block = *near.add(which as usize);
        if block < 0 {
            return 0.0;
        }
        let voxel = (x & 7) | (y & 7) << 3 | (z & 7) << 6;
        *tsdf.add(block as usize * 512 + voxel as usize)
    }
}

/// The sum of `at(x, y, z)` over the taps, written out: LLVM unrolls no loop for a GPU, and loads
/// wait for each other then.
#[inline(always)]
fn sum_of<const TAPS: i32>(at: impl Fn(i32, i32, i32) -> f32) -> f32 {
    let mut total = 0.0;
    macro_rules! each {
        ($($x:literal $y:literal $z:literal,)*) => { $(
            if is_tap::<TAPS>(($x, $y, $z)) {
                total += at($x, $y, $z);
            }
        )* };
    }
    macro_rules! planes {
        ($($z:literal)*) => { $( each! {
            -1 -1 $z, 0 -1 $z, 1 -1 $z, -1 0 $z, 0 0 $z, 1 0 $z, -1 1 $z, 0 1 $z, 1 1 $z,
        } )* };
    }
    planes!(-1 0 1);
    total
}

#[inline(always)]
unsafe fn find_near<const TAPS: i32>(source: &impl Near, block: i32, near: *mut i32) {
    let t = thread_x() as i32;
    if t < 27 {
        let taken = is_tap::<TAPS>(offset_of(t));
        unsafe { *near.add(t as usize) = if taken { source.of(block, t) } else { DROPPED } }
    }
}

#[inline(always)]
unsafe fn blocks_of(block_count: *const i32, capacity: i32) -> i32 {
    let count = unsafe { *block_count };
    if count < capacity { count } else { capacity }
}

/// The same number, which LLVM takes for another each time: what is made of it in a loop stays there.
/// It would keep 27 addresses and 27 offsets from block to block, in local memory.
#[inline(always)]
fn anew(value: u32) -> u32 {
    let same: u32;
    unsafe {
        core::arch::asm!("mov.b32 {}, {};", out(reg32) same, in(reg32) value, options(nostack));
    }
    same
}

#[inline(always)]
unsafe fn stencil<const TAPS: i32>(
    source: impl Near, near: *mut i32, tsdf: *const f32, sum: *mut f32, blocks: i32,
) {
    let mut block = block_x() as i32;
    while block < blocks {
        unsafe {
            find_near::<TAPS>(&source, block, near);
            sync_threads();
            let t = anew(thread_x()) as i32;
            let (x, y, z) = (t & 7, t >> 3 & 7, t >> 6);
            *sum.add(block as usize * 512 + t as usize) =
                sum_of::<TAPS>(|dx, dy, dz| value_at(tsdf, near, x + dx, y + dy, z + dz));
            sync_threads();
        }
        block += grid_size_x() as i32;
    }
}

#[inline(always)]
unsafe fn stencil_halo<const TAPS: i32>(
    source: impl Near, near: *mut i32, halo: *mut f32, tsdf: *const f32, sum: *mut f32, blocks: i32,
) {
    let t = thread_x() as i32;
    let middle = (t & 7) + 1 + SIDE * ((t >> 3 & 7) + 1) + SIDE * SIDE * ((t >> 6) + 1);
    let mut block = block_x() as i32;
    while block < blocks {
        unsafe {
            find_near::<TAPS>(&source, block, near);
            sync_threads();
            let mut i = t;
            while i < HALO as i32 {
                let (x, y, z) = (i % SIDE - 1, i / SIDE % SIDE - 1, i / (SIDE * SIDE) - 1);
                *halo.add(i as usize) = value_at(tsdf, near, x, y, z);
                i += 512;
            }
            sync_threads();
            *sum.add(block as usize * 512 + t as usize) = sum_of::<TAPS>(|x, y, z| {
                *halo.add((middle + x + SIDE * y + SIDE * SIDE * z) as usize)
            });
        }
        block += grid_size_x() as i32;
    }
}

macro_rules! kernels {
    ($taps:literal, $at_once:literal, $hash:ident, $hash_halo:ident, $index:ident, $index_halo:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $hash(
            table: *const Entry, coord: *const i32, block_count: *const i32, tsdf: *const f32,
            sum: *mut f32, table_mask: u32, capacity: i32,
        ) {
            launch_bounds!(512, $at_once);
            let (near, source) = (shared!(i32, 27), ByHash { table, coord, mask: table_mask });
            unsafe { stencil::<$taps>(source, near, tsdf, sum, blocks_of(block_count, capacity)) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $hash_halo(
            table: *const Entry, coord: *const i32, block_count: *const i32, tsdf: *const f32,
            sum: *mut f32, table_mask: u32, capacity: i32,
        ) {
            let (near, halo) = (shared!(i32, 27), shared!(f32, HALO));
            let source = ByHash { table, coord, mask: table_mask };
            let blocks = unsafe { blocks_of(block_count, capacity) };
            unsafe { stencil_halo::<$taps>(source, near, halo, tsdf, sum, blocks) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $index(
            neighbor: *const i32, block_count: *const i32, tsdf: *const f32, sum: *mut f32,
            capacity: i32,
        ) {
            launch_bounds!(512, $at_once);
            let (near, source) = (shared!(i32, 27), ByIndex { neighbor });
            unsafe { stencil::<$taps>(source, near, tsdf, sum, blocks_of(block_count, capacity)) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $index_halo(
            neighbor: *const i32, block_count: *const i32, tsdf: *const f32, sum: *mut f32,
            capacity: i32,
        ) {
            let (near, halo) = (shared!(i32, 27), shared!(f32, HALO));
            let blocks = unsafe { blocks_of(block_count, capacity) };
            unsafe { stencil_halo::<$taps>(ByIndex { neighbor }, near, halo, tsdf, sum, blocks) }
        }
    };
}

kernels!(7, 3, stencil7, stencil7_halo, stencil7_regular, stencil7_regular_halo);
kernels!(27, 2, stencil27, stencil27_halo, stencil27_regular, stencil27_regular_halo);
