-- The words for what wrong elements have in common: one case for each phrase, made by damaging a
-- right answer in that way; and scattered damage, for which nothing may be claimed.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local pattern = require "perigee.pattern"

-- Marks of the elements for which wrong(i) holds.
local function places(shape, wrong)
  local count = 1
  for _, extent in ipairs(shape) do count = count * extent end
  local marks = pg.array("u64", (count + 63) // 64)
  for i = 0, count - 1 do
    if wrong(i) then marks[i // 64] = marks[i // 64] | 1 << i % 64 end
  end
  return pattern.places(marks, shape)
end

TestPlaces = {}

function TestPlaces:test_vectors()
  local function of(count, wrong) return places({ count }, wrong) end
  lu.assertEquals(of(1000, function(i) return i == 999 end), "only the last element is wrong")
  lu.assertEquals(of(1000, function(i) return i == 0 end), "only the first element is wrong")
  lu.assertEquals(of(1000, function(i) return i % 2 == 1 end), "odd indices")
  lu.assertEquals(of(1000, function(i) return i % 2 == 0 end), "even indices")
  lu.assertEquals(of(1000, function(i) return i % 33 == 0 end), "every 33rd element")
  lu.assertEquals(of(1000, function(i) return i % 33 == 5 end),
    "every 33rd element, beginning with 5")
  lu.assertEquals(of(1000, function(i) return i % 10 == 0 and i >= 100 and i <= 500 end),
    "every 10th element from 100 to 500")
  lu.assertEquals(of(5000, function(i) return i >= 4000 end), "from index 4000 on")
  lu.assertEquals(of(5000, function(i) return i >= 4096 end),
    "from index 4096 on (what is left after blocks of 1024)")
  lu.assertEquals(of(1000, function(i) return i >= 992 end),
    "from index 992 on (what is left after blocks of 32)")
  lu.assertEquals(of(1000, function(i) return i < 100 end), "up to index 99")
  lu.assertEquals(of(1000, function(i) return i >= 100 and i < 200 end), "indices 100 to 199 only")
  lu.assertEquals(of(1000, function(i) return i % 64 >= 32 end), "indices with i % 64 in 32 to 63")
  lu.assertEquals(of(4096, function(i) return i % 1024 < 256 end),
    "indices with i % 1024 in 0 to 255")
  lu.assertEquals(of(1000, function(i) return i % 8 == 1 or i % 8 == 5 or i % 8 == 6 end),
    "indices with i % 8 in {1, 5, 6}")
  lu.assertEquals(of(1000, function(i) return i % 4 == 3 and i % 12 ~= 3 end),
    "only where i % 4 = 3, 166 elements of that")
end

function TestPlaces:test_matrices()
  local function of(rows, columns, wrong)
    return places({ rows, columns }, function(i) return wrong(i // columns, i % columns) end)
  end
  lu.assertEquals(of(20, 30, function(r) return r == 19 end), "last row only")
  lu.assertEquals(of(20, 30, function(r) return r == 0 end), "first row only")
  lu.assertEquals(of(20, 30, function(r) return r == 7 end), "row 7 only")
  lu.assertEquals(of(20, 30, function(_, c) return c == 29 end), "last column only")
  lu.assertEquals(of(20, 30, function(_, c) return c % 2 == 1 end), "odd columns only")
  lu.assertEquals(of(20, 30, function(r) return r >= 16 end), "rows from 16 on only")
  lu.assertEquals(of(20, 31, function(r, c) return r % 4 == 0 and c == 30 end),
    "every 4th row, last column only")
  lu.assertEquals(of(20, 20, function(r, c) return r == c end), "on the diagonal only")
  lu.assertEquals(of(20, 20, function(r, c) return r < c end), "above the diagonal only")
  lu.assertEquals(of(20, 20, function(r, c) return r > c and c ~= 3 end),
    "below the diagonal only")
  lu.assertEquals(of(20, 30, function(r, c) return r == 19 and c ~= 4 and c ~= 9 end),
    "last row only (28 elements of that)")
  lu.assertEquals(places({ 4, 1, 5, 6 }, function(i) return i // 6 % 5 == 4 end),
    "last index along axis 1 only")
  lu.assertEquals(places({ 1, 30 }, function(i) return i == 29 end),
    "only the last element is wrong")
end

-- Damage without a pattern: no phrase may appear.
function TestPlaces:test_nothing_is_claimed_of_scattered_elements()
  for seed = 1, 50 do
    local words = places({ 1000 }, function(i) return core.random_below(seed, 0, i, 5) == 0 end)
    lu.assertNil(words)
    words = places({ 25, 40 }, function(i) return core.random_below(seed, 1, i, 5) == 0 end)
    lu.assertNil(words)
  end
  for seed = 1, 200 do -- few of them: any two lie at equal distances
    local few = {}
    for k = 1, 2 + seed % 3 do few[core.random_below(seed, 2, k, 990) + 5] = true end
    local words = places({ 25, 40 }, function(i) return few[i] end)
    if words then lu.assertStrMatches(words, "%a+ %w+ only.*") end -- two of one row or column
    words = places({ 1000 }, function(i) return few[i] end)
    if words then lu.assertStrContains(words, "i %") end
  end
  lu.assertNil(places({ 100 }, function() return true end))
  lu.assertNil(places({ 100 }, function() return false end))
  lu.assertNil(places({ 100 }, function(i) return i == 50 end)) -- the index says it all
end

TestValues = {}

-- What is said of `got` against `want` by close's way.
local function values(want, got, inputs, tolerance)
  local marks = pg.array("u64", (want.count + 63) // 64)
  tolerance = tolerance or { rtol = 1e-6 }
  local t = { rtol = tolerance.rtol, atol = tolerance.atol, marks = marks }
  local cmp = pg.compare(want, got, t)
  return pattern.values { want = want, got = got, cmp = cmp, marks = marks,
    inputs = inputs or {}, tolerance = tolerance }
end

function TestValues:test_each_phrase()
  local n = 1000
  local want = pg.array("f64", n):random { seed = 1, low = 1, high = 2 }
  local function f32(a) return a:cast("f32") end
  lu.assertEquals(values(want, pg.array("f32", n)), "every element is zero")
  lu.assertEquals(values(want, pg.array("f32", n):fill(0 / 0)), "every element is NaN")
  lu.assertEquals(values(want, pg.array("f32", n):fill(7)), "they are all 7")
  lu.assertEquals(values(want, f32(2 * want)), "off by a constant factor 2")
  lu.assertEquals(values(want, f32(want + 3)), "off by a constant difference 3")
  lu.assertEquals(values(want, f32(-want)), "they have the wrong sign")
  lu.assertEquals(values(want, f32(3 * want), { x = f32(3 * want) }), "it is a copy of x")
  local got = f32(want)
  for i = 0, n - 1, 5 do got[i] = math.huge end
  lu.assertEquals(values(want, got), "200 of them are infinite")
  got = f32(want)
  for i = 500, n - 1 do got[i] = 0 end
  lu.assertEquals(values(want, got), "they are zero")
  got = f32(want)
  got[5], got[6] = 0 / 0, 1e9
  lu.assertEquals(values(want, got), "1 of them are NaN")
end

function TestValues:test_right_values_in_wrong_places()
  local n = 1000
  local want = pg.array("f64", n):random { seed = 1 }
  local got = pg.array("f32", n)
  for i = 0, n - 1 do got[i] = want[(i + n - 1) % n] end
  lu.assertEquals(values(want, got), "shifted by one element towards the end")
  for i = 0, n - 1 do got[i] = want[math.min(i + 2, n - 1)] end
  lu.assertEquals(values(want, got), "shifted by 2 elements towards the beginning")
  want, got = want:reshape { 20, 50 }, got:reshape { 20, 50 }
  for r = 0, 19 do for c = 0, 49 do got:set(r, c, want:get((r + 19) % 20, c)) end end
  lu.assertEquals(values(want, got), "shifted by one row towards the end")
  want, got = want:reshape { 25, 40 }, got:reshape { 25, 40 }
  for r = 0, 24 do for c = 0, 39 do got[r * 40 + c] = want[(r * 40 + c) % 40 * 25 + r] end end
  lu.assertNil(values(want, got)) -- a 40 x 25 matrix, transposed: of another shape than it should
  want = want:transposed():cast("f64")
  lu.assertEquals(values(pg.array("f64", { 25, 40 }):copy_from(want:reshape { 25, 40 }), got), nil)
end

function TestValues:test_transposed()
  local want = pg.array("f64", { 30, 30 }):random { seed = 4 }
  local got = pg.array("f32", { 30, 30 })
  for r = 0, 29 do for c = 0, 29 do got:set(r, c, want:get(c, r)) end end
  lu.assertEquals(values(want, got), "transposed")
end

function TestValues:test_nothing_is_claimed_of_noise()
  for seed = 1, 20 do
    local want = pg.array("f64", 500):random { seed = seed }
    local got = pg.array("f32", 500):random { seed = seed + 100 }
    lu.assertNil(values(want, got))
  end
end

TestCases = {}

-- Cases with parameter n, failing where wrong(n) holds.
local function cases(list, wrong)
  local made = {}
  for _, n in ipairs(list) do
    for _ = 1, 3 do
      made[#made + 1] = { params = { n = n, m = 5, kind = n % 3 == 0 and "a" or "b" },
        ok = not wrong(n) }
    end
  end
  return pattern.cases(made)
end

function TestCases:test_sizes()
  local sizes = { 1, 2, 31, 64, 255, 256, 1000, 1024, 4096 }
  lu.assertEquals(cases(sizes, function(n) return n % 2 == 1 end), "odd n only")
  lu.assertEquals(cases(sizes, function(n) return n % 256 ~= 0 end),
    "n that is not a multiple of 256")
  lu.assertEquals(cases(sizes, function(n) return n >= 1000 end), "n >= 1,000 only")
  lu.assertEquals(cases(sizes, function(n) return n <= 2 end), "n <= 2 only")
  lu.assertEquals(cases(sizes, function(n) return n == 256 end), "n = 256 only")
  lu.assertEquals(cases({ 1, 6, 7, 9, 11 }, function(n) return n % 3 == 0 end), "kind = a only")
  lu.assertNil(cases(sizes, function() return true end))
  lu.assertNil(cases(sizes, function() return false end))
  lu.assertNil(cases(sizes, function(n) return n == 2 or n == 1000 end))
end

TestSpeed = {}

-- 2^24 elements are judged, and a failure among them explained, in well under a second each; the
-- limit leaves room for a busy machine.
function TestSpeed:test_sixteen_million_elements()
  local n = 1 << 24
  local want = pg.array("f32", n):random { seed = 1, low = 1, high = 2 }
  local got = want:copy()
  for i = 0, n - 1, 4097 do got[i] = 0 end
  local marks = pg.array("u64", n // 64)
  local started = core.now()
  local cmp = pg.compare(want, got, { rtol = 1e-6, marks = marks })
  local words = pattern.places(marks, { n })
  local took = core.now() - started
  lu.assertEquals(cmp.bad, n // 4097 + 1)
  lu.assertEquals(words, "every 4097th element")
  lu.assertTrue(took < 3, ("%.2f s"):format(took))
end

os.exit(lu.LuaUnit.run())
