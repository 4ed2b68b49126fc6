-- A reference that returns nothing.
local pg = require "perigee"

return pg.task {
  name = "bad/reference_none", kernel = "void fill(float* y, int n)", params = { n = { default = 4 } },
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  launch = function() return { grid = 1, block = 256 } end,
  reference = function() end,
  impls = { naive = { "cuda", "tests/cli/files/fill.cu" } },
}
