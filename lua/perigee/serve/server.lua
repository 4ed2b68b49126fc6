--- `perigee serve`: the loop. It reads messages, answers what needs no work, and hands the rest to
-- two lanes, one for what looks things up and one for what runs candidates. It opens no device and
-- no store, and loads no task: start-up takes milliseconds, and a ping is answered while a kernel
-- hangs.
-- @module perigee.serve.server

local core = require "perigee.core"
local errors = require "perigee.errors"
local files = require "perigee.files"
local lane = require "perigee.serve.lane"
local peer = require "perigee.serve.peer"
local prompts = require "perigee.serve.prompts"
local protocol = require "perigee.serve.protocol"
local schema = require "perigee.serve.schema"
local suggest = require "perigee.suggest"
local tools = require "perigee.serve.tools"

local Server = {}
Server.__index = Server

local server = {}

local LINE_MOST = 32 << 20 -- bytes of one message
local UNREAD_MOST = 4 << 20 -- bytes of answers that the client has not read: then it is not heard
local CALLS_MOST, BYTES_MOST = 64, 64 << 20 -- waiting in a lane
local MEMORY_SHARE = 0.75 -- of what is available at the start: for all that a call holds
local LAST_S = 1 -- for quick answers after the end of input

local INSTRUCTIONS = "Perigee judges and times GPU kernels. list_tasks, describe_task, then "
  .. "compile, check, time, profile with the kernel's source; every check and time is an attempt "
  .. "with a number; submit the best at the end. Verdicts are words: passed, wrong_result, "
  .. "out_of_bounds, race, ... A failed verdict is an answer, not an error."

-- ---- answers ----

function Server:reply(message)
  if not self.client:send(message) then self.gone = true end
end

-- One answer the less is missing from a batch; the last sends all of them.
local function finish_batch(self, batch, reply)
  batch.replies[#batch.replies + 1] = reply
  batch.missing = batch.missing - 1
  if batch.missing == 0 and #batch.replies > 0 then self:reply(batch.replies) end
end

-- The answer to a request.
function Server:answer(message, reply)
  if message.batch then return finish_batch(self, message.batch, reply) end
  self:reply(reply)
end

function Server:fail(message, code, text, data)
  self:answer(message, protocol.failure(message.id, code, text, data))
end

function Server:succeed(message, result)
  self:answer(message, protocol.success(message, result))
end

-- A call of a tool that could not be done, in words that its caller can act upon.
local function tool_error(text, hint)
  return { isError = true, content = core.json_array {
    { type = "text", text = hint and text .. "\n" .. hint or text } } }
end

function Server:capabilities()
  return { tools = {}, resources = {}, prompts = {} }
end

-- ---- methods that are answered here ----

local METHODS = {}

function METHODS.initialize(self, message)
  local asked = message.params.protocolVersion
  if type(asked) ~= "string" then
    return self:fail(message, "params", "initialize needs a text protocolVersion")
  end
  self.version = protocol.negotiate(asked)
  self:succeed(message, { protocolVersion = self.version,
    capabilities = self:capabilities(), serverInfo = protocol.SERVER,
    instructions = INSTRUCTIONS })
end

function METHODS.ping(self, message)
  self:succeed(message, {})
end

METHODS["server/discover"] = function(self, message)
  self:succeed(message, { capabilities = self:capabilities(),
    supportedVersions = core.json_array { table.unpack(protocol.STATELESS) },
    instructions = INSTRUCTIONS })
end

-- Lists that fit one page: no cursor was ever given out.
local function whole_list(name, make)
  return function(self, message)
    if message.params.cursor ~= nil then
      return self:fail(message, "params", "no such cursor: this list has one page")
    end
    self:succeed(message, { [name] = make() })
  end
end

METHODS["tools/list"] = whole_list("tools", tools.shown)
METHODS["prompts/list"] = whole_list("prompts", function() return prompts.LIST end)
METHODS["resources/templates/list"] = whole_list("resourceTemplates", function()
  return core.json_array {
    { uriTemplate = "perigee://tasks/{+name}", name = "task", title = "Task",
      description = "All that is needed to write a kernel for a task", mimeType = "text/plain" },
    { uriTemplate = "perigee://attempts/{number}", name = "attempt", title = "Attempt",
      description = "The record of an attempt, with its sources", mimeType = "application/json" },
  }
end)

-- ---- methods that need work ----

-- Hand a request to a lane.
function Server:work(message, which)
  local one = self.lanes[which]
  local count, bytes = one:count()
  if count >= CALLS_MOST or bytes > BYTES_MOST then
    local text = ("%d calls of %.0f MiB are waiting already"):format(count, bytes / 2 ^ 20)
    if message.method ~= "tools/call" then return self:fail(message, "internal", text) end
    return self:succeed(message, tool_error(text, "call again when some ended"))
  end
  local call = { message = message, key = protocol.key(message.id), lane = one, steps = 0,
    token = protocol.progress_token(message) }
  call.folder = which == "bench" and self:scratch() or nil
  call.line = core.json_encode { method = message.method, params = message.params,
    version = message.version, options = self.options, folder = call.folder }
  message.params = { name = message.params.name } -- the sources are in the line
  self.calls[call.key] = call
  one:add(call)
end

-- A folder for the sources of candidates, emptied after each call, whatever became of it.
function Server:scratch()
  self.folder = self.folder or files.temporary()
  return self.folder
end

METHODS["tools/call"] = function(self, message)
  local name, arguments = message.params.name, message.params.arguments
  local tool = type(name) == "string" and tools.find(name)
  if not tool then
    return self:fail(message, "params", ("unknown tool: %s"):format(tostring(name)),
      { hint = suggest.hint(tostring(name), tools.names(), "tools") })
  end
  if arguments == nil or arguments == core.null then arguments = {} end
  local problem, hint = schema.check(arguments, tool.inputSchema)
  if problem then return self:succeed(message, tool_error(problem, hint)) end
  message.params.arguments = schema.settle(arguments, tool.inputSchema)
  self:work(message, tool.lane)
end

METHODS["prompts/get"] = function(self, message)
  local prompt, names = prompts.find(message.params.name)
  local given = message.params.arguments or {}
  if not prompt then
    return self:fail(message, "params", ("unknown prompt: %s"):format(tostring(
      message.params.name)), { hint = suggest.hint(tostring(message.params.name), names,
      "prompts") })
  end
  for _, one in ipairs(prompt.arguments) do
    if not protocol.is_object(given) or type(given[one.name]) ~= "string" then
      return self:fail(message, "params", ("prompt %s needs the text '%s': %s"):format(prompt.name,
        one.name, one.description))
    end
  end
  self:work(message, "desk")
end

METHODS["resources/list"] = function(self, message)
  local cursor = message.params.cursor
  if cursor ~= nil and not (type(cursor) == "string" and cursor:match "^%d%d?%d?%d?%d?$") then
    return self:fail(message, "params", "no such cursor")
  end
  self:work(message, "desk")
end

METHODS["resources/read"] = function(self, message)
  if type(message.params.uri) ~= "string" then
    return self:fail(message, "params", "resources/read needs a text uri")
  end
  self:work(message, "desk")
end

-- What only one of the eras has.
local ONLY_HANDSHAKE = { initialize = true, ping = true }
local ONLY_STATELESS = { ["server/discover"] = true }

-- ---- what the lanes say ----

local function forget(self, call)
  self.calls[call.key] = nil
  if call.folder then files.empty(call.folder) end
end

-- Values strictly grow, whatever the work itself knows of its progress.
function Server:progressed(call, text)
  if not call.token then return end
  call.steps = call.steps + 1
  self:reply(protocol.notification("notifications/progress", { progressToken = call.token,
    progress = call.steps, message = text }))
end

function Server:answered(call, message)
  if message.progress then return self:progressed(call, message.progress) end
  forget(self, call)
  if message.failure then
    local failure = message.failure
    return self:fail(call.message, failure.code, failure.message, failure.data)
  end
  self:succeed(call.message, message.result)
end

function Server:lost(call, reason)
  forget(self, call)
  if call.message.method ~= "tools/call" then
    return self:fail(call.message, "internal", reason)
  end
  self:succeed(call.message, tool_error(("%s: %s"):format(call.message.params.name,
    reason), "the next call gets a new process"))
end

-- ---- what the client says ----

local NOTIFICATIONS = {}

-- A cancelled request gets no answer; its process and all that it runs die at once.
NOTIFICATIONS["notifications/cancelled"] = function(self, message)
  local id = message.params.requestId
  local known = type(id) == "string" or math.type(id) == "integer"
  local call = known and self.calls[protocol.key(id)]
  if not call then return end
  call.lane:cancel(call)
  forget(self, call)
  if call.message.batch then finish_batch(self, call.message.batch) end
end

function Server:request(message)
  local problem = protocol.settle(message, self.version)
  if problem then return self:answer(message, problem) end
  local stateless = message.version == protocol.STATELESS[1]
  local method = METHODS[message.method]
  if not method or stateless and ONLY_HANDSHAKE[message.method]
    or not stateless and ONLY_STATELESS[message.method] then
    return self:fail(message, "method", ("unknown method: %s"):format(message.method))
  end
  if self.calls[protocol.key(message.id)] then
    return self:fail(message, "request",
      "a request with this id is under way: that one is answered still")
  end
  local ok, e = errors.catch("internal", method, self, message)
  if ok then return end
  if message.method ~= "tools/call" then
    return self:fail(message, e.code == "internal" and "internal" or "params", e.message)
  end
  self:succeed(message, tool_error(e.message, e.hint))
end

function Server:line(line)
  if line == false then
    return self:reply(protocol.failure(nil, "request", ("a message of more than %d MiB"):format(
      LINE_MOST >> 20)))
  end
  if not line:find "%S" then return end
  local value, problem = protocol.decode(line)
  if value == nil then return self:reply(problem) end
  if protocol.is_list(value) and protocol.has_batches(self.version) and #value > 0 then
    return self:batch(value)
  end
  self:message(value)
end

-- One message; `batch` where its answer is one of several.
function Server:message(value, batch)
  local message, problem = protocol.read(value)
  if not message then return self:answer({ batch = batch }, problem) end
  message.batch = batch
  if message.kind == "request" then return self:request(message) end
  local heard = message.kind == "notification" and NOTIFICATIONS[message.method]
  if heard then heard(self, message) end
end

-- Several messages in one line, answered by one line when the last is done.
function Server:batch(list)
  local batch = { missing = 0, replies = core.json_array {} }
  for _, value in ipairs(list) do
    if protocol.is_answered(value) then batch.missing = batch.missing + 1 end
  end
  for _, value in ipairs(list) do self:message(value, batch) end
end

-- ---- the loop ----

-- Seconds until something must be looked at; -1: nothing but messages.
function Server:patience()
  local least = self.ending and math.max(0, self.ending - core.now()) or nil
  for _, one in pairs(self.lanes) do
    local left = one:left()
    if left and (not least or left < least) then least = left end
  end
  return least or -1
end

function Server:wait()
  local list, wants = { self.client.channel }, {}
  wants[1] = self.client:wants(not self.ending and self.client.waiting < UNREAD_MOST)
  local lanes = {}
  for _, one in pairs(self.lanes) do
    if one.peer then
      list[#list + 1], wants[#wants + 1] = one.peer.channel, one.peer:wants(true)
      lanes[#list] = one
    end
  end
  local ready = core.poll(list, wants, self:patience())
  for i, one in pairs(lanes) do one:step(ready[i]) end
  return ready[1]
end

function Server:listen(ready)
  if ready:find("g", 1, true) or not self.client:flush() then self.gone = true end
  if self.gone or not ready:find("r", 1, true) then return end
  local lines, ended = self.client:receive()
  for _, line in ipairs(lines) do self:line(line) end
  if ended then
    self.ending = core.now() + LAST_S
    self.lanes.bench:drop()
    for key, call in pairs(self.calls) do
      if call.lane == self.lanes.bench then self.calls[key] = nil end
    end
  end
end

local function is_done(self)
  if self.gone or core.interrupted() then return true end
  if not self.ending then return false end
  return core.now() >= self.ending or (next(self.calls) == nil and self.client.waiting == 0)
end

function Server:close()
  for _, one in pairs(self.lanes) do one:stop() end
  if self.folder then files.remove(self.folder) end
  self.client:close()
end

--- Serve until the end of input.
-- @tparam table options for the tools: {device, db, session, share, timeout, trust, limit =
--   seconds a call may take, memory = GiB it may hold}
function server.run(options)
  local self = setmetatable({ options = options, calls = {}, lanes = {} }, Server)
  self.client = peer.new(core.standard_channel(), LINE_MOST)
  local how = { seconds = options.limit,
    memory = options.memory and options.memory * 2 ^ 30 or core.available_memory() * MEMORY_SHARE,
    on_message = function(call, message) self:answered(call, message) end,
    on_lost = function(call, reason) self:lost(call, reason) end }
  self.lanes.desk, self.lanes.bench = lane.new(how), lane.new(how)
  core.catch_interrupt()
  while not is_done(self) do
    self:listen(self:wait())
    for _, one in pairs(self.lanes) do one:watch() end
  end
  self:close()
end

return server
