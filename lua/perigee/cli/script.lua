--- `perigee FILE.lua [args]`: runs a script with the library on its path.
-- @module perigee.cli.script

local core = require "perigee.core"
local files = require "perigee.files"

local script = {}

-- "path:12: text" -> the place and the text.
local function syntax_error(path, message)
  local line, text = message:match("^.-:(%d+): ([^\n]*)")
  core.error("syntax", text or message, "Lua could not read this script",
    path .. (line and ":" .. line or ""))
end

local CALLS_MOST = 10

-- The calls that led to an error, without perigee's own below the script and without C's; nil when
-- there is only the place of the error itself.
local function calls(where)
  local lines = {}
  for line in debug.traceback("", 3):gmatch("\n\t([^\n]+)") do
    if line:find("perigee/cli/script.lua", 1, true) then break end
    local place = line:match("^(.-:%d+): in ")
    if place and not (#lines == 0 and place == where) then lines[#lines + 1] = "from " .. line end
  end
  if #lines > CALLS_MOST then
    lines = table.move(lines, 1, CALLS_MOST, 1, { [CALLS_MOST + 1] = "..." })
  end
  return #lines > 0 and table.concat(lines, "\n  ") or nil
end

-- Whatever a script raises as an error table, or as something that says itself.
local function described(e)
  if type(e) == "table" then
    if e.code or (getmetatable(e) or {}).__tostring then return e end
    return { code = "invalid", message = "the script raised a table without code and message",
      hint = calls() }
  end
  local where, text = tostring(e):match("^([^\n]-:%d+): (.*)")
  return { code = "invalid", message = text or tostring(e), where = where, hint = calls(where) }
end

-- What a script returns as an exit status: an integer is one, false is a failure.
local function status_of(value)
  if value == false then return 1 end
  local status = math.type(value) == "integer" and value or 0
  return (status < 0 or status > 255) and 255 or status
end

--- Run args[1] with the rest as its arguments; `arg` is set as the stock interpreter does.
-- @treturn integer the script's own status when it returns an integer, 1 for false, else 0
-- @raise what the script raises, as an error table
function script.main(args)
  local path = files.find(args[1], { "." })
  local chunk, message = loadfile(path)
  if not chunk then syntax_error(path, message) end
  local rest = table.move(args, 2, #args, 1, {})
  arg = table.move(rest, 1, #rest, 1, { [0] = path, [-1] = "perigee" }) -- luacheck: ignore 111 121
  local ok, result = xpcall(chunk, described, table.unpack(rest))
  if ok then return status_of(result) end
  -- Where memory ran out, no handler is called.
  if type(result) == "string" then core.error("out_of_memory", result, nil, path) end
  error(result, 0)
end

return script
