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
def load_entry(table, slot, asks):
    """Keys and blocks of entries; a tile of two columns makes it one 16-byte load for each."""
    fields = table + 2 * slot[:, None] + tl.arange(0, 2)[None, :]
    key, rest = tl.split(tl.load(fields, mask=asks[:, None], other=0))
    return key, rest.to(tl.int32)


@triton.jit
def find(table, table_mask, x, y, z, asks):
    """Blocks of block coordinates in a table that nobody writes; DROPPED where there is none."""
    key = block_key(x, y, z)
    slot = (block_hash(x, y, z) & table_mask).to(tl.int32)
    seen, block = load_entry(table, slot, asks)
    block = tl.where(asks & (seen == key), block, DROPPED)
    asks = asks & (seen != key) & (seen != EMPTY)
    left = table_mask
    while any_of(asks) & (left > 0):
        slot = (slot + 1) & table_mask.to(tl.int32)
        seen, value = load_entry(table, slot, asks)
        block = tl.where(asks & (seen == key), value, block)
        asks = asks & (seen != key) & (seen != EMPTY)
        left -= 1
    return block


# ---- inserting ----

# What next_act says besides lanes.
PROBING = tl.constexpr(1 << 20)
DONE = tl.constexpr(1 << 21)


@triton.jit
def next_act(asks, seen, key, lane):
    """What the warp does next, by one vote: the lowest lane that saw an empty entry; PROBING when
    there is none but some lane still looks for its key; else DONE."""
    asks = asks & (seen != key)
    return tl.min(tl.where(asks & (seen == EMPTY), lane, tl.where(asks, PROBING, DONE)), 0)


@triton.jit
def publish(table, coord, block_count, drop_count, capacity, slot, x, y, z):
    """The winner of an empty entry gives it a block, as far as the pool goes. All are scalars.
    Others may read the block at any time, so an exchange stores it: tl.store has no order."""
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
def find_or_insert(
    table, coord, block_count, drop_count, table_mask, capacity, x, y, z, asks,
    WITH_BLOCKS: tl.constexpr = False,
):
    """Inserts the blocks of asking lanes that are new. Returns blocks, PENDING where another warp
    has not published one yet, and the slots of their entries; void without WITH_BLOCKS."""
    lane = tl.arange(0, asks.shape[0])
    key = block_key(x, y, z)
    slot = (block_hash(x, y, z) & table_mask).to(tl.int32)
    left = table_mask + 1
    block = tl.full(key.shape, DROPPED, tl.int32)
    if WITH_BLOCKS:
        seen, block = load_entry(table, slot, asks)
    else:
        seen = tl.load(table + 2 * slot, mask=asks, other=0)
    act = next_act(asks, seen, key, lane)
    while (act < DONE) & (left > 0):
        # Empty entries: one after the other, each with one scalar compare-and-swap for all lanes.
        while act < PROBING:
            here = lane == act
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
            same = asks & (slot == at)
            seen = tl.where(same, old, seen)
            if WITH_BLOCKS:
                block = tl.where(same, given, block)
            act = next_act(asks, seen, key, lane)
        asks = asks & (seen != key)
        if WITH_BLOCKS:
            slot = tl.where(asks, (slot + 1) & table_mask.to(tl.int32), slot)
            fresh, value = load_entry(table, slot, asks)
            seen = tl.where(asks, fresh, seen)
            block = tl.where(asks, value, block)
        else:
            slot = (slot + 1) & table_mask.to(tl.int32)
            seen = tl.load(table + 2 * slot, mask=asks, other=0)
        act = next_act(asks, seen, key, lane)
        left -= 1
    if WITH_BLOCKS:
        block = tl.where(asks & (seen != key), DROPPED, block)
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
