-- A shape that contains itself.
local pg = require "perigee"

return pg.task {
  name = "bad/knot", kernel = "void fill(float* y, int n)", params = { n = { default = 4 } },
  outputs = function() local y = { dtype = "f32" }
    y.shape = { y }
    return { y = y } end,
  launch = function() return { grid = 1, block = 256 } end,
  reference = function() return { y = { 1, 1, 1, 1 } } end,
  impls = { naive = { "cuda", "tests/cli/files/fill.cu" } },
}
