--- The other end of a channel (host/channel.h) as lines of JSON: what is sent waits here until the
-- channel takes it, what arrives is cut at line ends.
-- @module perigee.serve.peer

local core = require "perigee.core"

local Peer = {}
Peer.__index = Peer
Peer.__close = function(self) self:close() end

local peer = {}

--- @param channel of core.standard_channel or core.start
-- @tparam[opt] integer most bytes of a line; longer ones are passed over
function peer.new(channel, most)
  return setmetatable({ channel = channel, most = most or math.maxinteger, queue = {}, first = 1,
    at = 1, waiting = 0, parts = {}, held = 0, unread = {} }, Peer)
end

-- Bytes that are no UTF-8, as in what a compiler quotes of a source, have no place in JSON.
local function as_text(text)
  if utf8.len(text) then return text end
  return (text:gsub("[\128-\255]", "?"))
end

local function as_texts(value)
  if type(value) == "string" then return as_text(value) end
  if type(value) ~= "table" then return value end
  local copy = setmetatable({}, getmetatable(value))
  for name, item in pairs(value) do copy[as_texts(name)] = as_texts(item) end
  return copy
end

-- What is no JSON as it stands: texts that are no UTF-8, then a table that a task's function gave.
local function encoded(value)
  local ok, text = pcall(core.json_encode, value)
  if ok then return text end
  return core.json_encode(as_texts(value))
end

--- Send a value as one line. It never waits.
-- @treturn boolean false when nobody will read it
function Peer:send(value)
  return self:push(encoded(value))
end

--- Send a line that is JSON already.
function Peer:push(line)
  line = line .. "\n"
  self.queue[#self.queue + 1] = line
  self.waiting = self.waiting + #line
  return self:flush()
end

--- Hand over what the channel takes by now.
-- @treturn boolean false when the peer has gone
function Peer:flush()
  while self.queue[self.first] do
    local line = self.queue[self.first]
    local taken = self.channel:write(line, self.at)
    if not taken then return false end
    if taken == 0 then return true end
    self.at, self.waiting = self.at + taken, self.waiting - taken
    if self.at > #line then
      self.queue[self.first], self.at, self.first = nil, 1, self.first + 1
    end
  end
  self.queue, self.first = {}, 1
  return true
end

--- What core.poll is to ask for this peer.
-- @tparam boolean listening whether anything is to be read
function Peer:wants(listening)
  return (listening and "r" or "") .. (self.waiting > 0 and "w" or "")
end

-- A piece of a line; of one that is too long nothing is kept.
local function hold(self, piece)
  self.held = self.held + #piece
  if self.held > self.most then
    self.parts = {}
  else
    self.parts[#self.parts + 1] = piece
  end
end

local function finish(self)
  local line = self.held <= self.most and table.concat(self.parts)
  self.parts, self.held = {}, 0
  return line
end

--- Lines that are complete by now, without their ends; false stands for one that was too long.
-- @treturn table list
-- @treturn boolean whether the peer has ended; what came after the last line end is a line, too
function Peer:receive()
  local list, bytes = {}, self.channel:read()
  if not bytes then
    if self.held > 0 then list[1] = finish(self) end
    return list, true
  end
  local from = 1
  for stop in bytes:gmatch "()\n" do
    hold(self, bytes:sub(from, stop - 1))
    list[#list + 1] = finish(self)
    from = stop + 1
  end
  if from <= #bytes then hold(self, bytes:sub(from)) end
  return list, false
end

--- The next line; what waits is sent meanwhile. Whoever calls this calls `receive` no more.
-- @tparam[opt] number seconds to wait for it
-- @treturn string|boolean|nil nil when the peer has ended, or said nothing for so long
function Peer:line(seconds)
  local deadline = seconds and core.now() + seconds
  while not self.unread[1] and not self.ended do
    local left = deadline and deadline - core.now() or -1
    if deadline and left <= 0 then return nil end
    core.poll({ self.channel }, { self:wants(true) }, left)
    self:flush()
    self.unread, self.ended = self:receive()
  end
  return table.remove(self.unread, 1)
end

function Peer:close()
  self.channel:close()
end

return peer
