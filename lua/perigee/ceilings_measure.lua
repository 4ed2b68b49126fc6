--- Measures what a GPU can do at most with the kernels of kernels/doctor, through the PTX that is
-- committed beside them: every machine runs the same.
-- @module perigee.ceilings_measure

local core = require "perigee.core"
local ceilings = require "perigee.ceilings"
local errors = require "perigee.errors"
local files = require "perigee.files"
local measure = require "perigee.measure"

local BLOCK, BLOCKS = 256, 8 -- threads of a block, blocks of a multiprocessor: it is full
local LAUNCHES = 500
local SAMPLE_US = 1500 -- what a sample takes at least, so that its ends do not count
local MOST_ROUNDS = 1 << 20
local HOW = { method = "hot", min = 5, max = 200, budget = 0.3, warmup = 2 }

local Bench = {}
Bench.__index = Bench

-- The largest power of two that is not above n.
local function power_of_two(n)
  local p = 1
  while p * 2 <= n do p = p * 2 end
  return p
end

function Bench:time(body)
  return measure(self.dev, body, HOW).median
end

function Bench:kernel(name, grid, args)
  local module = name:find "^wgmma" and self.groups or self.module
  return module:kernel(name):bind { grid = grid, block = BLOCK, args = args }
end

-- Time of a launch whose `rounds` make it long enough, and these rounds.
-- @tparam function args rounds -> the arguments
function Bench:long(name, args)
  local rounds = 1
  while true do
    local body = self:kernel(name, self.grid, args(rounds))
    body() -- the first one loads what is still to be loaded
    local start, stop = self.dev:event(), self.dev:event()
    start:record()
    body()
    stop:record()
    local us = start:elapsed(stop)
    if us >= SAMPLE_US or rounds >= MOST_ROUNDS then return self:time(body), rounds end
    local factor = us > 0 and math.ceil(1.1 * SAMPLE_US / us) or 8
    rounds = math.min(MOST_ROUNDS, rounds * math.max(2, math.min(8, factor)))
  end
end

-- Per second in units of 10^9, of what each thread does `each` of in a round.
function Bench:rate(name, each, args)
  local us, rounds = self:long(name, args)
  return self.threads * each * rounds / us * 1e-3
end

-- ---- the quantities ----

-- The fastest of two kernels and the driver's own copy: a ceiling is what any of them reaches.
local function copy(bench)
  local bytes = bench.stream_bytes
  local from <const>, to <const> = bench:buffer(bytes), bench:buffer(bytes)
  local n = bytes // 16
  local best = bench:time(function() to:copy_from(from) end)
  for name, unroll in pairs { copy1 = 1, copy4 = 4 } do
    local grid = (n + BLOCK * unroll - 1) // (BLOCK * unroll)
    best = math.min(best, bench:time(bench:kernel(name, grid, { from, to, n })))
  end
  from:free()
  to:free()
  return 2 * bytes / best * 1e-3
end

local function sweep(bench, bytes)
  local from <const> = bench:buffer(bytes)
  local value = bench:rate("sweep", 8 * 16, function(rounds)
    return { from, bytes // 16 - 1, rounds, bench.out }
  end)
  from:free()
  return value
end

local function random(bench, name, bytes)
  local buffer <const> = bench:buffer(bytes)
  local value = bench:rate(name, 8, function(rounds)
    local args = { buffer, bytes // 8 - 1, rounds }
    if name == "random_reads" then args[4] = bench.out end
    return args
  end)
  buffer:free()
  return value
end

local function multiply_add(name)
  return function(bench)
    return bench:rate(name, 2 * 128, function(rounds)
      return { 0.999, 0.001, rounds, bench.out }
    end)
  end
end

-- Two numbers below 1 whose bits are mixed.
local HALVES = { f16 = 0x35553666, bf16 = 0x3eab3ecd }

-- By warps, and where the GPU has them by groups of four, which are faster.
local function tensor(name)
  return function(bench)
    local function args(rounds) return { HALVES[name], rounds, bench.out } end
    local warps = bench:rate("mma_" .. name, 16 * 4096 / 32, args)
    if not bench.groups then return warps end
    return math.max(warps, bench:rate("wgmma_" .. name, 16 * 524288 / 128, args))
  end
end

local function launches(count)
  return function(bench)
    local empty = bench.module:kernel("empty"):bind { grid = 1, block = 32, args = {} }
    return bench:time(function() for _ = 1, count do empty() end end) / count
  end
end

local EMPTY = [[
.version 7.0
.target sm_70
.address_size 64
.visible .entry empty(.param .u64 s) { ret; }
]]

-- By the judge, as any plan is timed by that method: launches on buffers of their own, of which no
-- seed makes versions. Nil where the driver has no graphs.
local function in_a_graph(bench)
  local task = require("perigee.task").new {
    name = "doctor/empty", kernel = "void empty(unsigned* s)",
    state = function() return { s = { dtype = "u32", n = 1 } } end,
    time = { method = "graph", batch = 16, distinct = true },
    launch = { grid = 1, block = 32 }, reference = function() return {} end,
    validate = function(ctx) return ctx:pass("s", "nothing") end,
    impls = { { name = "empty", "ptx", source = EMPTY } },
  }
  local time = require("perigee.evaluate").run(task, { device = bench.spec })[1].time
  return time and time.method == "graph" and time.median_us or nil
end

local MEASURES = {
  copy = copy,
  read = function(bench) return sweep(bench, power_of_two(2 * bench.stream_bytes)) end,
  l2 = function(bench) return sweep(bench, bench.l2_bytes) end,
  f32 = multiply_add "fma_f32", f64 = multiply_add "fma_f64",
  f16 = tensor "f16", bf16 = tensor "bf16",
  random_reads = function(bench) return random(bench, "random_reads", bench.table_bytes) end,
  random_atomics = function(bench) return random(bench, "random_atomics", bench.table_bytes) end,
  l2_atomics = function(bench) return random(bench, "random_atomics", bench.l2_bytes) end,
  launch_us = launches(LAUNCHES), floor_us = launches(1),
  graph_us = in_a_graph,
}

--- A buffer of zeros: memory that was never written may be read faster than any other.
function Bench:buffer(bytes)
  return self.dev:alloc(bytes, "ceilings"):fill(0)
end

local function loaded(dev, name)
  return dev:load(files.read(files.join(core.home or ".", "kernels/doctor/" .. name)), name)
end

-- What only GPUs of compute capability 9.0 have; nil where a driver does not know it, as that of a
-- simulator that says to be one.
local function groups_of(dev, info)
  if info.cc_major ~= 9 or info.cc_minor ~= 0 then return nil end
  local ok, module = errors.catch("invalid", loaded, dev, "wgmma.ptx")
  if ok then return module end
  if module.code ~= "unsupported" and module.code ~= "syntax" then errors.again(module) end
  return nil
end

local function bench_of(dev, info)
  local self = setmetatable({ dev = dev, module = loaded(dev, "ceilings.ptx"),
    groups = groups_of(dev, info) }, Bench)
  self.spec = info.spec
  self.grid = BLOCKS * info.multiprocessors
  self.threads = self.grid * BLOCK
  self.out = self:buffer(256)
  -- Streams are so much larger than L2 that what stays in it counts little; what is to stay in it
  -- fills a quarter, for it has two halves.
  self.stream_bytes = math.min(info.memory_bytes // 8, math.max(32 * info.l2_bytes, 16 << 20))
    // 4096 * 4096
  self.l2_bytes = power_of_two(math.max(info.l2_bytes // 4, 1 << 16))
  self.table_bytes = power_of_two(math.min(4 << 30, info.memory_bytes // 3))
  return self
end

--- Measure every quantity of ceilings.QUANTITIES.
-- @param dev an open device
-- @tparam[opt] function progress called with what is being measured
-- @treturn table what ceilings.save takes
-- @raise "unsupported" for a simulator, which has no ceilings; "out_of_memory" on a GPU in use
return function(dev, progress)
  local info = dev:info()
  if not info.gpu_clock then
    core.error("unsupported",
      info.spec .. " has no ceilings: what a simulator takes says nothing about a GPU",
      "measure on a GPU: perigee doctor --measure --device cuda:0")
  end
  local bench = bench_of(dev, info)
  local found = { gpu = info.name, driver = info.driver, at = core.utc(), perigee = core.version,
    table_bytes = bench.table_bytes, stream_bytes = bench.stream_bytes }
  for _, quantity in ipairs(ceilings.QUANTITIES) do
    local key, what = quantity[1], quantity[2]
    if progress then progress("measuring: " .. what) end
    found[key] = MEASURES[key](bench)
    -- The clock while it works, not before or after.
    if key == "f32" then found.clock = dev:health().sm_clock_mhz end
  end
  return found
end
