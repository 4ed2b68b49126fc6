"""Stage "allocate" in Triton, a thread a point: `allocate_late` of allocate.cu, line by line.

lanes.py says how a program of Triton's branches by lane.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from lanes import ballot, count_dropped, count_one, put, same_lanes, swap, thread
from tsdf import DROPPED, EMPTY, block_hash, block_key, ray_to, sample_at

LAUNCH = {"allocate_lanes": {"num_warps": 8, "grid": "ceil_div(n, 256)"}}


@triton.jit
def publish(table, coord, block_count, drop_count, capacity, slot, x, y, z):
    """The winner of an empty entry gives it a block, as far as the pool goes."""
    place = count_one(block_count)
    fits = place < capacity
    block = tl.where(fits, place, DROPPED)
    put(table.to(tl.pointer_type(tl.int32)) + 4 * slot.to(tl.int64) + 2, block)
    if fits:
        put(coord + 3 * place, x)
        put(coord + 3 * place + 1, y)
        put(coord + 3 * place + 2, z)
    else:
        count_dropped(drop_count)


@triton.jit
def walk_to(table, table_mask, key, slot):
    """Along a probe chain to a key or to an entry that looks empty: the slot, and what is there."""
    seen = tl.load(table + 2 * slot.to(tl.int64))
    left = table_mask
    while (seen != key) & (seen != EMPTY) & (left > 0):
        slot = (slot + 1) & table_mask
        seen = tl.load(table + 2 * slot.to(tl.int64))
        left -= 1
    return slot, seen


@triton.jit
def insert_from(table, coord, block_count, drop_count, table_mask, capacity, key, slot, x, y, z):
    """Inserts a key that was not seen on the way to a slot."""
    left = table_mask + 1  # so many entries are tried at most
    while left > 0:
        slot, seen = walk_to(table, table_mask, key, slot)
        left -= 1
        if seen == EMPTY:
            seen = swap(table + 2 * slot.to(tl.int64), key)
            if seen == EMPTY:
                publish(table, coord, block_count, drop_count, capacity, slot, x, y, z)
                seen = key
        # Another key came first: on, for a line of the L1 cache may show the entry as empty still.
        slot = (slot + 1) & table_mask
        left = tl.where(seen == key, 0, left)


@triton.jit
def allocate_lanes(
    points: "*fp32", table: "*i64", coord: "*i32", block_count: "*i32", drop_count: "*u64",
    n: "i32", steps: "i32", voxel: "fp32", inv_voxel: "fp32", trunc: "fp32", cam_x: "fp32",
    cam_y: "fp32", cam_z: "fp32", table_mask: "u32", capacity: "i32",
):
    i = tl.program_id(0) * 256 + thread()
    live = i < n
    # Threads past the end walk the last ray but never ask: the warp's votes need all of them.
    px, py, pz, ux, uy, uz, length = ray_to(points, tl.minimum(i, n - 1), True, cam_x, cam_y, cam_z)
    previous = tl.full((), EMPTY, tl.int64)
    for s in range(-steps, steps + 1):
        x, y, z, sdf = sample_at(
            px, py, pz, ux, uy, uz, length, s, voxel, inv_voxel, cam_x, cam_y, cam_z
        )
        x, y, z = x >> 3, y >> 3, z >> 3
        key = block_key(x, y, z)
        slot = block_hash(x, y, z) & table_mask
        seen = key
        if live & (sdf >= -trunc) & (key != previous):
            previous = key
            slot, seen = walk_to(table, table_mask, key, slot)
        misses = seen != key
        if ballot(misses) != 0:
            lane = thread() & 31
            same = same_lanes(tl.where(misses, key, -2 - lane.to(tl.int64)))
            if misses & (libdevice.ffs(same) - 1 == lane):
                insert_from(
                    table, coord, block_count, drop_count, table_mask, capacity, key, slot, x, y, z
                )
