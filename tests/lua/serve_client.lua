-- A client of perigee serve for the tests: asks, checks answers against their schemas, keeps
-- notifications; and which processes are below a server.
local lu = require "luaunit"
local core = require "perigee.core"
local peer = require "perigee.serve.peer"
local schema = require "perigee.serve.schema"
local tools = require "perigee.serve.tools"

local Client = {}
Client.__index = Client
Client.__close = function(self) self.peer:close() end

local count = 0

-- A server of these arguments, in a store of its own where there are none.
local function serve(folder, ...)
  count = count + 1
  local db = ("%s/%d.db"):format(folder, count)
  local more = { ... }
  if #more == 0 then more = { "--db", db } end
  return setmetatable({ peer = peer.new(core.start("serve", "--device", "sim:check",
    table.unpack(more))), notes = {}, number = 0, db = db }, Client)
end

function Client:send(value)
  if type(value) == "string" then
    local at = 1
    while at <= #value do
      core.poll({ self.peer.channel }, { "w" }, 10)
      at = at + assert(self.peer.channel:write(value, at))
    end
    return
  end
  self.peer:send(value)
  while self.peer.waiting > 0 do
    core.poll({ self.peer.channel }, { "w" }, 10)
    assert(self.peer:flush())
  end
end

-- The next message; nil at the end, and after so many seconds.
function Client:next(seconds)
  local line = self.peer:line(seconds or 60)
  return line and assert(core.json_decode(line))
end

-- The answer to a request; notifications before it are kept.
function Client:ask(method, params, id)
  self.number = self.number + 1
  id = id or self.number
  self:send { jsonrpc = "2.0", id = id, method = method, params = params or {} }
  while true do
    local message = assert(self:next(), "no answer to " .. method)
    if message.id == id then return message.result, message.error end
    table.insert(self.notes, message)
  end
end

function Client:open()
  self:ask("initialize", { protocolVersion = "2025-11-25", capabilities = {},
    clientInfo = { name = "test", version = "1" } })
  self:send { jsonrpc = "2.0", method = "notifications/initialized" }
  return self
end

-- A tool's structured answer, which must be as declared; its text.
function Client:tool(name, arguments, meta)
  local result, e = self:ask("tools/call", { name = name, arguments = arguments, _meta = meta })
  lu.assertNil(e, e and e.message)
  local said = result.content[1].text
  lu.assertEquals(result.content[1].type, "text")
  lu.assertNil(result.isError, said)
  lu.assertNil(schema.check(result.structuredContent, tools.find(name).outputSchema, name))
  return result.structuredContent, said
end

-- What a tool that could not be done says.
function Client:refused(name, arguments)
  local result, e = self:ask("tools/call", { name = name, arguments = arguments })
  lu.assertNil(e, e and e.message)
  lu.assertTrue(result.isError)
  return result.content[1].text
end

-- Processes below one, by /proc.
local function descendants(pid)
  local children, found = {}, {}
  for _, name in ipairs(core.list_dir("/proc")) do
    local stat = name:match "^%d+$" and core.read_file("/proc/" .. name .. "/stat")
    local state, parent = (stat or ""):match "^%d+ %(.*%) (%a) (%d+)"
    if state and state ~= "Z" then
      children[parent] = children[parent] or {}
      table.insert(children[parent], name)
    end
  end
  local function walk(id)
    for _, child in ipairs(children[id] or {}) do
      found[#found + 1] = child
      walk(child)
    end
  end
  walk(tostring(pid))
  return found
end

local function is_there(pid)
  local stat = core.read_file("/proc/" .. pid .. "/stat")
  local state = (stat or ""):match "^%d+ %(.*%) (%a)"
  return state ~= nil and state ~= "Z"
end

local function all_gone(pids, seconds)
  local until_ = core.now() + seconds
  repeat
    local left = 0
    for _, pid in ipairs(pids) do left = left + (is_there(pid) and 1 or 0) end
    if left == 0 then return true end
    core.poll({}, {}, 0.02)
  until core.now() > until_
  return false
end

return { serve = serve, descendants = descendants, all_gone = all_gone }
