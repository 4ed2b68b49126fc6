-- The regular controls of the TSDF workload on the simulator, kernels with one fault each, which
-- must be rejected for it, and the orders of points.
local lu = require "luaunit"
local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local judge = require "perigee.judge"
local params = require "perigee.params"
local rng = require "perigee.rng"
local tsdf = require "perigee.tsdf"

local ALL = { "hash/tsdf_allocate_regular", "hash/tsdf_update_regular", "hash/tsdf_update_dense" }

local function run(name, how, device)
  local session <close> = judge.session { device = device or "sim:check", seed = 31 }
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

TestControls = {}

function TestControls:test_cells_of_every_axis()
  assert_all_pass({}, { "pts-20k", "r-1.0", "lf-hi", "load-0.95", "plane-320k" }, "sim")
end

function TestControls:test_a_moved_camera_and_odd_sizes()
  assert_all_pass { rows = 7, cols = 37, jitter = 1.0, cam_x = 0.03, cam_z = -1.5 }
end

function TestControls:test_weights_as_published()
  assert_all_pass { compat = "published" }
end

-- The same scene has the same blocks, whatever holds them.
function TestControls:test_as_many_blocks_as_the_table_has()
  local counts = {}
  for i, name in ipairs { ALL[1], "hash/tsdf_allocate" } do
    counts[i] = run(name, { cells = { "r-1.0" }, impls = { "cuda" } }, "sim")[1].facts.blocks
  end
  lu.assertEquals(counts[1], counts[2])
end

function TestControls:test_a_lattice_that_is_too_large_is_refused()
  local declared = params.declare(tsdf.params(), "test")
  local p = tsdf.derive(params.resolve(declared, { purpose = "sim", set = { radius = 900.0 },
    where = "test" }))
  local ok, e = pcall(tsdf.lattice, p)
  lu.assertEquals({ ok, e.code }, { false, "range" })
  lu.assertStrContains(e.message, "a dense grid of")
end

-- ---- faults ----

TestFaults = {}

function TestFaults:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

-- regular.cu with one thing changed, which must be there to change.
local function verdict_of(name, kernel, from, to)
  local text = core.read_file(core.home .. "/kernels/tsdf/regular.cu")
  local at, last = text:find(from, 1, true)
  lu.assertNotNil(at, from)
  text = text:sub(1, at - 1) .. to .. text:sub(last + 1)
  text = text:gsub('#include "lattice.cuh"', ('#include "%s/kernels/tsdf/lattice.cuh"'):format(
    core.home))
  local session <close> = judge.session { device = "sim:check", seed = 31 }
  local rec = session:check(catalogue.find(name)[1], { name = "faulty", lang = "cuda",
    kernel = kernel, source = text, path = "./faulty.cu", shown = "faulty.cu" }, {})
  return rec.verdict, rec.reason or ""
end

function TestFaults:test_marks()
  local function judged(from, to) return verdict_of(ALL[1], "allocate_regular", from, to) end
  lu.assertEquals(judged("store_relaxed(at, 1)", "store_relaxed(at, 1)"), "passed")
  local verdict, reason = judged("store_relaxed(at, 1)", "store_relaxed(at, 2)")
  lu.assertEquals(verdict, "wrong_result")
  lu.assertStrContains(reason, "expected 0 or 1")
  verdict, reason = judged("s <= steps", "s <= -steps")
  lu.assertEquals(verdict, "wrong_result")
  lu.assertStrContains(reason, "block")
  verdict = judged("present[place_of(lattice, sample)]",
    "present[place_of(lattice, sample) / 2 * 2]")
  lu.assertEquals(verdict, "wrong_result")
end

function TestFaults:test_sums()
  local function judged(from, to) return verdict_of(ALL[2], "update_regular", from, to) end
  lu.assertEquals(judged("s = -steps", "s = -steps"), "passed")
  lu.assertEquals(judged("const int block = index[place_of(lattice, sample)];",
    "const int block = index[place_of(lattice, sample)] & ~1;"), "wrong_result")
end

-- ---- orders of points ----

TestOrder = {}

local function points_of(order)
  local declared = params.declare(tsdf.params(), "test")
  local p = tsdf.derive(params.resolve(declared, { purpose = "sim", set = { order = order },
    where = "test" }))
  return tsdf.points(p, rng.new(5)), p
end

-- How far neighbours in memory are apart in the mean, metres.
local function mean_step(points)
  local sum, n = 0, points.count // 3
  for i = 1, n - 1 do
    local squares = 0
    for axis = 0, 2 do squares = squares + (points[3 * i + axis] - points[3 * i - 3 + axis]) ^ 2 end
    sum = sum + math.sqrt(squares)
  end
  return sum / (n - 1)
end

local function sorted(points)
  local list = {}
  for i = 0, points.count // 3 - 1 do
    list[i + 1] = ("%.9g %.9g %.9g"):format(points[3 * i], points[3 * i + 1], points[3 * i + 2])
  end
  table.sort(list)
  return list
end

function TestOrder:test_the_points_are_the_same_and_their_neighbourhood_is_not()
  local given, shuffled, morton = points_of "given", points_of "shuffled", points_of "morton"
  lu.assertEquals(sorted(shuffled), sorted(given))
  lu.assertEquals(sorted(morton), sorted(given))
  lu.assertTrue(mean_step(shuffled) > 10 * mean_step(given))
  lu.assertTrue(mean_step(morton) < 3 * mean_step(given))
  lu.assertTrue(points_of "shuffled":equal_bits(shuffled))
end

-- Morton codes bit by bit, in plain Lua.
function TestOrder:test_morton_codes_ascend()
  local points, p = points_of "morton"
  local last = -1
  for i = 0, points.count // 3 - 1 do
    local code = 0
    for axis = 0, 2 do
      local at = math.floor(points[3 * i + axis] / p.voxel) + (1 << 20)
      for bit = 0, 20 do code = code | (at >> bit & 1) << 3 * bit + axis end
    end
    lu.assertTrue(code >= last, i)
    last = code
  end
end

function TestOrder:test_stages_are_right_in_every_order()
  for _, order in ipairs { "morton", "shuffled" } do
    for _, name in ipairs { "hash/tsdf_allocate", "hash/tsdf_update", ALL[1] } do
      for _, rec in ipairs(run(name, { cells = { "base" }, impls = { "cuda" },
        set = { order = order } })) do
        lu.assertEquals(rec.verdict, "passed", rec.reason)
      end
    end
  end
end

-- An arm that waits for nobody must give the same volume.
function TestOrder:test_no_wait_is_right()
  for _, rec in ipairs(run("hash/tsdf_allocate", { cells = { "base", "lf-hi", "load-0.95" },
    impls = { "cuda-no-wait" } })) do
    lu.assertEquals(rec.verdict, "passed", rec.reason)
  end
end

os.exit(lu.LuaUnit.run())
