"""Looks up 64-bit keys in a hash table (task hash/find) in Triton: see find.cu and find_flight.cu.

A sector is a row of four slots; the row's smallest code says what comes of it.
"""

import triton
import triton.language as tl

from hash import EMPTY, NONE, UNIT, any_of, bucket_of, first_hash, load_sector, next_bucket, search_start, second_hash

LAUNCH = {
    "find_linear": {"num_warps": 1, "grid": "ceil_div(n, 256)"},
    "find_bucket": {"num_warps": 1, "grid": "ceil_div(n, 256)"},
    "find_cuckoo": {"num_warps": 1, "grid": "ceil_div(n, 32)"},
}


@triton.jit
def look(sector, query, since, BUCKET: tl.constexpr):
    """2 * slot when the key is there, an odd number when it is not in the table, 8 to go on."""
    within = tl.arange(0, 4)[None, :]
    code = tl.where(sector == EMPTY, 7 if BUCKET else 2 * within + 1, 8)
    code = tl.where(sector == query[:, None], 2 * within, code)
    if not BUCKET:  # slots before the first do not count, and whatever comes first decides
        code = tl.where(within < since[:, None].to(tl.int32), 8, code)
    return tl.min(code, 1)


@triton.jit
def find(
    table, queries, at, n, slots, BUCKET: tl.constexpr, BLOCK: tl.constexpr, EACH: tl.constexpr,
):
    i = tl.program_id(0) * BLOCK * EACH + tl.arange(0, BLOCK)
    end = tl.minimum(n, (tl.program_id(0) + 1) * BLOCK * EACH)
    query = tl.load(queries + i, mask=i < end, other=0)
    slot = search_start(query, slots, BUCKET)
    while any_of(i < end):
        bucket = slot // UNIT * UNIT
        seen = look(load_sector(table, bucket, i < end), query, slot % UNIT, BUCKET)
        done = seen < 2 * UNIT
        answer = tl.where(seen % 2 == 0, bucket + (seen // 2).to(tl.uint32), NONE)
        tl.store(at + i, answer, mask=done & (i < end))
        i = tl.where(done, i + BLOCK, i)
        query = tl.where(done, tl.load(queries + i, mask=done & (i < end), other=0), query)
        slot = tl.where(done, search_start(query, slots, BUCKET), next_bucket(bucket, slots))


@triton.jit
def find_linear(
    table: "*u64", queries: "*u64", at: "*u32", n: "i32", slots: "u32", BLOCK: tl.constexpr = 32,
    EACH: tl.constexpr = 8,
):
    find(table, queries, at, n, slots, False, BLOCK, EACH)


@triton.jit
def find_bucket(
    table: "*u64", queries: "*u64", at: "*u32", n: "i32", slots: "u32", BLOCK: tl.constexpr = 32,
    EACH: tl.constexpr = 8,
):
    find(table, queries, at, n, slots, True, BLOCK, EACH)


@triton.jit
def slot_in(table, bucket, query, mask):
    """The slot of a key in its bucket, or NONE."""
    within = tl.arange(0, 4)[None, :]
    hit = load_sector(table, bucket, mask) == query[:, None]
    found = tl.min(tl.where(hit, within, UNIT), 1)
    return tl.where(found < UNIT, bucket + found.to(tl.uint32), NONE)


@triton.jit
def find_cuckoo(
    table: "*u64", queries: "*u64", at: "*u32", n: "i32", slots: "u32", BLOCK: tl.constexpr = 32,
):
    """The second bucket only where the first does not have it: half of the keys that are there."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    query = tl.load(queries + i, mask=live, other=0)
    slot = slot_in(table, bucket_of(first_hash(query), slots), query, live)
    missing = live & (slot == NONE)
    again = slot_in(table, bucket_of(second_hash(query), slots), query, missing)
    tl.store(at + i, tl.where(missing, again, slot), mask=live)
