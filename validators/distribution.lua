--- distribution: independent random numbers of a distribution, whichever they are. For generators,
-- whose output no reference can foretell.
--
-- Every number goes through the distribution function F; u = F(x) must be uniform and independent:
-- six moments of u (Neyman's smooth test: shift, spread, skewness, ...), Kolmogorov-Smirnov,
-- chi-square of 32 cells, of pairs in 8 x 8 cells, correlation at 12 lags, the extremes, stretches
-- that occur again (also backwards, or negated), equal neighbours, each bit of integers. Too
-- regular is as wrong as too irregular: evenly spaced numbers fail. Every threshold is passed by
-- right numbers with probability of at least 1 - 1e-9, so that a right generator is refused less
-- than once in 10 million checks: moments and correlations by Bernstein's inequality,
-- Kolmogorov-Smirnov by Massart's (1990), both at any number of elements; chi-square by Wilson and
-- Hilferty's approximation, where cells expect 50 or more; bits by Hoeffding's inequality. Other
-- dependence of elements far apart is not seen. Of more than 2^22 elements, that many are looked
-- at, in blocks; the extremes, repetitions and equal neighbours are those of all.
--
-- Options: of; dist = "normal" (mean, stddev), "uniform" (low, high; either end may occur),
-- "exponential" (rate), "lognormal" (mean, stddev of the logarithm), "integer" (first, last),
-- "bits" (all bits of an integer).
local pg = require "perigee"

local OPTIONS = { of = "string table", dist = { "normal", "uniform", "exponential", "lognormal",
  "integer", "bits" }, mean = "number signed", stddev = "number", low = "number signed",
  high = "number signed", rate = "number", first = "number signed", last = "number signed" }

local P_LOG = 21.4 -- -ln of half of 1e-9
local KS_MOST, KS_LEAST = 3.3, 0.23 -- P < 1e-9 above, and below (Kolmogorov's limit; n >= 1000)
local NORMAL_MOST = 6.5 -- of a chi-square, made normal
local PER_CELL = 50
local SAMPLES_MOST = 1 << 22 -- of larger outputs, blocks of that many in all

-- Unit roundoff, and how many elements show a distribution before the format's steps do.
local FORMATS = { f64 = { 2.0 ^ -53 }, f32 = { 2.0 ^ -24 }, f16 = { 2.0 ^ -11, 65536 },
  bf16 = { 2.0 ^ -8, 1024 } }
local BITS = { u8 = 8, i8 = 8, u16 = 16, i16 = 16, u32 = 32, i32 = 32, u64 = 64, i64 = 64 }

-- The distribution in the terms of host/distribution.h.
local function law_of(ctx, got)
  local o, dist = ctx.options, ctx.options.dist
  if dist == "normal" or dist == "lognormal" then
    return { law = dist, a = o.mean or 0.0, b = o.stddev or 1.0 } end
  if dist == "exponential" then return { law = dist, a = o.rate or 1.0 } end
  if dist == "uniform" then return { law = dist, a = o.low or 0.0, b = o.high or 1.0 } end
  local bits = BITS[got.dtype]
  if dist == "bits" then
    return { law = "integer", first = got.dtype:sub(1, 1) == "i" and -1 << (bits or 1) - 1 or 0,
      span = bits == 64 and 0 or 1 << (bits or 1) }
  end
  return { law = "integer", first = math.tointeger(o.first or 0),
    span = math.tointeger(o.last) - math.tointeger(o.first or 0) + 1 }
end

local function check_formats(ctx, name, got)
  local dist = ctx.options.dist
  local integer = dist == "integer" or dist == "bits"
  if not dist or (dist == "integer" and not math.tointeger(ctx.options.last)) then
    pg.error("invalid", "which distribution? dist = \"normal\", mean = 0, stddev = 1", nil,
      ctx.task.where)
  end
  if (integer and BITS or FORMATS)[got.dtype] == nil then
    pg.error("invalid", ("%s: %s elements cannot show the distribution %s"):format(name, got.dtype,
      dist), "integers: integer, bits; f64, f32, f16, bf16: the others", ctx.task.where)
  end
end

-- The z for which Bernstein's bound of a sum of n terms, each at most `most` in size and of
-- variance 1, is 1e-9 in all: z^2 / 2 / (1 + most z / (3 sqrt(n))) = ln(2 / 1e-9).
local function bernstein(most, n)
  local half = P_LOG * most / (3 * math.sqrt(n))
  return half + math.sqrt(half * half + 2 * P_LOG)
end

-- Wilson and Hilferty (1931): the cube root of chi-square over its degrees is nearly normal.
local function chi2_normal(chi2, degrees)
  local part = 2 / (9 * degrees)
  return ((chi2 / degrees) ^ (1 / 3) - (1 - part)) / math.sqrt(part)
end

local MOMENTS = { "shifted", "spread wrongly", "skewed", "with wrong tails", "skewed in its tails",
  "with a wrong shape" }

local function shape_fault(r)
  for k, z in ipairs(r.moment) do
    if math.abs(z) > bernstein(math.sqrt(2 * k + 1), r.count) then
      return ("%s: moment %d is off by %.1f standard deviations"):format(MOMENTS[k], k, z)
    end
  end
  if r.ks > KS_MOST then
    return ("not of this shape: Kolmogorov-Smirnov %.2f, at most %.2f"):format(r.ks, KS_MOST) end
  if r.count >= 1000 and r.ks < KS_LEAST then
    return ("too regular: Kolmogorov-Smirnov %.3f, at least %.2f"):format(r.ks, KS_LEAST) end
  return nil
end

local function cell_fault(r)
  local function judge(chi2, degrees, what)
    local z = chi2_normal(chi2, degrees)
    if z > NORMAL_MOST then
      return ("%s: chi-square %.0f of %d degrees"):format(what, chi2, degrees) end
    if z < -NORMAL_MOST then
      return ("too regular, %s: chi-square %.1f of %d degrees"):format(what, chi2, degrees) end
    return nil
  end
  local cells = r.count >= 32 * PER_CELL and judge(r.chi2, 31, "cells filled unevenly")
  return cells or r.count >= 2 * 64 * PER_CELL
    and judge(r.pairs_chi2, 63, "neighbours (2i, 2i + 1) depend on each other") or nil
end

local function serial_fault(r)
  for i, z in ipairs(r.serial) do
    if math.abs(z) > bernstein(3, r.count) then
      return ("elements %d apart depend on each other: correlation %.4f, %.0f standard deviations")
        :format(r.lags[i], z / math.sqrt(r.count), z)
    end
  end
  return nil
end

-- The smallest u of n is below t with probability 1 - (1 - t)^n, about n t; above with exp(-n t).
local function extreme_fault(r, count, dist, unit)
  local steps = dist == "uniform" and 4 * unit or 0 -- an end of the range may occur
  for which, value in pairs { lowest = r.lowest, highest = r.highest } do
    if steps == 0 and value * count < 1e-10 then
      return ("the %s element is beyond belief: that far out in one of %.3g draws"):format(which,
        1 / value)
    end
    if (value - steps) * count > P_LOG then
      return ("the %s element is too moderate: the tail is cut off at a probability of %.2g")
        :format(which, value)
    end
  end
  return nil
end

-- Equal neighbours: two draws share a number of the format with a probability of about its steps
-- over the spread.
local function neighbour_fault(r, got, law)
  local rate
  if law.law == "integer" then
    rate = law.span == 0 and 0.0 or 1 / law.span
  else
    local centre = law.law == "uniform" and math.max(math.abs(law.a), math.abs(law.b))
      / (law.b - law.a) or law.law == "exponential" and 1 or math.abs(law.a) / law.b
    rate = 4 * FORMATS[got.dtype][1] * (2 + centre)
  end
  local expected = got.count * math.min(1, rate)
  if r.equal_neighbours <= expected + 7 * math.sqrt(expected) + P_LOG then return nil end
  return ("%d elements equal the one before"):format(r.equal_neighbours)
end

local function bit_fault(r)
  local most = math.sqrt(2 * (P_LOG + 5)) -- 128 of them
  if math.abs(r.ones) > most then
    return ("bit %d is %s too often: %.0f standard deviations"):format(r.worst_bit,
      r.ones > 0 and "one" or "zero", math.abs(r.ones)) end
  if math.abs(r.changes) > most then
    return ("bit %d %s too often: %.0f standard deviations"):format(r.worst_change_bit,
      r.changes > 0 and "changes" or "stays", math.abs(r.changes)) end
  return nil
end

-- Stretches of 200 random bits do not occur twice, in no direction and whatever their signs.
local function repeat_fault(ctx, got, law)
  local bits = law.law == "integer" and (law.span == 0 and 64 or math.log(law.span, 2))
    or ({ f64 = 40, f32 = 16, f16 = 6, bf16 = 4 })[got.dtype]
  local width = math.ceil(200 / math.max(bits, 0.1))
  if bits == 0 or got.count < 2 * width then return nil end
  local repeats, at = pg.repeated_windows(got, width, ctx.seed)
  if repeats == 0 then return nil end
  return ("%d stretches of %d elements are there before, the first at index %d"):format(repeats,
    width, at)
end

local function outside(name, got, r)
  return ("%s[%d] = %s is no number that it can be; %d such elements"):format(name, r.outside_at,
    got[r.outside_at], r.outside)
end

local function judge(ctx, name)
  local got = ctx:array(name)
  check_formats(ctx, name, got)
  local unwritten = ctx:unwritten(name)
  if unwritten > 2 then
    return ctx:fail(name, ("%s: %d of %d elements never written"):format(name, unwritten,
      got.count), "unwritten_output")
  end
  if got.count < 2 then return ctx:pass(name, "too few elements for a distribution") end
  local law = law_of(ctx, got)
  local format = FORMATS[got.dtype] or {}
  law.samples, law.seed = format[2] or SAMPLES_MOST, ctx.seed
  local r = pg.test_draws(got, law)
  if r.outside > 0 then return ctx:fail(name, outside(name, got, r)) end
  local fault = neighbour_fault(r, got, law) or repeat_fault(ctx, got, law)
    or shape_fault(r) or cell_fault(r) or serial_fault(r)
    or (law.law == "integer" and bit_fault(r))
    or (law.law ~= "integer" and not format[2] and extreme_fault(r, got.count, law.law, format[1]))
  if fault then
    return ctx:fail(name, ("%s is no sample of %s: %s"):format(name, ctx.options.dist, fault)) end
  return ctx:pass(name, ("%d elements; Kolmogorov-Smirnov %.2f, chi-square %.0f of 31"):format(
    got.count, r.ks, r.chi2))
end

return function(ctx)
  ctx:check_options(OPTIONS)
  local checks = {}
  for i, name in ipairs(ctx:of()) do checks[i] = judge(ctx, name) end
  return ctx:result(checks)
end
