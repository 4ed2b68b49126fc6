--- Error tables {code, message, hint, where}: raising them with a format, catching them, saying
-- them. Codes are those of host/error.h ("invalid", "range", "not_found", ...).
-- @module perigee.errors

local core = require "perigee.core"

local errors = {}

--- Raise an error table.
-- @tparam string code one of the codes of host/error.h
-- @tparam table about {message=, hint=, where=}; message may be {format, ...}
function errors.raise(code, about)
  local message = about.message
  if type(message) == "table" then message = string.format(table.unpack(message)) end
  core.error(code, message, about.hint, about.where)
end

--- Call f(...) and turn whatever it raises into an error table.
-- A raised string (a defect in a script, a Lua syntax error) gets the code `code`.
-- @treturn boolean,any true and the first result, or false and the error table
function errors.catch(code, f, ...)
  local function handler(e)
    if type(e) == "table" and e.code then return e end
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

--- The error in words, as the command line prints it (without the leading "perigee: ").
function errors.text(e)
  if type(e) ~= "table" then return tostring(e) end
  local text = e.message or e.code or "?"
  if e.where and e.where ~= "" then text = text .. " (" .. e.where .. ")" end
  if e.hint and e.hint ~= "" then text = text .. "\n  " .. e.hint end
  return text
end

return errors
