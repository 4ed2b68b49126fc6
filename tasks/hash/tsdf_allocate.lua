--- hash/tsdf_allocate: the irregular stage of the hash-blocked TSDF workload
-- (kernels/tsdf/README.md).

local pg = require "perigee"
local tsdf = require "perigee.tsdf"

return pg.task {
  name = "hash/tsdf_allocate",
  category = "hash",
  level = "kernel",
  doc = [[
Insert the 8 x 8 x 8 blocks that depth points touch into a hash table and a pool.

Each point p has a direction u = (p - cam) / |p - cam| and samples p + u * (s * voxel), where s runs
from -steps to steps. A sample lies in the voxel floor(sample * inv_voxel). Its signed distance is
sdf = |p - cam| - |centre of that voxel - cam|, and it counts when sdf >= -trunc. Its block is
floor(voxel / 8). Find the block in the table, or insert it.

table[table_mask + 1]: open addressing with linear probing. An entry is 16 bytes,
struct Entry { long long key; int block; int pad; }; pad is free. An empty one has all bits set (key
-1, block -1).
  key of block (x, y, z)    (x + 2^20) << 42 | (y + 2^20) << 21 | (z + 2^20)
  its first slot            (x * 73856093 ^ y * 19349663 ^ z * 83492791) & table_mask, in uint32

Every distinct block ends in exactly one entry, found by probing without meeting an empty entry.
Each adds one to *block_count. A block gets a place in the pool: block = 0 .. capacity - 1, each
given out once, and coord[3 * block ..] = x, y, z. Blocks for which the pool has no room keep their
entry with block = -2, and each adds one to *drop_count.

Arithmetic is binary32: samples within rounding of a border may fall either way. The volume may
already hold blocks (parameter warm): they keep their places.]],
  params = tsdf.params(),
  cells = tsdf.cells(),
  also = tsdf.ALSO,
  derive = tsdf.derive,
  inputs = tsdf.allocate_inputs,
  state = tsdf.table_state,
  kernel = [[void allocate(const float* points, Entry* table, int* coord, int* block_count,
    unsigned long long* drop_count, int n, int steps, float voxel, float inv_voxel, float trunc,
    float cam_x, float cam_y, float cam_z, unsigned int table_mask, int capacity)]],
  args = tsdf.args,
  launch = tsdf.launch,
  reference = tsdf.reference,
  validate = { "tsdf_volume", table = true },
  time = tsdf.time,
  work = function(p, _, expected) return tsdf.work(p, expected, true, false) end,
  facts = tsdf.facts,
  impls = {
    { name = "cuda", "cuda", "kernels/tsdf/allocate.cu" },
    { name = "cuda-ray", "cuda", "kernels/tsdf/allocate.cu", kernel = "allocate_ray" },
    {
      name = "cuda-split", "cuda", "kernels/tsdf/allocate.cu", kernel = "allocate_ray",
      launch = tsdf.split_launch,
    },
    {
      name = "cuda-no-wait", "cuda", "kernels/tsdf/causes.cu", kernel = "allocate_no_wait",
      on_request = true, doc = "waits for no other thread's block, whose number it does not need",
    },
    { name = "cuda-late", "cuda", "kernels/tsdf/allocate.cu", kernel = "allocate_late" },
    { name = "rust", "rust", "kernels/tsdf/allocate.rs" },
    { name = "rust-ray", "rust", "kernels/tsdf/allocate.rs", kernel = "allocate_ray" },
    {
      name = "rust-split", "rust", "kernels/tsdf/allocate.rs", kernel = "allocate_ray",
      launch = tsdf.split_launch,
    },
    { name = "rust-late", "rust", "kernels/tsdf/allocate.rs", kernel = "allocate_late" },
    { name = "triton", "triton", "kernels/tsdf/allocate.py" },
    { name = "triton-late", "triton", "kernels/tsdf/allocate.py", kernel = "allocate_late" },
    {
      name = "triton-published", "triton", "kernels/tsdf/allocate.py",
      kernel = "allocate_published",
      scratch = { scratch_slots = { dtype = "i64", n = "n", init = 0 } },
      on_request = true, doc = "loses blocks where probe chains are long",
    },
  },
}
