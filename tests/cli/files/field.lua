local pg = require "perigee"
return pg.task {
  name = "bad/field", kernel = "void k(float* y)",
  outputs = function() return { y = pg.spec("f32", 4) } end,
  launch = function() return { grid = 1, block = 1 } end,
  refrence = function() return { y = { 1, 2, 3, 4 } } end,
}
