-- More elements than 64 bits count.
local pg = require "perigee"

return pg.task {
  name = "bad/overflow", kernel = "void fill(float* y, int n)", params = { n = { default = 4 } },
  outputs = function(p) return { y = pg.spec("f32", { 1 << 40, 1 << 40 }) } end,
  launch = function() return { grid = 1, block = 256 } end,
  reference = function() return { y = { 1, 1, 1, 1 } } end,
  impls = { naive = { "cuda", "tests/cli/files/fill.cu" } },
}
