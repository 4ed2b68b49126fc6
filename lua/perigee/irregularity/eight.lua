--- Eight volumes at once: the plain kernels as compat = published has them, but in one launch
-- (kernels/tsdf/eight.cu), so that no volume waits for another. What is published was timed as
-- eight volumes between two events; whether they were launched one after the other it does not say.
-- @module perigee.irregularity.eight

local core = require "perigee.core"
local buffers = require "perigee.buffers"
local columns = require "perigee.columns"
local device = require "perigee.device"
local measure = require "perigee.measure"
local progress = require "perigee.progress"
local ablations = require "perigee.irregularity.ablations"
local report = require "perigee.irregularity.report"
local seeds = require "perigee.seeds"
local suite = require "perigee.irregularity.suite"
local tsdf = require "perigee.tsdf"

local eight = {}

local VOLUMES = 8
local BUDGET_S = 0.1 -- of timing for each arm
local ALLOCATE = "points table coord block_count drop_count n steps voxel inv_voxel trunc cam_x "
  .. "cam_y cam_z table_mask capacity"
local ARMS = {
  { stage = "allocate", arm = "cuda", kernel = "allocate_eight", args = ALLOCATE },
  { stage = "allocate", arm = "cuda-no-wait", kernel = "allocate_eight_no_wait", args = ALLOCATE },
  { stage = "update", arm = "cuda", kernel = "update_eight", args = "points point_weight "
    .. "point_color complete tsdf weight r g b n steps voxel inv_voxel trunc inv_trunc cam_x cam_y "
    .. "cam_z table_mask weight_cap capacity" },
}
local SUMS = { "tsdf", "weight", "r", "g", "b" }

-- The same table eight times.
local function repeated(dev, entries)
  local all = core.array(tsdf.Entry, VOLUMES * entries.count)
  for volume = 0, VOLUMES - 1 do
    all:slice(volume * entries.count, entries.count):copy_from(entries)
  end
  return dev:upload(all, "complete")
end

-- Everything on the device, by the names of arguments.
local function values_of(dev, scene)
  local values, p = {}, scene.p
  for name, value in pairs(scene.args) do values[name] = value end
  for _, name in ipairs { "points", "point_weight", "point_color" } do
    values[name] = dev:upload(buffers.contents(scene.made.by_name[name]), name)
  end
  values.complete = repeated(dev, scene.entries)
  values.table = dev:alloc(VOLUMES * scene.entries.nbytes, "table")
  values.coord = dev:alloc(VOLUMES * 12 * p.capacity, "coord")
  values.block_count = dev:alloc(VOLUMES * 4, "block_count")
  values.drop_count = dev:alloc(VOLUMES * 8, "drop_count")
  for _, name in ipairs(SUMS) do values[name] = dev:alloc(VOLUMES * 2048 * p.capacity, name) end
  return values
end

local function reset_of(values, stage)
  if stage == "update" then
    return function() for _, name in ipairs(SUMS) do values[name]:fill(0) end end
  end
  return function()
    values.table:fill(0xFF)
    values.block_count:fill(0)
    values.drop_count:fill(0)
  end
end

-- Every volume has as many blocks as the judged arms find.
local function check_counts(dev, values, scene, cell)
  local counts = core.array("i32", VOLUMES)
  dev:sync()
  values.block_count:download(counts)
  local facts = scene.made:facts()
  for volume = 0, VOLUMES - 1 do
    if math.abs(counts[volume] - facts.blocks) > facts.optional_samples then
      core.error("internal", ("%s: volume %d has %d blocks, expected %d"):format(cell, volume,
        counts[volume], facts.blocks))
    end
  end
end

local function run_arm(dev, module, values, scene, arm)
  local list = {}
  for name in arm.args:gmatch "%S+" do list[#list + 1] = values[name] end
  local launch = tsdf.launch(scene.p)
  local body = module:kernel(arm.kernel):bind { grid = { launch.grid, VOLUMES },
    block = launch.block, args = list }
  return measure(dev, body, { method = "hot", before = reset_of(values, arm.stage),
    budget = BUDGET_S })
end

local function free(values)
  for _, value in pairs(values) do
    if type(value) == "userdata" then value:free() end
  end
end

local function run_cell(dev, module, cell, how, figures, rows)
  local scene = ablations.scene(cell, { purpose = how.purpose, seed = how.seed,
    set = { compat = "published" } })
  local values = values_of(dev, scene)
  for _, arm in ipairs(ARMS) do
    if how.stages[arm.stage] then
      local time = run_arm(dev, module, values, scene, arm)
      local us, published = time.median / VOLUMES, figures[("%s cuda %s"):format(cell, arm.stage)]
      if how.gpu then
        table.insert(how.found, { arm.stage, cell, arm.arm, ("%.5g"):format(us) })
      end
      rows[#rows + 1] = { arm.stage, cell, arm.arm, how.gpu and ("%.2f us"):format(us) or "ran",
        how.gpu and published and ("%.2f of %.1f us"):format(us / published, published) or "" }
      if arm.stage == "allocate" then check_counts(dev, values, scene, cell) end
    end
  end
  free(values)
end

--- Do what the options of kernels/tsdf/irregularity.lua say.
-- @treturn integer exit status
function eight.run(options)
  local figures, stages, rows = report.published(), {}, {}
  for _, stage in ipairs(suite.words(options.stage) or { "allocate", "update" }) do
    if not ablations.CHAIN[stage] then
      core.error("not_found", ("no stage '%s' of eight volumes"):format(stage),
        "stages: allocate, update")
    end
    stages[stage] = true
  end
  local dev <close> = device.open(device.spec(options.device or "auto"))
  local gpu = dev:info().gpu_clock
  local how = { gpu = gpu, purpose = gpu and "default" or "sim", stages = stages,
    seed = options.seed or seeds.fresh(), found = {} }
  local module, line = ablations.module(dev, "eight"), progress.new(true)
  for _, cell in ipairs(suite.words(options.cell) or figures.cells) do
    line:say(cell .. ": eight volumes at once")
    run_cell(dev, module, cell, how, figures, rows)
    collectgarbage()
  end
  line:clear()
  print(columns.text({ { title = "stage" }, { title = "cell" }, { title = "arm" },
    { title = "at once, a volume", right = true }, { title = "of published" } }, rows,
    { indent = 0 }))
  if options.csv then
    report.csv(options.csv, { "stage", "cell", "arm", "median_us" }, how.found)
  end
  return 0
end

return eight
