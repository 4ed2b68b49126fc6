-- The stages of the TSDF workload after fusion, compact and stencil: kernels in every language on
-- the simulator, and kernels with one fault each, which must be rejected for that fault.
local lu = require "luaunit"
local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local files = require "perigee.files"
local impl = require "perigee.impl"
local judge = require "perigee.judge"

local ALL = { "hash/tsdf_compact", "hash/tsdf_compact_regular" }

local function run(name, how, device)
  local session <close> = judge.session { device = device or "sim:check", seed = 21 }
  local records = {}
  session:run(catalogue.find(name)[1], how, function(rec) records[#records + 1] = rec end)
  return records
end

local function assert_all_pass(set, cells, device)
  for _, name in ipairs(ALL) do
    local records = run(name, { cells = cells or { "base" }, set = set }, device)
    lu.assertTrue(#records >= 3, name)
    for _, rec in ipairs(records) do
      lu.assertEquals(rec.verdict, "passed", ("%s %s: %s"):format(name, rec.impl, rec.reason))
    end
  end
end

TestStages = {}

function TestStages:test_cells_of_every_axis()
  assert_all_pass({}, { "base", "pts-20k", "r-1.0", "lf-hi", "load-0.95", "plane-320k" }, "sim")
end

function TestStages:test_a_pool_that_was_too_small()
  assert_all_pass { capacity = 20, table_size = 256 }
end

function TestStages:test_one_point_and_odd_sizes()
  assert_all_pass { rows = 1, cols = 1 }
  assert_all_pass { rows = 7, cols = 37, jitter = 1.0, cam_x = 0.03 }
end

function TestStages:test_all_blocks_idle_and_none()
  for _, idle in ipairs { 0.0, 1.0 } do
    for i = 1, 2 do
      for _, rec in ipairs(run(ALL[i], { cells = { "base" }, set = { idle = idle } })) do
        lu.assertEquals(rec.verdict, "passed", rec.reason)
        lu.assertEquals(rec.facts.active, idle == 0.0 and rec.facts.blocks or 0)
      end
    end
  end
end

-- ---- faults ----

TestFaults = {}

function TestFaults:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

local folder = os.tmpname()
os.remove(folder)
core.mkdir_all(folder)

-- The kernel file with one thing changed, which must be there to change.
local function changed(stage, from, to)
  for _, name in ipairs { stage .. ".cu", "tsdf.cuh" } do
    local text = files.read(core.home .. "/kernels/tsdf/" .. name)
    if name ~= "tsdf.cuh" then
      local at, last = text:find(from, 1, true)
      lu.assertNotNil(at, "not in " .. name .. ": " .. from)
      text = text:sub(1, at - 1) .. to .. text:sub(last + 1)
    end
    core.write_file(folder .. "/" .. name, text)
  end
end

local function check(name, stage)
  local session <close> = judge.session { device = "sim:check", seed = 22, timeout = 10 }
  local candidate = impl.candidate(("%s/%s.cu"):format(folder, stage))
  return session:check(catalogue.find("hash/tsdf_" .. name)[1], candidate, {})
end

local function assert_fails(name, stage, from, to, verdict)
  changed(stage, from, to)
  local rec = check(name, stage)
  lu.assertEquals(rec.verdict, verdict, ("%s: %s"):format(to, rec.reason))
end

function TestFaults:test_compact()
  local function fails(from, to, verdict, name)
    assert_fails(name or "compact", "compact", from, to, verdict or "wrong_result")
  end
  fails("k < 4; ++k) positive", "k < 3; ++k) positive") -- the last quarter unseen
  fails("v.x > 0.0f || ", "") -- one voxel of four unseen
  fails("v.w > 0.0f", "v.w >= 0.0f") -- blocks without weight are listed
  fails("min(*block_count, capacity)", "min(*block_count + 8, capacity)") -- what is left from earlier
  fails("min(*block_count, capacity)", "*block_count", "out_of_bounds") -- blocks without a place
  fails("if (lane_of() == 0) active", "if (lane_of() < 2) active", "out_of_bounds") -- listed twice
  fails("atomicAdd(active_count, 1)", "(*active_count)++", "race")
  fails("*active_count = at + listed", "*active_count = at", nil, "compact_regular")
end

function TestFaults:tearDown()
  os.remove(folder .. "/compact.cu")
end

os.exit(lu.LuaUnit.run())
