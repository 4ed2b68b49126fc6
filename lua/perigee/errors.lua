--- Error tables {code, message, hint, where}: catching them, raising them again, saying them.
-- Codes are those of host/error.h ("invalid", "range", "not_found", ...).
-- @module perigee.errors

local core = require "perigee.core"

local errors = {}

--- Call f(...) and turn whatever it raises into an error table.
-- A raised string (a defect in a script, a Lua syntax error) gets the code `code`.
-- @treturn boolean,any true and the first result, or false and the error table
function errors.catch(code, f, ...)
  local function handler(e)
    if type(e) == "table" and e.code then return e end
    if type(e) == "table" and not (getmetatable(e) or {}).__tostring then
      return { code = code, message = e.message or "raised a table without code and message",
        trace = debug.traceback("", 2) }
    end
    local where, text = tostring(e):match("^([^\n]-:%d+): (.*)")
    return { code = code, message = text or tostring(e), where = where,
      trace = debug.traceback("", 2) }
  end
  return xpcall(f, handler, ...)
end

--- Raise again what `errors.catch` returned, with a place added when it had none.
function errors.again(e, where)
  core.error(e.code, e.message, e.hint, e.where or where)
end

--- Call f(...), a function that a user wrote, and say whose it was when it raises something.
-- @tparam string what e.g. "task t/x, launch"
-- @tparam string where the place of an error that has none
-- @return the first result
-- @raise what f raised, as an error table
function errors.call(what, where, f, ...)
  local ok, value = errors.catch("invalid", f, ...)
  if ok then return value end
  value.message = ("%s: %s"):format(what, value.message)
  errors.again(value, where)
end

--- The error in words, as the command line prints it (without the leading "perigee: ").
function errors.text(e)
  if type(e) ~= "table" then return tostring(e) end
  local text = e.message or e.code or "?"
  if e.where and e.where ~= "" then text = text .. " (" .. e.where .. ")" end
  if e.hint and e.hint ~= "" then text = text .. "\n  " .. e.hint end
  return text
end

return errors
