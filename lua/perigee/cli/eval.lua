--- `perigee eval --tasks T --agent CMD`: lets an agent work at tasks and scores it.
-- @module perigee.cli.eval

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local common = require "perigee.cli.common"
local comparison = require "perigee.comparison"
local drift = require "perigee.drift"
local evaluation = require "perigee.evaluation"
local report = require "perigee.report_eval"
local rivals = require "perigee.rivals"
local samples = require "perigee.samples"
local scores = require "perigee.scores"
local store = require "perigee.store"
local suggest = require "perigee.suggest"

local eval = {}

local SAMPLES_MOST, JOBS_MOST = 10000, 256 -- each is planned, each is a process

local UNBOUND = "the agent is not confined (no Landlock here, or PERIGEE_SANDBOX=off): it may do "
  .. "all that you may, to the results store, too"

function eval.configure(parser)
  parser:option("--tasks", "names or categories of tasks, separated by commas"):argname("A,B")
    :count "+"
  parser:option("--agent", "command that reads a request as JSON and writes a candidate; in the "
    .. "setting tools a client of the server that the request names"):argname("CMD"):count(1)
  parser:option("--setting", "how the agent works"):choices { "oneshot", "refine", "tools" }
    :default("oneshot")
  parser:option("--rounds", "refine: answers to a task (3); tools: attempts that are judged "
    .. "(no limit)"):argname("N"):convert(common.count("--rounds"))
  parser:option("--samples", "tries at each task"):argname("K"):default("1")
    :convert(common.count("--samples", SAMPLES_MOST))
  parser:option("--against", "compare with these implementations of a task, too (always: naive, "
    .. "expert)"):argname("A,B")
  parser:option("--seconds", "the agent may take for a sample (600 for each answer, 3600 with "
    .. "tools)"):argname("S"):convert(common.positive("--seconds"))
  parser:option("--tokens", "refine: a sample may take, as the agent reports them"):argname("N")
    :convert(common.count("--tokens"))
  parser:option("--writes", "files and folders that the agent may change, beside its $TMPDIR")
    :argname("A,B")
  parser:option("--device", "one or several devices, each with a judge of its own")
    :argname("D,E"):default("auto"):show_default(false)
  parser:option("--jobs", "judges at a time on a simulator"):argname("N"):default("1")
    :convert(common.count("--jobs", JOBS_MOST))
  parser:option("--timeout", "seconds a kernel may run"):argname("S"):default("20")
    :convert(common.positive("--timeout"))
  parser:option("--db", "results store (default: $PERIGEE_DB, else ~/.local/share/perigee)")
    :argname("FILE")
  parser:option("--session", "name of the evaluation; the same name goes on with it")
    :argname("NAME")
  common.trust(parser)
  parser:flag("--json", "the scores as one JSON object on standard output")
end

-- ---- what is to be done ----

-- The tasks that names and categories stand for, each once.
local function tasks_of(given)
  local all, list, seen = catalogue.all(), {}, {}
  for _, word in ipairs(common.names(given, "--tasks")) do
    local found = false
    for _, task in ipairs(all) do
      if task.name == word or task.category == word then
        found = true
        if not seen[task.name] then list[#list + 1] = task end
        seen[task.name] = true
      end
    end
    if not found then
      local known = {}
      for i, task in ipairs(all) do known[i] = task.name end
      core.error("not_found", ("no task and no category '%s'"):format(word),
        suggest.hint(word, known, "tasks"))
    end
  end
  return list
end

-- Names of what each candidate of a task is compared with.
local function bases_of(task, against, simulated)
  local p, names = task:resolve { purpose = simulated and "sim" or "default" }, core.json_array {}
  for i, one in ipairs(rivals.of(task, p, against, simulated)) do names[i] = one.name end
  return names
end

local function devices_of(options)
  local list = common.names({ options.device }, "--device")
  local spec = require("perigee.device").spec
  for i, name in ipairs(list) do list[i] = spec(name) end
  if #list == 1 and list[1]:match "^sim" then
    for i = 2, options.jobs do list[i] = list[1] end
  end
  return list
end

-- Options that would mean nothing in a setting are refused.
local function check_budgets(options)
  local setting = options.setting
  if setting == "oneshot" and options.rounds then
    core.error("invalid", "--rounds: oneshot has one answer", "--setting refine has rounds")
  end
  if setting ~= "refine" and options.tokens then
    core.error("invalid", ("--tokens: in %s the agent says only in the end what it took"):format(
      setting), "--seconds bounds it" .. (setting == "tools" and ", or --rounds" or ""))
  end
  if setting == "refine" then options.rounds = options.rounds or 3 end
  if setting == "oneshot" then options.rounds = 1 end
end

local function kinds(devices)
  local seen, list = {}, {}
  for _, name in ipairs(devices) do
    local kind = comparison.kind_of(name)
    if not seen[kind] then list[#list + 1] = kind end
    seen[kind] = true
  end
  table.sort(list)
  return table.concat(list, ",")
end

local function settings_of(options, devices)
  return { setting = options.setting, agent = options.agent, device = kinds(devices),
    against = #options.against > 0 and table.concat(options.against, ",") or nil,
    rounds = options.rounds, seconds = options.seconds, tokens = options.tokens,
    timeout = options.timeout, trust = options.trust or nil }
end

local function samples_of(options, tasks, simulated)
  local list = {}
  for number = 1, options.samples do
    for _, task in ipairs(tasks) do
      list[#list + 1] = { name = options.session, task = task.name, sample = number,
        setting = options.setting, agent = options.agent,
        bases = bases_of(task, options.against, simulated), rounds = options.rounds,
        seconds = options.seconds, tokens = options.tokens }
    end
  end
  return list
end

-- What was known before any agent is asked: nothing that is written to the store from now on is
-- believed. @treturn table,table states that are done, and samples that are not
local function split(from, list)
  local states, waiting = {}, {}
  for _, what in ipairs(list) do
    what.state = samples.load(from, what)
    if samples.is_done(what, what.state) then
      states[#states + 1] = what.state
    else
      waiting[#waiting + 1] = what
    end
  end
  return states, waiting
end

-- ---- what came out ----

-- How many attempts of a sample fell back, see perigee.drift.
local function fallbacks_of(from, options, state)
  local name, count = samples.session(options.session, state.task, state.sample), 0
  for _, series in ipairs(drift.series(from:records(from:find_session(name)))) do
    count = count + series.fallbacks
  end
  return count
end

-- Notes that with each state. @treturn integer how many samples have some
local function note_fallbacks(options, states)
  local count = 0
  local from <close> = store.open(options.db, { readonly = true })
  for _, state in ipairs(states) do
    state.fallbacks = fallbacks_of(from, options, state)
    if state.fallbacks > 0 then count = count + 1 end
  end
  return count
end

local function scored(states)
  local list, unscored = {}, {}
  for _, state in ipairs(states) do
    table.insert(state.unscored and unscored or list, state)
  end
  return list, unscored
end

local function result_of(options, states)
  table.sort(states, function(a, b)
    if a.task ~= b.task then return a.task < b.task end
    return a.sample < b.sample
  end)
  local list, unscored = scored(states)
  local result = scores.of(list)
  result.fallbacks = note_fallbacks(options, list)
  result.setting, result.session = options.setting, options.session
  result.unscored, result.confined = #unscored, core.attend_binds()
  result.list = report.rows(states)
  return result
end

local function begin(options, devices, list)
  local into <close> = store.open(options.db)
  samples.begin(into, options.session, settings_of(options, devices))
  return split(into, list)
end

local function say_so(result, total)
  local goes_on = ("--session '%s' goes on with it"):format(result.session)
  if result.ended then
    common.warn(("ended after %d of %d samples: %s; %s"):format(result.samples, total,
      result.ended, goes_on))
  elseif result.interrupted then
    common.warn(("interrupted after %d of %d samples: %s"):format(result.samples, total, goes_on))
  elseif result.unscored > 0 then
    common.warn(("%d of %d samples have no score, for want of something on this machine: %s")
      :format(result.unscored, total, goes_on))
  end
end

-- What an agent may change, as the system names it.
local function writes_of(given)
  local list = core.json_array {}
  for i, path in ipairs(common.names({ given }, "--writes") or {}) do
    list[i] = core.realpath(path)
      or core.error("not_found", ("--writes: there is no '%s'"):format(path), "make it first")
  end
  return list
end

--- @treturn integer exit status: 0; 1 when it was interrupted; 3 when this machine lacked something
function eval.main(options)
  options.against = common.names({ options.against }, "--against") or {}
  options.writes = writes_of(options.writes)
  check_budgets(options)
  local devices = devices_of(options)
  local simulated = not kinds(devices):find("cuda", 1, true)
  if not options.agent:find "%S" then
    core.error("invalid", "--agent: there is no command", "write --agent CMD")
  end
  local tasks = tasks_of(options.tasks)
  rivals.check(options.against, tasks)
  options.db = store.path(options.db)
  options.session = options.session
    or ("eval-%s-%d"):format(core.utc():gsub("%D", ""), core.getpid())
  store.open(options.db):close() -- says now what is wrong with it
  local _ <close> = samples.claim(options.db, options.session)
  local list = samples_of(options, tasks, simulated)
  local states, waiting = begin(options, devices, list)
  if #waiting > 0 and not core.attend_binds() then common.warn(UNBOUND) end
  local problem = evaluation.run(options, devices, states, waiting)
  local result = result_of(options, states)
  result.interrupted = #states < #list and not problem or nil
  result.ended = problem
  if options.json then
    common.out(core.json_encode(result))
  else
    report.print(result, options)
  end
  say_so(result, #list)
  if problem or result.unscored > 0 then return 3 end
  return result.interrupted and 1 or 0
end

return eval
