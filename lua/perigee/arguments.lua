--- Arguments of a launch, found by the names of the C signature or given as a list, in the form of
-- the runner (see host/judge): buffers by index, scalars by kind.
-- @module perigee.arguments

local core = require "perigee.core"
local expression = require "perigee.expression"
local suggest = require "perigee.suggest"

local arguments = {}

--- Names of several tables by name, sorted.
function arguments.names(...)
  local names = {}
  for _, map in ipairs { ... } do
    for name in pairs(map) do
      if type(name) == "string" then names[#names + 1] = name end
    end
  end
  table.sort(names)
  return names
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
  if buffer.untyped then return end -- bytes = n: for the candidate to make something of
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
      suggest.hint(param.name, arguments.names(context.buffers, context.args, context.params),
        "names"), context.where)
  end
  return scalar(value, param.dtype, ("scalar '%s'"):format(param.name), context.where)
end

local function infer_dtype(value)
  return math.type(value) == "float" and "f64" or "i64"
end

-- { "buffer", offset = bytes }
local function buffer_with_offset(value, what, context)
  for key in pairs(value) do
    if key ~= 1 and key ~= "offset" then
      core.error("invalid", ("%s: unknown field '%s'"):format(what, tostring(key)),
        'write { "buffer", offset = bytes }', context.where)
    end
  end
  local buffer = context.buffers[value[1]]
  if not buffer then
    core.error("not_found", ("%s: no buffer '%s'"):format(what, tostring(value[1])),
      suggest.hint(tostring(value[1]), arguments.names(context.buffers), "buffers"), context.where)
  end
  if not value.offset then return { buffer = buffer.index } end
  local given = expression.eval(value.offset, context.env, what .. ", offset", context.where)
  local offset = math.tointeger(given)
  if not offset or offset < 0 or offset > buffer.bytes then
    core.error("range", ("%s: offset %s in the %d bytes of %s"):format(what, given, buffer.bytes,
      buffer.name), "offset counts bytes", context.where)
  end
  return { buffer = buffer.index, offset = offset }
end

-- ---- tensor maps ----

local TENSOR_FIELDS = { tensor_map = true, dtype = true, shape = true, box = true, swizzle = true,
  offset = true }

local function whole(value, what, low, high, context)
  local number = expression.eval(value, context.env, what, context.where)
  local integer = math.tointeger(number)
  if not integer or integer < low or integer > high then
    core.error("range", ("%s is %s: expected an integer from %d to %d"):format(what, number, low,
      high), nil, context.where)
  end
  return integer
end

local function extents(list, what, high, context)
  if type(list) ~= "table" or #list < 1 or #list > 5 then
    core.error("invalid", ("%s: expected a list of 1 to 5 extents"):format(what),
      'write shape = { "m", "k" }, box = { 128, 64 }', context.where)
  end
  local result = core.json_array {}
  for i, extent in ipairs(list) do result[i] = whole(extent, what, 1, high, context) end
  return result
end

-- { tensor_map = "buffer", shape =, box =, swizzle =, dtype =, offset = }: what CUDA's tensor
-- copies (cp.async.bulk.tensor) need to know of a buffer, a CUtensorMap by value.
local function tensor_map(value, what, context)
  for key in pairs(value) do
    if not TENSOR_FIELDS[key] then
      core.error("invalid", ("%s: unknown field '%s'"):format(what, tostring(key)),
        suggest.hint(tostring(key), arguments.names(TENSOR_FIELDS), "fields"), context.where)
    end
  end
  local buffer = context.buffers[value.tensor_map]
  if not buffer then
    core.error("not_found", ("%s: no buffer '%s'"):format(what, tostring(value.tensor_map)),
      suggest.hint(tostring(value.tensor_map), arguments.names(context.buffers), "buffers"),
      context.where)
  end
  local shape = extents(value.shape or buffer.shape, what .. ", shape", (1 << 32) - 1, context)
  local box = extents(value.box, what .. ", box", 256, context)
  if #shape ~= #box then
    core.error("invalid", ("%s: the shape has %d extents, the box %d"):format(what, #shape, #box),
      "a box is the part of the shape that one copy moves", context.where)
  end
  return {
    tensor_map = buffer.index, dtype = value.dtype or buffer.dtype_name, shape = shape, box = box,
    swizzle = value.swizzle and whole(value.swizzle, what .. ", swizzle", 0, 128, context) or 0,
    offset = value.offset and whole(value.offset, what .. ", offset", 0, buffer.bytes, context)
      or 0,
  }
end

-- ---- arguments of a list ----

-- A scalar given by its name or as an expression.
local function computed(text, what, context)
  if context.env[text] ~= nil then return context.env[text] end
  if text:match("^%s*[%a_][%w_]*%s*$") then
    core.error("not_found", ("%s: no buffer or scalar '%s'"):format(what, text),
      suggest.hint(text, arguments.names(context.buffers, context.env), "names"), context.where)
  end
  return expression.eval(text, context.env, what, context.where)
end

-- One argument of an explicit list: a buffer's name, a number, an expression, or { "buffer", offset
-- = bytes }.
local function listed_argument(value, index, param, context)
  local what = ("argument #%d"):format(index)
  if type(value) == "table" and value.tensor_map ~= nil then
    return tensor_map(value, what, context)
  end
  if type(value) == "table" then return buffer_with_offset(value, what, context) end
  if type(value) == "string" then
    local buffer = context.buffers[value]
    if buffer then return { buffer = buffer.index } end
    value = computed(value, what, context)
  end
  return scalar(value, param and param.dtype or infer_dtype(value), what, context.where)
end

-- What a launch gives must be a plain list: a hole or a name in it would go unnoticed.
local function check_list(given, context)
  local count = 0
  if type(given) ~= "table" then
    core.error("invalid", ("args: expected a list, got a %s"):format(type(given)),
      'write args = { "x", "y", "n" }', context.where)
  end
  for _ in pairs(given) do count = count + 1 end
  if count ~= #given then
    core.error("invalid", "args: expected a plain list",
      'write args = { "x", "y", "n" }, in the order of the parameters', context.where)
  end
end

--- The arguments of a kernel that says itself what it takes: names in order, null for a null
-- pointer. `declared` gives scalars their types.
-- @treturn table JSON list
function arguments.mapped(names, declared, context)
  local list, types = core.json_array {}, {}
  for _, param in ipairs(declared and declared.params or {}) do types[param.name] = param end
  for i, name in ipairs(names) do
    list[i] = name == core.null and { i = 0 } or listed_argument(name, i, types[name], context)
  end
  return list
end

--- The arguments of one launch.
-- @tparam string kernel its name, for errors
-- @tparam table|nil given the launch's own list
-- @tparam table|nil declared the signature
-- @tparam table context see perigee.plan
-- @treturn table JSON list
function arguments.build(kernel, given, declared, context)
  local list = core.json_array {}
  if given then
    check_list(given, context)
    for i, value in ipairs(given) do
      list[i] = listed_argument(value, i, declared and declared.params[i], context)
    end
    return list
  end
  if not declared then
    core.error("invalid", ("kernel %s has no signature and the launch gives no args"):format(
      kernel), "add its signature to the kernel field, or args = {...} to the launch",
      context.where)
  end
  for i, param in ipairs(declared.params) do list[i] = named_argument(param, context) end
  return list
end

return arguments
