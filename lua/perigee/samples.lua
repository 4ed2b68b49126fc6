--- What is kept of an evaluation: its settings, with the session that has its name, and of each
-- sample what is known so far, with the session NAME TASK #NUMBER. A verdict and a cost are those
-- of a record; what a session says of itself beside that is worth nothing.
-- @module perigee.samples

local core = require "perigee.core"
local explain = require "perigee.explain"
local files = require "perigee.files"
local outcome = require "perigee.serve.outcome"
local store = require "perigee.store"

local samples = {}

local KIND = "eval"
local TEXT_MOST = 6000 -- bytes of what is said of an attempt
local UNJUDGED = { missing = true, refused = true } -- verdicts that no record has

--- Name of the session of a sample.
function samples.session(name, task, number)
  return ("%s %s #%d"):format(name, task, number)
end

-- ---- one round ----

-- How many times faster than what always is there to compare with; the best so far changes.
local function speedups(rivals)
  local list = {}
  for _, row in ipairs(rivals or {}) do
    if row.speedup and not row.name:match "^best %(" then list[row.name] = row.speedup end
  end
  return list
end

--- A round as perigee.scores takes it, from its record.
-- @tparam table rec
-- @tparam integer number of the record
-- @tparam[opt] string text what is said of it
function samples.round(rec, number, text)
  local cost, unit = outcome.cost(rec)
  return { verdict = rec.verdict, attempt = number, cost = cost, unit = unit,
    speedup = speedups(rec.rivals), reason = rec.reason,
    text = text and explain.head(text, TEXT_MOST) }
end

--- A round without a record. @tparam string verdict "missing" or "refused"
function samples.failed(verdict, reason)
  reason = explain.head(reason, TEXT_MOST)
  return { verdict = verdict, reason = reason:match "^[^\n]*", text = reason }
end

-- ---- the evaluation ----

local ORDER = { "setting", "agent", "against", "device", "seconds", "tokens", "timeout", "trust" }

local function shown(name, value)
  if value == nil then return ("no --%s"):format(name) end
  return value == true and "--" .. name or ("--%s %s"):format(name, tostring(value))
end

local function check_same(name, before, settings)
  for _, field in ipairs(ORDER) do
    if before[field] ~= settings[field] then
      core.error("invalid", ("session '%s' has %s, not %s"):format(name, shown(field,
        before[field]), shown(field, settings[field])), "name another --session, or none")
    end
  end
  if before.rounds and (settings.rounds or math.huge) < before.rounds
    or settings.setting == "tools" and before.rounds ~= settings.rounds then
    core.error("invalid", ("session '%s' has %s, not %s"):format(name, shown("rounds",
      before.rounds), shown("rounds", settings.rounds)), settings.setting == "refine"
      and "more rounds go on with it, fewer do not" or "name another --session, or none")
  end
end

--- Begin an evaluation, or go on with the one of that name.
-- @tparam table into a store
-- @tparam string name
-- @tparam table settings {setting, agent, against, device = texts, rounds, seconds, tokens,
--   timeout, trust}
-- @raise "invalid" when that one had other settings; only more rounds of `refine` may be asked for
function samples.begin(into, name, settings)
  local id, known = into:session(name, KIND, settings)
  if not known then return end
  local before = into:about(name)
  if type(before) ~= "table" or type(before.setting) ~= "string" then
    core.error("invalid", ("session '%s' is no evaluation"):format(name), "name another --session")
  end
  check_same(name, before, settings)
  into:note(id, settings)
end

local Claim = {}
Claim.__index = Claim

-- The file goes while it is locked: nobody takes it in between.
function Claim:__close()
  os.remove(self.path)
  local _ <close> = self.lock
end

--- Claim an evaluation for this process, until what is returned is closed; nil where no lock can be
-- made.
-- @raise "environment" when another process works at it
function samples.claim(path, name)
  local folder = files.cache "locks"
  if not folder or not core.mkdir_all(folder) then return nil end
  local key = core.sha256(("%s\n%s"):format(core.realpath(path) or path, name)):sub(1, 16)
  local file = ("%s/eval-%s"):format(folder, key)
  local lock, e = core.lock(file)
  if lock then return setmetatable({ path = file, lock = lock }, Claim) end
  if e then return nil end
  core.error("environment", ("another perigee eval works at session '%s'"):format(name),
    "wait for it, or name another --session", path)
end

-- ---- one sample ----

local function count_of(value)
  return math.type(value) == "integer" and value >= 0 and value < 1 << 53 and value or 0
end

local function seconds_of(value)
  return type(value) == "number" and value >= 0 and value < 1e9 and value + 0.0 or 0.0
end

local function own_record(from, session, number)
  if math.type(number) ~= "integer" then return nil end
  local ok, rec, extra = pcall(from.one, from, number)
  if not ok and rec.code ~= "not_found" then error(rec, 0) end
  return ok and extra.session == session and rec.kind == "check" and rec or nil
end

-- A kept round, or nil when it is none.
local function kept_round(from, session, round)
  if type(round) ~= "table" then return nil end
  local text = type(round.text) == "string" and round.text or ""
  local rec = own_record(from, session, round.attempt)
  if rec then return samples.round(rec, round.attempt, text) end
  return UNJUDGED[round.verdict] and samples.failed(round.verdict, text) or nil
end

local ENDS = { stopped = true, seconds = true, tokens = true, ended = true }

--- What is known of a sample; of one that was not begun: nothing.
-- @tparam table from a store
-- @tparam table what a sample, see perigee.eval
-- @treturn table {task, sample, setting, bases, rounds, final, tokens, seconds, ended}
function samples.load(from, what)
  local state = { task = what.task, sample = what.sample, setting = what.setting,
    bases = what.bases, rounds = core.json_array {}, tokens = 0, seconds = 0.0 }
  local name = samples.session(what.name, what.task, what.sample)
  local about = from:about(name)
  if type(about) ~= "table" or type(about.rounds) ~= "table" then return state end
  local session = from:find_session(name)
  for i, round in ipairs(about.rounds) do
    state.rounds[i] = kept_round(from, session, round)
    if not state.rounds[i] then return state end
  end
  state.tokens, state.seconds = count_of(about.tokens), seconds_of(about.seconds)
  state.final = about.final and kept_round(from, session, about.final) or nil
  state.ended = ENDS[about.ended] and about.ended or nil
  return state
end

--- Whether nothing is left to do for a sample.
function samples.is_done(what, state)
  return state.ended ~= nil or what.setting ~= "tools" and #state.rounds >= what.rounds
end

--- Keep what is known of a sample. @raise "environment" when that cannot be done
function samples.save(path, session, state)
  local into <close> = store.open(path)
  into:note((into:session(session, KIND)), state)
end

return samples
