--- Buffers of a kernel: what inputs, state and outputs of a task declare, in one form.
-- A buffer is {name, role = "input"|"state"|"output", dtype, dtype_name, shape, count, bytes, and
-- either array = its initial contents or fill = the byte it is filled with}.
-- @module perigee.buffers

local core = require "perigee.core"
local errors = require "perigee.errors"

local buffers = {}

local Spec = {}
Spec.__index = Spec

local INIT_BYTES = { empty = 0xFF, zero = 0 }

--- Declare a buffer without making its contents.
-- @param dtype "f32" or a struct dtype
-- @param shape integer or table of integers
-- @param[opt] init 0 (default), a byte 0..255, "empty" (bytes 0xFF) or an array
function buffers.spec(dtype, shape, init)
  return setmetatable({ dtype = dtype, shape = shape, init = init }, Spec)
end

local function shape_table(shape, name, where)
  if type(shape) == "number" then shape = { shape } end
  if type(shape) ~= "table" or #shape == 0 then
    core.error("invalid",
      ("buffer %s: expected a shape (an integer or a list), got %s"):format(name,
      tostring(shape)), "write pg.spec(\"f32\", n) or { dtype = \"f32\", n = n }", where)
  end
  for _, extent in ipairs(shape) do
    if math.type(extent) ~= "integer" or extent < 0 then
      core.error("invalid",
        ("buffer %s: the shape has %s where a size >= 0 is expected"):format(name,
        type(extent) == "number" and tostring(extent) or "a " .. type(extent)),
        "use // for integer division", where)
    end
  end
  return shape
end

local function init_of(buffer, init, where)
  if init == nil then init = 0 end
  if INIT_BYTES[init] then init = INIT_BYTES[init] end
  if core.is_array(init) then
    if init.nbytes ~= buffer.bytes then
      core.error("invalid", ("buffer %s: its initial contents have %d bytes, expected %d"):format(
        buffer.name, init.nbytes, buffer.bytes), nil, where)
    end
    buffer.array = init
  elseif math.type(init) == "integer" and init >= 0 and init <= 255 then
    buffer.fill = init
  else
    core.error("invalid", ("buffer %s: init = %s"):format(buffer.name,
      type(init) == "table" and "a table" or tostring(init)),
      "expected 0, a byte, \"empty\" or an array", where)
  end
end

local function from_array(name, role, array)
  return {
    name = name, role = role, dtype = array.dtype, dtype_name = array.dtype, shape = array.shape,
    count = array.count, bytes = array.nbytes, array = array,
  }
end

-- One element of a dtype.
local function element(dtype, name, where)
  local ok, one = errors.catch("invalid", core.array, dtype, 1)
  if ok then return one end
  one.message = ("buffer %s: %s"):format(name, one.message)
  errors.again(one, where)
end

local COUNT_MOST = 2.0 ^ 62 -- bytes

local function size_of(shape, size, name, where)
  local count, product = 1, size + 0.0
  for _, extent in ipairs(shape) do
    count, product = count * extent, product * extent
  end
  if product > COUNT_MOST then
    core.error("range", ("buffer %s: a shape of %.3g bytes"):format(name, product), nil, where)
  end
  return count, count * size
end

--- One buffer in normal form.
-- @tparam string name
-- @tparam string role "input", "state" or "output"
-- @param value an array, what `spec` returned, or {dtype=, n=|shape=, init=}
function buffers.normal(name, role, value, where)
  if core.is_array(value) then return from_array(name, role, value) end
  if type(value) ~= "table" or not value.dtype then
    core.error("invalid", ("%s '%s': expected an array or { dtype =, n = }, got %s"):format(role,
      name,
      type(value)), nil, where)
  end
  local shape = shape_table(value.shape or value.n, name, where)
  local one = element(value.dtype, name, where)
  local buffer = {
    name = name, role = role, dtype = value.dtype, dtype_name = one.dtype, shape = shape, count = 1,
  }
  buffer.count, buffer.bytes = size_of(shape, one.nbytes, name, where)
  init_of(buffer, value.init, where)
  return buffer
end

--- The initial contents of a buffer as an array (made on demand for a fill byte).
function buffers.contents(buffer)
  if not buffer.array then
    buffer.array = core.array(buffer.dtype, buffer.shape)
    if buffer.fill ~= 0 then buffer.array:fill_bytes(buffer.fill) end
  end
  return buffer.array
end

--- The shape in words: "f32[1024 x 3]".
function buffers.text(buffer)
  local extents = {}
  for i, extent in ipairs(buffer.shape) do extents[i] = tostring(extent) end
  return ("%s[%s]"):format(buffer.dtype_name, table.concat(extents, " x "))
end

--- Copies of arrays.
-- @tparam table arrays name -> array
-- @tparam[opt] integer most bytes of all together
-- @treturn table|nil name -> array; nil when they are larger
function buffers.copies(arrays, most)
  local bytes, copies = 0, {}
  for _, array in pairs(arrays) do bytes = bytes + array.nbytes end
  if most and bytes > most then return nil end
  for name, array in pairs(arrays) do copies[name] = array:copy() end
  return copies
end

return buffers
