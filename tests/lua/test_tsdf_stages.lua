-- Stages of the TSDF workload after fusion, compact, stencil and dense_update: kernels in every
-- language on the simulator, and their reference.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local case = require "perigee.case"
local catalogue = require "perigee.catalogue"
local judge = require "perigee.judge"
local tsdf = require "perigee.tsdf"

local ALL = { "hash/tsdf_compact", "hash/tsdf_compact_regular", "hash/tsdf_stencil7",
  "hash/tsdf_stencil7_regular", "hash/tsdf_stencil27", "hash/tsdf_stencil27_regular",
  "hash/tsdf_dense_update", "hash/tsdf_dense_update_regular" }

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

-- The blocks of a scene, by their coordinates, and their numbers.
local function numbered(seed)
  local task = catalogue.find("hash/tsdf_stencil7")[1]
  local io = case.make(task, task:resolve { purpose = "sim" }, seed).io
  local number, blocks = {}, io.block_count[0]
  for b = 0, blocks - 1 do
    local at = ("%d %d %d"):format(io.coord[3 * b], io.coord[3 * b + 1], io.coord[3 * b + 2])
    lu.assertNil(number[at])
    number[at] = b
  end
  return number, blocks
end

function TestStages:test_the_same_blocks_have_other_numbers_with_each_seed()
  local one, blocks = numbered(1)
  local other, equal = numbered(2), 0
  for at, number in pairs(one) do
    lu.assertNotNil(other[at])
    equal = equal + (other[at] == number and 1 or 0)
  end
  lu.assertTrue(equal < blocks / 4, equal)
end

function TestStages:test_numbers_of_blocks_are_checked()
  local function message(places)
    local how = { table = pg.array(tsdf.Entry, 8), coord = pg.array("i32", { 2, 3 }),
      place = pg.from_list("i32", places) }
    return select(2, pcall(require("hash.tsdf_reference").renumber, how)).message
  end
  lu.assertStrContains(message { 0, 2 }, "block 1 at place 2 of 2")
  lu.assertStrContains(message { 0, 1, 2 }, "3 places, but coordinates of 2")
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

-- One block seen by four pixels with a depth each, against plain Lua. Where focal and centre are
-- round, centres of voxels lie on the border of pixels: those may fall either way.
local function gathered(focal, centre)
  local how = { side = 2, focal = focal, centre = centre, cam_x = 0.0, cam_y = 0.0, cam_z = 0.0,
    voxel = 1.0, trunc = 4.0, inv_trunc = 0.25, coord = pg.from_list("i32", { -1, 0, 0, 0, 0, 1 }),
    active = pg.from_list("i32", { 1 }), depth = pg.from_list("f32", { 12.0, 5.0, 0.0, 40.0 }),
    image_weight = pg.from_list("f32", { 1.0, 2.0, 3.0, 0.5 }),
    image_color = core.array("u8", 12, 8) }
  for _, name in ipairs { "tsdf", "weight", "r", "g", "b", "slack" } do
    how[name] = core.array("f64", { 2, 512 }, 1)
  end
  local seen, optional = require "hash.tsdf_reference".dense(how)
  return how, seen, optional
end

function TestStages:test_the_reference_of_dense_update()
  local focal, centre = 1.7, 0.37
  local how, seen, optional = gathered(focal, centre)
  lu.assertEquals(optional, 0)
  local count = 0
  for i = 0, 511 do
    local x, y, z = i % 8 + 0.5, i // 8 % 8 + 0.5, 8 + i // 64 + 0.5
    local u, v = math.floor(x / z * focal + centre), math.floor(y / z * focal + centre)
    local depth = u < 2 and v < 2 and how.depth[2 * v + u] or 0
    local sdf, w = depth - z, how.image_weight[u < 2 and v < 2 and 2 * v + u or 0]
    local adds = depth > 0 and sdf >= -4
    count = count + (adds and 1 or 0)
    lu.assertEquals(how.weight[512 + i], adds and 1 + w or 1.0)
    lu.assertAlmostEquals(how.tsdf[512 + i], adds and 1 + math.min(1, sdf / 4) * w or 1.0, 1e-14)
    lu.assertEquals(how.g[512 + i], adds and 1 + 8 * w or 1.0)
    lu.assertEquals(how.weight[i], 1.0) -- the other block
  end
  lu.assertEquals(seen, count)
  lu.assertTrue(count > 50 and count < 500, count)
end

function TestStages:test_voxels_on_the_border_of_a_pixel_may_fall_either_way()
  local how, _, optional = gathered(3.0, 0.0) -- u = 1 where 3 x = z
  lu.assertTrue(optional > 0)
  local vast = 0
  for i = 512, 1023 do vast = vast + (how.slack[i] > 1e6 and 1 or 0) end
  lu.assertEquals(vast, optional)
  lu.assertTrue(how.slack[512 + 4 + 64 * 5] > 1e6) -- x = 4.5, z = 13.5
  lu.assertTrue(how.slack[512 + 4 + 64 * 4] < 1e6) -- x = 4.5, z = 12.5
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

os.exit(lu.LuaUnit.run())
