-- A launch of no blocks, which the task does not allow.
local pg = require "perigee"
return pg.task {
  name = "bad/grid", kernel = "void fill(float* y, int n)", params = { n = { default = 0 } },
  outputs = function() return { y = pg.spec("f32", 4) } end,
  launch = function(p) return { grid = p.n // 256, block = 256 } end,
  reference = function() return { y = { 1, 1, 1, 1 } } end,
  impls = { naive = { "cuda", "fill.cu" } },
}
