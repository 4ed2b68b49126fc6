--- hash/tsdf_dense_update: every voxel of the active blocks gathers from a depth image; and
-- hash/tsdf_dense_update_regular, where the active blocks lie one after the other
-- (kernels/tsdf/README.md).

local pg = require "perigee"
local stages = require "perigee.tsdf_stages"
local tsdf = require "perigee.tsdf"

local THREADS = 512 -- one for each voxel of a block
local SUMS = { "tsdf", "weight", "r", "g", "b" }

local DOC = [[
%s

coord[3 * block ..] are the coordinates of the blocks of 8 x 8 x 8 voxels.
%s

The image has side x side pixels, row by row: depth along z in metres (0: nothing was seen),
image_weight, image_color (red, green, blue). Voxel (i, j, k) of a block, at element
block * 512 + i + 8 * j + 64 * k of the five arrays, has its centre, seen from the camera, at
  x = (8 * coord[3 * block] + i + 0.5) * voxel - cam_x, and y and z likewise
Where z > 0 it lies in the pixel
  column floor(x / z * focal + centre), row floor(y / z * focal + centre)
if the image has that. With the pixel's depth > 0 and sdf = depth - z >= -trunc, add
  tsdf       clamp(sdf * inv_trunc, -1, 1) * w      w is the pixel's weight
  weight     w
  r, g, b    red * w, green * w, blue * w
once. All other voxels stay as they are. Arithmetic is binary32: a voxel within rounding of a
pixel's border or of the cut may fall either way.]]

local BY_LIST = "The first *active_count elements of active are the blocks to update, each once."
local IN_ORDER = "Blocks 0 .. *active_count - 1 are to be updated."

local function f32(value) return (string.unpack("<f", string.pack("<f", value))) end

-- Loaded when first needed: listing tasks must not need it.
local function c_module() return require "hash.tsdf_reference" end

local function derive(p)
  stages.derive(p)
  p.side = math.max(1, math.ceil(math.sqrt(p.n / 6))) -- a sixth of a sphere is seen
  return p
end

-- About 90 degrees. As of a real camera, nothing is round: else many voxels of a grid that is
-- aligned with the camera would lie on the very borders of pixels.
local function args(p)
  local all = tsdf.args(p)
  all.side, all.focal, all.centre = p.side, f32(0.49137 * p.side), f32(0.50219 * p.side)
  return all
end

-- Multiples of 1/256 from 0 to below `top`: their sums are exact.
local function multiples(rng, shape, top)
  local array = rng:array("f32", shape, { dist = "integer", first = 0, last = top * 256 - 1 })
  c_module().scale { array = array, factor = 1 / 256 }
  return array
end

-- Some of the blocks, in random order.
local function active_list(p, rng, blocks)
  local list = {}
  for b = 0, blocks - 1 do
    if rng:uniform(0, 1) >= p.idle then table.insert(list, rng:integer(1, #list + 1), b) end
  end
  if #list == 0 then list[1] = blocks - 1 end
  return list
end

-- The coordinates of listed blocks, one after the other.
local function gathered(coord, list)
  local at = {}
  for _, b in ipairs(list) do
    for axis = 0, 2 do at[#at + 1] = coord[3 * b + axis] end
  end
  return pg.from_list("i32", at)
end

local function image(p, rng, points)
  local how = args(p)
  how.points, how.depth = points, pg.array("f32", { p.side, p.side })
  c_module().depth(how)
  local weight = multiples(rng, { p.side, p.side }, 2)
  local color = rng:array("u8", { p.side, p.side, 3 }, { dist = "integer", first = 0, last = 255 })
  return how.depth, weight, color
end

-- What the voxels hold before, by depth image, for as long as that lives.
local sums_before = setmetatable({}, { __mode = "k" })

local function inputs(regular)
  return function(p, rng)
    local volume = stages.volume(p, rng)
    local list = active_list(p, rng, volume.blocks)
    local io = { active_count = pg.array("i32", 1, #list) }
    io.depth, io.image_weight, io.image_color = image(p, rng, volume.points)
    if regular then
      io.coord = gathered(volume.coord, list)
    else
      io.coord, io.active = volume.coord, pg.from_list("i32", list)
    end
    sums_before[io.depth] = {}
    for _, name in ipairs(SUMS) do
      sums_before[io.depth][name] = multiples(rng, { regular and #list + 8 or volume.pool, 512 },
        32)
    end
    return io
  end
end

-- Another image of the same scene over other sums: the seed says how many blocks are listed.
local function renew(p, io, rng)
  local depth = io.depth:copy()
  sums_before[depth] = {}
  for _, name in ipairs(SUMS) do
    sums_before[depth][name] = multiples(rng, io[name].shape, 32)
  end
  return { depth = depth, image_weight = multiples(rng, { p.side, p.side }, 2), image_color =
    rng:array("u8", { p.side, p.side, 3 }, { dist = "integer", first = 0, last = 255 }) }
end

local function state(_, io)
  local buffers = {}
  for name, sums in pairs(sums_before[io.depth]) do
    buffers[name] = { dtype = "f32", shape = sums.shape, init = sums }
  end
  return buffers
end

local function listed(io)
  if io.active then return io.active end
  local list = {}
  for k = 1, io.active_count[0] do list[k] = k - 1 end
  return pg.from_list("i32", list)
end

local function reference(p, io)
  local how = args(p)
  for _, name in ipairs { "depth", "image_weight", "image_color", "coord" } do
    how[name] = io[name]
  end
  how.active = listed(io)
  local expected = { slack = pg.array("f64", io.tsdf.shape) }
  for _, name in ipairs(SUMS) do
    expected[name] = io[name]:cast("f64")
    how[name] = expected[name]
  end
  how.slack = expected.slack
  expected.seen, expected.optional = c_module().dense(how)
  return expected
end

-- One read and one write of each sum of the voxels that get something.
local function work(p, io, expected)
  return { bytes = expected.seen * 5 * 8 + p.side * p.side * 11 + io.active_count[0] * 12,
    items = io.active_count[0] * 512 }
end

local function task(name, fields)
  fields.name, fields.category, fields.level = "hash/tsdf_" .. name, "hash", "kernel"
  fields.params = stages.params { idle = { default = 0.3, sim = 0.3, check = { 0.3, 0.3, 0.9, 0.0 },
    min = 0.0, max = 1.0, doc = "share of blocks that are not in the list" } }
  fields.cells, fields.derive, fields.args = stages.cells(), derive, args
  fields.renew, fields.state, fields.reference = renew, state, reference
  fields.launch = stages.launch(1, THREADS)
  fields.validate = { "close", of = SUMS, ops = 8, bound = "worst", scale = "slack" }
  fields.time, fields.work = tsdf.time, work
  fields.facts = function(_, io, expected)
    return { active = io.active_count[0], voxels = expected.seen,
      optional_voxels = expected.optional }
  end
  fields.impls = {
    { name = "cuda", "cuda", "kernels/tsdf/dense_update.cu" },
    { name = "rust", "rust", "kernels/tsdf/dense_update.rs" },
    { name = "triton", "triton", "kernels/tsdf/dense_update.py" },
  }
  return pg.task(fields)
end

return {
  task("dense_update", {
    doc = DOC:format("Gather from a depth image into every voxel of the active blocks of a volume.",
      BY_LIST),
    inputs = inputs(false),
    kernel = [[void dense_update(const int* coord, const int* active, const int* active_count,
      const float* depth, const float* image_weight, const unsigned char* image_color, float* tsdf,
      float* weight, float* r, float* g, float* b, int side, float focal, float centre, float voxel,
      float trunc, float inv_trunc, float cam_x, float cam_y, float cam_z)]],
  }),
  task("dense_update_regular", {
    doc = DOC:format("As hash/tsdf_dense_update, blocks in a row: its regular control.",
      IN_ORDER),
    inputs = inputs(true),
    kernel = [[void dense_update_regular(const int* coord, const int* active_count,
      const float* depth, const float* image_weight, const unsigned char* image_color, float* tsdf,
      float* weight, float* r, float* g, float* b, int side, float focal, float centre, float voxel,
      float trunc, float inv_trunc, float cam_x, float cam_y, float cam_z)]],
  }),
}
