"""Regular controls of allocate and update in Triton: see regular.cu, whose kernels these are."""

import triton
import triton.language as tl

from tsdf import ray_to, signed_distance, voxel_of

LAUNCH = {
    "allocate_regular": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "update_regular": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "update_dense": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
}


@triton.jit
def place_in(x, y, z, first_x, first_y, first_z, wide, high):
    return ((z - first_z) * high + y - first_y) * wide + x - first_x


@triton.jit
def add(tsdf, weight, r, g, b, at, value, pw, pr, pg, pb, adds):
    tl.atomic_add(tsdf + at, value, mask=adds, sem="relaxed")
    tl.atomic_add(weight + at, pw, mask=adds, sem="relaxed")
    tl.atomic_add(r + at, pr, mask=adds, sem="relaxed")
    tl.atomic_add(g + at, pg, mask=adds, sem="relaxed")
    tl.atomic_add(b + at, pb, mask=adds, sem="relaxed")


@triton.jit
def allocate_regular(
    points: "*fp32", present: "*i32", n: "i32", steps: "i32", voxel: "fp32", inv_voxel: "fp32",
    trunc: "fp32", cam_x: "fp32", cam_y: "fp32", cam_z: "fp32", first_x: "i32", first_y: "i32",
    first_z: "i32", wide: "i32", high: "i32", BLOCK: tl.constexpr = 32,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    px, py, pz, ux, uy, uz, length = ray_to(points, i, live, cam_x, cam_y, cam_z)
    for s in range(-steps, steps + 1):
        t = s.to(tl.float32) * voxel
        x = voxel_of(px, ux, t, inv_voxel)
        y = voxel_of(py, uy, t, inv_voxel)
        z = voxel_of(pz, uz, t, inv_voxel)
        counts = live & (signed_distance(x, y, z, length, voxel, cam_x, cam_y, cam_z) >= -trunc)
        at = present + place_in(x >> 3, y >> 3, z >> 3, first_x, first_y, first_z, wide, high)
        seen = tl.load(at, mask=counts, other=1)
        # Others may mark the same block; Triton has no relaxed store.
        tl.atomic_xchg(at, tl.full((BLOCK,), 1, tl.int32), mask=counts & (seen == 0), sem="relaxed")


@triton.jit
def update_regular(
    points: "*fp32", point_weight: "*fp32", point_color: "*u8", index: "*i32", tsdf: "*fp32",
    weight: "*fp32", r: "*fp32", g: "*fp32", b: "*fp32", n: "i32", steps: "i32", voxel: "fp32",
    inv_voxel: "fp32", trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32", cam_y: "fp32",
    cam_z: "fp32", first_x: "i32", first_y: "i32", first_z: "i32", wide: "i32", high: "i32",
    weight_cap: "fp32", BLOCK: tl.constexpr = 32,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    px, py, pz, ux, uy, uz, length = ray_to(points, i, live, cam_x, cam_y, cam_z)
    pw = tl.load(point_weight + i, mask=live, other=0.0)
    pr = tl.load(point_color + 3 * i, mask=live, other=0).to(tl.float32) * pw
    pg = tl.load(point_color + 3 * i + 1, mask=live, other=0).to(tl.float32) * pw
    pb = tl.load(point_color + 3 * i + 2, mask=live, other=0).to(tl.float32) * pw
    for s in range(-steps, steps + 1):
        t = s.to(tl.float32) * voxel
        x = voxel_of(px, ux, t, inv_voxel)
        y = voxel_of(py, uy, t, inv_voxel)
        z = voxel_of(pz, uz, t, inv_voxel)
        sdf = signed_distance(x, y, z, length, voxel, cam_x, cam_y, cam_z)
        counts = live & (sdf >= -trunc)
        place = place_in(x >> 3, y >> 3, z >> 3, first_x, first_y, first_z, wide, high)
        block = tl.load(index + place, mask=counts, other=-1)
        adds = counts & (block >= 0)
        at = block.to(tl.int64) * 512 + ((x & 7) | (y & 7) << 3 | (z & 7) << 6)
        if weight_cap > 0.0:
            adds = adds & (tl.load(weight + at, mask=adds, other=0.0, volatile=True) < weight_cap)
        value = tl.minimum(tl.maximum(sdf * inv_trunc, -1.0), 1.0) * pw
        add(tsdf, weight, r, g, b, at, value, pw, pr, pg, pb, adds)


@triton.jit
def update_dense(
    points: "*fp32", point_weight: "*fp32", point_color: "*u8", tsdf: "*fp32", weight: "*fp32",
    r: "*fp32", g: "*fp32", b: "*fp32", n: "i32", steps: "i32", voxel: "fp32", inv_voxel: "fp32",
    trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32", cam_y: "fp32", cam_z: "fp32", first_x: "i32",
    first_y: "i32", first_z: "i32", wide: "i32", high: "i32", weight_cap: "fp32",
    BLOCK: tl.constexpr = 32,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    px, py, pz, ux, uy, uz, length = ray_to(points, i, live, cam_x, cam_y, cam_z)
    pw = tl.load(point_weight + i, mask=live, other=0.0)
    pr = tl.load(point_color + 3 * i, mask=live, other=0).to(tl.float32) * pw
    pg = tl.load(point_color + 3 * i + 1, mask=live, other=0).to(tl.float32) * pw
    pb = tl.load(point_color + 3 * i + 2, mask=live, other=0).to(tl.float32) * pw
    for s in range(-steps, steps + 1):
        t = s.to(tl.float32) * voxel
        x = voxel_of(px, ux, t, inv_voxel)
        y = voxel_of(py, uy, t, inv_voxel)
        z = voxel_of(pz, uz, t, inv_voxel)
        sdf = signed_distance(x, y, z, length, voxel, cam_x, cam_y, cam_z)
        adds = live & (sdf >= -trunc)
        place = place_in(x >> 3, y >> 3, z >> 3, first_x, first_y, first_z, wide, high)
        at = place.to(tl.int64) * 512 + ((x & 7) | (y & 7) << 3 | (z & 7) << 6)
        if weight_cap > 0.0:
            adds = adds & (tl.load(weight + at, mask=adds, other=0.0, volatile=True) < weight_cap)
        value = tl.minimum(tl.maximum(sdf * inv_trunc, -1.0), 1.0) * pw
        add(tsdf, weight, r, g, b, at, value, pw, pr, pg, pb, adds)
