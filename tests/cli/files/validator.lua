-- A task with a misspelt validator.
local pg = require "perigee"
return pg.task { name = "bad/validator", params = { n = { default = 4 } },
  outputs = function(p) return { y = pg.spec("f32", p.n) } end,
  kernel = "void f(float* y, int n)", launch = { grid = 1, block = 32 },
  reference = function(p) return { y = pg.array("f32", p.n) } end, validate = "exakt" }
