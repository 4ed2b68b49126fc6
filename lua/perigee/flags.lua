--- Compiler options that a candidate may choose: what changes code, and nothing that reads or
-- writes files, or changes what a kernel is compiled for.
-- @module perigee.flags

local core = require "perigee.core"
local suggest = require "perigee.suggest"

local flags = {}

local BOOL = "^true$ ^false$"

-- Long name -> patterns of its value, "" for none.
local ALLOWED = {
  ["use_fast_math"] = "", ["extra-device-vectorization"] = "", ["generate-line-info"] = "",
  ["restrict"] = "",
  ["fmad"] = BOOL, ["ftz"] = BOOL, ["prec-div"] = BOOL, ["prec-sqrt"] = BOOL,
  ["maxrregcount"] = "^%d%d?%d?$", ["dopt"] = "^on$ ^off$",
  ["std"] = "^c%+%+11$ ^c%+%+14$ ^c%+%+17$ ^c%+%+20$",
  ["define-macro"] = "^[%a_][%w_]*$ ^[%a_][%w_]*=[^%c]*$",
}
-- Other spellings of NVRTC.
local SHORT = { ["lineinfo"] = "generate-line-info", ["D"] = "define-macro" }

--- The options in words, for messages.
flags.TEXT = "--use_fast_math, --fmad --ftz --prec-div --prec-sqrt =true|false, --maxrregcount=N, "
  .. "--std=c++17, --dopt=on|off, --extra-device-vectorization, --restrict, -lineinfo, -DNAME=VALUE"

-- "--fmad=false" -> "fmad", "false".
local function split(option)
  local macro = option:match("^%-D(.+)$")
  if macro then return "define-macro", macro end
  local name, value = option:match("^%-%-?([%a][%w_%-]*)=(.*)$")
  if not name then name = option:match("^%-%-?([%a][%w_%-]*)$") end
  return name and (SHORT[name] or name), value or ""
end

local function fits(value, patterns)
  if patterns == "" then return value == "" end
  for pattern in patterns:gmatch("%S+") do
    if value:match(pattern) then return true end
  end
  return false
end

local function nearest(name)
  local names = {}
  for known in pairs(ALLOWED) do names[#names + 1] = known end
  table.sort(names)
  local near = name and suggest.nearest(name, names)
  return near and ("did you mean --%s? "):format(near) or ""
end

--- Check a list of options.
-- @tparam table list of strings
-- @tparam string where place, for errors
-- @treturn table the list
-- @raise "invalid" with the options that are allowed
function flags.check(list, where)
  for i, option in ipairs(list) do
    if type(option) ~= "string" then
      core.error("invalid", ("options: #%d: expected a string, got a %s"):format(i, type(option)),
        nil, where)
    end
    local name, value = split(option)
    if not name or not ALLOWED[name] then
      core.error("invalid", ("options: '%s' is not allowed"):format(option),
        nearest(name) .. "allowed: " .. flags.TEXT, where)
    end
    if not fits(value, ALLOWED[name]) then
      core.error("invalid", ("options: '%s' has no such value"):format(option),
        "allowed: " .. flags.TEXT, where)
    end
  end
  return list
end

return flags
