--- `perigee` alone: an interactive Lua prompt with `pg` loaded. Reads standard input, so a pipe
-- works too.
-- @module perigee.cli.repl

local core = require "perigee.core"
local errors = require "perigee.errors"

local repl = {}

-- An expression prints its value; an unfinished statement asks for more.
local function read_chunk(interactive)
  local text
  while true do
    if interactive then io.write(text and ">> " or "> ") io.flush() end
    local line = io.read("L")
    if not line then return text and load(text, "=stdin") or nil end
    text = (text or "") .. line
    local chunk = load("return " .. text, "=stdin")
    if chunk then return chunk end
    local message
    chunk, message = load(text, "=stdin")
    if chunk then return chunk end
    if not message:find("<eof>", 1, true) then return nil, message end
  end
end

local function show(ok, ...)
  if not ok then
    io.write("error: ", errors.text((...)), "\n")
  elseif select("#", ...) > 0 then
    print(...)
  end
end

--- Read, evaluate, print until the input ends. @treturn integer 0
function repl.main()
  local interactive = core.isatty(0)
  _G.pg = require "perigee"
  if interactive then
    print(("perigee %s, %s; pg is the library, control-D ends"):format(core.version, _VERSION))
  end
  while true do
    local chunk, message = read_chunk(interactive)
    if chunk then
      show(xpcall(chunk, function(e) return e end))
    elseif message then
      io.write("error: ", message, "\n")
    else
      if interactive then print() end
      return 0
    end
  end
end

return repl
