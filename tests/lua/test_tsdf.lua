-- The TSDF workload: its geometry against published block counts, and the gate against honest and
-- damaged volumes. The honest volume is made here, in plain Lua and binary64, without the
-- reference.
local lu = require "luaunit"
local core = require "perigee.core"
local params = require "perigee.params"
local rng = require "perigee.rng"
local tsdf = require "perigee.tsdf"
local context = require "perigee.context"

local validator = dofile((core.home or ".") .. "/validators/tsdf_volume.lua")
local declared = params.declare(tsdf.params(), "test_tsdf.lua")

local function resolve(set, purpose, cell)
  return tsdf.derive(params.resolve(declared, {
    purpose = purpose or "sim", cell = cell, set = set, where = "test_tsdf.lua",
  }))
end

local function cell_named(name)
  for _, cell in ipairs(tsdf.cells()) do
    if cell.name == name then return cell end
  end
  error("no cell " .. name)
end

local function blocks_of(p)
  local inputs = tsdf.allocate_inputs(p, rng.new(1))
  return tsdf.reference(p, inputs).model:facts()
end

-- ---- geometry ----

TestGeometry = {}

-- arXiv 2608.08287: the column `blocks` of its measurements.
function TestGeometry:test_block_counts_are_the_published_ones()
  for name, blocks in pairs {
    base = 1160, ["pts-20k"] = 1104, ["pts-80k"] = 1160, ["pts-720k"] = 1160, ["pts-1280k"] = 1160,
    ["r-0.25"] = 280, ["r-1.0"] = 4752, ["r-2.0"] = 18160, ["plane-320k"] = 1060,
  } do
    local facts = blocks_of(resolve({}, "default", cell_named(name)))
    lu.assertEquals(facts.blocks, blocks, name)
    lu.assertEquals(facts.optional_blocks, 0, name)
  end
end

function TestGeometry:test_capacities_are_multiples_of_the_measured_count()
  for _, one in ipairs { { "lf-hi", 1.05 }, { "lf-mid", 2 }, { "lf-lo", 4 }, { "lf-sparse",
    16 } } do
    for _, purpose in ipairs { "default", "sim" } do
      local p = resolve({}, purpose, cell_named(one[1]))
      lu.assertEquals(p.capacity, math.floor(one[2] * blocks_of(p).blocks + 0.5), one[1])
    end
  end
end

function TestGeometry:test_loads_are_what_their_names_say()
  for _, name in ipairs { "0.5", "0.6", "0.7", "0.8", "0.9", "0.95" } do
    for _, purpose in ipairs { "default", "sim" } do
      local p = resolve({}, purpose, cell_named("load-" .. name))
      local facts = blocks_of(p)
      lu.assertEquals(facts.blocks, p.capacity, name)
      lu.assertAlmostEquals(facts.blocks / p.table_size, tonumber(name), 0.02, name)
    end
  end
end

function TestGeometry:test_sphere_points_are_rounded_from_binary64()
  local p = resolve { rows = 3, cols = 4, radius = 0.7 }
  local points = tsdf.points(p, rng.new(1))
  local theta, phi = math.pi * 1.5 / 3, 2 * math.pi * 3 / 4
  local want = core.array("f32", 3)
  want[0] = 0.7 * math.sin(theta) * math.cos(phi)
  want[1] = 0.7 * math.sin(theta) * math.sin(phi)
  want[2] = 0.7 * math.cos(theta)
  lu.assertTrue(want:equal_bits(points:reshape(36):slice(3 * 7, 3)))
end

function TestGeometry:test_a_table_that_is_no_power_of_two_is_refused()
  local ok, e = pcall(resolve, { table_size = 1000 })
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "range")
  lu.assertStrContains(e.hint, "512 and 1024")
end

function TestGeometry:test_a_point_at_the_camera_is_refused()
  local p = resolve { scene = "plane", rows = 3, cols = 3, distance = 1, cam_z = 1 }
  local ok, e = pcall(blocks_of, p)
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "no direction from the camera")
end

function TestGeometry:test_points_too_far_for_the_keys_are_refused()
  local ok, e = pcall(blocks_of, resolve { radius = 1000, voxel = 1e-5 })
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "range")
  lu.assertStrContains(e.message, "must lie within")
end

function TestGeometry:test_a_table_that_cannot_hold_the_blocks_is_refused()
  local ok, e = pcall(blocks_of, resolve { table_size = 32 })
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "cannot hold 64 blocks")
  lu.assertStrContains(e.hint, "table_size=64")
end

-- ---- an honest volume ----

local function key_of(x, y, z)
  return (x + (1 << 20)) << 42 | (y + (1 << 20)) << 21 | (z + (1 << 20))
end

local function slot_of(p, x, y, z)
  return (x * 73856093 ~ y * 19349663 ~ z * 83492791) & (p.table_size - 1)
end

local function f32(value)
  return (string.unpack("<f", string.pack("<f", value)))
end

-- f(block coordinates, index in the block, point, sdf) for every sample that counts. Binary64 but
-- for the last product: a point that lies on a border has no other rounding, and no freedom to fall
-- elsewhere.
local function each_sample(p, points, f)
  local a, floor = tsdf.args(p), math.floor
  for i = 0, p.n - 1 do
    local x, y, z = points[3 * i], points[3 * i + 1], points[3 * i + 2]
    local dx, dy, dz = x - a.cam_x, y - a.cam_y, z - a.cam_z
    local length = math.sqrt(dx * dx + dy * dy + dz * dz)
    for s = -a.steps, a.steps do
      local t = s * a.voxel / length
      local vx = floor(f32((x + dx * t) * a.inv_voxel))
      local vy = floor(f32((y + dy * t) * a.inv_voxel))
      local vz = floor(f32((z + dz * t) * a.inv_voxel))
      local cx, cy = (vx + 0.5) * a.voxel - a.cam_x, (vy + 0.5) * a.voxel - a.cam_y
      local cz = (vz + 0.5) * a.voxel - a.cam_z
      local sdf = length - math.sqrt(cx * cx + cy * cy + cz * cz)
      if sdf >= -a.trunc then
        f(vx // 8, vy // 8, vz // 8, (vx & 7) | (vy & 7) << 3 | (vz & 7) << 6, i, sdf)
      end
    end
  end
end

local function insert(p, volume, x, y, z)
  local key, slot = key_of(x, y, z), slot_of(p, x, y, z)
  while true do
    local entry = volume.table[slot]
    if entry.key == key then return entry.block end
    if entry.key == -1 then break end
    slot = (slot + 1) & (p.table_size - 1)
  end
  local block = volume.block_count[0]
  volume.block_count[0] = block + 1
  if block >= p.capacity then
    block = -2
    volume.drop_count[0] = volume.drop_count[0] + 1
  else
    volume.coord:set(block, 0, x)
    volume.coord:set(block, 1, y)
    volume.coord:set(block, 2, z)
  end
  volume.table[slot] = { key = key, block = block, pad = 77 } -- padding is free
  return block
end

local function empty_volume(p)
  local volume = {
    table = core.array(tsdf.Entry, p.table_size), coord = core.array("i32", { p.capacity, 3 }),
    block_count = core.array("i32", 1), drop_count = core.array("u64", 1),
  }
  volume.table:fill_bytes(0xFF)
  for _, name in ipairs { "tsdf", "weight", "r", "g", "b" } do
    volume[name] = core.array("f32", { p.capacity, 512 })
  end
  return volume
end

-- Sums in binary32, in the order of the points; a weight cap is kept as a sequential program would.
local function fuse(p, inputs)
  local volume, a = empty_volume(p), tsdf.args(p)
  local w, c = inputs.point_weight, inputs.point_color
  local function add(name, at, value) volume[name][at] = volume[name][at] + f32(value) end
  each_sample(p, inputs.points, function(x, y, z, index, i, sdf)
    local block = insert(p, volume, x, y, z)
    local at = block * 512 + index
    if block < 0 or (p.weight_cap > 0 and volume.weight[at] >= p.weight_cap) then return end
    add("tsdf", at, math.max(-1, math.min(1, sdf * a.inv_trunc)) * w[i])
    add("weight", at, w[i])
    add("r", at, c[3 * i] * w[i])
    add("g", at, c[3 * i + 1] * w[i])
    add("b", at, c[3 * i + 2] * w[i])
  end)
  return volume
end

local function setup(set)
  local p = resolve(set)
  local inputs = tsdf.fuse_inputs(p, rng.new(5))
  return { p = p, inputs = inputs, expected = tsdf.reference(p, inputs), volume = fuse(p, inputs) }
end

local function judge(case, volume)
  return validator(context.new {
    params = case.p, inputs = case.inputs, state = volume or case.volume, expected = case.expected,
    options = { table = true, sums = true },
  })
end

local function copy(volume)
  local result = {}
  for name, array in pairs(volume) do result[name] = array:copy() end
  return result
end

-- ---- the gate accepts ----

TestHonest = {}

local SMALL = { rows = 24, cols = 48, radius = 0.06, capacity = 40 }

local function with(changes)
  local set = {}
  for name, value in pairs(SMALL) do set[name] = value end
  for name, value in pairs(changes or {}) do set[name] = value end
  return set
end

local function assert_passes(result)
  lu.assertTrue(result.ok, result.reason)
  for _, check in ipairs(result.checks) do lu.assertTrue(check.ok, check.name) end
end

function TestHonest:test_a_volume_made_in_binary64()
  local case = setup(with())
  local result = judge(case)
  assert_passes(result)
  lu.assertEquals(result.facts.blocks, case.volume.block_count[0])
  lu.assertEquals(result.facts.drops, 0)
  lu.assertTrue(result.facts.probes_mean >= 1)
  lu.assertTrue(result.facts.surface_error_voxels < 0.25)
end

function TestHonest:test_other_scenes_and_cameras()
  assert_passes(judge(setup(with { jitter = 0.4 })))
  assert_passes(judge(setup(with { scene = "plane", half = 0.1, distance = 0.12, rows = 1 })))
  assert_passes(judge(setup(with { scene = "plane", half = 0.1, distance = 0.12, capacity = 64 })))
  assert_passes(judge(setup(with {
    scene = "plane", half = 0.1, distance = 0.3, capacity = 64, cam_x = 0.01, cam_y = -0.2,
      cam_z = 0.05,
  })))
  assert_passes(judge(setup(with { rows = 1, cols = 1 })))
  assert_passes(judge(setup(with { trunc = 2.5, voxel = 0.02 })))
end

function TestHonest:test_a_pool_that_is_too_small()
  local case = setup(with { capacity = 11, table_size = 64 })
  lu.assertEquals(case.volume.drop_count[0], case.volume.block_count[0] - 11)
  local result = judge(case)
  assert_passes(result)
  lu.assertEquals(result.facts.drops, case.volume.block_count[0] - 11)
end

function TestHonest:test_another_order_of_blocks()
  local case = setup(with())
  local count, permuted = case.volume.block_count[0], copy(case.volume)
  local function moved(block) return (block * 5 + 3) % count end
  lu.assertNotEquals(count % 5, 0) -- so that it is a permutation
  for slot = 0, case.p.table_size - 1 do
    local entry = case.volume.table[slot]
    if entry.block >= 0 then
      permuted.table[slot] = { key = entry.key, block = moved(entry.block), pad = 0 }
    end
  end
  for block = 0, count - 1 do
    permuted.coord:slice(3 * moved(block), 3):copy_from(case.volume.coord:slice(3 * block, 3))
    for _, name in ipairs { "tsdf", "weight", "r", "g", "b" } do
      permuted[name]:slice(512 * moved(block), 512):copy_from(case.volume[name]:slice(512 * block,
        512))
    end
  end
  assert_passes(judge(case, permuted))
end

function TestHonest:test_weights_stop_at_a_cap()
  local case = setup(with { compat = "published", rows = 96, cols = 96 })
  lu.assertEquals(case.p.weight_cap, 32.0)
  lu.assertTrue(case.volume.weight:max() == 32.0)
  local result = judge(case)
  assert_passes(result)
  lu.assertTrue(result.facts.rejected > 0.2)
end

function TestHonest:test_the_reference_judges_its_own_warm_volume()
  local p = resolve { warm = true, jitter = 4.0 }
  local inputs = tsdf.allocate_inputs(p, rng.new(9))
  local expected = tsdf.reference(p, inputs)
  local state = tsdf.table_state(p, inputs)
  lu.assertTrue(state.block_count.init[0] > 0)
  local function verify(volume)
    return validator(context.new {
      params = p, inputs = inputs, state = volume, expected = expected, options = { table = true },
    })
  end
  local volume = tsdf.volume(p, expected.model, false)
  assert_passes(verify(volume))
  lu.assertTrue(volume.block_count[0] > state.block_count.init[0])
  -- Old blocks keep their places.
  local slots = {}
  for slot = 0, p.table_size - 1 do
    if volume.table[slot].block == 0
      or volume.table[slot].block == 1 then slots[#slots + 1] = slot end
  end
  local a, b = volume.table[slots[1]], volume.table[slots[2]]
  a.block, b.block = b.block, a.block
  volume.table[slots[1]], volume.table[slots[2]] = a, b
  for axis = 0, 2 do
    local at = volume.coord:get(0, axis)
    volume.coord:set(0, axis, volume.coord:get(1, axis))
    volume.coord:set(1, axis, at)
  end
  local result = verify(volume)
  lu.assertFalse(result.ok)
  lu.assertStrContains(result.reason, "before and has")
end

-- ---- the gate rejects ----

TestDamaged = {}

local shared -- every test damages its own copy of this one's volume

function TestDamaged:setUp()
  shared = shared or setup(with())
  self.case = shared
  self.volume = copy(self.case.volume)
end

-- Slot of the entry that holds a block.
function TestDamaged:slot(block)
  for slot = 0, self.case.p.table_size - 1 do
    if self.volume.table[slot].block == block then return slot end
  end
  error("no block " .. block)
end

function TestDamaged:change(slot, changes)
  local entry = self.volume.table[slot]
  for name, value in pairs(changes) do entry[name] = value end
  self.volume.table[slot] = entry
end

function TestDamaged:free_slot(from)
  local mask = self.case.p.table_size - 1
  local slot = from
  while self.volume.table[slot].key ~= -1 do slot = (slot + 1) & mask end
  return slot
end

-- A voxel with many additions and a tsdf that is not near zero.
function TestDamaged:busy_voxel()
  local v = self.volume
  for at = 0, v.weight.count - 1 do
    if v.weight[at] > 10 and math.abs(v.tsdf[at]) > 0.5 * v.weight[at] then return at end
  end
  error("no such voxel")
end

function TestDamaged:assert_rejected(name)
  local result = judge(self.case, self.volume)
  lu.assertFalse(result.ok)
  lu.assertEquals(result.verdict, "wrong_result")
  for _, check in ipairs(result.checks) do
    if check.name == name then
      lu.assertFalse(check.ok, name .. ": " .. check.detail)
      return check.detail
    end
  end
  lu.fail(("no check '%s' among the results; %s"):format(name, result.reason))
end

function TestDamaged:test_a_duplicated_key()
  local from = self:slot(4)
  self.volume.table[self:free_slot(from)] = self.volume.table[from]
  self:assert_rejected("each key once")
end

function TestDamaged:test_a_lost_block()
  local slot, last = self:slot(self.volume.block_count[0] - 1), self.volume.block_count[0] - 1
  self:change(slot, { key = -1, block = -1 })
  self.volume.block_count[0] = last
  self:assert_rejected("no lost block")
end

function TestDamaged:test_a_key_that_no_point_touches()
  local slot = self:free_slot(slot_of(self.case.p, 500, 500, 500))
  self:change(slot, { key = key_of(500, 500, 500), block = self.volume.block_count[0] })
  self:assert_rejected("no foreign key")
end

function TestDamaged:test_a_wrong_coordinate()
  self.volume.coord:set(3, 1, self.volume.coord:get(3, 1) + 1)
  self:assert_rejected("coordinates")
end

function TestDamaged:test_an_entry_claimed_but_never_published()
  self:change(self:slot(5), { block = -1 })
  lu.assertStrContains(self:assert_rejected("block indices"), "ever published")
end

function TestDamaged:test_two_block_indices_swapped_with_coordinates_left()
  local a, b = self:slot(2), self:slot(7)
  self:change(a, { block = 7 })
  self:change(b, { block = 2 })
  self:assert_rejected("coordinates")
end

function TestDamaged:test_one_block_index_given_out_twice()
  self:change(self:slot(6), { block = 2 })
  self:assert_rejected("block indices")
end

function TestDamaged:test_a_block_index_outside_the_pool()
  self:change(self:slot(6), { block = self.case.p.capacity })
  lu.assertStrContains(self:assert_rejected("block indices"), "outside the pool")
end

function TestDamaged:test_a_gap_in_the_block_indices()
  local last = self.volume.block_count[0] - 1
  self:change(self:slot(last), { block = last + 1 })
  self.volume.coord:slice(3 * last + 3, 3):copy_from(self.volume.coord:slice(3 * last, 3))
  lu.assertStrContains(self:assert_rejected("block indices"), "no key has block index")
end

function TestDamaged:test_a_wrong_block_count()
  self.volume.block_count[0] = self.volume.block_count[0] - 1
  self:assert_rejected("block_count")
end

function TestDamaged:test_a_wrong_drop_count()
  self.volume.drop_count[0] = 1
  self:assert_rejected("drops")
end

function TestDamaged:test_a_block_dropped_though_there_was_room()
  local last = self.volume.block_count[0] - 1
  self:change(self:slot(last), { block = -2 })
  self.volume.drop_count[0] = 1
  self:assert_rejected("drops")
end

function TestDamaged:test_an_unreachable_key()
  local mask = self.case.p.table_size - 1
  local slot = self:slot(8)
  local free = (self:free_slot(slot) + 1) & mask -- behind an empty entry
  while self.volume.table[free].key ~= -1 do free = (free + 1) & mask end
  self.volume.table[free] = self.volume.table[slot]
  self:change(slot, { key = -1, block = -1 })
  lu.assertStrContains(self:assert_rejected("reachable"), "probe chain")
end

function TestDamaged:test_an_empty_entry_with_a_block()
  self:change(self:free_slot(0), { block = 3 })
  self:assert_rejected("empty entries")
end

function TestDamaged:test_each_sum_off_by_one_addition()
  local at = self:busy_voxel()
  local w = self.volume.weight[at]
  for _, name in ipairs { "tsdf", "weight", "r", "g", "b" } do
    self.volume = copy(self.case.volume)
    -- One addition of about the mean size.
    local share = self.volume[name][at] / w
    self.volume[name][at] = self.volume[name][at] - share
    lu.assertStrContains(self:assert_rejected("sum of " .. name), "additions")
  end
end

function TestDamaged:test_a_voxel_that_is_not_a_number()
  self.volume.g[self:busy_voxel()] = 0 / 0
  self:assert_rejected("sum of g")
end

function TestDamaged:test_infinity()
  self.volume.tsdf[self:busy_voxel()] = math.huge
  self:assert_rejected("sum of tsdf")
end

function TestDamaged:test_a_write_to_an_unused_block()
  self.volume.b[512 * self.volume.block_count[0] + 9] = 1
  lu.assertStrContains(self:assert_rejected("unused blocks"), "b[")
end

function TestDamaged:test_a_surface_that_is_shifted()
  local sum, weight = self.volume.tsdf, self.volume.weight
  for at = 0, sum.count - 1 do sum[at] = sum[at] + 0.1 * weight[at] end -- 0.4 voxels
  self:assert_rejected("surface")
  self:assert_rejected("sum of tsdf")
end

function TestDamaged:test_more_weight_than_was_offered_under_a_cap()
  self.case = setup(with { compat = "published", rows = 96, cols = 96 })
  self.volume = copy(self.case.volume)
  for at = 0, self.volume.weight.count - 1 do
    if self.volume.weight[at] == 32 then
      self.volume.weight[at] = 31
      break
    end
  end
  self:assert_rejected("sum of weight")
end

os.exit(lu.LuaUnit.run())
