--- The Model Context Protocol as far as a message is concerned: reading one, telling its era,
-- making replies. Pure functions; what is served is perigee.serve.server's.
--
-- Two eras meet on one stream. In that of 2025-11-25 and before, `initialize` opens a connection.
-- In that of 2026-07-28 each request stands alone and says in params._meta which version it speaks.
-- @module perigee.serve.protocol

local core = require "perigee.core"

local protocol = {}

--- Versions that `initialize` may settle on, the newest first, and versions of single requests.
protocol.HANDSHAKE = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }
protocol.STATELESS = { "2026-07-28" }

local VALUES_MOST = 100000 -- of a message: each takes a hundred times what it takes in the text

local PREFIX = "io.modelcontextprotocol/"
local VERSION_KEY, CAPABILITIES_KEY = PREFIX .. "protocolVersion", PREFIX .. "clientCapabilities"
local SERVER_KEY = PREFIX .. "serverInfo"

--- Error codes: of JSON-RPC, and of the protocol.
protocol.CODES = {
  parse = -32700, request = -32600, method = -32601, params = -32602, internal = -32603,
  resource = -32002, version = -32022,
}

protocol.SERVER = { name = "perigee", title = "Perigee", version = core.version }

-- ---- values of JSON ----

local LIST = getmetatable(core.json_array {})

--- Whether a decoded value is an object.
function protocol.is_object(value)
  return type(value) == "table" and getmetatable(value) ~= LIST
end

--- Whether it is a list.
function protocol.is_list(value)
  return type(value) == "table" and getmetatable(value) == LIST
end

local function is_id(value)
  return type(value) == "string" or math.type(value) == "integer"
end

--- A name for an id that no other id has: 1 and "1" are two.
function protocol.key(id)
  return type(id) == "string" and "s" .. id or "i" .. id
end

-- ---- replies ----

--- The reply that says what was wrong.
-- @param id of the request; nil when it could not be told
-- @tparam string code a key of CODES
-- @tparam string message
-- @tparam[opt] table data
function protocol.failure(id, code, message, data)
  return { jsonrpc = "2.0", id = id == nil and core.null or id,
    error = { code = protocol.CODES[code], message = message, data = data } }
end

local function is_stateless(version)
  return version == protocol.STATELESS[1]
end

-- What a client may keep, and for how long: what the catalogue holds may change under it.
local KEPT = { ["tools/list"] = 3600000, ["prompts/list"] = 3600000, ["server/discover"] = 3600000,
  ["resources/list"] = 1000, ["resources/templates/list"] = 3600000, ["resources/read"] = 0 }

--- The reply with a result, in the form of the request's version.
-- @tparam table message the request
-- @tparam table result it may be changed
function protocol.success(message, result)
  if is_stateless(message.version) then
    result.resultType = "complete"
    result._meta = { [SERVER_KEY] = protocol.SERVER }
    if KEPT[message.method] then
      result.ttlMs, result.cacheScope = KEPT[message.method], "private"
    end
  end
  return { jsonrpc = "2.0", id = message.id, result = result }
end

function protocol.notification(method, params)
  return { jsonrpc = "2.0", method = method, params = params }
end

-- ---- reading a message ----

local function read_request(value, id)
  local params = value.params
  if params ~= nil and not protocol.is_object(params) then
    return nil, protocol.failure(id, "params", "params must be an object")
  end
  return { id = id, method = value.method, params = params or {}, kind = "request" }
end

--- A line as a JSON value.
-- @treturn any|nil
-- @treturn table|nil the reply to a line that is none
function protocol.decode(line)
  local value, problem = core.json_decode(line, VALUES_MOST)
  if value ~= nil then return value end
  if problem:match "^more than" then
    return nil, protocol.failure(nil, "request", "a message of " .. problem)
  end
  return nil, protocol.failure(nil, "parse", "no JSON: " .. problem)
end

--- A value as a message: {id, method, params, kind = "request", "notification" or "response"}.
-- @param value what a line decoded to
-- @treturn table|nil message
-- @treturn table|nil the reply to a value that is none
function protocol.read(value)
  if not protocol.is_object(value) then
    return nil, protocol.failure(nil, "request", protocol.is_list(value)
      and "a batch: send one message a line" or "a message is an object")
  end
  local id = value.id
  local known = is_id(id) and id or nil
  if value.jsonrpc ~= "2.0" then
    return nil, protocol.failure(known, "request", 'expected "jsonrpc": "2.0"')
  end
  if id ~= nil and not known then
    return nil, protocol.failure(nil, "request", "an id is a string or an integer")
  end
  if value.method == nil and (value.result ~= nil or value.error ~= nil) then
    return { id = known, kind = "response" }
  end
  if type(value.method) ~= "string" then
    return nil, protocol.failure(known, "request", "expected the name of a method")
  end
  if known then return read_request(value, known) end
  local params = protocol.is_object(value.params) and value.params or {}
  return { method = value.method, params = params, kind = "notification" }
end

--- Whether a value gets a reply: a request does, and what is no message.
function protocol.is_answered(value)
  local message = protocol.read(value)
  return not message or message.kind == "request"
end

-- ---- eras ----

local function unsupported(message, requested)
  return protocol.failure(message.id, "version", "this protocol version is not served",
    { supported = core.json_array { table.unpack(protocol.STATELESS) }, requested = requested })
end

--- The version of a request: what its envelope says, else what `initialize` settled.
-- @tparam table message a request; gets the field `version`
-- @tparam[opt] string settled by `initialize`
-- @treturn table|nil the reply when it has none, or one that is not served
function protocol.settle(message, settled)
  local meta = message.params._meta
  local version = protocol.is_object(meta) and meta[VERSION_KEY]
  if version then
    if type(version) ~= "string" or not protocol.is_object(meta[CAPABILITIES_KEY]) then
      return protocol.failure(message.id, "params",
        ("params._meta needs a text %s and an object %s"):format(VERSION_KEY, CAPABILITIES_KEY))
    end
    if not is_stateless(version) then return unsupported(message, version) end
    message.version = version
    return nil
  end
  message.version = settled or protocol.HANDSHAKE[1]
  if settled or message.method == "initialize" or message.method == "ping" then return nil end
  return protocol.failure(message.id, "params", ("neither was initialize called (%s and before) "
    .. "nor does params._meta have %s and %s (%s)"):format(protocol.HANDSHAKE[1], VERSION_KEY,
    CAPABILITIES_KEY, protocol.STATELESS[1]))
end

--- The version that `initialize` settles on: the one asked for, else the newest.
function protocol.negotiate(asked)
  for _, version in ipairs(protocol.HANDSHAKE) do
    if version == asked then return version end
  end
  return protocol.HANDSHAKE[1]
end

--- Whether several messages may come in one line: one version had that.
function protocol.has_batches(version)
  return version == "2025-03-26"
end

--- Whether an answer of a tool has structuredContent beside its words: versions are dates.
function protocol.has_structure(version)
  return version >= "2025-06-18"
end

--- Where a client wants to hear of progress: a string or an integer; nil when it does not.
function protocol.progress_token(message)
  local meta = message.params._meta
  local token = protocol.is_object(meta) and meta.progressToken
  return is_id(token) and token or nil
end

return protocol
