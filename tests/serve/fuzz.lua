-- Random and mutated messages to `perigee serve`: perigee tests/serve/fuzz.lua [SECONDS [SEED]].
-- The server must live, answer every id that it can read once, with one message a line that names
-- no line of our own sources, write nothing to standard error, and still judge at the end.
local core = require "perigee.core"
local files = require "perigee.files"
local peer = require "perigee.serve.peer"
local protocol = require "perigee.serve.protocol"
local tools = require "perigee.serve.tools"

local seconds = tonumber(arg[1]) or 30
local seed = math.tointeger(tonumber(arg[2])) or os.time()
math.randomseed(seed)

-- The run itself is a process whose standard error, and so the server's, is a file.
if arg[3] ~= "inside" then
  local said = os.tmpname()
  local _, _, status = os.execute(("'%s' '%s' %s %d inside 2>'%s'"):format(core.binary(), arg[0],
    seconds, seed, said))
  local text = files.read(said)
  os.remove(said)
  if text ~= "" then print("on standard error: " .. text) end
  return status == 0 and text == "" and 0 or 1
end

local ANSWER_S = 60 -- until an id counts as unanswered
local BATCH = 20

local folder = files.temporary()

-- ---- what is sent ----

local function pick(list) return list[math.random(#list)] end

local SOURCE = files.read "tests/candidates/saxpy/right.cu"
local META = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
  ["io.modelcontextprotocol/clientCapabilities"] = {} }
local METHODS = { "initialize", "ping", "server/discover", "tools/list", "tools/call",
  "prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list",
  "notifications/cancelled", "notifications/initialized", "nonsense", "" }
local STRINGS = { "", "vector/saxpy", "naive", "perigee://tasks/vector/saxpy",
  "perigee://attempts/1", "2025-11-25", "2026-07-28", ("x"):rep(5000), "\0", "ä\u{10ffff}", "../..",
  "check", "refine", "%s%n", "NaN", SOURCE }

local value
local function object(depth)
  local one = {}
  for _ = 1, math.random(0, 3) do one[pick(STRINGS):gsub("%z", "")] = value(depth - 1) end
  return one
end

function value(depth)
  local kind = math.random(depth > 0 and 9 or 7)
  if kind == 1 then return core.null end
  if kind == 2 then return math.random() < 0.5 end
  if kind == 3 then return math.random(-5, 5) end
  if kind == 4 then return pick { math.maxinteger, math.mininteger, 1e300, -0.5, 1 << 53 } end
  if kind < 8 then return pick(STRINGS) end
  if kind == 8 then return object(depth) end
  local list = core.json_array {}
  for i = 1, math.random(0, 3) do list[i] = value(depth - 1) end
  return list
end

-- Arguments that nearly fit a tool's schema.
local function arguments(schema)
  local one, names = {}, {}
  for name in pairs(schema.properties) do names[#names + 1] = name end
  table.sort(names) -- so that a seed gives the same messages
  for _, name in ipairs(names) do
    local inner = schema.properties[name]
    if math.random() < 0.3 then
      one[name] = math.random() < 0.3 and value(2) or inner.examples and pick(inner.examples)
        or inner.enum and pick(inner.enum) or inner.default
    end
  end
  if schema.properties.task and math.random() < 0.9 then one.task = "vector/saxpy" end
  if math.random() < 0.05 then one.source = SOURCE end
  return one
end

local next_id = 0
local function new_id()
  next_id = next_id + 1
  return math.random() < 0.5 and next_id or "id " .. next_id
end

local function message()
  local method, params = pick(METHODS), value(3)
  if method == "tools/call" or math.random() < 0.2 then
    local tool = pick(tools.LIST)
    method, params = "tools/call", { name = tool.name, arguments = arguments(tool.inputSchema) }
  elseif math.random() < 0.7 then
    params = { protocolVersion = pick(STRINGS), uri = pick(STRINGS), name = pick(STRINGS),
      cursor = math.random() < 0.2 and pick(STRINGS) or nil, arguments = object(1),
      requestId = math.random() < 0.5 and next_id or "id " .. next_id }
  end
  if protocol.is_object(params) and math.random() < 0.6 then
    params._meta = math.random() < 0.8 and META or object(2)
  end
  local id
  if math.random() < 0.9 then id = new_id() end
  return { jsonrpc = "2.0", id = id, method = method, params = params }
end

local function mutated(text)
  for _ = 1, math.random(1, 4) do
    local at, how = math.random(#text), math.random(5)
    if how == 1 then text = text:sub(1, at - 1) .. text:sub(at + 1)
    elseif how == 2 then
      text = text:sub(1, at) .. string.char(math.random(0, 255)) .. text:sub(at + 1)
    elseif how == 3 then text = text:sub(1, at)
    elseif how == 4 then text = text .. text:sub(at)
    else text = text:sub(1, at - 1) .. pick { "{", "[", '"', "}", "null", "1e999", "\\u0000" }
      .. text:sub(at + 1) end
    if #text == 0 then return " " end
  end
  return (text:gsub("\n", " "))
end

local function line()
  local ok, text = pcall(core.json_encode, message())
  if not ok then return "{}" end
  return math.random() < 0.3 and mutated(text) or text
end

-- ---- what must come back ----

local client
local failed

local function fail(text, ...)
  failed = failed or text:format(...)
end

local function start()
  client = { peer = peer.new(core.start("serve", "--device", "sim:check", "--db",
    folder .. "/db", "--timeout", "5")), open = {}, count = 0, may = {} }
end

local function key_of(id)
  return (type(id) == "string" or math.type(id) == "integer") and protocol.key(id) or "null"
end

local function more(set, key, by)
  set[key] = (set[key] or 0) + by
  if set[key] == 0 then set[key] = nil end
end

-- Note the answers that this line must have, and those that it may have.
local function expect(text)
  local decoded = core.json_decode(text)
  local one, reply
  if decoded ~= nil then one, reply = protocol.read(decoded) end
  if not one then
    return more(client.may, key_of(reply and reply.id), 1)
  end
  if one.kind == "request" then
    more(client.open, protocol.key(one.id), 1)
    client.count = client.count + 1
  elseif one.method == "notifications/cancelled" then -- what was cancelled need not be answered
    local key = key_of(one.params.requestId)
    local open = client.open[key] or 0
    more(client.open, key, -open)
    more(client.may, key, open)
    client.count = client.count - open
  end
end

local function send(text)
  expect(text)
  local at = 1
  text = text .. "\n"
  while at <= #text do
    core.poll({ client.peer.channel }, { "w" }, 10)
    local taken = client.peer.channel:write(text, at)
    if not taken then return fail("the server has gone") end
    at = at + taken
  end
end

local answers = 0
local function take(text)
  local one = core.json_decode(text)
  if not protocol.is_object(one) or one.jsonrpc ~= "2.0" then
    return fail("no message: %s", text:sub(1, 200))
  end
  if one.method == "notifications/progress" then return end
  if (one.result == nil) == (one.error == nil) then
    return fail("neither result nor error: %s", text:sub(1, 200))
  end
  if one.error and one.error.code == -32603 or text:find "perigee/[%w_/]+%.lua:%d" then
    fail("a defect: %s", text:sub(1, 300))
  end
  answers = answers + 1
  local key = key_of(one.id)
  if client.open[key] then
    more(client.open, key, -1)
    client.count = client.count - 1
  elseif client.may[key] then
    more(client.may, key, -1)
  else
    fail("an answer that nothing asked for: %s", text:sub(1, 300))
  end
end

-- Read what there is, for so long at most.
local function listen(wait)
  core.poll({ client.peer.channel }, { "r" }, wait)
  local lines, ended = client.peer:receive()
  for _, text in ipairs(lines) do take(text) end
  if ended then fail("the server ended") end
end

local function settle()
  local until_ = core.now() + ANSWER_S
  while client.count > 0 and not failed and core.now() < until_ do listen(0.5) end
  for key in pairs(client.open) do fail("unanswered: %s", key) end
end

-- ---- the run ----

start()
local sent, until_ = 0, core.now() + seconds
while core.now() < until_ and not failed do
  for _ = 1, BATCH do
    local text = line()
    sent = sent + 1
    local file = os.getenv "PERIGEE_FUZZ_LOG"
    if file then
      local log <close> = io.open(file, "a")
      log:write(text, "\n")
    end
    send(text)
    if failed then break end
  end
  while client.count > BATCH and not failed do listen(0.5) end
  listen(0)
end
if not failed then settle() end
if not failed then
  send(core.json_encode { jsonrpc = "2.0", id = "last", method = "tools/call", params = {
    name = "check", arguments = { task = "vector/saxpy", source = SOURCE }, _meta = META } })
  settle()
end
client.peer:close()
files.remove(folder)
print(("%d messages, %d answers, seed %d%s"):format(sent, answers, seed,
  failed and ": " .. failed or ""))
return failed and 1 or 0
