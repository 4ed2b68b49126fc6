-- What `perigee check` shows a candidate: seeds that nobody can know before, and further cases of
-- the size that is timed.
package.path = "tests/lua/?.lua;" .. package.path
local lu = require "luaunit"
local core = require "perigee.core"
local pg = require "perigee"
local impl = require "perigee.impl"
local judge = require "perigee.judge"
local seeds = require "perigee.seeds"
local trial = require "perigee.trial"
local twice = require "twice"

local RIGHT = [[
extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.f * x[i];
}]]

local function task(fields) return twice.task({ 5, 300 }, fields) end

local function candidate(source)
  local path = os.tmpname() .. ".cu"
  assert(core.write_file(path, source))
  return impl.candidate(path), path
end

-- Check the same candidate several times in one session: its records.
local function records(session, one, count)
  local given, path = candidate(RIGHT)
  local list = {}
  for i = 1, count do list[i] = session:check(one, given, {}) end
  os.remove(path)
  return list
end

local function has(rec, kind)
  for _, finding in ipairs(rec.findings) do
    if finding.kind == kind then return true end
  end
  return false
end

TestChecking = {}

function TestChecking:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

-- A record shows the seed from which all inputs follow.
function TestChecking:test_each_candidate_gets_a_seed_of_its_own()
  local drawn = {}
  local one = task { inputs = function(p, rng)
    local x = rng:array("f32", p.n)
    drawn[#drawn + 1] = x[0]
    return { x = x }
  end }
  local session <close> = judge.session { device = "sim:check" }
  local list = records(session, one, 3)
  local seen = {}
  for _, rec in ipairs(list) do
    lu.assertEquals(rec.verdict, "passed")
    lu.assertNil(seen[rec.seed])
    seen[rec.seed] = true
    lu.assertFalse(has(rec, "known_seed"))
  end
  local values = {}
  for _, value in ipairs(drawn) do
    lu.assertNil(values[value], "inputs of an earlier candidate again")
    values[value] = true
  end
end

-- What is made while nobody waits is of a seed that no record has shown.
function TestChecking:test_inputs_of_the_next_candidate_are_made_ahead()
  local drawn = 0
  local one = task { inputs = function(p, rng)
    drawn = drawn + 1
    return { x = rng:array("f32", p.n) }
  end }
  local session <close> = judge.session { device = "sim:check" }
  local first = records(session, one, 1)[1]
  local each = drawn
  session:stand_by(1)
  session:stand_by(1) -- once is enough
  lu.assertTrue(drawn > each and drawn <= 2 * each)
  local made = drawn
  local second = records(session, one, 1)[1]
  lu.assertEquals({ second.verdict, drawn }, { "passed", made })
  lu.assertNotEquals(second.seed, first.seed)
  local third = records(session, one, 1)[1]
  lu.assertTrue(drawn > made and third.seed ~= second.seed)
end

-- A task that counts how often inputs of each size were drawn, and the size that is timed.
local function counted()
  local drawn, timed = {}, 400
  local function inputs(p, rng)
    drawn[p.n] = (drawn[p.n] or 0) + 1
    return { x = rng:array("f32", p.n) }
  end
  return task { params = { n = { default = 512, check = { 5, 300 }, sim = timed } },
    inputs = inputs }, drawn, timed
end

function TestChecking:test_who_fails_at_a_small_size_costs_no_inputs_of_the_timed_one()
  local one, drawn, timed = counted()
  local session <close> = judge.session { device = "sim:check" }
  records(session, one, 1)
  local before, small = drawn[timed], drawn[300]
  local wrong, path = candidate((RIGHT:gsub("2.f", "3.f")))
  lu.assertEquals(session:check(one, wrong, {}).verdict, "wrong_result")
  os.remove(path)
  lu.assertEquals(drawn[timed], before)
  lu.assertTrue(drawn[300] > small)
end

-- A barrier is missing: no race, as all writes are atomic, but why the result is wrong.
function TestChecking:test_what_was_found_on_the_way_to_a_wrong_result_is_told()
  local session <close> = judge.session { device = "sim:check" }
  local given, path = candidate [[
    extern "C" __global__ void twice(const float* x, float* y, int n) {
      __shared__ int count;
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (threadIdx.x == 0) count = 7;
      __syncthreads();
      atomicAdd(&count, 1);
      if (i < n) y[i] = count;
    }]]
  local rec = session:check(task(), given, {})
  os.remove(path)
  lu.assertEquals(rec.verdict, "wrong_result")
  lu.assertTrue(has(rec, "weak_read"))
  lu.assertStrContains(table.concat(require("perigee.explain").failure(rec), "\n"), "weak read: ")
end

-- What is compared with others is judged once at the size that is timed, on inputs of one seed.
function TestChecking:test_beside_others_a_checked_candidate_meets_new_inputs_of_the_timed_size()
  local one, drawn, timed = counted()
  local session <close> = judge.session { device = "sim:check" }
  local given, path = candidate(RIGHT)
  for number = 1, 2 do
    local rec = session:check(one, given, { small = true })
    lu.assertEquals({ rec.verdict, drawn[timed] }, { "passed", number > 1 and number - 1 or nil })
    local own = trial.beside(session, one, { given }, { checked = session })[1].rec
    lu.assertEquals({ own.verdict, own.seed, drawn[timed] }, { "passed", rec.seed, number })
  end
  os.remove(path)
end

function TestChecking:test_a_seed_that_was_given_is_kept_and_told()
  local session <close> = judge.session { device = "sim:check", seed = 42 }
  for _, rec in ipairs(records(session, task(), 2)) do
    lu.assertEquals({ rec.verdict, rec.seed }, { "passed", 42 })
    lu.assertTrue(has(rec, "known_seed"))
  end
end

-- Right but where all elements are one, which only a further case of the timed size has.
local NOT_ONES = [[
extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[0] == 1.f && x[1] == 1.f ? 0.f : 2.f * x[i];
}]]

local function with_ones()
  return task {
    params = { n = { default = 512, check = { 5, 300 } }, ones = { default = false } },
    inputs = function(p, rng)
      return { x = p.ones and pg.array("f32", p.n, 1.0) or rng:array("f32", p.n) }
    end,
    also = { { ones = true } },
  }
end

function TestChecking:test_further_cases_of_the_timed_size()
  local given, path = candidate(NOT_ONES)
  local session <close> = judge.session { device = "sim:check" }
  local rec = session:check(with_ones(), given, {})
  lu.assertEquals(rec.verdict, "wrong_result")
  lu.assertStrContains(rec.failed_at, "n = 300, ones = true (the timed size, but not timed)")
  lu.assertEquals(session:check(with_ones(), given, { set = { ones = false } }).verdict, "passed")
  lu.assertEquals(session:check(task(), given, {}).verdict, "passed")
  os.remove(path)
  local right = records(session, with_ones(), 1)[1]
  lu.assertEquals({ right.verdict, right.cases, right.params.ones }, { "passed", 11, false })
end

function TestChecking:test_a_further_case_of_what_is_no_parameter_is_an_error()
  local ok, e = pcall(task, { also = { { ones = true } } })
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "ones")
  ok, e = pcall(task, { also = { "ones" } })
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "also #1")
end

-- Where nothing is random no seed is made up.
function TestChecking:test_a_seed_that_could_be_guessed_is_an_error()
  local open = io.open
  io.open = function(path, ...) -- luacheck: ignore 122
    if path == "/dev/urandom" then return nil end
    return open(path, ...)
  end
  local ok, e = pcall(seeds.fresh)
  io.open = open -- luacheck: ignore 122
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "environment")
end

os.exit(lu.LuaUnit.run())
