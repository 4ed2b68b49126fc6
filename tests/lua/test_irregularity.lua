-- The suite over stages and languages: what it runs, counts and writes.

local lu = require "luaunit"
local core = require "perigee.core"

local BINARY = (os.getenv("BUILD") or "build") .. "/perigee"
local SCRIPT = core.home .. "/kernels/tsdf/irregularity.lua"
local folder = os.tmpname()
os.remove(folder)
core.mkdir_all(folder)

local function suite(options)
  local pipe = assert(io.popen(("'%s' '%s' %s 2>&1"):format(BINARY, SCRIPT, options)))
  local text = pipe:read "a"
  local _, _, status = pipe:close()
  return text, status
end

TestSuite = {}

function TestSuite.test_an_arm_runs_beside_the_one_it_is_compared_with()
  local csv = folder .. "/out.csv"
  local text, status = suite("--device sim --cell base --stage allocate --impl rust-ray,triton "
    .. "--passes 1 --csv " .. csv)
  lu.assertEquals({ status, text }, { 0, text })
  local lines = {}
  for line in core.read_file(csv):gmatch "[^\n]+" do lines[#lines + 1] = line end
  lu.assertEquals(lines, {
    "stage,cell,arm,verdict,median_us,compared_with,ratio,ratio_low,ratio_high,of_control",
    "allocate,base,cuda-ray,passed,,,,,,",
    "allocate,base,rust-ray,passed,,cuda-ray,,,,",
    "allocate,base,cuda-late,passed,,,,,,",
    "allocate,base,triton,passed,,cuda-late,,,,",
  })
end

-- Every sample that counts does five additions, and what is published does one compare-and-swap for
-- each of its eight probes: the counts follow from the programs.
function TestSuite.test_counters_say_what_the_programs_do()
  local text = suite("--cell base --stage allocate,update --impl cuda,triton-published --count")
  local function atomics(stage, arm)
    local row = text:match("\n" .. stage .. "%s+base%s+" .. arm:gsub("%-", "%%-") .. "%s+([^\n]*)")
    local numbers = {}
    for number in row:gmatch "[%d.]+" do numbers[#numbers + 1] = tonumber(number) end
    return numbers[5]
  end
  lu.assertEquals(atomics("update", "cuda"), 5)
  lu.assertEquals(atomics("update", "triton-published"), 5)
  lu.assertTrue(atomics("allocate", "triton-published") > 8)
  lu.assertTrue(atomics("allocate", "cuda") < 0.2)
end

-- What the page says that the simulator counts is what it counts of today's kernels. Which lane
-- comes first in a table moves the last digit. `kernels/tsdf/page.lua FOLDER` brings new counts.
function TestSuite.test_the_counts_of_the_page_are_those_of_the_kernels()
  local page, csv = require "perigee.irregularity.page", folder .. "/counts.csv"
  local text, status = suite("--cell base --stage allocate,update --count --csv " .. csv)
  lu.assertEquals({ status, text }, { 0, text })
  local now = page.read_csv(csv)
  local before = page.read_csv(core.home .. "/kernels/tsdf/h200/counts.csv")
  lu.assertEquals(#now, #before)
  for i, row in ipairs(before) do
    for name, value in pairs(row) do
      local where = ("%s, %s, %s"):format(row.stage, row.arm, name)
      if type(value) == "string" then lu.assertEquals(now[i][name], value, where) else
        lu.assertAlmostEquals(now[i][name], value, 0.03 * value + 0.02, where)
      end
    end
  end
end

function TestSuite.test_lost_blocks_are_said_and_do_not_fail_the_suite()
  local text, status = suite("--device sim --cell load-0.95 --stage allocate --passes 1 "
    .. "--impl triton-published")
  lu.assertEquals(status, 0)
  lu.assertStrContains(text, "wrong_result")
  lu.assertStrContains(text, "no lost block")
end

-- What a run wrote is not run again, and a table of it is the same.
function TestSuite.test_a_run_goes_on_where_it_ended()
  local json, csv = folder .. "/some.jsonl", folder .. "/some.csv"
  local run = ("--device sim --cell base --impl cuda,rust --passes 1 --seed 3 --json %s --csv %s")
    :format(json, csv)
  suite(run .. " --stage allocate")
  local before = core.read_file(json)
  local text, status = suite(run .. " --stage allocate,compact --resume")
  lu.assertEquals({ status, text }, { 0, text })
  local after = core.read_file(json)
  lu.assertEquals(after:sub(1, #before), before)
  local stages = {}
  for stage in after:gmatch '"stage":"(%w+)"' do stages[#stages + 1] = stage end
  lu.assertEquals(stages, { "allocate", "allocate", "compact", "compact" })
  local _, rows = core.read_file(csv):gsub("\n", "\n")
  lu.assertEquals(rows, 5)
end

function TestSuite.test_a_run_says_ahead_how_long_it_takes()
  local function seconds(options)
    local text, status = suite("--estimate --stage allocate " .. options)
    lu.assertEquals(status, 0)
    return tonumber(text:match "^about (%d+) s on a GPU\n$")
  end
  local one, all = seconds "--cell base", seconds ""
  lu.assertTrue(one > 0 and all > 10 * one, all)
  lu.assertTrue(seconds "--budget 10" < all)
  local two = seconds "--device cuda:0+cuda:1"
  lu.assertTrue(two >= all / 2 - 1 and two < 0.7 * all, two)
end

function TestSuite.test_what_does_not_fit_into_the_budget_is_said()
  local text, status = suite("--device sim --stage allocate --impl cuda --cell base,pts-20k "
    .. "--passes 1 --budget 0.001")
  lu.assertEquals(status, 0)
  lu.assertStrContains(text, "did not fit into the budget")
end

-- Where time is short: fewer passes rather than no cell, and what is gone is counted once.
function TestSuite.test_the_budget_is_looked_at_before_each_pass()
  local budget = require "perigee.irregularity.budget"
  local one = { stage = "allocate", cells = { "base", "r-2.0" }, impls = { "cuda", "rust" } }
  local enough = budget.new({ one }, { passes = 2, seconds = 2, skip = function(_, cell)
    return cell == "r-2.0"
  end })
  local slice = enough:begin(one, 1) -- what is left of 2 s beside 0.86 s, for four passes of arms
  lu.assertAlmostEquals(slice, 0.285, 0.005)
  lu.assertEquals(enough:begin(one, 2), slice)
  lu.assertNil(enough:begin(one, 1, true)) -- known already
  lu.assertEquals(enough.left_out, 0)
  local short = budget.new({ one }, { passes = 2, seconds = 0.75 })
  lu.assertEquals(short:begin(one, 1), 0.02) -- 0.70 s without timing
  short.seconds = 0.1
  lu.assertNil(short:begin(one, 2))
  lu.assertNil(short:begin(one, 1))
  lu.assertEquals(short.left_out, 2)
  lu.assertEquals(budget.new({ one }, { passes = 2 }):begin(one, 1), 0.05)
end

-- Cells are shared out whole, those that matter first to each.
function TestSuite.test_several_devices_share_the_cells()
  local lanes = require "perigee.irregularity.lanes"
  local plan = { { stage = "allocate", cells = { "a", "b" }, impls = { "cuda" } },
    { stage = "fuse", cells = { "a", "b" }, impls = { "cuda", "rust" } },
    { stage = "allocate", cells = { "c", "d" }, impls = { "cuda" } } }
  lu.assertEquals(lanes.share(plan, 2, 3), { { "a", "c" }, { "b", "d" } })
  lu.assertEquals(lanes.devices "cuda:0+cuda:1", { "cuda:0", "cuda:1" })
  local json = folder .. "/lanes.jsonl"
  local run = ("--device sim:profile+sim:profile --cell base,pts-20k,r-0.25 --stage allocate "
    .. "--impl rust --seed 3 --json %s"):format(json)
  local text, status = suite(run)
  lu.assertEquals({ status, text }, { 0, text })
  for _, cell in ipairs { "base   ", "pts-20k", "r-0.25 " } do
    lu.assertStrContains(text, ("allocate  %s  rust  passed"):format(cell))
  end
  local _, records = core.read_file(json):gsub("\n", "\n")
  lu.assertEquals(records, 6)
  lu.assertNil(core.file_info(json .. ".1"))
  local file <close> = io.open(json, "a")
  file:write('7\n[1]\n{"stage": "allocate", "pass": "x"}\n')
  file:close()
  lu.assertEquals({ suite(run .. " --resume") }, { text, 0 }) -- nothing is run again
  lu.assertEquals(select(2, core.read_file(json):gsub("\n", "\n")), 6)
end

-- What one lane could not do is said at the end; what the other did is there.
function TestSuite.test_a_lane_that_cannot_run_does_not_lose_the_other()
  local json = folder .. "/half.jsonl"
  local text, status = suite("--device sim+cuda:77 --cell base,pts-20k --stage allocate "
    .. "--impl cuda --json " .. json)
  lu.assertEquals(status, 3)
  lu.assertStrContains(text, "cuda:77: ")
  lu.assertStrContains(text, "allocate  base  cuda  passed")
  lu.assertEquals(core.json_decode(core.read_file(json)).cell, "base")
  lu.assertNil(core.file_info(json .. ".1"))
end

function TestSuite.test_what_lanes_leave_out_is_added_up()
  local json = folder .. "/short.jsonl"
  local text, status = suite("--device sim+sim --stage allocate --impl cuda --budget 0.001 "
    .. "--cell base,pts-20k,r-0.25 --json " .. json)
  lu.assertEquals(status, 0)
  lu.assertStrContains(text, "3 cells, or some passes, did not fit into the budget")
  lu.assertEquals(core.read_file(json), '{"left_out":3}\n')
end

-- Refused with exit status 2, before anything is run or printed.
local function refused(options, why)
  local text, status = suite(options)
  lu.assertEquals({ status, text }, { 2, text })
  lu.assertStrMatches(text, "perigee: " .. why:gsub("%p", "%%%0") .. ".*")
end

function TestSuite.test_options_that_do_not_go_together_and_arms_that_are_not()
  for options, why in pairs {
    ["--resume"] = "--resume goes with --json FILE",
    ["--data --resume --json x"] = "--resume is not for --data",
    ["--causes --device sim+sim"] = "--causes, --eight and --data run on one device",
    ["--impl cuda-lat"] = "no stage has an arm 'cuda-lat'",
    ["--data --stage allocate --impl cuda-warp"] = "no stage has an arm 'cuda-warp'",
  } do
    refused(options, why)
  end
end

-- An option that a mode does not read would be silently without effect.
function TestSuite.test_an_option_without_effect_is_refused()
  local values = { csv = "x", json = "x", charts = "x", counts = "x", impl = "cuda", passes = "1",
    budget = "1", seed = "1" }
  for mode, names in pairs {
    [""] = "ncu full once counts",
    ["--count"] = "ncu full once counts charts passes",
    ["--estimate"] = "ncu full once counts charts seed csv json resume count",
    ["--causes"] = "controls published count charts impl budget estimate resume eight data",
    ["--causes --once"] = "controls published count charts impl budget estimate resume eight data "
      .. "passes csv json full counts ncu",
    ["--eight"] = "controls published count charts impl budget estimate resume data passes json "
      .. "full counts ncu once",
    ["--data"] = "controls published count charts estimate resume full counts ncu once",
  } do
    for name in names:gmatch "%S+" do
      local text, status = suite(("%s --%s %s"):format(mode, name, values[name] or ""))
      lu.assertEquals({ status, text }, { 2, text })
      lu.assertStrMatches(text, ("perigee: %%-%%-%s is not for .*\n  [^\n]+\n"):format(name))
    end
  end
end

-- What nobody can be, and what would be found out after hours: said before anything is run.
function TestSuite.test_what_cannot_be_read_or_written_is_said_before_the_run()
  local nonsense = folder .. "/nonsense"
  core.write_file(nonsense, "nonsense\n7\n[]\n")
  local run = "--device sim --cell pts-20k --stage allocate --impl cuda"
  for options, why in pairs {
    [run .. " --csv " .. folder] = "cannot write",
    [run .. " --csv " .. folder .. "/no/x"] = "cannot write",
    [run .. " --json " .. folder] = "cannot write",
    [run .. " --resume --json " .. nonsense] = "there is no record in",
    [run .. " --charts " .. nonsense] = "cannot make",
    ["--eight --device sim --csv " .. folder] = "cannot write",
    ["--data --device sim --json " .. folder] = "cannot write",
    ["--causes --device sim --csv " .. folder] = "cannot write",
    ["--causes --device sim --counts " .. nonsense] = "no counters of base",
    ["--eight --device sim --stage fuse"] = "no stage 'fuse' of eight volumes",
    ["--stage dense_update --cell scan-bunny-warm"] = "no stage has such an arm in such a cell",
    ["--count --device sim"] = "--count counts on sim:profile, not on sim",
  } do
    refused(options, why)
  end
  lu.assertEquals(core.read_file(nonsense), "nonsense\n7\n[]\n")
end

-- What cannot be written is seen by opening it; a file that is there keeps what it has.
function TestSuite.test_looking_whether_a_file_can_be_written_leaves_it()
  local report, path = require "perigee.irregularity.report", folder .. "/kept"
  report.writable(path)
  lu.assertNil(core.file_info(path))
  core.write_file(path, "old")
  report.writable(path)
  lu.assertEquals(core.read_file(path), "old")
end

-- Records of a GPU that is not here: what tables and charts make of them.
local function made_up(path, whole)
  local lines = {}
  local function add(pass, cell, arm, us, lost)
    lines[#lines + 1] = core.json_encode {
      stage = "allocate", pass = pass, cell = cell, impl = arm,
      verdict = lost and "wrong_result" or "passed", time = us and { median_us = us } or nil,
      facts = { blocks = not whole and (cell == "base" and 1160 or 18160) or nil },
      reason = lost and ("no lost block: block (1, 2, 3) is missing; and %d more"):format(lost - 1),
    }
  end
  for pass = 1, 3 do
    for i, cell in ipairs { "base", "r-2.0", "load-0.5", "load-0.95" } do
      add(pass, cell, "cuda", 10 * i)
      add(pass, cell, "rust", 10 * i * (1 + 0.1 * pass))
      local lost = cell == "load-0.95" and not whole and 42 or nil
      add(pass, cell, "triton-published", not lost and 200 * i or nil, lost)
    end
  end
  core.write_file(path, table.concat(lines, "\n") .. "\n")
end

-- Tables and charts of records, by a gnuplot that keeps what it is told; by the true one, too,
-- where there is one. -> text, what was plotted
local function drawn(json)
  local bin, plots = folder .. "/bin", folder .. "/plots"
  core.mkdir_all(bin)
  os.remove(plots)
  core.write_file(bin .. "/gnuplot", ("#!/bin/sh\nPATH=${PATH#*:}\ntee -a '%s' | if command -v "
    .. "gnuplot >/dev/null; then gnuplot; else cat >/dev/null; fi\n"):format(plots))
  assert(os.execute(("chmod +x '%s/gnuplot'"):format(bin)))
  local pipe <close> = io.popen(("PATH='%s':$PATH '%s' '%s' --resume --json '%s' --device sim "
    .. "--stage allocate --cell base,r-2.0,load-0.5,load-0.95 --impl rust,triton-published "
    .. "--charts '%s/charts' 2>&1"):format(bin, BINARY, SCRIPT, json, folder))
  local text = pipe:read "a"
  lu.assertNotStrContains(text, "gnuplot")
  return text, core.read_file(plots)
end

function TestSuite.test_tables_and_charts_of_what_is_known()
  local json = folder .. "/known.jsonl"
  made_up(json)
  local text, plots = drawn(json)
  lu.assertStrMatches(text, ".*\nallocate  r%-2%.0 +rust +24%.00 us  1%.20 %(1%.10 %.%. 1%.30%) "
    .. "+of cuda.*")
  lu.assertStrMatches(text, ".*load%-0%.95  triton%-published  wrong_result .*no lost block.*")
  lu.assertStrContains(plots, '\nx "rust"\nbase 1.2\nr-2.0 1.2\n')
  lu.assertStrContains(plots, "(not drawn: triton-published 20.0 to 20.0)") -- far above
  lu.assertStrContains(plots, '\nx "cuda" "rust" "triton-published"\n1160 10 12 200\n'
    .. "18160 20 24 400\n")
  lu.assertStrContains(plots, "$lost << EOD\nx \"cuda\" \"rust\" \"triton-published\"\n"
    .. "0.5 NaN NaN NaN\n0.95 NaN NaN 42\n")
  lu.assertStrContains(plots, "axes x1y2")
end

-- An axis without a point is an error of gnuplot; so is a chart without a number of blocks.
function TestSuite.test_charts_of_stages_without_lost_blocks()
  local json = folder .. "/whole.jsonl"
  made_up(json, true)
  local _, plots = drawn(json)
  lu.assertStrContains(plots, "\n0.95 40 48 800\n")
  lu.assertNotStrContains(plots, "axes x1y2")
  lu.assertNotStrContains(plots, "larger spheres")
end

-- The kernels of eight volumes check themselves: each volume has the blocks that judged arms find.
function TestSuite.test_eight_volumes_at_once()
  local text, status = suite "--eight --device sim --cell pts-20k,base"
  lu.assertEquals({ status, text }, { 0, text })
  for _, row in ipairs { "allocate  base     cuda-no-wait", "update    base     cuda",
    "allocate  pts-20k  cuda" } do
    lu.assertStrContains(text, row)
  end
end

function TestSuite.test_bad_options_are_refused()
  local text, status = suite "--stage nowhere"
  lu.assertEquals(status, 2)
  lu.assertStrContains(text, "stages: allocate, update")
  text, status = suite("--device sim --cell base --stage fuse --json " .. folder .. "/no/x")
  lu.assertEquals(status, 2)
  lu.assertStrContains(text, "cannot write")
end

-- ---- causes ----

TestCauses = {}

local ablations = require "perigee.irregularity.ablations"
local causes = require "perigee.irregularity.causes"

-- Counters of every variant of both stages: cell, stage, variant key -> counters.
local function counted(cell)
  local dev <close> = require("perigee").device "sim:profile,workers=1"
  local scene = ablations.scene(cell, { purpose = "sim", seed = 4 })
  local rig <close> = ablations.rig(dev, scene, ablations.module(dev))
  local found = {}
  for stage in pairs(ablations.CHAIN) do
    for _, variant in ipairs(ablations.variants(stage)) do
      found[variant.key] = rig:count(variant)
    end
  end
  return found, scene
end

-- What each variant must count, by what it leaves out: these follow from the programs.
function TestCauses.test_each_variant_leaves_its_cause_out()
  for _, cell in ipairs { "base", "load-0.95" } do
    local c, scene = counted(cell)
    local lanes, samples = "global_atomic_lanes", scene.samples
    lu.assertTrue(c["allocate, empty"][lanes] > 0)
    lu.assertEquals(c.allocate[lanes], 0) -- no claim where all blocks are there
    lu.assertTrue(c.look_index.global_load_sectors < c.allocate.global_load_sectors)
    lu.assertEquals(c.empty.global_load_requests, 0)
    for _, key in ipairs { "update", "update_index", "update_index_spread",
      "update_index_in_order", "update_chain", "update_warp_chain", "update_spread" } do
      lu.assertEquals(c[key][lanes], 5 * samples, key) -- as many additions, wherever they go
    end
    lu.assertTrue(c.update_index.warp_instructions < c.update.warp_instructions)
    lu.assertTrue(c.update_index_spread.global_atomic_collisions
      < c.update_index.global_atomic_collisions)
    lu.assertEquals(c.update_index_in_order.global_atomic_collisions, 0)
    lu.assertEquals(c.update_stores[lanes], 0)
    lu.assertEquals(c.walk_alone.global_store_requests, 0)
    -- The walk reads each point once: 12 bytes in three loads.
    lu.assertEquals(c.walk_alone.global_load_bytes, 12 * scene.p.n)
  end
end

function TestCauses.test_parts_add_up_to_the_whole()
  local costs = {}
  for i, step in ipairs(ablations.CHAIN.update) do costs[ablations.key(step)] = 100 / i end
  local list, whole = causes.split("update", function(key) return costs[key] end)
  local sum = 0
  for _, one in ipairs(list) do sum = sum + one.cost end
  lu.assertAlmostEquals(sum, whole, 1e-9)
  lu.assertEquals({ list[1].cause, list[#list].cause }, { "probing", "launch" })
  lu.assertAlmostEquals(list[1].cost, 50, 1e-9)
  costs.update_stores = nil
  lu.assertNil(causes.split("update", function(key) return costs[key] end))
end

-- As CSV, the parts of a part come after the chain.
function TestCauses.test_the_split_as_csv()
  local report, csv, found = require "perigee.irregularity.report", folder .. "/split.csv", {}
  for i, variant in ipairs(ablations.variants "allocate") do
    found[variant.key] = { us = 100 / i }
  end
  report.causes_csv({ { stage = "allocate", cell = "base", found = found } }, csv)
  local chain, by_cause = ablations.CHAIN.allocate, {}
  local whole = found[ablations.key(chain[1])].us
  for cause, us, share in core.read_file(csv):gmatch "allocate,base,([%a ]+),([-%d.]+),([-%d.]+)" do
    by_cause[cause] = tonumber(us)
    lu.assertAlmostEquals(tonumber(share), tonumber(us) / whole, 1e-4)
  end
  lu.assertAlmostEquals(by_cause[chain[2].cause], whole - found[ablations.key(chain[2])].us, 1e-3)
  lu.assertAlmostEquals(by_cause.divergence, found.look_chain.us - found.look_warp_chain.us, 1e-3)
end

-- Times made of known weights: the fit finds them, and foretells each cell by the others.
function TestCauses.test_counts_explain_times_that_follow_from_them()
  local list = {}
  for cell = 1, 3 do
    for k = 1, 6 do
      local counters = { warp_instructions = 1e6 * (k + cell), global_load_sectors = 2e6 * k * k,
        global_atomic_sectors = 1e6 * (k % 3), global_atomic_collisions = 3e6 * (k % 2),
        global_store_sectors = 0 }
      list[#list + 1] = { cell = "c" .. cell, kernel = "k" .. k, counters = counters,
        us = 2 + 3 * (k + cell) + 0.5 * 2 * k * k + 7 * (k % 3) + 0.1 * 3 * (k % 2) }
    end
  end
  local model = causes.fit(list, 2)
  for k, weight in ipairs { 3, 0.5, 7, 0.1, 0 } do
    lu.assertAlmostEquals(model.weights[k], weight, 0.02)
  end
  local agreement = causes.agreement(list, 2)
  lu.assertEquals(agreement.cells, 3)
  lu.assertTrue(agreement.worst < 0.01, agreement.worst)
  for _, one in ipairs(list) do one.stage, one.samples = "update", 1 end
  list[#list + 1] = { stage = "update", cell = "c1", kernel = "empty", us = 2, samples = 1,
    counters = { warp_instructions = 0, global_load_sectors = 0, global_atomic_sectors = 0,
    global_atomic_collisions = 0, global_store_sectors = 0 } }
  local found = {}
  for _, row in ipairs(causes.agreement_rows(list)) do found[row[1] .. " " .. row[2]] = row[3] end
  lu.assertEquals(found["update largest error"]:sub(1, 3), "0.0")
  lu.assertAlmostEquals(tonumber(found["update warp instructions"]), 3, 0.02)
  lu.assertNil(found["allocate median error"])
end

-- With a kernel that does nothing alone, or without it, there is nothing to explain.
function TestCauses.test_what_counts_cannot_explain()
  local counters = { warp_instructions = 1e6, global_load_sectors = 1e6, global_atomic_sectors = 0,
    global_atomic_collisions = 0, global_store_sectors = 0 }
  local function one(kernel)
    return { stage = "update", cell = "base", kernel = kernel, us = 5, samples = 1,
      counters = counters }
  end
  for _, list in ipairs { {}, { one "empty" }, { one "update" } } do
    lu.assertNil(causes.explain(list, "update"))
    lu.assertEquals(causes.agreement_rows(list), {})
  end
  local model, agreement = causes.explain({ one "empty", one "update" }, "update")
  lu.assertEquals({ model.floor, agreement.of }, { 5, "base update" })
end

-- On the simulator with counts; "all there" has no claims to make, and the control no table.
function TestCauses.test_arms_on_other_data()
  local csv = folder .. "/data.csv"
  local text, status = suite("--data --device sim --cell base --stage allocate --csv " .. csv
    .. " --impl cuda,cuda-ray,rust,triton")
  lu.assertEquals({ status, text }, { 0, text })
  for _, arm in ipairs { "cuda", "cuda%-ray", "cuda%-late", "rust", "triton" } do
    local row = text:match("\nallocate  base  " .. arm .. " +([^\n]*)")
    local figures = {}
    for figure in row:gmatch "%S+" do figures[#figures + 1] = tonumber(figure) end
    lu.assertEquals(#figures, 5, row)
    lu.assertTrue(figures[3] < figures[1] and figures[2] < figures[3], row)
  end
  local _, rows = core.read_file(csv):gsub("\n", "\n")
  lu.assertEquals(rows, 1 + 5 * 4 + 3)
end

function TestCauses.test_counters_beside_those_of_hardware()
  local list = {}
  for k = 1, 3 do
    list[k] = { samples = 100, counters = { global_load_sectors = 100 * k,
      warp_instructions = 50 }, ncu = { global_load_sectors = 100, warp_instructions = 0.5 } }
  end
  lu.assertEquals(causes.against_hardware(list), { { name = "load sectors", typical = 2.0,
    least = 1.0, most = 3.0 } })
end

function TestCauses.test_the_command()
  local csv, json = folder .. "/causes.csv", folder .. "/causes.jsonl"
  local text, status = suite("--causes --device sim --cell base --ncu --json " .. json
    .. " --csv " .. csv)
  lu.assertEquals({ status, text }, { 0, text })
  lu.assertStrMatches(text, ".*\nallocate, base.*\n  waiting .*\nupdate, base.*collisions.*")
  lu.assertStrContains(text, "hardware counters: there is no GPU here")
  lu.assertEquals(core.read_file(csv), "stage,cell,cause,us,share\n") -- no clock here
  local _, variants = core.read_file(json):gsub('"variant_of"', "")
  lu.assertEquals(variants, #ablations.variants "allocate" + #ablations.variants "update")
  text, status = suite("--causes --device sim --cell base --once")
  lu.assertEquals({ status, text }, { 0, "" }) -- for a profiler
  text, status = suite("--causes --device sim --cell base --counts " .. folder .. "/none")
  lu.assertEquals(status, 2)
  lu.assertStrContains(text, "cannot read")
  text, status = suite "--causes --device sim --stage compact"
  lu.assertEquals(status, 2)
  lu.assertStrContains(text, "stages: allocate, update")
end

os.exit(lu.LuaUnit.run())
