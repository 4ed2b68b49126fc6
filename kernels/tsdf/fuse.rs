//! Stage "fuse" in Rust: see fuse.cu, whose kernels these are. As two launches, the kernels of
//! allocate.rs and update.rs, which this file carries.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

#[path = "allocate.rs"]
mod allocate;
mod tsdf;
#[path = "update.rs"]
mod update;

use gpu::*;
use tsdf::*;

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fuse(
    points: *const f32, point_weight: *const f32, point_color: *const u8, table: *mut Entry,
    coord: *mut i32, block_count: *mut i32, drop_count: *mut u64, tsdf: *mut f32, weight: *mut f32,
    r: *mut f32, g: *mut f32, b: *mut f32, n: i32, steps: i32, voxel: f32, inv_voxel: f32,
    trunc: f32, inv_trunc: f32, cam_x: f32, cam_y: f32, cam_z: f32, table_mask: u32, capacity: i32,
    weight_cap: f32,
) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let pool = Pool { table, mask: table_mask, coord, block_count, drop_count, capacity };
    let voxels = Voxels { tsdf, weight, r, g, b };
    unsafe {
        let ray = ray_to(points, i, cam);
        let seen = observation_of(point_weight, point_color, i);
        each_sample::<1>(&ray, cam, grid, steps, |sample| {
            let block = find_or_insert::<false>(&pool, block_key(sample.block()), sample.block());
            if block >= 0 {
                voxels.add_sample(block, sample, &seen, inv_trunc, weight_cap);
            }
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn fuse_ray(
    points: *const f32, point_weight: *const f32, point_color: *const u8, table: *mut Entry,
    coord: *mut i32, block_count: *mut i32, drop_count: *mut u64, tsdf: *mut f32, weight: *mut f32,
    r: *mut f32, g: *mut f32, b: *mut f32, n: i32, steps: i32, voxel: f32, inv_voxel: f32,
    trunc: f32, inv_trunc: f32, cam_x: f32, cam_y: f32, cam_z: f32, table_mask: u32, capacity: i32,
    weight_cap: f32,
) {
    let i = global_x();
    let own = if i < n as u32 { i } else { n as u32 - 1 }; // lanes past the end neither ask nor add
    let lane = lane();
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let pool = Pool { table, mask: table_mask, coord, block_count, drop_count, capacity };
    let voxels = Voxels { tsdf, weight, r, g, b };
    unsafe {
        let ray = ray_to(points, own, cam);
        let seen = observation_of(point_weight, point_color, own);
        let (mut previous, mut block) = (EMPTY, DROPPED);
        for s in -steps..steps + 1 {
            let sample = sample_at(&ray, s, cam, grid);
            let key = block_key(sample.block());
            let adds = (i < n as u32) & (sample.sdf >= -trunc);
            let asks = adds & (key != previous);
            let asking = ballot(FULL_WARP, asks);
            if asks {
                previous = key;
                let same = match_any_u64(asking, key as u64);
                let leader = first_lane(same);
                if lane == leader {
                    block = find_or_insert::<true>(&pool, key, sample.block());
                }
                block = shuffle(same, block as u32, leader) as i32;
            }
            if adds && block >= 0 {
                voxels.add_sample(block, &sample, &seen, inv_trunc, weight_cap);
            }
            sync_warp(FULL_WARP);
        }
    }
}
