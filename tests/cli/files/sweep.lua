-- A task with a sweep.
local pg = require "perigee"
return pg.task { name = "test/sweep", params = { n = { default = 4 } },
  sweeps = { { name = "sizes", set = { n = "1,2,4" } } },
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  kernel = "void f(float* y, int n)", launch = { grid = 1, block = 32 },
  reference = function(p) return { y = pg.array("f32", p.n) } end, validate = "exact" }
