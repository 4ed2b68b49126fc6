--- The suite on several devices at once: cells are shared out, all stages and arms of a cell and
-- its regular control stay on one device, and a process for each device writes records.
-- @module perigee.irregularity.lanes

local core = require "perigee.core"
local budget = require "perigee.irregularity.budget"
local files = require "perigee.files"
local progress = require "perigee.progress"
local seeds = require "perigee.seeds"
local shell = require "perigee.shell"
local suite = require "perigee.irregularity.suite"

local lanes = {}

--- The devices of "cuda:0+cuda:1". @treturn table list of specs
function lanes.devices(text)
  local list = {}
  for spec in (text or ""):gmatch "[^+]+" do list[#list + 1] = spec end
  return list
end

--- Share the cells of a plan out, so that all lanes take about as long.
-- @tparam table plan what `suite.plan` gave; the cells that it has first are first in each lane
-- @tparam integer count of lanes
-- @tparam integer passes
-- @treturn table list of lists of cells
function lanes.share(plan, count, passes)
  local order, costs = {}, {}
  for _, one in ipairs(plan) do
    local each = budget.new({ one }, { passes = passes }):estimate() / #one.cells
    for _, cell in ipairs(one.cells) do
      if not costs[cell] then order[#order + 1] = cell end
      costs[cell] = (costs[cell] or 0) + each
    end
  end
  local list, sums = {}, {}
  for i = 1, count do list[i], sums[i] = {}, 0 end
  for _, cell in ipairs(order) do
    local least = 1
    for i = 2, count do
      if sums[i] < sums[least] then least = i end
    end
    table.insert(list[least], cell)
    sums[least] = sums[least] + costs[cell]
  end
  return list
end

-- The command of a lane, which leaves its records in `path`.
local function command(options, spec, cells, path)
  local words = { core.binary(), core.home .. "/kernels/tsdf/irregularity.lua", "--resume",
    "--device", spec, "--cell", table.concat(cells, ","), "--json", path,
    "--seed", tostring(options.seed) }
  local function add(...) table.move({ ... }, 1, select("#", ...), #words + 1, words) end
  for _, name in ipairs { "stage", "impl", "passes", "budget" } do
    if options[name] then add("--" .. name, tostring(options[name])) end
  end
  for _, name in ipairs { "controls", "published", "count" } do
    if options[name] then add("--" .. name) end
  end
  for i, word in ipairs(words) do words[i] = shell.quoted(word) end
  return table.concat(words, " ") .. " 2>&1"
end

-- Lines of records, by cell.
local function lines_by_cell(text)
  local by_cell = {}
  for line in text:gmatch "[^\n]+" do
    local record = core.json_decode(line)
    if suite.is_record(record) then
      local cell = record.cell
      by_cell[cell] = by_cell[cell] or {}
      table.insert(by_cell[cell], line)
    end
  end
  return by_cell
end

-- What is known of the cells of a lane: from the whole file, and from one that was killed.
local function prepare(path, cells, by_cell, left)
  local lines = {}
  for _, cell in ipairs(cells) do
    local known = by_cell[cell] or {}
    table.move(known, 1, #known, #lines + 1, lines)
    if left[cell] and #left[cell] > #known then
      table.move(left[cell], 1, #left[cell], #lines + 1, lines)
    end
  end
  core.write_file(path, table.concat(lines, "\n") .. (#lines > 0 and "\n" or ""))
end

-- Wait for a lane. -> nil, or why it could not run: what it said, when it is no verdict that failed
local function finish(pipe, spec)
  local said = pipe:read "a"
  local _, _, status = pipe:close()
  if status == 0 or status == 1 then return nil end
  local why = said:sub(-400):gsub("^perigee: ", ""):gsub("%s+$", "")
  return ("%s: %s"):format(spec, why)
end

--- A last line of records: that the budget left cells out, or some passes of them.
function lanes.left_out(count)
  return count > 0 and core.json_encode { left_out = count } .. "\n" or ""
end

-- What a lane left. -> its records, one a line; how many cells it left out
local function part_of(path)
  local left_out = 0
  local text = (core.read_file(path) or ""):gsub('{"left_out":(%d+)}\n', function(count)
    left_out = left_out + tonumber(count)
    return ""
  end)
  return text, left_out
end

local function run_in(path, options, plan, devices)
  local by_cell = lines_by_cell(options.resume and core.read_file(path) or "")
  local shares, running = lanes.share(plan, #devices, options.passes or 3), {}
  for i, spec in ipairs(devices) do
    local own = ("%s.%d"):format(path, i)
    local left = options.resume and core.read_file(own) or ""
    prepare(own, shares[i], by_cell, lines_by_cell(left))
    running[i] = #shares[i] > 0 and io.popen(command(options, spec, shares[i], own)) or nil
  end
  local line, parts, left_out, failed = progress.new(true), {}, 0, nil
  line:say(("%d devices are at work, records in %s.*"):format(#devices, path))
  for i, spec in ipairs(devices) do
    failed = running[i] and finish(running[i], spec) or failed
    local text, count = part_of(("%s.%d"):format(path, i))
    parts[i], left_out = text, left_out + count
  end
  line:clear()
  return table.concat(parts), left_out, failed
end

--- Run a plan in lanes. Where one could not run, the others end and are kept.
-- @tparam table options of kernels/tsdf/irregularity.lua; the file of `json` has all records then
-- @tparam table plan what `suite.plan` gave
-- @tparam table devices list of specs
-- @treturn string records, one a line
-- @treturn integer how many cells the budget left out, or some passes of them
-- @treturn string|nil why a lane could not run
function lanes.run(options, plan, devices)
  local how = setmetatable({ seed = options.seed or seeds.fresh() }, { __index = options })
  if not options.json then
    return files.in_temporary(function(folder)
      return run_in(folder .. "/records", how, plan, devices)
    end)
  end
  local text, left_out, failed = run_in(options.json, how, plan, devices)
  files.write(options.json, text .. lanes.left_out(left_out))
  for i in ipairs(devices) do os.remove(("%s.%d"):format(options.json, i)) end
  return text, left_out, failed
end

return lanes
