--- hash/tsdf_fuse: both stages of the hash-blocked TSDF workload (kernels/tsdf/README.md).

local pg = require "perigee"
local tsdf = require "perigee.tsdf"

-- Allocate, then update: two launches of the kernels of the other tasks.
local function two_launches(p)
  local one = tsdf.launch(p)
  return {
    { kernel = "allocate", grid = one.grid, block = one.block },
    { kernel = "update", grid = one.grid, block = one.block },
  }
end

-- Sums in a layout of its own (kernels/tsdf/fuse_own.cu), which an untimed export brings into the
-- task's. The sums start at zero like the state in whose place they are, reset untimed as well.
-- `first` has the values that an arm's knobs have by default.
local function own(name, kernel, doc, first)
  local knobs = {
    BLOCK = { 256, 64, 128, 512 }, RUN = { 1, 2, 3, 4 }, ROWS = { 1, 3 }, FLOATS = { 8, 5 },
    PAIR = { 1, 0 }, BRICK = { 1, 0 }, AHEAD = { 1, 0, 2 }, PER_SM = { 0, 6, 10, 12, 16 },
  }
  for knob, value in pairs(first) do
    local values = { value }
    for _, other in ipairs(knobs[knob]) do
      if other ~= value then values[#values + 1] = other end
    end
    knobs[knob] = values
  end
  return {
    name = name, "cuda", "kernels/tsdf/fuse_own.cu", doc = doc,
    kernel = ([[void %s(const float* points, const float* point_weight,
      const unsigned char* point_color, Entry* table, int* coord, int* block_count,
      unsigned long long* drop_count, float* sums, int n, int steps, float voxel, float inv_voxel,
      float trunc, float inv_trunc, float cam_x, float cam_y, float cam_z, unsigned int table_mask,
      int capacity, float weight_cap)]]):format(kernel),
    scratch = { sums = { dtype = "f32", n = "512 * capacity * FLOATS", init = 0 } },
    knobs = knobs, where = { "FLOATS == 8 or PAIR == 0", "PER_SM * BLOCK <= 1536" },
    launch = function(p)
      return { kernel = kernel, grid = { (p.n + p.BLOCK * p.RUN - 1) // (p.BLOCK * p.RUN), p.ROWS },
        block = p.BLOCK }
    end,
    export = {
      kernel = "export_own", grid = "capacity", block = 512,
      args = { "sums", "block_count", "tsdf", "weight", "r", "g", "b", "capacity" },
    },
  }
end

-- A program of Triton takes 32 points.
local function triton_launches(p)
  local programs = (p.n + 31) // 32
  return { { kernel = "allocate", grid = programs }, { kernel = "update", grid = programs } }
end

return pg.task {
  name = "hash/tsdf_fuse",
  category = "hash",
  level = "kernel",
  doc = [[
Fuse depth points into a volume: hash/tsdf_allocate and hash/tsdf_update in one.

Buffers, samples, table and sums are those of the two tasks; one launch or several. Where the pool
is too small, blocks without a place keep their entries, and their samples add to nothing. The sums
may be kept in another layout.]],
  params = tsdf.params(),
  cells = tsdf.cells(),
  also = tsdf.ALSO,
  derive = tsdf.derive,
  inputs = tsdf.fuse_inputs,
  state = function(p, io) return tsdf.voxel_state(p, tsdf.table_state(p, io)) end,
  kernel = {
    [[void fuse(const float* points, const float* point_weight, const unsigned char* point_color,
      Entry* table, int* coord, int* block_count, unsigned long long* drop_count, float* tsdf,
      float* weight, float* r, float* g, float* b, int n, int steps, float voxel, float inv_voxel,
      float trunc, float inv_trunc, float cam_x, float cam_y, float cam_z, unsigned int table_mask,
      int capacity, float weight_cap)]],
    [[void allocate(const float* points, Entry* table, int* coord, int* block_count,
      unsigned long long* drop_count, int n, int steps, float voxel, float inv_voxel, float trunc,
      float cam_x, float cam_y, float cam_z, unsigned int table_mask, int capacity)]],
    [[void update(const float* points, const float* point_weight, const unsigned char* point_color,
      const Entry* table, float* tsdf, float* weight, float* r, float* g, float* b, int n,
      int steps, float voxel, float inv_voxel, float trunc, float inv_trunc, float cam_x,
      float cam_y, float cam_z, unsigned int table_mask, float weight_cap)]],
  },
  own_layout = { "tsdf", "weight", "r", "g", "b" },
  args = tsdf.args,
  launch = tsdf.launch,
  reference = tsdf.reference,
  validate = { "tsdf_volume", table = true, sums = true },
  time = tsdf.time,
  work = function(p, _, expected) return tsdf.work(p, expected, true, true) end,
  facts = tsdf.facts,
  impls = {
    { name = "cuda", "cuda", "kernels/tsdf/fuse.cu", launch = two_launches },
    { name = "cuda-pass", "cuda", "kernels/tsdf/fuse.cu" },
    {
      name = "cuda-ray", "cuda", "kernels/tsdf/fuse.cu", launch = two_launches,
      kernel = { allocate = "allocate_ray", update = "update_ray" },
    },
    {
      name = "cuda-warp", "cuda", "kernels/tsdf/fuse.cu", launch = two_launches,
      kernel = { allocate = "allocate_ray", update = "update_warp" },
    },
    { name = "cuda-ray-pass", "cuda", "kernels/tsdf/fuse.cu", kernel = "fuse_ray" },
    own("cuda-own", "fuse_own", "one pass, sums side by side", {}),
    own("cuda-own-warp", "fuse_own_warp", "and summed within the warp", {}),
    own("cuda-own-run", "fuse_own", "and summed over the points of a thread",
      { RUN = 4, BLOCK = 64 }),
    { name = "rust", "rust", "kernels/tsdf/fuse.rs", launch = two_launches },
    { name = "rust-pass", "rust", "kernels/tsdf/fuse.rs" },
    {
      name = "rust-ray", "rust", "kernels/tsdf/fuse.rs", launch = two_launches,
      kernel = { allocate = "allocate_ray", update = "update_ray" },
    },
    {
      name = "rust-warp", "rust", "kernels/tsdf/fuse.rs", launch = two_launches,
      kernel = { allocate = "allocate_ray", update = "update_warp" },
    },
    { name = "rust-ray-pass", "rust", "kernels/tsdf/fuse.rs", kernel = "fuse_ray" },
    { name = "triton", "triton", "kernels/tsdf/fuse.py", launch = triton_launches },
    {
      name = "triton-warp", "triton", "kernels/tsdf/fuse.py", launch = triton_launches,
      kernel = { update = "update_warp" },
    },
    { name = "triton-pass", "triton", "kernels/tsdf/fuse.py" },
  },
}
