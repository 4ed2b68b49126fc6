--- Parameters of a task: declared with a default, a range and smaller values for checks and the
-- simulator; resolved to plain values for one evaluation.
-- @module perigee.params

local core = require "perigee.core"
local suggest = require "perigee.suggest"

local params = {}

local FIELDS = {
  default = true, check = true, sim = true, type = true, min = true, max = true, choices = true,
  doc = true,
}
local TYPES = { integer = true, number = true, string = true, boolean = true }

local function type_of(value)
  local kind = math.type(value)
  if kind == "integer" then return "integer" end
  if kind == "float" then return "number" end
  return type(value)
end

--- Names of a task's parameters, sorted.
function params.names(declared)
  local names = {}
  for name in pairs(declared) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function range_text(decl)
  if decl.choices then
    local shown = {}
    for i, choice in ipairs(decl.choices) do shown[i] = tostring(choice) end
    return "one of: " .. table.concat(shown, ", ")
  end
  if decl.min and decl.max then return ("%s to %s"):format(decl.min, decl.max) end
  if decl.min then return ("at least %s"):format(decl.min) end
  if decl.max then return ("at most %s"):format(decl.max) end
  return "any " .. decl.type
end
params.range_text = range_text

local function in_range(decl, value)
  if decl.choices then
    for _, choice in ipairs(decl.choices) do
      if choice == value then return true end
    end
    return false
  end
  if type(value) ~= "number" then return true end
  return not (value ~= value or (decl.min and value < decl.min) or (decl.max and value > decl.max))
end

-- A value given as text on the command line, or as a Lua value, in the declared type; nil when it
-- is none.
local function convert(kind, value)
  if kind == "string" then return type(value) == "string" and value or nil end
  if kind == "boolean" then
    if value == "true" or value == true then return true end
    if value == "false" or value == false then return false end
    return nil
  end
  local number = tonumber(value)
  if not number then return nil end
  if kind == "integer" then return math.tointeger(number) end
  return number + 0.0
end

local function take(name, decl, value, where)
  local converted = convert(decl.type, value)
  if converted == nil then
    core.error("invalid", ("parameter %s: expected %s, got '%s'"):format(name, decl.type,
      tostring(value)),
      ("%s%s: %s"):format(name, decl.doc and (" (%s)"):format(decl.doc) or "", range_text(decl)),
      where)
  end
  if not in_range(decl, converted) then
    core.error("range", ("parameter %s = %s is out of range"):format(name, tostring(value)),
      "expected " .. range_text(decl), where)
  end
  return converted
end

-- Every value of a declaration must fit it, so that a mistake shows when the task is loaded.
local function check_values(name, decl, where)
  for _, field in ipairs { "default", "check", "sim" } do
    local value = decl[field]
    if type(value) == "table" then
      if field == "default" or #value == 0 then
        core.error("invalid", ("parameter %s: %s must be a value%s"):format(name, field,
          field == "default" and "" or " or a list with at least one"), nil, where)
      end
      for i, item in ipairs(value) do value[i] = take(name, decl, item, where) end
    elseif value ~= nil then
      decl[field] = take(name, decl, value, where)
    end
  end
end

--- Check and complete the `params` table of a task.
-- A plain value is short for {default = value}. Fields: default, check (a value or a list), sim,
-- type ("integer", "number", "string", "boolean"; from the default when left out), min, max,
-- choices, doc.
-- @treturn table name -> declaration
function params.declare(declared, where)
  local result = {}
  for name, given in pairs(declared or {}) do
    if type(name) ~= "string" then
      core.error("invalid", ("params: expected names, got a %s"):format(type(name)),
        "write params = { n = { default = 1024 } }", where)
    end
    local decl = {}
    if type(given) ~= "table" then given = { default = given } end
    for field, value in pairs(given) do
      if not FIELDS[field] then
        core.error("invalid", ("parameter %s: unknown field '%s'"):format(name, tostring(field)),
          suggest.hint(tostring(field), params.names(FIELDS), "fields"), where)
      end
      decl[field] = value
    end
    if decl.default == nil then
      core.error("invalid", ("parameter %s has no default"):format(name), nil, where)
    end
    decl.type = decl.type or type_of(decl.default)
    if not TYPES[decl.type] then
      core.error("invalid", ("parameter %s: unknown type '%s'"):format(name, tostring(decl.type)),
        "types: integer, number, string, boolean", where)
    end
    for _, field in ipairs { "min", "max" } do
      if decl[field] ~= nil and type(decl[field]) ~= "number" then
        core.error("invalid", ("parameter %s: %s must be a number, got a %s"):format(name, field,
          type(decl[field])), nil, where)
      end
    end
    check_values(name, decl, where)
    result[name] = decl
  end
  return result
end

--- Parse one `name=value` of --set.
-- @treturn string,string
function params.parse_set(text)
  local name, value = text:match("^([%w_%.%-]+)=(.*)$")
  if not name then
    core.error("invalid", ("--set %s: expected name=value"):format(text),
      "for example: --set n=4096")
  end
  return name, value
end

--- How many check cases a task has: the longest of its parameters' `check` lists.
function params.check_count(declared)
  local count = 1
  for _, decl in pairs(declared) do
    if type(decl.check) == "table" then count = math.max(count, #decl.check) end
  end
  return count
end

local function first_of(value)
  if type(value) == "table" then return value[1] end
  return value
end

-- The value for a purpose: "default" (GPU), "sim", or "check" with the index of the case.
local function pick(decl, purpose, index)
  if purpose == "check" then
    local check = decl.check
    if type(check) == "table" then return check[math.min(index, #check)] end
    if check ~= nil then return check end
    if decl.sim ~= nil then return first_of(decl.sim) end
    return decl.default
  end
  if purpose == "sim" then
    if decl.sim ~= nil then return first_of(decl.sim) end
    if decl.check ~= nil then
      local check = decl.check
      return type(check) == "table" and check[#check] or check
    end
  end
  return decl.default
end

local function overlay(values, declared, changes, where)
  for name, value in pairs(changes or {}) do
    local decl = declared[name]
    if not decl then
      core.error("not_found", ("unknown parameter '%s'"):format(name),
        suggest.hint(name, params.names(declared), "parameters"), where)
    end
    values[name] = take(name, decl, value, where)
  end
end

--- Plain values for one evaluation.
-- @tparam table declared what params.declare returned
-- @tparam table how {purpose = "default"|"sim"|"check", index = case of "check", cell = cell or
--   nil, set = {name = value or text}, where = for errors}
-- @treturn table name -> value
function params.resolve(declared, how)
  local values = {}
  for name, decl in pairs(declared) do values[name] = pick(decl, how.purpose, how.index or 1) end
  if how.cell then
    overlay(values, declared, how.cell.set, how.where)
    if how.purpose ~= "default" then overlay(values, declared, how.cell.sim, how.where) end
  end
  overlay(values, declared, how.set, how.where)
  return values
end

--- The values in words: "n = 4096, a = 2.5", in the order of names.
function params.text(values, names)
  local parts = {}
  for _, name in ipairs(names or params.names(values)) do
    parts[#parts + 1] = ("%s = %s"):format(name, tostring(values[name]))
  end
  return table.concat(parts, ", ")
end

local BRIEF = 4

--- The values in words, short: all of a few; of many only those that are not the default.
-- @tparam table values
-- @tparam table declared what params.declare returned
function params.brief(values, declared)
  local names = params.names(declared)
  if #names <= BRIEF then return params.text(values, names) end
  local changed = {}
  for _, name in ipairs(names) do
    if values[name] ~= declared[name].default then changed[#changed + 1] = name end
  end
  if #changed == 0 then return "every parameter at its default" end
  return params.text(values, changed) .. ", the others at their defaults"
end

return params
