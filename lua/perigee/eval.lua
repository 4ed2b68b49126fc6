--- One sample of `perigee eval`: an agent works at a task in one of three settings. What is known
-- of it is kept after every round (perigee.samples), so that a run goes on where it was ended. It
-- runs in a lane (perigee.serve.lane), a process of its own.
--
-- What is the agent's fault is a round that failed. What is this machine's ends the sample, without
-- a score: an error, or a state with `unscored`.
-- @module perigee.eval

local core = require "perigee.core"
local agent = require "perigee.agent"
local candidates = require "perigee.serve.candidates"
local catalogue = require "perigee.serve.catalogue"
local errors = require "perigee.errors"
local files = require "perigee.files"
local prompts = require "perigee.serve.prompts"
local records = require "perigee.serve.records"
local samples = require "perigee.samples"
local schema = require "perigee.serve.schema"
local store = require "perigee.store"
local tools = require "perigee.serve.tools"

local eval = {}

-- Seconds that an agent may take without --seconds: for an answer, and for a sample with tools.
local PATIENCE = { oneshot = 600, refine = 600, tools = 3600 }

local MACHINE = { internal = true, environment = true, io = true, out_of_memory = true,
  crashed = true } -- codes of errors that no answer is to blame for

-- What an agent may not do with what is not its own: see perigee.agent.
local function reach(request, seconds)
  local given = request.agent
  return { seconds = seconds, memory = given.memory, folder = given.folder, writes = given.writes,
    kept = given.kept, hidden = given.hidden }
end

-- ---- oneshot and refine ----

local function judged(what, reply, round, request, progress)
  local given = { task = what.task, source = reply.source, files = reply.files, knobs = reply.knobs,
    language = reply.language, name = ("%s-%d-%d"):format(what.setting, what.sample, round) }
  local problem, hint = schema.check(given, tools.find("time").inputSchema, "candidate")
  if problem then return samples.failed("refused", hint and problem .. "\n" .. hint or problem) end
  local text
  local ok, answer = errors.catch("internal", function()
    local result
    result, text = candidates.time(given, request, progress)
    return result
  end)
  if not ok and MACHINE[answer.code] then error(answer, 0) end
  if not ok then return samples.failed("refused", errors.text(answer)) end
  if not answer.attempt then core.error("environment", answer.warning) end
  local from <close> = store.open(request.options.db, { readonly = true })
  return samples.round((from:one(answer.attempt)), answer.attempt, text)
end

-- What came of the rounds so far, in figures.
local function history(state)
  local list = core.json_array {}
  for i, round in ipairs(state.rounds) do
    list[i] = { verdict = round.verdict, cost = round.cost, unit = round.unit,
      speedup = round.speedup }
  end
  return list
end

-- What was sent in a round that was judged: texts by name, the names in order, and knobs.
local function sent(round, request)
  local by_name, names = {}, {}
  if not (round and round.attempt) then return by_name, names end
  local whole = records.attempt(round.attempt, request)
  for i, one in ipairs(whole.sources or {}) do
    names[i], by_name[one.name] = one.name, (whole.source_texts or {})[one.sha] or ""
  end
  return by_name, names, whole.knobs
end

local function in_words(round, by_name, names)
  local parts = { round.text or round.reason or "" }
  for _, name in ipairs(names) do
    if #names > 1 then parts[#parts + 1] = name .. ":" end
    parts[#parts + 1] = ("```\n%s\n```"):format(by_name[name])
  end
  return table.concat(parts, "\n\n")
end

-- What an agent is asked.
local function question(what, state, round, request)
  local described, d = catalogue.description(what.task)
  local last = state.rounds[round - 1]
  local by_name, names, knobs = sent(last, request)
  local attempt = last and in_words(last, by_name, names)
  return { setting = what.setting, task = what.task, sample = what.sample, round = round,
    rounds = what.rounds, description = described, skeleton = d.skeleton,
    prompt = prompts.text(last and "refine" or "oneshot", described, attempt),
    feedback = last and (last.text or last.reason), verdict = last and last.verdict,
    source = by_name[names[1]], files = #names > 1 and by_name or nil, knobs = knobs,
    history = history(state) }
end

-- Ask, and count what that took: the agent's time alone.
local function ask(what, state, asked, how)
  local started = core.now()
  local reply, problem = agent.ask(what.agent, asked, how)
  state.seconds = state.seconds + core.now() - started
  state.tokens = state.tokens + (reply and reply.tokens or 0)
  return reply, problem
end

local function one_round(what, state, round, request, progress)
  progress(("%s #%d, round %d of %d"):format(what.task, what.sample, round, what.rounds))
  candidates.expect(request)
  local left = what.seconds and what.seconds - state.seconds or PATIENCE[what.setting]
  local reply, problem = ask(what, state, question(what, state, round, request),
    reach(request, left))
  if reply and reply.stop then
    state.ended = "stopped"
  elseif reply then
    local made = judged(what, reply, round, request, progress)
    if made.verdict == "environment" then
      state.unscored = made.reason
    else
      state.rounds[round] = made
    end
  else
    state.rounds[round] = samples.failed("missing", problem)
  end
end

local function spent(what, state)
  if what.seconds and state.seconds >= what.seconds then return "seconds" end
  if what.tokens and state.tokens >= what.tokens then return "tokens" end
  return nil
end

local function rounds(what, state, request, progress)
  for round = #state.rounds + 1, what.rounds do
    state.ended = spent(what, state)
    if not state.ended then one_round(what, state, round, request, progress) end
    if state.unscored then return end
    samples.save(request.options.db, request.options.session, state)
    if state.ended then return end
  end
end

-- ---- tools ----

local function attempts_so_far(request)
  local from <close> = store.open(request.options.db, { readonly = true })
  return from:attempts(request.options.session)
end

-- Arguments of the server that the agent gets: it runs beside the judge, where no agent comes to,
-- and keeps what it judges in the sample's session.
local function server_of(what, request, attempts)
  local options = request.options
  local words = core.json_array { "serve", "--device", options.device, "--db", options.db,
    "--session", options.session, "--timeout", tostring(options.timeout), "--memory",
    tostring(request.agent.memory / 2 ^ 30) }
  local function add(...) table.move({ ... }, 1, select("#", ...), #words + 1, words) end
  if options.trust then add "--trust" end
  if options.against and #options.against > 0 then
    add("--against", table.concat(options.against, ","))
  end
  if what.rounds then add("--attempts", tostring(attempts + what.rounds)) end
  return words
end

-- The attempts that were judged since, and the last of those that were submitted.
local function attempts_since(last, request)
  local list, final = core.json_array {}, nil
  local from <close> = store.open(request.options.db, { readonly = true })
  for rec, extra in from:records(from:find_session(request.options.session), last) do
    if rec.kind == "check" then
      list[#list + 1] = samples.round(rec, extra.id)
      if rec.submitted then final = list[#list] end
    end
  end
  return list, final
end

local function with_tools(what, state, request, progress)
  progress(("%s #%d: the agent has the tools"):format(what.task, what.sample))
  local described = catalogue.description(what.task)
  local attempts, last = attempts_so_far(request)
  local how = reach(request, what.seconds or PATIENCE.tools)
  how.door = files.join(request.agent.folder, "server")
  how.server = server_of(what, request, attempts)
  local _, problem = ask(what, state, { setting = "tools", task = what.task,
    sample = what.sample, rounds = what.rounds, description = described,
    prompt = prompts.text("tools", described),
    server = core.json_array { core.binary(), "--join", how.door } }, how)
  state.rounds, state.final = attempts_since(last, request)
  if state.final and state.final.verdict == "environment" then
    state.unscored = state.final.reason
    return
  end
  state.final = state.final or samples.failed("missing", problem or "nothing was submitted")
  state.ended = "ended"
  samples.save(request.options.db, request.options.session, state)
end

-- ---- a sample ----

--- Work at a sample until it is done.
-- @tparam table what {name = of the evaluation, task, sample = its number, setting = "oneshot",
--   "refine" or "tools", agent = command, bases = names of what it is compared with, rounds,
--   seconds, tokens = budgets of a sample, state = what perigee.samples knew of it before any agent
--   was asked}
-- @tparam table request {options = of the tools, folder, agent = {folder, memory, writes, kept,
--   hidden}}
-- @tparam function progress called with texts
-- @treturn table the state, as perigee.samples describes it, or with unscored = why it has no score
function eval.sample(what, request, progress)
  local state = what.state
  request.options.session = samples.session(what.name, what.task, what.sample)
  request.resources = false -- what an agent is sent back is all that it can read
  core.json_array(state.rounds)
  samples.save(request.options.db, request.options.session, state)
  local run = what.setting == "tools" and with_tools or rounds
  run(what, state, request, progress)
  return state
end

return eval
