--- `perigee tune PIPELINE TASK`
-- @module perigee.cli.tune

local core = require "perigee.core"
local common = require "perigee.cli.common"
local device = require "perigee.device"
local errors = require "perigee.errors"
local impl = require "perigee.impl"
local judge = require "perigee.judge"
local objective = require "perigee.objective"
local params = require "perigee.params"
local pipeline = require "perigee.pipeline"
local progress = require "perigee.progress"
local report = require "perigee.report"
local report_tune = require "perigee.report_tune"
local store = require "perigee.store"
local tuning = require "perigee.tune"

local tune = {}

local EVALUATIONS = 60 -- a search that does not end by itself gets so many

function tune.configure(parser)
  parser:argument("pipeline", "guided, anneal, random or grid, or a file.lua")
  parser:argument("task", "name of a task (see perigee list) or a task file")
  parser:option("--impl", "implementation to tune (default: the one that has knobs)")
    :argname("NAME")
  parser:option("--candidate", "candidate to tune: a folder with plan.lua"):argname("PATH")
  parser:option("--cell", "cell of the task (default: the first)"):argname("NAME")
  parser:option("--set", "set a parameter of the task"):argname("NAME=VALUE"):count("*")
  parser:option("--device", "cuda:N or sim:profile (default: the first GPU, else sim:profile)")
    :argname("D")
  parser:option("--objective",
    "what to make small: time, or on sim:profile instructions or another counter"):argname("NAME")
  parser:option("--budget", "evaluations at most (default: 60; grid: all)"):argname("N")
    :convert(common.count("--budget"))
  parser:option("--seconds", "seconds at most"):argname("S"):convert(common.positive("--seconds"))
  parser:option("--seed", "seed of the search and of the inputs (default: 1 and a fresh one)")
    :argname("N"):convert(common.seed)
  parser:option("--slice", "seconds of timing for one evaluation"):argname("S"):default("0.1")
    :convert(common.positive("--slice"))
  parser:option("--final", "seconds of timing for each of the best at the end"):argname("S")
    :default("0.5"):convert(common.positive("--final"))
  parser:option("--top", "how many of the best are measured again"):argname("N"):default("4")
    :convert(common.count("--top"))
  common.timeout(parser)
  parser:option("--method", "how to time (default: as the task says)")
    :choices { "cold", "hot", "batch", "graph" }
  parser:option("--db", "results store (default: $PERIGEE_DB, else ~/.local/share/perigee)")
    :argname("FILE")
  parser:option("--session", "name of the session (default: made from what is tuned)")
    :argname("NAME")
  parser:flag("--fresh", "a new session, though one with this name is there")
  common.trust(parser)
  parser:flag("--json", "one JSON object a line on standard output")
  parser:flag("--full", "with --json: source texts and samples in each record")
end

local function names_with_knobs(task)
  local names = {}
  for _, declared in ipairs(task.impls) do
    if declared.knobs and next(declared.knobs) then names[#names + 1] = declared.name end
  end
  return names
end

-- The implementation or candidate that is tuned.
local function base_of(options, task, built_in)
  if options.candidate then
    local one = impl.candidate(options.candidate)
    if one.broken then errors.again(one.broken) end
    return one
  end
  local names = names_with_knobs(task)
  local name = options.impl or (#names == 1 and names[1] or nil)
  if not name and #names == 0 and not built_in and #task.impls > 0 then
    name = task.impls[1].name -- a pipeline that brings files of its own
  end
  if not name then
    core.error("invalid", #names == 0
      and ("no implementation of %s has knobs"):format(task.name)
      or ("%d implementations of %s have knobs"):format(#names, task.name),
      #names == 0 and "declare knobs = { BLOCK = { 256, 128 } } in one: see tasks/README.md"
      or ("choose with --impl: %s"):format(table.concat(names, ", ")), task.where)
  end
  return impl.resolve(task, task:select_impls({ name })[1])
end

local function check_knobs(base, one)
  if one.where or (base.space and #base.space.names > 0) then return end
  core.error("invalid", ("%s has no knobs to tune"):format(base.name),
    "declare knobs = { BLOCK = { 256, 128 } } in the task or in plan.lua", base.where)
end

-- The cell and the parameters of the evaluations.
local function parameters(options, task, sim)
  local set = common.sets(options.set)
  local cell = task:select_cells(options.cell and { options.cell } or nil, set)[1]
  local p = task:resolve { purpose = sim and "sim" or "default", cell = cell or nil, set = set }
  params.check_effect(task.params, set, { p }, task.name)
  local both = {}
  for _, values in ipairs { cell and cell.set or {}, set } do
    for name, value in pairs(values) do both[name] = value end
  end
  return cell or nil, p, both
end

local function device_of(options)
  local spec = device.spec(options.device)
  if not options.device and spec:match("^sim") then return "sim:profile" end
  return spec
end

-- Everything that can be wrong with what was asked for is said before a device is opened.
local function prepare(options)
  local task = common.one_task(options.task)
  local spec = device_of(options)
  local how = {
    task = task, task_name = options.task, candidate = options.candidate,
    pipeline = pipeline.find(options.pipeline), objective = objective.new(options.objective, spec),
    seed = options.seed or 1, seconds = options.seconds,
  }
  how.base = base_of(options, task, how.pipeline.where == nil)
  check_knobs(how.base, how.pipeline)
  how.cell, how.p, how.set = parameters(options, task, spec:match("^sim") ~= nil)
  if not options.budget and not how.pipeline.whole then options.budget = EVALUATIONS end
  how.budget = options.budget
  return how, spec
end

local function open_session(one, options)
  local stem = options.session or tuning.session_name(one)
  local about = { pipeline = one.pipeline.name, task = one.task.name, impl = one.base.name,
    device = one.judge.spec, objective = one.objective.name, seed = one.seed, params = one.p }
  if options.fresh then
    local made = one.store:new_session(stem, "tune", about)
    one.session, one.name = made.id, made.name
  else
    one.session, one.name = one.store:session(stem, "tune", about), stem
  end
end

-- What is printed as the records come.
local function listener(one, options, line)
  local best
  return function(entry, rec, extra)
    line:clear()
    if options.json then
      common.out(report.json(options.full and store.whole(rec, extra) or rec))
    elseif entry and (one.history.best == entry and best ~= entry or #one.history == 1) then
      best = entry
      report_tune.improved(one, entry, common.out)
    end
  end
end

local function status_line(one)
  local best = one.history.best
  return ("%d%s%s: "):format(#one.history, one.budget and "/" .. one.budget or "",
    best and ", best " .. one.objective.text(best.value) or "")
end

--- @treturn integer exit status: 0 when a configuration passed
function tune.main(options)
  local how, spec = prepare(options)
  how.store = store.open((store.path(options.db)))
  local line, one = progress.new(true), nil
  local function say(text) line:say((one and status_line(one) or "") .. text) end
  local session <close> = judge.session { device = spec, timeout = options.timeout,
    trust = options.trust, budget = options.slice, method = options.method, seed = options.seed,
    progress = say }
  how.judge, how.on_progress = session, say
  one = tuning.new(how)
  open_session(one, options)
  one.on_record = listener(one, options, line)
  one:resume()
  if not options.json then report_tune.head(one, common.out) end
  core.catch_interrupt()
  local ok, reason = pcall(one.run, one)
  local rows, measured
  if ok then rows, measured = one:final(options.top, options.final)
  else rows = one:best(options.top) end
  line:clear()
  if not options.json then
    report_tune.tail(one, ok and reason or "stopped by an error", rows, measured, common.out)
  end
  if not ok then error(reason, 0) end
  return one.history.best and 0 or 1
end

return tune
