"""Counts how often 64-bit keys occur (task hash/count) in Triton: see count.cu and count_flight.cu.

No lane sees another's key, so equal keys are brought together by sorting those of a program: the
last of each run counts for all of it.
"""

import triton
import triton.language as tl

from hash import EMPTY, any_of, search_start, settle_step

LAUNCH = {
    "count_linear": {"num_warps": 1, "grid": "ceil_div(n, 128)"},
    "count_bucket": {"num_warps": 1, "grid": "ceil_div(n, 128)"},
}


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def runs_of(key, BLOCK: tl.constexpr):
    """Of sorted keys: whether each is the last of its run, and how long the run is up to there."""
    lane = tl.arange(0, BLOCK)
    first = (lane == 0) | (tl.gather(key, tl.maximum(lane - 1, 0), 0) != key)
    last = (lane == BLOCK - 1) | (tl.gather(key, tl.minimum(lane + 1, BLOCK - 1), 0) != key)
    begin = tl.associative_scan(tl.where(first, lane, 0), 0, larger)
    return last, (lane - begin + 1).to(tl.uint32)


@triton.jit
def count(
    keys, table, counts, n, slots, BUCKET: tl.constexpr, BLOCK: tl.constexpr, EACH: tl.constexpr,
):
    for batch in range(EACH):
        i = (tl.program_id(0) * EACH + batch) * BLOCK + tl.arange(0, BLOCK)
        key = tl.sort(tl.load(keys + i, mask=i < n, other=EMPTY))
        last, length = runs_of(key, BLOCK)
        asks = last & (key != EMPTY)
        slot = search_start(key, slots, BUCKET)
        while any_of(asks):
            done, slot = settle_step(table, key, slot, asks, i, slots, BUCKET)
            tl.atomic_add(counts + slot, length, mask=done, sem="relaxed")
            asks = asks & ~done


@triton.jit
def count_linear(
    keys: "*u64", table: "*u64", counts: "*u32", n: "i32", slots: "u32", BLOCK: tl.constexpr = 32,
    EACH: tl.constexpr = 4,
):
    count(keys, table, counts, n, slots, False, BLOCK, EACH)


@triton.jit
def count_bucket(
    keys: "*u64", table: "*u64", counts: "*u32", n: "i32", slots: "u32", BLOCK: tl.constexpr = 32,
    EACH: tl.constexpr = 4,
):
    count(keys, table, counts, n, slots, True, BLOCK, EACH)
