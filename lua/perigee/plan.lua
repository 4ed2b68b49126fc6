--- Plans: what a task's `launch` returns, turned into steps for the runner (data only; see
-- host/judge). Arguments are found by the names in the C signature: buffers first, then scalars.
-- @module perigee.plan

local core = require "perigee.core"
local implementation = require "perigee.impl"
local signature = require "perigee.signature"
local suggest = require "perigee.suggest"

local plan = {}

local STEP_FIELDS = {
  kernel = true, grid = true, block = true, shared = true, cooperative = true, args = true,
  memset = true, byte = true, bytes = true, offset = true, copy = true,
}

local function names_of(...)
  local names = {}
  for _, map in ipairs { ... } do
    for name in pairs(map) do
      if type(name) == "string" then names[#names + 1] = name end
    end
  end
  table.sort(names)
  return names
end

-- n or {x, y, z} -> {x, y, z}, and whether any extent is zero.
local function extents(value, what, where)
  if type(value) == "number" then value = { value } end
  if type(value) ~= "table" or #value < 1 or #value > 3 then
    core.error("invalid", ("%s: expected an integer or {x, y, z}, got %s"):format(what,
      tostring(value)),
      nil, where)
  end
  local result, empty = { 1, 1, 1 }, false
  for i, extent in ipairs(value) do
    local whole = math.tointeger(extent)
    if not whole or whole < 0 then
      core.error("range", ("%s has %s where an integer >= 1 is expected"):format(what,
        tostring(extent)),
        "use // for integer division", where)
    end
    result[i] = whole
    empty = empty or whole == 0
  end
  return result, empty
end

-- A Lua number as the JSON form of a scalar parameter of dtype `dtype`.
local function scalar(value, dtype, what, where)
  if type(value) == "boolean" then value = value and 1 or 0 end
  if type(value) ~= "number" then
    core.error("invalid", ("%s: expected a number, got %s"):format(what, type(value)), nil, where)
  end
  if dtype:match("^b?f%d") then
    if value ~= value then return { f = "NaN" } end
    if value == math.huge then return { f = "Infinity" } end
    if value == -math.huge then return { f = "-Infinity" } end
    return { f = value + 0.0 }
  end
  local whole = math.tointeger(value)
  if not whole then
    core.error("invalid", ("%s: expected an integer for %s, got %s"):format(what, dtype, value),
      nil, where)
  end
  if dtype == "u64" and whole < 0 then return { u = ("%u"):format(whole) } end
  return { i = whole }
end

local DTYPE_OF_BITS = { f16 = "half", bf16 = "__nv_bfloat16" }

-- A pointer parameter must point to what its buffer holds; void*, char* and structs of another name
-- pass.
local function check_element(param, buffer, where)
  local want = param.dtype
  if not want or param.type == "char" or want == "u8" or buffer.dtype_name == want then return end
  if want:match("^[iu]") and buffer.dtype_name:match("^[iu]")
    and want:sub(2) == buffer.dtype_name:sub(2) then
    return -- int* over u32: the same bits
  end
  core.error("invalid", ("buffer %s holds %s but parameter '%s' points to %s"):format(buffer.name,
    DTYPE_OF_BITS[buffer.dtype_name] or buffer.dtype_name, param.name, param.type),
    "make the dtype and the signature agree", where)
end

-- One argument by its parameter's name.
local function named_argument(param, context)
  local buffer = context.buffers[param.name]
  if buffer then
    if not param.pointer then
      core.error("invalid", ("'%s' is a buffer but parameter '%s' is no pointer"):format(param.name,
        param.name), nil, context.where)
    end
    check_element(param, buffer, context.where)
    if buffer.role == "input" and not param.const then
      core.error("invalid", ("'%s' is an input but its parameter is not const"):format(param.name),
        ("write const %s* %s, or declare it as state"):format(param.type, param.name),
          context.where)
    end
    return { buffer = buffer.index }
  end
  local value = context.args[param.name]
  if value == nil then value = context.params[param.name] end
  if value == nil or param.pointer then
    core.error("invalid", ("kernel parameter '%s' is neither a buffer%s"):format(param.name,
      param.pointer and " of the task" or " nor a scalar of args(p) or the parameters"),
      suggest.hint(param.name, names_of(context.buffers, context.args, context.params), "names"),
      context.where)
  end
  return scalar(value, param.dtype, ("scalar '%s'"):format(param.name), context.where)
end

local function infer_dtype(value)
  return math.type(value) == "float" and "f64" or "i64"
end

-- One argument of an explicit list: a name, a number, or { "name", offset = bytes }.
local function listed_argument(value, index, param, context)
  local what = ("argument #%d"):format(index)
  if type(value) == "table" then
    local buffer = context.buffers[value[1]]
    if not buffer then
      core.error("not_found", ("%s: no buffer '%s'"):format(what, tostring(value[1])),
        suggest.hint(tostring(value[1]), names_of(context.buffers), "buffers"), context.where)
    end
    return { buffer = buffer.index, offset = value.offset }
  end
  if type(value) ~= "string" then
    return scalar(value, param and param.dtype or infer_dtype(value), what, context.where)
  end
  local buffer = context.buffers[value]
  if buffer then return { buffer = buffer.index } end
  local number = context.args[value]
  if number == nil then number = context.params[value] end
  if number == nil then
    core.error("not_found", ("%s: no buffer or scalar '%s'"):format(what, value),
      suggest.hint(value, names_of(context.buffers, context.args, context.params), "names"),
        context.where)
  end
  return scalar(number, param and param.dtype or infer_dtype(number), what, context.where)
end

local function arguments(step, declared, context)
  local list = core.json_array {}
  if step.args then
    for i, value in ipairs(step.args) do
      list[i] = listed_argument(value, i, declared and declared.params[i], context)
    end
    return list
  end
  if not declared then
    core.error("invalid",
      ("kernel %s has no signature and the launch gives no args"):format(step.kernel),
      "add its signature to the task's kernel field, or args = {...} to the launch", context.where)
  end
  for i, param in ipairs(declared.params) do list[i] = named_argument(param, context) end
  return list
end

local function check_step(step, context)
  if type(step) ~= "table" then
    core.error("invalid", ("launch: expected a step { grid =, block = }, got %s"):format(
      type(step)), "return one step or a list of steps", context.where)
  end
  for field in pairs(step) do
    if not STEP_FIELDS[field] then
      core.error("invalid", ("launch: unknown field '%s'"):format(tostring(field)),
        suggest.hint(tostring(field), names_of(STEP_FIELDS), "fields"), context.where)
    end
  end
end

local function buffer_index(name, context)
  local buffer = context.buffers[name]
  if not buffer then
    core.error("not_found", ("launch: no buffer '%s'"):format(tostring(name)),
      suggest.hint(tostring(name), names_of(context.buffers), "buffers"), context.where)
  end
  return buffer.index, buffer
end

local function launch_step(step, number, context)
  local name = step.kernel or context.contract[1].name
  local declared = context.contract[name]
  if context.signature and (not step.kernel or step.kernel == context.signature.name) then
    declared = context.signature
  end
  local entry = not step.kernel and context.entry or context.rename[name] or name
  local grid, no_blocks = extents(step.grid, ("grid of launch #%d"):format(number), context.where)
  local block, no_threads = extents(step.block, ("block of launch #%d"):format(number),
    context.where)
  if no_blocks or no_threads then
    if context.task.allow_empty and not no_threads then return nil end
    core.error("range", ("launch #%d has an empty %s: {%s}"):format(number,
      no_blocks and "grid" or "block",
      table.concat(no_blocks and grid or block, ", ")),
      "a launch needs at least one block and one thread; a task that may launch nothing says "
        .. "allow_empty = true", context.where)
  end
  local args = arguments({ kernel = name, args = step.args or context.impl.args }, declared,
    context)
  return {
    launch = entry, grid = core.json_array(grid), block = core.json_array(block),
    shared = step.shared or 0, cooperative = step.cooperative or false, args = args,
  }
end

local function one_step(step, number, context)
  check_step(step, context)
  if step.memset then
    local index, buffer = buffer_index(step.memset, context)
    return { memset = index, byte = step.byte or 0, offset = step.offset or 0,
      bytes = step.bytes or buffer.bytes - (step.offset or 0) }
  end
  if step.copy then
    local to = buffer_index(step.copy[1], context)
    local from, buffer = buffer_index(step.copy[2], context)
    return { copy = core.json_array { to, from }, bytes = step.bytes or buffer.bytes }
  end
  return launch_step(step, number, context)
end

-- A signature of the implementation's own, when its `kernel` field has parentheses.
local function own_signature(impl, where)
  local kernel = impl.kernel
  if type(kernel) == "string" and kernel:find("(", 1, true) and not kernel:find("<", 1, true) then
    return signature.parse(kernel, where)
  end
  return nil
end

-- Kernel names an implementation uses for the task's: a string renames the first, a map any.
local function renames(impl)
  return type(impl.kernel) == "table" and impl.kernel or {}
end

--- Build the runner's steps.
-- @tparam table task
-- @tparam table impl what impl.resolve or impl.candidate returned
-- @tparam table p parameters
-- @tparam table list buffers in order; each gets `index` (0-based, as the runner counts)
-- @treturn table list of steps; empty when the task allows that nothing is launched
function plan.build(task, impl, p, list)
  local where = impl.where or task.where or task.name
  local context = {
    task = task, contract = task:contract(p), impl = impl, params = p, buffers = {},
    where = where, rename = renames(impl),
    args = task:call("args", p) or {}, signature = own_signature(impl, where),
  }
  for i, buffer in ipairs(list) do
    buffer.index = i - 1
    context.buffers[buffer.name] = buffer
  end
  local kernel = impl.kernel
  context.entry = type(kernel) == "string" and kernel or nil
  if context.signature then context.entry = context.signature.name end
  local described
  if impl.launch then described = implementation.field(impl, "launch", p)
  else described = task:call("launch", p) end
  if not described then
    core.error("invalid", "launch: it returned nothing",
      "return { grid =, block = } or a list of steps", where)
  end
  local steps = core.json_array {}
  for number, step in ipairs(described[1] and described or { described }) do
    local built = one_step(step, number, context)
    if built then steps[#steps + 1] = built end
  end
  return steps
end

--- Names of the kernels a plan launches.
function plan.kernels(steps)
  local names, seen = {}, {}
  for _, step in ipairs(steps) do
    if step.launch and not seen[step.launch] then
      seen[step.launch] = true
      names[#names + 1] = step.launch
    end
  end
  return names
end

return plan
