--- Commands of the shell: words that stay one, and what a command prints.
-- @module perigee.shell

local shell = {}

--- A text as one word of a command.
function shell.quoted(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

--- Run a command.
-- @tparam string command
-- @treturn string what it prints, both streams
-- @treturn boolean whether it ended well
function shell.output(command)
  local pipe = io.popen(command .. " 2>&1", "r")
  local text = pipe:read "a"
  return text, pipe:close() == true
end

return shell
