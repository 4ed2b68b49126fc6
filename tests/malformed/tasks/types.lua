-- A number where a function is expected.
local pg = require "perigee"

return pg.task {
  name = "bad/types", kernel = "void fill(float* y, int n)", params = { n = { default = 4 } },
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  launch = 256,
  reference = function() return { y = { 1, 1, 1, 1 } } end,
  impls = { naive = { "cuda", "tests/cli/files/fill.cu" } },
}
