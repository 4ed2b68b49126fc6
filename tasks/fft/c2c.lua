--- fft/c2c: many Fourier transforms of complex numbers.

local pg = require "perigee"
local own = require "fft.reference"

local MOST = 13 -- log2 of the longest transform

-- One launch a pass; the last one writes y, those before take turns between y and scratch.
local function stage_steps(p)
  local steps, n = {}, 1 << p.log2n
  for pass = 1, p.log2n do
    local to = (p.log2n - pass) % 2 == 0 and "y" or "other"
    local from = pass == 1 and "x" or to == "y" and "other" or "y"
    steps[pass] = {
      kernel = "fft_pass", grid = (p.batch * (n >> 1) + 255) // 256, block = 256,
      args = { from, to, "n", "batch", 1 << pass - 1 },
    }
  end
  return steps[1] and steps or { { copy = { "y", "x" } } }
end

-- Sixteen numbers a thread; a block has 256 threads, or as many as a longer transform wants.
local function shared_step(p)
  local n, args = 1 << p.log2n, { "x", "y", "n", "batch" }
  if n < 16 then
    return { kernel = "fft_few", grid = (p.batch + 127) // 128, block = 128, args = args }
  end
  local block = math.max(256, n // 16)
  local rows = block // (n // 16)
  return {
    kernel = "fft_" .. (1 << (p.log2n - 1) % 4 + 1), grid = (p.batch + rows - 1) // rows,
    block = block, shared = n > 16 and 8 * rows * (n + n // 16) or 0, args = args,
  }
end

return pg.task {
  name = "fft/c2c",
  doc = [==[
Fourier transforms of a batch of rows of n = 2^log2n complex numbers in single precision.

A row of x is n complex numbers, real and imaginary part beside each other. For each row,
y[k] = sum over j of x[j] exp(-2 pi i j k / n), in the same layout, for k from 0 to n - 1: forward,
not scaled. The parts are drawn from [-1, 1). Everything is read and written once at least: 16 bytes
a complex number, in one pass over memory if a transform fits into a multiprocessor.]==],
  params = {
    log2n = {
      default = 12, check = { 0, 1, 3, 6, 10, 11, 4, 12, MOST }, sim = 8, min = 0, max = MOST,
      doc = "log2 of the length of a transform",
    },
    batch = {
      default = 4096, check = { 5, 1, 33, 7, 3, 2, 200, 2, 1 }, sim = 9, min = 1,
      max = "2^28 >> log2n", doc = "transforms",
    },
  },
  sweeps = {
    {
      name = "length", set = { log2n = "4..13+1" }, sim = { log2n = "4..13+3" },
      doc = "lengths from 16 to 8192",
    },
  },
  inputs = function(p, rng)
    local between = { dist = "uniform", low = -1, high = 1 }
    return { x = rng:array("f32", { p.batch, 2 << p.log2n }, between) }
  end,
  families = { "tiny", "huge", "zeros", "equal", "alternating", "sorted" },
  outputs = function(p) return { y = pg.spec("f32", { p.batch, 2 << p.log2n }) } end,
  kernel = "void fft(const float* x, float* y, int n, int batch)",
  args = function(p) return { n = 1 << p.log2n } end,
  launch = function(p)
    return { grid = p.batch, block = math.max(32, math.min(256, 1 << p.log2n)) }
  end,
  reference = function(p, io)
    local fft = require "perigee.lib.fft"
    if not fft.available() then return { y = own.forward(io.x, 1 << p.log2n) } end
    return { y = fft.forward(io.x:cast("f64"):reshape { p.batch, 1 << p.log2n, 2 }) }
  end,
  -- A pass adds to each number a product with a root of unity, itself rounded: four roundings.
  validate = {
    "close", norm = "row", ops = function(p) return 4 * p.log2n + 1 end,
  },
  work = function(p)
    local count = p.batch << p.log2n
    return { bytes = 16 * count, flops = 5 * p.log2n * count, items = count }
  end,
  torch = [[
    z = torch.view_as_complex(x.view(batch, 1 << log2n, 2))
    return torch.view_as_real(torch.fft.fft(z))
  ]],
  impls = {
    expert = { "lua", "kernels/fft/expert.lua", doc = "cuFFT" },
    naive = {
      "cuda", "kernels/fft/stages.cu", doc = "a launch for each factor of two",
      launch = stage_steps,
      scratch = function(p) return { other = { dtype = "f32", n = 2 * p.batch << p.log2n } } end,
    },
    shared = {
      "cuda", "kernels/fft/shared.cu", doc = "by factors of 16, once through memory",
      launch = shared_step,
    },
  },
}
