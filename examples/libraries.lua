-- A kernel judged by a numerical library: CUDA's Bessel function against that of GSL. Where GSL is
-- missing it says so.
local pg = require "perigee"
local gsl = require "perigee.lib.gsl"

if not gsl.available() then
  print("there is no GSL here; Debian: apt-get install libgsl27")
  return true
end

local bessel = pg.task {
  name = "example/bessel",
  doc = "y = J0(x), the Bessel function of the first kind.",
  params = { n = { default = 1 << 16, check = { 1, 1000 }, sim = 1000 } },
  inputs = function(p, rng) return { x = rng:array("f32", p.n, { low = -8, high = 8 }) } end,
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  kernel = "void bessel(const float* x, float* y, int n)",
  launch = { grid = "ceil_div(n, 256)", block = 256 },
  reference = function(_, io) return { y = gsl.map("bessel_J0", io.x) } end,
  validate = { "close", atol = 5e-7 }, -- relative errors have no bound at the zeros of J0
  impls = {
    naive = { "cuda", source = [[
      extern "C" __global__ void bessel(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = j0f(x[i]);
      }]] },
  },
}

local value, bound = gsl.bessel_J0(1)
print(("J0(1) = %.15f, by GSL within %.0e"):format(value, bound))
local record = pg.run(bessel, { out = print })[1]
return record.verdict == "passed"
