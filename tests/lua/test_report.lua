-- What people read: units, aligned tables, and the report of made records.
local lu = require "luaunit"
local export = require "perigee.export"
local columns = require "perigee.columns"
local explain = require "perigee.explain"
local report = require "perigee.report"
local task = require "perigee.task"
local units = require "perigee.units"

TestUnits = {}

function TestUnits:test_times()
  lu.assertEquals(units.time(0.5), "0.500 us")
  lu.assertEquals(units.time(14.2149), "14.21 us")
  lu.assertEquals(units.time(999.94), "999.9 us")
  lu.assertEquals(units.time(1500), "1.500 ms")
  lu.assertEquals(units.time(2.5e6), "2.500 s")
end

function TestUnits:test_bytes_and_counts()
  lu.assertEquals(units.bytes(999), "999 bytes")
  lu.assertEquals(units.bytes(50331648), "50.3 MB")
  lu.assertEquals(units.count(0), "0")
  lu.assertEquals(units.count(999), "999")
  lu.assertEquals(units.count(-1234567), "-1,234,567")
  lu.assertEquals(units.count(16777216), "16.8 M")
  lu.assertEquals(units.count(0.125), "0.12")
  lu.assertEquals({ units.counted(0, "cell"), units.counted(1, "cell"),
    units.counted(2048, "cell") }, { "0 cells", "1 cell", "2,048 cells" })
end

TestColumns = {}

function TestColumns:test_rows_are_aligned()
  local text = columns.text({ { title = "name" }, { title = "us", right = true } },
    { { "a", "1.5" }, { "longer", "10.25" } }, { indent = 0 })
  lu.assertEquals(text, "name       us\na         1.5\nlonger  10.25")
end

function TestColumns:test_characters_count_not_bytes()
  local text = columns.text({ { title = "x" }, { title = "y" } }, { { "µs", "1" }, { "ab", "2" } },
    { indent = 0 })
  lu.assertEquals(text, "x   y\nµs  1\nab  2")
end

TestReport = {}

local saxpy = task.new {
  name = "t/saxpy", doc = "z = a x + y", kernel = "void k(float* z)", outputs = function() end,
  params = { n = { default = 8 } }, launch = function() end, reference = function() end,
}

local function record(fields)
  local rec = {
    task = "t/saxpy", params = { n = 8 }, impl = "naive", lang = "cuda", source = "kernels/k.cu",
    device = "cuda:0", gpu = "NVIDIA H200", verdict = "passed", findings = {}, checks = {},
      facts = {}, cases = 1,
    compile_log = "", work = { bytes = 96 }, seed = 7, versions = { nvrtc = "NVRTC 13.0" },
      kernels = {},
    time = { method = "cold", median_us = 14.2, ci95_us = { 14.1, 14.3 }, samples = 64,
      discarded = 0 },
    efficiency = { bandwidth = 3541.2 },
  }
  for name, value in pairs(fields or {}) do rec[name] = value end
  if rec.verdict ~= "passed" then rec.time, rec.efficiency = nil, nil end
  return rec
end

local function text_of(records, how)
  local lines = {}
  how = how or {}
  local view = report.run(saxpy, { cells = how.cells or {}, impls = { "naive", "float4" },
    simulated = how.simulated, out = function(line) lines[#lines + 1] = line end })
  for _, rec in ipairs(records) do view:add(rec) end
  view:finish()
  return table.concat(lines, "\n")
end

-- A record as the judge makes it of an arm that passed, was timed and exported.
local function exported(median_us, export_us)
  local made = require("perigee.record").of({
    case = { task = saxpy, p = { n = 8 }, seed = 1, work = function() return {} end },
    impl = { name = "own" }, findings = {}, export_us = export_us,
    slow_export = select(2, export.judge(export_us, median_us, 1 << 32, 4000)),
    time = { method = "cold", median_us = median_us, ci95_us = { 1, 2 }, samples = 9,
      discarded = 0 },
  }, { spec = "cuda:0", seed = 1, info = { gpu_clock = true } })
  local lines = {}
  report.check(made, saxpy, function(line) lines[#lines + 1] = line end)
  return made, table.concat(lines, "\n")
end

function TestReport:test_an_export_is_shown_and_flagged_when_it_is_longer_than_the_plan()
  local rec, text = exported(30, 9)
  lu.assertEquals(#rec.findings, 0)
  lu.assertStrContains(text, "9.000 us, not part of the time")
  rec = exported(3, 40) -- the host's share of a short export is no work
  lu.assertEquals(#rec.findings, 0)
  rec, text = exported(30, 4000)
  lu.assertEquals(rec.verdict, "passed")
  lu.assertEquals(rec.findings[1].kind, "slow_export")
  lu.assertStrContains(text, "the untimed export took 4000 us, what was timed 30 us")
end

function TestReport:test_an_export_that_does_the_work_is_a_cheat()
  lu.assertNil(export.judge(9, 30, 1 << 20, 4000))
  lu.assertNil(export.judge(40, 3, 1 << 20, 4000)) -- the host's share of a short export is no work
  local failure, finding = export.judge(900, 30, 1 << 30, 4000) -- 1 GiB takes 268 us once
  lu.assertNil(failure)
  lu.assertEquals(finding.kind, "slow_export")
  lu.assertEquals({ export.judge(900, 870, 1 << 30, 4000) }, {})
  lu.assertEquals(export.judge(1200, 2000, 1 << 30, 4000).verdict, "cheat") -- however long the plan
  failure = export.judge(900, 30, 1 << 20, 4000)
  lu.assertEquals(failure.verdict, "cheat")
  lu.assertStrContains(failure.reason, "the untimed export took 900 us, what was timed 30 us")
end

function TestReport:test_timed_rows_have_units_and_a_legend()
  local text = text_of { record(), record { impl = "float4", speedup = { naive = 1.034 } } }
  lu.assertStrContains(text, "t/saxpy: z = a x + y")
  lu.assertStrContains(text, "on cuda:0, NVIDIA H200, compiled by NVRTC 13.0")
  lu.assertStrContains(text, "implementation  verdict")
  lu.assertStrContains(text,
    "naive           passed      14.20 us    14.10 us .. 14.30 us       64    3541")
  lu.assertStrContains(text, "1.03x")
  lu.assertStrContains(text,
    "median        time of one run, by the GPU's own clock\n                cold: the GPU's L2")
end

function TestReport:test_the_share_of_the_limit_is_shown_where_it_is_known()
  local near = { bandwidth = 3541.2, of_limit = 0.8432, limit = "memory bandwidth" }
  local text = text_of { record { efficiency = near },
    record { impl = "float4", efficiency = near } }
  lu.assertStrContains(text, "GB/s  of limit  vs naive")
  lu.assertStrContains(text, " 64    3541    84.3 %\n")
  lu.assertStrContains(text, "of limit      share of what this GPU was measured to do")
  lu.assertNotStrContains(text_of { record() }, "of limit")
  local lines = {}
  report.check(record { efficiency = near }, saxpy, function(line) lines[#lines + 1] = line end)
  lu.assertStrContains(table.concat(lines, "\n"),
    "of limit   84.3 % of the memory bandwidth that doctor --measure found")
end

function TestReport:test_a_failure_shows_no_time_but_its_reason()
  local text = text_of { record { verdict = "wrong_result", reason = "z[0]: expected 1, got 0",
    failed_at = "n = 8 (seed 1)" } }
  lu.assertStrContains(text, "wrong_result")
  lu.assertStrContains(text, "z[0]: expected 1, got 0")
  lu.assertStrContains(text, "case: n = 8 (seed 1)")
  lu.assertNotStrContains(text, " us")
end

function TestReport:test_simulated_figures_are_labelled_as_such()
  local sim = record { device = "sim:check", sim_wall_us = 3100,
    counters = { warp_instructions = 12345 } }
  sim.time, sim.efficiency = nil, nil
  local text = text_of({ sim }, { simulated = true })
  lu.assertStrContains(text, "sim time")
  lu.assertStrContains(text, "3.100 ms")
  lu.assertStrContains(text, "12,345")
  lu.assertStrContains(text, "it says nothing about a GPU")
  lu.assertNotStrContains(text, "median")
end

function TestReport:test_facts_stand_under_the_rows_of_their_cell()
  local text = text_of({
    record { cell = "base", facts = { blocks = 1160, drops = 0, probes = 7 } },
    record { cell = "base", impl = "float4", facts = { blocks = 1160, drops = 0, probes = 8 } },
    record { cell = "small", facts = { blocks = 5, drops = 2 } },
    record { cell = "small", impl = "float4", verdict = "wrong_result", reason = "no" },
  }, { cells = { "base", "small" } })
  lu.assertStrContains(text, "cell   implementation  verdict")
  lu.assertStrContains(text, "\n         blocks 1,160, probes 7/8\n\n  small  naive")
  lu.assertStrContains(text, "      no\n         blocks 5, drops 2\n")
  lu.assertStrContains(text, "a/b/c         one for each implementation")
end

function TestReport:test_many_facts_take_several_lines_and_none_is_lost()
  local facts = {}
  for i = 1, 40 do facts["fact_" .. i] = i end
  local text = text_of({ record { facts = facts } })
  for i = 1, 40 do lu.assertStrMatches(text, (".*fact_%d %d[,\n].*"):format(i, i)) end
  for line in text:gmatch("[^\n]+") do lu.assertTrue(#line <= 120, line) end
end

function TestReport:test_a_checked_candidate_with_a_located_fault()
  local lines = {}
  report.check(record { source = "mine.cu", verdict = "out_of_bounds",
    reason = "read of 4 bytes past the end of x",
    findings = { { kind = "out_of_bounds", kernel = "saxpy", located = true, block = { 1, 0, 0 },
      thread = { 3, 0, 0 }, file = "mine.cu", line = 4,
        text = "read of 4 bytes past the end of x\nin saxpy" } } },
    saxpy, function(line) lines[#lines + 1] = line end)
  local text = table.concat(lines, "\n")
  lu.assertStrContains(text, "mine.cu: out_of_bounds")
  lu.assertStrContains(text, "block (1, 0, 0), thread (3, 0, 0), mine.cu:4")
end

function TestReport:test_findings_of_one_kind_have_a_heading_each()
  local function finding(byte)
    return { kind = "race",
      text = ("race: write at mine.cu:5\n  inside part, byte %d"):format(byte) }
  end
  lu.assertEquals(explain.failure({ verdict = "race", reason = "race: write at mine.cu:5",
    findings = { finding(0), finding(8) } }, ""), { "race: write at mine.cu:5",
    "  inside part, byte 0", "race: write at mine.cu:5", "  inside part, byte 8" })
end

os.exit(lu.LuaUnit.run())
