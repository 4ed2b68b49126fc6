--- A sample on inputs that no launch has seen. Whatever an arm keeps from launch to launch is of no
-- use then, wherever it is: what takes longer than on inputs that it has seen has kept answers.
-- They are uploaded when the timing is over, to where no inputs were, and used once.
-- @module perigee.unseen

local core = require "perigee.core"
local units = require "perigee.units"
local versions = require "perigee.versions"
local wrote = require "perigee.wrote"

local unseen = {}

local SHARE, MORE_US = 0.25, 2 -- over what four samples of five stay below
local TRIES = 4 -- all must be too slow: chance is not that often
-- Samples on other inputs before it: like those of a slice, so that nothing tells it from them.
local BEFORE_LEAST, BEFORE_MOST, BEFORE_S = 4, 300, 0.05

local function random_version(arm)
  return math.random(0, #versions.of(arm.case) - 1)
end

-- The sets of samples on seen inputs, and of the last one, with the unseen among them.
local function choose(arm, method, choose_sets)
  local fit = math.floor(BEFORE_S / arm.per_sample)
  local before = math.random(BEFORE_LEAST, math.max(2 * BEFORE_LEAST, math.min(BEFORE_MOST, fit)))
  local sets = choose_sets(arm, before + 1, method)
  sets[#sets - math.random(0, arm.batch - 1)] = arm.fresh_set
  return sets, before
end

-- In a hot sample the same plan runs before: not on inputs that are to stay unseen.
local function untimed_before(arm, sets)
  local list = {}
  for i, set in ipairs(sets) do list[i] = set == arm.fresh_set and random_version(arm) or set end
  return list
end

-- The time of the sample that had inputs for the first time, and the median of those before it; nil
-- when it was late, or the clock low.
local function times(arm, reply, before, timing)
  local late = reply.late or {}
  if late[#late] == before or #reply.us < 2 or timing.is_slow(arm, reply) then return nil end
  return reply.us[#reply.us], core.summarize(table.move(reply.us, 1, #reply.us - 1, 1, {})).median
end

-- What others take: as all samples did, or those just before where the device has become slower.
local function usual_of(arm, before_us)
  if arm.method == "graph" then return before_us end
  return math.max(arm.summary.p80, before_us)
end

-- One try. Returns the time and what it may be, or nil and a failure, if it is one.
local function try(arm, fresh, timing)
  local done, failure = arm.runner:renew(arm.fresh_set, fresh.list)
  if not done then return nil, failure end
  -- A graph is made of the sets that it has, and its first launch is no sample.
  local method = arm.method == "graph" and "batch" or arm.method
  local sets, before = choose(arm, method, timing.choose_sets)
  local asked = { method = method, sets = sets, samples = before + 1, warmup = BEFORE_LEAST,
    guards = true, before = method == "hot" and untimed_before(arm, sets) or nil }
  local reply
  reply, failure = timing.ask(arm, asked)
  if not reply then return nil, failure end
  failure = wrote.check(arm, arm.fresh_set, asked.poison, fresh)
  if failure then return nil, failure end
  local us, before_us = times(arm, reply, before, timing)
  local usual = us and usual_of(arm, before_us)
  return us, us and usual + (SHARE * usual + MORE_US) / arm.batch
end

local function cheat(arm, us)
  local text = ("%s on inputs that it had not seen, %s on others: it keeps answers from launch to "
    .. "launch"):format(units.time(us), units.time(arm.summary.median))
  return { verdict = "cheat", reason = text, findings = { { kind = "kept_answers", text = text } } }
end

--- Time an arm on inputs that it has not seen, and compare. Its `unseen_us` is that time; its
-- `unseen_why` says why there is none.
-- @tparam table arm timed
-- @tparam table timing {choose_sets, ask, is_slow} of perigee.timing
-- @treturn table|nil a failure
function unseen.judge(arm, timing)
  for number = 1, TRIES do
    local fresh, why = versions.unseen(arm.case, number)
    if not fresh or not arm.fresh_set then
      arm.unseen_why = why or "no memory for more inputs"
      return nil
    end
    local us, most = try(arm, fresh, timing)
    if not us and most then return most end
    if us then arm.unseen_us = math.min(arm.unseen_us or math.huge, us) end
    if us and us <= most then return nil end
  end
  if arm.unseen_us then return cheat(arm, arm.unseen_us) end
  arm.unseen_why = "the host was late for each sample, or the clock low"
end

return unseen
