--- The time of arms that are right: how many sets they need, the timing, whether its outcome is
-- possible, comparisons. The methods belong to a session of perigee.judge.
-- @module perigee.timed

local core = require "perigee.core"
local ceilings = require "perigee.ceilings"
local comparison = require "perigee.comparison"
local errors = require "perigee.errors"
local export = require "perigee.export"
local plausible = require "perigee.plausible"
local timing = require "perigee.timing"
local units = require "perigee.units"
local versions = require "perigee.versions"

local timed = {}

local Session = {} -- what is added to it

local LEVELLED_US = 0.5 -- no start differs by more for no reason

-- The samples of an arm as if a kernel started in its process as it does in the other's: the same
-- kernel starts up to 0.2 us later in one process than in another, as a kernel shows that does
-- nothing; a batch starts once. A difference that chance explains is none, and one that is larger
-- than that is no gift.
local function levelled(arm, base)
  if #(arm.starts or {}) < 2 or #(base.starts or {}) < 2 then return arm.samples end
  local usual = core.summarize(base.starts)
  if usual.min <= 0 then return arm.samples end -- of a clock that counts work
  local r = core.ratio(arm.starts, base.starts)
  if r.ci95[1] <= 1 and r.ci95[2] >= 1 then return arm.samples end
  local later = (r.ratio - 1) * usual.median
  later = math.max(-LEVELLED_US, math.min(later, LEVELLED_US)) / arm.batch
  local list = {}
  for i, us in ipairs(arm.samples) do list[i] = math.max(us - later, us / 2) end
  return list
end

-- How many times faster than the first implementation, when that one is right.
local function compare(arms)
  local base = arms[1]
  for _, arm in ipairs(arms) do
    if arm ~= base and arm.time and base.time then
      local r = core.ratio(comparison.slices(base.samples, base.slice_sizes),
        comparison.slices(levelled(arm, base), arm.slice_sizes))
      arm.speedup, arm.speedup_ci95 = { [base.impl.name] = r.ratio }, core.json_array(r.ci95)
    end
  end
end

-- A time that no work of this size can take is no time.
function Session:judge_time(arm)
  if arm.failure then return end
  arm.failure, arm.time.plausible = plausible.judge(arm.case, arm.time,
    ceilings.load(self.info.name), self.info)
  if arm.failure then arm.time = nil end
end

-- Work that was moved from the plan to the untimed export is no work done. Where nothing says what
-- memory moves (the simulator behind a driver's interface) the plan's own speed is taken.
function Session:judge_export(arm)
  if arm.failure or not arm.export_us then return end
  local known, speed = ceilings.load(self.info.name) or {}, self.info.memory_gbs or 0
  local own = 1e-3 * (arm.case:work().bytes or 0) / arm.time.median_us -- GB/s
  local rate = known.copy or (speed > 0 and speed or math.max(own, 1e-3))
  arm.time.with_export_us = arm.time.median_us + arm.export_us
  arm.failure, arm.slow_export = export.judge(arm.export_us, arm.time.median_us,
    arm.case:set_bytes(), rate)
  if arm.failure then arm.time = nil end
end

--- Time the arms that are right, on a device that has a clock.
-- @tparam table arms
-- @tparam[opt] table how {hopeless_us, quick}, see timing.run
function Session:time(arms, how)
  if not self:device().gpu_clock then return end
  local right = {}
  for _, arm in ipairs(arms) do
    if not arm.failure and #arm.steps > 0 then
      timing.choose(arm, self.method)
      arm.on_wrong = function(failure, arrays) self:dump_case(arm, failure, arrays) end
      right[#right + 1] = arm
    end
  end
  if #right == 0 then return end
  self.pool:settle()
  timing.run(right, { budget = self.budget, progress = self.progress,
    hopeless_us = how and how.hopeless_us, quick = how and how.quick })
  for _, arm in ipairs(right) do
    arm.seen = arm.impl.foreign and arm.unseen_why and { kind = "seen_inputs", severity = "note",
      text = "not timed on inputs that it had not seen: " .. arm.unseen_why } or nil
    self:judge_time(arm)
    self:judge_export(arm)
  end
  compare(arms)
end

local FAR = 10 -- times as fast as the expert: measured again before it is believed

local function expert_of(arms)
  for _, arm in ipairs(arms) do
    if arm.impl.name == "expert" and arm.time then return arm end
  end
  return nil
end

-- An arm that leaves the expert far behind is judged and timed again, alone in a new process; the
-- record says so, and has the second time.
function Session:measure_again(arms)
  local expert = expert_of(arms)
  for _, arm in ipairs(expert and arms or {}) do
    local before = arm.time and arm.time.median_us
    local ratio = before and expert.time.median_us / before or 0
    if ratio > FAR then
      self.pool:release(arm.runner)
      arm.runner, arm.time, arm.unseen_us, arm.unseen_why, arm.again_us = nil, nil, nil, nil, nil
      arm.failure = self:verify(arm, arm.sets)
      if not arm.failure then self:time { arm } end
      arm.far = { kind = "far_from_expert", severity = "note", text = ("%.1f times as fast as "
        .. "expert: %s, and %s when it was measured again in a new process"):format(ratio,
        units.time(before), arm.time and units.time(arm.time.median_us) or "no time") }
    end
  end
  if expert then compare(arms) end
end

-- The bytes of a set of the arm that needs most; a mistake in a plan shows when it is verified.
function Session:set_bytes(one, arms)
  local bytes = one:set_bytes()
  for _, arm in ipairs(arms) do
    local ok, own = errors.catch("invalid", one.set_bytes, one, arm.impl,
      self:own_scratch(one, arm.impl))
    if ok then bytes = math.max(bytes, own) end
  end
  return bytes
end

-- Every arm keeps its sets until the last is timed, so they share the memory. Each version has one
-- set: no other holds the answer to its inputs meanwhile, which a read outside of its own buffers
-- would find.
function Session:sets_for(one, arms)
  local info = self:device()
  if not info.gpu_clock then return 1 end
  versions.fit(one, #arms, info.memory_bytes, self:set_bytes(one, arms))
  local _, launches, distinct = timing.method_of(one.task, one.p, self.method)
  return versions.set_count(one, distinct and launches or 1)
end

--- Give the sessions of the judge what times arms.
-- @tparam table class of sessions
function timed.extend(class)
  for name, method in pairs(Session) do class[name] = method end
end

return timed
