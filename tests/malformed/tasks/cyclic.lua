-- A table that contains itself, in every place that takes a table.
local pg = require "perigee"
local knot = {}
knot.knot = knot
return pg.task {
  name = "bad/cyclic", kernel = "void fill(float* y, int n)", params = { n = knot },
  launch = function() return { grid = 1, block = 1 } end, reference = function() return {} end,
  outputs = function() return knot end,
}
