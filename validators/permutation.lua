--- permutation: integers base ... base + n - 1, each once. Options: of (one buffer; default: the
-- output), base (default 0), count as for multiset, gathers ({ out = "in" }: out[i] must be
-- in[of[i]], where out is an output and in an input; so an index that sorts is proven by what it
-- sorts).
local pg = require "perigee"
local collection = require "perigee.collection"

local function each_once(ctx, name, got, count)
  local base = ctx.options.base or 0
  local found = pg.check_permutation(got, { base = base, count = count })
  if not found then
    return ctx:pass(name, ("each of %d to %d once"):format(base, base + count - 1))
  end
  local unwritten = ctx:unwritten(name, count)
  if unwritten * 2 > found.outside + found.duplicates then
    return ctx:fail(name, ("%s: %d of %d elements never written"):format(name, unwritten,
      count), "unwritten_output")
  end
  if found.outside > 0 then
    return ctx:fail(name, ("%s[%d] = %s is outside %d to %d; %d such elements"):format(name,
      found.outside_at, got[found.outside_at], base, base + count - 1, found.outside))
  end
  return ctx:fail(name, ("%s[%d] = %s is there before; %d such elements; %d is missing"):format(
    name, found.duplicate_at, got[found.duplicate_at], found.duplicates, found.missing))
end

local function gathered(ctx, out, input, index, count)
  local from = ctx:input(input)
  local want = pg.gather(from, index:slice(0, count), ctx.options.base or 0)
  local check = ctx:compare { name = out, want = want, got = ctx:array(out):slice(0, count),
    poison = ctx.poison }
  if check.ok then check.detail = ("%s[index] for %d elements"):format(input, count) end
  return check
end

return function(ctx)
  ctx:check_options { of = "string", base = "number", count = "string number", gathers = "table" }
  local name = ctx:of()[1]
  local got = ctx:array(name)
  local count, why = collection.count(ctx, { got })
  if not count then return ctx:result { ctx:fail(name, why) } end
  local checks = { each_once(ctx, name, got, count) }
  for out, input in pairs(checks[1].ok and ctx.options.gathers or {}) do
    checks[#checks + 1] = gathered(ctx, out, input, got, count)
  end
  return ctx:result(checks)
end
