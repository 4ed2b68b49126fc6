-- z = a x + y: the smallest useful task. Read it first; tasks/README.md explains every field.
local pg = require "perigee"

-- The largest magnitude among the elements.
local function magnitude(x) return #x > 0 and math.max(x:max(), -x:min()) or 0 end

return pg.task {
  name = "vector/saxpy",
  doc = [[
z = a x + y on vectors of n single-precision numbers.

For every i from 0 to n - 1: z[i] = a * x[i] + y[i]. x and y are drawn from [-1, 1); some checks
have other values. The product may be fused with the addition. Everything is read or written once,
so memory bandwidth is the limit: 12 bytes an element.]],

  params = {
    n = {
      default = 1 << 22, check = { 0, 1, 255, 256, 1000, 65537 }, sim = 65537, min = 0,
        max = 1 << 30,
      doc = "number of elements",
    },
    a = {
      default = 2.5, check = { 2.5, -1.0, 7.0, 1e-3, 0.0, 2.5 }, sim = 2.5, doc = "the factor",
    },
  },
  inputs = function(p, rng)
    local between = { dist = "uniform", low = -1, high = 1 }
    return { x = rng:array("f32", p.n, between), y = rng:array("f32", p.n, between) }
  end,
  families = { "tiny", "denormal", "huge", "zeros", "equal", "sorted", "alternating" },
  outputs = function(p) return { z = pg.spec("f32", p.n) } end,

  kernel = "void saxpy(const float* x, const float* y, float* z, float a, int n)",
  launch = function(p) return { grid = (p.n + 255) // 256, block = 256 } end,
  allow_empty = true, -- n = 0 launches nothing, and that is right

  -- Arithmetic of arrays is float64. Where the terms cancel, their error is what stays.
  reference = function(p, io)
    return {
      z = p.a * io.x + io.y, terms = math.abs(p.a) * magnitude(io.x) + magnitude(io.y),
    }
  end,
  validate = { "close", of = "z", ops = 2, scale = "terms" }, -- one product, one sum
  work = function(p) return { bytes = 12 * p.n, flops = 2 * p.n, items = p.n } end,

  impls = {
    naive = { "cuda", "kernels/vector/saxpy.cu", doc = "one element a thread" },
    float4 = {
      "cuda", "kernels/vector/saxpy.cu", kernel = "saxpy4", doc = "four elements a thread",
      launch = function(p) return { grid = (p.n // 4 + 256) // 256, block = 256 } end,
    },
  },
}
