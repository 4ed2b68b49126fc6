--- random/normal: independent standard normal numbers; the generator is the candidate's choice.

local pg = require "perigee"

return pg.task {
  name = "random/normal",
  doc = [[
n independent random numbers of the standard normal distribution, in single precision.

Which generator and which method make them is free. They must depend on seed[0], and on nothing
else: other seeds give other numbers. Judged are their distribution, its moments and tails, and the
independence of neighbours. To write them takes 4 bytes a number.]],
  params = {
    n = {
      default = 1 << 26, check = { 1000, 4097, 65536, 1000003 }, sim = 20003, min = 1,
      max = 1 << 30, doc = "how many numbers",
    },
  },
  inputs = function(_, rng) return { seed = rng:array("u64", 1) } end,
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  kernel = "void normal(const unsigned long long* seed, float* y, int n)",
  launch = function(p) return { grid = (p.n + 255) // 256, block = 256 } end,
  reference = function() return {} end, -- no two generators agree
  deterministic = true,
  validate = { "distribution", of = "y", dist = "normal" },
  varies = true,
  work = function(p) return { bytes = 4 * p.n, items = p.n } end,
  impls = {
    naive = { "cuda", "kernels/random/normal.cu", doc = "one number a thread, accurate functions" },
    fast = {
      "cuda", "kernels/random/normal_fast.cu", doc = "four numbers a Philox block, approximations",
      knobs = { VECTORS = { 2, 1, 4, 8 } },
      launch = function(p)
        return { grid = (p.n // 4 + 256 * p.VECTORS) // (256 * p.VECTORS), block = 256 }
      end,
    },
  },
}
