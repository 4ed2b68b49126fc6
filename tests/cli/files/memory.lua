-- A buffer that no device has room for.
local pg = require "perigee"
return pg.task {
  name = "bad/memory", kernel = "void fill(float* y, int n)", params = { n = { default = 1 } },
  state = function() return { y = pg.spec("f32", 1 << 44) } end,
  launch = function() return { grid = 1, block = 1 } end,
  reference = function() return {} end, validate = function() return true end,
  impls = { naive = { "cuda", "fill.cu" } },
}
