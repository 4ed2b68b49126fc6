--- Whether the judge's times are true: against an event loop written by hand in C (event_loop.c),
-- against ncu, against themselves. One kernel of known work, at four lengths that the clock of
-- the multiprocessors sets and one that memory sets. Ends with "N passed, N failed".
--
--     perigee tests/gpu/timing.lua EVENT_LOOP        (NCU=path of ncu, or none)

local pg = require "perigee"
local core = require "perigee.core"

local device = os.getenv "PERIGEE_TEST_DEVICE" or "cuda:0"
local loop = arg[1] or "build/tests/gpu/event_loop"
-- On a GPU that is the simulator (tests/shim) only that all of this runs is tested.
local is_real = not core.device(device):info().name:find "simulated"
local N, BLOCK = is_real and 33792 or 256, 128 -- two blocks for each of 132 multiprocessors
local WIDE = is_real and 1 << 24 or 1 << 10 -- elements of the kernel that memory limits
local CALIBRATE = is_real and 100000 or 50
local WITHIN, WITHIN_US = is_real and 0.02 or 1e9, 0.3
local EMPTY_US = 0.5 -- starts alone may differ by so much from process to process
local TRIALS = is_real and 20 or 1
local IS_LONG = os.getenv "PERIGEE_TIMING" == "long" -- with ncu, 200 us and 2 ms
local A, C = 1664525, 1013904223
local MASK = 0xffffffff

local SOURCE = [[
extern "C" __global__ void spin(const unsigned* x, unsigned* y, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = x[i];
#pragma unroll 1
  for (int k = 0; k < rounds; k++) v = v * 1664525u + 1013904223u;
  y[i] = v;
}
]]

io.stdout:setvbuf "line"
local passed, failed = 0, 0

local function check(what, ok, shown)
  if ok then passed = passed + 1 else failed = failed + 1 end
  print(("%s %s%s"):format(ok and "ok" or "not ok", what, shown and ": " .. tostring(shown) or ""))
end

-- ---- the task ----

-- v -> A v + C, `rounds` times over, is again v -> a v + c.
local function power(rounds)
  local a, c, square_a, square_c = 1, 0, A, C
  while rounds > 0 do
    if rounds & 1 == 1 then a, c = square_a * a & MASK, (square_a * c + square_c) & MASK end
    square_a, square_c = square_a * square_a & MASK, (square_a * square_c + square_c) & MASK
    rounds = rounds >> 1
  end
  return a, c
end

local function reference(p, io)
  local a, c = power(p.rounds)
  local y = io.x:copy()
  for i = 0, p.n - 1 do y[i] = (a * y[i] + c) & MASK end
  return { y = y }
end

local function spin_task(ptx, rounds, fields)
  local t = {
    name = "truth/spin", params = { n = { default = N }, rounds = { default = rounds } },
    kernel = "void spin(const u32* x, u32* y, int n, int rounds)",
    inputs = function(p, rng) return { x = rng:array("u32", p.n, { dist = "bits" }) } end,
    outputs = function(p) return { y = pg.spec("u32", p.n) } end,
    launch = function(p) return { grid = (p.n + BLOCK - 1) // BLOCK, block = BLOCK } end,
    reference = reference, validate = "exact",
    impls = { { name = "a", "ptx", ptx }, { name = "b", "ptx", ptx } },
  }
  for name, value in pairs(fields or {}) do t[name] = value end
  return pg.task(t)
end

-- ---- three clocks ----

local function output(command)
  local pipe <close> = io.popen(command .. " 2>&1")
  return pipe:read "a"
end

local function judged(ptx, n, rounds, method, budget)
  local rec = pg.run(spin_task(ptx, rounds), { device = device, method = method,
    impls = { "a" }, budget = budget, set = { n = n, rounds = rounds } })[1]
  if rec.verdict ~= "passed" then print(rec.verdict, rec.reason) end
  return rec.time
end

local function by_hand(ptx, n, rounds, method, samples)
  local text = output(("'%s' '%s' spin %d %d %s %d"):format(loop, ptx, n, rounds, method, samples))
  return tonumber(text) or print(text)
end

local function find_ncu()
  if os.getenv "NCU" then return os.getenv "NCU" ~= "none" and os.getenv "NCU" or nil end
  local found = output [[for n in "$(command -v ncu)" /usr/local/cuda*/bin/ncu \
    /opt/nvidia/nsight-compute/*/ncu; do if [ -x "$n" ]; then echo "$n"; break; fi; done]]
  return found:match "^%S+"
end

-- The median duration that ncu gives the kernel, with its caches flushed before each launch.
local function by_ncu(ncu, ptx, n, rounds, cold)
  local text = output(("'%s' --clock-control none --cache-control %s --csv --print-units base "
    .. "--kernel-name spin --metrics gpu__time_duration.sum '%s' '%s' spin %d %d cold 12"):format(
    ncu, cold and "all" or "none", loop, ptx, n, rounds))
  local us = {}
  for value in text:gmatch '"gpu__time_duration.sum","n?s?[^"]*","([%d.,]+)"' do
    us[#us + 1] = tonumber((value:gsub(",", ""))) / 1000
  end
  if #us < 3 then return nil, text:sub(-300) end
  return pg.summarize(us).median
end

-- `less` is taken from both, if given: what an empty kernel takes by either clock.
local function agrees(what, ours, theirs, less, within_us)
  if not ours or not theirs then return check(what, false, "no time") end
  if less then ours, theirs = ours - less.ours, theirs - less.theirs end
  local off = ours - theirs
  check(what, math.abs(off) <= math.max(WITHIN * theirs, within_us or WITHIN_US),
    ("%.2f us here, %.2f us there, %+.2f us, %+.2f%%"):format(ours, theirs, off,
    100 * off / theirs))
end

-- ---- what is compared ----

-- Rounds of the loop for a kernel of about `us` microseconds.
local function rounds_for(us, one_us)
  return math.max(1, math.floor(us / one_us))
end

local function calibrate(ptx)
  local long = by_hand(ptx, N, 2 * CALIBRATE, "hot", 20)
  local short = by_hand(ptx, N, CALIBRATE, "hot", 20)
  return is_real and (long - short) / CALIBRATE or 10
end

-- One kernel by one method: the judge's time and that of the loop, which must agree.
local function by_both(ptx, one)
  local time = judged(ptx, one.n, one.rounds, one.method, is_real and 0.3 or 0.02)
  local samples = not is_real and 10 or one.rounds > 100000 and 200 or 1000
  local hand = by_hand(ptx, one.n, one.rounds, one.method, samples)
  agrees(("%s, %s, by hand"):format(one.name, one.method), time and time.median_us, hand, nil,
    one.empty and EMPTY_US)
  one.us = time and time.median_us
end

-- The kernels, each by the methods that suit it.
local function kernels(one_us)
  local list = {}
  for _, us in ipairs { 0, 5, 20, 200, 2000, "memory" } do
    local memory = us == "memory"
    local n, rounds = memory and WIDE or N, memory and 1 or us == 0 and 0 or rounds_for(us, one_us)
    local name = memory and "64 MiB read and written" or ("about %d us"):format(us)
    local short = is_real and not memory and us < 200
    for _, method in ipairs { "cold", "hot", short and "graph" or nil } do
      list[#list + 1] = { name = name, n = n, rounds = rounds, method = method, empty = us == 0 }
    end
  end
  return list
end

-- Events take a while themselves, and so does ncu's start of a kernel; both show with no rounds.
local function profile(ptx, list)
  local ncu, none = find_ncu(), {}
  if not ncu then return print "skipped: no ncu here to compare with" end
  for _, one in ipairs(list) do
    local what = ("%s, %s, ncu"):format(one.name, one.method)
    local profiled, why = by_ncu(ncu, ptx, one.n, one.rounds, one.method == "cold")
    if not profiled then
      print(("  %s: no time: %s"):format(what, why))
    elseif one.empty then
      none[one.method] = { ours = one.us, theirs = profiled }
      print(("  %s: %.2f us"):format(what, profiled))
    else
      agrees(what .. ", over the empty kernel", one.us, profiled, none[one.method])
    end
  end
end

local function sorted_text(ratios)
  table.sort(ratios)
  local texts = {}
  for i, ratio in ipairs(ratios) do texts[i] = ("%+.2f"):format(100 * (ratio - 1)) end
  return table.concat(texts, " ") .. " %"
end

-- Twenty comparisons of a kernel with itself and, if asked, with one that does 1% more. For 5 us
-- 0.5% is less than a step of the events' clock: in a graph a sample is of many launches.
local COMPARED = { { 20, "cold", slower = true }, { 5, "graph", slower = true },
  { 20, "hot", slower = true } }
if IS_LONG then
  COMPARED[#COMPARED + 1] = { 200, "cold", slower = true }
  COMPARED[#COMPARED + 1] = { 2000, "cold" }
end

local function trials(ptx, one_us, us, method, with_slower)
  local rounds = rounds_for(us, one_us)
  local impls = {
    { name = "a", "ptx", ptx, args = { "x", "y", N, rounds } },
    { name = "same", "ptx", ptx, args = { "x", "y", N, rounds } },
    with_slower and { name = "slower", "ptx", ptx,
      args = { "x", "y", N, math.floor(rounds * 1.01 + 0.5) } } or nil,
  }
  local one = spin_task(ptx, rounds, { impls = impls,
    validate = function(ctx) return ctx:pass("y", tostring(ctx:array("y").count)) end })
  local same, told, hold, half, ratios, slower = 0, 0, 0, 0, {}, {}
  for i = 1, TRIALS do
    local records = pg.run(one, { device = device, method = method,
      budget = not is_real and 0.02 or us < 200 and 0.3 or 0.1 })
    local twin, more = records[2] or {}, records[3] or {}
    ratios[i] = twin.speedup and twin.speedup.a or 0
    slower[i] = more.speedup and more.speedup.a or 0
    if math.abs(ratios[i] - 1) <= 0.005 then same = same + 1 end
    local ci95 = twin.speedup_ci95 or { 0, 0 }
    if ci95[1] <= 1 and ci95[2] >= 1 then hold = hold + 1 end
    half = half + (ci95[2] - ci95[1]) / 2 / TRIALS
    if more.speedup_ci95 and more.speedup_ci95[2] < 1 then told = told + 1 end
  end
  check(("a kernel of %d us against itself, %s: 1.00 within 0.5%% in %d of %d"):format(us, method,
    same, TRIALS), same >= TRIALS - 1 or not is_real, sorted_text(ratios))
  print(("  its interval, %.2f%% to each side, holds 1.00 in %d of %d"):format(100 * half, hold,
    TRIALS))
  if not with_slower then return end
  check(("a kernel of %d us that does 1%% more is told from its original in %d of %d"):format(us,
    told, TRIALS), told >= TRIALS - 2 or not is_real, sorted_text(slower))
end

local ptx = os.tmpname() .. ".ptx"
assert(core.write_file(ptx, core.compile { source = SOURCE, name = "spin.cu" }.ptx))
local one_us = calibrate(ptx)
print(("one round takes %.4f us"):format(one_us))
for i, one in ipairs(COMPARED) do
  if is_real or i <= 2 then trials(ptx, one_us, one[1], one[2], one.slower) end
end
local list = kernels(one_us)
for _, one in ipairs(list) do by_both(ptx, one) end
if IS_LONG then profile(ptx, list) end
os.remove(ptx)
print(("%d passed, %d failed"):format(passed, failed))
return failed > 0 and 1 or 0
