-- A task whose implementation has knobs: 4 x 4 configurations, of which the constraint takes one
-- and three fail, each in another way.
local pg = require "perigee"

local function launch(p)
  local threads = p.BLOCK == 96 and p.UNROLL == 8 and 2048 or p.BLOCK -- more than a block may have
  return { grid = (p.n + p.BLOCK * p.UNROLL - 1) // (p.BLOCK * p.UNROLL), block = threads }
end

return pg.task {
  name = "tune/scale",
  params = { n = { default = 1 << 16, check = { 1, 100 }, sim = 4096 } },
  inputs = function(p, rng) return { x = rng:array("f32", p.n) } end,
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  kernel = "void scale(int n, float a, const float* x, float* y)",
  args = function() return { a = 3 } end,
  launch = function(p) return { grid = (p.n + 255) // 256, block = 256 } end,
  reference = function(_, io) return { y = 3 * io.x:cast("f64") } end,
  work = function(p) return { bytes = 8 * p.n } end,
  impls = {
    naive = { "cuda", "scale.cu", launch = launch, where = "BLOCK * UNROLL <= 2048",
      knobs = { BLOCK = { 256, 64, 96, 512 }, UNROLL = { 1, 2, 4, 8 } } },
  },
}
