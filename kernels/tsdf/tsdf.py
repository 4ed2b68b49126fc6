"""What the TSDF kernels in Triton share: the walk along a ray, and the table with find and insert.

The same algorithm as tsdf.cuh, which explains it. A block of BLOCK points is one program; lanes that
are done are masked, for Triton has no control flow of single lanes.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

EMPTY = tl.constexpr(-1)  # key of an empty entry
PENDING = tl.constexpr(-1)  # block of an entry that is claimed but not yet published
DROPPED = tl.constexpr(-2)  # block of an entry that found the pool full
STEPS = tl.constexpr(4)  # probes between two votes: a vote takes as long as a probe


@triton.jit
def any_of(mask):
    """Whether any lane's mask is set."""
    return tl.max(mask.to(tl.int32), 0) > 0


@triton.jit
def ray_to(points, i, live, cam_x, cam_y, cam_z):
    """Points, unit directions from the camera to them, and their distances from it."""
    x = tl.load(points + 3 * i, mask=live, other=1.0)
    y = tl.load(points + 3 * i + 1, mask=live, other=1.0)
    z = tl.load(points + 3 * i + 2, mask=live, other=1.0)
    dx, dy, dz = x - cam_x, y - cam_y, z - cam_z
    length = tl.sqrt_rn(dx * dx + dy * dy + dz * dz)
    scale = 1.0 / length
    return x, y, z, dx * scale, dy * scale, dz * scale, length


@triton.jit
def voxel_of(position, direction, t, inv_voxel):
    """Rounded down in one instruction; tl.floor and a cast are two, and LLVM makes them three."""
    return libdevice.float2int_rd((position + direction * t) * inv_voxel)


@triton.jit
def signed_distance(x, y, z, length, voxel, cam_x, cam_y, cam_z):
    """Of the voxel's centre along the ray, in metres."""
    dx = (x.to(tl.float32) + 0.5) * voxel - cam_x
    dy = (y.to(tl.float32) + 0.5) * voxel - cam_y
    dz = (z.to(tl.float32) + 0.5) * voxel - cam_z
    return length - tl.sqrt_rn(dx * dx + dy * dy + dz * dz)


@triton.jit
def block_key(x, y, z):
    return (x + 1048576).to(tl.int64) << 42 | (y + 1048576).to(tl.int64) << 21 | (z + 1048576).to(tl.int64)


@triton.jit
def block_hash(x, y, z):
    return (
        x.to(tl.uint32) * 73856093 ^ y.to(tl.uint32) * 19349663 ^ z.to(tl.uint32) * 83492791
    )


@triton.jit
def load_entry(table, slot, mask, other):
    """Keys and blocks of entries, as a tile of two columns: one 16-byte load for each."""
    fields = table + 2 * slot[:, None] + tl.arange(0, 2)[None, :]
    return tl.load(fields, mask=mask[:, None], other=other)


@triton.jit
def find(table, table_mask, x, y, z, asks):
    """Blocks of block coordinates in a table that nobody writes; DROPPED where there is none."""
    key = block_key(x, y, z)
    slot = (block_hash(x, y, z) & table_mask).to(tl.int32)
    entry = load_entry(table, slot, asks, EMPTY)
    seen, block = tl.split(entry)
    left = table_mask
    searching = (seen != key) & (seen != EMPTY)
    while any_of(searching) & (left > 0):
        for _ in tl.static_range(STEPS):
            slot = (slot + 1) & table_mask.to(tl.int32)
            entry = load_entry(table, slot, searching, entry)
            seen, block = tl.split(entry)
            searching = (seen != key) & (seen != EMPTY)
        left -= 1
    return tl.where(seen == key, block.to(tl.int32), DROPPED)


# ---- inserting ----

# What next_act says.
DONE = tl.constexpr(0)
CLAIM = tl.constexpr(1)
SEARCH = tl.constexpr(2)

NOBODY = tl.constexpr(1 << 20)  # above all lanes


@triton.jit
def next_act(asks, seen, key):
    """What the warp does next, by one vote: SEARCH while some lane sees another key, then CLAIM if
    some lane sees an empty entry, else DONE."""
    return tl.max(tl.where(asks & (seen != key), tl.where(seen == EMPTY, CLAIM, SEARCH), DONE), 0)


@triton.jit
def same_lanes(value):
    """Masks of the warp's lanes that hold the same value, of 32 values, one a lane: match.any, which
    Triton has no word for."""
    return tl.inline_asm_elementwise(
        "match.any.sync.b32 $0, $1, 0xffffffff;", "=r,r", [value], dtype=tl.int32, is_pure=False,
        pack=1,
    )


@triton.jit
def swap_some(at, key, mask):
    """Puts keys into entries that are empty; what was there, 0 where the mask is not set. atomic_cas
    takes no mask, so in PTX."""
    return tl.inline_asm_elementwise(
        """{ .reg .pred p; setp.ne.b32 p, $4, 0; mov.b64 $0, 0;
           @p atom.relaxed.gpu.global.cas.b64 $0, [$1], $2, $3; }""",
        "=&l,l,l,l,r",
        [at.to(tl.int64), tl.full(key.shape, EMPTY, tl.int64), key, mask.to(tl.int32)],
        dtype=tl.int64, is_pure=False, pack=1,
    )


@triton.jit
def publish_all(table, coord, block_count, drop_count, capacity, slot, x, y, z, won):
    """The winners of empty entries give them blocks, as far as the pool goes. Others may read a
    block at any time, so an exchange stores it: tl.store has no order."""
    one = tl.full(won.shape, 1, tl.int32)
    place = tl.atomic_add(block_count + 0 * one, one, mask=won, sem="relaxed")
    fits = won & (place < capacity)
    block = tl.where(fits, place, DROPPED)
    at = table.to(tl.pointer_type(tl.int32)) + 4 * slot + 2
    tl.atomic_xchg(at, block, mask=won, sem="relaxed")
    tl.store(coord + 3 * place, x, mask=fits)
    tl.store(coord + 3 * place + 1, y, mask=fits)
    tl.store(coord + 3 * place + 2, z, mask=fits)
    full = won & (place >= capacity)
    if any_of(full):
        tl.atomic_add(drop_count + 0 * one, one.to(tl.uint64), mask=full, sem="relaxed")
    return block


@triton.jit
def publish(table, coord, block_count, drop_count, capacity, slot, x, y, z):
    """The same for one winner: all are scalars."""
    place = tl.atomic_add(block_count, 1, sem="relaxed")
    block = tl.where(place < capacity, place, DROPPED)
    tl.atomic_xchg(table.to(tl.pointer_type(tl.int32)) + 4 * slot + 2, block, sem="relaxed")
    if place < capacity:
        tl.store(coord + 3 * place, x)
        tl.store(coord + 3 * place + 1, y)
        tl.store(coord + 3 * place + 2, z)
    else:
        tl.atomic_add(drop_count, 1, sem="relaxed")
    return block


@triton.jit
def claim_all(
    table, coord, block_count, drop_count, capacity, key, x, y, z, slot, empty, seen, block, lane
):
    """Claims the entries of lanes that see an empty one, all at once, one lane an entry. Returns what
    the lanes see now, and their blocks, PENDING where another warp was faster."""
    leader = libdevice.ffs(same_lanes(tl.where(empty, slot, -1 - lane))) - 1
    leads = empty & (leader == lane)
    old = swap_some(table + 2 * slot, key, leads)
    won = leads & (old == EMPTY)
    given = publish_all(table, coord, block_count, drop_count, capacity, slot, x, y, z, won)
    seen = tl.where(empty, tl.gather(tl.where(won, key, old), leader, 0), seen)
    block = tl.where(empty, tl.gather(tl.where(won, given, PENDING), leader, 0), block)
    return seen, block


@triton.jit
def claim_each(
    table, coord, block_count, drop_count, capacity, key, x, y, z, slot, empty, seen, block, lane
):
    """The same in Triton's own words: one entry after the other, each with a scalar
    compare-and-swap for all lanes that want it."""
    first = tl.min(tl.where(empty, lane, NOBODY), 0)
    while first < NOBODY:
        here = lane == first
        bx = tl.sum(tl.where(here, x, 0), 0)
        by = tl.sum(tl.where(here, y, 0), 0)
        bz = tl.sum(tl.where(here, z, 0), 0)
        at = tl.sum(tl.where(here, slot, 0), 0)
        wanted = block_key(bx, by, bz)
        old = tl.atomic_cas(table + 2 * at, tl.full((), EMPTY, tl.int64), wanted, sem="relaxed")
        given = tl.full((), PENDING, tl.int32)
        if old == EMPTY:
            given = publish(table, coord, block_count, drop_count, capacity, at, bx, by, bz)
            old = wanted
        same = empty & (slot == at)
        seen = tl.where(same, old, seen)
        block = tl.where(same, given, block)
        empty = empty & ~same
        first = tl.min(tl.where(empty, lane, NOBODY), 0)
    return seen, block


@triton.jit
def find_or_insert(
    table, coord, block_count, drop_count, table_mask, capacity, x, y, z, asks,
    WITH_BLOCKS: tl.constexpr, AT_ONCE: tl.constexpr,
):
    """Inserts the blocks of asking lanes that are new, by claim_all or claim_each. Returns blocks,
    PENDING where another warp has not published one yet, and the slots of their entries; void
    without WITH_BLOCKS."""
    lane = tl.arange(0, asks.shape[0])
    key = block_key(x, y, z)
    slot = (block_hash(x, y, z) & table_mask).to(tl.int32)
    left = 2 * (table_mask + 1)  # of an entry there is a look, and a claim that fails
    if WITH_BLOCKS:
        seen, rest = tl.split(load_entry(table, slot, asks, EMPTY))
        block = rest.to(tl.int32)
    else:
        seen = tl.load(table + 2 * slot, mask=asks, other=EMPTY)
        block = tl.full(key.shape, DROPPED, tl.int32)
    act = next_act(asks, seen, key)
    while (act > DONE) & (left > 0):
        if act == SEARCH:
            searching = asks & (seen != key) & (seen != EMPTY)
            start = slot
            for step in tl.static_range(1, STEPS + 1):
                at = (start + step) & table_mask.to(tl.int32)
                slot = tl.where(searching, at, slot)
                if WITH_BLOCKS:
                    fresh, rest = tl.split(load_entry(table, at, searching, EMPTY))
                    seen = tl.where(searching, fresh, seen)
                    block = tl.where(searching, rest.to(tl.int32), block)
                else:
                    seen = tl.load(table + 2 * at, mask=searching, other=seen)
                searching = searching & (seen != key) & (seen != EMPTY)
        else:
            # What looks empty may be a stale line of the L1 cache.
            empty = asks & (seen == EMPTY)
            seen = tl.load(table + 2 * slot, mask=empty, other=seen, volatile=True)
            empty = asks & (seen == EMPTY)
            if AT_ONCE:
                if any_of(empty):
                    seen, block = claim_all(
                        table, coord, block_count, drop_count, capacity, key, x, y, z, slot, empty,
                        seen, block, lane,
                    )
            else:
                seen, block = claim_each(
                    table, coord, block_count, drop_count, capacity, key, x, y, z, slot, empty,
                    seen, block, lane,
                )
        act = next_act(asks, seen, key)
        left -= 1
    if WITH_BLOCKS:
        block = tl.where(seen == key, block, DROPPED)
    return block, slot


@triton.jit
def wait_for_blocks(table, slot, block, asks):
    """Blocks that other warps have claimed, once they are published."""
    at = table.to(tl.pointer_type(tl.int32)) + 4 * slot + 2
    pending = asks & (block == PENDING)
    while any_of(pending):
        block = tl.where(pending, tl.load(at, mask=pending, other=0, volatile=True), block)
        pending = pending & (block == PENDING)
    return block
