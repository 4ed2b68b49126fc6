-- A misspelt function of the library.
local pg = require "perigee"
return pg.tsak {}
