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
def load_sector(table, bucket, mask):
    """Whole sectors, one a lane, not from a stale L1 line."""
    at = tl.multiple_of(bucket.to(tl.int64), 4)
    within = tl.arange(0, 4)
    return tl.load(table + at[:, None] + within[None, :], mask=mask[:, None], other=0, cache_modifier=".cg")


@triton.jit
def claim(table, slot, key, mask, i, slots):
    """What was in the slots; where it was EMPTY and the mask is set, the key is there now.

    `atomic_cas` takes no mask: the other lanes put EMPTY where EMPTY is, which changes nothing. They do so
    in a part of the table that stays in L2, each at a slot of its own (`i` differs): where many look for
    one key, all would wait for each other there.
    """
    idle = tl.minimum((i & 0xFFFF).to(tl.uint32), slots - 1)
    at = table + tl.where(mask, slot, idle)
    return tl.atomic_cas(at, tl.full(key.shape, EMPTY, tl.uint64), tl.where(mask, key, EMPTY), sem="relaxed")


@triton.jit
def search_start(key, slots, BUCKET: tl.constexpr):
    """Where a search starts: at a slot, or at the first one of a bucket."""
    if BUCKET:
        return bucket_of(first_hash(key), slots)
    return place(first_hash(key), slots)


@triton.jit
def settle_step(table, key, slot, asks, i, slots, BUCKET: tl.constexpr):
    """One step of putting keys into the table, a sector each, from `slot` on: whether a key is there
    now, and its slot or the one to go on with.

    A sector is read before any claim: that is faster than a claim of what is not in L2. The claim is
    made by all lanes when one has to.
    """
    bucket = slot // UNIT * UNIT
    sector = load_sector(table, bucket, asks)
    within = tl.arange(0, 4).to(tl.uint32)[None, :]
    hash = first_hash(key)
    order = within
    if BUCKET:  # the slot tried first differs, so that it is often empty
        order = (within - hash[:, None]) % UNIT
    code = tl.where(sector == EMPTY, 2 * order + 1, 8)
    code = tl.where(sector == key[:, None], 2 * order, code)
    if not BUCKET:
        code = tl.where(within < (slot % UNIT)[:, None], 8, code)
    code = tl.min(code.to(tl.int32), 1).to(tl.uint32)
    chosen = bucket + (code // 2 + hash) % UNIT if BUCKET else bucket + code // 2 % UNIT
    empty = asks & (code < 8) & (code % 2 == 1)
    done = asks & (code < 8) & (code % 2 == 0)
    if any_of(empty):
        old = claim(table, chosen, key, empty, i, slots)
        done = done | empty & ((old == EMPTY) | (old == key))
    on = tl.where(code == 8, next_bucket(bucket, slots), slot)
    return done, tl.where(done, chosen, on)
