"""Stage "dense_update" in Triton: see dense_update.cu for the algorithm.

A program has the 512 voxels of one block after the other.
"""

import triton
import triton.language as tl

GRID = "min(1056, capacity)"
LAUNCH = {
    "dense_update": {"num_warps": 4, "grid": GRID},
    "dense_update_regular": {"num_warps": 4, "grid": GRID},
}


@triton.jit
def seen_at(block, i, voxel, cam):
    """Centres of voxels along one axis, seen from the camera."""
    return ((8 * block + i).to(tl.float32) + 0.5) * voxel - cam


@triton.jit
def add(sums, at, value, mask):
    tl.store(sums + at, tl.load(sums + at, mask=mask, other=0.0) + value, mask=mask)


@triton.jit
def gather(
    block, coord, depth, image_weight, image_color, tsdf, weight, r, g, b, side, focal, centre,
    voxel, trunc, inv_trunc, cam_x, cam_y, cam_z,
):
    t = tl.arange(0, 512)
    place = coord + 3 * block.to(tl.int64)
    x = seen_at(tl.load(place), t & 7, voxel, cam_x)
    y = seen_at(tl.load(place + 1), t >> 3 & 7, voxel, cam_y)
    z = seen_at(tl.load(place + 2), t >> 6, voxel, cam_z)
    front = z > 0.0
    divisor = tl.where(front, z, 1.0)
    u = tl.floor(x / divisor * focal + centre)
    v = tl.floor(y / divisor * focal + centre)
    shown = front & (u >= 0.0) & (u < side) & (v >= 0.0) & (v < side)
    pixel = tl.where(shown, v.to(tl.int32) * side + u.to(tl.int32), 0)
    seen = tl.load(depth + pixel, mask=shown, other=0.0)
    sdf = seen - z
    adds = shown & (seen > 0.0) & (sdf >= -trunc)
    w = tl.load(image_weight + pixel, mask=adds, other=0.0)
    at = block.to(tl.int64) * 512 + t
    add(tsdf, at, tl.minimum(tl.maximum(sdf * inv_trunc, -1.0), 1.0) * w, adds)
    add(weight, at, w, adds)
    add(r, at, tl.load(image_color + 3 * pixel, mask=adds, other=0).to(tl.float32) * w, adds)
    add(g, at, tl.load(image_color + 3 * pixel + 1, mask=adds, other=0).to(tl.float32) * w, adds)
    add(b, at, tl.load(image_color + 3 * pixel + 2, mask=adds, other=0).to(tl.float32) * w, adds)


@triton.jit
def dense_update(
    coord: "*i32", active: "*i32", active_count: "*i32", depth: "*fp32", image_weight: "*fp32",
    image_color: "*u8", tsdf: "*fp32", weight: "*fp32", r: "*fp32", g: "*fp32", b: "*fp32",
    side: "i32", focal: "fp32", centre: "fp32", voxel: "fp32", trunc: "fp32", inv_trunc: "fp32",
    cam_x: "fp32", cam_y: "fp32", cam_z: "fp32",
):
    for k in range(tl.program_id(0), tl.load(active_count), tl.num_programs(0)):
        gather(
            tl.load(active + k), coord, depth, image_weight, image_color, tsdf, weight, r, g, b,
            side, focal, centre, voxel, trunc, inv_trunc, cam_x, cam_y, cam_z,
        )


@triton.jit
def dense_update_regular(
    coord: "*i32", active_count: "*i32", depth: "*fp32", image_weight: "*fp32", image_color: "*u8",
    tsdf: "*fp32", weight: "*fp32", r: "*fp32", g: "*fp32", b: "*fp32", side: "i32",
    focal: "fp32", centre: "fp32", voxel: "fp32", trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32",
    cam_y: "fp32", cam_z: "fp32",
):
    for block in range(tl.program_id(0), tl.load(active_count), tl.num_programs(0)):
        gather(
            block, coord, depth, image_weight, image_color, tsdf, weight, r, g, b, side, focal,
            centre, voxel, trunc, inv_trunc, cam_x, cam_y, cam_z,
        )
