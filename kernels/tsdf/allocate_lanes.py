"""Stage "allocate" in Triton, a thread a point: `allocate_late` of allocate.cu, line by line.

Triton takes a scalar for one value of the whole program, and every thread holds a copy of it. Here
one instruction of inline PTX gives each thread another: its number. Whatever follows from it differs
by thread, too, `if` and `while` branch by lane, and a load is a thread's own. What Triton gives to
one thread alone, stores and atomics, and what it has no word for, votes and matches, are inline PTX
as well. No document promises this; it holds for the compiler that made the PTX beside this file, and
the judge and the simulator see whether it does.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from tsdf import DROPPED, EMPTY, block_hash, block_key, ray_to, sample_at

LAUNCH = {"allocate_lanes": {"num_warps": 8, "grid": "ceil_div(n, 256)"}}


@triton.jit
def thread():
    """The number of the thread in its program: a scalar that differs from thread to thread."""
    return tl.inline_asm_elementwise(
        "mov.u32 $0, %tid.x;", "=r", [], dtype=tl.int32, is_pure=False, pack=1
    )


@triton.jit
def ballot(predicate):
    """The lanes of the warp whose predicate is set; all lanes must come here."""
    return tl.inline_asm_elementwise(
        "{ .reg .pred p; setp.ne.b32 p, $1, 0; vote.sync.ballot.b32 $0, p, 0xffffffff; }", "=r,r",
        [predicate.to(tl.int32)], dtype=tl.int32, is_pure=False, pack=1,
    )


@triton.jit
def same_lanes(value):
    """The lanes of the warp with the same value; all lanes must come here."""
    return tl.inline_asm_elementwise(
        "match.any.sync.b64 $0, $1, 0xffffffff;", "=r,l", [value], dtype=tl.int32, is_pure=False,
        pack=1,
    )


@triton.jit
def swap(at, key):
    """Puts a key into an entry that is empty; what was there."""
    return tl.inline_asm_elementwise(
        "atom.relaxed.gpu.global.cas.b64 $0, [$1], $2, $3;", "=l,l,l,l",
        [at.to(tl.int64), tl.full((), EMPTY, tl.int64), key], dtype=tl.int64, is_pure=False, pack=1,
    )


@triton.jit
def count_one(at):
    """Adds one; what was there."""
    return tl.inline_asm_elementwise(
        "atom.relaxed.gpu.global.add.u32 $0, [$1], 1;", "=r,l", [at.to(tl.int64)], dtype=tl.int32,
        is_pure=False, pack=1,
    )


@triton.jit
def count_dropped(at):
    tl.inline_asm_elementwise(
        "red.relaxed.gpu.global.add.u64 [$1], 1; mov.u32 $0, 0;", "=r,l", [at.to(tl.int64)],
        dtype=tl.int32, is_pure=False, pack=1,
    )


@triton.jit
def put(at, value):
    """A store that others' loads may race with."""
    tl.inline_asm_elementwise(
        "st.relaxed.gpu.global.b32 [$1], $2; mov.u32 $0, 0;", "=r,l,r", [at.to(tl.int64), value],
        dtype=tl.int32, is_pure=False, pack=1,
    )


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
