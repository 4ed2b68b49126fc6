--- Knobs: the choices that a kernel leaves open, each a macro with a list of values. A space of
-- knobs is numbered by mixed radix, so that a configuration is an integer from 0 to total - 1 and
-- number 0 has every knob at its default.
-- @module perigee.knobs

local core = require "perigee.core"
local suggest = require "perigee.suggest"

local knobs = {}

local TOTAL_MOST = 1 << 48 -- configurations; a larger space is a mistake
local LIST_MOST = 1 << 20 -- of which `list` may try every one

local function fail(where, hint, text, ...)
  core.error("invalid", text:format(...), hint, where)
end

local function is_value(value)
  if type(value) == "number" then return value - value == 0 end
  return type(value) == "boolean" or (type(value) == "string" and value:match("^[%w_%.]+$") ~= nil)
end

-- Positions of the values in order of size; nil for a knob that has no such order.
local function ladder_of(values)
  local order = {}
  for i, value in ipairs(values) do
    if type(value) ~= "number" then return nil end
    order[i] = i
  end
  table.sort(order, function(a, b) return values[a] < values[b] end)
  local rank = {}
  for place, i in ipairs(order) do rank[i] = place end
  return { order = order, rank = rank }
end

local function declare_one(name, values, where)
  if type(name) ~= "string" or not name:match("^[%a_][%w_]*$") then
    fail(where, "write knobs = { BLOCK = { 256, 128, 512 } }", "knobs: '%s' is no macro name",
      tostring(name))
  end
  if type(values) ~= "table" or #values == 0 then
    fail(where, ("write %s = { 256, 128, 512 }: the first is the default"):format(name),
      "knob %s: expected a list of values, got %s", name,
      type(values) == "table" and "an empty table" or type(values))
  end
  local seen = {}
  for i, value in ipairs(values) do
    if not is_value(value) then
      fail(where, "values are numbers, booleans or words of letters, digits, _ and .",
        "knob %s: value #%d is no value of a macro: %s", name, i, tostring(value))
    end
    if seen[value] then
      fail(where, nil, "knob %s has the value %s twice", name, tostring(value))
    end
    seen[value] = true
  end
  for key in pairs(values) do
    if math.type(key) ~= "integer" or key < 1 or key > #values then
      fail(where, nil, "knob %s: expected a plain list, got the key '%s'", name, tostring(key))
    end
  end
  return { name = name, values = table.move(values, 1, #values, 1, {}),
    ladder = ladder_of(values) }
end

local function check_constraints(constraints, where)
  if type(constraints) == "string" then constraints = { constraints } end
  if type(constraints) ~= "table" then
    fail(where, 'write where = { "BLOCK * UNROLL <= 1024" }',
      "where: expected a list of expressions, got %s", type(constraints))
  end
  for i, text in ipairs(constraints) do
    if type(text) ~= "string" then
      fail(where, nil, "where: #%d: expected an expression as text, got %s", i, type(text))
    end
  end
  return constraints
end

--- Check a declaration of knobs.
-- @tparam[opt] table declared name -> list of values, the first of which is the default
-- @tparam[opt] table constraints expressions over knobs, parameters and scalars that hold for each
--   configuration (or one as a string)
-- @tparam[opt] string where place, for errors
-- @tparam[opt] table taken names that a knob may not have (those of the task's parameters)
-- @treturn table a space {names, total, constraints}
-- @raise "invalid"
function knobs.declare(declared, constraints, where, taken)
  if declared ~= nil and type(declared) ~= "table" then
    fail(where, "write knobs = { BLOCK = { 256, 128, 512 } }", "knobs: expected a table, got %s",
      type(declared))
  end
  local space = { names = {}, by_name = {}, list = {}, total = 1, where = where,
    constraints = check_constraints(constraints or {}, where) }
  for name, values in pairs(declared or {}) do
    space.by_name[name] = declare_one(name, values, where)
    space.names[#space.names + 1] = name
    if taken and taken[name] ~= nil then
      fail(where, "give it another name", "knob %s has the name of a parameter", name)
    end
  end
  table.sort(space.names)
  for i, name in ipairs(space.names) do
    space.list[i] = space.by_name[name]
    space.total = space.total * #space.list[i].values
    if space.total > TOTAL_MOST then
      fail(where, nil, "knobs: more than 2^48 configurations")
    end
  end
  return space
end

-- ---- numbers of configurations ----

-- Positions (from 0) of the knobs' values in configuration `index`; the last name runs fastest.
local function digits_of(space, index)
  local digits = {}
  for i = #space.list, 1, -1 do
    local radix = #space.list[i].values
    digits[i] = index % radix
    index = index // radix
  end
  return digits
end

local function index_of(space, digits)
  local index = 0
  for i, knob in ipairs(space.list) do index = index * #knob.values + digits[i] end
  return index
end

--- How many configurations there are, constraints aside.
function knobs.count(space)
  return space.total
end

--- The configuration with a number.
-- @tparam table space
-- @tparam integer index 0 to count - 1
-- @treturn table name -> value
function knobs.at(space, index)
  if index < 0 or index >= space.total then
    core.error("range", ("configuration %d of %d"):format(index, space.total), nil, space.where)
  end
  local values, digits = {}, digits_of(space, index)
  for i, knob in ipairs(space.list) do values[knob.name] = knob.values[digits[i] + 1] end
  return values
end

local function position(knob, value)
  for i, one in ipairs(knob.values) do
    if one == value then return i end
  end
  return nil
end

--- The number of a configuration; nil when a value is none of its knob's.
function knobs.index(space, values)
  local digits = {}
  for i, knob in ipairs(space.list) do
    local found = position(knob, values[knob.name])
    if not found then return nil end
    digits[i] = found - 1
  end
  return index_of(space, digits)
end

-- ---- constraints ----

-- Names for expressions: `more` with the knobs over it.
local function environment(values, more)
  local env = {}
  for name, value in pairs(more or {}) do env[name] = value end
  for name, value in pairs(values) do env[name] = value end
  return env
end

local function compile(space)
  local expression = require "perigee.expression"
  local list = {}
  for i, text in ipairs(space.constraints) do
    list[i] = expression.compile(text, "where", space.where)
  end
  return list
end

--- The first constraint that a configuration breaks; nil when it keeps all.
-- @tparam table space
-- @tparam table values name -> value
-- @tparam[opt] table more further names: the task's parameters
-- @raise what perigee.expression raises
function knobs.broken(space, values, more)
  if #space.constraints == 0 then return nil end
  space.compiled = space.compiled or compile(space)
  local env = environment(values, more)
  for i, holds in ipairs(space.compiled) do
    if holds(env) == 0 then return space.constraints[i] end
  end
  return nil
end

--- Numbers of the configurations that keep the constraints, in order.
-- @raise "range" when there are too many to try
function knobs.list(space, more)
  if space.total > LIST_MOST then
    core.error("range", ("%d configurations are too many to try each"):format(space.total),
      "use a search that samples, or fewer values", space.where)
  end
  local allowed = {}
  for index = 0, space.total - 1 do
    if not knobs.broken(space, knobs.at(space, index), more) then
      allowed[#allowed + 1] = index
    end
  end
  return allowed
end

--- Numbers of the configurations that are one step of one knob away, in order of knobs. A step of
-- a number is to the next larger or smaller value, of a word or boolean to any other. Constraints
-- aside.
function knobs.neighbours(space, index)
  local digits, near = digits_of(space, index), {}
  for i, knob in ipairs(space.list) do
    local own = digits[i]
    local function add(place)
      digits[i] = place - 1
      near[#near + 1] = index_of(space, digits)
      digits[i] = own
    end
    if knob.ladder then
      local rank = knob.ladder.rank[own + 1]
      for _, next_rank in ipairs { rank - 1, rank + 1 } do
        if knob.ladder.order[next_rank] then add(knob.ladder.order[next_rank]) end
      end
    else
      for place = 1, #knob.values do
        if place ~= own + 1 then add(place) end
      end
    end
  end
  return near
end

-- ---- a choice ----

local function shown(knob)
  local texts = {}
  for i, value in ipairs(knob.values) do texts[i] = tostring(value) end
  return table.concat(texts, ", ")
end

-- The declared value that a text or value stands for.
local function pick(knob, given)
  for _, value in ipairs(knob.values) do
    if value == given or tostring(value) == given then return value end
    if type(value) == "number" and type(given) == "string" and tonumber(given) == value then
      return value
    end
  end
  return nil
end

--- Values of all knobs: the defaults with a choice over them, constraints aside.
-- @tparam table space
-- @tparam[opt] table choice name -> value, or text as of --knob
-- @treturn table name -> value
-- @raise "not_found" for an unknown knob, "range" for a value it has not
function knobs.values(space, choice)
  local values = {}
  for _, knob in ipairs(space.list) do values[knob.name] = knob.values[1] end
  for name, given in pairs(choice or {}) do
    local knob = space.by_name[name]
    if not knob then
      core.error("not_found", ("unknown knob '%s'"):format(tostring(name)),
        suggest.hint(tostring(name), space.names, "knobs"), space.where)
    end
    values[name] = pick(knob, given)
    if values[name] == nil then
      core.error("range", ("knob %s has no value %s"):format(name, tostring(given)),
        ("values: %s"):format(shown(knob)), space.where)
    end
  end
  return values
end

--- The same, and the constraints hold.
-- @tparam[opt] table more further names for the constraints: the task's parameters
-- @raise also "range" for a constraint that is broken
function knobs.resolve(space, choice, more)
  local values = knobs.values(space, choice)
  local broken = knobs.broken(space, values, more)
  if broken then
    core.error("range", ("knobs %s break the constraint %s"):format(knobs.text(values), broken),
      "choose other values", space.where)
  end
  return values
end

--- A configuration in words: "BLOCK=256 UNROLL=4", in order of names.
function knobs.text(values)
  local names, parts = {}, {}
  for name in pairs(values) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do parts[i] = ("%s=%s"):format(name, tostring(values[name])) end
  return table.concat(parts, " ")
end

--- Parse one NAME=VALUE of --knob.
-- @treturn string,string
function knobs.parse(text)
  local name, value = text:match("^([%a_][%w_]*)=(.+)$")
  if not name then
    core.error("invalid", ("--knob %s: expected NAME=VALUE"):format(text),
      "for example: --knob BLOCK=512")
  end
  return name, value
end

return knobs
