-- A text in the place of the fields.
local pg = require "perigee"
return pg.task "bad/text"
