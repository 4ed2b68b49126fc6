-- An agent that answers with what lies in a folder: FOLDER/TASK/ROUND.cu (or .rs, .py, .ptx), for
-- example FOLDER/vector/saxpy/1.cu. It stops where there is nothing for the round. In the setting
-- tools it checks one after the other until one passes, and submits that.
--
--     perigee eval --tasks vector/saxpy --setting refine --agent 'perigee replay.lua FOLDER'
local core = require "perigee.core"
local client = require "perigee.client"

local LANGUAGES = { cu = "cuda", rs = "rust", py = "triton", ptx = "ptx" }

local folder = assert(arg[1], "usage: perigee replay.lua FOLDER")
local request = assert(core.json_decode(io.read "a"))

local function candidate(round)
  for extension, language in pairs(LANGUAGES) do
    local source = core.read_file(("%s/%s/%d.%s"):format(folder, request.task, round, extension))
    if source then return source, language end
  end
end

local function with_tools()
  local server <close> = client.connect(request.server)
  local round = 1
  while candidate(round) do
    local source, language = candidate(round)
    local answer = server:call("check", { task = request.task, source = source,
      language = language })
    if answer and answer.passed then
      server:call("submit", { task = request.task, attempt = answer.attempt })
      break
    end
    round = round + 1
  end
  print(core.json_encode { stop = true })
end

if request.setting == "tools" then return with_tools() end
local source, language = candidate(request.round)
print(core.json_encode(source and { source = source, language = language } or { stop = true }))
