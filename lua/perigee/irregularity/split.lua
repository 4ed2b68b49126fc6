--- The split into causes as a command: variants timed, counted and profiled side by side.
-- @module perigee.irregularity.split

local core = require "perigee.core"
local device = require "perigee.device"
local ablations = require "perigee.irregularity.ablations"
local causes = require "perigee.irregularity.causes"
local ncu = require "perigee.irregularity.ncu"
local progress = require "perigee.progress"
local report = require "perigee.irregularity.report"
local seeds = require "perigee.seeds"
local suite = require "perigee.irregularity.suite"

local split = {}

local CELLS = { "base", "pts-1280k", "r-2.0" }
local VARIANT_S = 0.05 -- of timing for each variant in a pass

-- ---- the variants of the plain CUDA C++ kernels ----

local function scene_of(cell, options, purpose)
  return ablations.scene(cell, { purpose = purpose, seed = options.seed })
end

-- All variants of which something was found.
local function everything(found)
  local list = {}
  for _, one in ipairs(found) do
    for _, variant in pairs(one.found) do list[#list + 1] = variant end
  end
  return list
end

-- Call `visit` with each stage and each of its variants.
local function each(options, visit)
  for _, stage in ipairs(options.stages) do
    for _, variant in ipairs(ablations.variants(stage)) do visit(stage, variant) end
  end
end

-- One cell's table of what was found of each variant.
local function found_of(found, cell, stage, key, samples)
  local name = stage .. " " .. cell
  if not found[name] then
    found[name] = { stage = stage, cell = cell, found = {} }
    table.insert(found, found[name])
  end
  local one = found[name].found[key] or { stage = stage, cell = cell, kernel = key,
    samples = samples }
  found[name].found[key] = one
  return one
end

local function time_cell(found, cell, options, dev)
  local scene = scene_of(cell, options, "default")
  local rig <close> = ablations.rig(dev, scene, options.module)
  for _ = 1, options.passes or 3 do
    each(options, function(stage, variant)
      local one = found_of(found, cell, stage, variant.key, scene.samples)
      one.times = one.times or {}
      table.insert(one.times, rig:time(variant, options.slice or VARIANT_S).median)
    end)
  end
  each(options, function(stage, variant)
    local one = found_of(found, cell, stage, variant.key)
    one.us, one.low, one.high = suite.spread(one.times)
  end)
end

local function count_cell(found, cell, options, purpose)
  local dev <close> = device.open "sim:profile"
  local scene = scene_of(cell, options, purpose)
  local rig <close> = ablations.rig(dev, scene, ablations.module(dev))
  each(options, function(stage, variant)
    found_of(found, cell, stage, variant.key, scene.samples).counters = rig:count(variant)
  end)
end

local function profile_cell(found, cell, options)
  local kernels, keys = {}, {}
  each(options, function(stage, variant)
    kernels[#kernels + 1] = variant.kernel
    keys[#keys + 1] = { stage, variant.key }
  end)
  local list, why = ncu.run({ core.home .. "/kernels/tsdf/irregularity.lua", "--causes", "--once",
    "--device", options.device, "--cell", cell, "--stage", table.concat(options.stages, ","),
    "--seed", tostring(options.seed) }, kernels)
  if not list then return why end
  for i, counters in ipairs(list) do
    found_of(found, cell, keys[i][1], keys[i][2]).ncu = counters
  end
  return nil
end

-- Launch each variant of a cell once, for a profiler.
local function launch_cells(options, dev, purpose)
  for _, cell in ipairs(options.cells) do
    local rig <close> = ablations.rig(dev, scene_of(cell, options, purpose), options.module)
    each(options, function(_, variant) rig:launch(variant) end)
  end
  return 0
end

-- ---- the command ----

-- Write what is known by now; a later look at the same variant writes it again, with more.
local function write_found(found, path)
  local file <close> = report.opened(path, "a")
  for _, variant in ipairs(everything(found)) do
    file:write(core.json_encode { variant_of = variant.stage, cell = variant.cell,
      key = variant.kernel, us = variant.us, low_us = variant.low, high_us = variant.high,
      samples = variant.samples, counters = variant.counters, ncu = variant.ncu }, "\n")
  end
end

--- Options in a form to work with: stages, cells and impls as lists, `spec` of the device.
-- @raise "not_found" for a stage without causes
function split.prepared(options)
  local stages = suite.words(options.stage) or { "allocate", "update" }
  for _, stage in ipairs(stages) do
    if not ablations.CHAIN[stage] then
      core.error("not_found", ("no causes are known of stage '%s'"):format(stage),
        "stages: allocate, update")
    end
  end
  local how = setmetatable({ stages = stages, cells = suite.words(options.cell) or CELLS,
    impls = suite.words(options.impl), seed = options.seed or seeds.fresh() },
    { __index = options })
  how.spec = device.spec(options.device or "auto")
  if how.spec:match "^sim" then how.spec = "sim:profile" end
  return how
end

-- Counters of our cells that an earlier run wrote into its file of --json.
local function read_counts(how)
  local text = core.read_file(how.counts)
    or core.error("io", ("cannot read '%s'"):format(how.counts))
  local wanted, list = {}, {}
  for _, cell in ipairs(how.cells) do wanted[cell] = true end
  for line in text:gmatch "[^\n]+" do
    local one = core.json_decode(line)
    if type(one) == "table" and one.variant_of and one.counters and wanted[one.cell] then
      list[#list + 1] = one
    end
  end
  if #list > 0 then return list end
  core.error("invalid", ("no counters of %s in '%s'"):format(table.concat(how.cells, ", "),
    how.counts), "--causes --full --device sim --json FILE writes them")
end

local function keep_counts(found, list)
  for _, one in ipairs(list) do
    found_of(found, one.cell, one.variant_of, one.key, one.samples).counters = one.counters
  end
end

-- Each way to look at all cells, the quick ones first. Who is ended in between has the others.
local function find_all(how, dev, line)
  local found, why = {}, nil
  local purpose = (how.gpu or how.full) and "default" or "sim"
  local function look(what, at_cell)
    for _, cell in ipairs(how.cells) do
      line:say(("%s: %s"):format(cell, what))
      at_cell(cell)
    end
    line:clear()
  end
  if how.gpu then
    look("timing", function(cell) time_cell(found, cell, how, dev) end)
    if how.json then write_found(found, how.json) end
  end
  keep_counts(found, how.known)
  if how.ncu and how.gpu then
    look("under ncu", function(cell) why = profile_cell(found, cell, how) or why end)
    if how.json then write_found(found, how.json) end
  end
  if not how.gpu or how.full then
    look("counting", function(cell) count_cell(found, cell, how, purpose) end)
    if how.json then write_found(found, how.json) end
  end
  if how.ncu and not how.gpu then why = "there is no GPU here" end
  return found, why
end

--- Do what the options of kernels/tsdf/irregularity.lua say.
-- @treturn integer exit status
function split.run(options)
  local how = split.prepared(options)
  local dev = not how.spec:match "^sim" and device.open(how.spec) or nil
  how.gpu, how.device = dev ~= nil, how.spec
  how.known = how.counts and read_counts(how) or {}
  if how.counts and (how.full or not how.gpu) then
    core.error("invalid", "counters are counted here, not read from --counts", "leave it out")
  end
  if dev then how.module = ablations.module(dev) end
  if how.once then
    dev = dev or device.open(how.spec)
    how.module = how.module or ablations.module(dev)
    return launch_cells(how, dev, how.gpu and "default" or "sim")
  end
  if how.json then report.opened(how.json):close() end -- filled as things become known
  local found, why = find_all(how, dev, progress.new(true))
  if dev then dev:close() end
  local variants, models, agreements = everything(found), {}, {}
  for _, stage in ipairs(how.stages) do
    models[stage], agreements[stage] = causes.explain(variants, stage)
  end
  report.causes(found, models)
  for _, stage in ipairs(how.stages) do
    if agreements[stage] then report.agreement(stage, agreements[stage], models[stage]) end
  end
  report.hardware(causes.against_hardware(variants))
  if why then print("hardware counters: " .. why) end
  if how.csv then report.causes_csv(found, how.csv) end
  return 0
end

return split
