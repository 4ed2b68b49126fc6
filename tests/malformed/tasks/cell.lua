-- A cell that sets what is no parameter.
local pg = require "perigee"

return pg.task {
  name = "bad/cell", kernel = "void fill(float* y, int n)", params = { n = { default = 4 } },
  cells = { { name = "a", set = { m = 1 } } },
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  launch = function() return { grid = 1, block = 256 } end,
  reference = function() return { y = { 1, 1, 1, 1 } } end,
  impls = { naive = { "cuda", "tests/cli/files/fill.cu" } },
}
