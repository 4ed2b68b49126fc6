-- A benchmark of one's own in one file: what must be computed, two kernels that do it, and a table
-- of their times. Both are judged against the reference before any is timed.
local pg = require "perigee"

local task = pg.task {
  name = "example/norms", doc = "y[i] = length of the i-th of n vectors of 3 numbers",
  params = { n = { default = 1 << 20, check = { 1, 255, 1000 }, sim = 5000, min = 1 } },
  inputs = function(p, rng) return { x = rng:array("f32", { p.n, 3 }, { dist = "normal" }) } end,
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  kernel = "void norms(const float* x, float* y, int n)",
  launch = function(p) return { grid = (p.n + 127) // 128, block = 128 } end,
  reference = function(p, io)
    local y = pg.array("f64", p.n)
    for i = 0, p.n - 1 do
      y[i] = math.sqrt(io.x:get(i, 0) ^ 2 + io.x:get(i, 1) ^ 2 + io.x:get(i, 2) ^ 2)
    end
    return { y = y }
  end,
  validate = { "close", ops = 6 },
  work = function(p) return { bytes = 16 * p.n } end,
  impls = {
    naive = { "cuda", source = [[
      extern "C" __global__ void norms(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = norm3df(x[3 * i], x[3 * i + 1], x[3 * i + 2]);
      }]] },
    staged = { "cuda", source = [[
      extern "C" __global__ void norms(const float* x, float* y, int n) {
        __shared__ float part[3 * 128];
        int first = blockIdx.x * 128, i = first + threadIdx.x;
        for (int k = threadIdx.x; k < 384 && 3 * first + k < 3 * n; k += 128)
          part[k] = x[3 * first + k];
        __syncthreads();
        float* v = part + 3 * threadIdx.x;
        if (i < n) y[i] = norm3df(v[0], v[1], v[2]);
      }]] },
  },
}

for _, record in ipairs(pg.run(task, { out = print })) do
  assert(record.verdict == "passed", record.reason)
end
