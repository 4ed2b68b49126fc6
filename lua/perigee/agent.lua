--- An agent as a command: a request as JSON on its standard input, a candidate on its standard
-- output.
-- @module perigee.agent

local core = require "perigee.core"
local peer = require "perigee.serve.peer"
local protocol = require "perigee.serve.protocol"

local agent = {}

local REPLY_MOST = 4 << 20 -- bytes
local TOKENS_MOST = 1 << 53 -- what doubles count
local GRACE_S = 30 -- for whoever looks after the agent, beyond what the agent may take
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
  local value, problem = core.json_decode(text)
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
  if text:find '^%s*{%s*"' then
    return nil, "the agent's answer begins like JSON and cannot be read as such: "
      .. tostring(problem)
  end
  local block, word = fenced(text)
  return { source = block or text, language = block and LANGUAGES[word:lower()] or nil }
end

-- ---- the process that looks after a command ----

--- `perigee --agent`: does what one line asks for, core.attend's table, and answers with one.
function agent.main()
  local asker <close> = peer.new(core.standard_channel())
  local line = asker:line()
  if not line then return 0 end
  local text, ended, code = core.attend(core.json_decode(line))
  asker:send(text and { text = text, ended = ended, code = code } or { failure = ended.message })
  while asker.waiting > 0 and asker:flush() do core.poll({ asker.channel }, { "w" }, -1) end
  return 0
end

local WHY = {
  signal = function(code) return ("the agent was ended by signal %d"):format(code) end,
  time = function(_, how) return ("the agent gave no answer within %.0f s"):format(how.seconds) end,
  output = function()
    return ("the agent's answer has more than %d MiB"):format(REPLY_MOST >> 20)
  end,
  memory = function(_, how)
    return ("the agent held more than %.2g GiB of memory"):format(how.memory / 2 ^ 30)
  end,
  status = function(code) return code ~= 0 and ("the agent ended with status %d"):format(code) end,
}

--- Ask once. The command is the user's own and runs in a shell, in a session of its own; whatever
-- it has started ends with it.
-- @tparam string command
-- @tparam table request
-- @tparam table how {seconds = that it may take, memory = bytes it may hold, folder = for its
--   temporary files, writes = paths that it may change, too, kept = paths below those that it may
--   not, hidden = paths that it may not even read, server = arguments of the `perigee` that
--   answers who connects to the socket `door`}
-- @treturn table|nil what `parse` returns
-- @treturn string|nil why there is no answer
-- @raise "environment" when this machine could not ask
function agent.ask(command, request, how)
  local keeper <close> = peer.new(core.start "--agent")
  local writes = table.move(how.writes or {}, 1, #(how.writes or {}), 2, { how.folder })
  keeper:send { command = command, input = core.json_encode(request), seconds = how.seconds,
    output_most = REPLY_MOST, memory_most = how.memory, folder = how.folder, writes = writes,
    kept = how.kept, hidden = how.hidden, door = how.door, server = how.server }
  local line = keeper:line(how.seconds + GRACE_S)
  local said = line and core.json_decode(line)
  if not said or said.failure then
    core.error("environment", said and said.failure or "the agent's process was lost",
      "is this machine short of memory or processes?")
  end
  local why = WHY[said.ended](said.code, how)
  if why then return nil, why end
  return agent.parse(said.text)
end

return agent
