--- A task with experts whose library is the driver itself, so that a driver that is a simulator
-- (tests/shim) runs them: right ones, wrong ones, and one whose library is nowhere.

local pg = require "perigee"

local function expert(name, with)
  return { "lua", "tests/experts/" .. name .. ".lua", with = with }
end

return pg.task {
  name = "test/scale",
  doc = "y = a x.",
  params = { n = { default = 1000, check = 100, sim = 100, min = 1 }, a = { default = 3.0 } },
  inputs = function(p, rng) return { x = rng:array("f32", p.n) } end,
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  kernel = "void scale(const float* x, float* y, float a, int n)",
  launch = function(p) return { grid = (p.n + 255) // 256, block = 256 } end,
  reference = function(p, io) return { y = p.a * io.x } end,
  validate = { "close", ops = 1 },
  work = function(p) return { bytes = 8 * p.n } end,
  torch = "return a * x",
  impls = {
    naive = { "cuda", source = [[
      extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i];
      }]] },
    expert = expert("driver"),
    short = expert("driver", { less = 1 }),
    beyond = expert("driver", { more = 1 }),
    input = expert("driver", { swapped = true }),
    missing = expert "missing",
    broken = expert "broken",
    late = expert "late",
  },
}
