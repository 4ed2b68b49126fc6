--- convolution: images of many channels convolved with filters of 3 x 3 (task conv/conv2d), tested
-- without computing every channel (Freivalds 1977): the outputs of one pixel, added with random
-- signs, must be the convolution with the filters added with these signs, in float64. So one wrong
-- element always shows. Where the reference did compute y, its elements are compared, too.
--
-- Options: x, w, y (names; default "x", "w", "y"), channels (input channels that reach one element;
-- default: all).
--
-- The tolerance: an element is a sum of 9 c products for c input channels; rounding errors are
-- independent, so it would end within k = 4 sqrt(9 c) units of 2 |y| + s, where s is what terms of
-- random sign give, the root of the sum of their squares; and a sum of elements within the root of
-- the sum of the squares of that. Winograd's transforms lose more (Barabasz, Anderson, Soodhalter
-- and Gregg, ACM Trans. Math. Softw. 46(4), 2020): with tiles of 4 by 4 errors are up to 20 times
-- those of plain sums, also where the nine pixels of an element are small beside their neighbours.
-- So sums may be off by 8 k, single elements by 32 k of that and a quarter of the usual s, and the
-- root mean square of all by 3/4 k, 30 times that of plain sums, and more where there are few.
-- Factors of 10 bits exceed it by far; those of 16 bits do where few channels reach an element.
local pg = require "perigee"
local reference = require "conv.reference"

local UNIT = require("perigee.precision").UNIT.f32
local OPTIONS = { x = "string", w = "string", y = "string", channels = "number" }

local function signs(ctx, count)
  local bits = pg.array("f64", { 1, count }):random { seed = ctx.seed, dist = "integer", last = 1 }
  return 2 * bits - 1
end

local function root(array)
  for i = 0, array.count - 1 do array[i] = math.sqrt(array[i]) end
  return array
end

-- The channels of every image as one, each with its weight: an f64 array of the pixels.
local function mixed(weights, images, y)
  local plane = y.count // images
  local pixels = plane // weights.count
  local sums = pg.array("f64", images * pixels)
  for i = 0, images - 1 do
    local channels = y:slice(i * plane, plane):reshape { weights.count, pixels }
    sums:slice(i * pixels, pixels):copy_from(pg.product(weights, channels):reshape(pixels))
  end
  return sums
end

-- A tolerance that elements without a size must not widen.
local function size_of(got_squares, spread)
  for i = 0, spread.count - 1 do
    local got = 2 * math.sqrt(got_squares[i])
    if got < math.huge then spread[i] = spread[i] + got end
  end
  return spread
end

local function norm(array)
  local row = array:reshape { 1, array.count }
  return math.sqrt(pg.product(row, row, { b_transposed = true })[0])
end

-- Whether what is right element by element is so as a whole.
local function whole(ctx, check, want, got, scale, k)
  if not check.ok then return check end
  local off, size = norm(got - want), norm(scale)
  local most = 0.75 * k * (1 + 4 / math.sqrt(want.count))
  if off <= most * size then return check end
  return ctx:fail(check.name, ("%s: the root mean square of the errors is %.2g of the elements' "
    .. "size, more than %.2g"):format(check.name, off / size, most))
end

local function mixed_check(ctx, x, w, y, name, k)
  local n, outputs, h, v = table.unpack(y.shape)
  local c = x.shape[2]
  local r, ones = signs(ctx, outputs), pg.array("f64", { 1, outputs }, 1.0)
  local filters = w:reshape { outputs, 9 * c }
  local want = reference.apply(x, pg.product(r, filters), n, c, 1, h, v)
  local spread = reference.spread(x, root(pg.product(ones, filters * filters)), n, c, 1, h, v)
  local got, scale = mixed(r, n, y), size_of(mixed(ones, n, y * y), spread)
  local check = ctx:compare({ name = name .. ", outputs with random signs", want = want,
    got = got }, { atol = 8 * k, scale = scale,
    described = ("within %.2g of their size"):format(8 * k) })
  return whole(ctx, check, want, got, scale, k)
end

local function element_check(ctx, x, w, y, name, k)
  local n, outputs, h, v = table.unpack(y.shape)
  local spread = reference.spread(x, w, n, x.shape[2], outputs, h, v)
  local check = ctx:compare(name, { rtol = 64 * k, atol = 32 * k,
    scale = spread + norm(spread) / (4 * math.sqrt(spread.count)),
    described = ("within %.2g of their size"):format(32 * k) })
  return whole(ctx, check, ctx.expected[name], y, size_of((y * y):reshape(y.count), spread), k)
end

return function(ctx)
  ctx:check_options(OPTIONS)
  local o = ctx.options
  local x, w, name = ctx:input(o.x or "x"), ctx:input(o.w or "w"), o.y or "y"
  local y = ctx:array(name)
  local missing = ctx:unwritten(name)
  if missing > 0 then
    return ctx:result { ctx:fail(name, ("%s: %d of %d elements never written"):format(name, missing,
      y.count), "unwritten_output") }
  end
  local k = 4 * math.sqrt(9 * (o.channels or x.shape[2])) * UNIT
  local checks = {}
  if ctx.expected[name] then checks[1] = element_check(ctx, x, w, y, name, k) end
  checks[#checks + 1] = mixed_check(ctx, x, w, y, name, k)
  return ctx:result(checks)
end
