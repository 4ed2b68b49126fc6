"""Stage "update" in Triton, a thread a point: `update_ray` of update.cu, line by line.

lanes.py says how a program of Triton's branches by lane.
"""

import triton
import triton.language as tl

from lanes import add_to, entry_at, thread
from tsdf import DROPPED, EMPTY, block_hash, block_key, clamped, ray_to, sample_at, voxel_index

LAUNCH = {"update_lanes": {"num_warps": 8, "grid": "ceil_div(n, 256)"}}


@triton.jit
def find(table, table_mask, key, slot):
    """The block of a key in a table that nobody writes; DROPPED where it has none."""
    seen, block = entry_at(table + 2 * slot.to(tl.int64))
    left = table_mask
    while (seen != key) & (seen != EMPTY) & (left > 0):
        slot = (slot + 1) & table_mask
        seen, block = entry_at(table + 2 * slot.to(tl.int64))
        left -= 1
    return tl.where(seen == key, block, DROPPED)


@triton.jit
def update_lanes(
    points: "*fp32", point_weight: "*fp32", point_color: "*u8", table: "*i64", tsdf: "*fp32",
    weight: "*fp32", r: "*fp32", g: "*fp32", b: "*fp32", n: "i32", steps: "i32", voxel: "fp32",
    inv_voxel: "fp32", trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32", cam_y: "fp32",
    cam_z: "fp32", table_mask: "u32", weight_cap: "fp32",
):
    i = tl.program_id(0) * 256 + thread()
    if i < n:
        px, py, pz, ux, uy, uz, length = ray_to(points, i, True, cam_x, cam_y, cam_z)
        pw = tl.load(point_weight + i)
        pr = tl.load(point_color + 3 * i).to(tl.float32) * pw
        pg = tl.load(point_color + 3 * i + 1).to(tl.float32) * pw
        pb = tl.load(point_color + 3 * i + 2).to(tl.float32) * pw
        previous = tl.full((), EMPTY, tl.int64)
        block = tl.full((), DROPPED, tl.int32)
        for s in range(-steps, steps + 1):
            x, y, z, sdf = sample_at(
                px, py, pz, ux, uy, uz, length, s, voxel, inv_voxel, cam_x, cam_y, cam_z
            )
            if sdf >= -trunc:
                key = block_key(x >> 3, y >> 3, z >> 3)
                if key != previous:
                    previous = key
                    slot = block_hash(x >> 3, y >> 3, z >> 3) & table_mask
                    block = find(table, table_mask, key, slot)
                at = voxel_index(block, x, y, z)
                adds = block >= 0
                if adds & (weight_cap > 0.0):
                    adds = tl.load(weight + at, volatile=True) < weight_cap
                if adds:
                    add_to(tsdf + at, clamped(sdf, inv_trunc) * pw)
                    add_to(weight + at, pw)
                    add_to(r + at, pr)
                    add_to(g + at, pg)
                    add_to(b + at, pb)
