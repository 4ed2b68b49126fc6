--- The suite: every stage of the TSDF workload in every cell and arm, in passes, judged and timed
-- by the judge; and what an arm is compared with.
-- @module perigee.irregularity.suite

local core = require "perigee.core"
local budget = require "perigee.irregularity.budget"
local catalogue = require "perigee.catalogue"
local device = require "perigee.device"
local judge = require "perigee.judge"
local progress = require "perigee.progress"
local suggest = require "perigee.suggest"

local suite = {}

--- Stages in order; each is the task hash/tsdf_NAME.
suite.STAGES = { "allocate", "update", "fuse", "compact", "dense_update", "stencil7", "stencil27" }

--- The regular control of each stage that has one: the task hash/tsdf_NAME.
suite.CONTROLS = {
  allocate = "allocate_regular", update = "update_regular", compact = "compact_regular",
  dense_update = "dense_update_regular", stencil7 = "stencil7_regular",
  stencil27 = "stencil27_regular",
}

-- Arms of other names than "language-lever": whose levers they have, the first that a stage has.
local PEERS = {
  triton = { "cuda-late", "cuda-ray", "cuda" }, ["triton-published"] = { "cuda" },
  ["triton-pass"] = { "cuda-ray-pass" },
}

--- A list of words between commas; nil for nil.
function suite.words(text)
  local list = {}
  for word in (text or ""):gmatch "[^,]+" do list[#list + 1] = word end
  return text and list or nil
end

--- A converter for argparse: names between commas. What names nothing must not run everything, or
-- nothing.
-- @tparam string option as it is typed
function suite.named(option)
  return function(text)
    if text:find "[^,%s]" then return text end
    return nil, ("option '%s': expected names, got '%s'"):format(option, text)
  end
end

local has = suggest.has

--- The CUDA C++ arm with the same levers; nil for CUDA C++ itself and where there is none.
function suite.peer_of(task, name)
  if name:match "^cuda" then return nil end
  for _, peer in ipairs(PEERS[name] or { "cuda" .. name:match "^[^-]+(.*)$" }) do
    if has(task:impl_names(), peer) then return peer end
  end
  return nil
end

--- The arms to run: those asked for with their peers, else all, those on request too.
function suite.arms_of(task, wanted)
  local list = {}
  local function add(name)
    if name and not has(list, name) then list[#list + 1] = name end
  end
  for _, name in ipairs(task:impl_names()) do
    if not wanted or has(wanted, name) then
      add(suite.peer_of(task, name))
      add(name)
    end
  end
  return list
end

local tasks = {} -- by stage: looking for one takes milliseconds, and every record asks

--- The task of a stage or control. @raise "not_found" with the stages
function suite.task(stage)
  tasks[stage] = tasks[stage] or catalogue.find("hash/tsdf_" .. stage)[1]
  return tasks[stage]
end

--- Stages that were asked for, all without; "stencil" stands for both.
-- @raise "not_found" with what there is
function suite.stages(wanted)
  if not wanted then return suite.STAGES end
  local list = {}
  for _, name in ipairs(wanted) do
    local before = #list
    for _, stage in ipairs(suite.STAGES) do
      if stage == name or stage:match "^%a+" == name and name == "stencil" then
        list[#list + 1] = stage
      end
    end
    if #list == before then
      core.error("not_found", ("there is no stage '%s'"):format(name),
        "stages: " .. table.concat(suite.STAGES, ", "))
    end
  end
  return list
end

--- Arms that were asked for, nil for all.
-- @raise "not_found" for a name that none of the stages has
function suite.impls(wanted, stages)
  local names = {}
  for _, stage in ipairs(stages) do
    for _, name in ipairs(suite.task(stage):impl_names()) do
      if not has(names, name) then names[#names + 1] = name end
    end
  end
  for _, name in ipairs(wanted or {}) do
    if not has(names, name) then
      core.error("not_found", ("no stage has an arm '%s'"):format(name),
        suggest.hint(name, names, "arms"))
    end
  end
  return wanted
end

-- ---- what is run ----

--- The cells that are run first, in every stage: where a budget ends early, they are there.
suite.FIRST = {
  "base", "pts-1280k", "r-2.0", "load-0.95", "plane-320k", "scan-armadillo-cold",
  "scan-armadillo-warm",
}

-- Cells in two parts: those of FIRST, and the others.
local function parts_of(cells)
  local first, rest = {}, {}
  for _, cell in ipairs(cells) do table.insert(has(suite.FIRST, cell) and first or rest, cell) end
  return { first, rest }
end

-- Names of the cells of a task that were asked for and that this machine can run.
local function cells_of(task, wanted)
  local names, list = task:cell_names(), {}
  local missing = {}
  for _, one in ipairs(task:missing_cells()) do missing[one.name] = true end
  for _, name in ipairs(names) do
    if (not wanted or has(wanted, name)) and not missing[name] then list[#list + 1] = name end
  end
  return list
end

--- Everything that one pass runs: the cells of suite.FIRST in all stages, then the others.
-- @tparam table how {stages, cells, impls = lists or nil; set = parameters; controls = true adds
--   the regular controls; any = true: the stages are names of tasks}
-- @treturn table list of {stage, task, cells, impls, set}
function suite.plan(how)
  local parts, known = { {}, {} }, how.cells and {}
  local function add(stage)
    local task = suite.task(stage)
    local impls = suite.arms_of(task, how.impls)
    local all = #impls > 0 and cells_of(task, how.cells) or {}
    for i, cells in ipairs(parts_of(all)) do
      if #cells > 0 then
        table.insert(parts[i], { stage = stage, task = task, cells = cells, impls = impls,
          set = how.set })
      end
    end
    for _, cell in ipairs(known and all or {}) do known[cell] = true end
  end
  for _, stage in ipairs(how.any and how.stages or suite.stages(how.stages)) do
    add(stage)
    if how.controls and suite.CONTROLS[stage] then add(suite.CONTROLS[stage]) end
  end
  local list = table.move(parts[2], 1, #parts[2], #parts[1] + 1, parts[1])
  for _, cell in ipairs(how.cells or {}) do
    if not known[cell] then suite.task "allocate":select_cells { cell } end -- says what there is
  end
  return list
end

-- ---- running ----

--- How long a plan takes on a GPU, about: seconds.
function suite.estimate(plan, how)
  return budget.new(plan, { passes = how.passes, seconds = how.budget }):estimate()
end

-- All cells of a stage, and all passes of each: inputs are made and arms judged once for these.
local function run_one(session, one, wants, passes, on_record)
  local seen = {}
  session:run(one.task, { cells = one.cells, impls = one.impls, set = one.set, passes = passes,
    keep = true, wants = function(cell, pass) return wants(one, cell.name, pass) end },
    function(record)
      local key = record.cell .. " " .. record.impl
      seen[key] = (seen[key] or 0) + 1
      record.stage, record.pass, record.variant = one.stage, seen[key], one.variant
      on_record(record)
    end)
end

--- Run a plan. The inputs of a cell are one version: a time does not depend on weights and colours,
-- and the arms are our own.
-- @tparam table plan what `suite.plan` gave
-- @tparam table how {device, passes = 3, seed, budget = seconds for all of it, skip = function(one,
--   cell, passes): it is known already}
-- @tparam function on_record called with each record; it has `stage` and `pass`, too
-- @treturn integer how many cells of stages the budget left out, or some passes of them
function suite.run(plan, how, on_record)
  local line, spec = progress.new(true), device.spec(how.device or "auto")
  local passes = spec:match "^sim" and 1 or how.passes -- a simulator has no time to take again
  local function known(one, cell) return how.skip and how.skip(one, cell, passes) or false end
  local clock = budget.new(plan, { passes = passes, seconds = how.budget, skip = known })
  local session <close> = judge.session { device = spec, seed = how.seed, timeout = how.timeout,
    inputs = 1, progress = function(text) line:say(text) end }
  local function wants(one, cell, pass)
    session.budget = clock:begin(one, pass, pass == 1 and known(one, cell))
    return session.budget ~= nil
  end
  for _, one in ipairs(plan) do run_one(session, one, wants, passes, on_record) end
  line:clear()
  return clock.left_out
end

-- ---- results ----

local Results = {}
Results.__index = Results

--- Records by stage, cell and arm, in the order in which they came.
function suite.results()
  return setmetatable({ order = {}, by_key = {} }, Results)
end

local function key_of(stage, cell, arm, variant)
  return ("%s %s %s %s"):format(stage, cell, arm, variant or "")
end

--- Whether a value is a record of a run, and not what else a file may have.
function suite.is_record(value)
  return type(value) == "table" and math.type(value.pass) == "integer"
    and type(value.stage) == "string" and type(value.cell) == "string"
    and type(value.impl) == "string"
end

--- Keep a record of a pass.
function Results:add(record)
  local key = key_of(record.stage, record.cell, record.impl, record.variant)
  local one = self.by_key[key]
  if not one then
    one = { stage = record.stage, cell = record.cell, arm = record.impl, variant = record.variant,
      peer = suite.peer_of(suite.task(record.stage), record.impl), passes = {} }
    self.by_key[key] = one
    self.order[#self.order + 1] = one
  end
  one.passes[record.pass] = record
  one.times = nil
end

local function index_of(list, name)
  for i, one in ipairs(list) do
    if one == name then return i end
  end
  return #list + 1
end

-- Where a stage stands in tables: a control after the stage that it is of.
local function rank_of(stage)
  for name, control in pairs(suite.CONTROLS) do
    if stage == control then return index_of(suite.STAGES, name) + 0.5 end
  end
  return index_of(suite.STAGES, stage)
end

--- All that is known, by stage and cell as they are declared; arms as they came.
function Results:sorted()
  if self.list and #self.list == #self.order then return self.list end
  local list, ranks, cells = {}, {}, {}
  self.list = list
  for i, one in ipairs(self.order) do
    list[i] = one
    cells[one.stage] = cells[one.stage] or suite.task(one.stage):cell_names()
    ranks[one] = { rank_of(one.stage), index_of(cells[one.stage], one.cell), i }
  end
  table.sort(list, function(a, b)
    for k, rank in ipairs(ranks[a]) do
      if rank ~= ranks[b][k] then return rank < ranks[b][k] end
    end
    return false
  end)
  return list
end

--- What is known of an arm; nil when it did not run.
function Results:find(stage, cell, arm, variant)
  return self.by_key[key_of(stage, cell, arm, variant)]
end

local function time_of(record)
  return record and record.verdict == "passed" and record.time and record.time.median_us or nil
end

--- Median, least and most of a list; nil for an empty one.
function suite.spread(list)
  if #list == 0 then return nil end
  local s = core.summarize(list)
  return s.median, s.min, s.max
end

--- The first failure of an arm's passes, else "passed". @treturn string,string verdict and reason
function suite.verdict_of(one)
  for _, record in pairs(one.passes) do
    if record.verdict ~= "passed" then return record.verdict, record.reason end
  end
  return "passed"
end

--- The median time of an arm over its passes: microseconds, nil without a clock.
function suite.time(one)
  local times = {}
  for _, record in pairs(one and one.passes or {}) do times[#times + 1] = time_of(record) end
  return (suite.spread(times))
end

--- The ratio of an arm's time to another's of the same pass: median, least, most over the passes.
function suite.ratio(one, other)
  local ratios = {}
  for pass, record in pairs(other and one.passes or {}) do
    local mine, theirs = time_of(record), time_of(other.passes[pass])
    if mine and theirs then ratios[#ratios + 1] = mine / theirs end
  end
  return suite.spread(ratios)
end

--- The arm that an arm is compared with.
function Results:peer(one)
  return one.peer and self:find(one.stage, one.cell, one.peer, one.variant) or nil
end

--- Whether something failed that should not: the published program may lose blocks.
function Results:failed()
  for _, one in ipairs(self.order) do
    if suite.verdict_of(one) ~= "passed" and not one.arm:match "published$" then return true end
  end
  return false
end

return suite
