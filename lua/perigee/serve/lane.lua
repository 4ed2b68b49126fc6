--- A lane: a process of its own (`perigee --tools`) that answers calls one after the other. It is
-- started by the first call, ends with the server, and is killed with all that it has started when
-- the call at hand is cancelled, or takes too long or too much memory: a new one answers the next
-- call. So the server itself runs nothing and always listens.
-- @module perigee.serve.lane

local core = require "perigee.core"
local peer = require "perigee.serve.peer"

local Lane = {}
Lane.__index = Lane

local lane = {}

local WATCH_S = 0.2 -- between two looks at what a call holds

--- @tparam table how {seconds = a call may take, memory = bytes that its process and what that has
--   started may hold, on_message = function(call, message) for each message about a call, on_lost =
--   function(call, reason) when its process ended or was killed}
function lane.new(how)
  return setmetatable({ how = how, waiting = {} }, Lane)
end

-- Begin with the next call that waits.
function Lane:next()
  if self.call or #self.waiting == 0 then return end
  if not self.peer then
    local ok, channel = pcall(core.start, "--tools")
    if not ok then
      return self.how.on_lost(table.remove(self.waiting, 1), tostring(channel))
    end
    self.peer = peer.new(channel)
  end
  local call = table.remove(self.waiting, 1)
  self.call, self.started = call, core.now()
  self.peer:push(call.line)
end

--- Take a call: {line = what the process gets}.
function Lane:add(call)
  table.insert(self.waiting, call)
  self:next()
end

--- How many calls are under way or waiting, and bytes of what waits.
function Lane:count()
  local bytes = 0
  for _, call in ipairs(self.waiting) do bytes = bytes + #call.line end
  return #self.waiting + (self.call and 1 or 0), bytes
end

function Lane:stop()
  if not self.peer then return end
  self.peer.channel:kill()
  self.peer:close()
  self.peer = nil
end

-- The call at hand has ended without an answer.
local function lose(self, reason)
  local call = self.call
  self:stop()
  self.call = nil
  if call then self.how.on_lost(call, reason) end
  self:next()
end

--- Forget a call; the process that works on it is killed. @treturn boolean whether it was here
function Lane:cancel(call)
  if self.call == call then
    self:stop()
    self.call = nil
    self:next()
    return true
  end
  for i, other in ipairs(self.waiting) do
    if other == call then
      table.remove(self.waiting, i)
      return true
    end
  end
  return false
end

--- Forget all calls, and end the process.
function Lane:drop()
  self:stop()
  self.call, self.waiting = nil, {}
end

local function take(self, line)
  local message = core.json_decode(line)
  local call = self.call
  if not call or type(message) ~= "table" then return end
  if message.progress then return self.how.on_message(call, message) end
  self.call = nil
  self.how.on_message(call, message)
end

--- Look at what the process has to say. @tparam string ready what core.poll found
function Lane:step(ready)
  if not self.peer or ready == "" then return end
  self.peer:flush()
  local lines, ended = self.peer:receive()
  for _, line in ipairs(lines) do take(self, line) end
  if ended then return lose(self, "its process ended without an answer") end
  self:next()
end

--- Seconds until the call at hand must be looked at; nil when there is none.
function Lane:left()
  if not self.call then return nil end
  return math.max(0, math.min(WATCH_S, self.started + self.how.seconds - core.now()))
end

--- End a call that has taken too long, or whose process holds too much memory.
function Lane:watch()
  if not self.call then return end
  if core.now() >= self.started + self.how.seconds then
    return lose(self, ("it took longer than %g s and was ended"):format(self.how.seconds))
  end
  if core.now() < (self.watched or 0) + WATCH_S then return end
  self.watched = core.now()
  local held = self.peer.channel:memory()
  if held > self.how.memory then
    lose(self, ("it held %.2g GiB of memory, may hold %.2g GiB, and was ended"):format(
      held / 2 ^ 30, self.how.memory / 2 ^ 30))
  end
end

return lane
