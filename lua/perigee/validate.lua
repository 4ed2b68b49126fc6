--- Validators: found by name under validators/, run over the arrays of one case, their results
-- combined. The form of a validator is described in validators/README.md.
-- @module perigee.validate

local core = require "perigee.core"
local chunk = require "perigee.chunk"
local errors = require "perigee.errors"
local files = require "perigee.files"
local context = require "perigee.context"
local suggest = require "perigee.suggest"
local runner = require "perigee.runner"

local validate = {}

local function folders(task)
  local list = {}
  for _, root in ipairs { task.root or ".", core.home or "." } do
    list[#list + 1] = files.join(root, "validators")
  end
  return list
end

local function names_in(list)
  local names, seen = {}, {}
  for _, folder in ipairs(list) do
    if files.is_folder(folder) then
      for _, name in ipairs(core.list_dir(folder)) do
        local stem = name:match("^(.*)%.lua$")
        if stem and not seen[stem] then
          seen[stem] = true
          names[#names + 1] = stem
        end
      end
    end
  end
  return names
end

--- Load a validator file. @treturn function
local function load_file(path)
  local result = chunk.run(path)
  if type(result) ~= "function" then
    core.error("invalid",
      ("a validator file returns a function, this one returns a %s"):format(type(result)),
      "see validators/README.md", files.shown(path))
  end
  return result
end

local function find(name, task)
  local list = folders(task)
  for _, folder in ipairs(list) do
    local path = files.join(folder, name .. ".lua")
    if files.is_file(path) then return load_file(path) end
  end
  core.error("not_found", ("task %s: no validator '%s'"):format(task.name, name),
    suggest.hint(name, names_in(list), "validators"), task.where)
end

-- One entry: "close", {"close", rtol = 1e-5}, a function, {function, option = ...}.
local function entry(given, task)
  local head = given
  local options = {}
  if type(given) == "table" then
    head = given[1]
    for key, value in pairs(given) do
      if type(key) == "number" and key ~= 1 then
        core.error("invalid", ("task %s: validate: a validator has one name"):format(task.name),
          'several are a list: validate = { { "exact", of = "a" }, { "close", of = "b" } }',
          task.where)
      end
      if key ~= 1 then options[key] = value end
    end
  end
  if type(head) == "function" then return { name = "custom", run = head, options = options } end
  if type(head) ~= "string" then
    core.error("invalid",
      ("task %s: validate: expected a name or a function, got %s"):format(task.name,
      type(head)), 'write validate = { "close", rtol = 1e-5 }', task.where)
  end
  return { name = head, run = find(head, task), options = options }
end

--- The validators of a task, loaded once.
-- @treturn table list of {name, run, options}
function validate.prepare(task)
  if task.validators then return task.validators end
  local given, list = task.validate, {}
  if type(given) == "table" and type(given[1]) == "table" then
    for i, one in ipairs(given) do list[i] = entry(one, task) end
  else
    list[1] = entry(given, task)
  end
  task.validators = list
  return list
end

-- Options that are functions of the parameters get their values.
local function resolve_options(options, p)
  local resolved = {}
  for key, value in pairs(options) do
    if type(value) == "function" then value = value(p) end
    resolved[key] = value
  end
  return resolved
end

local function split(arrays, case)
  local state, outputs = {}, {}
  for _, buffer in ipairs(case.list) do
    if buffer.role == "state" then state[buffer.name] = arrays[buffer.name] end
    if buffer.role == "output" then outputs[buffer.name] = arrays[buffer.name] end
  end
  return state, outputs
end

local function check_result(result, name, task)
  if type(result) == "boolean" then result = { ok = result } end
  if type(result) ~= "table" or result.ok == nil then
    core.error("invalid", ("task %s: validator %s returned %s"):format(task.name, name,
      type(result)),
      "expected { ok = true } or { ok = false, reason = ... }", task.where)
  end
  -- A single check, of ctx:compare, pass or fail, is a result, too.
  if not result.detail or result.checks then return result end
  return { ok = result.ok, verdict = result.verdict, reason = result.reason, facts = result.facts,
    checks = { { name = result.name, ok = result.ok, detail = result.detail,
      error = result.error } } }
end

-- A task that only changes state: a state left as it was means that nothing was written.
local function left_alone(case, state)
  local any = false
  for name, array in pairs(state) do
    any = true
    if not array:equal_bits(case.io[name]) then return false end
  end
  return any
end

-- An output that no validator looked at would accept anything.
local function check_seen(seen, outputs, task)
  for name in pairs(outputs) do
    if not seen[name] then
      core.error("not_found", ("task %s: no validator judges output '%s'"):format(task.name, name),
        'add one to validate: { { "close", of = "y" }, { "exact", of = "index" } }', task.where)
    end
  end
end

--- Judge the arrays that came back.
-- @tparam table case
-- @tparam table arrays name -> array of state and outputs
-- @tparam integer poison the 4-byte pattern that outputs held before the run
-- @treturn table {ok, verdict, reason, checks = {{name, ok, detail}...}, facts = {},
--   seen = set of the names of outputs and state that validators looked at}
function validate.run(case, arrays, poison)
  local task = case.task
  local state, outputs = split(arrays, case)
  local seen = {}
  local total = { ok = true, checks = {}, facts = {}, seen = seen }
  for _, one in ipairs(validate.prepare(task)) do
    local ctx = context.new {
      task = task, params = case.p, inputs = case.io, initial = case.io, state = state,
      outputs = outputs, seen = seen,
      expected = case:expected(), names = case:checked_names(),
      options = resolve_options(one.options, case.p),
      poison = poison | poison << 32, seed = math.random(0), touched = runner.touched(arrays),
    }
    local what = ("task %s, validator %s"):format(task.name, one.name)
    local result = check_result(errors.call(what, task.where, one.run, ctx), one.name, task)
    for _, check in ipairs(result.checks or {}) do table.insert(total.checks, check) end
    for name, value in pairs(result.facts or {}) do total.facts[name] = value end
    if not result.ok and total.ok then
      total.ok, total.verdict = false, result.verdict or "wrong_result"
      total.reason = result.reason or ("validator %s said no"):format(one.name)
    end
  end
  if total.ok then check_seen(seen, outputs, task) end
  if total.verdict == "wrong_result" and not task.outputs and left_alone(case, state) then
    total.verdict = "unwritten_output"
    total.reason = "nothing was written: the state is as it was before the run; " .. total.reason
  end
  return total
end

return validate
