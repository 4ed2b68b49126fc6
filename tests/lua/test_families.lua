-- Families of values: what they do to inputs, where they apply, and that every implementation of a
-- task that can take them is right with them.
package.path = "tests/lua/?.lua;" .. package.path
local lu = require "luaunit"
local core = require "perigee.core"
local pg = require "perigee"
local case = require "perigee.case"
local families = require "perigee.families"
local impl = require "perigee.impl"
local judge = require "perigee.judge"
local twice = require "twice"

local function array(dtype, values)
  local a = core.array(dtype, #values)
  for i, value in ipairs(values) do a[i - 1] = value end
  return a
end

local function values(a)
  local list = {}
  for i = 0, a.count - 1 do list[i + 1] = a[i] end
  return list
end

local function applied(family, dtype, list)
  local inputs = { x = array(dtype, list) }
  families.apply(inputs, family)
  return values(inputs.x)
end

local function task(fields) return twice.task({ 0, 5, 300, 7 }, fields) end

TestFamilies = {}

function TestFamilies:test_what_they_do()
  lu.assertEquals(applied("tiny", "f32", { 3, -1 }), { 3 * 2.0 ^ -40, -2.0 ^ -40 })
  lu.assertEquals(applied("huge", "f16", { 3, -1 }), { 768, -256 })
  lu.assertEquals(applied("denormal", "f32", { 1.5 }), { 1.5 * 2.0 ^ -140 })
  lu.assertEquals(applied("tiny", "i32", { 3, -1 }), { 3, -1 })
  lu.assertEquals(applied("zeros", "f32", { 3, -1 }), { 0, 0 })
  lu.assertEquals(applied("equal", "u32", { 3, 1, 2 }), { 3, 3, 3 })
  lu.assertEquals(applied("sorted", "u32", { 3, 1, 4000000000 }), { 1, 3, 4000000000 })
  lu.assertEquals(applied("reversed", "f32", { 3, 1, 2 }), { 3, 2, 1 })
  lu.assertEquals(applied("alternating", "f32", { -3, -1, 2 }), { 3, -1, 2 })
  lu.assertEquals(applied("infinity", "f32", { 3, 1, 2 }), { 3, math.huge, 2 })
  local nan = applied("nan", "f32", { 3, 1, 2 })
  lu.assertTrue(nan[2] ~= nan[2])
  for _, family in ipairs(families.NAMES) do lu.assertEquals(applied(family, "f32", {}), {}) end
end

local function listed(one)
  local list = families.list(4, 3, function(index)
    return case.make(one, one:resolve { purpose = "check", index = index }, 1)
  end)
  local last = list[12]
  lu.assertEquals({ list[1].index, list[1].number, last.index, last.number }, { 1, 1, 4, 3 })
  local names = {}
  for i = 13, #list do
    lu.assertEquals(list[i].index, 3) -- the size of 300
    lu.assertEquals(list[i].number, 3 + i - 12)
    names[#names + 1] = list[i].family
  end
  return table.concat(names, " ")
end

function TestFamilies:test_where_they_apply()
  lu.assertEquals(listed(task()), "equal sorted reversed")
  lu.assertEquals(listed(task { families = { "tiny", "nan" } }), "tiny nan")
  lu.assertEquals(listed(task { families = {} }), "")
  lu.assertEquals(listed(task { inputs = function(p, rng)
    return { x = rng:array("i32", p.n) }
  end }), "")
end

function TestFamilies:test_an_unknown_family_is_an_error()
  local ok, e = pcall(task, { families = { "hugs" } })
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "there is no 'hugs'")
  lu.assertStrContains(e.hint, "huge")
end

-- Right for whatever is drawn between 0 and 1, wrong for all that is larger.
function TestFamilies:test_a_kernel_that_is_wrong_for_one_family()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local path = os.tmpname() .. ".cu"
  assert(core.write_file(path, [[
    extern "C" __global__ void twice(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] = fminf(x[i], 1000.f) + x[i];
    }]]))
  local session <close> = judge.session { device = "sim" }
  local rec = session:check(task { families = { "tiny", "huge" } }, impl.candidate(path), {})
  os.remove(path)
  lu.assertEquals(rec.verdict, "wrong_result")
  lu.assertStrContains(rec.failed_at, "huge values")
  lu.assertEquals({ rec.failed_cases.failed, rec.failed_cases.of }, { 1, 14 })
  lu.assertStrContains(rec.failed_cases.pattern, "values")
end

-- A task of a user who has not heard of families: its elements ascend, and its kernel relies on it.
local function of_sorted(reference)
  return task {
    inputs = function(p, rng)
      local x = rng:array("f32", p.n)
      for i = 0, p.n - 1 do x[i] = i + 0.5 * x[i] end
      return { x = x }
    end,
    reference = reference,
    impls = { naive = { "cuda", source = [[
      extern "C" __global__ void twice(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = i > 0 && x[i] <= x[i - 1] ? -1.f : 2.f * x[i];
      }]] } },
  }
end

local function check_right(one)
  local session <close> = judge.session { device = "sim:check" }
  return session:check(one, { name = "c", lang = "cuda", path = "./c", shown = "c.cu",
    foreign = true, source = one.impls[1].source }, {})
end

function TestFamilies:test_the_tasks_own_implementation_has_one_process_whatever_it_is_asked()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local session <close> = judge.session { device = "sim:check" }
  local one = of_sorted(function(_, io) return { y = 2 * io.x } end)
  local taken, take = 0, session.pool.take
  session.pool.take = function(...)
    taken = taken + 1
    return take(...)
  end
  local source = one.impls[1].source
  local rec = session:check(one, { name = "c", lang = "cuda", path = "./c", shown = "c.cu",
    foreign = true, source = source }, {})
  lu.assertEquals({ rec.verdict, taken }, { "passed", 2 }) -- and two families are none of its own
end

function TestFamilies:test_families_that_are_none_of_the_tasks_are_left_out()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local rec = check_right(of_sorted(function(_, io) return { y = 2 * io.x } end))
  lu.assertEquals(rec.verdict, "passed")
  lu.assertEquals(rec.findings[1].kind, "family")
  lu.assertStrContains(rec.findings[1].text, "equal, reversed values left out")
  rec = check_right(of_sorted(function(_, io)
    for i = 1, #io.x - 1 do assert(io.x[i] > io.x[i - 1], "not in order") end
    return { y = 2 * io.x }
  end))
  lu.assertEquals(rec.verdict, "passed")
  lu.assertStrContains(rec.findings[1].text, "equal, reversed values left out")
end

-- Values that an implementation is for: the first of each parameter that `only` names.
local function set_of(declared)
  local set = {}
  for name, given in pairs(declared.only or {}) do
    set[name] = type(given) == "table" and given[1] or given
  end
  return set
end

local function check_all(one, declared)
  local session <close> = judge.session { device = "sim", seed = 3 }
  local count, set = 0, set_of(declared)
  for _, entry in ipairs(session:check_list(one, set)) do
    if entry.family then
      local p = session:check_case(one, entry, set).p
      local arm = { impl = impl.resolve(one, declared), p = p, kind = "check", cases = 0 }
      session:build { arm }
      arm.case = session:check_case(one, entry, set)
      local failure = arm.failure or session:check_one(arm, one, entry, set)
      count = count + 1
      lu.assertNil(failure and ("%s: %s"):format(entry.family, failure.reason))
      session.pool:release(arm.runner)
    end
  end
  lu.assertTrue(count > 0)
end

local function has_families(one)
  if one.families or one.state then return one.families and #one.families > 0 end
  return #families.of(case.make(one, one:resolve { purpose = "check", index = 1 }, 1)) > 0
end

for _, one in ipairs((pg.catalogue.all())) do
  for _, declared in ipairs(has_families(one) and one.impls or {}) do
    if declared[1] == "cuda" and not declared.on_request then
      TestFamilies["test_" .. (one.name .. "_" .. declared.name):gsub("%W", "_")] = function()
        if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
        require("perigee.validate").prepare(one)
        check_all(one, declared)
      end
    end
  end
end

os.exit(lu.LuaUnit.run())
