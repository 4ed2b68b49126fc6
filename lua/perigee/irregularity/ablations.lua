--- Variants of the plain allocate and update that leave a cause of their cost out
-- (kernels/tsdf/causes.cu): each can be timed on a GPU, counted on sim:profile, or launched once
-- under a profiler. Most compute nothing of use, so no judge sees them; the arms that they are
-- variants of are judged by the suite.
-- @module perigee.irregularity.ablations

local core = require "perigee.core"
local buffers = require "perigee.buffers"
local case = require "perigee.case"
local catalogue = require "perigee.catalogue"
local measure = require "perigee.measure"
local tsdf = require "perigee.tsdf"

local ablations = {}

--- The causes in the order in which they are left out, each variant without those of all before it.
-- `fresh`: it starts from an empty volume; the others find all blocks there.
ablations.CHAIN = {
  allocate = {
    { cause = "as it is", kernel = "allocate", fresh = true },
    { cause = "waiting", kernel = "allocate_no_wait", fresh = true,
      by = "no wait for a block that another thread claimed" },
    { cause = "claims", kernel = "allocate", by = "all blocks are there" },
    { cause = "probing", kernel = "look_index", by = "a dense index in place of the table" },
    { cause = "sectors", kernel = "look_in_order", by = "neighbouring lanes, neighbouring places" },
    { cause = "reads", kernel = "walk_alone", by = "no look-up at all" },
    { cause = "walk", kernel = "empty", by = "an empty kernel" },
  },
  update = {
    { cause = "as it is", kernel = "update" },
    { cause = "probing", kernel = "update_index", by = "a dense index in place of the table" },
    { cause = "collisions", kernel = "update_index_spread",
      by = "lanes of a warp add to different voxels of 128 bytes" },
    { cause = "sectors", kernel = "update_index_in_order",
      by = "neighbouring lanes, neighbouring voxels" },
    { cause = "atomics", kernel = "update_stores", by = "stores in place of additions" },
    { cause = "reads and writes", kernel = "walk_alone", by = "no look-up, no store" },
    { cause = "walk", kernel = "empty", by = "an empty kernel" },
  },
}

--- What remains at the end of a chain: the launch.
ablations.FLOOR = "launch"

--- Pairs of variants beside the chain: {cause, variant with it, variant without it}. Divergence is
-- a part of probing: each lane walks its own chain, or one as long as that of the warp's first.
ablations.PAIRS = {
  allocate = { { cause = "divergence", with = "look_chain", without = "look_warp_chain" } },
  update = {
    { cause = "divergence", with = "update_chain", without = "update_warp_chain" },
    { cause = "collisions, alone", with = "update", without = "update_spread" },
    { cause = "collisions and sectors, alone", with = "update", without = "update_in_order" },
  },
}

local function variant_key(kernel, fresh)
  return fresh and kernel .. ", empty" or kernel
end

--- The variants of a stage, each once: {kernel, fresh, key}.
function ablations.variants(stage)
  local list, seen = {}, {}
  local function add(kernel, fresh)
    local key = variant_key(kernel, fresh)
    if seen[key] then return end
    seen[key] = true
    list[#list + 1] = { kernel = kernel, fresh = fresh, key = key }
  end
  for _, step in ipairs(ablations.CHAIN[stage]) do add(step.kernel, step.fresh) end
  for _, pair in ipairs(ablations.PAIRS[stage]) do
    add(pair.with)
    add(pair.without)
  end
  return list
end

--- The key of a step of a chain.
function ablations.key(step) return variant_key(step.kernel, step.fresh) end

-- ---- a scene ----

-- For each place of the lattice: the block's number | probes to find it << 24.
local function cells_of(lattice, entries)
  local cells, mask = core.array("u32", lattice.count), entries.count - 1
  tsdf.each_entry(entries, function(slot, key, block)
    local x, y, z = tsdf.block_of(key)
    local probes = (slot - tsdf.home(mask, x, y, z) & mask) + 1
    cells[tsdf.place(lattice, x, y, z)] = math.max(block, 0) | math.min(probes, 255) << 24
  end)
  return cells
end

--- The data of a cell.
-- @tparam string cell its name
-- @tparam table how {purpose = "default" or "sim", seed =, set =}
-- @treturn table {p, args, made = the case, samples, ...} for `rig`
function ablations.scene(cell, how)
  local task = catalogue.find("hash/tsdf_update")[1]
  local chosen = task:select_cells({ cell }, how.set)[1]
  local p = task:resolve { purpose = how.purpose, cell = chosen, set = how.set }
  local made = case.make(task, p, how.seed)
  local facts = made:facts()
  local scene = { p = p, made = made, samples = facts.samples, args = tsdf.args(p),
    lattice = tsdf.lattice(p) }
  scene.entries = buffers.contents(made.by_name.table)
  local lines = math.max(1, made:expected().model:facts().voxels // 32)
  scene.lines = { voxels = lines, blocks = math.max(1, facts.blocks // 32) }
  return scene
end

-- ---- a scene on a device ----

local Rig = {}
Rig.__index = Rig

local SUMS = { "tsdf", "weight", "r", "g", "b" }
local VARIANT = "points point_weight point_color table cell tsdf weight r g b sink never n steps "
  .. "voxel inv_voxel trunc inv_trunc cam_x cam_y cam_z table_mask weight_cap first_x first_y "
  .. "first_z wide high lines magic"
local ALLOCATE = "points table coord block_count drop_count n steps voxel inv_voxel trunc cam_x "
  .. "cam_y cam_z table_mask capacity"
local ARGUMENTS = {
  allocate = ALLOCATE, allocate_no_wait = ALLOCATE, empty = "",
  update = "points point_weight point_color table tsdf weight r g b n steps voxel inv_voxel trunc "
    .. "inv_trunc cam_x cam_y cam_z table_mask weight_cap",
}

local function upload(self, scene)
  local dev, p, values = self.dev, scene.p, self.values
  for _, name in ipairs { "points", "point_weight", "point_color" } do
    values[name] = dev:upload(buffers.contents(scene.made.by_name[name]), name)
  end
  self.complete = dev:upload(scene.entries, "table")
  self.empty = dev:alloc(scene.entries.nbytes, "table")
  values.cell = dev:upload(cells_of(scene.lattice, scene.entries), "cell")
  values.coord = dev:alloc(12 * p.capacity, "coord")
  values.block_count, values.drop_count = dev:alloc(4, "block_count"), dev:alloc(8, "drop_count")
  values.sink = dev:alloc(4, "sink")
  for _, name in ipairs(SUMS) do
    -- Places in order may go past the blocks in use, by less than a line.
    values[name] = dev:alloc(4 * (512 * p.capacity + 32), name)
    values[name]:fill(0)
  end
end

--- Put a scene on a device.
-- @param dev an open device
-- @tparam table scene
-- @tparam table module with the kernels of causes.cu
function ablations.rig(dev, scene, module)
  local self = setmetatable({ dev = dev, scene = scene, module = module, values = {} }, Rig)
  for _, from in ipairs { scene.args, scene.lattice } do
    for name, value in pairs(from) do self.values[name] = value end
  end
  self.values.never = math.mininteger >> 33 -- 2^30: what no sum of a ray's samples is
  upload(self, scene)
  return self
end

local function listed(self, kernel)
  local list = {}
  for name in (ARGUMENTS[kernel] or VARIANT):gmatch "%S+" do list[#list + 1] = self.values[name] end
  return list
end

-- A function that launches a variant, and one that prepares it.
local function launches(self, variant)
  local kernel, values, scene = variant.kernel, self.values, self.scene
  values.table = variant.fresh and self.empty or self.complete
  values.lines = kernel == "look_in_order" and scene.lines.blocks or scene.lines.voxels
  values.magic = math.min((1 << 32) // values.lines, (1 << 32) - 1)
  local grid = tsdf.launch(scene.p)
  local bound = self.module:kernel(kernel):bind { grid = grid.grid, block = grid.block,
    args = listed(self, kernel) }
  local function before()
    if not variant.fresh then return end
    self.empty:fill(0xFF)
    values.block_count:fill(0)
    values.drop_count:fill(0)
  end
  return bound, before
end

--- Time a variant. @treturn table as of pg.measure
function Rig:time(variant, budget)
  local launch, before = launches(self, variant)
  return measure(self.dev, launch, { before = before, budget = budget })
end

--- Launch a variant once. @treturn table counters, of a simulator
function Rig:count(variant)
  local launch, before = launches(self, variant)
  before()
  self.dev:counters(true)
  launch()
  self.dev:sync()
  return self.dev:counters(true)
end

--- Launch a variant once and wait.
function Rig:launch(variant)
  local launch, before = launches(self, variant)
  before()
  launch()
  self.dev:sync()
end

--- Give the memory back.
function Rig:close()
  for _, value in pairs(self.values) do
    if type(value) == "userdata" then value:free() end
  end
  self.complete:free()
  self.empty:free()
end
Rig.__close = Rig.close

--- The module of a source of kernels/tsdf: of the variants, without a name.
-- @param dev a device that pg.device opened
-- @tparam[opt="causes"] string name without `.cu`
function ablations.module(dev, name)
  name = name or "causes"
  local source = core.home .. "/kernels/tsdf/" .. name
  if dev:info().kind == "cuda" then return dev:compile { file = source .. ".cu" } end
  return dev:load(core.read_file(source .. ".ptx"), name .. ".cu")
end

return ablations
