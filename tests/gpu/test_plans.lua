-- Plans through the command line, on PERIGEE_TEST_DEVICE or the default device: loops, scratch,
-- cooperative launches, exports and folders, judged and timed by every method.
-- tests/lua/test_plans.lua runs the same on the simulator.
local lu = require "luaunit"
local core = require "perigee.core"

io.stdout:setvbuf "line" -- whoever stops it sees how far it came
local SPEC = os.getenv("PERIGEE_TEST_DEVICE") or core.default_device()
local COMMAND = (os.getenv("PERIGEE_TEST_COMMAND") or "build/perigee") .. " %s --device " .. SPEC
  .. " --json --budget 0.2 --timeout 10 2>&1"
local PLANS, LAYOUT = "tests/candidates/plans/", "tests/candidates/layout/"

-- Records in order, and by the name of implementation or candidate.
local function records(arguments)
  local pipe <close> = io.popen(COMMAND:format(arguments))
  local list, by_name = {}, {}
  for line in pipe:lines() do
    local rec, message = core.json_decode(line)
    lu.assertNotNil(rec, tostring(message) .. ": " .. line)
    list[#list + 1], by_name[rec.impl] = rec, rec
  end
  return by_name, list
end

local function assert_timed(rec)
  lu.assertEquals(rec.verdict, "passed", rec.reason)
  if not rec.time then
    lu.assertStrContains(rec.device, "sim")
    return
  end
  lu.assertTrue(rec.time.median_us > 0 and rec.time.samples >= 6)
end

local TestPlans = {}

function TestPlans:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

for _, method in ipairs { "cold", "hot", "batch" } do
  TestPlans["test_loops_and_cooperative_launches_" .. method] = function()
    local got = records(("run %sspread.lua --method %s"):format(PLANS, method))
    assert_timed(got.naive)
    assert_timed(got.grid)
    lu.assertEquals(got.short.verdict, "timeout")
    lu.assertEquals(got.short.reason, "done is still 0 after 3 rounds")
    lu.assertNil(got.short.time)
  end
  TestPlans["test_exports_" .. method] = function()
    local got = records(("check %spairs.lua %spairs.cu %ssoa --method %s"):format(LAYOUT, LAYOUT,
      LAYOUT, method))
    assert_timed(got["pairs.cu"])
    assert_timed(got.soa)
    lu.assertTrue(got.soa.export_us > 0)
    lu.assertNil(got["pairs.cu"].export_us)
  end
end

-- An old driver has no graphs; a loop waits for the device, which no graph does. Where there is one
-- version of the inputs a sample is one launch, and that needs no graph.
function TestPlans:test_graphs()
  local got = records(("check %spairs.lua %spairs.cu %ssoa --method graph"):format(LAYOUT, LAYOUT,
    LAYOUT))
  if got.soa.reason ~= "this driver has no graphs" then
    assert_timed(got["pairs.cu"])
    assert_timed(got.soa)
    lu.assertEquals(got.soa.time and got.soa.time.method or "graph", "graph")
  end
  got = records(("run %sspread.lua --method graph"):format(PLANS))
  if got.naive.verdict ~= "unsupported" then
    lu.assertEquals(got.naive.verdict, "passed", got.naive.reason)
  end
  lu.assertNotEquals(got.naive.time and got.naive.time.method, "graph")
end

function TestPlans:test_what_an_export_may_not_bring()
  local got = records(("check %spairs.lua %slate %speek %sagain %snothing"):format(LAYOUT, LAYOUT,
    LAYOUT, LAYOUT, LAYOUT))
  lu.assertEquals(got.late.verdict, "wrong_result", got.late.reason)
  lu.assertTrue(got.peek.verdict == "wrong_result" or got.peek.verdict == "uninitialized_read")
  lu.assertEquals(got.again.verdict, "launch_error")
  lu.assertEquals(got.nothing.verdict, "unwritten_output")
end

function TestPlans:test_a_folder_with_knobs_headers_and_a_template()
  for _, block in ipairs { 128, 256 } do
    local got = records("check vector/saxpy tests/candidates/folder --knob BLOCK=" .. block)
    assert_timed(got.folder)
    lu.assertEquals(got.folder.knobs, { BLOCK = block })
    lu.assertStrContains(got.folder.kernels[1].name, ("axpyILi%dE"):format(block))
  end
end

function TestPlans:test_tensor_maps_and_clusters()
  local _, list = records(("run %shopper.lua"):format(PLANS))
  lu.assertEquals(#list, 4)
  for _, rec in ipairs(list) do
    if SPEC:find("^cuda") then assert_timed(rec)
    else lu.assertEquals(rec.verdict, "unsupported", rec.reason) end
  end
end

function TestPlans:test_a_bad_plan_ends_no_run()
  local _, list = records("check vector/saxpy tests/malformed/plans/large_block "
    .. "tests/malformed/plans/repeat_for_ever tests/malformed/plans/memory "
    .. "tests/candidates/saxpy/right.cu")
  lu.assertEquals({ list[1].verdict, list[2].verdict, list[3].verdict },
    { "launch_error", "timeout", "compile_error" })
  assert_timed(list[4])
end

os.exit(lu.LuaUnit.new():runSuiteByInstances({ { "TestPlans", TestPlans } }))
