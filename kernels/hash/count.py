"""Counts how often 64-bit keys occur (task hash/count) in Triton: see count.cu and count_flight.cu.

No lane sees another's key, so equal keys are brought together by sorting those of a program: the
last of each run counts for all of it.
"""

import triton
import triton.language as tl

from hash import EMPTY, any_of, claim, first_hash, first_slot, next_slot

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
def count(keys, table, counts, n, slots, BUCKET: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.sort(tl.load(keys + i, mask=i < n, other=EMPTY))
    last, length = runs_of(key, BLOCK)
    asks = last & (key != EMPTY)
    hash = first_hash(key)
    slot = first_slot(hash, slots, BUCKET)
    while any_of(asks):
        seen = tl.load(table + slot, mask=asks, other=0, cache_modifier=".cg")
        empty = asks & (seen == EMPTY)
        if any_of(empty):
            old = claim(table + slot, key, empty)
            seen = tl.where(empty, tl.where(old == EMPTY, key, old), seen)
        found = asks & (seen == key)
        tl.atomic_add(counts + slot, length, mask=found, sem="relaxed")
        asks = asks & ~found
        slot = tl.where(asks, next_slot(slot, hash, slots, BUCKET), slot)


@triton.jit
def count_linear(
    keys: "*u64", table: "*u64", counts: "*u32", n: "i32", slots: "u32", BLOCK: tl.constexpr = 128,
):
    count(keys, table, counts, n, slots, False, BLOCK)


@triton.jit
def count_bucket(
    keys: "*u64", table: "*u64", counts: "*u32", n: "i32", slots: "u32", BLOCK: tl.constexpr = 128,
):
    count(keys, table, counts, n, slots, True, BLOCK)
