-- exact: equal values, for integers, indices, flags and bytes. Floats must be equal as numbers (so
-- that -0 and 0 are equal), structs in every bit. Options: of (name or list), nan_equal.
local pg = require "perigee"

local function targets(ctx)
  local of = ctx.options.of
  if type(of) == "string" then return { of } end
  return of or ctx.names
end

local function bits(name, want, got)
  local same, index = got:equal_bits(want)
  if same then return nil end
  return "wrong_result", ("%s[%d]: the bits differ from what was expected"):format(name, index)
end

local function values(name, want, got, ctx)
  local cmp = pg.compare(want, got, {
    nan_equal = ctx.options.nan_equal or false, poison = ctx.outputs[name] and ctx.poison or nil,
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
  local checks = {}
  for _, name in ipairs(targets(ctx)) do
    local want, got = ctx.expected[name], ctx.outputs[name] or ctx.state[name]
    if not want or not got then
      pg.error("not_found", ("exact: '%s' has no expected value or is no output"):format(name),
        "of = the name of an output that the reference returns")
    end
    local structs = not pcall(pg.compare, got, got)
    local verdict, reason = (structs and bits or values)(name, want, got, ctx)
    if verdict then
      checks[#checks + 1] = { name = name, ok = false, detail = reason }
      return { ok = false, verdict = verdict, reason = reason, checks = checks }
    end
    checks[#checks + 1] = { name = name, ok = true,
      detail = ("%d elements equal"):format(got.count) }
  end
  return { ok = true, checks = checks }
end
