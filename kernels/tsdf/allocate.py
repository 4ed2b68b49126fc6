"""Stage "allocate" in Triton: see allocate.cu for the algorithm.

`allocate` is what the language can do: a program is one warp, its lanes probe together until all
have found or inserted their block. Of lanes that want the same empty entry one asks for it, and
entries are claimed one after the other. `allocate_late` claims them at once, with two instructions
that Triton has no word for. `allocate_published` is the published program (arXiv 2608.08287): a fixed
number of probes, acquire-release atomics for every lane in every probe, those of idle lanes on a
scratch slot. A chain longer than its probes loses the block.
"""

import triton
import triton.language as tl

from tsdf import (
    DROPPED, EMPTY, block_hash, block_key, find_or_insert, ray_to, signed_distance, voxel_of,
)

LAUNCH = {
    "allocate": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "allocate_late": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "allocate_published": {"num_warps": 4, "grid": "ceil_div(n, 128)"},
}


@triton.jit
def allocate(
    points: "*fp32", table: "*i64", coord: "*i32", block_count: "*i32", drop_count: "*u64",
    n: "i32", steps: "i32", voxel: "fp32", inv_voxel: "fp32", trunc: "fp32", cam_x: "fp32",
    cam_y: "fp32", cam_z: "fp32", table_mask: "u32", capacity: "i32", BLOCK: tl.constexpr = 32,
    AT_ONCE: tl.constexpr = False,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    px, py, pz, ux, uy, uz, length = ray_to(points, i, live, cam_x, cam_y, cam_z)
    previous = tl.full((BLOCK,), EMPTY, tl.int64)
    for s in range(-steps, steps + 1):
        t = s.to(tl.float32) * voxel
        x = voxel_of(px, ux, t, inv_voxel)
        y = voxel_of(py, uy, t, inv_voxel)
        z = voxel_of(pz, uz, t, inv_voxel)
        sdf = signed_distance(x, y, z, length, voxel, cam_x, cam_y, cam_z)
        x, y, z = x >> 3, y >> 3, z >> 3
        key = block_key(x, y, z)
        asks = live & (sdf >= -trunc) & (key != previous)
        previous = tl.where(asks, key, previous)
        find_or_insert(
            table, coord, block_count, drop_count, table_mask, capacity, x, y, z, asks, False, AT_ONCE
        )


@triton.jit
def allocate_late(
    points: "*fp32", table: "*i64", coord: "*i32", block_count: "*i32", drop_count: "*u64",
    n: "i32", steps: "i32", voxel: "fp32", inv_voxel: "fp32", trunc: "fp32", cam_x: "fp32",
    cam_y: "fp32", cam_z: "fp32", table_mask: "u32", capacity: "i32",
):
    allocate(
        points, table, coord, block_count, drop_count, n, steps, voxel, inv_voxel, trunc, cam_x,
        cam_y, cam_z, table_mask, capacity, 32, True,
    )


@triton.jit
def allocate_published(
    points: "*fp32", table: "*i64", coord: "*i32", block_count: "*i32", drop_count: "*u64",
    scratch_slots: "*i64", n: "i32", steps: "i32", voxel: "fp32", inv_voxel: "fp32", trunc: "fp32",
    cam_x: "fp32", cam_y: "fp32", cam_z: "fp32", table_mask: "u32", capacity: "i32",
    BLOCK: tl.constexpr = 128, PROBES: tl.constexpr = 8,
):
    lane = tl.arange(0, BLOCK)
    i = tl.program_id(0) * BLOCK + lane
    live = i < n
    px, py, pz, ux, uy, uz, length = ray_to(points, i, live, cam_x, cam_y, cam_z)
    scratch_at = scratch_slots + tl.minimum(i, n - 1).to(tl.int64)
    for s in range(-steps, steps + 1):
        t = s.to(tl.float32) * voxel
        x = voxel_of(px, ux, t, inv_voxel)
        y = voxel_of(py, uy, t, inv_voxel)
        z = voxel_of(pz, uz, t, inv_voxel)
        sdf = signed_distance(x, y, z, length, voxel, cam_x, cam_y, cam_z)
        x, y, z = x >> 3, y >> 3, z >> 3
        key = block_key(x, y, z)
        asks = live & (sdf >= -trunc)
        slot = block_hash(x, y, z) & table_mask
        for _ in tl.static_range(PROBES):
            at = tl.where(asks, table + 2 * slot.to(tl.int64), scratch_at)
            old = tl.atomic_cas(at, tl.full((BLOCK,), EMPTY, tl.int64), key)
            won = asks & (old == EMPTY)
            one = tl.full((BLOCK,), 1, tl.int32)
            place = tl.atomic_add(block_count + 0 * one, one, mask=won)
            fits = won & (place < capacity)
            tl.store(coord + 3 * place, x, mask=fits)
            tl.store(coord + 3 * place + 1, y, mask=fits)
            tl.store(coord + 3 * place + 2, z, mask=fits)
            block = tl.where(place < capacity, place, DROPPED)
            tl.atomic_xchg(table.to(tl.pointer_type(tl.int32)) + 4 * slot.to(tl.int64) + 2, block, mask=won)
            tl.atomic_add(drop_count + 0 * one, one.to(tl.uint64), mask=won & (place >= capacity))
            asks = asks & ~won & (old != key)
            slot = (slot + 1) & table_mask
