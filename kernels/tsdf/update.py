"""Stage "update" in Triton: see update.cu for the algorithm.

`update` is what the language can do: one warp a program, relaxed atomics, a look-up only when the
ray enters another block. `update_warp` also adds up within the warp what goes to the same voxel; the
lanes that do are found by the one instruction that Triton has no word for, match.any.
`update_published` looks every sample up with a fixed number of probes and adds by atomics of the
default semantics, acquire-release.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from tsdf import (
    DROPPED, EMPTY, any_of, block_hash, block_key, clamped, find, next_sample, ray_to, sample_at,
    same_lanes, voxel_index,
)

LAUNCH = {
    "update": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "update_warp": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
    "update_published": {"num_warps": 4, "grid": "ceil_div(n, 128)"},
}


@triton.jit
def observation(point_weight, point_color, i, live):
    w = tl.load(point_weight + i, mask=live, other=0.0)
    r = tl.load(point_color + 3 * i, mask=live, other=0).to(tl.float32) * w
    g = tl.load(point_color + 3 * i + 1, mask=live, other=0).to(tl.float32) * w
    b = tl.load(point_color + 3 * i + 2, mask=live, other=0).to(tl.float32) * w
    return w, r, g, b


@triton.jit
def sum_of_groups(same, lane, a, b, c, d, e):
    """Sums over the lanes whose masks `same` are equal, in the lowest of them; void in the others. In
    each round every second lane of a group hands its sums to the one before it."""
    above = same & ~((2 << lane) - 1)  # partners in higher lanes
    rank = libdevice.popc(same & ((1 << lane) - 1))
    while any_of(above != 0):
        takes = above != 0
        giver = tl.where(takes, libdevice.ffs(above) - 1, lane)
        a = tl.where(takes, a + tl.gather(a, giver, 0), a)
        b = tl.where(takes, b + tl.gather(b, giver, 0), b)
        c = tl.where(takes, c + tl.gather(c, giver, 0), c)
        d = tl.where(takes, d + tl.gather(d, giver, 0), d)
        e = tl.where(takes, e + tl.gather(e, giver, 0), e)
        above = above & ~tl.sum(tl.where(rank & 1, 1 << lane, 0), 0)  # those have been taken
        rank = rank >> 1
    return a, b, c, d, e


@triton.jit
def voxels_of(block, x, y, z, weight, counts, weight_cap, RELAXED: tl.constexpr = True):
    """Where samples lie in the arrays of sums, and which are to be added: those that count, but for
    blocks without a place (below 0) and voxels that are full."""
    adds = counts & (block >= 0)
    at = voxel_index(block, x, y, z)
    if weight_cap > 0.0:
        held = tl.load(weight + at, mask=adds, other=0.0, volatile=RELAXED)
        adds = adds & (held < weight_cap)
    return at, adds


@triton.jit
def add(
    tsdf, weight, r, g, b, at, value, pw, pr, pg, pb, adds, SEM: tl.constexpr = "relaxed"
):
    tl.atomic_add(tsdf + at, value, mask=adds, sem=SEM)
    tl.atomic_add(weight + at, pw, mask=adds, sem=SEM)
    tl.atomic_add(r + at, pr, mask=adds, sem=SEM)
    tl.atomic_add(g + at, pg, mask=adds, sem=SEM)
    tl.atomic_add(b + at, pb, mask=adds, sem=SEM)


@triton.jit
def add_samples(
    tsdf, weight, r, g, b, block, x, y, z, sdf, counts, inv_trunc, weight_cap, pw, pr, pg, pb
):
    at, adds = voxels_of(block, x, y, z, weight, counts, weight_cap)
    add(tsdf, weight, r, g, b, at, clamped(sdf, inv_trunc) * pw, pw, pr, pg, pb, adds)


@triton.jit
def update(
    points: "*fp32", point_weight: "*fp32", point_color: "*u8", table: "*i64", tsdf: "*fp32",
    weight: "*fp32", r: "*fp32", g: "*fp32", b: "*fp32", n: "i32", steps: "i32", voxel: "fp32",
    inv_voxel: "fp32", trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32", cam_y: "fp32",
    cam_z: "fp32", table_mask: "u32", weight_cap: "fp32", BLOCK: tl.constexpr = 32,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    px, py, pz, ux, uy, uz, length = ray_to(points, i, live, cam_x, cam_y, cam_z)
    pw, pr, pg, pb = observation(point_weight, point_color, i, live)
    previous = tl.full((BLOCK,), EMPTY, tl.int64)
    block = tl.full((BLOCK,), DROPPED, tl.int32)
    for s in range(-steps, steps + 1):
        x, y, z, sdf, counts, enters, previous = next_sample(
            px, py, pz, ux, uy, uz, length, live, s, voxel, inv_voxel, trunc, cam_x, cam_y, cam_z,
            previous,
        )
        found = find(table, table_mask, x >> 3, y >> 3, z >> 3, enters)
        block = tl.where(enters, found, block)
        add_samples(
            tsdf, weight, r, g, b, block, x, y, z, sdf, counts, inv_trunc, weight_cap, pw, pr, pg, pb,
        )


@triton.jit
def update_warp(
    points: "*fp32", point_weight: "*fp32", point_color: "*u8", table: "*i64", tsdf: "*fp32",
    weight: "*fp32", r: "*fp32", g: "*fp32", b: "*fp32", n: "i32", steps: "i32", voxel: "fp32",
    inv_voxel: "fp32", trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32", cam_y: "fp32",
    cam_z: "fp32", table_mask: "u32", weight_cap: "fp32", BLOCK: tl.constexpr = 32,
):
    lane = tl.arange(0, BLOCK)
    i = tl.program_id(0) * BLOCK + lane
    live = i < n
    px, py, pz, ux, uy, uz, length = ray_to(points, i, live, cam_x, cam_y, cam_z)
    pw, pr, pg, pb = observation(point_weight, point_color, i, live)
    previous = tl.full((BLOCK,), EMPTY, tl.int64)
    block = tl.full((BLOCK,), DROPPED, tl.int32)
    for s in range(-steps, steps + 1):
        x, y, z, sdf, counts, enters, previous = next_sample(
            px, py, pz, ux, uy, uz, length, live, s, voxel, inv_voxel, trunc, cam_x, cam_y, cam_z,
            previous,
        )
        found = find(table, table_mask, x >> 3, y >> 3, z >> 3, enters)
        block = tl.where(enters, found, block)
        at, adds = voxels_of(block, x, y, z, weight, counts, weight_cap)
        value = clamped(sdf, inv_trunc) * pw
        # Voxels fit 31 bits.
        same = tl.where(adds, same_lanes(tl.where(adds, at.to(tl.int32), -1)), 0)
        value, sw, sr, sg, sb = sum_of_groups(same, lane, value, pw, pr, pg, pb)
        leads = adds & (libdevice.ffs(same) - 1 == lane)
        add(tsdf, weight, r, g, b, at, value, sw, sr, sg, sb, leads)


@triton.jit
def update_published(
    points: "*fp32", point_weight: "*fp32", point_color: "*u8", table: "*i64", tsdf: "*fp32",
    weight: "*fp32", r: "*fp32", g: "*fp32", b: "*fp32", n: "i32", steps: "i32", voxel: "fp32",
    inv_voxel: "fp32", trunc: "fp32", inv_trunc: "fp32", cam_x: "fp32", cam_y: "fp32",
    cam_z: "fp32", table_mask: "u32", weight_cap: "fp32", BLOCK: tl.constexpr = 128,
    PROBES: tl.constexpr = 8,
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
        key = block_key(x >> 3, y >> 3, z >> 3)
        slot = block_hash(x >> 3, y >> 3, z >> 3) & table_mask
        block = tl.full((BLOCK,), DROPPED, tl.int32)
        for _ in tl.static_range(PROBES):
            seen = tl.load(table + 2 * slot.to(tl.int64), mask=counts, other=0)
            value = tl.load(table.to(tl.pointer_type(tl.int32)) + 4 * slot.to(tl.int64) + 2, mask=counts, other=0)
            block = tl.where(counts & (seen == key), value, block)
            slot = (slot + 1) & table_mask
        at, adds = voxels_of(block, x, y, z, weight, counts, weight_cap, False)
        value = clamped(sdf, inv_trunc) * pw
        add(tsdf, weight, r, g, b, at, value, pw, pr, pg, pb, adds, "acq_rel")
