//! Stage "dense_update" in Rust: see dense_update.cu, whose kernels these are.
#![no_std]
#![feature(abi_ptx)]
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

mod tsdf;

use gpu::*;
use tsdf::*;

struct Image {
    depth: *const f32,
    weight: *const f32,
    color: *const u8,
    side: i32, // pixels, either way
    focal: f32,
    centre: f32,
}

impl Image {
    /// The pixel that shows a place; -1: none.
    #[inline(always)]
    fn pixel_of(&self, x: f32, y: f32, z: f32) -> i32 {
        if z <= 0.0 {
            return -1;
        }
        let u = floor_i32(fma(x / z, self.focal, self.centre));
        let v = floor_i32(fma(y / z, self.focal, self.centre));
        let inside = u >= 0 && u < self.side && v >= 0 && v < self.side;
        if inside { v * self.side + u } else { -1 }
    }
}

/// The centre of voxel i of 8 in block `block`, along one axis, seen from the camera.
#[inline(always)]
fn seen_at(block: i32, i: i32, voxel: f32, cam: f32) -> f32 {
    fma((8 * block + i) as f32 + 0.5, voxel, -cam)
}

#[inline(always)]
unsafe fn gather(
    image: &Image, voxels: &Voxels, block: i32, coord: *const i32, voxel: f32, trunc: f32,
    inv_trunc: f32, cam: Vec3,
) {
    let t = thread_x() as i32;
    unsafe {
        let at = coord.add(3 * block as usize);
        let x = seen_at(*at, t & 7, voxel, cam.x);
        let y = seen_at(*at.add(1), t >> 3 & 7, voxel, cam.y);
        let z = seen_at(*at.add(2), t >> 6, voxel, cam.z);
        let pixel = image.pixel_of(x, y, z);
        if pixel < 0 {
            return;
        }
        let depth = *image.depth.add(pixel as usize);
        let sdf = depth - z;
        if depth <= 0.0 || sdf < -trunc {
            return;
        }
        let seen = observation_of(image.weight, image.color, pixel as u32);
        let i = block as usize * 512 + t as usize;
        *voxels.tsdf.add(i) += clamped(sdf, inv_trunc) * seen.weight;
        *voxels.weight.add(i) += seen.weight;
        *voxels.r.add(i) += seen.r;
        *voxels.g.add(i) += seen.g;
        *voxels.b.add(i) += seen.b;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn dense_update(
    coord: *const i32, active: *const i32, active_count: *const i32, depth: *const f32,
    image_weight: *const f32, image_color: *const u8, tsdf: *mut f32, weight: *mut f32,
    r: *mut f32, g: *mut f32, b: *mut f32, side: i32, focal: f32, centre: f32, voxel: f32,
    trunc: f32, inv_trunc: f32, cam_x: f32, cam_y: f32, cam_z: f32,
) {
    let image = Image { depth, weight: image_weight, color: image_color, side, focal, centre };
    let voxels = Voxels { tsdf, weight, r, g, b };
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    unsafe {
        let (count, mut k) = (*active_count, block_x() as i32);
        while k < count {
            let block = *active.add(k as usize);
            gather(&image, &voxels, block, coord, voxel, trunc, inv_trunc, cam);
            k += grid_size_x() as i32;
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn dense_update_regular(
    coord: *const i32, active_count: *const i32, depth: *const f32, image_weight: *const f32,
    image_color: *const u8, tsdf: *mut f32, weight: *mut f32, r: *mut f32, g: *mut f32,
    b: *mut f32, side: i32, focal: f32, centre: f32, voxel: f32, trunc: f32, inv_trunc: f32,
    cam_x: f32, cam_y: f32, cam_z: f32,
) {
    let image = Image { depth, weight: image_weight, color: image_color, side, focal, centre };
    let voxels = Voxels { tsdf, weight, r, g, b };
    let cam = Vec3 { x: cam_x, y: cam_y, z: cam_z };
    unsafe {
        let (count, mut block) = (*active_count, block_x() as i32);
        while block < count {
            gather(&image, &voxels, block, coord, voxel, trunc, inv_trunc, cam);
            block += grid_size_x() as i32;
        }
    }
}
