--- factorization: matrices whose product is the input, with the structure that they must have.
-- Signs and the order of equal eigenvalues are free, so no reference is needed.
--
--   kind = "cholesky"  a = l l^T, l lower triangular, its diagonal positive; or upper = "u": u^T u
--   kind = "lu"        a = l u, l unit lower and u upper triangular, in one matrix lu or in two;
--                      pivots = "p": row i of l u is row p[i] of a
--   kind = "qr"        a = q r, q orthogonal, r upper triangular
--   kind = "eigen"     a = v diag(w) v^T, v orthogonal (columns), w ascending or as order says
--   kind = "svd"       a = u diag(s) v^T, u and v orthogonal (columns; or vt), s descending, >= 0
--
-- Options: the names of the buffers (a, l, u, lu, q, r, v, vt, w, s; by default these), triangle =
-- "any" (what lies in the other triangle does not matter; else zeros), order ("ascending",
-- "descending", "any"), slack (a factor for every tolerance; default 1), terms (of Cholesky and LU:
-- how many terms of a sum are not 0; default, and for 0: n). Buffers have two extents, or three for
-- a batch.
--
-- Tolerances, with u the unit roundoff of the result. Cholesky and LU have small backward errors
-- element by element: |a - l u| <= gamma |l| |u| (Higham, Accuracy and Stability of Numerical
-- Algorithms, 2nd ed., theorems 9.3 and 10.3), so within 2 k u |l_i| |u_j| of the norms of row and
-- column, k = min(t + 1, 4 sqrt(t + 1)) for t terms. QR is accurate column by column (theorem
-- 19.4), the others by the norm of a: within (20 + 20 sqrt(n)) u, as for orthogonality. Beyond 2^32
-- products of elements, both sides are multiplied by four vectors of random signs (Freivalds 1977);
-- not where few terms make a tolerance tight, which the sums over rows would hide.
local pg = require "perigee"

local UNIT = require("perigee.precision").UNIT
local PRODUCTS_MOST, VECTORS = 2.0 ^ 32, 4
local SIX = 6 -- standard deviations that a sum of random signs stays within

local OPTIONS = { kind = { "cholesky", "lu", "qr", "eigen", "svd" }, triangle = { "zero", "any" },
  order = { "ascending", "descending", "any" }, slack = "number", pivots = "string",
  upper = "string", terms = "number" }
for _, name in ipairs { "a", "l", "u", "lu", "q", "r", "v", "vt", "w", "s" } do
  OPTIONS[name] = "string"
end

-- ---- matrices ----

local function ones(rows, columns) return pg.array("f64", { rows, columns }, 1.0) end

-- A column of 2-norms of the rows, or a row of those of the columns.
local function row_sizes(m)
  local sums = pg.product(m * m, ones(m.shape[2], 1))
  for i = 0, sums.count - 1 do sums[i] = math.sqrt(sums[i]) end
  return sums:reshape { m.shape[1], 1 }
end

local function column_sizes(m)
  return row_sizes(m:transposed()):reshape { 1, m.shape[2] }
end

local function size_of(m)
  return math.sqrt((m * m):sum())
end

-- The part of a matrix on one side of the diagonal, in f64; unit: with ones on it.
local function triangle(m, lower, unit)
  local rows, columns = m.shape[1], m.shape[2]
  local from, to = m:cast("f64"), pg.array("f64", { rows, columns })
  for i = 0, rows - 1 do
    local first = lower and 0 or math.min(i, columns)
    local count = (lower and math.min(i + 1, columns) or columns) - first
    to:slice(i * columns + first, count):copy_from(from:slice(i * columns + first, count))
    if unit and i < columns then to[i * columns + i] = 1.0 end
  end
  return to
end

local function identity(n)
  local m = pg.array("f64", { n, n })
  for i = 0, n - 1 do m[i * n + i] = 1.0 end
  return m
end

-- Each column times an element of a vector.
local function scaled_columns(m, vector)
  return m * pg.product(ones(m.shape[1], 1), vector:cast("f64"):reshape { 1, vector.count })
end

local function with_shape(m, like) return m:reshape(like.shape) end

local function chain(factors, last)
  local product = last
  for i = #factors, 1, -1 do
    product = product and pg.product(factors[i], product) or factors[i]
  end
  return product
end

-- ---- checks ----

-- want = the product of the factors, within size * rows[i] * columns[j].
local function product_check(ctx, name, want, factors, size, rows, columns)
  local m, n = want.shape[1], want.shape[2]
  local tight = (ctx.options.terms or 0) > 0
  if tight or m * n * factors[1].shape[2] <= PRODUCTS_MOST then
    return ctx:compare({ name = name, want = want, got = with_shape(chain(factors), want) },
      { atol = size, scale = pg.product(rows, columns),
        described = ("within %.2g of rows and columns"):format(size) })
  end
  local signs = 2 * pg.array("f64", { n, VECTORS }):random { seed = ctx.seed, dist = "integer",
    last = 1 } - 1
  local scale = rows * (SIX * size_of(columns))
  return ctx:compare({ name = name .. ", times random signs", want = pg.product(want, signs),
    got = chain(factors, signs) }, { atol = size, scale = scale,
    described = ("within %.2g of rows, for %d vectors of random signs"):format(size, VECTORS) })
end

local function orthogonal(ctx, name, q, size)
  local n = q.shape[2]
  return ctx:compare({ name = name .. "^T " .. name, want = identity(n),
    got = with_shape(pg.product(q:transposed(), q), identity(n)) },
    { atol = size, described = ("within %.2g of the identity"):format(size) })
end

-- The other triangle holds zeros.
local function structure(ctx, name, m, kept)
  if ctx.options.triangle == "any" then return nil end
  local check = ctx:compare({ name = name, want = kept, got = m })
  if check.ok then
    check.detail = "triangular"
  else
    check.reason = ("%s is not triangular: %s"):format(name, check.reason)
  end
  return check
end

local function ordered(ctx, name, values, order)
  if order == "any" then return nil end
  local at = pg.first_unsorted(values, { descending = order == "descending" })
  if not at then return ctx:pass(name, order) end
  return ctx:fail(name, ("%s: not %s: %.9g at index %d, %.9g behind it"):format(name, order,
    values[at - 1], at - 1, values[at]))
end

local function at_least(ctx, name, value_at, count, strict)
  for i = 0, count - 1 do
    local value = value_at(i)
    if not (value > 0 or (value == 0 and not strict)) then
      return ctx:fail(name, ("%s[%d] = %.9g, expected a number %s 0"):format(name, i, value,
        strict and ">" or ">="))
    end
  end
  return nil
end

-- ---- kinds: each returns a list of checks of one matrix, nil where there is nothing to say ----

local kinds = {}

local function triangular_size(one, n)
  local terms = one.ctx.options.terms or 0
  local k = 1 + (terms > 0 and math.min(terms, n) or n)
  return 2 * math.min(k, 4 * math.sqrt(k)) * one.unit
end

local function orthogonal_size(one, n)
  return (20 + 20 * math.sqrt(n)) * one.unit
end

function kinds.cholesky(ctx, one)
  local upper = ctx.options.upper
  local name = upper or ctx.options.l or "l"
  local m, a = one:matrix(name), one.a
  local n = a.shape[1]
  local kept = triangle(m, not upper)
  local factors = upper and { kept:transposed(), kept } or { kept, kept:transposed() }
  return {
    structure(ctx, name, m, kept) or false,
    at_least(ctx, "the diagonal of " .. name, function(i) return m:get(i, i) end, n, true) or false,
    product_check(ctx, upper and name .. "^T " .. name or name .. " " .. name .. "^T", a, factors,
      triangular_size(one, n), row_sizes(factors[1]), column_sizes(factors[2])),
  }
end

-- The rows of a in the order of the pivots; nil and a failed check when they are no permutation.
local function pivoted(ctx, one)
  local name = ctx.options.pivots
  if not name then return one.a end
  local n, pivots = one.a.shape[1], one:vector(name)
  if pg.check_permutation(pivots) then
    return nil, ctx:fail(name, ("%s is no permutation of 0 to %d"):format(name, n - 1))
  end
  local rows = pg.array("f64", one.a.shape)
  local columns = one.a.shape[2]
  for i = 0, n - 1 do
    rows:slice(i * columns, columns):copy_from(one.a:slice(pivots[i] * columns, columns))
  end
  return rows
end

function kinds.lu(ctx, one)
  local a, wrong = pivoted(ctx, one)
  if not a then return { wrong } end
  local o, checks = ctx.options, {}
  local l, u
  if o.l or o.u then
    local left, right = one:matrix(o.l or "l"), one:matrix(o.u or "u")
    l, u = triangle(left, true, true), triangle(right, false)
    checks[1] = structure(ctx, o.l or "l", left, l) or false
    checks[2] = structure(ctx, o.u or "u", right, u) or false
  else
    local m = one:matrix(o.lu or "lu")
    l, u = triangle(m, true, true), triangle(m, false)
  end
  checks[#checks + 1] = product_check(ctx, "l u", a, { l, u }, triangular_size(one, a.shape[1]),
    row_sizes(l), column_sizes(u))
  return checks
end

function kinds.qr(ctx, one)
  local q, r = one:matrix(ctx.options.q or "q"), one:matrix(ctx.options.r or "r")
  local kept, size = triangle(r, false), orthogonal_size(one, one.a.shape[1])
  return {
    structure(ctx, ctx.options.r or "r", r, kept) or false,
    orthogonal(ctx, ctx.options.q or "q", q:cast("f64"), size),
    product_check(ctx, "q r", one.a, { q:cast("f64"), kept }, size, ones(q.shape[1], 1),
      column_sizes(one.a)),
  }
end

-- By the norm of a, the same for every element.
local function norm_check(ctx, name, one, factors, size)
  return product_check(ctx, name, one.a, factors, size * size_of(one.a), ones(one.a.shape[1], 1),
    ones(1, one.a.shape[2]))
end

function kinds.eigen(ctx, one)
  local o = ctx.options
  local v, w = one:matrix(o.v or "v"):cast("f64"), one:vector(o.w or "w")
  local size = orthogonal_size(one, one.a.shape[1])
  return {
    ordered(ctx, o.w or "w", w, o.order or "ascending") or false,
    orthogonal(ctx, o.v or "v", v, size),
    norm_check(ctx, "v diag(w) v^T", one, { scaled_columns(v, w), v:transposed() }, size),
  }
end

function kinds.svd(ctx, one)
  local o = ctx.options
  local u, s = one:matrix(o.u or "u"):cast("f64"), one:vector(o.s or "s")
  local vt = o.vt and one:matrix(o.vt) or one:matrix(o.v or "v"):transposed()
  vt = vt:cast("f64")
  local size = orthogonal_size(one, math.max(one.a.shape[1], one.a.shape[2]))
  return {
    at_least(ctx, o.s or "s", function(i) return s[i] end, s.count, false) or false,
    ordered(ctx, o.s or "s", s, o.order or "descending") or false,
    orthogonal(ctx, o.u or "u", u, size),
    orthogonal(ctx, "v", vt:transposed(), size),
    norm_check(ctx, "u diag(s) v^T", one, { scaled_columns(u, s), vt }, size),
  }
end

-- ---- one matrix of a batch ----

local One = {}
One.__index = One

-- Matrix `self.number` of a buffer with `rank` extents, or one more for a batch.
local function part(self, array, name, rank)
  local shape = array.shape
  if #shape ~= rank + (self.batched and 1 or 0) then
    pg.error("invalid", ("'%s' has %d extents, expected %d"):format(name, #shape,
      rank + (self.batched and 1 or 0)), "declare shapes: pg.spec(\"f32\", { p.n, p.n })",
      self.where)
  end
  if not self.batched then return array end
  table.remove(shape, 1)
  local count = rank == 2 and shape[1] * shape[2] or shape[1]
  return array:slice(self.number * count, count):reshape(shape)
end

function One:matrix(name) return part(self, self.ctx:array(name), name, 2) end
function One:vector(name) return part(self, self.ctx:array(name), name, 1) end

-- The unit roundoff of the results.
local function unit_of(ctx)
  for _, name in ipairs(ctx.output_names) do
    local unit = UNIT[ctx:array(name).dtype]
    if unit then return unit * (ctx.options.slack or 1) end
  end
  for _, array in pairs(ctx.state) do
    if UNIT[array.dtype] then return UNIT[array.dtype] * (ctx.options.slack or 1) end
  end
  return pg.error("invalid", "factors are f64, f32, f16 or bf16", nil, ctx.task.where)
end

local function unwritten(ctx)
  for _, name in ipairs(ctx.output_names) do
    local count = ctx:unwritten(name)
    if count > 0 then
      return ctx:fail(name, ("%s: %d of %d elements never written"):format(name, count,
        ctx:array(name).count), "unwritten_output")
    end
  end
  return nil
end

local function check_one(ctx, one, batch)
  local checks = {}
  for _, check in ipairs(kinds[ctx.options.kind](ctx, one)) do
    if check and batch > 1 and not check.ok then
      check.reason = ("matrix %d of the batch: %s"):format(one.number, check.reason)
      check.detail = check.reason
    end
    if check then checks[#checks + 1] = check end
    if check and not check.ok then break end
  end
  return checks
end

return function(ctx)
  ctx:check_options(OPTIONS)
  if not ctx.options.kind then
    pg.error("invalid", "which factorization? kind = \"cholesky\"", nil, ctx.task.where) end
  local a = ctx:input(ctx.options.a or "a")
  local missing = unwritten(ctx)
  if missing then return ctx:result { missing } end
  local batched = #a.shape == 3
  local batch, checks = batched and a.shape[1] or 1, {}
  local unit = unit_of(ctx)
  for number = 0, a.count > 0 and batch - 1 or -1 do
    local one = setmetatable({ ctx = ctx, number = number, batched = batched, unit = unit,
      where = ctx.task.where }, One)
    one.a = part(one, a, ctx.options.a or "a", 2):cast("f64")
    checks = check_one(ctx, one, batch)
    if checks[#checks] and not checks[#checks].ok then break end
  end
  return ctx:result(checks)
end
