--- JSON Schema, as much of it as the tools' arguments need: type, enum, properties, required,
-- additionalProperties (false or a schema), items, minimum, maximum, minLength, maxLength,
-- maxItems, maxProperties; a pattern as x-pattern in Lua and x-form in words; x-why: what to say of
-- names that are none on purpose. Mistakes are told with the place and how to mend them.
-- @module perigee.serve.schema

local core = require "perigee.core"
local protocol = require "perigee.serve.protocol"
local suggest = require "perigee.suggest"

local schema = {}

local check

local function type_of(value)
  if value == core.null then return "null" end
  if protocol.is_list(value) then return "array" end
  if type(value) == "table" then return "object" end
  return math.type(value) == "integer" and "integer" or type(value)
end

local function fits(value, wanted)
  local got = type_of(value)
  if got == wanted then return true end
  if wanted == "integer" then return math.type(value) == "float" and value % 1 == 0 end
  return wanted == "number" and got == "integer"
end

-- A type, or a list of them.
local function check_type(value, one, path)
  local wanted = type(one.type) == "table" and one.type or { one.type }
  for _, name in ipairs(wanted) do
    if fits(value, name) then return nil end
  end
  return ("%s: expected %s, got %s"):format(path, table.concat(wanted, " or "), type_of(value)),
    one.description
end

local function check_enum(value, one, path)
  for _, choice in ipairs(one.enum) do
    if choice == value then return nil end
  end
  local near = type(value) == "string" and suggest.nearest(value, one.enum)
  return ("%s: expected one of %s"):format(path, table.concat(one.enum, ", ")),
    near and ("did you mean '%s'?"):format(near) or one.description
end

local function check_number(value, one, path)
  if one.minimum and value < one.minimum or one.maximum and value > one.maximum then
    return ("%s: %s lies outside %s .. %s"):format(path, value, one.minimum or "",
      one.maximum or ""), one.description
  end
  return nil
end

local function check_string(value, one, path)
  local length = utf8.len(value) or #value
  if length < (one.minLength or 0) then return path .. ": must not be empty", one.description end
  if one.maxLength and length > one.maxLength then
    return ("%s: %d characters, at most %d are taken"):format(path, length, one.maxLength),
      one.description
  end
  if one["x-pattern"] and not value:match(one["x-pattern"]) then
    return ("%s: '%s' is not %s"):format(path, value, one["x-form"]),
      ("for example '%s'"):format(one.examples[1])
  end
  return nil
end

local function names_of(map)
  local names = {}
  for name in pairs(map or {}) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function check_object(value, one, path)
  local properties, names = one.properties or {}, names_of(value)
  if #names > (one.maxProperties or math.maxinteger) then
    return ("%s: %d names, at most %d are taken"):format(path, #names, one.maxProperties),
      one.description
  end
  for _, name in ipairs(names) do
    local inner = properties[name] or one.additionalProperties
    if inner == false then
      return ("%s: unknown name '%s'"):format(path, name),
        (one["x-why"] or {})[name] or suggest.hint(name, names_of(properties), "names")
    end
    if type(inner) == "table" then
      local problem, hint = check(value[name], inner, ("%s.%s"):format(path, name))
      if problem then return problem, hint end
    end
  end
  for _, name in ipairs(one.required or {}) do
    if value[name] == nil then
      local example = properties[name] and (properties[name].examples or {})[1]
      return ("%s: '%s' is missing"):format(path, name),
        example ~= nil and ("for example %s"):format(core.json_encode { [name] = example }) or nil
    end
  end
  return nil
end

local function check_array(value, one, path)
  if #value > (one.maxItems or math.maxinteger) then
    return ("%s: %d items, at most %d are taken"):format(path, #value, one.maxItems),
      one.description
  end
  for i, item in ipairs(value) do
    local problem, hint = check(item, one.items or {}, ("%s[%d]"):format(path, i - 1))
    if problem then return problem, hint end
  end
  return nil
end

local CHECKS = { integer = check_number, number = check_number, string = check_string,
  object = check_object, array = check_array }

function check(value, one, path)
  if one.type then
    local problem, hint = check_type(value, one, path)
    if problem then return problem, hint end
  end
  if one.enum then return check_enum(value, one, path) end
  local of_type = CHECKS[type_of(value)]
  if of_type then return of_type(value, one, path) end
  return nil
end

--- A decoded value in which integers of this schema are integers: JSON has one kind of number, and
-- 3.0 is 3. It is changed in place.
-- @param value one that the schema fits
function schema.settle(value, one)
  if one.type == "integer" then return math.tointeger(value) or value end
  if type_of(value) == "object" then
    for name, inner in pairs(one.properties or {}) do
      if value[name] ~= nil then value[name] = schema.settle(value[name], inner) end
    end
  end
  return value
end

--- Check a decoded value.
-- @param value
-- @tparam table one the schema
-- @tparam[opt] string path what the value is called in messages
-- @treturn nil|string what is wrong, or nil
-- @treturn nil|string how to mend it
function schema.check(value, one, path)
  return check(value, one, path or "arguments")
end

return schema
