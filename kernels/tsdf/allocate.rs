//! Stage "allocate" in Rust: see allocate.cu, whose kernels these are.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

mod tsdf;

use gpu::*;
use tsdf::*;

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn allocate(
    points: *const f32, table: *mut Entry, coord: *mut i32, block_count: *mut i32,
    drop_count: *mut u64, n: i32, steps: i32, voxel: f32, inv_voxel: f32, trunc: f32, cam_x: f32,
    cam_y: f32, cam_z: f32, table_mask: u32, capacity: i32,
) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let pool = Pool { table, mask: table_mask, coord, block_count, drop_count, capacity };
    unsafe {
        each_sample::<1>(&ray_to(points, i, cam), cam, grid, steps, |sample| {
            find_or_insert::<false>(&pool, block_key(sample.block()), sample.block());
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn allocate_ray(
    points: *const f32, table: *mut Entry, coord: *mut i32, block_count: *mut i32,
    drop_count: *mut u64, n: i32, steps: i32, voxel: f32, inv_voxel: f32, trunc: f32, cam_x: f32,
    cam_y: f32, cam_z: f32, table_mask: u32, capacity: i32,
) {
    let i = global_x();
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let pool = Pool { table, mask: table_mask, coord, block_count, drop_count, capacity };
    unsafe {
        // Lanes past the end walk the last ray but never ask: the warp's votes need all of them.
        let ray = ray_to(points, if i < n as u32 { i } else { n as u32 - 1 }, cam);
        let (first, end) = span_of(steps);
        let lane = lane();
        let mut previous = EMPTY;
        for s in first..end {
            let sample = sample_at(&ray, s, cam, grid);
            let block = sample.block();
            let key = block_key(block);
            let asks = (i < n as u32) & (sample.sdf >= -trunc) & (key != previous);
            let asking = ballot(FULL_WARP, asks);
            if asks {
                previous = key;
                if lane == first_lane(match_any_u64(asking, key as u64)) {
                    find_or_insert::<true>(&pool, key, block);
                }
            }
            sync_warp(FULL_WARP);
        }
    }
}

/// Each lane looks its block up, and only those that miss it find out who wants the same.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn allocate_late(
    points: *const f32, table: *mut Entry, coord: *mut i32, block_count: *mut i32,
    drop_count: *mut u64, n: i32, steps: i32, voxel: f32, inv_voxel: f32, trunc: f32, cam_x: f32,
    cam_y: f32, cam_z: f32, table_mask: u32, capacity: i32,
) {
    let i = global_x();
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let pool = Pool { table, mask: table_mask, coord, block_count, drop_count, capacity };
    unsafe {
        let ray = ray_to(points, if i < n as u32 { i } else { n as u32 - 1 }, cam);
        let (first, end) = span_of(steps);
        let lane = lane();
        let mut previous = EMPTY;
        for s in first..end {
            let sample = sample_at(&ray, s, cam, grid);
            let block = sample.block();
            let key = block_key(block);
            let mut misses = (i < n as u32) & (sample.sdf >= -trunc) & (key != previous);
            let mut slot = first_slot(&pool, block);
            if misses {
                previous = key;
                let found;
                (found, slot) = walk_to(&pool, key, slot);
                misses = !found;
            }
            let missing = ballot(FULL_WARP, misses);
            if misses && lane == first_lane(match_any_u64(missing, key as u64)) {
                insert_from::<true>(&pool, slot, key, block);
            }
            sync_warp(FULL_WARP);
        }
    }
}
