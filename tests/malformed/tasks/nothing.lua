-- The task is made and not returned.
local pg = require "perigee"
local _ = pg.task
