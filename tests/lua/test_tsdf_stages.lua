-- The stages of the TSDF workload after fusion, compact and stencil: kernels in every language on
-- the simulator, and kernels with one fault each, which must be rejected for that fault.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local catalogue = require "perigee.catalogue"
local files = require "perigee.files"
local impl = require "perigee.impl"
local judge = require "perigee.judge"

local ALL = { "hash/tsdf_compact", "hash/tsdf_compact_regular", "hash/tsdf_stencil7",
  "hash/tsdf_stencil7_regular", "hash/tsdf_stencil27", "hash/tsdf_stencil27_regular" }

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
  assert_all_pass({}, { "pts-20k", "load-0.95", "plane-320k" }, "sim")
end

function TestStages:test_a_pool_that_was_too_small()
  assert_all_pass { capacity = 20, table_size = 256 }
end

function TestStages:test_one_point_and_odd_sizes()
  assert_all_pass({ rows = 1, cols = 1 }, nil, "sim")
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

-- The reference of the stencils against plain Lua on a dense grid of 3 x 2 x 2 blocks, one missing.
function TestStages:test_the_reference_of_the_stencils()
  local reference = require "hash.tsdf_reference"
  local coord, dense, list = {}, {}, {}
  for b = 0, 10 do table.move({ b % 3 - 1, b // 3 % 2, b // 6 + 5 }, 1, 3, 3 * b + 1, coord) end
  local function key(x, y, z) return x + 1000 * y + 1000000 * z end
  local function voxel(b, v)
    return 8 * coord[3 * b + 1] + v % 8, 8 * coord[3 * b + 2] + v // 8 % 8,
      8 * coord[3 * b + 3] + v // 64
  end
  for b = 0, 10 do
    for v = 0, 511 do
      list[512 * b + v + 1] = (b * 512 + v) * 7 % 101 - 50.0
      dense[key(voxel(b, v))] = list[512 * b + v + 1]
    end
  end
  local neighbor = core.array("i32", { 11, 27 })
  reference.neighbors { coord = pg.from_list("i32", coord), neighbor = neighbor }
  for _, taps in ipairs { 7, 27 } do
    local sum, magnitude = core.array("f64", { 11, 512 }), core.array("f64", { 11, 512 })
    reference.stencil { field = pg.from_list("f32", list), neighbor = neighbor, taps = taps,
      sum = sum, magnitude = magnitude }
    for i = 0, 11 * 512 - 1, 3 do
      local x, y, z = voxel(i // 512, i % 512)
      local want = 0
      for d = 0, 26 do
        local dx, dy, dz = d % 3 - 1, d // 3 % 3 - 1, d // 9 - 1
        if taps == 27 or dx * dx + dy * dy + dz * dz <= 1 then
          want = want + (dense[key(x + dx, y + dy, z + dz)] or 0)
        end
      end
      lu.assertEquals(sum[i], want + 0.0)
      lu.assertTrue(magnitude[i] >= math.abs(want))
    end
  end
end

function TestStages:test_mistakes_in_calls_of_the_reference()
  local reference = require "hash.tsdf_reference"
  local function fails(code, call, how)
    local ok, e = pcall(call, how)
    lu.assertFalse(ok)
    lu.assertEquals(e.code, code)
  end
  local field, neighbor = core.array("f32", 512), core.array("i32", { 1, 27 }, 1)
  local sums = { sum = core.array("f64", 512), magnitude = core.array("f64", 512), taps = 7 }
  fails("range", reference.neighbors, { coord = core.array("i32", 3), neighbor = core.array("i32",
    54) })
  sums.field, sums.neighbor = field, neighbor
  fails("range", reference.stencil, sums) -- a neighbour that is not there
  sums.neighbor = nil
  fails("invalid", reference.stencil, sums)
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

function TestFaults:test_stencil()
  local function fails(from, to, verdict, name)
    assert_fails(name or "stencil7", "stencil", from, to, verdict or "wrong_result")
  end
  fails("abs(dz) <= 1", "abs(dz) <= 2") -- 19 taps
  fails("return block < 0 ? 0.0f : tsdf", "return tsdf", "out_of_bounds") -- missing blocks
  fails("block < 0 ? 0.0f", "block < 0 ? 1.0f")
  fails("find(table, mask, at[0] + d.x", "find(table, mask, at[0] - d.x") -- mirrored
  fails("(x + 8) / 8 +", "1 +") -- periodic in each block
  fails("__syncthreads();", "", "uninitialized_read")
  fails("neighbor[27 * (size_t)block + t]", "neighbor[27 * (size_t)block + 26 - t]", nil,
    "stencil27_regular")
end

os.exit(lu.LuaUnit.run())
