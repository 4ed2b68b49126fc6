//! Regular controls of allocate and update in Rust: see regular.cu, whose kernels these are.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

mod tsdf;

use gpu::*;
use tsdf::*;

/// A dense grid of blocks over the whole scene: its first block, and blocks along x and y.
#[derive(Clone, Copy)]
struct Lattice {
    x: i32,
    y: i32,
    z: i32,
    wide: i32,
    high: i32,
}

#[inline(always)]
fn place_of(grid: Lattice, sample: &Sample) -> i32 {
    let (x, y, z) = sample.block();
    let row = (z - grid.z).wrapping_mul(grid.high).wrapping_add(y - grid.y);
    row.wrapping_mul(grid.wide).wrapping_add(x - grid.x)
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn allocate_regular(
    points: *const f32, present: *mut i32, n: i32, steps: i32, voxel: f32, inv_voxel: f32,
    trunc: f32, cam_x: f32, cam_y: f32, cam_z: f32, first_x: i32, first_y: i32, first_z: i32,
    wide: i32, high: i32,
) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let lattice = Lattice { x: first_x, y: first_y, z: first_z, wide, high };
    unsafe {
        each_sample::<2>(&ray_to(points, i, cam), cam, grid, steps, |sample| {
            let at = present.offset(place_of(lattice, sample) as isize);
            if *at == 0 {
                store_relaxed_i32(at, 1);
            }
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn update_regular(
    points: *const f32, point_weight: *const f32, point_color: *const u8, index: *const i32,
    tsdf: *mut f32, weight: *mut f32, r: *mut f32, g: *mut f32, b: *mut f32, n: i32, steps: i32,
    voxel: f32, inv_voxel: f32, trunc: f32, inv_trunc: f32, cam_x: f32, cam_y: f32, cam_z: f32,
    first_x: i32, first_y: i32, first_z: i32, wide: i32, high: i32, weight_cap: f32,
) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let lattice = Lattice { x: first_x, y: first_y, z: first_z, wide, high };
    let voxels = Voxels { tsdf, weight, r, g, b };
    unsafe {
        let ray = ray_to(points, i, cam);
        let seen = observation_of(point_weight, point_color, i);
        each_sample::<2>(&ray, cam, grid, steps, |sample| {
            let block = *index.offset(place_of(lattice, sample) as isize);
            if block >= 0 {
                voxels.add_sample(block, sample, &seen, inv_trunc, weight_cap);
            }
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn update_dense(
    points: *const f32, point_weight: *const f32, point_color: *const u8, tsdf: *mut f32,
    weight: *mut f32, r: *mut f32, g: *mut f32, b: *mut f32, n: i32, steps: i32, voxel: f32,
    inv_voxel: f32, trunc: f32, inv_trunc: f32, cam_x: f32, cam_y: f32, cam_z: f32, first_x: i32,
    first_y: i32, first_z: i32, wide: i32, high: i32, weight_cap: f32,
) {
    let i = global_x();
    if i >= n as u32 {
        return;
    }
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    let grid = Grid { voxel, inv_voxel, trunc };
    let lattice = Lattice { x: first_x, y: first_y, z: first_z, wide, high };
    let voxels = Voxels { tsdf, weight, r, g, b };
    unsafe {
        let ray = ray_to(points, i, cam);
        let seen = observation_of(point_weight, point_color, i);
        each_sample::<2>(&ray, cam, grid, steps, |sample| {
            voxels.add_sample(place_of(lattice, sample), sample, &seen, inv_trunc, weight_cap);
        });
    }
}
