-- Operators of arrays against the same arithmetic element by element in Lua, which is float64 too.
local lu = require "luaunit"
local pg = require "perigee"

TestArith = {}

local N = 1300 -- more than two blocks of the C loop, not a multiple

local function each(result, formula)
  lu.assertEquals(result.dtype, "f64")
  for i = 0, N - 1 do lu.assertEquals(result[i], formula(i)) end
end

function TestArith:test_operators_of_every_kind_of_operand()
  local a = pg.array("f32", N):random { seed = 1, dist = "normal" }
  local b = pg.array("f64", N):random { seed = 2, low = 1, high = 2 }
  local c = pg.array("i16", N):random { seed = 3, dist = "integer", first = -100, last = 100 }
  each(a + b, function(i) return a[i] + b[i] end)
  each(a - c, function(i) return a[i] - c[i] end)
  each(c * b, function(i) return c[i] * b[i] end)
  each(a / b, function(i) return a[i] / b[i] end)
  each(2.5 * a + c, function(i) return 2.5 * a[i] + c[i] end)
  each(1 - a, function(i) return 1 - a[i] end)
  each(-a, function(i) return -a[i] end)
end

function TestArith:test_the_shape_is_the_first_arrays()
  lu.assertEquals((2 * pg.array("f32", { 3, 4 })).shape, { 3, 4 })
  lu.assertEquals((pg.array("f32", 0) + 1).count, 0)
end

function TestArith:test_negation_keeps_the_sign_of_zero()
  lu.assertEquals(1 / (-pg.array("f64", 1))[0], -math.huge)
end

function TestArith:test_refusals()
  local function refuses(message, f)
    local ok, e = pcall(f)
    lu.assertFalse(ok)
    lu.assertEquals(e.code, "invalid")
    lu.assertStrContains(e.message, message)
  end
  local a = pg.array("f32", 4)
  refuses("arrays of 5 and 4 elements", function() return a + pg.array("f32", 5) end)
  refuses("expected array or number, got string", function() return a + "x" end)
  refuses("no arithmetic on structs P", function() return 1 * pg.array(pg.struct("P",
    { { "x", "f32" } }), 4) end)
end

os.exit(lu.LuaUnit.run())
