--- hash/tsdf_update: the regular stage of the hash-blocked TSDF workload (kernels/tsdf/README.md).

local pg = require "perigee"
local tsdf = require "perigee.tsdf"

return pg.task {
  name = "hash/tsdf_update",
  category = "hash",
  level = "kernel",
  doc = [[
Add depth points to the voxels along their rays, in a volume whose table knows every block.

Samples and table are those of hash/tsdf_allocate. Every sample that counts finds its block in the
table; blocks without a place (block < 0) have no voxels, their samples are left out. Voxel
(x, y, z) of a block is element block * 512 + (x & 7) + 8 * (y & 7) + 64 * (z & 7) of five arrays.
A sample of a point with weight w and colour (red, green, blue) adds
  tsdf       clamp(sdf * inv_trunc, -1, 1) * w
  weight     w
  r, g, b    red * w, green * w, blue * w

Sums are binary32, in any order. With weight_cap > 0, a sample that sees its voxel's weight at the
cap or above adds nothing at all; the weight that it sees may be an older one.]],
  params = tsdf.params(),
  cells = tsdf.cells(),
  also = tsdf.ALSO,
  derive = tsdf.derive,
  inputs = tsdf.update_inputs,
  state = function(p) return tsdf.voxel_state(p, {}) end,
  kernel = [[void update(const float* points, const float* point_weight,
    const unsigned char* point_color, const Entry* table, float* tsdf, float* weight, float* r,
    float* g, float* b, int n, int steps, float voxel, float inv_voxel, float trunc,
    float inv_trunc, float cam_x, float cam_y, float cam_z, unsigned int table_mask,
    float weight_cap)]],
  args = tsdf.args,
  launch = tsdf.launch,
  reference = tsdf.reference,
  validate = { "tsdf_volume", sums = true },
  time = tsdf.time,
  work = function(p, _, expected) return tsdf.work(p, expected, false, true) end,
  facts = tsdf.facts,
  impls = {
    { name = "cuda", "cuda", "kernels/tsdf/update.cu" },
    { name = "cuda-ray", "cuda", "kernels/tsdf/update.cu", kernel = "update_ray" },
    { name = "cuda-warp", "cuda", "kernels/tsdf/update.cu", kernel = "update_warp" },
    {
      name = "cuda-split", "cuda", "kernels/tsdf/update.cu", kernel = "update_warp",
      launch = tsdf.split_launch,
    },
    { name = "rust", "rust", "kernels/tsdf/update.rs" },
    { name = "rust-ray", "rust", "kernels/tsdf/update.rs", kernel = "update_ray" },
    { name = "rust-warp", "rust", "kernels/tsdf/update.rs", kernel = "update_warp" },
    {
      name = "rust-split", "rust", "kernels/tsdf/update.rs", kernel = "update_warp",
      launch = tsdf.split_launch,
    },
    { name = "triton", "triton", "kernels/tsdf/update.py" },
    { name = "triton-warp", "triton", "kernels/tsdf/update.py", kernel = "update_warp" },
    {
      name = "triton-published", "triton", "kernels/tsdf/update.py", kernel = "update_published",
      on_request = true, doc = "misses blocks where probe chains are long",
    },
  },
}
