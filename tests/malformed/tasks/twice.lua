-- Two tasks of one name.
local pg = require "perigee"
local list = {}
for i = 1, 2 do
  list[i] = pg.task {
    name = "bad/twice", kernel = "void fill(float* y, int n)", params = { n = 4 },
    outputs = function(p) return { y = pg.spec("f32", p.n) } end,
    launch = function() return { grid = 1, block = 256 } end,
    reference = function() return { y = { 1, 1, 1, 1 } } end,
  }
end
return list
