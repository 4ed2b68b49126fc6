-- freivalds: a product of matrices c = a b, tested without computing it (Freivalds 1977): for
-- vectors r of random signs, c r must be a (b r) row by row, in float64. A wrong element shows in
-- its row with every r, unless others of the row make up for it: with random signs of many that is
-- unlikely, and two vectors are tried. Where the reference did compute c, its elements are
-- compared, too.
--
-- Options: a, b, c (names; default "a", "b", "c"), ops (roundings that reach one element; default:
-- the columns of a), vectors (default 2).
--
-- The tolerance: each rounding on the way of a sum is u times the partial sum at most. Errors are
-- independent, so an element of size s ends within 4 sqrt(ops) u s (about ten standard deviations),
-- and a row of n of them within sqrt(n) times that. s is the root mean square of the row, or what
-- terms of random sign would give where these cancel.
local pg = require "perigee"

local UNIT = require("perigee.precision").UNIT

local OPTIONS = { a = "string", b = "string", c = "string", ops = "number", vectors = "number" }

local function ones(count) return pg.array("f64", count, 1.0) end

local function matrix(ctx, name, what)
  local array = ctx.inputs[name] or ctx.outputs[name] or ctx.state[name]
  if not array or #array.shape ~= 2 then
    pg.error("not_found", ("freivalds: %s = '%s' is no matrix of the task"):format(what, name),
      "name buffers with two extents: a = \"x\", b = \"w\", c = \"y\"", ctx.task.where)
  end
  return array
end

-- A tolerance that elements without a size must not widen.
local function finite(value) return value < math.huge and value or 0.0 end

-- The size of elements of each row, as an f64 vector.
local function scales(a, b, c)
  local n = c.shape[2]
  local got = pg.product(c * c, ones(n)) / n
  local random = pg.product(a * a, pg.product(b * b, ones(n)) / n)
  for i = 0, got.count - 1 do got[i] = math.sqrt(math.max(got[i], random[i])) end
  return got
end

-- So many vectors of random signs, as the columns of a matrix: each factor is gone through once.
local function signs(count, vectors)
  local bits = pg.array("f64", { count, vectors }):random {
    seed = math.random(0), dist = "integer", first = 0, last = 1,
  }
  return 2 * bits - 1
end

-- The first row whose test fails; else nil and the error. Signs are random, so what a row is off
-- by, squared, is on average the sum of the squares of its errors: this is the norm of the error
-- over that of the product, within 1 % for two vectors and thousands of rows.
local function wrong_row(a, b, c, scale, margin, vectors)
  local r = signs(c.shape[2], vectors)
  local want, got = pg.product(a, pg.product(b, r)), pg.product(c, r)
  for i = 0, got.count - 1 do
    local off, row = math.abs(got[i] - want[i]), i // vectors
    if off ~= off or off == math.huge or off > margin * scale[row] then return row end
  end
  return nil, pg.compare(want, got).rms_rel
end

local function element(name, n, first)
  local row, column = first.index // n, first.index % n
  return ("%s[%d] (row %d, column %d): expected %.9g, got %.9g"):format(name, first.index, row,
    column, first.want, first.got)
end

local function failure(reason, unwritten)
  local verdict = unwritten and "unwritten_output" or "wrong_result"
  return { ok = false, verdict = verdict, reason = reason }
end

-- What is wrong in a row that failed.
local function explain(ctx, name, a, b, c, row, atol)
  local k, n = a.shape[2], c.shape[2]
  local want = pg.product(b, a:slice(row * k, k), { a_transposed = true })
  local cmp = pg.compare(want, c:slice(row * n, n), { atol = atol, poison = ctx.poison })
  if cmp.bad == 0 then
    return failure(("%s: row %d is wrong in many small errors"):format(name, row))
  end
  local first = cmp.mismatch[1]
  first.index = first.index + row * n
  return failure(("%s; %d of the %d elements of that row wrong"):format(element(name, n, first),
    cmp.bad, n), cmp.unwritten > 0)
end

-- What is wrong, or nil and the error of the whole.
local function compare_all(ctx, name, want, c, atol)
  local cmp = pg.compare(want, c, { atol = atol, poison = ctx.poison })
  if cmp.bad == 0 then return nil, cmp.rms_rel end
  return failure(("%s; %d of %d elements wrong"):format(element(name, c.shape[2], cmp.mismatch[1]),
    cmp.bad, cmp.count), cmp.unwritten > 0)
end

local function checked(result, name, detail, error)
  result.checks = { { name = name, ok = result.ok, detail = result.reason or detail,
    error = error } }
  return result
end

return function(ctx)
  ctx:check_options(OPTIONS)
  local options = ctx.options
  local name = options.c or "c"
  local a, b = matrix(ctx, options.a or "a", "a"), matrix(ctx, options.b or "b", "b")
  local c = matrix(ctx, name, "c")
  local k, n = a.shape[2], c.shape[2]
  local scale = scales(a, b, c)
  local of_element = 4 * math.sqrt(options.ops or k) * UNIT[c.dtype]
  local want, error = ctx.expected[name], nil
  if want and c.count > 0 then
    local wrong
    wrong, error = compare_all(ctx, name, want, c, finite(of_element * scale:max()))
    if wrong then return checked(wrong, name) end
  end
  local vectors, off = math.tointeger(options.vectors or 2), nil
  if vectors > 0 then
    local row
    row, off = wrong_row(a, b, c, scale, of_element * math.sqrt(n), vectors)
    if row then
      return checked(explain(ctx, name, a, b, c, row, finite(of_element * scale[row])), name)
    end
  end
  return checked({ ok = true }, name, ("c r = a (b r) for %d vectors of random signs, within %.2g "
    .. "of a row%s"):format(vectors, of_element * math.sqrt(n),
    want and ("; all %d elements within %.2g"):format(c.count, of_element) or ""),
    error or off)
end
