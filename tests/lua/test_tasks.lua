-- What the task files themselves promise: checks that have several values of every scalar, the
-- graphs of graph/bfs, and the 200 configurations of matmul/f32. That every task refuses wrong
-- results is shown by test_damage.
local lu = require "luaunit"
local pg = require "perigee"
local case = require "perigee.case"
local knobs = require "perigee.knobs"
local params = require "perigee.params"
local validate = require "perigee.validate"

TestScalars = {}

-- Values of the kernels' scalars at one check size.
local function scalars_of(task, index)
  local p, values = task:resolve { purpose = "check", index = index }, {}
  local given = task:call("args", p) or {}
  for _, signature in ipairs(task:contract(p)) do
    for _, param in ipairs(signature.params) do
      local value = given[param.name]
      if value == nil then value = p[param.name] end
      if type(value) == "number" and not param.pointer then values[param.name] = value end
    end
  end
  return values
end

-- A kernel that has the value in it and ignores its argument would pass otherwise.
function TestScalars:test_no_scalar_is_the_same_in_all_checks()
  local constant = {}
  for _, task in ipairs((pg.catalogue.all())) do
    local first, varies = scalars_of(task, 1), {}
    for index = 2, params.check_count(task.params) do
      for name, value in pairs(scalars_of(task, index)) do
        varies[name] = varies[name] or value ~= first[name]
      end
    end
    for name in pairs(first) do
      if not varies[name] then constant[#constant + 1] = task.name .. ": " .. name end
    end
  end
  lu.assertEquals(constant, {})
end

TestSaxpy = {}

-- The product rounded before the sum: where the two cancel in the only element there is, its error
-- is far more than one of z. Of 4,000 draws some 30 cancel to less than a hundredth.
function TestSaxpy:test_terms_that_cancel_are_right()
  local saxpy = pg.catalogue.find("vector/saxpy")[1]
  local p = saxpy:resolve { purpose = "default", set = { n = 1 } }
  for seed = 1, 4000 do
    local one = case.make(saxpy, p, seed)
    local product = (p.a * one.io.x):cast("f32")
    local z = (product + one.io.y):cast("f32")
    local got = validate.run(one, { z = z }, 0x7fa12345)
    lu.assertTrue(got.ok, got.reason)
  end
end

TestProducts = {}

-- An f64 array rounded to so many bits.
local function rounded(x, bits)
  local out = x:cast "f64"
  for i = 0, out.count - 1 do
    local unit = out[i] == 0 and 1 or 2.0 ^ (math.floor(math.log(math.abs(out[i]), 2)) - bits + 1)
    out[i] = math.floor(out[i] / unit + 0.5) * unit
  end
  return out
end

-- The product of factors that are sums of two numbers of `bits` bits, without that of their tails;
-- judged by its rows alone, as it is where it is too large for a reference.
local function judge_split(p, seed, bits)
  local one = case.make(pg.catalogue.find("matmul/f32")[1], p, seed)
  one.wanted = {}
  local a, b = rounded(one.io.a, bits), rounded(one.io.b, bits)
  local c = pg.product(a, b) + pg.product(a, rounded(one.io.b - b, bits))
    + pg.product(rounded(one.io.a - a, bits), b)
  return validate.run(one, { c = c:cast("f32"):reshape { p.m, p.n } }, 0x7fa12345).ok
end

-- What roundings of many terms would hide, a row with one element does not.
function TestProducts:test_factors_keep_their_bits()
  local task = pg.catalogue.find("matmul/f32")[1]
  validate.prepare(task)
  local set = { m = 100, n = 300, k = 40 }
  for name, value in pairs(task.also[1]) do set[name] = value end
  local p = task:resolve { purpose = "default", set = set }
  for seed = 1, 5 do
    lu.assertFalse(judge_split(p, seed, 8)) -- bf16
    lu.assertTrue(judge_split(p, seed, 11)) -- tf32
  end
  p = task:resolve { purpose = "default", set = { m = 8, n = 16, k = 8192 } }
  lu.assertTrue(judge_split(p, 1, 8)) -- why it is asked at all
end

TestHash = {}

-- Sectors of 4 slots in which the keys of an array have their first place.
local function homes(keys, slots)
  local seen, count = {}, 0
  for i = 0, keys.count - 1 do
    local hash = keys[i] * 0x9e3779b97f4a7c15 >> 32
    local sector = (hash * slots >> 32) // 4
    if not seen[sector] then seen[sector], count = true, count + 1 end
  end
  return count
end

-- Work that is called compulsory is: else a better kernel would be faster than memory.
function TestHash:test_compulsory_bytes_are_those_that_must_move()
  for _, keys in ipairs { "uniform", "zipf", "duplicates" } do
    for _, load in ipairs { 0.5, 0.9 } do
      local set = { n = 40000, keys = keys, load = load }
      local find = pg.catalogue.find("hash/find")[1]
      local p = find:resolve { purpose = "sim", set = set }
      local one = case.make(find, p, 5)
      local must = 12 * p.n + 32 * homes(one.io.queries, p.slots)
      lu.assertTrue(one:work().bytes <= 1.01 * must and one:work().bytes >= 0.8 * must, keys)
      local insert = pg.catalogue.find("hash/insert")[1]
      one = case.make(insert, insert:resolve { purpose = "sim", set = set }, 5)
      must = 8 * p.n + 32 * homes(one.io.keys, p.slots)
      lu.assertTrue(one:work().bytes <= 1.01 * must and one:work().bytes >= 0.99 * must, keys)
    end
  end
end

TestGraphs = {}

local csr = require "graph.csr"

-- Neighbours as a table of counts: from * 2^32 + to.
local function edges_of(first, neighbour)
  local count = {}
  for v = 0, first.count - 2 do
    for e = first[v], first[v + 1] - 1 do
      local edge = v << 32 | neighbour[e]
      count[edge] = (count[edge] or 0) + 1
    end
  end
  return count
end

local function check_rows(first, neighbour, n)
  lu.assertEquals(first.count, n + 1)
  lu.assertEquals(first[0], 0)
  lu.assertEquals(first[n], neighbour.count)
end

function TestGraphs:test_every_edge_is_there_in_both_directions()
  for seed = 1, 3 do
    local first, neighbour = csr.rmat(seed, 7, 4)
    check_rows(first, neighbour, 128)
    lu.assertEquals(neighbour.count, 2 * 4 * 128)
    local all = edges_of(first, neighbour)
    for edge, count in pairs(all) do
      lu.assertEquals(all[(edge & 0xffffffff) << 32 | edge >> 32], count)
    end
    lu.assertTrue(first[1] > 0, "vertex 0 has a neighbour")
  end
end

-- Of the 112 edges of 8 x 8 vertices one in 16 is left out; ways from a vertex to itself are even.
function TestGraphs:test_a_grid_lacks_some_edges()
  local first, neighbour = csr.grid(9, 6)
  check_rows(first, neighbour, 64)
  lu.assertEquals(neighbour.count, 2 * (112 - 7))
  lu.assertTrue(first[1] > 0, "vertex 0 has a neighbour")
  local depth, reached = csr.depths(first, neighbour), 0
  for v = 0, 63 do
    lu.assertTrue(first[v + 1] - first[v] <= 4)
    reached = reached + (depth[v] >= 0 and 1 or 0)
    for e = first[v], first[v + 1] - 1 do
      lu.assertEquals(math.abs(depth[v] - depth[neighbour[e]]), depth[v] >= 0 and 1 or 0)
    end
  end
  lu.assertTrue(reached > 50, reached)
end

-- In an order of theirs the first would be above nearly each vertex, and this one last below that.
function TestGraphs:test_the_order_of_neighbours_tells_no_direction()
  local first, neighbour = csr.grid(9, 10)
  local above, asked = 0, 0
  for v = 0, 1023 do
    if first[v + 1] > first[v] then
      local u = neighbour[first[v]]
      asked, above = asked + 1, above + (neighbour[first[u + 1] - 1] == v and 1 or 0)
    end
  end
  lu.assertTrue(above < 0.35 * asked, above / asked)
end

function TestGraphs:test_a_tail_makes_levels()
  local plain, first, neighbour = (csr.rmat(3, 10, 8)), csr.rmat(3, 10, 8, 20)
  check_rows(first, neighbour, 1024)
  lu.assertEquals(neighbour.count, plain[1024])
  lu.assertTrue(csr.depths(csr.rmat(3, 10, 8)):max() < 10)
  lu.assertEquals(csr.depths(first, neighbour):max(), 20)
end

function TestGraphs:test_rmat_degrees_are_very_unequal()
  local first = csr.rmat(3, 12, 16)
  local most = 0
  for v = 0, 4095 do most = math.max(most, first[v + 1] - first[v]) end
  lu.assertTrue(most > 20 * 32, most) -- the mean is 32
end

-- Depths by relaxing every edge until nothing changes.
function TestGraphs:test_depths_are_shortest_ways()
  for _, graph in ipairs { { csr.rmat(5, 6, 1) }, { csr.rmat(5, 6, 1, 9) },
    { csr.grid(5, 5) } } do
    local first, neighbour = graph[1], graph[2]
    local n, want, changed = first.count - 1, { [0] = 0 }, true
    while changed do
      changed = false
      for v = 0, n - 1 do
        for e = first[v], first[v + 1] - 1 do
          local w = neighbour[e]
          if want[v] and want[v] + 1 < (want[w] or n) then
            want[w], changed = want[v] + 1, true
          end
        end
      end
    end
    local depth = csr.depths(first, neighbour)
    for v = 0, n - 1 do lu.assertEquals(depth[v], want[v] or -1) end
  end
end

TestKnobs = {}

function TestKnobs:test_matmul_has_200_configurations()
  local task = pg.catalogue.find("matmul/f32")[1]
  local tiled = task:select_impls({ "tiled" })[1]
  local space = knobs.declare(tiled.knobs, tiled.where)
  lu.assertEquals(#knobs.list(space, task:resolve { purpose = "default" }), 200)
end

os.exit(lu.LuaUnit.run())
