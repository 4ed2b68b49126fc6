-- pg.product against sums in Lua, which are float64 too; and the validator freivalds, which must
-- find a single wrong element of a product that nobody computed.
local lu = require "luaunit"
local pg = require "perigee"
local case = require "perigee.case"
local validate = require "perigee.validate"

local function at(x, i, j, transposed)
  if transposed then i, j = j, i end
  return #x.shape == 1 and x[i] or x:get(i, j)
end

local function check(a, b, how)
  local ta, tb = how.a_transposed, how.b_transposed
  local c = pg.product(a, b, how)
  local k = ta and a.shape[1] or a.shape[2]
  local m, n = c.shape[1], c.shape[2] or 1
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local sum, size = 0.0, 0.0
      for l = 0, k - 1 do
        local term = at(a, i, l, ta) * at(b, l, j, tb)
        sum, size = sum + term, size + math.abs(term)
      end
      lu.assertAlmostEquals(at(c, i, j), sum, 2.0 ^ -47 * size + 1e-300)
    end
  end
end

local function made(dtype, shape, seed) return pg.array(dtype, shape):random { seed = seed } end

TestProduct = {}

-- Sizes around the blocks of the C code: 64 rows, two at a time; four deep, 256; 8 columns, 512.
function TestProduct:test_sizes_and_transposed_factors()
  for _, s in ipairs { { 1, 1, 1 }, { 3, 5, 7 }, { 65, 7, 9 }, { 2, 259, 3 }, { 3, 6, 517 } } do
    local m, k, n = table.unpack(s)
    for _, ta in ipairs { false, true } do
      for _, tb in ipairs { false, true } do
        local a = made("f32", ta and { k, m } or { m, k }, 1)
        local b = made("f64", tb and { n, k } or { k, n }, 2)
        check(a, b, { a_transposed = ta, b_transposed = tb })
      end
    end
  end
end

function TestProduct:test_a_vector_is_a_column_and_gives_a_vector()
  local a, x = made("f64", { 70, 37 }, 3), made("f32", 37, 4)
  lu.assertEquals(pg.product(a, x).shape, { 70 })
  check(a, x, {})
  check(a, made("bf16", 70, 5), { a_transposed = true })
end

function TestProduct:test_nothing_to_add_gives_zero()
  lu.assertEquals(pg.product(pg.array("f32", { 2, 0 }), pg.array("f32", { 0, 3 })):sum(), 0.0)
end

function TestProduct:test_shapes_that_do_not_fit_are_refused()
  local a = pg.array("f32", { 2, 3 })
  lu.assertErrorMsgContains("no product of 2 x 3 and 2 x 3", pg.product, a, a)
  lu.assertErrorMsgContains("got 3 dimensions", pg.product, pg.array("f32", { 1, 1, 1 }), a)
end

local POISON = 0x7fa12345

TestFreivalds = {}

local function make_case(m, n, k, computed)
  local task = pg.task {
    name = "t/matmul", kernel = "void f(const float* a, const float* b, float* c)",
    inputs = function(_, rng)
      local between = { low = -1, high = 1 }
      return { a = rng:array("f32", { m, k }, between), b = rng:array("f32", { k, n }, between) }
    end,
    outputs = function() return { c = pg.spec("f32", { m, n }) } end,
    launch = function() return { grid = 1, block = 1 } end,
    reference = function(_, io) return { c = computed and pg.product(io.a, io.b) or nil } end,
    validate = "freivalds",
  }
  local one = case.make(task, {}, 5)
  return one, pg.product(one.io.a, one.io.b):cast("f32")
end

local function judge(one, c) return validate.run(one, { c = c }, POISON) end

function TestFreivalds:test_a_product_passes_whether_computed_or_not()
  for _, computed in ipairs { false, true } do
    local one, c = make_case(40, 70, 90, computed)
    lu.assertTrue(judge(one, c).ok)
  end
end

-- What random signs say of the error of a product is what its elements say.
function TestFreivalds:test_the_error_is_known_without_the_product()
  local function error_of(computed)
    local one, c = make_case(400, 300, 90, computed)
    for i = 0, c.count - 1 do c[i] = c[i] * (1 + 1e-7 * math.sin(i)) end
    return judge(one, c).checks[1].error
  end
  local exact = error_of(true)
  lu.assertTrue(exact > 3e-8 and exact < 3e-7, exact)
  lu.assertAlmostEquals(error_of(false), exact, 0.2 * exact)
end

function TestFreivalds:test_sums_in_single_precision_in_a_bad_order_pass()
  local one, c = make_case(9, 31, 500)
  local sum = pg.array("f32", 1)
  for i = 0, 8 do
    for j = 0, 30 do
      sum[0] = 0
      for l = 0, 499 do sum[0] = sum[0] + one.io.a:get(i, l) * one.io.b:get(l, j) end
      c:set(i, j, sum[0])
    end
  end
  local result = judge(one, c)
  lu.assertTrue(result.ok, result.reason)
end

function TestFreivalds:test_one_wrong_element_is_found_and_named()
  for _, at_index in ipairs { 0, 70 * 40 - 1, 1234 } do
    local one, c = make_case(40, 70, 90)
    c[at_index] = c[at_index] * 1.001 + 0.001
    local result = judge(one, c)
    lu.assertEquals(result.verdict, "wrong_result")
    lu.assertStrContains(result.reason, ("c[%d] (row %d, column %d)"):format(at_index,
      at_index // 70, at_index % 70))
  end
end

local function reject(computed)
  local one, c = make_case(40, 40, 40, computed)
  lu.assertFalse(judge(one, pg.array("f32", { 40, 40 })).ok)
  lu.assertFalse(judge(one, one.io.a).ok)
  lu.assertFalse(judge(one, pg.product(one.io.b, one.io.a):cast("f32")).ok)
  local nan = c:copy()
  nan[17] = 0 / 0
  lu.assertEquals(judge(one, nan).verdict, "wrong_result")
  nan[17] = math.huge
  lu.assertEquals(judge(one, nan).verdict, "wrong_result")
  local poison = pg.from_bytes("f32", 1, string.pack("<I4", POISON))
  for i = 800, 1599 do c:slice(i, 1):copy_from(poison) end
  lu.assertEquals(judge(one, c).verdict, "unwritten_output")
end

function TestFreivalds:test_zeros_copies_nan_infinity_and_unwritten_elements_fail()
  reject(false)
  reject(true)
end

-- Factors with 11 bits, as of tensor cores: an error of one part in 4096 in every factor.
function TestFreivalds:test_a_product_of_shortened_factors_fails()
  local one = make_case(64, 64, 256)
  local a, b = one.io.a:cast("f16"), one.io.b:cast("f16")
  lu.assertFalse(judge(one, pg.product(a, b):cast("f32")).ok)
end

function TestFreivalds:test_a_name_that_is_no_matrix_is_a_mistake_of_the_task()
  local one, c = make_case(4, 4, 4)
  one.task.validators = nil
  one.task.validate = { "freivalds", a = "x" }
  lu.assertErrorMsgContains("a = 'x' is no matrix", judge, one, c)
end

os.exit(lu.LuaUnit.run())
