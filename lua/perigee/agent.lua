--- An agent as a command: a request as JSON on its standard input, a candidate on its standard
-- output.
-- @module perigee.agent

local core = require "perigee.core"
local files = require "perigee.files"
local protocol = require "perigee.serve.protocol"
local shell = require "perigee.shell"

local agent = {}

local REPLY_MOST = 4 << 20 -- bytes
local TOKENS_MOST = 1 << 53 -- what doubles count
local LANGUAGES = { cuda = "cuda", cu = "cuda", cpp = "cuda", ["c++"] = "cuda", c = "cuda",
  rust = "rust", rs = "rust", python = "triton", py = "triton", triton = "triton", ptx = "ptx" }

-- The longest fenced block of a text, and the word behind its fence.
local function fenced(text)
  local found, word
  for tag, block in text:gmatch "```([%w+]*)[^\n]*\n(.-)\n?```" do
    if not found or #block > #found then found, word = block, tag end
  end
  return found, word
end

--- What an agent wrote as a candidate.
-- @tparam string text JSON {source or files, language, tokens} or {stop = true}; or a text with a
--   fenced block; or a source alone
-- @treturn table|nil {source, files, language, tokens, stop}
-- @treturn string|nil why there is none
function agent.parse(text)
  if not text:find "%S" then return nil, "the agent answered nothing" end
  local value = core.json_decode(text)
  if protocol.is_object(value) then
    local tokens = type(value.tokens) == "number" and math.tointeger(value.tokens) or nil
    if value.tokens ~= nil and not (tokens and tokens >= 0 and tokens <= TOKENS_MOST) then
      return nil, "the agent's tokens are no number of tokens: an integer, at least 0"
    end
    if value.stop == true then return { stop = true, tokens = tokens } end
    if type(value.source) == "string" or protocol.is_object(value.files) then
      return { source = value.source, files = value.files, knobs = value.knobs,
        language = value.language, tokens = tokens }
    end
    return nil, "the agent's JSON has no source and no files"
  end
  local block, word = fenced(text)
  return { source = block or text, language = block and LANGUAGES[word:lower()] or nil }
end

--- Ask once. The command is the user's own and runs in a shell.
-- @tparam string command
-- @tparam table request
-- @tparam number seconds that it may take
-- @tparam string folder for what is handed over
-- @treturn table|nil what `parse` returns
-- @treturn string|nil why there is no answer
function agent.ask(command, request, seconds, folder)
  local input, output = files.join(folder, "request.json"), files.join(folder, "reply")
  local made, e = core.write_file(input, core.json_encode(request))
  if not made then return nil, e.message end
  local _, kind, code = os.execute(("timeout -k 2 %.1f sh -c %s <%s >%s"):format(seconds,
    shell.quoted(command), shell.quoted(input), shell.quoted(output)))
  if kind == "exit" and (code == 124 or code == 137) then
    return nil, ("the agent gave no answer within %.0f s"):format(seconds)
  end
  if kind ~= "exit" or code ~= 0 then
    return nil, ("the agent ended with %s %s"):format(kind == "exit" and "status" or kind, code)
  end
  local text, problem = core.read_file(output, REPLY_MOST)
  if not text then return nil, problem.message end
  return agent.parse(text)
end

return agent
