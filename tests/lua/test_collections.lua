-- The validators multiset, set, sorted_by and permutation, and their primitives against plain Lua.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local case = require "perigee.case"
local damage = require "perigee.damage"
local validate = require "perigee.validate"

-- A sort by key with its index: keys_in, keys, index.
local function make_case(fields)
  local t = {
    name = "t/sort", params = { n = { default = 1000 } },
    kernel = "void k(const unsigned* keys_in, unsigned* keys, int* index, int n)",
    inputs = function(p, rng)
      return { keys_in = rng:array("u32", p.n, { first = 10, last = 500 }) } end,
    outputs = function(p) return { keys = pg.spec("u32", p.n), index = pg.spec("i32", p.n) } end,
    launch = function() return { grid = 1, block = 1 } end,
    reference = function(p, io)
      local order = {}
      for i = 1, p.n do order[i] = i - 1 end
      table.sort(order, function(a, b)
        local x, y = io.keys_in[a], io.keys_in[b]
        return x < y or x == y and a < b
      end)
      local index = pg.from_list("i32", order)
      return { keys = pg.gather(io.keys_in, index), index = index }
    end,
  }
  for name, value in pairs(fields) do t[name] = value end
  local task = pg.task(t)
  return case.make(task, task:resolve { purpose = "default" }, 11)
end

local function judge(one, arrays) return validate.run(one, arrays, damage.POISON) end

local function proves(one, arrays, except)
  local proof = damage.prove(one, arrays, except)
  lu.assertTrue(proof.right.ok, proof.right.reason)
  lu.assertEquals(proof.accepted, {})
  lu.assertTrue(proof.tried >= 10, "only " .. proof.tried .. " kinds of damage applied")
end

-- ---- primitives ----

TestPrimitives = {}

local function counts(list)
  local times = {}
  for _, v in ipairs(list) do times[v] = (times[v] or 0) + 1 end
  return times
end

local function plain_difference(want, got, set)
  local w, g, missing, extra = counts(want), counts(got), 0, 0
  local function times(t, v) return set and math.min(t[v] or 0, 1) or t[v] or 0 end
  for v in pairs(w) do missing = missing + math.max(0, times(w, v) - times(g, v)) end
  for v in pairs(g) do extra = extra + math.max(0, times(g, v) - times(w, v)) end
  return missing, extra
end

function TestPrimitives:test_rows_are_compared_as_a_plain_count_says()
  for trial = 1, 300 do
    local function some(stream, length)
      local list, most = {}, 3 + trial % 60
      for i = 1, length do list[i] = core.random_below(trial, stream, i, most) end
      return list
    end
    local length = trial % 7 * 30
    local want = some(0, length)
    local got = trial % 3 == 0 and table.move(want, 1, #want, 1, {}) or some(1, length + trial % 2)
    for _, set in ipairs { false, true } do
      local found = pg.compare_rows(pg.from_list("i32", want), pg.from_list("i32", got),
        { set = set, key = trial })
      local missing, extra = plain_difference(want, got, set)
      lu.assertEquals({ found and found.missing or 0, found and found.extra or 0 },
        { missing, extra })
      if missing > 0 then lu.assertNotNil(want[found.missing_at + 1]) end
      if extra > 0 then
        local value = got[found.extra_at + 1]
        lu.assertTrue((counts(got)[value] or 0) > (counts(want)[value] or 0))
      end
    end
    local repeated = 0
    for _, times in pairs(counts(got)) do repeated = repeated + times - 1 end
    lu.assertEquals((pg.duplicate_rows(pg.from_list("i32", got))), repeated)
  end
end

-- Larger than a part of the threads, with the cases that a radix sort gets wrong: all equal, few
-- values, the highest bits.
function TestPrimitives:test_large_rows()
  local n = 200000
  for _, last in ipairs { 0, 1, 1000, 0xffffffff } do
    local a = pg.array("u32", n):random { seed = 5, first = 0, last = last }
    local b = pg.array("u32", n)
    for i = 0, n - 1 do b[i] = a[n - 1 - i] end
    lu.assertNil(pg.compare_rows(a, b))
    b[77] = (b[77] + 1) & 0xffffffff
    local found = pg.compare_rows(a, b)
    lu.assertEquals({ found.missing, found.extra }, { 1, 1 })
    lu.assertEquals(a[found.missing_at], a[n - 1 - 77])
    lu.assertEquals(b[found.extra_at], b[77])
  end
end

function TestPrimitives:test_zeros_and_NaNs_are_equal_to_their_like()
  local nan = 0 / 0
  lu.assertNil(pg.compare_rows(pg.from_list("f32", { 0.0, nan, 1 }),
    pg.from_list("f32", { -nan, 1, -0.0 })))
  lu.assertNotNil(pg.compare_rows(pg.from_list("f32", { nan }), pg.from_list("f32", { 1 })))
end

function TestPrimitives:test_rows_of_two_columns_belong_together()
  local keys, values = pg.from_list("i32", { 1, 2, 3 }), pg.from_list("f32", { 10, 20, 30 })
  lu.assertNil(pg.compare_rows({ keys, values },
    { pg.from_list("i32", { 3, 1, 2 }), pg.from_list("f32", { 30, 10, 20 }) }))
  lu.assertEquals(pg.compare_rows({ keys, values },
    { pg.from_list("i32", { 3, 1, 2 }), pg.from_list("f32", { 10, 30, 20 }) }).extra, 2)
end

function TestPrimitives:test_order()
  local function at(dtype, list, options) return pg.first_unsorted(pg.from_list(dtype, list),
    options) end
  lu.assertNil(at("i32", { -5, 0, 0, 7 }))
  lu.assertEquals(at("i32", { -5, 0, 0, 7 }, { strict = true }), 2)
  lu.assertNil(at("i32", { 7, 0, 0, -5 }, { descending = true }))
  lu.assertEquals(at("i32", { 7, 0, 1, -5 }, { descending = true }), 2)
  lu.assertEquals(at("f32", { 1, 2, 0 / 0, 3 }), 2)
  lu.assertEquals(at("u32", { 1, 0xffffffff, 2 }), 2)
  lu.assertNil(at("u64", { 1, -1 })) -- 2^64 - 1
  lu.assertEquals(at("i64", { 1, -1 }), 1)
  lu.assertNil(at("f64", { 5 }))
  lu.assertNil(at("f64", {}))
  lu.assertNil(at("i32", { 1, 2, 0 }, { count = 2 }))
  local big = pg.array("u32", 300000):fill(9)
  big[200000], big[250000] = 8, 7
  lu.assertEquals(pg.first_unsorted(big), 200000)
  lu.assertNil(pg.first_unsorted { pg.from_list("i32", { 1, 1, 2 }),
    pg.from_list("i32", { 5, 6, 0 }) })
  lu.assertEquals(pg.first_unsorted { pg.from_list("i32", { 1, 1, 2 }),
    pg.from_list("i32", { 5, 4, 0 }) }, 1)
end

function TestPrimitives:test_permutations()
  local function check(list, options)
    return pg.check_permutation(pg.from_list("i32", list), options) end
  lu.assertNil(check { 2, 0, 1 })
  lu.assertNil(check({ 3, 1, 2 }, { base = 1 }))
  lu.assertNil(check({ 1, 0, 99 }, { count = 2 }))
  local found = check { 2, 0, 2 }
  lu.assertEquals({ found.duplicates, found.duplicate_at, found.missing }, { 1, 2, 1 })
  found = check { 0, -1, 3 }
  lu.assertEquals({ found.outside, found.outside_at }, { 2, 1 })
  lu.assertFalse(pcall(pg.check_permutation, pg.array("f32", 3)))
  lu.assertEquals(pg.gather(pg.from_list("f32", { 5, 6, 7 }), pg.from_list("i32", { 2, 2, 0 }))
    :totable(), { 7, 7, 5 })
  lu.assertFalse(pcall(pg.gather, pg.array("f32", 3), pg.from_list("i32", { 3 })))
end

-- ---- validators ----

local SORT = { { "sorted_by", of = "keys" }, { "permutation", of = "index",
  gathers = { keys = "keys_in" } } }

TestSorts = {}

function TestSorts:test_damaged_sorts_are_rejected()
  proves(make_case { validate = SORT })
  proves(make_case { validate = { { "sorted_by", of = "keys", from = "keys_in" },
    { "permutation", of = "index", gathers = { keys = "keys_in" } } },
    reference = function() return {} end }, damage.right(make_case { validate = SORT }))
end

function TestSorts:test_equal_keys_may_stand_in_any_order()
  local one = make_case { validate = SORT }
  local arrays = damage.right(one)
  local keys, index = arrays.keys, arrays.index
  local swapped = 0
  for i = 0, 998 do
    if keys[i] == keys[i + 1] then
      index[i], index[i + 1] = index[i + 1], index[i]
      swapped = swapped + 1
    end
  end
  lu.assertTrue(swapped > 100)
  lu.assertTrue(judge(one, arrays).ok)
end

function TestSorts:test_reasons()
  local one = make_case { validate = SORT }
  local right = damage.right(one)
  local function reason(name, array)
    local result = judge(one, { keys = right.keys, index = right.index, [name] = array })
    return result.reason, result.verdict
  end
  lu.assertStrContains(reason("keys", one.io.keys_in), "it is a copy of keys_in")
  lu.assertStrContains(reason("keys", pg.array("u32", 1000)), "1000 missing (for example")
  local index = right.index:copy()
  index[7] = index[3]
  lu.assertStrContains(reason("index", index), "index[7] = " .. index[3] .. " is there before")
  index[7] = 5000
  lu.assertStrContains(reason("index", index), "index[7] = 5000 is outside 0 to 999")
  index = right.index:copy()
  index[0], index[999] = index[999], index[0]
  lu.assertStrContains(reason("index", index), "keys[0]: expected")
  local words = pg.array("u32", 1000):fill(damage.POISON)
  local _, verdict = reason("keys", words)
  lu.assertEquals(verdict, "unwritten_output")
  _, verdict = reason("index", words:cast("i32"))
  lu.assertEquals(verdict, "unwritten_output")
end

function TestSorts:test_order_alone_needs_another_validator()
  local one = make_case { validate = { { "sorted_by", of = "keys", elements = "any" },
    { "multiset", of = "keys" }, { "permutation", of = "index",
      gathers = { keys = "keys_in" } } } }
  proves(one)
  local ok, e = pcall(judge, make_case { validate = { "sorted_by", of = "keys" },
    reference = function() return {} end }, damage.right(one))
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "nothing says which elements keys must hold")
end

TestSets = {}

-- Distinct values found, in any order, with their number: a frontier.
local function frontier(validator)
  return make_case { validate = { validator, { "exact", of = "found_count" } },
    kernel = "void k(const unsigned* keys_in, unsigned* found, int* found_count, int n)",
    outputs = function(p) return { found = pg.spec("u32", p.n), found_count = pg.spec("i32", 1) }
    end,
    reference = function(p, io)
      local found, seen, count = pg.array("u32", p.n), {}, 0
      for i = 0, p.n - 1 do
        local key = io.keys_in[i]
        if not seen[key] then
          seen[key] = true
          found[count] = key
          count = count + 1
        end
      end
      return { found = found, found_count = count }
    end }
end

local function found_of(one)
  local count = one:expected().found_count[0]
  local found = pg.array("u32", 1000):fill(damage.POISON)
  for i = 0, count - 1 do found[i] = one:expected().found[count - 1 - i] end
  return { found = found, found_count = pg.from_list("i32", { count }) }, count
end

function TestSets:test_what_lies_behind_the_count_does_not_matter()
  -- Damage behind the count is none.
  local behind = { ["last element zero of found"] = true, ["last element wrong of found"] = true,
    ["second half zero of found"] = true, ["second half unwritten of found"] = true,
    ["middle element wrong of found"] = true }
  for _, name in ipairs { "set", "multiset" } do
    local one = frontier { name, of = "found", count = "found_count" }
    local arrays, count = found_of(one)
    lu.assertTrue(count < 500)
    proves(one, arrays, behind)
    arrays.found[count - 1] = arrays.found[0]
    lu.assertEquals(judge(one, arrays).verdict, "wrong_result")
    arrays.found_count[0] = 1001
    lu.assertStrContains(judge(one, arrays).reason, "found_count[0] = 1001, expected 0 to 1000")
  end
end

function TestSets:test_a_set_may_repeat_elements_unless_it_must_not()
  local want = make_case { validate = { "set", of = "keys", from = "keys_in" },
    kernel = "void k(const unsigned* keys_in, unsigned* keys, int n)",
    outputs = function(p) return { keys = pg.spec("u32", p.n) } end,
    reference = function() return {} end }
  local keys = want.io.keys_in:copy()
  lu.assertTrue(judge(want, { keys = keys }).ok)
  local seen, second = {}, nil -- one of several equal elements becomes another that is there, too
  for i = 0, 999 do
    if seen[keys[i]] then second = i end
    seen[keys[i]] = true
  end
  keys[second] = keys[(second + 1) % 1000]
  lu.assertTrue(judge(want, { keys = keys }).ok)
  want.task.validate, want.task.validators = { "set", of = "keys", from = "keys_in",
    unique = true }, nil
  lu.assertStrContains(judge(want, { keys = keys }).reason, "elements are there before")
  want.task.validate, want.task.validators = { "multiset", of = "keys", from = "keys_in" }, nil
  lu.assertStrContains(judge(want, { keys = keys }).reason, "1 missing")
end

function TestSets:test_structs_and_zipped_buffers()
  local Pair = pg.struct("Pair", { { "key", "i64" }, { "value", "i32" } })
  local want = pg.array(Pair, 200)
  for i = 0, 199 do want[i] = { key = 7 * i, value = -i } end
  local one = make_case { validate = "multiset",
    kernel = "void k(const unsigned* keys_in, Pair* z)",
    outputs = function() return { z = pg.spec(Pair, 200) } end,
    reference = function() return { z = want } end }
  local got = pg.array(Pair, 200)
  for i = 0, 199 do got[i] = want[199 - i] end
  proves(one, { z = got })
  got[3] = { key = got[3].key, value = 5 }
  lu.assertStrContains(judge(one, { z = got }).reason,
    "1 missing (for example { key = 1372, value = -196 }), 1 that do not belong there")
end

os.exit(lu.LuaUnit.run())
