-- Tasks by name, where a list is expected.
local pg = require "perigee"
return { first = pg.task, second = pg.task }
