-- Comparing two sets of records: ratios and intervals against values worked out by hand, what
-- counts as a regression, what is only in one set. And `perigee compare` over files and sessions.
local lu = require "luaunit"
local core = require "perigee.core"
local comparison = require "perigee.comparison"
local store = require "perigee.store"

local BINARY = core.realpath((os.getenv("BUILD") or "build") .. "/perigee")

local function shell(command)
  local pipe <close> = io.popen(("bash -c '%s' 2>&1"):format(command:gsub("'", "'\\''")))
  local text = pipe:read("a")
  local _, _, status = pipe:close()
  return text, status
end

local folder = shell("mktemp -d"):match("%S+")

local function timed(median, low, high, more)
  local rec = { task = "t/x", impl = "naive", params = { n = 1 }, verdict = "passed",
    device = "cuda:0", gpu = "GPU", at = "2026-05-01T12:00:00Z",
    time = { median_us = median, ci95_us = core.json_array { low, high } } }
  for name, value in pairs(more or {}) do rec[name] = value end
  return rec
end

local function set(...)
  local list, i = { ... }, 0
  return comparison.set(function()
    i = i + 1
    local item = list[i]
    if item and item.rec then return item.rec, item end
    return item
  end)
end

-- The only row of two sets of one record each.
local function row(a, b, fail_above)
  local rows, counts = comparison.rows(set(a), set(b), fail_above or 5)
  lu.assertEquals(#rows, 1)
  lu.assertEquals(counts, { [rows[1].status] = 1 })
  return rows[1]
end

TestComparison = {}

-- Half widths of the logarithms add up as squares: sqrt(0.03^2 + 0.04^2) = 0.05.
function TestComparison:test_intervals_give_the_interval_of_the_ratio()
  local r = row(timed(100, 100 * math.exp(-0.03), 100 * math.exp(0.03)),
    timed(120, 120 * math.exp(-0.04), 120 * math.exp(0.04)))
  lu.assertEquals(r.method, "intervals")
  lu.assertAlmostEquals(r.ratio, 1.2, 1e-12)
  lu.assertAlmostEquals(r.ratio_ci95[1], 1.2 * math.exp(-0.05), 1e-9)
  lu.assertAlmostEquals(r.ratio_ci95[2], 1.2 * math.exp(0.05), 1e-9)
end

function TestComparison:test_samples_are_resampled()
  local a, b = { rec = timed(10, 9, 11), samples = {} }, { rec = timed(11, 10, 12), samples = {} }
  for i = 1, 200 do -- uniform
    a.samples[i] = 9 + 2 * (i - 0.5) / 200
    b.samples[i] = 1.1 * a.samples[i]
  end
  local r = row(a, b)
  lu.assertEquals(r.method, "bootstrap")
  lu.assertAlmostEquals(r.ratio, 1.1, 1e-9)
  -- The median of n uniform values on an interval of width w has the deviation w / (2 sqrt n).
  local half = 1.96 * math.sqrt(2) * 0.2 / (2 * math.sqrt(200))
  lu.assertAlmostEquals(r.ratio_ci95[1], 1.1 * (1 - half), 0.012)
  lu.assertAlmostEquals(r.ratio_ci95[2], 1.1 * (1 + half), 0.012)
end

function TestComparison:test_what_is_a_regression()
  local function status(b, fail_above) return row(timed(100, 99, 101), b, fail_above).status end
  lu.assertEquals(status(timed(110, 109, 111)), "regression")
  lu.assertEquals(status(timed(110, 109, 111), 10.5), "slower")  -- by less than is allowed
  lu.assertEquals(status(timed(110, 60, 190)), "same")           -- may be chance
  lu.assertEquals(status(timed(102, 101.5, 102.5)), "slower")
  lu.assertEquals(status(timed(90, 89, 91)), "faster")
  lu.assertEquals(status(timed(100.5, 99.5, 101.5)), "same")
  lu.assertEquals(status(timed(101, 100.999, 101.001), 0), "same") -- within the first's interval
  lu.assertEquals(status { task = "t/x", impl = "naive", params = { n = 1 }, device = "cuda:0",
    verdict = "wrong_result" }, "broken")
end

function TestComparison:test_failures_on_either_side()
  local function failed(verdict)
    return { task = "t/x", impl = "naive", params = { n = 1 }, device = "cuda:0",
      verdict = verdict }
  end
  lu.assertEquals(row(failed("race"), timed(1, 1, 1)).status, "mended")
  lu.assertEquals(row(failed("race"), failed("race")).status, "same")
  lu.assertEquals(row(failed("race"), failed("timeout")).status, "differs")
  lu.assertEquals(row(timed(1, 1, 1), timed(1, 1, 1, { time = false })).status, "unmeasured")
end

function TestComparison:test_counts_are_exact()
  local function counted(n)
    return timed(1, 1, 1, { time = false, device = "sim:profile",
      counters = { complete = true, warp_instructions = n } })
  end
  local r = row(counted(1000), counted(1060))
  lu.assertEquals({ r.metric, r.ratio, r.ratio_ci95, r.status },
    { "instructions", 1.06, { 1.06, 1.06 }, "regression" })
  lu.assertEquals(row(counted(1000), counted(1000)).status, "same")
end

function TestComparison:test_what_only_one_set_has_is_said()
  local rows, counts = comparison.rows(
    set(timed(1, 1, 1), timed(1, 1, 1, { impl = "old" })),
    set(timed(1, 1, 1, { impl = "new" }), timed(1, 1, 1)), 5)
  lu.assertEquals(counts, { same = 1, only_a = 1, only_b = 1 })
  lu.assertEquals({ rows[1].impl, rows[2].impl, rows[3].impl }, { "naive", "old", "new" })
end

function TestComparison:test_parameters_cells_knobs_and_devices_tell_apart()
  local one = timed(1, 1, 1)
  for _, more in ipairs { { params = { n = 2 } }, { cell = "big" }, { knobs = { B = 1 } },
    { device = "sim" }, { task = "t/y" } } do
    local _, counts = comparison.rows(set(one), set(timed(1, 1, 1, more)), 5)
    lu.assertEquals(counts, { only_a = 1, only_b = 1 })
  end
  lu.assertEquals(row(one, timed(1, 1, 1, { device = "cuda:1" })).status, "same")
end

function TestComparison:test_the_last_record_counts_but_a_final_one_beats_it()
  local final = { final = true }
  local s = set(timed(1, 1, 1), timed(2, 2, 2))
  lu.assertEquals({ s.count, s.replaced, #s.keys }, { 2, 1, 1 })
  lu.assertEquals(s.by_key[s.keys[1]].rec.time.median_us, 2)
  s = set(timed(1, 1, 1, { tune = final }), timed(2, 2, 2, { tune = {} }))
  lu.assertEquals(s.by_key[s.keys[1]].rec.time.median_us, 1)
end

TestCommand = {}

local function write(name, ...)
  local lines = {}
  for i, rec in ipairs { ... } do lines[i] = core.json_encode(rec) end
  local path = folder .. "/" .. name
  core.write_file(path, table.concat(lines, "\n") .. "\n")
  return path
end

local function compare(arguments)
  return shell(("'%s' compare %s --db %s/results.db"):format(BINARY, arguments, folder))
end

function TestCommand:test_a_regression_exits_1_and_a_larger_limit_0()
  local a = write("a.jsonl", timed(100, 99, 101))
  local b = write("b.jsonl", timed(110, 109, 111), timed(1, 1, 1, { impl = "new" }))
  local text, status = compare(a .. " " .. b)
  lu.assertEquals(status, 1)
  lu.assertStrContains(text, "+10.00 %")
  lu.assertStrContains(text, "REGRESSION")
  lu.assertStrContains(text, "1 regression, 1 only in B; a regression is more than 5 % slower")
  text, status = compare(a .. " " .. b .. " --fail-above 15")
  lu.assertEquals(status, 0)
  lu.assertStrContains(text, "1 slower, 1 only in B")
  lu.assertEquals(select(2, compare(b .. " " .. a)), 0)
end

function TestCommand:test_json_has_a_row_a_line()
  local a = write("a.jsonl", timed(100, 99, 101, { samples_us = { 99, 100, 101 } }))
  local b = write("b.jsonl", timed(50, 49, 51, { samples_us = { 49, 50, 51 } }))
  local text, status = compare(a .. " " .. b .. " --json")
  local r = core.json_decode(text)
  lu.assertEquals(status, 0)
  lu.assertEquals({ r.status, r.method, r.ratio, r.a, r.b },
    { "faster", "bootstrap", 0.5, 100, 50 })
end

function TestCommand:test_a_session_against_a_file()
  local s <close> = store.open(folder .. "/results.db")
  s:add(s:session("before", "run"), timed(100, 99, 101), { samples = { 99, 100, 101 } })
  local b = write("b.jsonl", timed(101, 100, 102))
  local text, status = compare("before " .. b)
  lu.assertEquals(status, 0)
  lu.assertStrContains(text, "A: before, 1 evaluation, GPU")
  lu.assertStrContains(text, "1 within chance")
end

function TestCommand:test_bad_usage()
  local a = write("a.jsonl", timed(100, 99, 101))
  local function refused(arguments, ...)
    local text, status = compare(arguments)
    lu.assertEquals(status, 2, text)
    for _, part in ipairs { ... } do lu.assertStrContains(text, part) end
  end
  refused(a .. " " .. a .. "l", "no file", "a.jsonl")
  refused(a .. " " .. a .. " --fail-above=-1", "expected a percentage >= 0, got '-1'")
  refused(a .. " " .. a .. " --fail-above=x", "expected a percentage >= 0, got 'x'")
  core.write_file(folder .. "/bad.jsonl", core.json_encode(timed(1, 1, 1)) .. "\nnonsense\n")
  refused(a .. " " .. folder .. "/bad.jsonl", "no JSON", "bad.jsonl:2")
  core.write_file(folder .. "/empty.jsonl", "")
  refused(("%s/empty.jsonl %s/empty.jsonl"):format(folder, folder), "both sets are empty")
end

local status = lu.LuaUnit.run()
shell("rm -rf " .. folder)
os.exit(status)
