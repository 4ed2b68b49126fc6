--- Timing of several arms against each other: slices of samples, interleaved in random order, until
-- the 95% interval of every median is narrow enough or the budget ends. The inputs rotate among the
-- versions of the case, and after each slice what its last samples wrote is read back and checked,
-- set by set in random order, so that a sample that computed nothing, or wrote what an earlier one
-- had to, is not accepted. How long a slice is cannot be foreseen.
-- @module perigee.timing

local core = require "perigee.core"
local export = require "perigee.export"
local globals = require "perigee.globals"
local validate = require "perigee.validate"
local versions = require "perigee.versions"

local timing = {}

timing.TARGET = 0.0025 -- relative half width of the median's interval
local MIN_SAMPLES, MAX_SAMPLES = 20, 20000
local FEWEST = 6 -- whatever the budget: order statistics of fewer give no 95% interval
local DISCARDED_MOST = 100 -- then an arm without samples has no time
local SLICE_S = 0.05 -- a slice takes about this long, so that arms alternate often enough
local SLICE_MOST = 2048 -- samples; the runner has events for twice as many, or for their graphs
local SLOWEST = 0.97 -- of the usual clock, for a slice whose samples count
local WARMUP = 3
local FIRST = 8 -- samples of the first slice
local CHECK_S, LAST_CHECK_S = 0.01, 0.2 -- checking the sets goes on so long, but one is always

-- NVML's reasons that make a sample worthless: hardware slowdown, thermal (software, hardware),
-- power brake.
local THROTTLED = 0x8 | 0x20 | 0x40 | 0x80

local function shuffled(list)
  local copy = table.move(list, 1, #list, 1, {})
  for i = #copy, 2, -1 do
    local j = math.random(i)
    copy[i], copy[j] = copy[j], copy[i]
  end
  return copy
end

-- Sets for samples that have each version at most once, always in the same set, so that no other
-- holds its answer.
local function choose_versions(arm, samples)
  local sets, numbers = {}, {}
  for number = 1, #versions.of(arm.case) do numbers[number] = number end
  for _ = 1, samples do
    local order = shuffled(numbers)
    for j = 1, arm.batch do sets[#sets + 1] = order[j] - 1 end
  end
  return sets
end

-- Sets for a slice of `samples` samples: every set as often as the others, in random order. All
-- samples of a graph have the sets that it is made of.
local function choose_sets(arm, samples)
  local sets = {}
  if arm.method == "graph" then samples = 1 end
  if arm.apart then return choose_versions(arm, samples) end
  local order = {}
  for k = 0, arm.sets - 1 do order[k + 1] = k end
  while #sets < samples * arm.batch do
    for _, k in ipairs(shuffled(order)) do
      sets[#sets + 1] = k
      if #sets == samples * arm.batch then break end
    end
  end
  return sets
end

-- How many samples the next slice takes: what the interval still needs, within the time of a slice.
local function slice_size(arm)
  local have = #arm.samples
  if have == 0 then return math.max(FIRST, arm.sets // arm.batch) end
  local need = MIN_SAMPLES - have
  if arm.summary then
    need = math.max(need, math.ceil(have * (arm.summary.relative_half / timing.TARGET) ^ 2) - have)
  end
  local fit = math.max(1, math.floor(SLICE_S / arm.per_sample))
  fit = math.random((fit + 1) // 2, fit)
  return math.max(1, math.min(need, fit, 8 * have, SLICE_MOST))
end

-- Slower than what a search has already found, beyond what more samples could change.
local function hopeless(arm, limit_us)
  return limit_us and arm.summary and arm.summary.min > limit_us or false
end

-- Whatever the budget, unless sample after sample is discarded.
local function too_few(arm)
  return #arm.samples < FEWEST and arm.discarded < DISCARDED_MOST
end

local function enough(arm)
  return #arm.samples >= MAX_SAMPLES
    or (#arm.samples >= MIN_SAMPLES and arm.summary and arm.summary.relative_half < timing.TARGET)
end

-- Whether what a timed sample wrote is right: the bits of the checked run, else the validators
-- again.
local function check_set(arm, set, poison)
  local arrays, failure = export.fetch(arm, set, poison)
  if not arrays then return failure end
  local one, number = versions.of_set(arm.case, set)
  local known = arm.known[number]
  local same = known ~= nil
  for name, array in pairs(known or {}) do same = same and arrays[name]:equal_bits(array) end
  if same then return nil end
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

-- The sets that a slice used, each once, in random order.
local function used(sets)
  local distinct, seen = {}, {}
  for _, set in ipairs(sets) do
    if not seen[set] then distinct[#distinct + 1] = set end
    seen[set] = true
  end
  return shuffled(distinct)
end

-- Check sets of the last slice that are not checked yet until `seconds` are over, at least one.
local function check_sets(arm, seconds)
  local started = core.now()
  while #arm.unchecked > 0 do
    local failure = check_set(arm, table.remove(arm.unchecked), arm.poison)
    if failure then return failure end
    arm.outputs_checked = arm.outputs_checked + 1
    if core.now() - started > seconds then return nil end
  end
end

-- What a launch leaves in the module's variables must not carry over: the module is loaded again
-- before the first and third slices, and variables that kernels write are put back before every
-- sample. A quick timing has only the latter, where there are any.
local function reload(arm, quick)
  if not arm.ptx then -- a library's own business
    arm.variables = {}
    return nil
  end
  local names = arm.slices == 0 and globals.names(arm) or arm.variables or {}
  arm.variables = names
  if arm.slices ~= 0 and (arm.slices ~= 2 or quick) then return nil end
  if quick and #names == 0 then return nil end
  local unkept = globals.unkept(names, {})
  if unkept then return unkept end
  local kernels, other = arm.runner:load(globals.exposed(arm.ptx, names), arm.impl.shown, names)
  if not kernels then return other end
  return globals.unkept(names, other or {})
end

-- The samples of slices that were taken at the usual clock; the number of others.
local function at_usual_clock(slices)
  local clocks = {}
  for _, one in ipairs(slices) do clocks[#clocks + 1] = one.clock end
  local usual = #clocks > 0 and core.summarize(clocks).median or nil
  local accepted, slow = {}, 0
  for _, one in ipairs(slices) do
    if one.clock and one.clock < SLOWEST * usual then
      slow = slow + #one.us
    else
      table.move(one.us, 1, #one.us, #accepted + 1, accepted)
    end
  end
  return accepted, slow, usual
end

-- The lower of the clocks before and after a slice.
local function clock_of(reply)
  local mhz = reply.clock_mhz
  return mhz and math.min(mhz[1], mhz[2]) > 0 and math.min(mhz[1], mhz[2]) or nil
end

local function keep(arm, reply)
  arm.health = reply.health
  arm.late = arm.late + (reply.late or 0)
  arm.host_bound = arm.host_bound + (reply.host_bound or 0)
  local reasons = math.tointeger(reply.health.throttle_reasons) or 0
  if reasons > 0 and reasons & THROTTLED ~= 0 then
    arm.throttled = arm.throttled + #reply.us
  else
    arm.kept[#arm.kept + 1] = { us = reply.us, clock = clock_of(reply) }
  end
  local slow
  arm.samples, slow, arm.clock_mhz = at_usual_clock(arm.kept)
  arm.discarded = arm.throttled + slow + arm.late
  arm.summary = #arm.samples >= 2 and core.summarize(arm.samples) or nil
end

-- Whether what a launch leaves in L2 may survive a flush.
local function pins(arm)
  return arm.audit ~= nil and arm.audit.facts.cache_policy ~= nil
end

-- Ask for `samples`, with red zones and inputs compared or not: that takes longer than a slice
-- where inputs are large.
local function take(arm, samples, warmup, guards)
  local sets = choose_sets(arm, samples)
  arm.unchecked, arm.poison = used(sets), timing.poison()
  return arm.runner:time {
    method = arm.method, sets = sets, steps = arm.steps, poison = arm.poison, batch = arm.batch,
    samples = samples, unpin = pins(arm), warmup = warmup, guards = guards,
  }
end

-- Damage stays, so it is looked for ever more rarely, and once at the end. An export has guards of
-- its own, before which they must be compared.
local function looks_for_damage(arm)
  local number = arm.slices + 1
  return arm.export ~= nil or (number > 1 and number & (number - 1) == 0)
end

-- One more sample, which does not count, after which damage of all before shows.
local function close(arm)
  local reply, failure = take(arm, 1, 0, true)
  return not reply and failure or nil
end

--- One slice of one arm. @treturn table|nil a failure
local function slice(arm, quick)
  local failure = reload(arm, quick)
  if failure then return failure end
  local samples = slice_size(arm)
  local guards, started = looks_for_damage(arm), core.now()
  local reply
  reply, failure = take(arm, samples, arm.slices == 0 and WARMUP or 1, guards)
  if not reply then return failure end
  if not guards or not arm.per_sample then
    arm.per_sample = math.max(1e-6, (core.now() - started) / samples)
  end
  arm.slices = arm.slices + 1
  keep(arm, reply)
  return check_sets(arm, CHECK_S)
end

--- A 4-byte pattern that is no sensible value: a NaN as f32, huge as f64 and as an integer.
function timing.poison()
  return 0x7fa00000 | math.random(0, 0x1fffff)
end

local LAUNCHES = { cold = 1, hot = 1, batch = 8, graph = 16 } -- of a sample

--- How a task is timed.
-- @tparam[opt] string override "cold", "hot", "batch" or "graph" instead of the task's own method
-- @treturn string,integer method, and launches in a sample
function timing.method_of(task, p, override)
  local how = task:call("time", p) or {}
  local method = override or how.method or "cold"
  if not LAUNCHES[method] then
    core.error("invalid", ("task %s: unknown timing method '%s'"):format(task.name,
      tostring(method)),
      "methods: cold, hot, batch, graph", task.where)
  end
  local launches = LAUNCHES[method]
  return method, launches > 1 and how.batch or launches
end

--- How an arm is timed: its `method` and `batch`. What a launch leaves in module variables stays
-- there until the end of a sample, and what it wrote is there for reads out of bounds. So an arm
-- that writes variables, or that sim:check could not see, gets each version of the inputs once in a
-- sample: an answer that is kept or found is of no use.
-- @tparam table arm {case, audit}
-- @tparam[opt] string override as of method_of
function timing.choose(arm, override)
  arm.method, arm.batch = timing.method_of(arm.case.task, arm.case.p, override)
  arm.apart = arm.batch > 1 and (#globals.names(arm) > 0 or arm.unseen ~= nil)
  if not arm.apart then return end
  arm.batch = math.min(arm.batch, #versions.of(arm.case))
  if arm.batch == 1 then arm.method = "hot" end
end

-- Copies of state and outputs: enough that samples differ, within a bound on device memory.
local SETS, SETS_BYTES = 16, 1 << 30

--- How many sets an evaluation needs.
-- @tparam integer bytes of one set
-- @tparam integer batch launches in a sample, each on a set of its own
-- @tparam[opt] integer room bytes of device memory that one arm may take for them
function timing.sets_for(bytes, batch, room)
  local fit = math.min(SETS_BYTES, room or SETS_BYTES) // math.max(1, bytes)
  local sets = math.max(2, math.min(SETS, fit))
  return (sets + batch - 1) // batch * batch
end

local function summary_of(arm)
  local s = arm.summary or (#arm.samples == 1 and core.summarize(arm.samples))
  if not s then return nil end
  return {
    method = arm.method, batch = arm.batch > 1 and arm.batch or nil, median_us = s.median,
    ci95_us = core.json_array { s.ci95[1], s.ci95[2] }, p20_us = s.p20, p80_us = s.p80,
    min_us = s.min,
    samples = s.samples, discarded = arm.discarded, late = arm.late, host_bound = arm.host_bound,
    clock_mhz = arm.clock_mhz, variables_reset = #arm.variables, relative_half = s.relative_half,
    stopped = arm.stopped, inputs = #versions.of(arm.case), outputs_checked = arm.outputs_checked,
  }
end

--- Time arms {runner, case, steps, ptx, impl, method, batch, sets, known, on_wrong =
-- function(failure, arrays) or nil, called with what a wrong sample wrote}.
-- Each gets `time` (see the record) or `failure`.
-- `known` has, by the number of a version of the case, the bits that were judged right.
-- @tparam table arms
-- @tparam table how {budget = seconds for each arm, progress = function(text), hopeless_us = nil or
--   a time above which the fastest sample of a slice ends the arm's timing, quick = true: the
--   module stays loaded, for a search whose end is a timing with all that is usual}
function timing.run(arms, how)
  for _, arm in ipairs(arms) do
    arm.samples, arm.kept, arm.slices, arm.outputs_checked = {}, {}, 0, 0
    arm.discarded, arm.throttled, arm.late, arm.host_bound = 0, 0, 0, 0
  end
  local deadline = core.now() + how.budget * #arms
  local active, finished = arms, {}
  local round = 0
  while #active > 0 do
    round = round + 1
    local still, pending, few = {}, false, false
    for _, arm in ipairs(shuffled(active)) do
      how.progress(("timing %s, %d samples"):format(arm.impl.name, #arm.samples))
      arm.failure = slice(arm, how.quick)
      arm.stopped = not arm.failure and hopeless(arm, how.hopeless_us) or nil
      if arm.stopped then
        finished[#finished + 1] = arm
      elseif not arm.failure then
        still[#still + 1] = arm
        pending = pending or not enough(arm)
        few = few or too_few(arm)
      end
    end
    active = still
    -- At least three rounds: the module is loaded again within timing.
    if round >= 3 and not few and (not pending or core.now() > deadline) then break end
  end
  table.move(active, 1, #active, #finished + 1, finished)
  for _, arm in ipairs(finished) do
    arm.failure = check_sets(arm, how.quick and 0 or LAST_CHECK_S) or close(arm)
    arm.time = not arm.failure and summary_of(arm) or nil
    if not arm.time and not arm.failure then
      arm.failure = { verdict = "environment", findings = {},
        reason = ("no sample was accepted: of %d, %d were taken while the GPU was throttled, "
        .. "%d were late"):format(arm.discarded, arm.throttled, arm.late) }
    end
  end
end

return timing
