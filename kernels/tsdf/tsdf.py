"""What the TSDF kernels in Triton share: the walk along a ray and the table's keys.

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
