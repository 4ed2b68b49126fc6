-- CUB's block and warp primitives, each algorithm, cooperative groups and the synchronisation
-- library (cub.cu, groups.cu): they compute what they should, and sim:check finds nothing in them.
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"

local bench = dofile(files.join(core.home, "tests/classics/bench.lua"))
local integers, zeros, equal = bench.integers, bench.zeros, bench.equal

local T, N = 128, 512

-- want[i] = f(i), i from 0
local function list(n, f)
  local want = {}
  for i = 0, n - 1 do want[i + 1] = f(i) end
  return want
end

local function sum(x, first, last)
  local total = 0
  for i = first, last do total = total + x[i] end
  return total
end

-- ---- CUB ----

local TestCub = {}

-- One block: kernel(x, y) for each of the names.
local function cub(names, x, want)
  bench.on_each("tests/classics/cub.ptx", {}, function(b)
    for _, name in ipairs(names) do
      local y = b:put("y", zeros("i32", #want))
      b:launch(name, { grid = 1, block = T, args = { b:put("x", x), y } })
      equal(y:download(), want, name)
    end
  end)
end

-- CUB's merges read one element past their last one, which nobody wrote, and drop it: sim:check
-- says so, and that they are right.
local function merge(name, x, want)
  local path = files.join(core.home, "tests/classics/cub.ptx")
  local function run(on)
    local y = on:upload(zeros("i32", N), "y")
    on:load(files.read(path), path):kernel(name):launch { grid = 1, block = T,
      args = { on:upload(x, "x"), y } }
    return y:download()
  end
  local dev <close> = core.device(os.getenv "PERIGEE_TEST_DEVICE" or "sim")
  equal(run(dev), want, name)
  for seed = 0, 4 do
    local check <close> = core.device("sim:check,seed=" .. seed)
    equal(run(check), want, name)
    for _, finding in ipairs(check:findings()) do
      lu.assertEquals(finding.kind, "edge_read")
      lu.assertStrContains(finding.text, "inside temp")
    end
  end
end

function TestCub:test_reduce()
  local x, most = integers("i32", N, 1, -1000, 1000), -math.huge
  for t = 0, 76 do most = math.max(most, x[4 * t]) end
  cub({ "reduce_raking", "reduce_commutative", "reduce_warps" }, x, { sum(x, 0, N - 1), most })
end

function TestCub:test_scan()
  local x = integers("i32", N, 2, -1000, 1000)
  cub({ "scan_raking", "scan_memoize", "scan_warps" }, x,
    list(N, function(i) return sum(x, 0, i) end))
end

function TestCub:test_load_and_store()
  local x = integers("i32", N, 3, 0, 999)
  cub({ "move_direct", "move_vectors", "move_transposed", "move_warps", "move_slices" }, x,
    list(N, function(i) return x[i] + 1000 * (i // 4) end))
  cub({ "move_striped" }, x, list(N, function(i) return x[i] + 1000 * (i % T) end))
end

function TestCub:test_exchange()
  local x = integers("i32", N, 4, 0, 999)
  cub({ "exchange" }, x, list(N, function(i) return x[N - 1 - i] end))
  cub({ "warp_exchange" }, x, list(N, function(i)
    return x[i // 64 * 64 + i % 4 * 16 + i % 64 // 4]
  end))
end

function TestCub:test_neighbours()
  local x = integers("i32", N, 5, 0, 2)
  cub({ "heads" }, x, list(N, function(i) return (i == 0 or x[i] ~= x[i - 1]) and 1 or 0 end))
  cub({ "differences" }, x, list(N, function(i) return i == 0 and x[0] or x[i] - x[i - 1] end))
  cub({ "shuffle" }, x, list(2 * T, function(i)
    if i < T then return x[(i + 1) % T] end
    return i - T >= 5 and x[i - T - 5] or -1
  end))
end

function TestCub:test_sort()
  local x = integers("i32", N, 6, -1 << 31, (1 << 31) - 1)
  for i = 0, N - 1, 3 do x[i] = x[i] % 5 - 2 end
  local want = x:totable()
  table.sort(want)
  cub({ "sort_radix", "sort_radix_memoized" }, x, want)
  merge("sort_merge", x, want)
  local order = list(N, function(i) return i end)
  table.sort(order, function(a, b)
    if x[a] ~= x[b] then return x[a] > x[b] end
    return a < b
  end)
  bench.on_each("tests/classics/cub.ptx", {}, function(b)
    local y, from = b:put("y", zeros("i32", N)), b:put("from", zeros("i32", N))
    b:launch("sort_pairs", { grid = 1, block = T, args = { b:put("x", x), y, from } })
    equal(from:download(), order, "sort_pairs")
    equal(y:download(), list(N, function(i) return x[order[i + 1]] end), "sort_pairs")
  end)
end

function TestCub:test_run_lengths()
  local x, want = integers("i32", T, 7, 0, 10000), {}
  for t = 0, T - 1 do
    for _ = 1, x[t] % 4 + 1 do want[#want + 1] = t end
  end
  local total = #want
  for i = total + 1, N do want[i] = 0 end
  bench.on_each("tests/classics/cub.ptx", {}, function(b)
    local y, count = b:put("y", zeros("i32", N)), b:put("count", zeros("i32", 1))
    b:launch("decode", { grid = 1, block = T, args = { b:put("x", x), y, count } })
    lu.assertEquals(count:download()[0], total)
    equal(y:download(), want, "decode")
  end)
end

function TestCub:test_warps()
  local x = integers("i32", N, 8, -1000, 1000)
  cub({ "warp_sums" }, x, list(8 + T, function(i)
    if i < 4 then return sum(x, 32 * i, 32 * i + 31) end
    if i < 8 then return sum(x, 32 * (i - 4), 32 * (i - 4) + 19) end
    local t = i - 8
    return sum(x, t // 32 * 32, t - 1)
  end))
  local want = {}
  for w = 0, 3 do
    local part = list(T, function(i) return x[T * w + i] end)
    table.sort(part)
    table.move(part, 1, T, #want + 1, want)
  end
  merge("warp_sort", x, want)
end

-- ---- groups ----

local TestGroups = {}

local function groups(name, x, want, how)
  how = how or {}
  bench.on_each("tests/classics/groups.ptx", {}, function(b)
    local y = b:put("y", zeros("i32", #want))
    local args = { b:put("x", x), y, table.unpack(how.more or {}) }
    b:launch(name, { grid = how.grid or 1, block = T, cooperative = how.cooperative, args = args })
    equal(y:download(), want, name)
  end)
end

-- Sum or number of the elements of t's warp that are like t's.
local function alike(x, t, like, count)
  local total = 0
  for i = t // 32 * 32, t // 32 * 32 + 31 do
    if like(x[i]) == like(x[t]) then total = total + (count and 1 or x[i]) end
  end
  return total
end

function TestGroups:test_tiles()
  local x = integers("i32", T, 20, 0, 1000)
  local rows = {
    function(t) return sum(x, t // 4 * 4, t // 4 * 4 + 3) end,
    function(t) return sum(x, t // 64 * 64, t // 64 * 64 + 63) end,
    function(t) return alike(x, t, function(v) return v % 3 end) end,
    function(t) return alike(x, t, function(v) return v % 2 end, true) end,
    function(t) return sum(x, t // 32 * 32, t) end,
    function(t) return sum(x, t // 32 * 32, t - 1) end,
    function(t) return x[t // 64 * 64 + 63] end,
  }
  groups("tiles", x, list(7 * T, function(i) return rows[i // T + 1](i % T) end))
end

function TestGroups:test_one_for_all()
  local x = integers("i32", 3 * T, 21, 0, 1000)
  groups("one_for_all", x, list(3 * T, function(i) return sum(x, i // 8 * 8, i // 8 * 8 + 7) end),
    { grid = 3 })
end

function TestGroups:test_arrival_and_wait()
  local x = integers("i32", T, 22, 0, 1000)
  groups("split_barrier", x, list(T, function(t) return x[T - 1 - t] - x[t] end))
  groups("counted_down", x, list(T, function(t) return x[t ~ 37] end))
end

function TestGroups:test_grid_barrier()
  local grid, rounds = 12, 5
  local n, x = grid * T, integers("i32", grid * T, 23, 0, 1000)
  local want = x:totable()
  for _ = 1, rounds do
    local now = want
    want = list(n, function(i) return now[i + 1] + now[(i + T) % n + 1] end)
  end
  groups("ring", x, want, { grid = grid, cooperative = true, more = { rounds } })
end

function TestGroups:test_asynchronous_copies()
  local x = integers("i32", 4 * T, 24, 0, 1000)
  local want = list(T, function(t)
    local total = 0
    for s = 0, 3 do total = total + x[s * T + T - 1 - t] end
    return total
  end)
  groups("staged", x, want)
  groups("piped", x, want)
end

function TestGroups:test_hand_over()
  local x = integers("i32", 4 * 64, 25, 0, 1000)
  groups("hand_over", x, list(64, function(t)
    local total = 0
    for r = 0, 3 do total = total + x[r * 64 + 63 - t] * (r + 1) end
    return total
  end))
end

-- kernel(x, sum, word): what all threads or blocks make of one word.
local function one_word(name, how, x, want)
  bench.on_each("tests/classics/groups.ptx", {}, function(b)
    local total, word = b:put("sum", zeros("i32", 1)), b:put("word", zeros("i32", 16))
    if how.init then b:launch(how.init, { grid = 1, block = 1, args = { word } }) end
    b:launch(name, { grid = how.grid, block = how.block, args = { b:put("x", x), total, word } })
    lu.assertEquals(total:download()[0], want, name)
  end)
end

function TestGroups:test_locks()
  local x = integers("i32", 256, 26, 0, 1000)
  one_word("turns", { grid = 40, block = 64, init = "turns_init" }, x, sum(x, 0, 39))
  one_word("locked", { grid = 4, block = 64 }, x, sum(x, 0, 255))
end

function TestGroups:test_a_chain_of_blocks()
  local x, want = integers("i32", 50, 27, 0, 1000), 0
  for i = 49, 0, -1 do want = want * 3 % 1000003 + x[i] end
  one_word("chain", { grid = 50, block = 32 }, x, want)
end

os.exit(lu.LuaUnit.new():runSuiteByInstances {
  { "TestCub", TestCub }, { "TestGroups", TestGroups },
})
