-- Tuning a knob: a kernel leaves its block size and the elements a thread takes open, and a search
-- finds what is best here. On a GPU that is time, on the simulator the instructions executed.
local pg = require "perigee"

local task = pg.task {
  name = "example/squares", doc = "y = x squared",
  params = { n = { default = 1 << 22, check = { 1, 1000 }, sim = 8192, min = 1 } },
  inputs = function(p, rng) return { x = rng:array("f32", p.n, { dist = "normal" }) } end,
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  kernel = "void squares(const float* x, float* y, int n)",
  launch = { grid = "ceil_div(n, BLOCK * PER)", block = "BLOCK" },
  reference = function(_, io) return { y = io.x * io.x } end,
  validate = { "close", ops = 1 },
  impls = {
    tuned = {
      "cuda", knobs = { BLOCK = { 128, 256, 512 }, PER = { 1, 2, 4, 8 } },
      where = { "BLOCK * PER <= 2048" }, -- what a configuration must keep
      source = [[
        extern "C" __global__ void squares(const float* x, float* y, int n) {
          int first = blockIdx.x * BLOCK * PER + threadIdx.x;
          #pragma unroll
          for (int k = 0; k < PER; k++) {
            int i = first + k * BLOCK;
            if (i < n) y[i] = x[i] * x[i];
          }
        }]],
    },
  },
}

local found = pg.tune(task, { pipeline = "grid" })
for _, entry in ipairs(found.entries) do
  print(("BLOCK = %3d, PER = %d: %s %.6g"):format(entry.knobs.BLOCK, entry.knobs.PER, entry.verdict,
    entry.value))
end
print(("best: BLOCK = %d, PER = %d"):format(found.best.BLOCK, found.best.PER))
assert(#found.entries == 11 and found.record.verdict == "passed")
