--- Tasks: `pg.task{...}` checks a declaration when it is loaded, so that a mistake is reported at
-- its place and not in the middle of a run. The fields are described in tasks/README.md.
-- @module perigee.task

local core = require "perigee.core"
local errors = require "perigee.errors"
local experts = require "perigee.experts"
local knobs = require "perigee.knobs"
local params = require "perigee.params"
local signature = require "perigee.signature"
local suggest = require "perigee.suggest"
local sweep = require "perigee.sweep"

local Task = {}
Task.__index = Task

local task = {}

-- Field -> types it may have.
local FIELDS = {
  name = "string", category = "string", level = "string", doc = "string", params = "table",
  cells = "table", sweeps = "table",
  derive = "function", inputs = "function", renew = "function", state = "function",
  outputs = "function",
  kernel = "string table function", args = "function", launch = "function table",
  reference = "function",
  validate = "table function string", time = "function table", work = "function", impls = "table",
  facts = "function table", allow_empty = "boolean", varies = "boolean",
  closed = "boolean",
  families = "table", also = "table", deterministic = "boolean", own_layout = "boolean table",
  require = "table function", forbid = "table function", torch = "string",
}
local REQUIRED = { "name", "kernel", "launch", "reference" }
local LEVELS = { kernel = true, module = true, application = true, challenge = true }
local CELL_FIELDS = {
  name = "string", axis = "string", set = "table", sim = "table", doc = "string",
  needs = "function",
}
local SWEEP_FIELDS = { name = "string", set = "table", sim = "table", doc = "string" }
local IMPL_FIELDS = {
  [1] = "string", [2] = "string", name = "string", lang = "string", file = "string",
  source = "string", doc = "string", kernel = "string table", launch = "function table",
  args = "table",
  define = "table function", include = "table", options = "table", scratch = "table function",
  ptx = "string", only = "table", knobs = "table", where = "table string",
  export = "table function", on_request = "boolean", with = "table",
}

local function fail(where, hint, text, ...)
  core.error("invalid", text:format(...), hint, where)
end

local function names_of(fields)
  local names = {}
  for name in pairs(fields) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- Each field of `declared` must be one of `fields` (name -> types it may have).
local function check_types(declared, fields, what, where)
  for name, value in pairs(declared) do
    local allowed = fields[name]
    if not allowed then
      fail(where, suggest.hint(tostring(name), names_of(fields), "fields"),
        "%s: unknown field '%s'", what, tostring(name))
    end
    if not (" " .. allowed .. " "):find(" " .. type(value) .. " ", 1, true) then
      fail(where, nil, "%s: field '%s': expected %s, got %s", what, name,
        (allowed:gsub(" ", " or ")), type(value))
    end
  end
end

-- A list of texts, and nothing else.
local function check_texts(list, what, where)
  for key, text in pairs(list) do
    if math.type(key) ~= "integer" or type(text) ~= "string" then
      fail(where, nil, "%s: expected a list of texts, got a %s%s", what, type(text),
        type(key) == "string" and (" called '%s'"):format(key) or "")
    end
  end
end

local function check_fields(declared, where)
  check_types(declared, FIELDS, "task", where)
  for _, name in ipairs(REQUIRED) do
    if declared[name] == nil then
      fail(where, "see tasks/README.md", "task: field '%s' is missing", name)
    end
  end
  if not declared.outputs and not declared.state then
    fail(where, "declare outputs = function(p) ... end", "task %s has neither outputs nor state",
      declared.name)
  end
  if not declared.name:match("^[%w_%-]+[%w_%-/%.]*$") then
    fail(where, 'for example "vector/saxpy"', "task: bad name '%s'", declared.name)
  end
  if declared.families then
    check_texts(declared.families, "task: families", where)
    require("perigee.families").check(declared.families, where)
  end
  for _, name in ipairs { "own_layout", "require", "forbid" } do
    if type(declared[name]) == "table" then
      check_texts(declared[name], "task: " .. name, where)
      if name ~= "own_layout" then require("perigee.facts").check(declared[name], name, where) end
    end
  end
  if declared.level and not LEVELS[declared.level] then
    fail(where, "levels: kernel, module, application, challenge", "task: unknown level '%s'",
      declared.level)
  end
end

local function check_cells(cells, declared_params, where)
  local seen = {}
  for i, cell in ipairs(cells) do
    if type(cell) ~= "table" or type(cell.name) ~= "string" then
      fail(where, 'write { name = "base", set = { n = 1 } }', "cell #%d has no name", i)
    end
    check_types(cell, CELL_FIELDS, "cell " .. cell.name, where)
    if seen[cell.name] then fail(where, nil, "two cells are called '%s'", cell.name) end
    seen[cell.name] = true
    params.resolve(declared_params, { purpose = "sim", cell = cell, where = where })
  end
  return cells
end

-- Sweeps: ordered, each with the values of the parameters that it varies.
local function check_sweeps(sweeps, declared_params, where)
  local seen = {}
  for i, one in ipairs(sweeps) do
    if type(one) ~= "table" or type(one.name) ~= "string" or type(one.set) ~= "table" then
      fail(where, 'write { name = "size", set = { n = "2^10..2^24*4" } }',
        "sweep #%d: expected a name and the values it sets", i)
    end
    check_types(one, SWEEP_FIELDS, "sweep " .. one.name, where)
    if seen[one.name] then fail(where, nil, "two sweeps are called '%s'", one.name) end
    seen[one.name] = true
    for _, set in ipairs { one.set, one.sim or {} } do
      for name, values in pairs(set) do params.values(declared_params, name, values, where) end
    end
  end
  return sweeps
end

-- Further cases of the timed size: values of parameters.
local function check_also(also, declared_params, where)
  for i, changes in ipairs(also) do
    if type(changes) ~= "table" then
      fail(where, "write also = { { nonzeros = 1 } }", "also #%d: expected values of parameters", i)
    end
    params.resolve(declared_params, { purpose = "sim", set = changes, where = where })
  end
  return also
end

-- Names of the parameters whose choices are contracts of their own.
local function variants_of(declared)
  local names = {}
  for _, name in ipairs(params.names(declared)) do
    if declared[name].variant then names[#names + 1] = name end
  end
  return names
end

-- A task without cells has one for each of its variants, the default first.
local function variant_cells(declared, names)
  local lists, cells = {}, {}
  for _, name in ipairs(names) do
    lists[name] = { declared[name].default }
    for _, choice in ipairs(declared[name].choices) do
      if choice ~= declared[name].default then table.insert(lists[name], choice) end
    end
  end
  for i, set in ipairs(#names > 0 and sweep.product(names, lists) or {}) do
    local parts = {}
    for k, name in ipairs(names) do parts[k] = tostring(set[name]) end
    cells[i] = { name = table.concat(parts, "-"), set = set, axis = table.concat(names, ", ") }
  end
  return cells
end

-- What can be wrong with an implementation before its file is looked at.
local function check_impl(impl, declared_params, where)
  local what = "implementation " .. impl.name
  for _, field in ipairs { "include", "options" } do
    if impl[field] then check_texts(impl[field], ("%s: %s"):format(what, field), where) end
  end
  params.check_only(what, impl.only, declared_params, where)
  knobs.declare(impl.knobs, impl.where, ("%s, %s"):format(where or "?", what), declared_params)
end

local RANKS = { naive = 0, expert = 2 }

-- Implementations as a list; a map is ordered naive first, expert and PyTorch last, others by name.
local function impl_list(declared, declared_params, where)
  local list = {}
  for key, value in pairs(declared) do
    if type(value) ~= "table" then
      fail(where, 'write { "cuda", "kernels/vector/saxpy.cu" }',
        "implementation %s: expected a table", tostring(key))
    end
    check_types(value, IMPL_FIELDS, "implementation " .. tostring(value.name or key), where)
    local impl = setmetatable({}, { __index = value })
    impl.name = type(key) == "string" and key or value.name
    if type(impl.name) ~= "string" then
      fail(where, nil, "implementation #%s has no name", tostring(key))
    end
    check_impl(impl, declared_params, where)
    impl.rank = type(key) == "number" and key or RANKS[key] or experts.is_torch(impl) and 3 or 1
    list[#list + 1] = impl
  end
  table.sort(list, function(a, b)
    if a.rank ~= b.rank then return a.rank < b.rank end
    return a.name < b.name
  end)
  return list
end

-- "{dtype}" in a signature stands for the parameter's value.
local function filled(text, p, where)
  return (text:gsub("{%s*([%w_]+)%s*}", function(name)
    if p[name] == nil then
      core.error("not_found", ("task: kernel: no parameter '%s'"):format(name),
        suggest.hint(name, params.names(p), "parameters"), where)
    end
    return tostring(p[name])
  end))
end

local function signatures_of(kernel, p, where)
  local list = type(kernel) == "string" and { kernel } or kernel
  local parsed = {}
  for i, text in ipairs(list) do
    if type(text) ~= "string" then
      fail(where, nil, "task: kernel #%d: expected a signature, got a %s", i, type(text))
    end
    parsed[i] = signature.parse(filled(text, p, where), where)
    if parsed[parsed[i].name] then
      fail(where, nil, "task: two kernels are called '%s'", parsed[i].name)
    end
    parsed[parsed[i].name] = parsed[i]
  end
  if #parsed == 0 then fail(where, nil, "task: field 'kernel' names no kernel") end
  return parsed
end

local function depends_on_parameters(kernel)
  if type(kernel) == "function" then return true end
  local list = type(kernel) == "string" and { kernel } or kernel
  for _, text in ipairs(list) do
    if type(text) == "string" and text:find("{", 1, true) then return true end
  end
  return false
end

-- The place of the declaration. `return pg.task {...}` is a tail call, which leaves no trace of its
-- line: then the first function in the table tells the file and a line near by.
local function place_of(declared)
  local info = debug.getinfo(3, "Sl")
  if info and info.currentline > 0 and not info.source:find("/lua/perigee/", 1, true) then
    return ("%s:%d"):format(info.short_src, info.currentline)
  end
  local file, line
  for _, value in pairs(type(declared) == "table" and declared or {}) do
    if type(value) == "function" then
      local of = debug.getinfo(value, "S")
      if not line or of.linedefined < line then file, line = of.short_src, of.linedefined end
    end
  end
  return file and ("%s:%d"):format(file, line) or nil
end

-- Signatures that do not depend on the parameters are parsed once; the others are tried with every
-- variant, so that a mistake shows when the task is loaded.
local function check_contracts(self)
  if not depends_on_parameters(self.kernel) then
    self.signatures = signatures_of(self.kernel, {}, self.where)
    return
  end
  for _, cell in ipairs(#self.cells > 0 and self.cells or { false }) do
    self:contract(self:resolve { purpose = "sim", cell = cell or nil })
  end
end

--- Declare a task. Fields: see tasks/README.md.
-- @tparam table declared
-- @treturn table the task: the fields given, with params completed, `impls` as a list
-- @raise "invalid", "range" or "syntax" with the file and line of the call
function task.new(declared)
  local where = place_of(declared)
  if type(declared) ~= "table" then
    fail(where, nil, "pg.task: expected a table, got %s", type(declared))
  end
  check_fields(declared, where)
  local self = setmetatable({}, Task)
  for name, value in pairs(declared) do self[name] = value end
  self.where = where
  self.category = declared.category or declared.name:match("^([^/]+)/") or "other"
  self.level = declared.level or "kernel"
  self.doc = declared.doc or ""
  self.params = params.declare(declared.params, where)
  self.variants = variants_of(self.params)
  self.cells_are_variants = not declared.cells and #self.variants > 0
  self.cells = check_cells(declared.cells or variant_cells(self.params, self.variants),
    self.params, where)
  self.sweeps = check_sweeps(declared.sweeps or {}, self.params, where)
  self.also = check_also(declared.also or {}, self.params, where)
  check_contracts(self)
  self.impls = impl_list(experts.with_torch(declared), self.params, where)
  self.validate = declared.validate or "close"
  return self
end

function task.is_task(value)
  return getmetatable(value) == Task
end

--- First line of the documentation.
function Task:summary()
  return (self.doc:match("^%s*([^\n]*)") or ""):gsub("%s+$", "")
end

--- Names of the cells, in order.
function Task:cell_names()
  local names = {}
  for i, cell in ipairs(self.cells) do names[i] = cell.name end
  return names
end

--- Names of the implementations, in order.
function Task:impl_names()
  local names = {}
  for i, impl in ipairs(self.impls) do names[i] = impl.name end
  return names
end

-- Cells that this machine can run, and the others as {name, reason}: a cell's `needs` is a function
-- that returns what is missing and how to get it, or nil.
local function sort_cells(self)
  local ready, missing = {}, {}
  for _, cell in ipairs(self.cells) do
    local what = ("task %s, needs of cell %s"):format(self.name, cell.name)
    local reason = cell.needs and errors.call(what, self.where, cell.needs)
    if reason then missing[#missing + 1] = { name = cell.name, reason = reason }
    else ready[#ready + 1] = cell end
  end
  return ready, missing
end

--- Cells that are left out unless they are asked for: {name, reason} each.
function Task:missing_cells()
  local _, missing = sort_cells(self)
  return missing
end

-- Where the cells are the variants, a variant that is set leaves only its own.
local function of_variants(self, cells, set)
  if not self.cells_are_variants then return cells end
  local wanted, chosen = {}, {}
  for _, name in ipairs(self.variants) do
    if set and set[name] ~= nil then
      wanted[name] = params.values(self.params, name, set[name], self.name)
    end
  end
  for _, cell in ipairs(cells) do
    if params.fits(wanted, cell.set) then chosen[#chosen + 1] = cell end
  end
  if #chosen == 0 and #cells > 0 then
    fail(self.name, "give --cell or --set", "none of these cells has %s", params.only_text(wanted))
  end
  return chosen
end

--- The cells called `names` (nil: all that need nothing that is missing; a task without cells has
-- one nameless cell, `false`).
-- @tparam[opt] table names
-- @tparam[opt] table set values given for parameters: cells of other variants are left out
-- @raise "not_found" with the nearest name
function Task:select_cells(names, set)
  if not names then
    if #self.cells == 0 then return { false } end
    return of_variants(self, (sort_cells(self)), set)
  end
  local by_name, chosen = {}, {}
  for _, cell in ipairs(self.cells) do by_name[cell.name] = cell end
  for i, name in ipairs(names) do
    chosen[i] = by_name[name]
      or core.error("not_found", ("task %s has no cell '%s'"):format(self.name, name),
        suggest.hint(name, self:cell_names(), "cells"))
  end
  return of_variants(self, chosen, set)
end

--- The sweep of a name. @raise "not_found" with the nearest name
function Task:sweep(name)
  local names = {}
  for i, one in ipairs(self.sweeps) do
    if one.name == name then return one end
    names[i] = one.name
  end
  core.error("not_found", ("task %s has no sweep '%s'"):format(self.name, name),
    suggest.hint(name, names, "sweeps"))
end

--- What --set and --sweep ask for, as one set of plain values for each evaluation of a cell. A
-- variant is not among them where the cells are the variants: select_cells chooses these.
-- @tparam table how {set = {name = value, list or text}, order = names in the order given, sweep =
--   name of a sweep or nil, purpose = "default" or "sim"}
-- @treturn table,table list of {name = value}, and the names of what has several values
-- @raise "not_found", "invalid" or "range"
function Task:points(how)
  local given, order, varied, lists, swept = {}, {}, {}, {}, {}
  if how.sweep then
    local one = self:sweep(how.sweep)
    for name, values in pairs(one.set) do given[name] = values end
    for name, values in pairs(how.purpose == "sim" and one.sim or {}) do given[name] = values end
    order = params.names(given)
  end
  for _, name in ipairs(how.order or params.names(how.set or {})) do
    if given[name] == nil then order[#order + 1] = name end
    given[name] = how.set[name]
  end
  for _, name in ipairs(order) do
    lists[name] = params.values(self.params, name, given[name], self.name)
    local is_cell = self.cells_are_variants and self.params[name].variant
    if #lists[name] > 1 and not is_cell then swept[#swept + 1] = name end
    if not is_cell then varied[#varied + 1] = name end
  end
  return sweep.product(varied, lists, self.name), swept
end

--- The implementations called `names` (nil: all but those that run on request only).
-- @raise "not_found" with the nearest name
function Task:select_impls(names)
  if not names then
    local list = {}
    for _, impl in ipairs(self.impls) do
      if not impl.on_request then list[#list + 1] = impl end
    end
    return list
  end
  local by_name, chosen = {}, {}
  for _, impl in ipairs(self.impls) do by_name[impl.name] = impl end
  for i, name in ipairs(names) do
    chosen[i] = by_name[name]
      or core.error("not_found", ("task %s has no implementation '%s'"):format(self.name, name),
        suggest.hint(name, self:impl_names(), "implementations"))
  end
  return chosen
end

--- The signatures of the kernels for parameters `p`: a list, by name too.
-- @treturn table list of what signature.parse returns
function Task:contract(p)
  if self.signatures then return self.signatures end
  local kernel = self.kernel
  if type(kernel) == "function" then
    kernel = errors.call(("task %s, kernel"):format(self.name), self.where, kernel, p)
    if type(kernel) ~= "string" and type(kernel) ~= "table" then
      fail(self.where, nil, "task %s, kernel: expected a signature, got %s", self.name,
        type(kernel))
    end
  end
  return signatures_of(kernel, p, self.where)
end

--- The facts that a candidate's PTX must have, or must not have, for parameters `p`.
-- @tparam string field "require" or "forbid"
-- @treturn table list of texts, see facts.check
-- @raise "invalid" when it is made by a function and names no fact
function Task:facts_of(field, p)
  local list = self:call(field, p) or {}
  if type(self[field]) == "function" then
    check_texts(list, "task: " .. field, self.where)
    require("perigee.facts").check(list, field, self.where)
  end
  return list
end

--- Parameters for one evaluation, with `derive` applied. See params.resolve.
function Task:resolve(how)
  how.where = how.where or self.name
  local values = params.resolve(self.params, how)
  return self:call("derive", values) or values
end

--- Of the sizes that are checked, the one with the most work: there the reference is computed.
-- @tparam[opt] table cell whose parameters are given
-- @treturn table name -> value of the other parameters, to be set
function Task:hardest_check(cell)
  local given, best, most = cell and cell.set or {}, {}, -1
  for index = 1, params.check_count(self.params, {}) do
    local p = self:resolve { purpose = "check", index = index, set = given }
    local work = self:call("work", p, self:call("inputs", p, require("perigee.rng").new(1))) or {}
    local size = work.flops or work.bytes or 0
    if size > most then best, most = p, size end
  end
  local set = {}
  for name in pairs(self.params) do
    if given[name] == nil then set[name] = best[name] end
  end
  return set
end

--- Parameters in words, short: of many only those that differ from the usual. See params.brief.
-- @tparam table p resolved parameters
-- @tparam string purpose "default" or "sim"
function Task:brief(p, purpose)
  local ok, usual = pcall(self.resolve, self, { purpose = purpose })
  return params.brief(p, self.params, purpose, ok and usual or nil)
end

--- What a field that may be a function of its own gives: nil when it is absent.
-- @tparam string field name of a field whose value is a table, or a function that returns one
-- @treturn table|nil
-- @raise what the function raises, with the task and the field; "invalid" when it is no table
function Task:call(field, ...)
  local given = self[field]
  if type(given) ~= "function" then return given end
  local value = errors.call(("task %s, %s"):format(self.name, field), self.where, given, ...)
  if value ~= nil and type(value) ~= "table" then
    fail(self.where, nil, "task %s, %s: expected a table, got %s", self.name, field, type(value))
  end
  return value
end

return task
