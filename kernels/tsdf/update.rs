//! Stage "update" in Rust: see update.cu, whose kernels these are.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

mod tsdf;

use gpu::*;
use tsdf::*;

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn update(
    points: *const f32, point_weight: *const f32, point_color: *const u8, table: *const Entry,
    tsdf: *mut f32, weight: *mut f32, r: *mut f32, g: *mut f32, b: *mut f32, n: i32, steps: i32,
    voxel: f32, inv_voxel: f32, trunc: f32, inv_trunc: f32, cam_x: f32, cam_y: f32, cam_z: f32,
    table_mask: u32, weight_cap: f32,
) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let voxels = Voxels { tsdf, weight, r, g, b };
    unsafe {
        let ray = ray_to(points, i, cam);
        let seen = observation_of(point_weight, point_color, i);
        each_sample::<1>(&ray, cam, grid, steps, |sample| {
            let block = find(table, table_mask, block_key(sample.block()), sample.block());
            if block >= 0 {
                voxels.add_sample(block, sample, &seen, inv_trunc, weight_cap);
            }
        });
    }
}

/// Looks up only when the ray enters another block.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn update_ray(
    points: *const f32, point_weight: *const f32, point_color: *const u8, table: *const Entry,
    tsdf: *mut f32, weight: *mut f32, r: *mut f32, g: *mut f32, b: *mut f32, n: i32, steps: i32,
    voxel: f32, inv_voxel: f32, trunc: f32, inv_trunc: f32, cam_x: f32, cam_y: f32, cam_z: f32,
    table_mask: u32, weight_cap: f32,
) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let voxels = Voxels { tsdf, weight, r, g, b };
    unsafe {
        let ray = ray_to(points, i, cam);
        let seen = observation_of(point_weight, point_color, i);
        let (mut previous, mut block) = (EMPTY, DROPPED);
        each_sample::<1>(&ray, cam, grid, steps, |sample| {
            let key = block_key(sample.block());
            if key != previous {
                previous = key;
                block = find(table, table_mask, key, sample.block());
            }
            if block >= 0 {
                voxels.add_sample(block, sample, &seen, inv_trunc, weight_cap);
            }
        });
    }
}

/// Add up tsdf and the observation over the lanes whose `same` mask is equal: the lowest of them gets
/// the sums, what the others hold is void. All lanes of the warp take part, those without a group
/// with 0. In each round every second lane of a group hands its sum to the one before it.
#[inline(always)]
fn sum_of_group(same: u32, lane: u32, tsdf: &mut f32, seen: &mut Observation) {
    let below = (1u32 << lane) - 1;
    let mut above = same & !below & !(1 << lane); // partners in higher lanes
    let mut rank = (same & below).count_ones(); // place within the group
    while any(FULL_WARP, above != 0) {
        let next = first_lane(above);
        let from = if above != 0 { next } else { lane };
        let t = shuffle_f32(FULL_WARP, *tsdf, from);
        let w = shuffle_f32(FULL_WARP, seen.weight, from);
        let r = shuffle_f32(FULL_WARP, seen.r, from);
        let g = shuffle_f32(FULL_WARP, seen.g, from);
        let b = shuffle_f32(FULL_WARP, seen.b, from);
        if above != 0 {
            *tsdf += t;
            seen.weight += w;
            seen.r += r;
            seen.g += g;
            seen.b += b;
        }
        above &= !ballot(FULL_WARP, rank & 1 != 0);
        rank >>= 1;
    }
}

/// Adds up within the warp what goes to the same voxel; several threads may share a ray.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn update_warp(
    points: *const f32, point_weight: *const f32, point_color: *const u8, table: *const Entry,
    tsdf: *mut f32, weight: *mut f32, r: *mut f32, g: *mut f32, b: *mut f32, n: i32, steps: i32,
    voxel: f32, inv_voxel: f32, trunc: f32, inv_trunc: f32, cam_x: f32, cam_y: f32, cam_z: f32,
    table_mask: u32, weight_cap: f32,
) {
    let i = global_x();
    let own = if i < n as u32 { i } else { n as u32 - 1 }; // lanes past the end never add
    let lane = lane();
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let voxels = Voxels { tsdf, weight, r, g, b };
    unsafe {
        let ray = ray_to(points, own, cam);
        let observed = observation_of(point_weight, point_color, own);
        let (mut previous, mut block) = (EMPTY, DROPPED);
        let (first, end) = span_of(steps);
        for s in first..end {
            let sample = sample_at(&ray, s, cam, grid);
            let mut adds = (i < n as u32) & (sample.sdf >= -trunc);
            let key = block_key(sample.block());
            if adds && key != previous {
                previous = key;
                block = find(table, table_mask, key, sample.block());
            }
            let at = voxel_index(block, &sample);
            adds = adds && block >= 0 && !voxels.is_full(at, weight_cap);
            let adding = ballot(FULL_WARP, adds);
            let same = if adds { match_any_u32(adding, at as u32) } else { 0 };
            let mut sum = clamped(sample.sdf, inv_trunc) * observed.weight;
            let mut seen = observed;
            sum_of_group(same, lane, &mut sum, &mut seen);
            if adds & (lane == first_lane(same)) {
                voxels.add(at, sum, &seen);
            }
        }
    }
}
