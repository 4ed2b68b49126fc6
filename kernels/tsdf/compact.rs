//! Stage "compact" in Rust: see compact.cu, whose kernels these are.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::missing_safety_doc)]

use gpu::*;

#[inline(always)]
fn or(a: bool, b: bool) -> bool {
    a | b
}

/// Whether any of four weights, from `at` on, is above 0.
#[inline(always)]
unsafe fn any_positive(at: *const f32) -> bool {
    let (a, b) = unsafe { load_u64x2(at as *const u64) };
    let positive = |bits: u64| {
        or(f32::from_bits(bits as u32) > 0.0, f32::from_bits((bits >> 32) as u32) > 0.0)
    };
    or(positive(a), positive(b))
}

/// First block of this warp, step to the next, and where they end.
#[inline(always)]
unsafe fn share_of(block_count: *const i32, capacity: i32) -> (u32, u32, u32) {
    let count = unsafe { *block_count };
    let end = if count < capacity { count } else { capacity };
    (global_x() / 32, grid_size_x() * block_size_x() / 32, end as u32)
}

#[inline(always)]
unsafe fn quarter(weight: *const f32, block: u32, k: u32) -> *const f32 {
    unsafe { weight.add(block as usize * 512 + (4 * lane() + 128 * k) as usize) }
}

#[inline(always)]
unsafe fn is_active(weight: *const f32, block: u32) -> bool {
    let mut positive = false;
    for k in 0..4 {
        positive = or(positive, unsafe { any_positive(quarter(weight, block, k)) });
    }
    any(FULL_WARP, positive)
}

#[inline(always)]
unsafe fn is_active_early(weight: *const f32, block: u32) -> bool {
    let (mut k, mut found) = (0, false);
    while k < 4 && !found {
        found = any(FULL_WARP, unsafe { any_positive(quarter(weight, block, k)) });
        k += 1;
    }
    found
}

#[inline(always)]
unsafe fn append(active: *mut i32, active_count: *mut i32, block: u32) {
    if lane() == 0 {
        unsafe { *active.add(atomic_add_i32(active_count, 1) as usize) = block as i32 }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn compact(
    weight: *const f32, block_count: *const i32, active: *mut i32, active_count: *mut i32,
    capacity: i32,
) {
    unsafe {
        let (mut block, step, end) = share_of(block_count, capacity);
        while block < end {
            if is_active(weight, block) {
                append(active, active_count, block);
            }
            block += step;
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn compact_early(
    weight: *const f32, block_count: *const i32, active: *mut i32, active_count: *mut i32,
    capacity: i32,
) {
    unsafe {
        let (mut block, step, end) = share_of(block_count, capacity);
        while block < end {
            if is_active_early(weight, block) {
                append(active, active_count, block);
            }
            block += step;
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn compact_regular(
    weight: *const f32, block_count: *const i32, place: *const i32, active: *mut i32,
    active_count: *mut i32, capacity: i32,
) {
    unsafe {
        let (mut block, step, end) = share_of(block_count, capacity);
        while block < end {
            let listed = is_active(weight, block);
            if lane() == 0 {
                let at = *place.add(block as usize);
                if listed {
                    *active.add(at as usize) = block as i32;
                }
                if block == end - 1 {
                    *active_count = at + listed as i32;
                }
            }
            block += step;
        }
    }
}
