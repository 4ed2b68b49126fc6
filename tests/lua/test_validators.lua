-- The validators close and exact, run through the judge's own path (perigee.validate) on made
-- arrays.
local lu = require "luaunit"
local pg = require "perigee"
local case = require "perigee.case"
local damage = require "perigee.damage"
local validate = require "perigee.validate"

local POISON = 0x7fa12345

local function make_case(fields)
  local t = {
    name = "t/x", params = { n = { default = 1000 } },
      kernel = "void k(const float* x, float* z, int n)",
    inputs = function(p, rng) return { x = rng:array("f32", p.n, { low = 1, high = 2 }) } end,
    outputs = function(p) return { z = pg.spec("f32", p.n) } end,
    launch = function() return { grid = 1, block = 1 } end,
    reference = function(_, io) return { z = 3 * io.x } end, validate = { "close", ops = 1 },
  }
  for name, value in pairs(fields or {}) do t[name] = value end
  if t.outputs == "absent" then t.outputs = nil end
  local task = pg.task(t)
  return case.make(task, task:resolve { purpose = "default" }, 11)
end

-- The right result in the output's own precision.
local function right(one) return one:expected().z:cast("f32") end

local function judge(one, z) return validate.run(one, { z = z }, POISON) end

TestClose = {}

function TestClose:test_a_correctly_rounded_result_passes()
  local one = make_case()
  local result = judge(one, right(one))
  lu.assertTrue(result.ok, result.reason)
  lu.assertStrContains(result.checks[1].detail, "1000 elements within")
end

function TestClose:test_one_rounding_more_is_not_within_a_tolerance_of_one_operation()
  local one = make_case()
  local z = right(one)
  z[500] = z[500] * (1 + 4 * 2.0 ^ -23)
  local result = judge(one, z)
  lu.assertEquals(result.verdict, "wrong_result")
  lu.assertStrContains(result.reason, "z[500]")
end

function TestClose:test_the_same_error_passes_with_more_operations_or_an_explicit_tolerance()
  for _, spec in ipairs { { "close", ops = 16 }, { "close", rtol = 1e-5 }, { "close", ulp = 8 },
    { "close", atol = 1e-4 } } do
    local one = make_case { validate = spec }
    local z = right(one)
    z[500] = z[500] * (1 + 4 * 2.0 ^ -23)
    lu.assertTrue(judge(one, z).ok)
  end
end

function TestClose:test_options_may_depend_on_the_parameters()
  local one = make_case { validate = { "close", ops = function(p) return p.n end } }
  local z = right(one)
  z[0] = z[0] * (1 + 60 * 2.0 ^ -23) -- 4 sqrt(1000) = 126 roundings
  lu.assertTrue(judge(one, z).ok)
end

function TestClose:test_cancelled_terms_are_measured_against_the_largest_element()
  -- 1 - 1 with a rounding error of the terms: no correct kernel may fail for it.
  local one = make_case { reference = function(p)
    local z = pg.array("f64", p.n)
    z[0] = 1.0
    return { z = z }
  end }
  local z = right(one)
  z[7] = 2.0 ^ -25
  lu.assertTrue(judge(one, z).ok)
  z[7] = 2.0 ^ -22
  lu.assertEquals(judge(one, z).verdict, "wrong_result")
end

function TestClose:test_what_is_plain_is_said()
  local one = make_case()
  local z = pg.array("f32", 1000)
  local result = judge(one, z)
  lu.assertEquals(result.verdict, "wrong_result")
  lu.assertStrContains(result.reason, "1000 of 1000 elements wrong: every element is zero")

  result = judge(one, one.io.x)
  lu.assertEquals(result.verdict, "wrong_result")
  lu.assertStrContains(result.reason, "it is a copy of x")

  z = right(one)
  z[999] = z[999] + 1
  lu.assertStrContains(judge(one, z).reason,
    "1 of 1000 elements wrong: only the last element is wrong")

  z = right(one)
  z[3] = 0 / 0
  result = judge(one, z)
  lu.assertEquals(result.verdict, "wrong_result")
  lu.assertStrContains(result.reason, "1 of them are NaN")

  z = right(one)
  for i = 600, 999 do z[i] = 0 end
  lu.assertStrContains(judge(one, z).reason,
    "400 of 1000 elements wrong: from index 600 on; they are zero")
end

function TestClose:test_poison_left_in_an_output_is_unwritten()
  local one = make_case()
  local words = pg.array("u32", 1000):fill(POISON)
  local z = pg.from_bytes("f32", 1000, words:tostring())
  local result = judge(one, z)
  lu.assertEquals(result.verdict, "unwritten_output")
  lu.assertStrContains(result.reason, "1000 of 1000 elements never written")

  local half = right(one)
  for i = 500, 999 do words[i] = POISON end
  half = pg.from_bytes("f32", 1000, half:tostring():sub(1, 2000) .. words:tostring():sub(2001))
  result = judge(one, half)
  lu.assertEquals(result.verdict, "unwritten_output")
  lu.assertStrContains(result.reason, "the first: z[500]")
end

function TestClose:test_nan_among_the_expected_values_is_no_wildcard()
  local one = make_case { reference = function(_, io)
    local z = 3 * io.x
    z[5] = 0 / 0
    return { z = z }
  end }
  local z = right(one)
  z[5] = 1
  lu.assertEquals(judge(one, z).verdict, "wrong_result")
  z[5] = 0 / 0
  lu.assertEquals(judge(one, z).verdict, "wrong_result")
  one.task.validators, one.task.validate = nil, { "close", ops = 1, nan_equal = true }
  lu.assertTrue(judge(one, z).ok)
end

function TestClose:test_the_default_tolerance_follows_the_outputs_precision()
  for dtype, unit in pairs { f16 = 2.0 ^ -11, bf16 = 2.0 ^ -8, f64 = 2.0 ^ -53 } do
    local one = make_case {
      kernel = "void k(const float* x, void* z, int n)",
      outputs = function(p) return { z = pg.spec(dtype, p.n) } end,
      reference = function(p) return { z = pg.array("f64", p.n):fill(1.0) } end,
    }
    local z = pg.array(dtype, 1000):fill(1.0)
    lu.assertTrue(judge(one, z).ok)
    z[9] = 1.0 + 8 * unit
    lu.assertEquals(judge(one, z).verdict, "wrong_result", dtype)
  end
end

local function proves(one, arrays, except)
  local proof = damage.prove(one, arrays, except)
  lu.assertTrue(proof.right.ok, proof.right.reason)
  lu.assertEquals(proof.accepted, {})
  lu.assertTrue(proof.tried >= 10, "only " .. proof.tried .. " kinds of damage applied")
end

function TestClose:test_damaged_answers_are_rejected()
  for _, spec in ipairs { { "close", ops = 1 }, { "close", rtol = 1e-5 }, { "close", ulp = 2 },
    { "close", ops = 1, norm = "max" }, { "close", ops = 1, norm = "row" },
    { "close", ops = 1, norm = "fro" }, { "close", ops = 4, scale = 5 },
    { "close", ops = 100, bound = "worst" }, { "close", ops = 1000, accumulate = "f16" } } do
    proves(make_case { validate = spec })
  end
  for _, dtype in ipairs { "f64", "f16", "bf16", "f8e4m3", "f8e5m2" } do
    proves(make_case { outputs = function(p) return { z = pg.spec(dtype, p.n) } end,
      kernel = "void k(const float* x, void* z, int n)" })
  end
end

function TestClose:test_a_wider_sum_leaves_only_the_last_rounding_to_the_output()
  local function f16(options)
    return make_case { validate = options, kernel = "void k(const float* x, void* z, int n)",
      outputs = function(p) return { z = pg.spec("f16", p.n) } end,
      reference = function(p) return { z = pg.array("f64", p.n):fill(1.0) } end }
  end
  local z = pg.array("f16", 1000):fill(1.0)
  z[9] = 1.0 + 8 * 2.0 ^ -11
  lu.assertTrue(judge(f16 { "close", ops = 16 }, z).ok) -- sums in f16 may lose that
  lu.assertEquals(judge(f16 { "close", ops = 16, accumulate = "f32" }, z).verdict, "wrong_result")
  z[9] = 1.0 + 2 * 2.0 ^ -11
  lu.assertTrue(judge(f16 { "close", ops = 16, accumulate = "f32" }, z).ok)
end

-- A sum of +1 and -1 that cancels: its error is measured by the terms, not by the little that is
-- left. In sequence, in f32, against float64.
function TestClose:test_the_scale_is_the_sum_of_the_terms()
  local n = 4096
  local function dot(scale)
    return make_case { params = { n = { default = n } }, validate = { "close", ops = n,
      scale = scale },
      inputs = function(p, rng) return { x = rng:array("f32", p.n, { low = -1, high = 1 }) } end,
      kernel = "void k(const float* x, float* z, int n)",
      outputs = function() return { z = pg.spec("f32", 1) } end,
      reference = function(_, io)
        local terms = 0.0
        for i = 0, n - 1 do terms = terms + math.abs(io.x[i]) end
        return { z = pg.from_list("f64", { io.x:sum() }), terms = terms }
      end }
  end
  local one = dot("terms")
  local z = pg.array("f32", 1)
  for i = 0, n - 1 do z[0] = z[0] + one.io.x[i] end
  lu.assertTrue(judge(one, z).ok, judge(one, z).reason)
  z[0] = z[0] + 0.05
  lu.assertEquals(judge(one, z).verdict, "wrong_result")
  local ok, e = pcall(judge, dot("trems"), z)
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "the reference returns no 'trems'")
end

function TestClose:test_rows_have_a_scale_of_their_own()
  local function rows(norm)
    return make_case { validate = { "close", ops = 1, norm = norm },
      outputs = function() return { z = pg.spec("f32", { 10, 100 }) } end,
      reference = function()
        local z = pg.array("f64", { 10, 100 })
        for i = 0, 9 do for j = 0, 99 do z:set(i, j, 10.0 ^ -i) end end
        return { z = z }
      end }
  end
  for _, norm in ipairs { "max", "fro", "row" } do
    local one = rows(norm)
    local z = right(one)
    lu.assertTrue(judge(one, z).ok)
    z:set(7, 3, 2e-7) -- twice what it should be, but nothing beside the 1 of the first row
    lu.assertEquals(judge(one, z).ok, norm ~= "row")
    z:set(7, 3, 1)
    local result = judge(one, z)
    lu.assertEquals(result.verdict, "wrong_result")
    lu.assertStrContains(result.reason, "z[7, 3]: expected 1e-07, got 1")
  end
end

function TestClose:test_what_overflows_the_output_rounds_to_infinity()
  local function f16(value)
    return make_case { kernel = "void k(const float* x, void* z, int n)",
      outputs = function() return { z = pg.spec("f16", 4) } end,
      reference = function() return { z = pg.array("f64", 4):fill(value) } end }
  end
  lu.assertTrue(judge(f16(70000), pg.array("f16", 4):fill(math.huge)).ok)
  lu.assertFalse(judge(f16(60000), pg.array("f16", 4):fill(math.huge)).ok)
  lu.assertFalse(judge(f16(-70000), pg.array("f16", 4):fill(math.huge)).ok)
  lu.assertFalse(judge(f16(140000), pg.array("f16", 4):fill(65504)).ok)
end

TestExact = {}

local function integers(fields)
  local base = {
    kernel = "void k(const float* x, int* z, int n)", validate = "exact",
    outputs = function(p) return { z = pg.spec("i32", p.n) } end,
    reference = function(p)
      local z = pg.array("i32", p.n)
      for i = 0, p.n - 1 do z[i] = i end
      return { z = z }
    end,
  }
  for name, value in pairs(fields or {}) do base[name] = value end
  return make_case(base)
end

function TestExact:test_integers()
  local one = integers()
  local z = one:expected().z:copy()
  lu.assertTrue(judge(one, z).ok)
  z[999] = 998
  local result = judge(one, z)
  lu.assertEquals(result.verdict, "wrong_result")
  lu.assertStrContains(result.reason, "z[999]: expected 999")
end

function TestExact:test_damaged_answers_are_rejected()
  proves(integers())
  for _, dtype in ipairs { "u8", "i64", "f32" } do
    proves(integers { outputs = function(p) return { z = pg.spec(dtype, p.n) } end,
      kernel = "void k(const float* x, void* z, int n)",
      reference = function(p) return { z = pg.array(dtype, p.n):random { seed = 3 } } end })
  end
  local Pair = pg.struct("Pair", { { "key", "i64" }, { "value", "i32" } })
  local z = pg.array(Pair, 100)
  for i = 0, 99 do z[i] = { key = 3 * i + 1, value = -i } end
  proves(integers { outputs = function() return { z = pg.spec(Pair, 100) } end,
    kernel = "void k(const float* x, Pair* z)", reference = function() return { z = z } end })
end

function TestExact:test_structs_are_compared_by_their_bits()
  local Pair = pg.struct("Pair", { { "key", "i64" }, { "value", "i32" } })
  local expected = pg.array(Pair, 4)
  expected[2] = { key = 5, value = 6 }
  local one = integers {
    kernel = "void k(const float* x, Pair* z)", reference = function() return { z = expected } end,
    outputs = function() return { z = pg.spec(Pair, 4) } end,
  }
  lu.assertTrue(judge(one, expected:copy()).ok)
  local z = expected:copy()
  z[2] = { key = 5, value = 7 }
  local result = judge(one, z)
  lu.assertEquals(result.verdict, "wrong_result")
  lu.assertEquals(result.reason, "z.value[2]: expected 6, got 7; 1 of 4 elements wrong")
end

TestPath = {}

function TestPath:test_state_that_was_left_alone_is_unwritten()
  local one = make_case {
    kernel = "void k(const float* x, float* z, int n)", outputs = "absent",
    state = function(p) return { z = { dtype = "f32", n = p.n } } end,
  }
  local result = judge(one, pg.array("f32", 1000))
  lu.assertEquals(result.verdict, "unwritten_output")
  local z = pg.array("f32", 1000)
  z[0] = 1
  lu.assertEquals(judge(one, z).verdict, "wrong_result")
end

function TestPath:test_several_validators_and_facts()
  local one = make_case { validate = {
    { "close", ops = 1 },
    { function(ctx) return { ok = true, facts = { largest = ctx.outputs.z:max(),
      limit = ctx.options.limit } } end,
      limit = 6 },
  } }
  local result = judge(one, right(one))
  lu.assertTrue(result.ok)
  lu.assertEquals(result.facts.limit, 6)
  lu.assertTrue(result.facts.largest < 6)
end

-- A single check is a result; what is compared without a tolerance must be equal.
function TestPath:test_a_validator_in_one_line()
  local one = make_case { validate = function(ctx) return ctx:compare("z", { rtol = 1e-6 }) end }
  local result = judge(one, right(one))
  lu.assertTrue(result.ok)
  lu.assertStrContains(result.checks[1].detail, "1000 elements within rtol 1e-06")
  local z = right(one)
  z[8] = z[8] * 2
  lu.assertStrContains(judge(one, z).reason, "z[8]: expected")
  one = make_case { validate = function(ctx) return ctx:compare "z" end }
  lu.assertEquals(judge(one, right(one)).verdict, "wrong_result") -- the expected values are f64
  local ok, e = pcall(judge, make_case { validate = function(ctx) return ctx:compare "zz" end }, z)
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "'zz' has no expected value")
  ok, e = pcall(judge, make_case { validate = function(ctx) return ctx:array "zz" end }, z)
  lu.assertFalse(ok)
  lu.assertEquals(e.hint, "did you mean 'z'?")
end

function TestPath:test_the_first_failure_decides()
  local one = make_case { validate = {
    { function() return { ok = false, verdict = "race", reason = "first" } end },
    { function() return { ok = false, reason = "second" } end },
  } }
  local result = judge(one, right(one))
  lu.assertEquals(result.verdict, "race")
  lu.assertEquals(result.reason, "first")
end

local function refuses(spec, message)
  local ok, e = pcall(function()
    local one = make_case { validate = spec }
    return judge(one, right(one))
  end)
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, message)
  return e
end

function TestPath:test_mistakes()
  lu.assertEquals(refuses("clsoe", "no validator 'clsoe'").hint, "did you mean 'close'?")
  refuses({ 5 }, "expected a name or a function")
  lu.assertStrContains(refuses({ "close", { "exact" } }, "a validator has one name").hint,
    "several are a list")
  refuses({ "close", norm = "rows" }, "option norm: unknown value 'rows'")
  refuses({ "close", ops = 2 ^ 24, bound = "worst" }, "any result is within the worst bound")
  refuses({ "close", of = "q" }, "task t/x, validator close: 'q' has no expected value")
  lu.assertEquals(refuses({ "close", opps = 1 }, "unknown option 'opps'").hint,
    "did you mean 'ops'?")
  refuses({ "close", ops = "x" }, "option ops: expected number, got string")
  refuses({ "close", rtol = 0 / 0 }, "expected a number >= 0")
  refuses({ "exact", ops = 1 }, "unknown option 'ops'")
  refuses({ function() return nil end }, "validator custom returned nil")
  refuses({ function(ctx) return ctx.nothing.here end }, "attempt to index")
end

function TestPath:test_an_output_that_no_validator_looks_at_is_a_mistake_of_the_task()
  local function two(spec)
    return make_case { validate = spec,
      kernel = "void k(const float* x, float* z, float* w, int n)",
      outputs = function(p) return { z = pg.spec("f32", p.n), w = pg.spec("f32", p.n) } end,
      reference = function(_, io) return { z = 3 * io.x, w = 2 * io.x } end }
  end
  local one = two { { "close", of = "z" } }
  local arrays = damage.right(one)
  local ok, e = pcall(validate.run, one, arrays, POISON)
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "no validator judges output 'w'")
  lu.assertTrue(validate.run(two { { "close", of = "z" }, { "close", of = "w" } }, arrays,
    POISON).ok)
  lu.assertTrue(validate.run(two { { "close", of = "z" }, { function(ctx)
    return ctx.outputs.w[0] > 0 end } }, arrays, POISON).ok)
end

-- A task whose reference forgets an output must not let every candidate pass.
function TestPath:test_an_output_that_nothing_judges_is_a_mistake_of_the_task()
  local function refuses_reference(fields, message)
    local one = make_case(fields)
    local ok, e = pcall(judge, one, pg.array("f32", 1000))
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, message)
  end
  local function other(_, io) return { q = io.x } end
  for _, name in ipairs { "close", "exact" } do
    refuses_reference({ reference = other, validate = name }, "nothing for output 'z'")
    refuses_reference({ reference = other, validate = name, outputs = "absent",
      kernel = "void k(const float* x, float* z, int n)",
      state = function(p) return { z = pg.spec("f32", p.n) } end }, "nothing that a buffer")
  end
end

os.exit(lu.LuaUnit.run())
