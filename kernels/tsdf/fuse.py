"""Stage "fuse" in Triton: see fuse.cu.

Two launches, of the kernels of allocate.py and update.py, or one pass, `fuse`, that adds to a voxel
as soon as the insert knows its block.
"""

import triton
import triton.language as tl

from allocate import allocate as allocate_points
from tsdf import (
    DROPPED, EMPTY, advance, any_of, block_hash, block_key, look, next_sample, ray_to,
    wait_for_blocks,
)
from update import add_samples, observation, update as update_points, update_warp as update_sums

LAUNCH = {
    "fuse": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "allocate": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "update": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "update_warp": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
}


@triton.jit
def allocate(
    points: "*fp32", table: "*i64", coord: "*i32", block_count: "*i32", drop_count: "*u64",
    n: "i32", steps: "i32", voxel: "fp32", inv_voxel: "fp32", trunc: "fp32", cam_x: "fp32",
    cam_y: "fp32", cam_z: "fp32", table_mask: "u32", capacity: "i32",
):
    allocate_points(
        points, table, coord, block_count, drop_count, n, steps, voxel, inv_voxel, trunc, cam_x,
        cam_y, cam_z, table_mask, capacity,
    )


@triton.jit
def update(
    points: "*fp32", point_weight: "*fp32", point_color: "*u8", table: "*i64", tsdf: "*fp32",
    weight: "*fp32", r: "*fp32", g: "*fp32", b: "*fp32", n: "i32", steps: "i32", voxel: "fp32",
    inv_voxel: "fp32", trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32", cam_y: "fp32",
    cam_z: "fp32", table_mask: "u32", weight_cap: "fp32",
):
    update_points(
        points, point_weight, point_color, table, tsdf, weight, r, g, b, n, steps, voxel, inv_voxel,
        trunc, inv_trunc, cam_x, cam_y, cam_z, table_mask, weight_cap,
    )


@triton.jit
def update_warp(
    points: "*fp32", point_weight: "*fp32", point_color: "*u8", table: "*i64", tsdf: "*fp32",
    weight: "*fp32", r: "*fp32", g: "*fp32", b: "*fp32", n: "i32", steps: "i32", voxel: "fp32",
    inv_voxel: "fp32", trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32", cam_y: "fp32",
    cam_z: "fp32", table_mask: "u32", weight_cap: "fp32",
):
    update_sums(
        points, point_weight, point_color, table, tsdf, weight, r, g, b, n, steps, voxel, inv_voxel,
        trunc, inv_trunc, cam_x, cam_y, cam_z, table_mask, weight_cap,
    )


@triton.jit
def fuse(
    points: "*fp32", point_weight: "*fp32", point_color: "*u8", table: "*i64", coord: "*i32",
    block_count: "*i32", drop_count: "*u64", tsdf: "*fp32", weight: "*fp32", r: "*fp32",
    g: "*fp32", b: "*fp32", n: "i32", steps: "i32", voxel: "fp32", inv_voxel: "fp32",
    trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32", cam_y: "fp32", cam_z: "fp32",
    table_mask: "u32", capacity: "i32", weight_cap: "fp32", BLOCK: tl.constexpr = 32,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    px, py, pz, ux, uy, uz, length = ray_to(points, i, live, cam_x, cam_y, cam_z)
    pw, pr, pg, pb = observation(point_weight, point_color, i, live)
    previous = tl.full((BLOCK,), EMPTY, tl.int64)
    block = tl.full((BLOCK,), DROPPED, tl.int32)
    for s in range(-steps, steps + 1):
        x, y, z, sdf, counts, asks, previous = next_sample(
            px, py, pz, ux, uy, uz, length, live, s, voxel, inv_voxel, trunc, cam_x, cam_y, cam_z,
            previous,
        )
        key = block_key(x >> 3, y >> 3, z >> 3)
        slot = block_hash(x >> 3, y >> 3, z >> 3) & table_mask
        seen, found = look(table, slot, asks, key, block, True)
        tries = 0
        while any_of(seen != key) & (tries <= table_mask):
            slot, seen, found = advance(
                table, coord, block_count, drop_count, table_mask, capacity, key, slot, seen, found,
                tries, True, True,
            )
            tries += 1
        found = tl.where(seen == key, found, DROPPED)
        block = tl.where(asks, wait_for_blocks(table, slot, found, asks), block)
        add_samples(
            tsdf, weight, r, g, b, block, x, y, z, sdf, counts, inv_trunc, weight_cap, pw, pr, pg, pb,
        )
