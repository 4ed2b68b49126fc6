-- A comma is missing.
local pg = require "perigee"
return pg.task {
  name = "bad/syntax"
  doc = "y",
}
