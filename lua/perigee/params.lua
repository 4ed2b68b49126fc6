--- Parameters of a task: declared with a default, a range and smaller values for checks and the
-- simulator; resolved to plain values for one evaluation.
-- @module perigee.params

local core = require "perigee.core"
local suggest = require "perigee.suggest"
local sweep = require "perigee.sweep"

local params = {}

local FIELDS = {
  default = "any", check = "any", sim = "any", type = "string", min = "number string",
  max = "number string", choices = "table", variant = "boolean", only = "table", doc = "string",
}
local TYPES = { "integer", "number", "string", "boolean" }

local function fail(where, hint, text, ...)
  core.error("invalid", text:format(...), hint, where)
end

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

-- A limit as people write it: 2^30 rather than 1073741824.
local function limit_text(limit)
  local whole = math.tointeger(limit)
  if not whole then return math.type(limit) == "float" and ("%.9g"):format(limit) or limit end
  if whole < 4096 or whole & (whole - 1) ~= 0 then return ("%d"):format(whole) end
  local power = 0
  while 1 << power < whole do power = power + 1 end
  return ("2^%d"):format(power)
end

local function choices_text(decl)
  local shown = {}
  for i, choice in ipairs(decl.choices) do shown[i] = tostring(choice) end
  return table.concat(shown, ", ")
end

local function range_text(decl)
  if decl.choices then return "one of: " .. choices_text(decl) end
  local min, max = decl.min and limit_text(decl.min), decl.max and limit_text(decl.max)
  if min and max then return ("%s to %s"):format(min, max) end
  if min then return "at least " .. min end
  if max then return "at most " .. max end
  return "any " .. decl.type
end
params.range_text = range_text

local function is_choice(decl, value)
  for _, choice in ipairs(decl.choices) do
    if choice == value then return true end
  end
  return false
end

-- Limits that are expressions are looked at when all values are known: see check_limits.
local function in_range(decl, value)
  if decl.choices then return is_choice(decl, value) end
  if type(value) ~= "number" then return true end
  local low, high = tonumber(decl.min), tonumber(decl.max)
  return not (value ~= value or (low and value < low) or (high and value > high))
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
  local number = type(value) == "string" and sweep.number(value) or tonumber(value)
  if not number then return nil end
  if kind == "integer" then return math.tointeger(number) end
  return number + 0.0
end

local function out_of_range(name, decl, value, where)
  local near = decl.choices and suggest.nearest(tostring(value), params.texts(decl.choices))
  core.error("range", ("parameter %s = %s is out of range"):format(name, tostring(value)),
    near and ("did you mean '%s'? %s"):format(near, range_text(decl))
      or "expected " .. range_text(decl), where)
end

local function take(name, decl, value, where)
  local converted = convert(decl.type, value)
  if converted == nil then
    core.error("invalid", ("parameter %s: expected %s, got '%s'"):format(name, decl.type,
      tostring(value)),
      ("%s%s: %s"):format(name, decl.doc and (" (%s)"):format(decl.doc) or "", range_text(decl)),
      where)
  end
  if not in_range(decl, converted) then out_of_range(name, decl, value, where) end
  return converted
end

--- Values as a list of texts.
function params.texts(values)
  local texts = {}
  for i, value in ipairs(values) do texts[i] = tostring(value) end
  return texts
end

-- ---- declarations ----

-- Every value of a declaration must fit it, so that a mistake shows when the task is loaded.
local function check_values(name, decl, where)
  for _, field in ipairs { "default", "check", "sim" } do
    local value = decl[field]
    if type(value) == "table" then
      if field ~= "check" or #value == 0 then
        fail(where, nil, "parameter %s: %s must be a value%s", name, field,
          field == "check" and " or a list with at least one" or "")
      end
      decl[field] = {}
      for i, item in ipairs(value) do decl[field][i] = take(name, decl, item, where) end
    elseif value ~= nil then
      decl[field] = take(name, decl, value, where)
    end
  end
end

local function check_fields(name, given, where)
  for field, value in pairs(given) do
    local allowed = FIELDS[field]
    if not allowed then
      fail(where, suggest.hint(tostring(field), params.names(FIELDS), "fields"),
        "parameter %s: unknown field '%s'", name, tostring(field))
    end
    if allowed ~= "any" and not allowed:find(type(value), 1, true) then
      fail(where, nil, "parameter %s: %s: expected a %s, got a %s", name, field,
        (allowed:gsub(" ", " or ")), type(value))
    end
  end
end

local function check_choices(name, decl, where)
  if decl.variant and not decl.choices then
    fail(where, 'write choices = { "f32", "f16" }', "parameter %s: a variant needs choices", name)
  end
  if decl.variant and (decl.check ~= nil or decl.sim ~= nil) then
    fail(where, "each of its choices is a contract of its own, judged for itself",
      "parameter %s: a variant has no check or sim values", name)
  end
  if not decl.choices then return end
  if #decl.choices == 0 then fail(where, nil, "parameter %s: choices is empty", name) end
  for _, choice in ipairs(decl.choices) do
    if convert(decl.type, choice) == nil then
      fail(where, nil, "parameter %s: choice '%s' is no %s", name, tostring(choice), decl.type)
    end
  end
end

local function declare_one(name, given, where)
  if type(name) ~= "string" or not name:match("^[%a_][%w_]*$") then
    fail(where, "write params = { n = { default = 1024 } }", "params: '%s' is no name",
      tostring(name))
  end
  if type(given) ~= "table" then given = { default = given } end
  check_fields(name, given, where)
  local decl = {}
  for field, value in pairs(given) do decl[field] = value end
  if decl.default == nil then fail(where, nil, "parameter %s has no default", name) end
  decl.type = decl.type or type_of(decl.default)
  if not suggest.has(TYPES, decl.type) then
    fail(where, "types: integer, number, string, boolean", "parameter %s: unknown type '%s'", name,
      decl.type)
  end
  check_choices(name, decl, where)
  check_values(name, decl, where)
  return decl
end

--- Check an `only`: it names parameters and values that these can have.
-- @tparam string what whose it is, for errors
-- @tparam table|nil only {other = value or list of values}
-- @tparam table declared what params.declare returned
function params.check_only(what, only, declared, where)
  for other, wanted in pairs(only or {}) do
    local target = declared[other]
    if not target then
      fail(where, suggest.hint(tostring(other), params.names(declared), "parameters"),
        "%s: only: unknown parameter '%s'", what, tostring(other))
    end
    local list = type(wanted) == "table" and wanted or { wanted }
    for _, value in ipairs(list) do take(other, target, value, where) end
  end
end

--- Check and complete the `params` table of a task.
-- A plain value is short for {default = value}. Fields: default, check (a value or a list), sim,
-- type ("integer", "number", "string", "boolean"; from the default when left out), min and max (a
-- number, or an expression over other parameters), choices, variant (each choice is a contract of
-- its own), only ({other = value or list}: it has no effect otherwise), doc.
-- @treturn table name -> declaration
-- @raise "invalid" or "range", with the parameter
function params.declare(declared, where)
  local result = {}
  for name, given in pairs(declared or {}) do result[name] = declare_one(name, given, where) end
  for name, decl in pairs(result) do
    params.check_only("parameter " .. name, decl.only, result, where)
  end
  return result
end

-- ---- values ----

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

local function known(declared, name, where)
  return declared[name] or core.error("not_found", ("unknown parameter '%s'"):format(name),
    suggest.hint(name, params.names(declared), "parameters"), where)
end

--- The values that were given for a parameter: one, a list, or text as of --set (perigee.sweep). A
-- text parameter without choices takes the text as it is.
-- @treturn table list of at least one, each in the declared type and range
function params.values(declared, name, given, where)
  local decl = known(declared, name, where)
  local free = decl.type == "string" and not decl.choices
  local list = given
  if type(given) == "string" and not free then
    list = sweep.list(given, ("parameter %s"):format(name), where)
  elseif type(given) ~= "table" then
    list = { given }
  end
  if #list == 0 then fail(where, nil, "parameter %s: an empty list of values", name) end
  local values, seen = {}, {}
  for i, value in ipairs(list) do
    values[i] = take(name, decl, value, where)
    if seen[values[i]] then
      fail(where, nil, "parameter %s: the value %s is given twice", name, tostring(value))
    end
    seen[values[i]] = true
  end
  return values
end

--- How many cases `perigee check` has: the longest of the parameters' `check` lists, or of the
-- lists that were given in their place.
-- @tparam table declared
-- @tparam[opt] table set name -> value, list or text
function params.check_count(declared, set)
  local count = 1
  for name, decl in pairs(declared) do
    local list = decl.check
    if set and set[name] ~= nil then list = params.values(declared, name, set[name]) end
    if type(list) == "table" then count = math.max(count, #list) end
  end
  return count
end

-- The value for a purpose: "default" (GPU), "sim", or "check" with the index of the case.
local function pick(decl, purpose, index)
  local check = decl.check
  if purpose == "check" then
    if type(check) == "table" then return check[math.min(index, #check)] end
    if check ~= nil then return check end
    if decl.sim ~= nil then return decl.sim end
    return decl.default
  end
  if purpose == "sim" then
    if decl.sim ~= nil then return decl.sim end
    if type(check) == "table" then return check[#check] end
    if check ~= nil then return check end
  end
  return decl.default
end

local function overlay(values, declared, changes, where)
  for name, value in pairs(changes or {}) do
    values[name] = take(name, known(declared, name, where), value, where)
  end
end

-- Of several values a check takes one for each case, anything else the last.
local function overlay_set(values, declared, how)
  for name, given in pairs(how.set or {}) do
    local list = params.values(declared, name, given, how.where)
    values[name] = list[how.purpose == "check" and math.min(how.index or 1, #list) or #list]
  end
end

-- Limits that depend on other parameters.
local function check_limits(values, declared, where)
  for name, decl in pairs(declared) do
    for _, field in ipairs { "min", "max" } do
      local limit = decl[field]
      if type(limit) == "string" and type(values[name]) == "number" then
        local what = ("parameter %s, %s"):format(name, field)
        local bound = require("perigee.expression").eval(limit, values, what, where)
        local fits = values[name] >= bound
        if field == "max" then fits = values[name] <= bound end
        if not fits then
          core.error("range", ("parameter %s = %s is out of range"):format(name, values[name]),
            ("expected at %s %s = %s"):format(field == "max" and "most" or "least", limit, bound),
            where)
        end
      end
    end
  end
end

--- Plain values for one evaluation.
-- @tparam table declared what params.declare returned
-- @tparam table how {purpose = "default"|"sim"|"check", index = case of "check", cell = cell or
--   nil, set = {name = value, list or text}, where = for errors}
-- @treturn table name -> value
-- @raise "not_found", "invalid" or "range"
function params.resolve(declared, how)
  local values = {}
  for name, decl in pairs(declared) do values[name] = pick(decl, how.purpose, how.index or 1) end
  if how.cell then
    overlay(values, declared, how.cell.set, how.where)
    if how.purpose ~= "default" then overlay(values, declared, how.cell.sim, how.where) end
  end
  overlay_set(values, declared, how)
  check_limits(values, declared, how.where)
  return values
end

--- Whether values fit what `only` asks for: {other = value or list of values}.
function params.fits(only, values)
  for name, wanted in pairs(only or {}) do
    if not suggest.has(type(wanted) == "table" and wanted or { wanted }, values[name]) then
      return false
    end
  end
  return true
end

--- What `only` asks for, in words: "scene = sphere or plane".
function params.only_text(only)
  local parts = {}
  for _, name in ipairs(params.names(only)) do
    local wanted = only[name]
    parts[#parts + 1] = ("%s = %s"):format(name,
      table.concat(params.texts(type(wanted) == "table" and wanted or { wanted }), " or "))
  end
  return table.concat(parts, ", ")
end

--- Refuse parameters that were set and have no effect for any of the evaluations.
-- @tparam table declared
-- @tparam table set name -> anything
-- @tparam table evaluations list of resolved values
-- @raise "invalid", saying when the parameter counts
function params.check_effect(declared, set, evaluations, where)
  for _, name in ipairs(params.names(set or {})) do
    local only, counts = declared[name] and declared[name].only, false
    for _, values in ipairs(evaluations) do counts = counts or params.fits(only, values) end
    if not counts and #evaluations > 0 then
      local now = {}
      for other in pairs(only) do now[other] = evaluations[1][other] end
      fail(where, ("it counts where %s"):format(params.only_text(only)),
        "parameter %s has no effect: %s", name, params.only_text(now))
    end
  end
end

--- The values in words: "n = 4096, a = 2.5", in the order of names.
function params.text(values, names)
  local parts = {}
  for _, name in ipairs(names or params.names(values)) do
    parts[#parts + 1] = ("%s = %s"):format(name, tostring(values[name]))
  end
  return table.concat(parts, ", ")
end

local BRIEF = 4 -- parameters that are all named
local MOST = 6 -- that differ and are named

--- The values in words, short: all of a few; of many only those that differ from the usual.
-- @tparam table values
-- @tparam table declared what params.declare returned
-- @tparam[opt] string purpose whose values are the usual ones: "default" or "sim"
-- @tparam[opt] table derived the usual values where a task's derive changes them
function params.brief(values, declared, purpose, derived)
  local names = params.names(declared)
  if #names <= BRIEF then return params.text(values, names) end
  local changed = {}
  for _, name in ipairs(names) do
    local usual = pick(declared[name], purpose or "default", 1)
    if values[name] ~= usual and not (derived and values[name] == derived[name]) then
      changed[#changed + 1] = name
    end
  end
  local usual = purpose == "sim" and "simulator's" or "default"
  if #changed == 0 then return ("every parameter at its %s value"):format(usual) end
  if #changed <= MOST then
    return ("%s, the others at their %s values"):format(params.text(values, changed), usual)
  end
  local first = table.move(changed, 1, MOST, 1, {})
  return ("%s, and %d more (see --json)"):format(params.text(values, first), #changed - MOST)
end

return params
