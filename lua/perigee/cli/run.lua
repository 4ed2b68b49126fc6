--- `perigee run TASK...`
-- @module perigee.cli.run

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local common = require "perigee.cli.common"
local device = require "perigee.device"
local keep = require "perigee.cli.keep"
local params = require "perigee.params"
local profile = require "perigee.profile"
local report = require "perigee.report"
local verdict = require "perigee.verdict"

local run = {}

local ENVIRONMENT = 3 -- exit status when no cell could be run

function run.configure(parser)
  parser:argument("task", "name of a task (see perigee list) or a task file"):args("+")
  parser:option("--impl", "implementations to run (default: all)"):argname("A,B"):count("*")
  parser:option("--cell", "cells to run (default: all)"):argname("A,B"):count("*")
  parser:option("--sweep", "run a sweep of the task (see perigee describe)"):argname("NAME")
  parser:flag("--annotate", "sim:profile: the kernels' source with counters beside its lines")
  common.evaluation(parser, "0.5")
  keep.configure(parser)
end

local function names_of(list)
  local names = {}
  for i, item in ipairs(list) do names[i] = item.name end
  return names
end

-- Every point of every cell is a set of parameters that the task accepts, and what was set counts
-- in one of them at least.
local function check_points(task, how, purpose, points)
  local evaluations = {}
  for _, cell in ipairs(task:select_cells(how.cells, how.set)) do
    for _, point in ipairs(points) do
      evaluations[#evaluations + 1] = task:resolve { purpose = purpose, cell = cell or nil,
        set = point }
    end
  end
  params.check_effect(task.params, how.set, evaluations, task.name)
  for _, impl in ipairs(how.impls and task:select_impls(how.impls) or {}) do
    local fits = false
    for _, values in ipairs(evaluations) do fits = fits or params.fits(impl.only, values) end
    if not fits then
      core.error("invalid", ("implementation %s is not for these parameters"):format(impl.name),
        "it is for " .. params.only_text(impl.only or {}), task.name)
    end
  end
end

-- Every task is found and its names and values are checked before anything runs.
local function prepare(options, how, purpose)
  local tasks = {}
  for _, name in ipairs(options.task) do
    for _, task in ipairs(catalogue.find(name)) do
      task:select_impls(how.impls)
      local points, swept = task:points { set = how.set, order = how.order, sweep = options.sweep,
        purpose = purpose }
      check_points(task, how, purpose, points)
      tasks[#tasks + 1] = { task = task, points = points, swept = swept }
    end
  end
  return tasks
end

local function run_task(session, item, how, options, line, keeper)
  local status, task = 0, item.task
  local cells = task:select_cells(how.cells, how.set)
  local missing = how.cells and {} or task:missing_cells()
  if #cells == 0 then status = ENVIRONMENT end
  local view = report.run(task, {
    cells = #task.cells > 0 and names_of(cells) or {},
    swept = item.swept, points = item.points,
    impls = names_of(task:select_impls(how.impls)), simulated = session.sim, out = common.out,
    missing = missing,
  })
  local what = { cells = how.cells, impls = how.impls, set = how.set, points = item.points,
    knobs = how.knobs }
  session:run(task, what, function(rec, extra)
    line:clear()
    keeper:add(rec, extra)
    status = common.worse(status, verdict.status(rec.verdict))
    if options.json then common.out(report.json(keeper:shown(rec, extra))) else view:add(rec) end
    local counted = rec.counters and rec.counters.complete
    if not options.json and counted and (#item.swept == 0 or options.annotate) then
      profile.counters(rec, common.out)
      if options.annotate then profile.annotate(rec, common.out) end
    end
  end, function(name, reason) missing[#missing + 1] = { name = name, reason = reason } end)
  line:clear()
  if options.json then
    for _, text in ipairs(report.missing(missing)) do common.warn(task.name .. ": " .. text) end
  else
    view:finish()
  end
  return status
end

--- @treturn integer exit status
function run.main(options)
  if options.annotate and options.device ~= "sim:profile" then
    core.error("invalid", "--annotate needs counters by line", "add --device sim:profile")
  end
  local how = {
    impls = common.names(options.impl, "--impl"), cells = common.names(options.cell, "--cell"),
  }
  how.set, how.order = common.sets(options.set)
  how.knobs = common.knobs(options.knob)
  options.device = device.spec(options.device)
  local purpose = options.device:match("^sim") and "sim" or "default"
  local tasks = prepare(options, how, purpose)
  local keeper <close> = keep.open(options, "run")
  local session <close>, line = common.session(options)
  local status = 0
  for i, item in ipairs(tasks) do
    if i > 1 and not options.json then common.out("") end
    status = common.worse(status, run_task(session, item, how, options, line, keeper))
  end
  return keeper:status(status)
end

return run
