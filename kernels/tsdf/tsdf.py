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
def root(value):
    """The square root, correctly rounded as tl.sqrt_rn's, for numbers from 1e-30 on. That has a
    branch for other numbers, over which samples could not be taken together."""
    value = tl.maximum(value, 1e-30)
    inverse = tl.rsqrt(value)
    near = value * inverse
    return tl.fma(tl.fma(-near, near, value), 0.5 * inverse, near)


@triton.jit
def ray_to(points, i, live, cam_x, cam_y, cam_z):
    """Points, unit directions from the camera to them, and their distances from it."""
    x = tl.load(points + 3 * i, mask=live, other=1.0)
    y = tl.load(points + 3 * i + 1, mask=live, other=1.0)
    z = tl.load(points + 3 * i + 2, mask=live, other=1.0)
    dx, dy, dz = x - cam_x, y - cam_y, z - cam_z
    length = root(dx * dx + dy * dy + dz * dz)
    scale = 1.0 / length
    return x, y, z, dx * scale, dy * scale, dz * scale, length


@triton.jit
def voxel_of(position, direction, t, inv_voxel):
    """Rounded down in one instruction; tl.floor and a cast are two, and LLVM makes them three."""
    return libdevice.float2int_rd((position + direction * t) * inv_voxel)


@triton.jit
def sample_at(
    px, py, pz, ux, uy, uz, length, s, voxel, inv_voxel, cam_x, cam_y, cam_z
):
    """The voxels that samples s lie in, and the signed distances of their centres along the rays, in
    metres."""
    t = s.to(tl.float32) * voxel
    x = voxel_of(px, ux, t, inv_voxel)
    y = voxel_of(py, uy, t, inv_voxel)
    z = voxel_of(pz, uz, t, inv_voxel)
    dx = (x.to(tl.float32) + 0.5) * voxel - cam_x
    dy = (y.to(tl.float32) + 0.5) * voxel - cam_y
    dz = (z.to(tl.float32) + 0.5) * voxel - cam_z
    return x, y, z, length - root(dx * dx + dy * dy + dz * dz)


@triton.jit
def block_key(x, y, z):
    """From its halves: five instructions in place of eleven of 64 bits."""
    high = x * 1024 + ((y >> 11) + (1048576 * 1024 + 512))
    low = y * 2097152 + (z + 1048576)
    return high.to(tl.int64) << 32 | low.to(tl.uint32).to(tl.int64)


@triton.jit
def block_hash(x, y, z):
    return (
        x.to(tl.uint32) * 73856093 ^ y.to(tl.uint32) * 19349663 ^ z.to(tl.uint32) * 83492791
    )


@triton.jit
def voxel_index(block, x, y, z):
    """Where voxels of blocks lie in the arrays of sums."""
    return block.to(tl.int64) * 512 + ((x & 7) | (y & 7) << 3 | (z & 7) << 6)


@triton.jit
def clamped(sdf, inv_trunc):
    return tl.minimum(tl.maximum(sdf * inv_trunc, -1.0), 1.0)


@triton.jit
def next_sample(
    px, py, pz, ux, uy, uz, length, live, s, voxel, inv_voxel, trunc, cam_x, cam_y, cam_z, previous
):
    """Voxels and signed distances of samples s, which of them count, and which enter another block
    than the previous one of their rays; the previous ones from now on."""
    x, y, z, sdf = sample_at(
        px, py, pz, ux, uy, uz, length, s, voxel, inv_voxel, cam_x, cam_y, cam_z
    )
    counts = live & (sdf >= -trunc)
    key = block_key(x >> 3, y >> 3, z >> 3)
    enters = counts & (key != previous)
    return x, y, z, sdf, counts, enters, tl.where(enters, key, previous)


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

NOBODY = tl.constexpr(1 << 20)  # above all lanes


@triton.jit
def same_lanes(value):
    """Masks of the warp's lanes that hold the same value, of 32 values, one a lane: match.any, which
    Triton has no word for. It takes 11 cycles (H200) for each distinct value, so lanes that want
    nothing had better share one."""
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
def coordinates_of(key):
    x = (key >> 42).to(tl.int32) - 1048576
    y = ((key >> 21).to(tl.int32) & 2097151) - 1048576
    return x, y, (key.to(tl.int32) & 2097151) - 1048576


@triton.jit
def publish_all(table, coord, block_count, drop_count, capacity, slot, key, won):
    """The winners of empty entries give them blocks, as far as the pool goes. Others may read a
    block at any time, so an exchange stores it: tl.store has no order."""
    one = tl.full(won.shape, 1, tl.int32)
    place = tl.atomic_add(block_count + 0 * one, one, mask=won, sem="relaxed")
    fits = won & (place < capacity)
    block = tl.where(fits, place, DROPPED)
    at = table.to(tl.pointer_type(tl.int32)) + 4 * slot + 2
    tl.atomic_xchg(at, block, mask=won, sem="relaxed")
    x, y, z = coordinates_of(key)
    tl.store(coord + 3 * place, x, mask=fits)
    tl.store(coord + 3 * place + 1, y, mask=fits)
    tl.store(coord + 3 * place + 2, z, mask=fits)
    full = won & (place >= capacity)
    if any_of(full):
        tl.atomic_add(drop_count + 0 * one, one.to(tl.uint64), mask=full, sem="relaxed")
    return block


@triton.jit
def publish(table, coord, block_count, drop_count, capacity, slot, key):
    """The same for one winner: all are scalars."""
    place = tl.atomic_add(block_count, 1, sem="relaxed")
    block = tl.where(place < capacity, place, DROPPED)
    tl.atomic_xchg(table.to(tl.pointer_type(tl.int32)) + 4 * slot + 2, block, sem="relaxed")
    if place < capacity:
        x, y, z = coordinates_of(key)
        tl.store(coord + 3 * place, x)
        tl.store(coord + 3 * place + 1, y)
        tl.store(coord + 3 * place + 2, z)
    else:
        tl.atomic_add(drop_count, 1, sem="relaxed")
    return block


@triton.jit
def claim_all(
    table, coord, block_count, drop_count, capacity, key, slot, empty, seen, block, lane,
    WITH_BLOCKS: tl.constexpr,
):
    """Claims the entries of lanes that see an empty one, all at once, one lane an entry. Returns what
    the lanes see now, and their blocks, PENDING where another warp was faster."""
    leader = libdevice.ffs(same_lanes(tl.where(empty, slot, -1))) - 1
    leads = empty & (leader == lane)
    old = swap_some(table + 2 * slot, key, leads)
    won = leads & (old == EMPTY)
    given = publish_all(table, coord, block_count, drop_count, capacity, slot, key, won)
    seen = tl.where(empty, tl.gather(tl.where(won, key, old), leader, 0), seen)
    if WITH_BLOCKS:
        block = tl.where(empty, tl.gather(tl.where(won, given, PENDING), leader, 0), block)
    return seen, block


@triton.jit
def claim_each(
    table, coord, block_count, drop_count, capacity, key, slot, empty, seen, block, lane
):
    """The same in Triton's own words: one entry after the other, each with a scalar
    compare-and-swap for all lanes that want it."""
    first = tl.min(tl.where(empty, lane, NOBODY), 0)
    while first < NOBODY:
        here = lane == first
        wanted = tl.sum(tl.where(here, key, 0), 0)
        at = tl.sum(tl.where(here, slot, 0), 0)
        old = tl.atomic_cas(table + 2 * at, tl.full((), EMPTY, tl.int64), wanted, sem="relaxed")
        given = tl.full((), PENDING, tl.int32)
        if old == EMPTY:
            given = publish(table, coord, block_count, drop_count, capacity, at, wanted)
            old = wanted
        same = empty & (slot == at)
        seen = tl.where(same, old, seen)
        block = tl.where(same, given, block)
        empty = empty & ~same
        first = tl.min(tl.where(empty, lane, NOBODY), 0)
    return seen, block


@triton.jit
def is_empty(seen):
    return seen < 0  # as no key of a block is


@triton.jit
def look(table, slot, mask, seen, block, WITH_BLOCKS: tl.constexpr):
    """Keys of entries, and with WITH_BLOCKS their blocks; where the mask is not set those given."""
    if WITH_BLOCKS:
        fresh, rest = tl.split(load_entry(table, slot.to(tl.int32), mask, EMPTY))
        return tl.where(mask, fresh, seen), tl.where(mask, rest.to(tl.int32), block)
    else:
        return tl.load(table + 2 * slot.to(tl.int64), mask=mask, other=seen), block


@triton.jit
def probe(table, table_mask, key, slot, seen, block, TIMES: tl.constexpr, WITH_BLOCKS: tl.constexpr):
    """Lanes that see another key go on along their chains."""
    for _ in tl.static_range(TIMES):
        searching = (seen != key) & ~is_empty(seen)
        slot = tl.where(searching, (slot + 1) & table_mask, slot)
        seen, block = look(table, slot, searching, seen, block, WITH_BLOCKS)
    return slot, seen, block


@triton.jit
def advance(
    table, coord, block_count, drop_count, table_mask, capacity, key, slot, seen, block, tries,
    WITH_BLOCKS: tl.constexpr, AT_ONCE: tl.constexpr,
):
    """Lanes that do not see their keys at their slots go on along their chains, and claim what is
    empty there, by claim_all or claim_each. They are to come again until all see their keys; with
    more tries they go farther. Slots, what is seen there, and blocks, which are void without
    WITH_BLOCKS, and PENDING where another warp has not published one yet."""
    slot, seen, block = probe(table, table_mask, key, slot, seen, block, 2, WITH_BLOCKS)
    if tries > 2:  # a long chain
        slot, seen, block = probe(table, table_mask, key, slot, seen, block, 2 * STEPS, WITH_BLOCKS)
    # What looks empty may be a stale line of the L1 cache.
    seen = tl.load(table + 2 * slot.to(tl.int64), mask=is_empty(seen), other=seen, volatile=True)
    empty = is_empty(seen)
    if any_of(empty):
        lane = tl.arange(0, key.shape[0])
        if AT_ONCE:
            seen, block = claim_all(
                table, coord, block_count, drop_count, capacity, key, slot.to(tl.int32), empty, seen,
                block, lane, WITH_BLOCKS,
            )
        else:
            seen, block = claim_each(
                table, coord, block_count, drop_count, capacity, key, slot.to(tl.int32), empty, seen,
                block, lane,
            )
    return slot, seen, block


@triton.jit
def wait_for_blocks(table, slot, block, asks):
    """Blocks that other warps have claimed, once they are published."""
    at = table.to(tl.pointer_type(tl.int32)) + 4 * slot.to(tl.int64) + 2
    pending = asks & (block == PENDING)
    while any_of(pending):
        block = tl.where(pending, tl.load(at, mask=pending, other=0, volatile=True), block)
        pending = pending & (block == PENDING)
    return block
