-- A task that lets a candidate keep its own layout: pairs[i] = {x[i], x[i] squared}, and how many
-- x are positive, which no export may bring.
local pg = require "perigee"

return pg.task {
  name = "test/pairs",
  doc = "Each number with its square, and how many are positive.",
  params = { n = { default = 1 << 16, check = { 1, 100 }, sim = 1000, min = 1 } },
  inputs = function(p, rng) return { x = rng:array("f32", p.n, { dist = "normal" }) } end,
  outputs = function(p) return { pairs = pg.spec("f32", { p.n, 2 }) } end,
  state = function() return { positive = { dtype = "i32", n = 1 } } end,
  kernel = "void pairs(const float* x, float* pairs, int* positive, int n)",
  launch = { grid = "ceil_div(n, 256)", block = 256 },
  own_layout = { "pairs" },
  reference = function(p, io)
    local want, positive = pg.array("f64", { p.n, 2 }), 0
    for i = 0, p.n - 1 do
      want[2 * i], want[2 * i + 1] = io.x[i], io.x[i] * io.x[i]
      positive = positive + (io.x[i] > 0 and 1 or 0)
    end
    return { pairs = want, positive = positive }
  end,
  validate = { { "close", of = "pairs", ops = 1 }, { "exact", of = "positive" } },
  work = function(p) return { bytes = 12 * p.n, items = p.n } end,
  impls = { naive = { "cuda", "pairs.cu" } },
}
