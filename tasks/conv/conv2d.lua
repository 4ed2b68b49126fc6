--- conv/conv2d: convolution of images of many channels with filters of 3 x 3.

local pg = require "perigee"
local reference = require "conv.reference"

local MOST_COMPUTED = 1 << 26 -- multiplications

local function extent(default, check, sim, max, doc)
  return { default = default, check = check, sim = sim, min = 1, max = max, doc = doc }
end

local function multiplications(p)
  return 9 * p.images * p.inputs * p.outputs * p.height * p.width
end

-- Each filter keeps its weights for p.nonzeros random channels.
local function thinned(w, p, rng)
  local few = pg.array("f32", w.shape)
  local channels = rng:array("i64", p.outputs * p.nonzeros, { dist = "integer",
    last = p.inputs - 1 })
  for i = 0, channels.count - 1 do
    local place = 9 * (i // p.nonzeros * p.inputs + channels[i])
    few:slice(place, 9):copy_from(w:slice(place, 9))
  end
  return few
end

-- Channels that reach an element, at most.
local function terms(p)
  return p.nonzeros > 0 and math.min(p.nonzeros, p.inputs) or p.inputs
end

local function padded(p)
  return { inputs = (p.inputs + 3) // 4 * 4, outputs = (p.outputs + 127) // 128 * 128 }
end

local function tiled_steps(p)
  local with = padded(p)
  return {
    {
      kernel = "conv2d_filters", grid = { with.outputs // 128, 9 * with.inputs }, block = 128,
      args = { "w", "filters", "inputs", "outputs", with.inputs, with.outputs },
    },
    {
      kernel = "conv2d_tiled", block = 128,
      grid = { (p.width + 7) // 8 * ((p.height + 7) // 8), with.outputs // 128, p.images },
      args = { "x", "filters", "y", "inputs", "outputs", "height", "width", with.outputs },
    },
  }
end

return pg.task {
  name = "conv/conv2d",
  doc = [==[
Convolution of images with filters of 3 x 3, stride 1, padded with zeros by 1, in single precision.

x has extents images, inputs (channels), height, width; w has outputs, inputs, 3, 3; y has images,
outputs, height, width; all are stored in this order. y[i][o][h][v] is the sum over c, r and s of
w[o][c][r][s] x[i][c][h + r - 1][v + s - 1], where x is 0 outside. The elements are drawn from
[-1, 1). The arithmetic must be that of single precision; sums may be in any order, and transforms
with small factors (Winograd) lose little enough. At the default size arithmetic is the limit: 18
operations for each element of y and input channel.]==],
  params = {
    images = extent(32, { 1, 2, 1, 3, 1 }, 2, 4096, "images"),
    inputs = extent(128, { 1, 3, 8, 16, 5 }, 5, 4096, "channels of x"),
    outputs = extent(128, { 1, 4, 128, 17, 130 }, 9, "65535 // images", "channels of y"),
    height = extent(56, { 1, 5, 16, 9, 30 }, 11, 4096, "rows"),
    width = extent(56, { 1, 7, 8, 33, 31 }, 19, 4096, "columns"),
    nonzeros = {
      default = 0, min = 0, max = 4096,
      doc = "channels for which a filter has weights other than 0, at most; 0: all",
    },
  },
  inputs = function(p, rng)
    local between = { dist = "uniform", low = -1, high = 1 }
    local x = rng:array("f32", { p.images, p.inputs, p.height, p.width }, between)
    local w = rng:array("f32", { p.outputs, p.inputs, 3, 3 }, between)
    return { x = x, w = p.nonzeros > 0 and thinned(w, p, rng) or w }
  end,
  -- The roundings of long sums would hide lost bits.
  also = { { nonzeros = 2 } },
  families = { "tiny", "huge", "zeros", "equal", "alternating" },
  outputs = function(p)
    return { y = pg.spec("f32", { p.images, p.outputs, p.height, p.width }) }
  end,
  kernel = "void conv2d(const float* x, const float* w, float* y, int images, int inputs, "
    .. "int outputs, int height, int width)",
  launch = function(p)
    return {
      grid = { (p.width + 31) // 32, (p.height + 7) // 8, p.images * p.outputs }, block = { 32, 8 },
    }
  end,
  -- Large results are not computed on the host: the validator tests sums over the outputs.
  reference = function(p, io)
    if multiplications(p) > MOST_COMPUTED then return {} end
    return { y = reference.apply(io.x, io.w, p.images, p.inputs, p.outputs, p.height, p.width) }
  end,
  validate = { "convolution", channels = terms },
  work = function(p)
    local pixels = p.images * p.height * p.width
    return {
      bytes = 4 * (pixels * (p.inputs + p.outputs) + 9 * p.inputs * p.outputs),
      flops = 2 * multiplications(p) // p.inputs * terms(p), items = pixels * p.outputs,
    }
  end,
  time = { method = "hot" },
  torch = "return F.conv2d(x, w, padding=1)",
  impls = {
    expert = { "lua", "kernels/conv/expert.lua", doc = "cuDNN" },
    naive = { "cuda", "kernels/conv/conv2d.cu", doc = "one element a thread" },
    tiled = {
      "cuda", "kernels/conv/conv2d_tiled.cu", doc = "8 x 8 pixels of 128 outputs a block",
      launch = tiled_steps,
      scratch = function(p)
        local with = padded(p)
        return { filters = { dtype = "f32", n = 9 * with.inputs * with.outputs } }
      end,
    },
  },
}
