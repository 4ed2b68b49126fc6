--- linear_system: a solution x of a x = b, judged by what is left of it. No reference is needed,
-- and how ill the system is does not matter: x is right when it solves one that is near.
--
-- Options: a, b, x (names; default "a", "b", "x"), slack (a factor for the tolerance; default 1).
-- a has two extents, b and x one or two.
--
-- The tolerance: elimination with partial pivoting and both triangles solve (a + d) x = b, where an
-- element of d is a sum of n roundings of numbers that grow to about sqrt(n) |a| (Trefethen and
-- Schreiber, SIAM J. Matrix Anal. Appl. 11(3), 1990; Higham, Accuracy and Stability of Numerical
-- Algorithms, 2nd ed., theorem 9.4 and section 9.4). Errors are independent, so row i of a x - b
-- ends within (8 + 8 sqrt(n)) u of |a_i| |x_j| + |b_ij|, 2-norms of the row of a and the column of
-- x: ten times what is usual.
local pg = require "perigee"

local UNIT = require("perigee.precision").UNIT
local OPTIONS = { a = "string", b = "string", x = "string", slack = "number" }

local function ones(rows, columns) return pg.array("f64", { rows, columns }, 1.0) end

local function root(array)
  for i = 0, array.count - 1 do array[i] = math.sqrt(array[i]) end
  return array
end

local function magnitudes(array)
  local copy = array:cast("f64")
  for i = 0, copy.count - 1 do copy[i] = math.abs(copy[i]) end
  return copy
end

-- Two extents, a vector as a column.
local function matrix(array)
  return #array.shape == 1 and array:reshape { array.count, 1 } or array
end

return function(ctx)
  ctx:check_options(OPTIONS)
  local o = ctx.options
  local a, b, name = ctx:input(o.a or "a"), matrix(ctx:input(o.b or "b")), o.x or "x"
  local x = matrix(ctx:array(name))
  local n = a.shape[1]
  if #a.shape ~= 2 or a.shape[2] ~= n or b.shape[1] ~= n or x.shape[1] ~= n
    or x.shape[2] ~= b.shape[2] then
    pg.error("invalid", "linear_system: a is square, b and x have as many rows", nil,
      ctx.task.where)
  end
  local missing = ctx:unwritten(name)
  if missing > 0 then
    return ctx:result { ctx:fail(name, ("%s: %d of %d elements never written"):format(name, missing,
      x.count), "unwritten_output") }
  end
  local rows = root(pg.product(a * a, ones(n, 1))):reshape { n, 1 }
  local columns = root(pg.product(ones(1, n), x * x)):reshape { 1, x.shape[2] }
  for j = 0, columns.count - 1 do -- what is not finite must not widen the tolerance
    columns[j] = columns[j] < math.huge and columns[j] or 0
  end
  local size = (8 + 8 * math.sqrt(n)) * (UNIT[x.dtype] or UNIT.f32) * (o.slack or 1)
  return ctx:result { ctx:compare({ name = "a " .. name, want = b:cast("f64"),
    got = pg.product(a, x) }, { atol = size, scale = pg.product(rows, columns) + magnitudes(b),
    described = ("within %.2g of the norms of a's rows and of x"):format(size) }) }
end
