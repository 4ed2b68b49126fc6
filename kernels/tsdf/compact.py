"""Stage "compact" in Triton: see compact.cu for the algorithm.

A program is one warp and looks at one block of the volume after the other.
"""

import triton
import triton.language as tl

from tsdf import any_of

LAUNCH = {
    "compact": {"num_warps": 1, "grid": "min(4224, capacity)"},
    "compact_regular": {"num_warps": 1, "grid": "min(4224, capacity)"},
}


@triton.jit
def compact(
    weight: "*fp32", block_count: "*i32", active: "*i32", active_count: "*i32", capacity: "i32",
):
    blocks = tl.minimum(tl.load(block_count), capacity)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        seen = tl.load(weight + block.to(tl.int64) * 512 + tl.arange(0, 512))
        if any_of(seen > 0.0):
            at = tl.atomic_add(active_count, 1, sem="relaxed")
            tl.store(active + at, block)


@triton.jit
def compact_regular(
    weight: "*fp32", block_count: "*i32", place: "*i32", active: "*i32", active_count: "*i32",
    capacity: "i32",
):
    blocks = tl.minimum(tl.load(block_count), capacity)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        seen = tl.load(weight + block.to(tl.int64) * 512 + tl.arange(0, 512))
        listed = any_of(seen > 0.0)
        at = tl.load(place + block)
        tl.store(active + at, block, mask=listed)
        tl.store(active_count, at + listed.to(tl.int32), mask=block == blocks - 1)
