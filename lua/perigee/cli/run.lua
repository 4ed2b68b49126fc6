--- `perigee run TASK...`
-- @module perigee.cli.run

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local common = require "perigee.cli.common"
local profile = require "perigee.profile"
local report = require "perigee.report"
local verdict = require "perigee.verdict"

local run = {}

local ENVIRONMENT = 3 -- exit status when no cell could be run

function run.configure(parser)
  parser:argument("task", "name of a task (see perigee list) or a task file"):args("+")
  parser:option("--impl", "implementations to run (default: all)"):argname("A,B"):count("*")
  parser:option("--cell", "cells to run (default: all)"):argname("A,B"):count("*")
  parser:flag("--annotate", "sim:profile: the kernels' source with counters beside its lines")
  common.evaluation(parser, "0.5")
end

local function names_of(list)
  local names = {}
  for i, item in ipairs(list) do names[i] = item.name end
  return names
end

-- Every task is found and its names are checked before anything runs.
local function prepare(options, how)
  local tasks = {}
  for _, name in ipairs(options.task) do
    for _, task in ipairs(catalogue.find(name)) do
      task:select_impls(how.impls)
      task:select_cells(how.cells)
      task:resolve { purpose = "sim", set = how.set }
      tasks[#tasks + 1] = task
    end
  end
  return tasks
end

local function run_task(session, task, how, options, line)
  local status = 0
  local cells = task:select_cells(how.cells)
  local missing = how.cells and {} or task:missing_cells()
  if #cells == 0 then status = ENVIRONMENT end
  local view = report.run(task, {
    cells = #task.cells > 0 and names_of(cells) or {},
    impls = names_of(task:select_impls(how.impls)), simulated = session.sim, out = common.out,
    missing = missing,
  })
  session:run(task, how, function(rec)
    line:clear()
    status = common.worse(status, verdict.status(rec.verdict))
    if options.json then common.out(report.json(rec)) else view:add(rec) end
    if not options.json and rec.counters and rec.counters.complete then
      profile.counters(rec, common.out)
      if options.annotate then profile.annotate(rec, common.out) end
    end
  end)
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
    set = common.sets(options.set),
  }
  local tasks = prepare(options, how)
  local session <close>, line = common.session(options)
  local status = 0
  for i, task in ipairs(tasks) do
    if i > 1 and not options.json then common.out("") end
    status = common.worse(status, run_task(session, task, how, options, line))
  end
  return status
end

return run
