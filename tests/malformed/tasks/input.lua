-- An input whose parameter is not const.
local pg = require "perigee"

return pg.task {
  name = "bad/input", kernel = "void fill(float* y, int n)", params = { n = { default = 4 } },
  inputs = function(p) return { y = pg.array("f32", p.n) } end,
  outputs = function(p) return { z = pg.spec("f32", p.n) } end,
  launch = function() return { grid = 1, block = 256 } end,
  reference = function() return { y = { 1, 1, 1, 1 } } end,
  impls = { naive = { "cuda", "tests/cli/files/fill.cu" } },
}
