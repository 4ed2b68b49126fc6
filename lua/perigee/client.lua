--- A client of `perigee serve` for agents in Lua: calls of its tools, one after the other.
-- @module perigee.client

local core = require "perigee.core"
local peer = require "perigee.serve.peer"
local protocol = require "perigee.serve.protocol"

local client = {}

local Client = {}
Client.__index = Client
Client.__close = function(self) self.server:close() end

-- The result of a request. Notifications are passed over.
local function ask(self, method, params)
  self.number = self.number + 1
  self.server:send { jsonrpc = "2.0", id = self.number, method = method, params = params }
  while true do
    local line = self.server:line()
      or core.error("crashed", "the server ended without an answer")
    local message = core.json_decode(line)
    if message.error then core.error("invalid", message.error.message) end
    if message.id == self.number then return message.result end
  end
end

--- Start a server and begin with it.
-- @tparam table words the command as a request of `perigee eval` has it in `server`; the first is
--   this program itself
-- @treturn table a client, which ends the server when it is closed
-- @raise "environment" when it cannot be started
function client.connect(words)
  local self = setmetatable({ number = 0, server = peer.new(core.start(table.unpack(words, 2))) },
    Client)
  ask(self, "initialize", { protocolVersion = protocol.HANDSHAKE[1] })
  return self
end

--- Call a tool. @tparam string name
-- @tparam table arguments
-- @treturn table|nil its structured answer; nil when the call could not be done
-- @treturn string its answer in words, or why not
-- @raise "crashed" when the server has gone, "invalid" for a tool that there is not
function Client:call(name, arguments)
  local result = ask(self, "tools/call", { name = name, arguments = arguments })
  return result.structuredContent, result.content[1].text
end

return client
