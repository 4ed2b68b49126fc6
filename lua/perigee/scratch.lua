--- Scratch memory of an implementation or candidate: buffers beyond those of the task. Without
-- `init` its contents are garbage before every run; with it they are reset, untimed, as state is.
-- @module perigee.scratch

local core = require "perigee.core"
local buffers = require "perigee.buffers"
local expression = require "perigee.expression"
local implementation = require "perigee.impl"
local params = require "perigee.params"
local suggest = require "perigee.suggest"

local scratch = {}

local FIELDS = { dtype = true, n = true, shape = true, bytes = true, init = true }

local COUNT_MOST = 1 << 46 -- of elements: more is a mistake, and no product of sizes overflows

local function fail(where, hint, text, ...)
  core.error("invalid", text:format(...), hint, where)
end

-- A size >= 0 from a number or an expression.
local function size(value, name, env, where)
  local what = ("size of scratch '%s'"):format(name)
  local number = expression.eval(value, env, what, where)
  local whole = math.tointeger(number)
  if not whole or whole < 0 then
    core.error("range", ("%s is %s: expected an integer >= 0"):format(what, number),
      not whole and "use // for integer division" or nil, where)
  end
  return whole
end

local function shape_of(value, name, env, where)
  local given = (value.n ~= nil and 1 or 0) + (value.shape ~= nil and 1 or 0)
    + (value.bytes ~= nil and 1 or 0)
  if given ~= 1 then
    fail(where, 'write { dtype = "f32", n = "2 * n" } or { bytes = 4096 }',
      "scratch '%s': expected one of n, shape and bytes, got %s", name,
      given == 0 and "none" or "several")
  end
  local list = value.shape or value.n or value.bytes
  if type(list) ~= "table" then list = { list } end
  local shape, count = {}, 1
  for i, extent in ipairs(list) do
    shape[i] = size(extent, name, env, where)
    if shape[i] > COUNT_MOST // math.max(1, count) then
      core.error("range", ("scratch '%s' has more than 2^46 elements"):format(name), nil, where)
    end
    count = count * shape[i]
  end
  return shape
end

-- A dtype by its name: a scalar, or the struct of a buffer of the task.
local function dtype_of(value, name, case, where)
  local dtype = value.dtype
  if dtype == nil then
    if value.bytes ~= nil then return "u8" end
    fail(where, 'write { dtype = "f32", n = 1024 } or { bytes = 4096 }',
      "scratch '%s' has no dtype", name)
  end
  if value.bytes ~= nil then
    fail(where, "bytes have no dtype: write n for a number of elements",
      "scratch '%s' has both bytes and a dtype", name)
  end
  for _, buffer in ipairs(case.list) do
    if buffer.dtype_name == dtype then return buffer.dtype end
  end
  if type(dtype) ~= "string" and type(dtype) ~= "userdata" then
    fail(where, nil, "scratch '%s': dtype: expected a name, got a %s", name, type(dtype))
  end
  return dtype
end

local function declared(name, value, case, env, where)
  if type(value) == "userdata" then return value end -- an array: contents to start from
  if type(value) ~= "table" then
    fail(where, 'write { dtype = "f32", n = 1024 } or { bytes = 4096 }',
      "scratch '%s': expected a table, got a %s", name, type(value))
  end
  for field in pairs(value) do
    if not FIELDS[field] then
      fail(where, suggest.hint(tostring(field), params.names(FIELDS), "fields"),
        "scratch '%s': unknown field '%s'", name, tostring(field))
    end
  end
  return { dtype = dtype_of(value, name, case, where), init = value.init,
    shape = shape_of(value, name, env, where) }
end

local function normal(name, value, case, env, where)
  local given = declared(name, value, case, env, where)
  local has_init = type(given) == "userdata" or given.init ~= nil
  local buffer = buffers.normal(name, has_init and "state" or "output", given, where)
  buffer.scratch = true
  buffer.untyped = type(value) == "table" and value.bytes ~= nil
  return buffer
end

-- The declaration by name, its names checked.
local function all_of(impl, case)
  local all = implementation.field(impl, "scratch", case.p) or {}
  for name in pairs(all) do
    if type(name) ~= "string" or not name:match("^[%a_][%w_]*$") or #name > 63 then
      fail(impl.where, 'write scratch = { queue = { dtype = "i32", n = 1024 } }',
        "scratch: '%s' is no name", tostring(name))
    end
    if case.by_name[name] then
      fail(impl.where, "give it another name",
        "scratch '%s' has the name of a buffer of the task", name)
    end
  end
  return all
end

--- The scratch buffers of an implementation for a case, in order of names.
-- @tparam table impl
-- @tparam table case
-- @tparam boolean own a copy for each set: what launches of one sample or an export must not share
-- @treturn table list of buffers; role "state" (reset), "output" (garbage, a copy each set) or
--   "scratch" (garbage, one copy)
-- @raise "invalid", "range", "not_found" with the buffer's name
function scratch.list(impl, case, own)
  local list, all = {}, all_of(impl, case)
  local env = {}
  for _, scalars in ipairs { (implementation.settings(impl, case.p)),
    case.task:call("args", case.p) or {} } do
    for name, value in pairs(scalars) do env[name] = value end
  end
  for _, name in ipairs(params.names(all)) do
    local buffer = normal(name, all[name], case, env, impl.where)
    if buffer.role == "output" and not own then buffer.role = "scratch" end
    list[#list + 1] = buffer
  end
  return list
end

--- Bytes of a list of scratch buffers that each set has of its own.
function scratch.set_bytes(list)
  local bytes = 0
  for _, buffer in ipairs(list) do
    if buffer.role ~= "scratch" then bytes = bytes + buffer.bytes end
  end
  return bytes
end

local USABLE = 0.9 -- of a device's memory at least: the rest may be its driver's

--- Whose fault it is that buffers do not fit: the machine's, or, when only scratch is too much for
-- the device, the candidate's.
-- @tparam table list buffers
-- @tparam[opt] integer memory bytes of the device
-- @tparam table failure
-- @treturn table a failure
function scratch.to_blame(list, memory, failure)
  local own, others = 0, 0
  for _, buffer in ipairs(list) do
    if buffer.scratch then own = own + buffer.bytes else others = others + buffer.bytes end
  end
  local usable = USABLE * (memory or 0)
  local fits = usable == 0 or own + others <= usable or others > usable
  if failure.verdict ~= "environment" or fits then return failure end
  failure.verdict = "launch_error"
  failure.reason = ("scratch of %d bytes, and %d of the task's; the device has %d"):format(own,
    others, memory)
  return failure
end

return scratch
