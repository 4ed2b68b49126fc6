--- The process of a lane, `perigee --tools`: reads calls from perigee serve, one a line, does them,
-- and says what came out. What tasks or libraries print goes to standard error.
-- @module perigee.serve.worker

local core = require "perigee.core"
local errors = require "perigee.errors"
local files = require "perigee.files"
local peer = require "perigee.serve.peer"
local tools = require "perigee.serve.tools"

local worker = {}

local SAY_S = 0.05 -- between two reports of progress

-- Wait until everything was handed over; false when the server has gone.
local function deliver(server, value)
  local heard = server:send(value)
  while heard and server.waiting > 0 do
    core.poll({ server.channel }, { "w" }, -1)
    heard = server:flush()
  end
  return heard
end

-- Paths of the call's folder say nothing to whoever sent the files.
local function tool_error(e, folder)
  local text = e.message
  if e.where and e.where ~= "" and not text:find(e.where, 1, true) then
    text = ("%s (%s)"):format(text, e.where)
  end
  if e.hint and e.hint ~= "" then text = text .. "\n" .. e.hint end
  if folder then
    local pattern = files.join(folder, "candidate"):gsub("%p", "%%%0")
    text = text:gsub(pattern .. "/?", "")
  end
  return { isError = true, content = core.json_array { { type = "text", text = text } } }
end

-- A tool gives its structured answer and the same in words.
local function call_tool(request, progress)
  local params = request.params
  local tool = tools.find(params.name)
  local run = require(tool.module)[tool.name]
  local ok, answer = errors.catch("internal", function()
    local structured, text = run(params.arguments, request, progress)
    return { structured = structured, text = text }
  end)
  if not ok then
    if answer.code == "internal" then io.stderr:write(errors.text(answer), "\n") end
    return { result = tool_error(answer, request.folder) }
  end
  return { result = { structuredContent = answer.structured,
    content = core.json_array { { type = "text", text = answer.text } } } }
end

local RESOURCES, EVAL = "perigee.serve.resources", "perigee.eval"
local OTHERS = { ["prompts/get"] = { RESOURCES, "prompt" },
  ["resources/list"] = { RESOURCES, "list" }, ["resources/read"] = { RESOURCES, "read" },
  ["eval/sample"] = { EVAL, "sample" } } -- the last is of perigee eval

local function do_call(request, progress)
  if request.method == "tools/call" then return call_tool(request, progress) end
  local ok, result = errors.catch("internal", function()
    local module, name = table.unpack(OTHERS[request.method])
    return require(module)[name](request.params, request, progress)
  end)
  if ok then return { result = result } end
  local hint = result.hint ~= "" and result.hint or nil
  local missing = result.code == "not_found" and request.method == "resources/read"
    and request.version:sub(1, 4) ~= "2026"
  local code = missing and "resource" or result.code == "internal" and "internal" or "params"
  return { failure = { code = code, message = result.message, data = hint and { hint = hint } } }
end

-- Cases of one kind may pass by the thousand; that something else begins is always said.
local function throttled(server)
  local last, kind = 0, nil
  return function(text)
    local word = text:match "^%S+"
    if word == kind and core.now() - last < SAY_S then return end
    last, kind = core.now(), word
    deliver(server, { progress = text })
  end
end

--- @treturn integer exit status
function worker.main()
  local server = peer.new(core.standard_channel())
  while true do
    core.poll({ server.channel }, { "r" }, -1)
    local lines, ended = server:receive()
    for _, line in ipairs(lines) do
      local request = assert(core.json_decode(line))
      if not deliver(server, do_call(request, throttled(server))) then return 0 end
      collectgarbage()
      local candidates = package.loaded["perigee.serve.candidates"]
      if candidates and #lines == 1 and request.method ~= "eval/sample" then
        pcall(candidates.stand_by) -- an evaluation says itself what is next
      end
    end
    if ended then return 0 end
  end
end

return worker
