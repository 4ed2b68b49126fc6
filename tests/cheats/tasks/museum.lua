--- Tasks for exhibits that no task of Perigee's own shows: a long sum of numbers that are no whole
-- ones, and a product that may be taken by tensor cores.
local pg = require "perigee"

local BETWEEN = { dist = "uniform", low = -1, high = 1 }

return {
  pg.task {
    name = "museum/long_sum",
    doc = "y[0] = x[0] + ... + x[n - 1] in single precision, in any order.",
    params = { n = { default = 1 << 22, check = { 1, 1000, 65537 }, sim = 100003, min = 1 } },
    inputs = function(p, rng) return { x = rng:array("f32", p.n, BETWEEN) } end,
    outputs = function() return { y = pg.spec("f32", 1) } end,
    kernel = "void long_sum(const float* x, float* y, int n)",
    launch = { grid = 1, block = 256 },
    reference = function(_, io)
      local sum, magnitude = io.x:sum(), 0
      for i = 0, #io.x - 1 do magnitude = magnitude + math.abs(io.x[i]) end
      return { y = sum, magnitude = magnitude }
    end,
    validate = { "close", of = "y", ops = function(p) return p.n end, scale = "magnitude" },
    work = function(p) return { bytes = 4 * p.n, flops = p.n } end,
    impls = {},
  },
  pg.task {
    name = "museum/product_tf32",
    doc = [[
c = a b with a of m x 64, b of 64 x n, single precision; products may be those of tf32, whose
factors have 11 bits. m is a multiple of 16, n of 8.]],
    params = {
      m = { default = 1024, check = { 16, 48, 64 }, sim = 64, min = 16 },
      n = { default = 1024, check = { 8, 24, 64 }, sim = 64, min = 8 },
    },
    inputs = function(p, rng)
      return {
        a = rng:array("f32", { p.m, 64 }, BETWEEN), b = rng:array("f32", { 64, p.n }, BETWEEN),
      }
    end,
    outputs = function(p) return { c = pg.spec("f32", { p.m, p.n }) } end,
    kernel = "void product(const float* a, const float* b, float* c, int m, int n)",
    launch = { grid = { "n // 8", "m // 16" }, block = 32 },
    reference = function(_, io) return { c = pg.product(io.a, io.b) } end,
    -- The magnitudes of the 64 terms of an element come to 16 in the mean.
    validate = { "close", ops = 2, accumulate = "tf32", scale = 16 },
    require = { "tensor_core" }, forbid = { "f16_accumulate" },
    work = function(p)
      return { bytes = 4 * (64 * (p.m + p.n) + p.m * p.n), flops = 128 * p.m * p.n }
    end,
    impls = {},
  },
}
