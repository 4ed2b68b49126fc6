-- exact: equal values, for integers, indices, flags and bytes. Floats must be equal as numbers (so
-- that -0 and 0 are equal), structs in every bit. Options: of (name or list), nan_equal.
local pg = require "perigee"

local OPTIONS = { of = "string table", nan_equal = "boolean" }

local function bits(name, want, got)
  local same, index = got:equal_bits(want)
  if same then return nil end
  return "wrong_result", ("%s[%d]: the bits differ from what was expected"):format(name, index)
end

local function values(target, nan_equal)
  local name = target.name
  local cmp = pg.compare(target.want, target.got, {
    nan_equal = nan_equal, poison = target.poison,
  })
  if cmp.bad == 0 then return nil end
  if cmp.unwritten == cmp.count then
    return "unwritten_output", ("%s: none of %d elements was written"):format(name, cmp.count)
  end
  local first = cmp.mismatch[1]
  return "wrong_result", ("%s[%d]: expected %s, got %s; %d of %d elements wrong%s"):format(name,
    first.index, first.want, first.got, cmp.bad, cmp.count,
    cmp.unwritten > 0 and (", %d of them never written"):format(cmp.unwritten) or "")
end

return function(ctx)
  ctx:check_options(OPTIONS)
  local checks = {}
  for _, target in ipairs(ctx:targets()) do
    local name, want, got = target.name, target.want, target.got
    local structs = not pcall(pg.compare, got, got)
    local verdict, reason
    if structs then verdict, reason = bits(name, want, got)
    else verdict, reason = values(target, ctx.options.nan_equal or false) end
    if verdict then
      checks[#checks + 1] = { name = name, ok = false, detail = reason }
      return { ok = false, verdict = verdict, reason = reason, checks = checks }
    end
    checks[#checks + 1] = { name = name, ok = true,
      detail = ("%d elements equal"):format(got.count) }
  end
  return { ok = true, checks = checks }
end
