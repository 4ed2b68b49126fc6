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

--- Run args[1] with the rest as its arguments; `arg` is set as the stock interpreter does.
-- @treturn integer the script's own status when it returns an integer, else 0
function script.main(args)
  local path = files.find(args[1], { "." })
  local chunk, message = loadfile(path)
  if not chunk then syntax_error(path, message) end
  local rest = table.move(args, 2, #args, 1, {})
  arg = table.move(rest, 1, #rest, 1, { [0] = path, [-1] = "perigee" }) -- luacheck: ignore 111 121
  local status = chunk(table.unpack(rest))
  return math.tointeger(status) or 0
end

return script
