--- convolution: images of many channels convolved with filters of 3 x 3 (task conv/conv2d), tested
-- without computing every channel (Freivalds 1977): the outputs of one pixel, added with random
-- signs, must be the convolution with the filters added with these signs, in float64. So one wrong
-- element always shows. Where the reference did compute y, its elements are compared, too.
--
-- Options: x, w, y (names; default "x", "w", "y").
--
-- The tolerance: an element is a sum of 9 c products for c input channels; rounding errors are
-- independent, so it would end within k = 4 sqrt(9 c) units of 2 |y| + s, where s is what terms of
-- random sign give, the root of the sum of their squares; and a sum of elements within the root of
-- the sum of the squares of that. Winograd's transforms lose more, about tenfold with tiles of 4 by
-- 4 (Barabasz, Anderson, Soodhalter and Gregg, ACM Trans. Math. Softw. 46(4), 2020), so that four
-- times as much is allowed. Factors of 10 bits err by tens of times that.
local pg = require "perigee"
local reference = require "conv.reference"

local UNIT = require("perigee.precision").UNIT.f32
local OPTIONS = { x = "string", w = "string", y = "string" }

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

local function mixed_check(ctx, x, w, y, name, size)
  local n, k, h, v = table.unpack(y.shape)
  local c = x.shape[2]
  local r, ones = signs(ctx, k), pg.array("f64", { 1, k }, 1.0)
  local filters = w:reshape { k, 9 * c }
  local want = reference.apply(x, pg.product(r, filters), n, c, 1, h, v)
  local spread = reference.spread(x, root(pg.product(ones, filters * filters)), n, c, 1, h, v)
  return ctx:compare({ name = name .. ", outputs with random signs", want = want,
    got = mixed(r, n, y) }, { atol = size, scale = size_of(mixed(ones, n, y * y), spread),
    described = ("within %.2g of their size"):format(size) })
end

local function element_check(ctx, x, w, y, name, size)
  local n, k, h, v = table.unpack(y.shape)
  local spread = reference.spread(x, w, n, x.shape[2], k, h, v)
  return ctx:compare(name, { rtol = 2 * size, atol = size, scale = spread,
    described = ("within %.2g of their size"):format(size) })
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
  local size = 16 * math.sqrt(9 * x.shape[2]) * UNIT
  local checks = {}
  if ctx.expected[name] then checks[1] = element_check(ctx, x, w, y, name, size) end
  checks[#checks + 1] = mixed_check(ctx, x, w, y, name, size)
  return ctx:result(checks)
end
