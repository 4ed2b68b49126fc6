"""Stage "stencil" in Triton: see stencil.cu for the algorithm.

A program is one warp and has one block of the volume after the other. The 27 neighbouring blocks are
a tile of 32, one a lane, from which tl.gather (a shuffle) gives each voxel the one that it reads. With
more warps than that tile fills, each of them would store all of it to the same shared memory.
"""

import triton
import triton.language as tl

from tsdf import DROPPED, find

GRID = "min(8448, capacity)"
LAUNCH = {
    "stencil7": {"num_warps": 1, "grid": GRID},
    "stencil27": {"num_warps": 1, "grid": GRID},
    "stencil7_regular": {"num_warps": 1, "grid": GRID},
    "stencil27_regular": {"num_warps": 1, "grid": GRID},
}


@triton.jit
def is_tap(dx, dy, dz, TAPS: tl.constexpr):
    return (TAPS == 27) | (tl.abs(dx) + tl.abs(dy) + tl.abs(dz) <= 1)


@triton.jit
def near_by_hash(table, coord, table_mask, block, TAPS: tl.constexpr):
    t = tl.arange(0, 32)
    dx, dy, dz = t % 3 - 1, t // 3 % 3 - 1, t // 9 - 1
    at = coord + 3 * block.to(tl.int64)
    x, y, z = tl.load(at) + dx, tl.load(at + 1) + dy, tl.load(at + 2) + dz
    asks = (t < 27) & (t != 13) & is_tap(dx, dy, dz, TAPS)
    near = find(table, table_mask, x, y, z, asks)
    return tl.where(t == 13, block, near)


@triton.jit
def near_by_index(neighbor, block, TAPS: tl.constexpr):
    t = tl.arange(0, 32)
    wanted = (t < 27) & is_tap(t % 3 - 1, t // 3 % 3 - 1, t // 9 - 1, TAPS)
    return tl.load(neighbor + 27 * block.to(tl.int64) + t, mask=wanted, other=DROPPED)


@triton.jit
def value_at(tsdf, near, x, y, z):
    """Values of voxels, -1 to 8 along each axis of the block in the middle of `near`."""
    block = tl.gather(near, (x + 8) // 8 + 3 * ((y + 8) // 8) + 9 * ((z + 8) // 8), 0)
    at = block.to(tl.int64) * 512 + ((x & 7) | (y & 7) << 3 | (z & 7) << 6)
    return tl.load(tsdf + at, mask=block >= 0, other=0.0)


@triton.jit
def sum_of(tsdf, near, TAPS: tl.constexpr):
    """For the 512 voxels of the block in the middle of `near`."""
    t = tl.arange(0, 512)
    total = tl.zeros((512,), tl.float32)
    for dz in tl.static_range(-1, 2):
        for dy in tl.static_range(-1, 2):
            for dx in tl.static_range(-1, 2):
                if (TAPS == 27) or (dx * dx + dy * dy + dz * dz <= 1):
                    x, y, z = (t & 7) + dx, (t >> 3 & 7) + dy, (t >> 6) + dz
                    total += value_at(tsdf, near, x, y, z)
    return total


@triton.jit
def by_hash(table, coord, block_count, tsdf, sum, table_mask, capacity, TAPS: tl.constexpr):
    blocks = tl.minimum(tl.load(block_count), capacity)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        near = near_by_hash(table, coord, table_mask, block, TAPS)
        tl.store(sum + block.to(tl.int64) * 512 + tl.arange(0, 512), sum_of(tsdf, near, TAPS))


@triton.jit
def by_index(neighbor, block_count, tsdf, sum, capacity, TAPS: tl.constexpr):
    blocks = tl.minimum(tl.load(block_count), capacity)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        near = near_by_index(neighbor, block, TAPS)
        tl.store(sum + block.to(tl.int64) * 512 + tl.arange(0, 512), sum_of(tsdf, near, TAPS))


@triton.jit
def stencil7(
    table: "*i64", coord: "*i32", block_count: "*i32", tsdf: "*fp32", sum: "*fp32",
    table_mask: "u32", capacity: "i32",
):
    by_hash(table, coord, block_count, tsdf, sum, table_mask, capacity, 7)


@triton.jit
def stencil27(
    table: "*i64", coord: "*i32", block_count: "*i32", tsdf: "*fp32", sum: "*fp32",
    table_mask: "u32", capacity: "i32",
):
    by_hash(table, coord, block_count, tsdf, sum, table_mask, capacity, 27)


@triton.jit
def stencil7_regular(
    neighbor: "*i32", block_count: "*i32", tsdf: "*fp32", sum: "*fp32", capacity: "i32",
):
    by_index(neighbor, block_count, tsdf, sum, capacity, 7)


@triton.jit
def stencil27_regular(
    neighbor: "*i32", block_count: "*i32", tsdf: "*fp32", sum: "*fp32", capacity: "i32",
):
    by_index(neighbor, block_count, tsdf, sum, capacity, 27)
