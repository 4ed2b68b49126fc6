--- Files that a user wrote and that return something: tasks and validators. Text only; each runs
-- with globals of its own, for a bounded time, and cannot end the program.
-- @module perigee.chunk

local core = require "perigee.core"
local errors = require "perigee.errors"
local files = require "perigee.files"

local chunk = {}

local SECONDS = 2 -- of processor time: a file declares, it does not compute
local KILOBYTES = 1 << 19 -- that Lua may hold more than before
local INSTRUCTIONS = 1000 -- between two looks at these limits

-- A Lua syntax error: 'path:12: text' -> where "path:12", message "text".
local function syntax_error(shown, message)
  local line, text = message:match("^.-:(%d+): ([^\n]*)")
  core.error("syntax", text or message, "Lua could not read this file",
    shown .. (line and ":" .. line or ""))
end

local function no_exit()
  core.error("invalid", "os.exit in a task or validator would end perigee",
    "raise an error instead, or return")
end

-- What a file assigns to a global stays its own.
local function environment()
  local own = { os = setmetatable({ exit = no_exit }, { __index = os }) }
  own._G = own
  return setmetatable(own, { __index = _G })
end

local function limits()
  local start, held = os.clock(), collectgarbage "count"
  return function()
    if os.clock() - start > SECONDS then
      core.error("timeout", ("loading took more than %d s"):format(SECONDS),
        "compute in inputs, reference or a C module, not when the file is loaded")
    end
    if collectgarbage "count" - held > KILOBYTES then
      core.error("out_of_memory", ("loading took more than %d MB"):format(KILOBYTES >> 10),
        "make data in inputs, not when the file is loaded")
    end
  end
end

-- f(...) with the limits of loading.
local function bounded(f, ...)
  local hook, mask, count = debug.gethook()
  debug.sethook(limits(), "", INSTRUCTIONS)
  local ok, value = errors.catch("invalid", f, ...)
  debug.sethook(hook, mask, count)
  return ok, value
end

--- Run a file. @treturn what it returns
-- @tparam string path of a file that is there
-- @raise "syntax", "timeout", "out_of_memory", or what the file raises, with its place
function chunk.run(path)
  local shown = files.shown(path)
  local f, message = load(files.read(path), "@" .. shown, "t", environment())
  if not f then syntax_error(shown, message) end
  local ok, value = bounded(f, path)
  if not ok then errors.again(value, shown) end
  return value
end

return chunk
