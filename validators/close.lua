--- close: numbers equal within rounding.
--
-- The tolerance follows from the output's precision and from ops, the number of roundings that
-- reach one element. With the unit roundoff u (2^-24 for f32):
--
--   |got - want| <= 2 k u |want| + k u scale
--
-- k = ops for a few operations (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
-- lemma 3.1: gamma_n = n u / (1 - n u)); for many, k = 4 sqrt(ops): rounding errors of a long sum
-- are independent, so they grow with the root, whatever the order of the sum (Higham and Mary,
-- SIAM J. Sci. Comput. 41(5), 2019, theorem 2.4 with lambda = 4). bound = "worst" keeps gamma_n.
-- scale is what terms that cancel leave the error of: the largest expected element, or the sum of
-- the terms' magnitudes where the reference returns that.
--
-- Options: of (name or list; default: everything that has an expected value), ops (default 1),
-- accumulate (dtype of the sum where it differs from the output's, or "tf32"), scale (a number, or
-- the name of an array that the reference returns), bound ("likely", "worst"), norm ("max", "row",
-- "fro"), rtol, atol, ulp, nan_equal.
local pg = require "perigee"

local precision = require "perigee.precision"

local UNIT, TINY = precision.UNIT, precision.TINY

local OPTIONS = { of = "string table", ops = "number", rtol = "number", atol = "number",
  ulp = "number", nan_equal = "boolean", accumulate = { "f64", "f32", "tf32", "f16", "bf16" },
  scale = "number string", bound = { "likely", "worst" }, norm = { "max", "row", "fro" } }

-- Largest finite magnitude among the expected values.
local function largest(want)
  return want.count > 0 and pg.row_norms(want, want.count)[0] or 0.0
end

local function roundings(ctx, unit)
  local ops = ctx.options.ops or 1
  if ctx.options.bound ~= "worst" then return math.min(ops, 4 * math.sqrt(ops)) end
  if ops * unit >= 1 then
    pg.error("range", ("ops = %g roundings of 2^%d: any result is within the worst bound"):format(
      ops, math.floor(math.log(unit, 2) + 0.5)), 'use bound = "likely" or a wider accumulate',
      ctx.task.where)
  end
  return ops / (1 - ops * unit)
end

-- The scale of terms that cancel: a number, or an array of one for each element.
local function scale_of(ctx, want)
  local scale = ctx.options.scale
  if type(scale) ~= "string" then return scale or largest(want) end
  local array = ctx.expected[scale]
  if type(array) == "number" then return array end
  if not array then
    pg.error("not_found", ("scale: the reference returns no '%s'"):format(scale),
      "return the sum of the magnitudes of the terms under that name", ctx.task.where)
  end
  return array.dtype == "f64" and array or array:cast("f64")
end

-- Relative to the norm of all expected elements, of their row, or of the largest.
local function norm_wise(ctx, target, size)
  local norm, want = ctx.options.norm, target.want
  local t = { rtol = 0.0, atol = size, size = size }
  if norm == "row" then
    local shape = target.got.shape
    t.scale = pg.row_norms(want, math.max(1, shape[#shape]))
    t.described = ("within %.2g of the largest of their row"):format(size)
  elseif norm == "max" then
    t.atol = size * largest(want)
    t.described = ("within %.2g of the largest"):format(size)
  else
    t.atol = size * pg.compare(want, want, { nan_equal = true }).want_norm
    t.described = ("within %.2g of the Frobenius norm"):format(size)
  end
  return t
end

local function tolerance(ctx, target)
  local o, got, want = ctx.options, target.got, target.want
  local own = UNIT[got.dtype] or 0.0
  local unit = o.accumulate and UNIT[o.accumulate] or own
  local k = roundings(ctx, unit)
  -- The last rounding to the output's format comes on top of those of a wider or narrower sum.
  local relative = 2 * k * unit + (unit ~= own and 2 * own or 0)
  if o.norm then return norm_wise(ctx, target, o.rtol or relative) end
  if o.rtol or o.atol or o.ulp then
    return { rtol = o.rtol or 0.0, atol = o.atol or 0.0, ulp = o.ulp }
  end
  local scale = scale_of(ctx, want)
  if type(scale) == "number" then
    return { rtol = relative, atol = k * unit * scale + (TINY[got.dtype] or 0.0) }
  end
  return { rtol = relative, atol = k * unit, scale = scale,
    described = ("within rtol %.2g, %.2g of their terms"):format(relative, k * unit) }
end

-- The Frobenius norm bounds every element, and all of them together.
local function check_norm(ctx, check, t)
  if ctx.options.norm ~= "fro" or not check.ok or check.cmp.rms_rel <= t.size then return check end
  return ctx:fail(check.name, ("%s: the norm of the error is %.3g of the norm of what was "
    .. "expected, more than %.3g"):format(check.name, check.cmp.rms_rel, t.size))
end

return function(ctx)
  ctx:check_options(OPTIONS)
  local checks = {}
  for i, target in ipairs(ctx:targets()) do
    local t = tolerance(ctx, target)
    t.nan_equal, t.overflow = ctx.options.nan_equal, true
    checks[i] = check_norm(ctx, ctx:compare(target, t), t)
  end
  return ctx:result(checks)
end
