-- A grid that is no integer.
local pg = require "perigee"

return pg.task {
  name = "bad/grid", kernel = "void fill(float* y, int n)", params = { n = { default = 4 } },
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  launch = function(p) return { grid = p.n / 3, block = 256 } end,
  reference = function() return { y = { 1, 1, 1, 1 } } end,
  impls = { naive = { "cuda", "tests/cli/files/fill.cu" } },
}
