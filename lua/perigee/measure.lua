--- Timing a Lua function's launches in this process with the device's events: for scripts that
-- trust their own kernels. Verdicts and comparisons are made by the judge (perigee.judge), in other
-- processes.
-- @module perigee.measure

local core = require "perigee.core"

local TARGET = 0.0025
local WARMUP = 3

local function flush_buffer(dev, method)
  if method ~= "cold" then return nil end
  local info = dev:info()
  if not info.gpu_clock then return nil end -- the simulator has no cache that a time could show
  return dev:alloc(math.max(2 * info.l2_bytes + (1 << 20), 64 << 20), "cache flush")
end

local function sample(dev, body, flush, round, before)
  if before then before() end
  if flush then flush:fill(round & 0xFF) end
  local start, stop = dev:event(), dev:event()
  start:record()
  body()
  stop:record()
  return start:elapsed(stop)
end

local function done(samples, how, started)
  local count = #samples
  if count >= how.max then return true end
  if count < how.min then return false end
  if core.now() - started > how.budget then return true end
  return count % 8 == 0 and core.summarize(samples).relative_half < TARGET
end

--- Time what `body` launches.
-- @param dev an open device
-- @tparam function body launches kernels on the default stream; must not synchronise
-- @tparam[opt] table options {method = "cold" (default: L2 flushed before each sample) or "hot",
--   min = 20 samples, max = 2000, budget = 1 s, warmup = 3, before = function that is called before
--   each sample, untimed: it may enqueue what puts buffers back}
-- @treturn table {median, ci95 = {low, high}, p20, p80, min, max, mean, stddev, relative_half,
--   samples, unit = "us", method, clock = "gpu" or "simulator"}; on the simulator the times say
--   nothing about a GPU
local function measure(dev, body, options)
  if type(dev) ~= "userdata" and type(dev) ~= "table" or type(body) ~= "function" then
    core.error("invalid", ("measure: expected a device and a function, got %s and %s"):format(
      type(dev), type(body)), "pg.measure(dev, function() kernel:launch { ... } end)")
  end
  options = options or {}
  local method = options.method or "cold"
  if method ~= "cold" and method ~= "hot" then
    core.error("invalid", ("measure: unknown method '%s'"):format(tostring(method)),
      "methods: cold, hot")
  end
  local gpu = dev:info().gpu_clock
  local how = {
    min = options.min or (gpu and 20 or 3), max = options.max or (gpu and 2000 or 20),
    budget = options.budget or 1.0,
  }
  local flush = flush_buffer(dev, method)
  for round = 1, options.warmup or (gpu and WARMUP or 1) do sample(dev, body, flush, round,
    options.before) end
  local samples, started = {}, core.now()
  while not done(samples, how, started) do
    samples[#samples + 1] = sample(dev, body, flush, #samples, options.before)
  end
  local result = core.summarize(samples)
  result.unit, result.method, result.clock = "us", method, gpu and "gpu" or "simulator"
  return result
end

return measure
