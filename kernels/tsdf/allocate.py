"""Stage "allocate" in Triton: see allocate.cu for the algorithm.

`allocate` is what the language can do: a program is one warp, whose lanes look, probe and claim
together. A vote takes as long as a look-up, so three samples of each ray are looked up for one vote;
lanes that miss a block go on together, each with the first that it misses.
Of lanes that want the same empty entry one asks for it, and entries are claimed one after the other;
`allocate_late` claims them at once, with two instructions that Triton has no word for.
`allocate_published` is the published program (arXiv 2608.08287): a fixed number of probes,
acquire-release atomics for every lane in every probe, those of idle lanes on a scratch slot. A chain
longer than its probes loses the block.
"""

import triton
import triton.language as tl

from tsdf import (
    DROPPED, EMPTY, advance, any_of, block_hash, block_key, look, ray_to, sample_at,
)

LAUNCH = {
    "allocate": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "allocate_late": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "allocate_published": {"num_warps": 4, "grid": "ceil_div(n, 128)"},
}


@triton.jit
def ask(
    table, table_mask, px, py, pz, ux, uy, uz, length, limit, s, steps, voxel, inv_voxel, cam_x,
    cam_y, cam_z, previous,
):
    """Looks the blocks of samples s up, but for those equal to the previous one of their rays. Keys,
    slots, what is seen there (the key where nothing is asked), and the previous ones from now on."""
    x, y, z, sdf = sample_at(
        px, py, pz, ux, uy, uz, length, s, voxel, inv_voxel, cam_x, cam_y, cam_z
    )
    x, y, z = x >> 3, y >> 3, z >> 3
    key = block_key(x, y, z)
    asks = (sdf >= limit) & (key != previous) & (s <= steps)
    slot = block_hash(x, y, z) & table_mask
    seen, _ = look(table, slot, asks, key, key, False)
    return key, slot, seen, tl.where(asks, key, previous)


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
    limit = tl.where(live, -trunc, float("inf"))
    previous = tl.full((BLOCK,), EMPTY, tl.int64)
    for s in range(-steps, steps + 1, 3):
        ka, la, sa, previous = ask(
            table, table_mask, px, py, pz, ux, uy, uz, length, limit, s, steps, voxel, inv_voxel,
            cam_x, cam_y, cam_z, previous,
        )
        kb, lb, sb, previous = ask(
            table, table_mask, px, py, pz, ux, uy, uz, length, limit, s + 1, steps, voxel, inv_voxel,
            cam_x, cam_y, cam_z, previous,
        )
        kc, lc, sc, previous = ask(
            table, table_mask, px, py, pz, ux, uy, uz, length, limit, s + 2, steps, voxel, inv_voxel,
            cam_x, cam_y, cam_z, previous,
        )
        missing = any_of((sa != ka) | (sb != kb) | (sc != kc))
        tries = 0
        while missing:
            a = sa != ka
            b = ~a & (sb != kb)
            c = ~a & ~b
            slot, seen, _ = advance(
                table, coord, block_count, drop_count, table_mask, capacity,
                tl.where(a, ka, tl.where(b, kb, kc)), tl.where(a, la, tl.where(b, lb, lc)),
                tl.where(a, sa, tl.where(b, sb, sc)), la, tries, False, AT_ONCE,
            )
            la, sa = tl.where(a, slot, la), tl.where(a, seen, sa)
            lb, sb = tl.where(b, slot, lb), tl.where(b, seen, sb)
            lc, sc = tl.where(c, slot, lc), tl.where(c, seen, sc)
            tries += 1
            missing = any_of((sa != ka) | (sb != kb) | (sc != kc)) & (tries >> 2 <= table_mask)


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
        x, y, z, sdf = sample_at(
            px, py, pz, ux, uy, uz, length, s, voxel, inv_voxel, cam_x, cam_y, cam_z
        )
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
