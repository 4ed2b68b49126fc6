-- A task whose only cell needs what is not there.
local pg = require "perigee"
return pg.task {
  name = "bad/needs", kernel = "void k(float* y)",
  cells = { {
    name = "large", needs = function() return "no data for it: make data brings them" end,
  } },
  outputs = function() return { y = pg.spec("f32", 1) } end,
  launch = function() return { grid = 1, block = 1 } end,
  reference = function() return { y = { 0 } } end,
  impls = { naive = { "cuda", "tests/cli/files/name.cu" } },
}
