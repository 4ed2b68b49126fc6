"""What the kernels of hash/insert, hash/find and hash/count in Triton share: where a key may stand and
in which order slots are tried. See hash.cuh.

A program is one warp. Its lanes go on together, each with a key of its own; a lane that is done
takes its next key, so that none waits for the longest search of the others.
"""

import triton
import triton.language as tl

EMPTY = tl.constexpr(0xFFFFFFFFFFFFFFFF)
NONE = tl.constexpr(0xFFFFFFFF)
UNIT = tl.constexpr(4)  # slots of a bucket


@triton.jit
def any_of(mask):
    """Whether any lane's mask is set."""
    return tl.max(mask.to(tl.int32), 0) > 0


@triton.jit
def first_hash(key):
    return (key * 0x9E3779B97F4A7C15 >> 32).to(tl.uint32)


@triton.jit
def second_hash(key):
    return ((key ^ key >> 29) * 0xD1342543DE82EF95 >> 32).to(tl.uint32)


@triton.jit
def place(hash, count):
    return tl.umulhi(hash, count + tl.zeros_like(hash))


@triton.jit
def bucket_of(hash, slots):
    """The first slot of the bucket that a hash means."""
    return place(hash, slots // UNIT) * UNIT


@triton.jit
def next_bucket(bucket, slots):
    return tl.where(bucket + UNIT == slots, 0, bucket + UNIT)


@triton.jit
def first_slot(hash, slots, BUCKET: tl.constexpr):
    """The slot that is tried first. Within a bucket the start differs, so that it is often empty."""
    if BUCKET:
        return bucket_of(hash, slots) + hash % UNIT
    return place(hash, slots)


@triton.jit
def next_slot(slot, hash, slots, BUCKET: tl.constexpr):
    if BUCKET:
        bucket = slot // UNIT * UNIT
        within = (slot + 1) % UNIT
        return tl.where(within == hash % UNIT, next_bucket(bucket, slots), bucket) + within
    return tl.where(slot + 1 == slots, 0, slot + 1)


@triton.jit
def load_sector(table, bucket, mask):
    """Whole sectors, one a lane, not from a stale L1 line."""
    at = tl.multiple_of(bucket.to(tl.int64), 4)
    within = tl.arange(0, 4)
    return tl.load(table + at[:, None] + within[None, :], mask=mask[:, None], other=0, cache_modifier=".cg")


@triton.jit
def claim(at, key, mask):
    """What was in the slots; where it was EMPTY and the mask is set, the key is there now.

    `atomic_cas` takes no mask: the other lanes put EMPTY where EMPTY is, which changes nothing. They do so
    at slots of their own: were it one for all, all would wait for each other there.
    """
    return tl.atomic_cas(at, tl.full(key.shape, EMPTY, tl.uint64), tl.where(mask, key, EMPTY), sem="relaxed")
