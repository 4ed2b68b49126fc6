"""Inserts 64-bit keys into a hash table (task hash/insert) in Triton: see insert_flight.cu."""

import triton
import triton.language as tl

from hash import EMPTY, UNIT, any_of, bucket_of, claim, first_hash, load_sector, search_start, second_hash, settle_step

LAUNCH = {
    "insert_linear": {"num_warps": 1, "grid": "ceil_div(n, 512)"},
    "insert_bucket": {"num_warps": 1, "grid": "ceil_div(n, 512)"},
    "insert_cuckoo": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
}


@triton.jit
def insert(keys, table, n, slots, BUCKET: tl.constexpr, BLOCK: tl.constexpr, EACH: tl.constexpr):
    i = tl.program_id(0) * BLOCK * EACH + tl.arange(0, BLOCK)
    end = tl.minimum(n, (tl.program_id(0) + 1) * BLOCK * EACH)
    key = tl.load(keys + i, mask=i < end, other=EMPTY)
    slot = search_start(key, slots, BUCKET)
    while any_of(i < end):
        done, slot = settle_step(table, key, slot, i < end, i, slots, BUCKET)
        i = tl.where(done, i + BLOCK, i)
        fresh = done & (i < end)
        key = tl.where(done, tl.load(keys + i, mask=fresh, other=EMPTY), key)
        slot = tl.where(fresh, search_start(key, slots, BUCKET), slot)


@triton.jit
def insert_linear(
    keys: "*u64", table: "*u64", n: "i32", slots: "u32", BLOCK: tl.constexpr = 32,
    EACH: tl.constexpr = 16,
):
    insert(keys, table, n, slots, False, BLOCK, EACH)


@triton.jit
def insert_bucket(
    keys: "*u64", table: "*u64", n: "i32", slots: "u32", BLOCK: tl.constexpr = 32,
    EACH: tl.constexpr = 16,
):
    insert(keys, table, n, slots, True, BLOCK, EACH)


@triton.jit
def insert_cuckoo(
    keys: "*u64", table: "*u64", n: "i32", slots: "u32", BLOCK: tl.constexpr = 32,
    EVICTIONS: tl.constexpr = 10000,
):
    """Keys are all different. Where both buckets are full, one of the keys there has to move."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + i, mask=i < n, other=EMPTY)
    asks = i < n
    bucket = bucket_of(first_hash(key), slots)
    first = asks  # the key's other bucket has not been tried yet
    step = 0
    while any_of(asks) & (step < EVICTIONS):
        sector = load_sector(table, bucket, asks)
        within = tl.min(tl.where(sector == EMPTY, tl.arange(0, 4)[None, :], UNIT), 1)
        empty = asks & (within < UNIT)
        if any_of(empty):
            old = claim(table, bucket + within.to(tl.uint32), key, empty, i, slots)
            asks = asks & ~(empty & (old == EMPTY))
        full = asks & ~empty
        evicts = full & ~first
        victim = table + bucket + first_hash(key + step) % UNIT
        key = tl.where(evicts, tl.atomic_xchg(victim, key, mask=evicts, sem="relaxed"), key)
        one = bucket_of(first_hash(key), slots)
        two = bucket_of(second_hash(key), slots)
        bucket = tl.where(full, tl.where(one == bucket, two, one), bucket)
        first = first & ~full
        step += 1
