"""Regular controls of allocate and update in Triton: see regular.cu, whose kernels these are."""

import triton
import triton.language as tl

from tsdf import ray_to, sample_at
from update import add_samples, observation

LAUNCH = {
    "allocate_regular": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "update_regular": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "update_dense": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
}


@triton.jit
def place_in(x, y, z, first_x, first_y, first_z, wide, high):
    return ((z - first_z) * high + y - first_y) * wide + x - first_x


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
        x, y, z, sdf = sample_at(
            px, py, pz, ux, uy, uz, length, s, voxel, inv_voxel, cam_x, cam_y, cam_z
        )
        counts = live & (sdf >= -trunc)
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
    pw, pr, pg, pb = observation(point_weight, point_color, i, live)
    for s in range(-steps, steps + 1):
        x, y, z, sdf = sample_at(
            px, py, pz, ux, uy, uz, length, s, voxel, inv_voxel, cam_x, cam_y, cam_z
        )
        counts = live & (sdf >= -trunc)
        place = place_in(x >> 3, y >> 3, z >> 3, first_x, first_y, first_z, wide, high)
        block = tl.load(index + place, mask=counts, other=-1)
        add_samples(
            tsdf, weight, r, g, b, block, x, y, z, sdf, counts, inv_trunc, weight_cap, pw, pr, pg, pb,
        )


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
    pw, pr, pg, pb = observation(point_weight, point_color, i, live)
    for s in range(-steps, steps + 1):
        x, y, z, sdf = sample_at(
            px, py, pz, ux, uy, uz, length, s, voxel, inv_voxel, cam_x, cam_y, cam_z
        )
        counts = live & (sdf >= -trunc)
        block = place_in(x >> 3, y >> 3, z >> 3, first_x, first_y, first_z, wide, high)
        add_samples(
            tsdf, weight, r, g, b, block, x, y, z, sdf, counts, inv_trunc, weight_cap, pw, pr, pg, pb,
        )
