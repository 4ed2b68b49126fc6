-- A module that is not there.
local pg = require "perige"
return pg.task {}
