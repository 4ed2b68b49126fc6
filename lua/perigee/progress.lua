--- One line on a terminal's standard error that says what is going on, shown for anything over half
-- a second.
-- @module perigee.progress

local core = require "perigee.core"

local Progress = {}
Progress.__index = Progress

local progress = {}

local QUIET_S = 0.5

--- @tparam boolean wanted false: never shows anything
function progress.new(wanted)
  return setmetatable({
    shows = wanted and core.isatty(2), started = core.now(),
    columns = core.columns and core.columns() or 80,
  }, Progress)
end

--- Replace the line.
function Progress:say(text)
  if not self.shows or core.now() - self.started < QUIET_S then return end
  io.stderr:write("\r\27[K", text:sub(1, math.max(20, self.columns - 1)))
  io.stderr:flush()
  self.dirty = true
end

--- Take the line away, before something is printed and at the end.
function Progress:clear()
  if not self.dirty then return end
  io.stderr:write("\r\27[K")
  io.stderr:flush()
  self.dirty = false
end

return progress
