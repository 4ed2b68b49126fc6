-- Built-in searches on landscapes whose best configuration is known by trying every one: how near
-- they come with how few evaluations, and what all of them must keep: no configuration twice, none
-- that breaks a constraint, failures are not ends.
local lu = require "luaunit"
local core = require "perigee.core"
local gaussian = require "perigee.gaussian"
local history = require "perigee.history"
local knobs = require "perigee.knobs"
local search = require "perigee.search"

-- A tiled matrix product of 4096 x 4096 on a machine like an H200: occupancy by registers and
-- shared memory, waves of blocks, reuse, spills, and for each configuration a deviation of its own
-- that no model foresees.
local SPACE = knobs.declare({
  BM = { 128, 32, 64, 256 }, BN = { 128, 32, 64, 256 }, BK = { 16, 8, 32 }, TM = { 8, 4 },
  TN = { 8, 4 }, STAGES = { 1, 2 },
}, { "(BM/TM) * (BN/TN) <= 512", "(BM/TM) * (BN/TN) >= 64", "STAGES*BK*(BM+BN)*4 <= 32768" })

local function share(seed, stream, index) -- of 1, the same for the same index
  return (core.random_u64(seed, stream, index) >> 11) / (1 << 53)
end

local function matmul_us(seed, v)
  local threads = v.BM // v.TM * (v.BN // v.TN)
  local registers = v.TM * v.TN + v.TM + v.TN + 30 + 8 * v.STAGES
  local shared = v.STAGES * v.BK * (v.BM + v.BN) * 4
  local blocks = math.min(65536 // (registers * threads), 233472 // shared, 2048 // threads, 32)
  if blocks == 0 then return nil end -- cannot be launched
  local occupancy = blocks * threads / 2048
  local waves = 4096 // v.BM * (4096 // v.BN) / (132 * blocks)
  return 3000 * (1 + 3 * (v.TM + v.TN) / (v.TM * v.TN)) * (math.ceil(waves) / waves) ^ 0.7
    * (1 + 0.075 / math.max(occupancy * v.STAGES, 0.05)) * (1 + 20 * (v.BM + v.BN) / (v.BM * v.BN))
    * (1 + 2 / v.BK) * (0.96 + 0.08 * share(seed, 1, knobs.index(SPACE, v)))
end

-- Runs a search; measured values have an error of 0.5%. Returns the history.
local function run(make, space, value_of, seed, budget, batch)
  local known = history.new(space, { seed = seed, budget = budget, batch = batch })
  local pipeline = make()
  while known.left > 0 do
    known.batch = math.min(batch, known.left)
    local chosen = pipeline.propose(known)
    if #chosen == 0 then break end
    lu.assertTrue(#chosen <= known.batch)
    for _, candidate in ipairs(chosen) do
      local values = candidate.knobs or candidate
      local index = knobs.index(space, values)
      lu.assertNil(known:known(index), "proposed twice")
      lu.assertNil(knobs.broken(space, values))
      local value = value_of(values)
      known:add { index = index, knobs = values, note = candidate.note,
        value = value and value * (0.995 + 0.01 * share(seed, 2, index)) }
    end
  end
  return known
end

-- The best of the four that look best, measured without error: what tune does at its end.
local function reached(known, value_of)
  local ranked = {}
  for _, entry in ipairs(known) do
    if entry.value then ranked[#ranked + 1] = entry end
  end
  table.sort(ranked, function(a, b) return a.value < b.value end)
  local best = math.huge
  for i = 1, math.min(4, #ranked) do best = math.min(best, value_of(ranked[i].knobs)) end
  return best
end

local ALLOWED = knobs.list(SPACE)

local function best_of(value_of)
  local best = math.huge
  for _, index in ipairs(ALLOWED) do
    best = math.min(best, value_of(knobs.at(SPACE, index)) or best)
  end
  return best
end

TestSearch = {}

local function successes(make, seeds, budget)
  local count = 0
  for seed = 1, seeds do
    local function value_of(v) return matmul_us(seed, v) end
    local known = run(make, SPACE, value_of, seed, budget, 8)
    if reached(known, value_of) <= 1.02 * best_of(value_of) then count = count + 1 end
  end
  return count
end

function TestSearch:test_the_landscape_is_as_hard_as_it_should_be()
  local function value_of(v) return matmul_us(1, v) end
  local best, within, count = best_of(value_of), 0, #ALLOWED
  for _, index in ipairs(ALLOWED) do
    local value = value_of(knobs.at(SPACE, index))
    if value and value <= 1.02 * best then within = within + 1 end
  end
  lu.assertTrue(count >= 180 and count <= 240, count)
  lu.assertTrue(within <= 3, within)
end

function TestSearch:test_guided_comes_within_2_percent_of_200_with_60_evaluations()
  local count = successes(search.guided, 20, 60)
  lu.assertTrue(count >= 19, count .. " of 20")
end

function TestSearch:test_anneal_beats_random()
  local annealed, random = successes(search.anneal, 20, 60), successes(search.random, 20, 60)
  lu.assertTrue(annealed > random, annealed .. " against " .. random)
end

function TestSearch:test_each_search_tries_a_small_space_whole_and_ends()
  local space = knobs.declare({ A = { 1, 2, 4 }, B = { "x", "y" }, C = { false, true } },
    "A < 4 or C == 0")
  for _, name in ipairs(search.NAMES) do
    local known = run(search[name], space, function(v) return v.A end, 7, 1000, 4)
    lu.assertEquals(#known, 10, name)
    lu.assertEquals(known[1].index, 0, name)
  end
end

function TestSearch:test_one_configuration_is_a_space_too()
  for _, name in ipairs(search.NAMES) do
    lu.assertEquals(#run(search[name], knobs.declare(nil), function() return 1 end, 1, 9, 4), 1)
  end
end

function TestSearch:test_failures_are_no_end_and_cost_one_evaluation_each()
  local space = knobs.declare { A = { 1, 2, 3, 4, 5, 6, 7, 8 }, B = { 1, 2, 3, 4, 5, 6, 7, 8 } }
  local function only_large(v) return v.A + v.B > 9 and v.A + v.B or nil end
  for _, name in ipairs { "guided", "anneal", "random" } do
    local known = run(search[name], space, only_large, 3, 40, 4)
    lu.assertEquals(#known, 40, name)
    lu.assertNotNil(known.best, name)
  end
  for _, name in ipairs(search.NAMES) do
    lu.assertEquals(#run(search[name], space, function() return nil end, 3, 20, 4), 20, name)
  end
end

function TestSearch:test_a_space_too_large_to_list_is_searched()
  local declared = {}
  for _, name in ipairs { "A", "B", "C", "D", "E", "F", "G", "H", "I", "J" } do
    declared[name] = { 1, 2, 4, 8, 16, 32 }
  end
  local space = knobs.declare(declared)
  local function bowl(v)
    local sum = 1
    for _, value in pairs(v) do sum = sum + (math.log(value, 2) - 3) ^ 2 end
    return sum
  end
  local random = run(search.random, space, bowl, 1, 40, 8).best.value
  local guided = run(search.guided, space, bowl, 1, 40, 8).best.value
  lu.assertTrue(guided < random, guided .. " against " .. random)
end

function TestSearch:test_a_seed_fixes_the_search()
  for _, name in ipairs(search.NAMES) do
    local function order(seed)
      local list = {}
      for i, entry in ipairs(run(search[name], SPACE, function(v) return matmul_us(1, v) end, seed,
        24, 4)) do list[i] = entry.index end
      return list
    end
    lu.assertEquals(order(5), order(5), name)
    if name ~= "grid" then lu.assertNotEquals(order(5), order(6), name) end
  end
end

function TestSearch:test_a_search_goes_on_from_what_is_known()
  local function value_of(v) return matmul_us(2, v) end
  for _, name in ipairs(search.NAMES) do
    local before = run(search[name], SPACE, value_of, 2, 20, 4)
    local known = history.new(SPACE, { seed = 2, budget = 40, batch = 4 })
    for _, entry in ipairs(before) do known:add(entry) end
    local pipeline = search[name]()
    while known.left > 0 do
      local chosen = pipeline.propose(known)
      lu.assertTrue(#chosen > 0, name)
      for _, candidate in ipairs(chosen) do
        local values = candidate.knobs or candidate
        local index = knobs.index(SPACE, values)
        lu.assertNil(known:known(index), name)
        known:add { index = index, knobs = values, value = value_of(values),
          note = candidate.note }
      end
    end
  end
end

TestGaussian = {}

function TestGaussian:test_it_passes_through_its_points_and_is_unsure_away_from_them()
  local model = gaussian.fit({ { 0 }, { 0.5 }, { 1 } }, { 1, 3, 2 }, { 0.3 }, 1e-6)
  for i, at in ipairs { 0, 0.5, 1 } do
    local mean, deviation = model:at { at }
    lu.assertAlmostEquals(mean, ({ 1, 3, 2 })[i], 1e-3)
    lu.assertTrue(deviation < 0.01)
  end
  local mean, deviation = model:at { 100 }
  lu.assertAlmostEquals(mean, 2, 1e-6)                   -- the mean of all
  lu.assertAlmostEquals(deviation, math.sqrt(2 / 3), 1e-6) -- their deviation
end

-- Two points by hand: K = [1 k; k 1], weights = K^-1 y.
function TestGaussian:test_two_points_by_hand()
  local r = math.sqrt(5) * 0.5
  local k = (1 + r + r * r / 3) * math.exp(-r)
  local model = gaussian.fit({ { 0 }, { 0.5 } }, { -1, 1 }, { 1 }, 0)
  local q = math.sqrt(5) * 0.25
  local half = (1 + q + q * q / 3) * math.exp(-q)
  local mean, deviation = model:at { 0.25 }
  lu.assertAlmostEquals(mean, 0, 1e-12) -- half way between -1 and 1
  lu.assertAlmostEquals(deviation ^ 2, 1 - 2 * half ^ 2 / (1 + k), 1e-12)
  lu.assertAlmostEquals(model.likelihood, -1 / (1 - k) - 0.5 * math.log(1 - k * k), 1e-9)
end

function TestGaussian:test_a_dimension_that_does_not_matter_gets_a_long_scale()
  local points, values = {}, {}
  for i = 0, 29 do
    points[i + 1] = { share(1, 1, i), share(1, 2, i) }
    values[i + 1] = math.sin(6 * points[i + 1][1])
  end
  local model = gaussian.learn(points, values)
  lu.assertTrue(model.scales[2] >= 3.2)
  lu.assertTrue(model.scales[1] <= 0.8)
end

function TestGaussian:test_equal_points_need_noise()
  lu.assertNil(gaussian.fit({ { 1 }, { 1 } }, { 1, 2 }, { 1 }, 0))
  lu.assertNotNil(gaussian.learn({ { 1 }, { 1 } }, { 1, 2 }))
end

os.exit(lu.LuaUnit.run())
