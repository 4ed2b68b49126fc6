--- Tasks: `pg.task{...}` checks a declaration when it is loaded, so that a mistake is reported at
-- its place and not in the middle of a run. The fields are described in tasks/README.md.
-- @module perigee.task

local core = require "perigee.core"
local errors = require "perigee.errors"
local params = require "perigee.params"
local signature = require "perigee.signature"
local suggest = require "perigee.suggest"

local Task = {}
Task.__index = Task

local task = {}

-- Field -> types it may have.
local FIELDS = {
  name = "string", category = "string", level = "string", doc = "string", params = "table",
  cells = "table",
  derive = "function", inputs = "function", state = "function", outputs = "function",
  kernel = "string table", args = "function", launch = "function", reference = "function",
  validate = "table function string", time = "function table", work = "function", impls = "table",
  facts = "function table", allow_empty = "boolean",
}
local REQUIRED = { "name", "kernel", "launch", "reference" }
local LEVELS = { kernel = true, module = true, application = true, challenge = true }
local CELL_FIELDS = {
  name = "string", axis = "string", set = "table", sim = "table", doc = "string",
  needs = "function",
}
local IMPL_FIELDS = {
  [1] = "string", [2] = "string", name = "string", lang = "string", file = "string",
  doc = "string", kernel = "string table", launch = "function", args = "table",
  define = "table function", include = "table", options = "table", scratch = "table function",
  ptx = "string",
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

-- Implementations as a list; a map is ordered naive first, expert last, others by name.
local function impl_list(declared, where)
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
    impl.rank = type(key) == "number" and key or key == "naive" and 0 or key == "expert" and 2 or 1
    list[#list + 1] = impl
  end
  table.sort(list, function(a, b)
    if a.rank ~= b.rank then return a.rank < b.rank end
    return a.name < b.name
  end)
  return list
end

local function signatures_of(kernel, where)
  local list = type(kernel) == "string" and { kernel } or kernel
  local parsed = {}
  for i, text in ipairs(list) do
    parsed[i] = signature.parse(text, where)
    parsed[parsed[i].name] = parsed[i]
  end
  if #parsed == 0 then fail(where, nil, "task: field 'kernel' names no kernel") end
  return parsed
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

--- Declare a task. Fields: see tasks/README.md.
-- @tparam table declared
-- @treturn table the task: the fields given, with params completed, `signatures`, `impls` as a list
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
  self.cells = check_cells(declared.cells or {}, self.params, where)
  self.signatures = signatures_of(declared.kernel, where)
  self.impls = impl_list(declared.impls or {}, where)
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

--- The cells called `names` (nil: all that need nothing that is missing; a task without cells has
-- one nameless cell, `false`).
-- @raise "not_found" with the nearest name
function Task:select_cells(names)
  if not names then return #self.cells > 0 and sort_cells(self) or { false } end
  local by_name, chosen = {}, {}
  for _, cell in ipairs(self.cells) do by_name[cell.name] = cell end
  for i, name in ipairs(names) do
    chosen[i] = by_name[name]
      or core.error("not_found", ("task %s has no cell '%s'"):format(self.name, name),
        suggest.hint(name, self:cell_names(), "cells"))
  end
  return chosen
end

--- The implementations called `names` (nil: all).
-- @raise "not_found" with the nearest name
function Task:select_impls(names)
  if not names then return self.impls end
  local by_name, chosen = {}, {}
  for _, impl in ipairs(self.impls) do by_name[impl.name] = impl end
  for i, name in ipairs(names) do
    chosen[i] = by_name[name]
      or core.error("not_found", ("task %s has no implementation '%s'"):format(self.name, name),
        suggest.hint(name, self:impl_names(), "implementations"))
  end
  return chosen
end

--- Parameters for one evaluation, with `derive` applied. See params.resolve.
function Task:resolve(how)
  how.where = how.where or self.name
  local values = params.resolve(self.params, how)
  return self:call("derive", values) or values
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
