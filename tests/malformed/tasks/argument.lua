-- A kernel parameter that nothing gives.
local pg = require "perigee"

return pg.task {
  name = "bad/argument", kernel = "void fill(float* y, int m)", params = { n = { default = 4 } },
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  launch = function() return { grid = 1, block = 256 } end,
  reference = function() return { y = { 1, 1, 1, 1 } } end,
  impls = { naive = { "cuda", "tests/cli/files/fill.cu" } },
}
