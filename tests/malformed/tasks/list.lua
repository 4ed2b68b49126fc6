-- A list with something else in it.
local pg = require "perigee"
return { 7, pg.task }
