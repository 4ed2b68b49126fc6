--- `perigee eval --tasks T --agent CMD`: lets an agent work at tasks and scores it.
-- @module perigee.cli.eval

local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local columns = require "perigee.columns"
local common = require "perigee.cli.common"
local drift = require "perigee.drift"
local files = require "perigee.files"
local lane = require "perigee.serve.lane"
local progress = require "perigee.progress"
local scores = require "perigee.scores"
local store = require "perigee.store"
local suggest = require "perigee.suggest"
local units = require "perigee.units"

local eval = {}

local MEMORY_SHARE = 0.75 -- of what is available: for all lanes together
local SAMPLE_S = 86400 -- of a lane; the budgets of a sample are its own

function eval.configure(parser)
  parser:option("--tasks", "names or categories of tasks, separated by commas"):argname("A,B")
    :count "+"
  parser:option("--agent", "command that reads a request as JSON and writes a candidate; in the "
    .. "setting tools a client of the server that the request names"):argname("CMD"):count(1)
  parser:option("--setting", "how the agent works"):choices { "oneshot", "refine", "tools" }
    :default("oneshot")
  parser:option("--rounds", "answers to a task in the setting refine"):argname("N"):default("3")
    :convert(common.count("--rounds"))
  parser:option("--samples", "tries at each task"):argname("K"):default("1")
    :convert(common.count("--samples"))
  parser:option("--against", "compare with these implementations of a task, too (always: naive, "
    .. "expert)"):argname("A,B")
  parser:option("--seconds", "a sample may take, agent and judge together"):argname("S")
    :convert(common.positive("--seconds"))
  parser:option("--tokens", "a sample may take, as the agent reports them"):argname("N")
    :convert(common.count("--tokens"))
  parser:option("--device", "one or several devices, each with a judge of its own")
    :argname("D,E"):default("auto"):show_default(false)
  parser:option("--jobs", "judges at a time on a simulator"):argname("N"):default("1")
    :convert(common.count("--jobs"))
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

-- What each candidate of a task is compared with: naive or the first, expert, and --against.
local function bases_of(task, against)
  local names = task:impl_names()
  local first, list = names[1], core.json_array {}
  for _, name in ipairs(names) do
    if name == "naive" then first = name end
  end
  for _, name in ipairs(names) do
    if name == first or name == "expert" or suggest.has(against, name) then
      list[#list + 1] = name
    end
  end
  return list
end

-- Names, and the baselines of each.
local function tasks_of(given, against)
  local all, names, seen = catalogue.all(), {}, {}
  for _, word in ipairs(common.names(given, "--tasks")) do
    local found = false
    for _, task in ipairs(all) do
      if task.name == word or task.category == word then
        found = true
        if not seen[task.name] then names[#names + 1] = task.name end
        seen[task.name] = bases_of(task, against)
      end
    end
    if not found then
      local known = {}
      for i, task in ipairs(all) do known[i] = task.name end
      core.error("not_found", ("no task and no category '%s'"):format(word),
        suggest.hint(word, known, "tasks"))
    end
  end
  return names, seen
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

local function samples_of(options, tasks, bases)
  local list = {}
  for number = 1, options.samples do
    for _, task in ipairs(tasks) do
      list[#list + 1] = { name = options.session, task = task, sample = number,
        setting = options.setting, agent = options.agent, bases = bases[task],
        rounds = options.setting == "refine" and options.rounds or 1,
        seconds = options.seconds, tokens = options.tokens }
    end
  end
  return list
end

-- ---- doing it ----

-- A lane for each device; whoever is free takes the next sample.
local function open_lanes(devices, options, on_message, on_lost)
  local lanes = {}
  for i, name in ipairs(devices) do
    lanes[i] = { device = name, folder = files.temporary(), lane = lane.new { seconds = SAMPLE_S,
      memory = core.available_memory() * MEMORY_SHARE / #devices, on_message = on_message,
      on_lost = on_lost } }
    lanes[i].options = { device = name, db = options.db, timeout = options.timeout,
      trust = options.trust, against = core.json_array(options.against) }
  end
  return lanes
end

local function hand_out(lanes, waiting)
  for _, one in ipairs(lanes) do
    if one.lane:count() == 0 and #waiting > 0 then
      local sample = table.remove(waiting, 1)
      files.empty(one.folder)
      one.lane:add { sample = sample, line = core.json_encode { method = "eval/sample",
        params = sample, version = "", options = one.options, folder = one.folder } }
    end
  end
end

local function wait(lanes)
  local list, wants, who, patience = {}, {}, {}, -1
  for _, one in ipairs(lanes) do
    if one.lane.peer then
      list[#list + 1], wants[#wants + 1] = one.lane.peer.channel, one.lane.peer:wants(true)
      who[#list] = one.lane
    end
    local left = one.lane:left()
    if left and (patience < 0 or left < patience) then patience = left end
  end
  local ready = core.poll(list, wants, patience)
  for i, one in pairs(who) do one:step(ready[i]) end
  for _, one in ipairs(lanes) do one.lane:watch() end
end

-- Run all samples. @treturn table states, in the order they ended
local function run(options, waiting)
  local states, done, total = {}, 0, #waiting
  local line = progress.new(true)
  local function missing(sample, reason)
    return { task = sample.task, sample = sample.sample, bases = sample.bases,
      rounds = { { verdict = "missing", reason = reason } } }
  end
  local function ended(state)
    done = done + 1
    states[#states + 1] = state
  end
  local lanes = open_lanes(devices_of(options), options, function(call, message)
    if message.progress then
      return line:say(("%d of %d samples; %s"):format(done, total, message.progress))
    end
    ended(message.result or missing(call.sample, message.failure.message))
  end, function(call, reason) ended(missing(call.sample, reason)) end)
  core.catch_interrupt()
  while done < total and not core.interrupted() do
    hand_out(lanes, waiting)
    wait(lanes)
  end
  line:clear()
  for _, one in ipairs(lanes) do
    one.lane:drop()
    files.remove(one.folder)
  end
  return states, done < total
end

-- ---- what came out ----

-- How many samples reached correctness by falling back, see perigee.drift.
local function fallbacks(states, options)
  local count = 0
  local from <close> = store.open(options.db, { readonly = true })
  for _, state in ipairs(states) do
    local name = ("%s %s #%d"):format(options.session, state.task, state.sample)
    local fell = false
    if from:about(name) then
      for _, series in ipairs(drift.series(from:records(from:find_session(name)))) do
        fell = fell or series.fallbacks > 0
      end
    end
    count = count + (fell and 1 or 0)
  end
  return count
end

local function share(value) return units.percent(value) end

local function print_rounds(result)
  local titles = { { title = "round", right = true }, { title = "compiled", right = true },
    { title = "correct", right = true } }
  for _, one in ipairs(result.against) do
    titles[#titles + 1] = { title = "against " .. one.base, right = true }
  end
  local rows = {}
  for i, row in ipairs(result.rounds) do
    rows[i] = { tostring(row.round), share(row.compiled), share(row.correct) }
    for _, one in ipairs(row.against) do
      rows[i][#rows[i] + 1] = one.geomean and units.ratio(one.geomean) or "-"
    end
  end
  common.out(columns.text(titles, rows))
end

local function print_fast(result)
  for _, one in ipairs(result.against) do
    local parts = {}
    for i, at in ipairs(one.fast) do parts[i] = ("%g: %s"):format(at.p, share(at.share)) end
    common.out(("  fast_p against %s (%d samples)  %s"):format(one.base, one.samples,
      table.concat(parts, "  ")))
  end
  local parts = {}
  for i, at in ipairs(result.pass_at) do parts[i] = ("%d: %s"):format(at.k, share(at.share)) end
  common.out("  pass@k  " .. table.concat(parts, "  "))
end

local function speedup_of(round)
  return round.verdict == "passed" and (round.speedup and round.speedup.naive or 0) or -1
end

-- The best round, else the last.
local function shown_of(state)
  local shown = { verdict = "missing", reason = state.ended and "the agent stopped" }
  for _, round in ipairs(state.rounds) do
    if speedup_of(round) >= speedup_of(shown) then shown = round end
  end
  return shown
end

local function print_samples(states)
  table.sort(states, function(a, b)
    if a.task ~= b.task then return a.task < b.task end
    return a.sample < b.sample
  end)
  local rows = {}
  for i, state in ipairs(states) do
    local last = shown_of(state)
    local naive = last.speedup and last.speedup.naive
    rows[i] = { state.task, tostring(state.sample), tostring(#state.rounds), last.verdict,
      naive and units.ratio(naive) or "", last.attempt and tostring(last.attempt) or "",
      last.verdict ~= "passed" and (last.reason or (last.text or ""):match "^[^\n]*") or "" }
  end
  common.out(columns.text({ { title = "task" }, { title = "sample", right = true },
    { title = "rounds", right = true }, { title = "verdict" }, { title = "vs naive", right = true },
    { title = "record", right = true }, { title = "" } }, rows))
end

local function show(result, states, options)
  common.out(("%s, %d tasks, %d samples: %s, session %s"):format(options.setting, result.tasks,
    result.samples, options.agent, options.session))
  common.out("")
  print_samples(states)
  common.out("")
  print_rounds(result)
  print_fast(result)
  common.out(("  %d attempts, %.0f s, %d tokens as reported; %d samples fell back"):format(
    result.attempts, result.seconds, result.tokens, result.fallbacks))
end

--- @treturn integer exit status: 0, or 1 when it was interrupted
function eval.main(options)
  options.against = common.names({ options.against }, "--against") or {}
  local tasks, bases = tasks_of(options.tasks, options.against)
  options.db = store.path(options.db)
  options.session = options.session
    or ("eval-%s-%d"):format(core.utc():gsub("%D", ""), core.getpid())
  store.open(options.db):close() -- says now what is wrong with it
  local samples = samples_of(options, tasks, bases)
  local total = #samples
  local states, interrupted = run(options, samples)
  if interrupted then
    common.warn(("interrupted after %d of %d samples: --session '%s' goes on with it"):format(
      #states, total, options.session))
    if #states == 0 then return 1 end
  end
  local result = scores.of(states)
  result.fallbacks, result.setting = fallbacks(states, options), options.setting
  result.session, result.interrupted = options.session, interrupted or nil
  if options.json then
    common.out(core.json_encode(result))
  else
    show(result, states, options)
  end
  return interrupted and 1 or 0
end

return eval
