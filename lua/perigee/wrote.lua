--- What timed samples wrote. Where the bits of a right answer are always the same, the runner
-- computes a digest of what every sample wrote, and the first that differs from the checked run's
-- is fetched and judged. Where they are not (atomics in any order, a layout of its own), samples
-- chosen at random are fetched and judged.
-- @module perigee.wrote

local core = require "perigee.core"
local export = require "perigee.export"
local validate = require "perigee.validate"
local versions = require "perigee.versions"

local wrote = {}

local CHECK_S = 0.01 -- checking sets after a slice goes on so long, but one is always
-- A sample in two that is skipped escapes so many checks once in a million; where outputs are large
-- there are as many as fit in the time. A task's own implementations have no reason to skip any.
local CHOSEN, CHOSEN_OWN, CHOSEN_S = 20, 4, 1

-- The digests of what is right, by set; nil where samples are chosen instead.
local function right_of(arm)
  if arm.export or arm.bits_differ or not arm.digests then return nil end
  local list = core.json_array {}
  for number = 1, #versions.of(arm.case) do
    if not arm.digests[number] then return nil end
    list[number] = arm.digests[number]
  end
  return list
end

--- What to ask of a request for timed samples.
-- @tparam table arm
-- @tparam table how the request; gets `right`, `keep_in` and `keep`
-- @tparam integer samples
function wrote.ask(arm, how, samples)
  how.right, how.keep_in = right_of(arm), arm.kept_set
  how.keep = not how.right and how.keep_in and math.random(0, samples - 1) or nil
end

--- Judge what a sample wrote: the validators again.
-- @tparam table arm
-- @tparam integer set where it lies
-- @tparam integer poison that outputs held before
-- @tparam table one the version of the case that the set had
-- @treturn table|nil a failure
function wrote.check(arm, set, poison, one)
  local arrays, failure = export.fetch(arm, set, poison)
  if not arrays then return failure end
  arm.outputs_checked = arm.outputs_checked + 1
  arm.chosen = (arm.chosen or 0) + 1
  local result = validate.run(one, arrays, poison)
  if result.ok then return nil end
  failure = {
    verdict = result.verdict, findings = {}, checks = result.checks,
    reason = "a timed sample was wrong though the checked run was right: " .. result.reason,
  }
  arm.case = one
  if arm.on_wrong then arm.on_wrong(failure, arrays) end
  return failure
end

-- Whether a slice is looked at: each of a candidate's, one a timing of a task's own arm.
local function is_due(arm)
  return arm.impl.foreign or arm.outputs_checked == 0
end

-- The sample that was copied, if any. The runner copies results alone, so its inputs are those of
-- the set that it had.
local function check_kept(arm, reply, poison)
  if not reply.kept then return nil end
  return wrote.check(arm, arm.kept_set, poison, (versions.of_set(arm.case, reply.kept.set)))
end

-- Check sets of a slice that are not checked yet until `seconds` are over, at least one.
local function check_sets(arm, sets, poison, seconds)
  local started = core.now()
  for _, set in ipairs(sets) do
    local failure = wrote.check(arm, set, poison, (versions.of_set(arm.case, set)))
    if failure then return failure end
    if core.now() - started > seconds then return nil end
  end
end

--- Judge the results of a slice. A sample whose digest differs but that is right shows that bits
-- differ from run to run: from then on samples are chosen.
-- @tparam table arm
-- @tparam table asked the request
-- @tparam table reply
-- @tparam table sets those that the slice used, each once, in random order
-- @treturn table|nil a failure
function wrote.judge(arm, asked, reply, sets)
  if reply.differ and #reply.differ == 0 then
    arm.outputs_checked = arm.outputs_checked + asked.samples
    return nil
  end
  if reply.differ then arm.bits_differ = true elseif not is_due(arm) then return nil end
  local failure = check_kept(arm, reply, asked.poison)
  if failure or reply.kept then return failure end
  return check_sets(arm, sets, asked.poison, CHECK_S)
end

--- Where samples are chosen: take and judge more until they are enough, with those of earlier
-- timings of the same arm. Where a task's own is timed in several passes they share its samples.
-- @tparam table arm
-- @tparam function take samples -> the request and its reply, or nil and a failure
-- @treturn table|nil a failure
function wrote.more(arm, take)
  local started = core.now()
  local most = arm.impl.foreign and CHOSEN or math.max(1, CHOSEN_OWN // (arm.passes or 1))
  while not right_of(arm) and arm.kept_set and (arm.chosen or 0) < most
    and core.now() - started < CHOSEN_S do
    local asked, reply = take(math.random(1, 4))
    if not asked then return reply end
    local failure = check_kept(arm, reply, asked.poison)
    if failure then return failure end
  end
end

--- How the results were looked at, for the record: "all" or "chosen".
function wrote.how(arm)
  return right_of(arm) and "all" or "chosen"
end

return wrote
