--- What the tasks hash/tsdf_compact, tsdf_stencil and tsdf_dense_update share: a volume that holds
-- a scene, as the stages after fusion find it. perigee.tsdf has scenes, cells and the model.
-- @module perigee.tsdf_stages

local core = require "perigee.core"
local tsdf = require "perigee.tsdf"

local stages = {}

local VOXELS = 512
local STALE = 8 -- places of the pool past the blocks in use, with what an earlier volume left
local WIDTH = 1056 -- thread blocks that fill a large GPU: 132 multiprocessors, 8 each

--- The parameters of perigee.tsdf that matter to a volume that is there.
function stages.params(more)
  local params = tsdf.params()
  params.warm, params.weight_cap, params.threads = nil, nil, nil
  for name, value in pairs(more or {}) do params[name] = value end
  return params
end

--- As tsdf.derive.
function stages.derive(p)
  p.weight_cap, p.threads = 0.0, 256
  return tsdf.derive(p)
end

--- The cells but the warm ones: the volume is what it is.
function stages.cells()
  local list = {}
  for _, cell in ipairs(tsdf.cells()) do
    if not cell.set.warm then
      cell.set.warm = nil
      list[#list + 1] = cell
    end
  end
  return list
end

--- The volume of a scene: table, coord, counters of perigee.tsdf and
-- `blocks` in use; `pool`, the number of places that its voxel arrays need; `model`, `points`.
-- @tparam table p parameters
-- @param rng the task's random source
-- @tparam[opt] boolean as_model with the numbers that blocks have in the model
function stages.volume(p, rng, as_model)
  local inputs = tsdf.fuse_inputs(p, rng)
  local model = tsdf.reference(p, inputs).model
  local volume = tsdf.volume(p, model, true)
  volume.model, volume.points = model, inputs.points
  volume.blocks = math.min(volume.block_count[0], p.capacity)
  volume.pool = math.min(p.capacity, volume.blocks + STALE)
  if not as_model then tsdf.renumber(volume, rng) end
  return volume
end

--- Voxels of a pool: f32[places][512].
function stages.voxels(places)
  return core.array("f32", { places, VOXELS })
end

--- Thread blocks that walk over all blocks of the volume, each warp or each thread block one after
-- the other.
-- @tparam integer each blocks of the volume that a thread block has at a time
-- @tparam integer threads in a thread block
function stages.launch(each, threads)
  return { grid = ("min(%d, ceil_div(capacity, %d))"):format(WIDTH, each), block = threads }
end

return stages
