--- Error tables {code, message, hint, where}: catching them, raising them again, saying them.
-- Codes are those of host/error.h ("invalid", "range", "not_found", ...).
-- @module perigee.errors

local core = require "perigee.core"

local errors = {}

-- The place and the text of a raised string. Where a module is missing, Lua lists every path it
-- tried: that is cut.
local function said(e)
  local message = tostring(e):gsub("(module '[^\n]-' not found):.*$", "%1")
  local where, text = message:match("^([^\n]-:%d+): (.*)")
  return where, text or message
end

--- Call f(...) and turn whatever it raises into an error table.
-- A raised string (a defect in a script, a Lua syntax error) gets the code `code`.
-- @treturn boolean,any true and the first result, or false and the error table
function errors.catch(code, f, ...)
  local function handler(e)
    if type(e) == "table" and type(e.code) == "string" then return e end
    if type(e) == "table" and not (getmetatable(e) or {}).__tostring then
      local message = type(e.message) == "string" and e.message
      return { code = code, message = message or "raised a table without code and message",
        trace = debug.traceback("", 2) }
    end
    if e == nil then return { code = code, message = "raised nil", trace = "" } end
    local where, text = said(e)
    return { code = code, message = text, where = where, trace = debug.traceback("", 2) }
  end
  local function checked(ok, value, ...)
    if ok or type(value) == "table" then return ok, value, ... end
    local memory = tostring(value):find("memory", 1, true)
    return false, { code = memory and "out_of_memory" or code, message = tostring(value) }
  end
  return checked(xpcall(f, handler, ...))
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
