--- Evaluating tasks from a script: `pg.run` runs a task's implementations as `perigee run` does,
-- `pg.check` judges one candidate as `perigee check` does, `pg.tune` searches knobs. What they give
-- are records (plain tables).
-- @module perigee.evaluate

local core = require "perigee.core"
local device = require "perigee.device"
local dump = require "perigee.dump"
local impl = require "perigee.impl"
local judge = require "perigee.judge"
local progress = require "perigee.progress"
local report = require "perigee.report"
local suggest = require "perigee.suggest"
local task = require "perigee.task"

local evaluate = {}

local SESSION = {
  device = "string", timeout = "number", budget = "number", seed = "number", method = "string",
  set = "table", dump = "string", out = "function", trust = "boolean",
}
local TUNE = {
  pipeline = "string", impl = "string", cell = "string", seconds = "number", slice = "number",
  objective = "string",
}
local RUN = { cells = "table", impls = "table", sweep = "string", knobs = "table" }

local function check_options(how, ...)
  local names = {}
  for _, known in ipairs { ... } do
    for name, kind in pairs(known) do names[name] = kind end
  end
  for name, value in pairs(how) do
    if not names[name] then
      local list = {}
      for known in pairs(names) do list[#list + 1] = known end
      table.sort(list)
      core.error("invalid", ("unknown option '%s'"):format(tostring(name)),
        suggest.hint(tostring(name), list, "options"))
    end
    if type(value) ~= names[name] then
      core.error("invalid", ("option %s: expected a %s, got a %s"):format(name, names[name],
        type(value)))
    end
  end
end

local function check_task(given, who)
  if task.is_task(given) then return end
  core.error("invalid", ("%s: expected a task, got a %s"):format(who, type(given)),
    "make it with pg.task { ... }, or find it by name: pg.catalogue.find(name)[1]")
end

local function open(how, line)
  if how.dump then dump.prepare(how.dump) end
  return judge.session {
    device = device.spec(how.device or "auto"), timeout = how.timeout, budget = how.budget,
    seed = how.seed, method = how.method, dump = how.dump, trust = how.trust,
    progress = function(text) line:say(text) end,
  }
end

local function names_of(list)
  local names = {}
  for i, item in ipairs(list) do names[i] = item.name end
  return names
end

-- The view that prints records as they come; nil when nobody looks.
local function view_of(session, one, how, swept, points)
  if not how.out then return nil end
  local cells = #one.cells > 0 and one:select_cells(how.cells, how.set) or {}
  return report.run(one, {
    cells = names_of(cells), swept = swept, points = points, simulated = session.sim,
    impls = names_of(one:select_impls(how.impls)), out = how.out, missing = {},
  })
end

--- Run the implementations of a task: build, judge, time, compare.
-- @tparam table one a task
-- @tparam[opt] table how {device = "auto", set = {name = value, list or text as of --set}, sweep =
--   name, cells = names, impls = names, knobs = {name = value}, budget = seconds of timing for each
--   implementation (0.5), timeout = seconds a kernel may run (20), seed = integer,
--   method = "cold" | "hot" | "batch" | "graph", out = function(line) that prints the table}
-- @treturn table list of records, one for each implementation, cell and point
-- @raise "invalid", "not_found", "range", "environment"; what a kernel does wrong is a verdict
function evaluate.run(one, how)
  how = how or {}
  check_options(how, SESSION, RUN)
  check_task(one, "pg.run")
  local line = progress.new(how.out ~= nil)
  local session <close> = open(how, line)
  local points, swept = one:points { set = how.set, sweep = how.sweep, purpose = session.purpose }
  local view, records = view_of(session, one, how, swept, points), {}
  session:run(one, { cells = how.cells, impls = how.impls, set = how.set, points = points,
    knobs = how.knobs }, function(rec)
    line:clear()
    records[#records + 1] = rec
    if view then view:add(rec) end
  end, function(name, reason)
    if view then table.insert(view.how.missing, { name = name, reason = reason }) end
  end)
  line:clear()
  if view then view:finish() end
  return records
end

-- A path, or {source = text, lang = "cuda"}.
local function candidate_of(given)
  if type(given) == "string" then return impl.candidate(given) end
  if type(given) ~= "table" or type(given.source) ~= "string" then
    core.error("invalid", ("pg.check: expected a path or { source = text }, got a %s"):format(
      type(given)))
  end
  return { name = "candidate", lang = impl.known_language(given.lang or "cuda", "pg.check"),
    path = "./candidate", source = given.source, shown = "candidate.cu", foreign = true }
end

--- Judge one candidate: every check size with three seeds, then the timed size.
-- @tparam table one a task
-- @param candidate path of a source file or of a folder with plan.lua, or {source = text, lang =
--   "cuda" | "ptx"}
-- @tparam[opt] table how {device, set, timeout, budget (0.2), seed, method, out}: as of `run`; a
--   list in set stands for the sizes that are checked
-- @treturn table the record: verdict, reason, time, ...
-- @raise as `run`
function evaluate.check(one, candidate, how)
  how = how or {}
  check_options(how, SESSION)
  check_task(one, "pg.check")
  local made, line = candidate_of(candidate), progress.new(how.out ~= nil)
  local session <close> = open(setmetatable({ budget = how.budget or 0.2 }, { __index = how }),
    line)
  local rec = session:check(one, made, { set = how.set })
  line:clear()
  if how.out then report.check(rec, one, how.out) end
  return rec
end

-- ---- tuning ----

-- The implementation that is tuned: the one of that name, else the only one with knobs.
local function tuned_impl(one, name)
  local found
  for _, declared in ipairs(one:select_impls(name and { name } or nil)) do
    if declared.knobs and found then
      core.error("invalid", ("several implementations of %s have knobs"):format(one.name),
        "choose one: impl = NAME", one.where)
    end
    found = found or (declared.knobs and declared)
  end
  return impl.resolve(one, found or core.error("invalid",
    ("no implementation of %s has knobs"):format(one.name),
    "declare knobs = { BLOCK = { 256, 128 } } in one: see tasks/README.md", one.where))
end

local function silent() end

--- Search the knobs of an implementation, as `perigee tune` does, without a results store.
-- @tparam table one a task
-- @tparam[opt] table how {pipeline = "grid" (default), "guided", "anneal", "random" or a file,
--   impl = name, cell = name, budget = evaluations, seconds = at most, objective = "time" or, on
--   sim:profile, "instructions" or another counter, slice = seconds of timing for each, device,
--   set, seed, timeout, method}
-- @treturn table {best = knobs of the best or nil, value = its objective, record, entries = list
--   of {knobs, value, verdict, record} in the order tried, reason = "done", "budget", "seconds"}
-- @raise as `run`
function evaluate.tune(one, how)
  how = how or {}
  check_options(how, SESSION, TUNE)
  check_task(one, "pg.tune")
  local line = progress.new(false)
  local spec = device.spec(how.device or "auto")
  if not how.device and spec:match("^sim") then spec = "sim:profile" end
  local session <close> = open({ device = spec, budget = how.slice or 0.1, timeout = how.timeout,
    seed = how.seed, method = how.method }, line)
  local cell = one:select_cells(how.cell and { how.cell } or nil, how.set)[1] or nil
  local tuning = require("perigee.tune").new {
    judge = session, task = one, cell = cell, base = tuned_impl(one, how.impl),
    p = one:resolve { purpose = session.purpose, cell = cell, set = how.set },
    pipeline = require("perigee.pipeline").find(how.pipeline or "grid"), seed = how.seed or 1,
    objective = require("perigee.objective").new(how.objective, spec), name = "script",
    budget = how.budget, seconds = how.seconds, on_record = silent, on_progress = silent,
  }
  local reason = tuning:run()
  local best = tuning.history.best or {}
  return { best = best.knobs, value = best.value, record = best.record, reason = reason,
    entries = table.move(tuning.history, 1, #tuning.history, 1, {}) }
end

return evaluate
