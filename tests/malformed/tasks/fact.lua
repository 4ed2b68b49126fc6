-- A misspelt fact that candidates must have.
local pg = require "perigee"

return pg.task {
  name = "bad/fact", kernel = "void fill(float* y, int n)", params = { n = { default = 4 } },
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  launch = function() return { grid = 1, block = 256 } end,
  require = { "dp4a | mma_i8" },
  reference = function() return { y = { 1, 1, 1, 1 } } end,
  impls = { naive = { "cuda", "tests/cli/files/fill.cu" } },
}
