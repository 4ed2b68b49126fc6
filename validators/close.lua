-- close: numbers equal within rounding. Options: of (name or list; default: everything that has an
-- expected value), ops (roundings that reach one element, default 1), rtol, atol, ulp, nan_equal.
--
-- The default tolerance follows from the precision u of the output's format and from ops: an error
-- of at most 2 k u relative to the element plus k u relative to the largest element, because terms
-- that cancel leave the error of what they were. k = ops for a few operations; for many, k = 4
-- sqrt(ops): rounding errors are independent, so their sum grows with the root (Higham and Mary
-- 2019).
local pg = require "perigee"

local UNIT = { f64 = 2.0 ^ -53, f32 = 2.0 ^ -24, f16 = 2.0 ^ -11, bf16 = 2.0 ^ -8,
  f8e4m3 = 2.0 ^ -4,
  f8e5m2 = 2.0 ^ -3 }

local OPTIONS = { of = "string table", ops = "number", rtol = "number", atol = "number",
  ulp = "number", nan_equal = "boolean" }

-- Largest finite magnitude among the expected values.
local function largest(want)
  if want.count == 0 then return 0.0 end
  local low, high = want:min(), want:max()
  local size = math.max(math.abs(low), math.abs(high))
  return size < math.huge and size or 0.0 -- NaN and infinity give no scale
end

local function tolerance(want, got, options, poison)
  local unit = UNIT[got.dtype] or 0.0
  local ops = options.ops or 1
  local k = math.min(ops, 4 * math.sqrt(ops))
  local rtol, atol = options.rtol, options.atol
  if not rtol and not atol and not options.ulp then atol = k * unit * largest(want) end
  if not rtol then rtol = (options.atol or options.ulp) and 0.0 or 2 * k * unit end
  return {
    rtol = rtol, atol = atol or 0.0, ulp = options.ulp or 0.0,
      nan_equal = options.nan_equal or false,
    poison = poison,
  }
end

-- What a wrong result looks like, where that is plain.
local function looks_like(got, cmp, ctx)
  if cmp.count == 1 then return nil end
  if cmp.got_zeros == cmp.count and cmp.want_zeros < cmp.count then
    return "every element is zero" end
  for name, input in pairs(ctx.inputs) do
    if input.dtype == got.dtype and input.count == got.count and got:equal_bits(input) then
      return ("it is a copy of %s"):format(name)
    end
  end
  if cmp.nan_got > cmp.nan_want then return ("%d of them are NaN"):format(cmp.nan_got) end
  if cmp.inf_got > 0 then return ("%d of them are infinite"):format(cmp.inf_got) end
  if cmp.bad == 1 and cmp.first_bad == cmp.count - 1 then
    return "only the last element is wrong" end
  if cmp.bad > 1 and cmp.first_bad == cmp.count - cmp.bad then
    return ("all from element %d on"):format(cmp.first_bad)
  end
  return nil
end

local function unwritten(name, cmp)
  return {
    ok = false, verdict = "unwritten_output",
    reason = ("%s: %d of %d elements never written%s"):format(name, cmp.unwritten, cmp.count,
      cmp.unwritten < cmp.count and (" (the first: %s[%d])"):format(name, cmp.first_bad) or ""),
  }
end

local function wrong(name, got, cmp, ctx)
  local first = cmp.mismatch[1]
  local like = looks_like(got, cmp, ctx)
  return {
    ok = false, verdict = "wrong_result",
    reason = ("%s[%d]: expected %.9g, got %.9g; %d of %d elements wrong%s"):format(name,
      first.index,
      first.want, first.got, cmp.bad, cmp.count, like and (": " .. like) or ""),
  }
end

local function right(name, cmp, tol)
  local margin = ("within rtol %.2g, atol %.2g"):format(tol.rtol, tol.atol)
  return { name = name, ok = true,
    detail = ("%d elements %s; largest error %.3g (%.3g relative)"):format(
    cmp.count, margin, cmp.max_abs, cmp.max_rel) }
end

return function(ctx)
  ctx:check_options(OPTIONS)
  local checks = {}
  for _, target in ipairs(ctx:targets()) do
    local name, want, got = target.name, target.want, target.got
    local tol = tolerance(want, got, ctx.options, target.poison)
    local cmp = pg.compare(want, got, tol)
    if cmp.bad > 0 then
      local result = cmp.unwritten > 0 and unwritten(name, cmp) or wrong(name, got, cmp, ctx)
      checks[#checks + 1] = { name = name, ok = false, detail = result.reason }
      result.checks = checks
      return result
    end
    checks[#checks + 1] = right(name, cmp, tol)
  end
  return { ok = true, checks = checks }
end
