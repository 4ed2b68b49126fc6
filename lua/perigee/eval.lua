--- One sample of `perigee eval`: an agent works at a task in one of three settings. What is known
-- of it is kept with its session in the results store after every round, so that a run goes on
-- where it was ended. It runs in a lane (perigee.serve.lane), a process of its own.
-- @module perigee.eval

local core = require "perigee.core"
local agent = require "perigee.agent"
local candidates = require "perigee.serve.candidates"
local catalogue = require "perigee.serve.catalogue"
local errors = require "perigee.errors"
local files = require "perigee.files"
local prompts = require "perigee.serve.prompts"
local records = require "perigee.serve.records"
local store = require "perigee.store"

local eval = {}

local TEXT_MOST = 6000 -- bytes of what is said of an attempt
local ALONE_S = 600 -- an agent may take for an answer, without --seconds

--- The session of a sample.
function eval.session(name, task, number)
  return ("%s %s #%d"):format(name, task, number)
end

local function fresh(what)
  return { eval = what.name, setting = what.setting, task = what.task, sample = what.sample,
    bases = what.bases, rounds = core.json_array {}, tokens = 0, seconds = 0 }
end

local function load(request, what)
  local from <close> = store.open(request.options.db)
  local about = from:about(request.options.session)
  if about and about.rounds then return about end
  return fresh(what)
end

local function save(request, state)
  local into <close> = store.open(request.options.db)
  into:note((into:session(request.options.session, "eval")), state)
end

-- How many times faster than what always is there to compare with; the best so far changes.
local function speedups(rivals)
  local list = {}
  for _, row in ipairs(rivals or {}) do
    if row.speedup and not row.name:match "^best %(" then list[row.name] = row.speedup end
  end
  return list
end

-- ---- oneshot and refine ----

local function judged(what, reply, round, request, progress)
  local given = { task = what.task, source = reply.source, files = reply.files, knobs = reply.knobs,
    language = reply.language, name = ("%s-%d-%d"):format(what.setting, what.sample, round) }
  local text
  local problem, hint = require("perigee.serve.schema").check(given,
    require("perigee.serve.tools").find("time").inputSchema, "candidate")
  if problem then
    return { verdict = "refused", text = hint and problem .. "\n" .. hint or problem }
  end
  local ok, answer = errors.catch("internal", function()
    local result
    result, text = candidates.time(given, request, progress)
    return result
  end)
  if not ok then return { verdict = "refused", text = errors.text(answer):sub(1, TEXT_MOST) } end
  return { verdict = answer.verdict, attempt = answer.attempt, cost = answer.cost,
    unit = answer.unit, speedup = speedups(answer.rivals), reason = answer.reason,
    text = text:sub(1, TEXT_MOST) }
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

-- What an agent is asked.
local function ask(what, state, round, request)
  local described, d = catalogue.description(what.task)
  local last, attempt, source = state.rounds[round - 1], nil, nil
  if last and last.attempt then
    local whole = records.attempt(last.attempt, request)
    source = whole.source_texts and whole.sources[1]
      and whole.source_texts[whole.sources[1].sha]
  end
  if last then
    attempt = ("%s\n\n```\n%s\n```"):format(last.text or last.reason or "", source or "")
  end
  return { setting = what.setting, task = what.task, sample = what.sample, round = round,
    rounds = what.rounds, description = described, skeleton = d.skeleton,
    prompt = prompts.text(last and "refine" or "oneshot", described, attempt),
    feedback = last and (last.text or last.reason), verdict = last and last.verdict,
    source = source, history = history(state) }
end

local function spent(what, state)
  if what.seconds and state.seconds >= what.seconds then return "seconds" end
  if what.tokens and state.tokens >= what.tokens then return "tokens" end
  return nil
end

local function one_round(what, state, round, request, progress)
  local started = core.now()
  progress(("%s #%d, round %d of %d"):format(what.task, what.sample, round, what.rounds))
  local left = what.seconds and what.seconds - state.seconds or ALONE_S
  files.empty(request.folder)
  local reply, problem = agent.ask(what.agent, ask(what, state, round, request), left,
    request.folder)
  if reply and reply.tokens then state.tokens = state.tokens + reply.tokens end
  if reply and reply.stop then
    state.ended = "stopped"
  elseif reply then
    state.rounds[round] = judged(what, reply, round, request, progress)
  else
    state.rounds[round] = { verdict = "missing", reason = problem }
  end
  state.seconds = state.seconds + core.now() - started
end

local function rounds(what, state, request, progress)
  for round = #state.rounds + 1, what.rounds do
    state.ended = spent(what, state)
    if state.ended then return end
    one_round(what, state, round, request, progress)
    save(request, state)
    if state.ended then return end
  end
  state.ended = "rounds"
end

-- ---- tools ----

-- The agent's server has a store of its own: what is in it is the agent's word.
local function store_of(request) return files.join(request.folder, "agent.db") end

-- How the agent starts the server that it works with.
local function server_of(request)
  local options = request.options
  local words = core.json_array { core.binary(), "serve", "--device", options.device, "--db",
    store_of(request), "--session", "agent", "--timeout", tostring(options.timeout) }
  if options.trust then words[#words + 1] = "--trust" end
  return words
end

-- The sources of a record as an answer.
local function answer_of(whole)
  local by_name = {}
  for _, source in ipairs(whole.sources or {}) do
    by_name[source.name] = whole.source_texts and whole.source_texts[source.sha]
  end
  local name, text = next(by_name)
  if name and next(by_name, name) == nil then return { source = text, language = whole.lang } end
  return name and { files = by_name, knobs = whole.knobs } or nil
end

-- What was submitted last, and how many attempts there were.
local function submitted(request)
  local path, found, attempts = store_of(request), nil, 0
  if not files.is_file(path) then return nil, 0 end
  local from <close> = store.open(path, { readonly = true })
  for _, one in ipairs(from:sessions()) do
    for rec, extra in from:records(one.id) do
      if rec.kind == "check" then attempts = attempts + 1 end
      if rec.submitted then found = extra.id end
    end
  end
  return found and answer_of(from:record(found)), attempts
end

-- What an agent submitted is judged here once more: only that counts, whatever its store says.
local function with_tools(what, state, request, progress)
  local started = core.now()
  progress(("%s #%d: the agent has the tools"):format(what.task, what.sample))
  local described = catalogue.description(what.task)
  files.empty(request.folder)
  local reply, problem = agent.ask(what.agent, { setting = "tools", task = what.task,
    sample = what.sample, description = described, server = server_of(request),
    prompt = prompts.text("tools", described) }, what.seconds or ALONE_S, request.folder)
  state.tokens = reply and reply.tokens or 0
  local ok, answer, attempts = pcall(submitted, request)
  state.attempts = ok and attempts or 0
  if ok and answer then
    files.empty(request.folder)
    state.rounds[1] = judged(what, answer, 1, request, progress)
  else
    state.rounds[1] = { verdict = "missing", reason = problem or "nothing was submitted" }
  end
  state.seconds, state.ended = core.now() - started, "rounds"
end

-- ---- a sample ----

--- Work at a sample until it is done.
-- @tparam table what {name = of the evaluation, task, sample = its number, setting = "oneshot",
--   "refine" or "tools", agent = command, bases = names of what it is compared with, rounds,
--   seconds, tokens = budgets of a sample}
-- @tparam table request {options = of the tools, folder}
-- @tparam function progress called with texts
-- @treturn table {task, sample, rounds = as perigee.scores takes them, tokens, seconds, ended =
--   "rounds", "seconds", "tokens" or "stopped"}
function eval.sample(what, request, progress)
  request.options.session = eval.session(what.name, what.task, what.sample)
  local state = load(request, what)
  if state.ended then return state end
  if what.setting == "tools" then
    with_tools(what, state, request, progress)
  else
    rounds(what, state, request, progress)
  end
  save(request, state)
  return state
end

return eval
