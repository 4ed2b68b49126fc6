-- Fallback drift: which attempts of a series reached correctness by falling back. Made series for
-- every rule, and one of real candidates on the simulator.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local drift = require "perigee.drift"

local BINARY = core.realpath((os.getenv("BUILD") or "build") .. "/perigee")

-- A record: what passed has a time in us (false: none is known); techniques as words.
local function attempt(us, techniques, fields)
  local rec = { task = "t/x", kind = "check", impl = "a.cu", device = "cuda:0", params = { n = 9 },
    verdict = us == nil and "wrong_result" or "passed", audit = { facts = {} } }
  if us then rec.time = { median_us = us } end
  for name in (techniques or ""):gmatch("%S+") do rec.audit.facts[name] = { count = 1 } end
  for name, value in pairs(fields or {}) do rec[name] = value end
  return rec
end

local function naive(us, fields)
  local rec = attempt(us, "", fields)
  rec.kind, rec.impl = "run", "naive"
  return rec
end

local function series_of(list)
  local i = 0
  return drift.series(function()
    i = i + 1
    return list[i], { id = 100 + i }
  end)
end

-- Statuses of the attempts among records, which make one series.
local function statuses(list)
  local found = series_of(list)
  lu.assertEquals(#found, 1)
  local words = {}
  for i, row in ipairs(found[1].attempts) do words[i] = row.status end
  return table.concat(words, " "), found[1]
end

TestRules = {}

function TestRules:test_a_series_that_gets_better()
  local words, series = statuses { naive(100), attempt(80), attempt(40, "vector_access"),
    attempt(41, "vector_access"), attempt(20, "vector_access shared_memory") }
  lu.assertEquals(words, "first best same best")
  lu.assertEquals(series.fallbacks, 0)
  lu.assertEquals(series.ends, "best")
  lu.assertEquals(series.attempts[4].gained, { "shared_memory" })
  lu.assertEquals(series.attempts[4].vs_best, 0.5)
  lu.assertEquals(series.attempts[4].vs_naive, 0.2)
end

-- As the tools of perigee serve work without a GPU: what fails is not counted.
function TestRules:test_simulators_are_one_kind_of_device()
  local function counted(instructions, rec)
    rec.time, rec.device = nil, "sim:profile"
    rec.counters = { complete = true, warp_instructions = instructions }
    return rec
  end
  local words, series = statuses { counted(100, naive(1)),
    attempt(nil, "vector_access", { device = "sim:check" }), counted(95, attempt(1)) }
  lu.assertEquals(words, "failed fallback") -- no better than naive, without what failed
  lu.assertEquals({ series.device, series.naive.cost, series.attempts[2].failures },
    { "sim:profile", 100, 1 })
end

function TestRules:test_a_time_nearer_to_naive_is_a_fallback()
  local words, series = statuses { naive(100), attempt(10, "tensor_core mma_f16 shared_memory"),
    attempt(nil, "tensor_core mma_f16 shared_memory"), attempt(90, "shared_memory") }
  lu.assertEquals(words, "first failed fallback")
  local last = series.attempts[3]
  lu.assertEquals(last.lost, { "tensor_core", "mma_f16" })
  lu.assertEquals(last.failures, 1)
  lu.assertEquals(last.best, { number = 1, record = 102, cost = 10 })
  lu.assertEquals(series.naive, { cost = 100, metric = "time", record = 101 })
  lu.assertEquals(series.ends, "fallback")
end

-- Between 10 us and 1000 us the middle, on the scale of ratios, is 100 us.
function TestRules:test_nearer_is_meant_of_ratios()
  lu.assertEquals(statuses { naive(1000), attempt(10), attempt(99) }, "first slower")
  lu.assertEquals(statuses { naive(1000), attempt(10), attempt(101) }, "first fallback")
end

function TestRules:test_where_naive_is_hardly_slower_nothing_can_be_said()
  lu.assertEquals(statuses { naive(104), attempt(100), attempt(103) }, "first same")
end

function TestRules:test_techniques_lost_without_a_time()
  local words, series = statuses { attempt(false, "tensor_core"), attempt(nil, "tensor_core"),
    attempt(false, "") }
  lu.assertEquals(words, "unmeasured failed lost")
  lu.assertEquals(series.ends, "lost")
  lu.assertNil(series.naive)
end

function TestRules:test_techniques_of_attempts_that_failed_count()
  local words, series = statuses { naive(100), attempt(nil, "tensor_core"),
    attempt(nil, "tensor_core shared_memory"), attempt(95, "") }
  lu.assertEquals(words, "failed failed fallback")
  lu.assertEquals(series.attempts[3].lost, { "tensor_core", "shared_memory" })
  lu.assertEquals(series.attempts[3].failures, 2)
  lu.assertEquals(statuses { naive(100), attempt(nil, "tensor_core"), attempt(30, "") },
    "failed lost")
end

function TestRules:test_who_is_faster_without_a_technique_has_not_fallen_back()
  lu.assertEquals(statuses { naive(100), attempt(50, "shared_memory"), attempt(20, "shuffle") },
    "first best")
  lu.assertEquals(statuses { naive(100), attempt(20, "shared_memory"), attempt(20.5, "shuffle") },
    "first same")
end

function TestRules:test_only_failures()
  local words, series = statuses { attempt(nil), attempt(nil) }
  lu.assertEquals(words, "failed failed")
  lu.assertEquals(series.ends, "failed")
end

function TestRules:test_facts_that_are_no_technique_may_come_and_go()
  lu.assertEquals(statuses { attempt(false, "fma print"), attempt(false, "") },
    "unmeasured unmeasured")
end

function TestRules:test_counts_where_there_is_no_clock()
  local function counted(n, techniques)
    return attempt(false, techniques, { device = "sim:profile",
      counters = { complete = true, warp_instructions = n } })
  end
  local words, series = statuses {
    naive(false, { device = "sim:profile", counters = { complete = true,
      warp_instructions = 1000 } }),
    counted(100, "vector_access"), counted(900, "") }
  lu.assertEquals(words, "first fallback")
  lu.assertEquals(series.attempts[2].metric, "instructions")
end

TestSeries = {}

function TestSeries:test_tasks_settings_and_devices_are_series_of_their_own()
  local list = {}
  for _, fields in ipairs { {}, { task = "t/y" }, { set = { n = 7 } }, { device = "sim" } } do
    list[#list + 1] = attempt(10, "", fields)
    list[#list + 1] = attempt(10, "", fields)
  end
  list[#list + 1] = attempt(10, "", { task = "t/z" }) -- one attempt is no series
  lu.assertEquals(#series_of(list), 4)
end

-- A check that fails has the parameters of the case that failed.
function TestSeries:test_failures_at_other_sizes_belong_to_the_series()
  lu.assertEquals(statuses { naive(100), attempt(nil, "", { params = { n = 1 } }), attempt(50) },
    "failed first")
end

function TestSeries:test_one_gpu_is_like_the_other()
  lu.assertEquals(statuses { attempt(10), attempt(10, "", { device = "cuda:1" }) }, "first same")
end

function TestSeries:test_runs_of_one_implementation()
  local run = { kind = "run", impl = "wide" }
  lu.assertEquals(statuses { naive(100), attempt(10, "", run), attempt(90, "", run) },
    "first fallback")
end

function TestSeries:test_a_search_is_no_series()
  lu.assertEquals(series_of { attempt(10, "", { tune = {} }), attempt(90, "", { tune = {} }) }, {})
end

-- ---- real candidates ----

TestCandidates = {}

local ROW = 64
local TASK = pg.task {
  name = "test/rows", params = { n = { default = 4096, check = { 64 }, sim = 256 } },
  inputs = function(p, rng)
    return { x = rng:array("i32", p.n * ROW, { dist = "integer", first = -9, last = 9 }) }
  end,
  outputs = function(p) return { y = pg.spec("i32", p.n) } end,
  kernel = "void rows(const int* x, int* y, int n)",
  launch = { grid = "ceil_div(n, 64)", block = 64 },
  reference = function(p, io)
    local y = pg.array("i32", p.n)
    for i = 0, p.n - 1 do
      local sum = 0
      for k = 0, ROW - 1 do sum = sum + io.x[i * ROW + k] end
      y[i] = sum
    end
    return { y = y }
  end,
  validate = "exact",
  impls = { naive = { "cuda", source = "" } },
}
local KERNEL = [[
extern "C" __global__ void rows(const int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0;
  if (i >= n) return;
  %s
  y[i] = s;
}]]
local PLAIN = "#pragma unroll 1\nfor (int k = 0; k < 64; k++) s += x[64 * i + k];"
local WIDE = "for (int k = 0; k < %d; k++) { int4 v = ((const int4*)x)[16 * i + k]; "
  .. "s += v.x + v.y + v.z + v.w; }"

function TestCandidates:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local how, list = { device = "sim:profile", seed = 3 }, {}
  TASK.impls[1].source = KERNEL:format(PLAIN)
  list[1] = pg.run(TASK, how)[1]
  for _, body in ipairs { WIDE:format(16), WIDE:format(15), PLAIN } do
    list[#list + 1] = pg.check(TASK, { source = KERNEL:format(body) }, how)
  end
  self.records = list
end

function TestCandidates:test_the_simulators_counts_tell()
  local words, series = statuses(self.records)
  lu.assertEquals(words, "first failed fallback")
  local last = series.attempts[3]
  lu.assertEquals(last.lost, { "vector_access" })
  lu.assertEquals(last.metric, "instructions")
  lu.assertTrue(last.vs_best > 2, last.vs_best)
  lu.assertEquals(last.vs_naive, 1)
end

local function run(command)
  local pipe = io.popen(BINARY .. " " .. command .. " 2>&1")
  local text = pipe:read("a")
  local _, _, status = pipe:close()
  return text, status
end

function TestCandidates:test_the_command()
  local path, lines = os.tmpname(), {}
  for i, rec in ipairs(self.records) do lines[i] = core.json_encode(rec) end
  core.write_file(path, table.concat(lines, "\n") .. "\n")
  local text, status = run("drift " .. path)
  lu.assertEquals(status, 1)
  lu.assertStrContains(text, "test/rows on sim:profile: 3 attempts, naive costs ")
  lu.assertStrMatches(text:match "[^\n]*FALLBACK",
    " +3 +/.*:4 +candidate +passed .* 1%.00x +FALLBACK")
  lu.assertStrMatches(text:match "[^\n]*nearer to naive[^\n]*", "  attempt 3: [%d,]+ instr%. is "
    .. "nearer to naive's [%d,]+ instr%. than to the [%d,]+ instr%. of attempt 1; without "
    .. "vector_access; after 1 attempt that failed")
  text = run("drift " .. path .. " --json")
  lu.assertEquals(core.json_decode(text).attempts[3].status, "fallback")
  local other = os.tmpname()
  core.write_file(path, table.concat(lines, "\n", 1, 2) .. "\n")
  core.write_file(other, table.concat(lines, "\n", 3) .. "\n")
  text, status = run("drift " .. path .. " " .. other .. " --json")
  lu.assertEquals(status, 1)
  lu.assertEquals(core.json_decode(text).attempts[3].record, other .. ":2")
  os.remove(other)
  text, status = run("drift " .. path)
  lu.assertEquals(text, "no series: no task has two attempts on one kind of device\n")
  lu.assertEquals(status, 0)
  os.remove(path)
end

os.exit(lu.LuaUnit.run())
