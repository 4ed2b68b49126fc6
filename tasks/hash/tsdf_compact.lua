--- hash/tsdf_compact: the list of active blocks of a TSDF volume; and hash/tsdf_compact_regular,
-- where each block's place in the list is known beforehand (kernels/tsdf/README.md).

local pg = require "perigee"
local stages = require "perigee.tsdf_stages"
local tsdf = require "perigee.tsdf"

local EACH = 8 -- warps in a thread block, each with a block of the volume

local DOC = [[
%s

weight[pool][512]: the voxels of the blocks in use, of which there are min(*block_count, capacity),
come first; what lies behind them is left from earlier and counts for nothing. No weight is
negative. A block is active when the weight of any of its voxels is above 0. Write the numbers of
all active blocks to active, each once%s, and how many there are to
*active_count%s. There is room for all blocks; what stands behind the list does not matter.]]

-- Of each block: 0 nothing, 1 what the scene brings, 2 a single voxel of that.
local function kept(p, rng, blocks)
  local keep = pg.array("u8", blocks)
  for b = 0, blocks - 1 do
    local u = rng:uniform(0, 1)
    keep[b] = u < p.idle and 0 or u < p.idle + 0.1 and 2 or 1
  end
  return keep
end

local function weights(p, rng, volume)
  local weight = stages.voxels(volume.pool)
  volume.model:weights { weight = weight, keep = kept(p, rng, volume.blocks) }
  for place = volume.blocks, volume.pool - 1 do weight[place * 512 + place % 512] = 1 end
  return weight
end

-- Whether each block is active: weights are not negative.
local function active_blocks(weight, blocks)
  local largest, active, place, count = pg.row_norms(weight:cast("f64"), 512), {}, {}, 0
  for b = 0, blocks - 1 do
    place[b + 1] = count
    if largest[b] > 0 then
      count = count + 1
      active[count] = b
    end
  end
  return active, place
end

local function inputs(regular)
  return function(p, rng)
    local volume = stages.volume(p, rng, true)
    local io = { weight = weights(p, rng, volume), block_count = volume.block_count }
    if regular then
      local _, place = active_blocks(io.weight, volume.blocks)
      io.place = pg.from_list("i32", place)
    end
    return io
  end
end

local function blocks_of(p, io) return math.min(io.block_count[0], p.capacity) end

local function reference(p, io)
  local blocks = blocks_of(p, io)
  local active = active_blocks(io.weight, blocks)
  local count = #active
  for i = count + 1, blocks do active[i] = -1 end -- room that the list leaves
  return { active = pg.from_list("i32", active), active_count = count }
end

local function task(fields)
  fields.category, fields.level = "hash", "kernel"
  fields.params = stages.params { idle = { default = 0.3, sim = 0.3, check = { 0.3, 0.3, 0.9, 0.0 },
    min = 0.0, max = 1.0, doc = "share of blocks without any weight" } }
  fields.cells, fields.derive, fields.args = stages.cells(), stages.derive, tsdf.args
  fields.outputs = function(p, io) return { active = pg.spec("i32", blocks_of(p, io)) } end
  fields.state = function() return { active_count = pg.spec("i32", 1) } end
  fields.launch = stages.launch(EACH, 32 * EACH)
  fields.reference = reference
  fields.validate = { { "exact", of = "active_count" },
    { "set", of = "active", count = "active_count", unique = true } }
  fields.time = tsdf.time
  fields.work = function(p, io, expected)
    -- One sector shows that a block is active; only all of its weights that it is not.
    local blocks, active = blocks_of(p, io), expected.active_count[0]
    return { bytes = (blocks - active) * 2048 + active * (32 + 4), items = blocks }
  end
  fields.facts = function(p, io, expected)
    return { blocks = blocks_of(p, io), active = expected.active_count[0] }
  end
  return pg.task(fields)
end

return {
  task {
    name = "hash/tsdf_compact",
    doc = DOC:format("List the blocks of a TSDF volume that hold any weight, in any order.",
      " and in any order", ", which is 0 before"),
    inputs = inputs(false),
    kernel = [[void compact(const float* weight, const int* block_count, int* active,
      int* active_count, int capacity)]],
    impls = {
      { name = "cuda", "cuda", "kernels/tsdf/compact.cu" },
      { name = "cuda-early", "cuda", "kernels/tsdf/compact.cu", kernel = "compact_early" },
      { name = "rust", "rust", "kernels/tsdf/compact.rs" },
      { name = "rust-early", "rust", "kernels/tsdf/compact.rs", kernel = "compact_early" },
      { name = "triton", "triton", "kernels/tsdf/compact.py" },
    },
  },
  task {
    name = "hash/tsdf_compact_regular",
    doc = DOC:format("As hash/tsdf_compact, with places in the list known: its regular control.",
      ", block b at active[place[b]]: place[b] counts the active blocks before b", ""),
    inputs = inputs(true),
    kernel = [[void compact_regular(const float* weight, const int* block_count, const int* place,
      int* active, int* active_count, int capacity)]],
    impls = {
      { name = "cuda", "cuda", "kernels/tsdf/compact.cu" },
      { name = "rust", "rust", "kernels/tsdf/compact.rs" },
      { name = "triton", "triton", "kernels/tsdf/compact.py" },
    },
  },
}
