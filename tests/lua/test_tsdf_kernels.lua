-- The kernels of the TSDF tasks on the simulator, judged by the gate. With one fault each:
-- test_tsdf_faults.lua.
local lu = require "luaunit"
local catalogue = require "perigee.catalogue"
local judge = require "perigee.judge"

local ALL = { "hash/tsdf_allocate", "hash/tsdf_update", "hash/tsdf_fuse" }

local function run(name, how, device)
  local session <close> = judge.session { device = device or "sim:check", seed = 11 }
  local records = {}
  session:run(catalogue.find(name)[1], how, function(rec) records[#records + 1] = rec end)
  return records
end

local function assert_all_pass(set, cells, device)
  for _, name in ipairs(ALL) do
    local records = run(name, { cells = cells or { "base" }, set = set }, device)
    lu.assertTrue(#records >= 2)
    for _, rec in ipairs(records) do
      lu.assertEquals(rec.verdict, "passed", ("%s %s: %s"):format(name, rec.impl, rec.reason))
    end
  end
end

TestKernels = {}

function TestKernels:test_cells_of_every_axis()
  assert_all_pass({}, { "base", "pts-20k", "r-1.0", "lf-hi", "load-0.95", "plane-320k" })
end

function TestKernels:test_without_checks_on_all_workers()
  assert_all_pass({}, { "pts-1280k" }, "sim")
end

function TestKernels:test_a_pool_that_is_too_small()
  for _, rec in ipairs(run(ALL[3], { cells = { "base" }, set = { capacity = 20,
    table_size = 256 } })) do
    lu.assertEquals(rec.verdict, "passed", rec.reason)
    lu.assertEquals(rec.facts.drops, rec.facts.blocks - 20)
  end
end

function TestKernels:test_a_warm_volume()
  assert_all_pass { warm = true, jitter = 3.0 }
end

function TestKernels:test_published_weights_with_a_cap()
  local set = { compat = "published", rows = 96, cols = 96, radius = 0.06 }
  assert_all_pass(set)
  for _, rec in ipairs(run(ALL[2], { cells = { "base" }, set = set })) do
    lu.assertTrue(rec.facts.rejected > 0)
  end
end

function TestKernels:test_one_point_and_odd_sizes()
  assert_all_pass { rows = 1, cols = 1 }
  assert_all_pass { rows = 7, cols = 37, threads = 64, jitter = 1.0, cam_x = 0.03 }
end

os.exit(lu.LuaUnit.run())
