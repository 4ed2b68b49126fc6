--- A sample on inputs that no launch has seen. Whatever an arm keeps from launch to launch is of no
-- use then, wherever it is: what takes longer than on inputs that it has seen has kept answers.
-- They come to the device right before their sample, to where one of the timed versions was: where
-- buffers lie makes some kernels a quarter slower.
-- @module perigee.unseen

local units = require "perigee.units"
local versions = require "perigee.versions"
local wrote = require "perigee.wrote"

local unseen = {}

-- Over the median on inputs that it has seen, of which it may keep the answers to some versions and
-- be slow for the others: so it is the median.
local SHARE, MORE_US = 0.10, 1
-- The same where there are no other inputs but such of other parameters: displaced points take
-- hash/tsdf_allocate 0.92 to 1.04 times as long on an H200, and 1.14 times as many instructions at
-- most in other scenes. The bound is what knowing all of the published ones can be worth.
local FAR_SHARE = 0.20
-- And for a task's own implementations, which have no reason to keep any.
local OWN_SHARE, OWN_US = 0.5, 5
-- A launch in a batch over one in a graph, which is timed there; unseen inputs are not in graphs.
-- And what is around a batch: of 20 kernels on an H200 none needs more than half of all this.
local LAUNCH_US, START_US = 2, 6
-- Over the median on the same inputs again: other inputs may take longer, but not the first time.
local AGAIN_SHARE, AGAIN_US = 0.03, 0.5
-- All must be too slow. Chance is not that often: more are made where a sample of five is so slow.
-- By chance a plain kernel in a graph was in two of three tries, the most of 94 on an H200.
local TRIES, MORE_TRIES = 10, 16
-- Samples on other inputs before it: like those of a slice, so that nothing tells it from them. Of
-- what takes long there are few in a slice as well.
local BEFORE_LEAST, BEFORE_MOST, BEFORE_S, FEW = 4, 300, 0.05, 2

local function random_version(arm)
  return math.random(0, #versions.of(arm.case) - 1)
end

-- How many samples go before: as many as fit, up to a random number.
local function draw_count(arm)
  local fit = math.floor(BEFORE_S / arm.per_sample)
  local least = fit < BEFORE_LEAST and FEW or BEFORE_LEAST
  return math.random(least, math.max(2 * least, math.min(BEFORE_MOST, fit)))
end

-- A sample has a launch on what is in the place of unseen inputs.
local function replace(arm, sets, number)
  local first = (number - 1) * arm.batch + 1
  for i = first, first + arm.batch - 1 do
    if sets[i] == arm.place then return end
  end
  sets[first + math.random(0, arm.batch - 1)] = arm.place
end

-- A graph is made of the sets that it has, and its first launch is no sample.
local function method_of(arm)
  return arm.method == "graph" and "batch" or arm.method
end

-- The request for `count` samples of these sets, its reply, and times by the number of the sample,
-- from 1; nil and a failure, or nil when the clock was low. The place of unseen inputs has those of
-- `holds`, which is looked at, in the end.
local function ask(arm, timing, count, sets, renew, holds, method)
  local asked = { method = method or method_of(arm), sets = sets, samples = count,
    warmup = math.min(count - 1, BEFORE_LEAST), guards = true, renew = renew }
  local reply, failure = timing.ask(arm, asked)
  if not reply then return nil, failure end
  failure = holds and wrote.check(arm, arm.place, asked.poison, holds)
  if failure then return nil, failure end
  if timing.is_slow(arm, reply) then return nil end
  local late, us, next_one = {}, {}, 0
  for _, number in ipairs(reply.late or {}) do late[number + 1] = true end
  for number = 1, count do
    if not late[number] then
      next_one = next_one + 1
      us[number] = reply.us[next_one]
    end
  end
  return us
end

local function most(arm, us, share, more_us)
  return us + (share * us + more_us) / arm.batch
end

-- What others take: as all samples did. A task's own may as well take what those just before did,
-- where the device has become slower; a candidate can make itself slower once it knows.
local function usual_of(arm, before_us)
  if arm.method == "graph" then return before_us end
  return arm.impl.foreign and arm.summary.median or math.max(arm.summary.median, before_us)
end

-- Whether those just before were as quick as all samples were; of graphs something else says it.
local function is_as_timed(arm, before_us)
  return arm.method == "graph" or before_us <= most(arm, arm.summary.median, SHARE, MORE_US)
end

-- Every other of `count` samples, and the last, on what is in the place of unseen inputs.
local function alternate(arm, timing, count)
  local sets = timing.choose_sets(arm, count, method_of(arm))
  for number = count, 1, -2 do replace(arm, sets, number) end
  return sets
end

-- The version, from 0, on whose set samples are quickest, where each has one of its own; or nil and
-- a failure.
local function quickest(arm, timing)
  local best, least = random_version(arm), math.huge
  if arm.batch > 1 then return best end
  local count = math.max(draw_count(arm), 3 * #versions.of(arm.case))
  local sets = timing.choose_sets(arm, count, method_of(arm))
  local us, failure = ask(arm, timing, count, sets)
  if failure then return nil, failure end
  local of_set = {}
  for number, set in ipairs(us and sets or {}) do
    of_set[set] = of_set[set] or {}
    table.insert(of_set[set], us[number])
  end
  for set, list in pairs(of_set) do
    local median = timing.median(list)
    if median and median < least then best, least = set, median end
  end
  return best
end

-- The version that was there comes back, for what is timed later. By a cold sample: before a hot
-- one the plan would run once more on what goes.
local function put_back(arm, timing)
  local known = versions.of(arm.case)[arm.place + 1]
  local _, failure = ask(arm, timing, 1, alternate(arm, timing, 1),
    { sample = 0, version = arm.place, list = known.list }, nil,
    arm.method == "hot" and "cold" or nil)
  return failure
end

-- Samples of which the last has those inputs, which come right before it: else a launch on others
-- might look. Its time, and the median of the others; nil where one is not known; or nil and a
-- failure.
local function bring(arm, timing)
  local before = draw_count(arm)
  local us, failure = ask(arm, timing, before + 1, alternate(arm, timing, before + 1),
    { sample = before, version = arm.place, list = arm.fresh.list }, arm.fresh)
  if not us or not us[before + 1] then return nil, failure end
  local others = {}
  for number = 1, before do others[#others + 1] = us[number] end
  return us[before + 1], timing.median(others)
end

-- A sample that has inputs for the first time: {us, usual = what others take, as_timed}, nil where
-- that is not known; or nil and a failure.
local function first_time(arm, timing)
  local us, now = bring(arm, timing)
  if not us then return nil, now end
  return now and { us = us, usual = usual_of(arm, now), as_timed = is_as_timed(arm, now) }
end

-- What the same inputs take when they come again in the same way; nil where that is not known, and
-- a failure.
local function again(arm, timing)
  local us, now = bring(arm, timing)
  return us, not us and now or nil
end

local function too_slow(arm, us, usual)
  if not arm.impl.foreign then return us > most(arm, usual, OWN_SHARE, OWN_US) end
  if arm.fresh.elsewhere then return us > most(arm, usual, FAR_SHARE, MORE_US) end
  return us > most(arm, usual, SHARE, MORE_US)
end

local function tries_of(arm)
  local broad = arm.summary and arm.summary.p80 > most(arm, arm.summary.median, SHARE, MORE_US)
  return broad and MORE_TRIES or TRIES
end

-- Whether launches of a graph are quicker than starts explain: a kernel can tell where it is.
local function differs_in_graphs(arm, usual)
  return arm.method == "graph" and arm.impl.foreign
    and usual > (1 + SHARE) * arm.summary.median + LAUNCH_US * #arm.steps + START_US / arm.batch
end

-- One try: {us, usual, as_timed, again, kept = whether it shows that answers were kept}, nil where
-- it says nothing; or nil and a failure.
local function try(arm, timing)
  local one, failure = first_time(arm, timing)
  if not one then return nil, failure end
  arm.outside_us = differs_in_graphs(arm, one.usual) and one.usual or nil
  one.kept = arm.outside_us ~= nil
  if one.kept or one.us <= most(arm, one.usual, AGAIN_SHARE, AGAIN_US) then return one end
  one.kept = too_slow(arm, one.us, one.usual)
  if not arm.impl.foreign then return one end
  one.again, failure = again(arm, timing)
  if failure then return nil, failure end
  if one.kept or not one.again then return one.kept and one or nil end
  one.kept = one.us > most(arm, one.again, AGAIN_SHARE, AGAIN_US)
  return one
end

local function cheat(arm, us)
  local text = ("%s on inputs that it had not seen, %s on others: it keeps answers from launch to "
    .. "launch"):format(units.time(us), units.time(arm.summary.median))
  if arm.outside_us then
    text = ("%s a launch in a batch, %s in a graph, which no start explains"):format(
      units.time(arm.outside_us), units.time(arm.summary.median))
  end
  return { verdict = "cheat", reason = text, findings = { { kind = "kept_answers", text = text } } }
end

-- It was slower than its time in every try, on inputs that it had seen, too: nobody can say why.
local function slower(arm, us)
  return { verdict = "environment", findings = {}, reason = ("%s when it was timed, %s since then, "
    .. "on whatever inputs: the device has become slower, or the candidate made itself so"):format(
    units.time(arm.summary.median), units.time(us)), hint = "time it again" }
end

-- All tries; nil, or a failure.
local function all_tries(arm, timing)
  local as_timed = false
  for number = 1, tries_of(arm) do
    local fresh, why = versions.unseen(arm.case, number)
    if not fresh then
      arm.unseen_why = why
      return nil
    end
    arm.fresh = fresh
    local one, failure = try(arm, timing)
    if failure then return failure end
    if one and one.us < (arm.unseen_us or math.huge) then
      arm.unseen_us, arm.again_us = one.us, one.again
    end
    if one and not one.kept then return nil end
    as_timed = as_timed or one ~= nil and one.as_timed
  end
  if arm.unseen_us then return (as_timed and cheat or slower)(arm, arm.unseen_us) end
  arm.unseen_why = "the host was late for each sample, or the clock low"
end

--- Time an arm on inputs that it has not seen, and compare. Its `unseen_us` is the least such time,
-- `again_us` what the same inputs took again; its `unseen_why` says why there is none.
-- @tparam table arm timed
-- @tparam table timing {choose_sets, ask, is_slow, median} of perigee.timing
-- @treturn table|nil a failure
function unseen.judge(arm, timing)
  if arm.impl.lang == "lua" then
    arm.unseen_why = "a library, in a runner that no candidate enters"
    return nil
  end
  local fresh, why = versions.unseen(arm.case, 1)
  if not fresh or not arm.fresh_set then
    arm.unseen_why = why or "no memory for more inputs"
    return nil
  end
  local failure
  arm.place, failure = quickest(arm, timing)
  return failure or all_tries(arm, timing) or put_back(arm, timing)
end

return unseen
