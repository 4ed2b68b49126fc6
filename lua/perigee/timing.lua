--- Timing of several arms against each other: slices of samples, interleaved in random order, until
-- the 95% interval of every median is narrow enough or the budget ends. The inputs rotate among the
-- versions of the case, what samples wrote is judged (perigee.wrote), and the end is a sample on
-- inputs that no launch has seen (perigee.unseen). How long a slice is cannot be foreseen.
-- @module perigee.timing

local core = require "perigee.core"
local globals = require "perigee.globals"
local unseen = require "perigee.unseen"
local versions = require "perigee.versions"
local wrote = require "perigee.wrote"

local timing = {}

timing.TARGET = 0.0025 -- relative half width of the median's interval
local MIN_SAMPLES, MAX_SAMPLES = 20, 20000
-- Where samples are quick, so many at least: an interval of a few that is narrow by chance would
-- end the timing.
local STEADY, STEADY_S = 400, 0.1
local SLICE_LEAST = 8 -- samples, or by chance down to half of that, as far as they are quick
local FEWEST = 6 -- whatever the budget: order statistics of fewer give no 95% interval
local DISCARDED_MOST = 100 -- then an arm without samples has no time
local SLICE_S = 0.05 -- a slice takes about this long, so that arms alternate often enough,
local ROUNDS = 5 -- and so many rounds are made: less where the budget is less
local SLICES = 6 -- and so many slices at least, where samples are quick: the units of comparisons
local SLICE_MOST = 2048 -- samples; the runner has events for twice as many, or for their graphs
local SLOWEST = 0.97 -- of the usual clock, for a slice whose samples count
local WARMUP = 3
local FIRST = 2 -- samples of the first slice, before which nobody knows how long they take

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

--- Sets for a slice of samples: every version as often as the others, in random order, and each at
-- most once in a sample, always in the same set, so that no other set holds its answer. All samples
-- of a graph have the sets that it is made of.
-- @tparam table arm
-- @tparam integer samples
-- @tparam string method of the request
function timing.choose_sets(arm, samples, method)
  local sets, order = {}, {}
  if method == "graph" then samples = 1 end
  local seen = versions.seen_sets(arm.case, arm.batch)
  while #sets < samples * arm.batch do
    if arm.batch > 1 or #order == 0 then order = shuffled(seen) end
    for _ = 1, arm.batch do sets[#sets + 1] = table.remove(order) end
  end
  return sets
end

-- So many samples, whatever the interval.
local function least(arm)
  local quick = arm.per_sample and math.floor(STEADY_S / arm.per_sample) or 0
  return math.max(MIN_SAMPLES, math.min(STEADY, quick))
end

-- How many samples the next slice takes: what the interval still needs, within the time of a slice.
-- An interval of slices is narrow only if no slice has most of the samples.
local function slice_size(arm)
  local have = #arm.samples
  if have == 0 then return FIRST end
  local need = least(arm) - have
  if arm.summary then
    need = math.max(need, math.ceil(have * (arm.summary.relative_half / timing.TARGET) ^ 2) - have)
  end
  local fit = math.max(arm.room, math.floor(arm.slice_s / arm.per_sample))
  local share = math.max(SLICE_LEAST, math.max(least(arm), have) // SLICES)
  local most = math.min(math.max(need, SLICE_LEAST), fit, 8 * have, share, SLICE_MOST)
  return math.random((most + 1) // 2, most)
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
    or (#arm.samples >= least(arm) and arm.summary and arm.summary.relative_half < timing.TARGET)
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

-- Looked for once: a module may have thousands of lines.
local function has_variables(arm)
  if arm.variables_of ~= arm.ptx then
    arm.variables_of, arm.any_variables = arm.ptx, arm.ptx and globals.any(arm.ptx) or false
  end
  return arm.any_variables
end

-- What a launch leaves in the module's variables must not carry over: the module is loaded again
-- before the first and third slices, and variables that kernels write are put back before every
-- sample. A quick timing has only the latter, where there are any. Where there is no variable at
-- all nothing is loaded again: that may take a driver seconds.
local function reload(arm, quick)
  if not has_variables(arm) then -- a library's own business, or nobody's
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

-- The samples of slices that were taken at the usual clock; the number of others; that clock; how
-- many samples each of those slices has.
local function at_usual_clock(slices)
  local clocks = {}
  for _, one in ipairs(slices) do clocks[#clocks + 1] = one.clock end
  local usual = #clocks > 0 and core.summarize(clocks).median or nil
  local accepted, slow, sizes = {}, 0, {}
  for _, one in ipairs(slices) do
    if one.clock and one.clock < SLOWEST * usual then
      slow = slow + #one.us
    elseif #one.us > 0 then
      table.move(one.us, 1, #one.us, #accepted + 1, accepted)
      sizes[#sizes + 1] = #one.us
    end
  end
  return accepted, slow, usual, sizes
end

-- The lower of the clocks before and after a slice.
local function clock_of(reply)
  local mhz = reply.clock_mhz
  return mhz and math.min(mhz[1], mhz[2]) > 0 and math.min(mhz[1], mhz[2]) or nil
end

--- Whether the clock around a request was below what is usual for the arm.
function timing.is_slow(arm, reply)
  local clock = clock_of(reply)
  return clock ~= nil and arm.clock_mhz ~= nil and clock < SLOWEST * arm.clock_mhz
end

local function keep(arm, reply)
  arm.health = reply.health
  arm.late = arm.late + #(reply.late or {})
  arm.inverted = arm.inverted + (reply.inverted or 0)
  table.move(reply.starts or {}, 1, #(reply.starts or {}), #arm.starts + 1, arm.starts)
  arm.host_bound = arm.host_bound + (reply.host_bound or 0)
  local reasons = math.tointeger(reply.health.throttle_reasons) or 0
  if reasons > 0 and reasons & THROTTLED ~= 0 then
    arm.throttled = arm.throttled + #reply.us
  else
    arm.kept[#arm.kept + 1] = { us = reply.us, clock = clock_of(reply) }
  end
  local slow
  arm.samples, slow, arm.clock_mhz, arm.slice_sizes = at_usual_clock(arm.kept)
  arm.discarded = arm.throttled + slow + arm.late + arm.inverted
  arm.summary = #arm.samples >= 2 and core.summarize(arm.samples) or nil
end

-- Whether its kernels can say what is to stay in L2, in whatever way: what would survive a flush.
local function pins(arm)
  if arm.pins == nil then
    local ptx = arm.ptx or ""
    arm.pins = ptx:find("L2::", 1, true) ~= nil or ptx:find("createpolicy", 1, true) ~= nil
      or ptx:find("applypriority", 1, true) ~= nil
  end
  return arm.pins
end

--- Ask for samples. Red zones and inputs are compared or not: that takes longer than a slice where
-- they are large.
-- @tparam table arm
-- @tparam table asked {method, sets, samples, warmup, guards, move}; gets what else belongs to a
--   request
-- @treturn table the reply, or nil and a failure
function timing.ask(arm, asked)
  asked.steps, asked.batch, asked.poison = arm.steps, arm.batch, timing.poison()
  asked.unpin = pins(arm)
  wrote.ask(arm, asked, asked.samples)
  return arm.runner:time(asked)
end

-- The request and its reply, or nil and a failure.
local function take(arm, samples, warmup, guards, move)
  local asked = { method = arm.method, sets = timing.choose_sets(arm, samples, arm.method),
    samples = samples, warmup = warmup, guards = guards, move = move }
  local reply, failure = timing.ask(arm, asked)
  if not reply then return nil, failure end
  return asked, reply
end

-- Damage stays, so it is looked for ever more rarely, and once at the end. An export has guards of
-- its own, before which they must be compared.
local function looks_for_damage(arm)
  local number = arm.slices + 1
  return arm.export ~= nil or (number > 1 and number & (number - 1) == 0)
end

-- More samples, which do not count, after which damage of all before shows.
local function close(arm, quick)
  if not quick then
    local failure = wrote.more(arm, function(samples) return take(arm, samples, 1, false) end)
    if failure then return failure end
  end
  if not quick and not arm.unseen_us then -- an earlier pass has done that
    local failure = unseen.judge(arm, timing)
    if failure or arm.unseen_us then return failure end -- whose samples had guards
  end
  local asked, failure = take(arm, 1, 0, true)
  return not asked and failure or nil
end

--- One slice of one arm. Where its buffers lie makes a kernel faster or slower where the cache does
-- not hold them, by 0.2% of 20 us or, with many atomics, by 5%: each slice has them elsewhere.
-- @treturn table|nil a failure
local function slice(arm, quick)
  local failure = reload(arm, quick)
  if failure then return failure end
  local moves = arm.method == "cold" and not quick
  local samples = slice_size(arm)
  local guards, started = looks_for_damage(arm), core.now()
  local asked, reply = take(arm, samples, arm.slices == 0 and WARMUP or 1, guards,
    moves and arm.placed == true)
  if not asked then return reply end
  -- The least: a slice may move buffers or look for damage, and samples wait for neither. Where it
  -- was that, and not its samples, that took its time, the next may have more of them.
  local took = core.now() - started
  arm.per_sample = math.max(1e-6, math.min(arm.per_sample or math.huge, took / samples))
  arm.room = took < arm.slice_s and 2 * samples or 1
  arm.slices, arm.placed = arm.slices + 1, true
  keep(arm, reply)
  return wrote.judge(arm, asked, reply, used(asked.sets))
end

--- A 4-byte pattern that is no sensible value: a NaN as f32, huge as f64 and as an integer.
function timing.poison()
  return 0x7fa00000 | math.random(0, 0x1fffff)
end

local LAUNCHES = { cold = 1, hot = 1, batch = 8, graph = 16 } -- of a sample

--- How a task is timed.
-- @tparam[opt] string override "cold", "hot", "batch" or "graph" instead of the task's own method
-- @treturn string method
-- @treturn integer launches in a sample
-- @treturn boolean whether there are so many whatever the number of versions, each on buffers of
--   own: the task wants what is published elsewhere
function timing.method_of(task, p, override)
  local how = task:call("time", p) or {}
  local method = override or how.method or "cold"
  if not LAUNCHES[method] then
    core.error("invalid", ("task %s: unknown timing method '%s'"):format(task.name,
      tostring(method)),
      "methods: cold, hot, batch, graph", task.where)
  end
  local launches = LAUNCHES[method]
  return method, launches > 1 and how.batch or launches, how.distinct == true
end

--- How an arm is timed: its `method` and `batch`. What a launch leaves in module variables, or in
-- outputs that others find outside of their buffers, stays until the end of a sample: so each
-- version of the inputs comes at most once in it, and an answer that is kept or found is of no use
-- (but where the task asks for `distinct` launches).
-- @tparam table arm {case}
-- @tparam[opt] string override as of method_of
function timing.choose(arm, override)
  local method, launches, distinct = timing.method_of(arm.case.task, arm.case.p, override)
  arm.method, arm.batch = method, launches
  if not distinct then arm.batch = math.min(launches, #versions.of(arm.case)) end
  if launches > 1 and arm.batch == 1 then arm.method = "hot" end
end

--- The median of a list of times, nil of fewer than two.
function timing.median(list)
  return #list > 1 and core.summarize(list).median or nil
end

local function summary_of(arm)
  local s = arm.summary or (#arm.samples == 1 and core.summarize(arm.samples))
  if not s then return nil end
  return {
    method = arm.method, batch = arm.batch > 1 and arm.batch or nil, median_us = s.median,
    ci95_us = core.json_array { s.ci95[1], s.ci95[2] }, p20_us = s.p20, p80_us = s.p80,
    min_us = s.min, samples = s.samples, slices = core.json_array(arm.slice_sizes),
    discarded = arm.discarded, late = arm.late, host_bound = arm.host_bound,
    inverted = arm.inverted > 0 and arm.inverted or nil,
    clock_mhz = arm.clock_mhz, variables_reset = #arm.variables, relative_half = s.relative_half,
    stopped = arm.stopped, inputs = #versions.of(arm.case), outputs_checked = arm.outputs_checked,
    outputs = wrote.how(arm), unseen_us = arm.unseen_us, unseen = arm.unseen_why,
    again_us = arm.again_us, start_us = timing.median(arm.starts),
  }
end

--- Time arms {runner, case, steps, ptx, impl, method, batch, digests, kept_set, fresh_set, on_wrong
-- = function(failure, arrays) or nil, called with what a wrong sample wrote}.
-- Each gets `time` (see the record) or `failure`.
-- `digests` has, by the number of a version of the case, that of what was judged right; `kept_set`
-- and `fresh_set` are the sets for a sample that is kept and for unseen inputs, if any.
-- @tparam table arms
-- @tparam table how {budget = seconds for each arm, progress = function(text), hopeless_us = nil or
--   a time above which the fastest sample of a slice ends the arm's timing, quick = true: the
--   module stays loaded, for a search whose end is a timing with all that is usual}
function timing.run(arms, how)
  for _, arm in ipairs(arms) do
    arm.samples, arm.kept, arm.slices, arm.outputs_checked, arm.starts = {}, {}, 0, 0, {}
    arm.slice_sizes = {}
    arm.discarded, arm.throttled, arm.late, arm.host_bound, arm.inverted = 0, 0, 0, 0, 0
    arm.slice_s = math.min(SLICE_S, how.budget / ROUNDS)
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
    -- The module is loaded again within timing.
    if round >= ROUNDS and not few and (not pending or core.now() > deadline) then break end
  end
  table.move(active, 1, #active, #finished + 1, finished)
  for _, arm in ipairs(finished) do
    arm.failure = close(arm, how.quick)
    arm.time = not arm.failure and summary_of(arm) or nil
    if not arm.time and not arm.failure then
      arm.failure = { verdict = "environment", findings = {},
        reason = ("no sample was accepted: of %d, %d were taken while the GPU was throttled, "
        .. "%d were late, %d graphs took no longer for more launches"):format(arm.discarded,
        arm.throttled, arm.late, arm.inverted) }
    end
  end
end

return timing
