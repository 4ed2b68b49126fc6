--- Perigee from LuaJIT: libperigee.so through LuaJIT's own ffi, which reads perigee_cdef.h.
-- Written in the Lua that LuaJIT has (5.1); nothing else of this folder is loaded.
--
--     local pg = dofile "/usr/local/share/perigee/lua/perigee/jit.lua"
--     local dev = pg.open "auto"
--     local kernel = dev:compile { source = text, name = "a.cu" }:kernel "a"
--     local y = dev:alloc(4000)
--     kernel:launch { grid = 4, block = 256, args = { y, 2.0, 1000 } }
--
-- Arrays are 0-based. Errors are raised as tables {code, message, hint, where}, which print well.
-- @module perigee.jit

local ffi = require "ffi"

local jit = {}

-- ---- the library ----

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

-- Header and library of the tree or the installation that this file is in; else where the system
-- looks.
local function locate()
  local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."
  for _, place in ipairs {
    { "/../../host/perigee_cdef.h", "/../../build/libperigee.so" },
    { "/../../../../include/perigee_cdef.h", "/../../../../lib/libperigee.so" },
  } do
    if exists(here .. place[1]) and exists(here .. place[2]) then
      return here .. place[1], here .. place[2]
    end
  end
  error("perigee: no perigee_cdef.h and libperigee.so beside " .. here
    .. "; `make libraries` builds the library, `make install` installs both", 0)
end

local header, library = locate()
local file = assert(io.open(header))
ffi.cdef(file:read "*a")
file:close()
local C = ffi.load(library)

-- ---- errors ----

local Error = {}
function Error:__tostring()
  return self.message .. (self.where ~= "" and " (" .. self.where .. ")" or "")
    .. (self.hint ~= "" and "\n  " .. self.hint or "")
end

local failure = ffi.gc(C.pg_error_new(), C.pg_error_free)

local function text(of)
  return ffi.string(of(failure))
end

-- Raise what `failure` holds unless `status` is 0.
local function check(status)
  if status == 0 then return end
  error(setmetatable({
    code = text(C.pg_error_code), message = text(C.pg_error_message),
    hint = text(C.pg_error_hint), where = text(C.pg_error_where),
  }, Error), 0)
end

local function invalid(...)
  error(setmetatable({ code = "invalid", message = string.format(...), hint = "", where = "" },
    Error), 0)
end

-- A list of strings for C, and its length.
local function strings(list)
  local array = ffi.new("const char *[?]", #(list or {}) + 1)
  for i, value in ipairs(list or {}) do array[i - 1] = value end
  return array, #(list or {})
end

-- A text that C allocated.
local function take(pointer)
  local value = ffi.string(pointer[0])
  C.pg_text_free(pointer[0])
  return value
end

-- ---- arrays ----

local Array = {}

function Array:__index(key)
  if type(key) ~= "number" then return Array[key] end
  if key < 0 or key >= self.count then
    invalid("index %d is outside an array of %d elements", key, self.count)
  end
  return C.pg_array_get(self.raw, key)
end

function Array:__newindex(key, value)
  if type(key) ~= "number" or key < 0 or key >= self.count then
    invalid("index %s is outside an array of %d elements", tostring(key), self.count)
  end
  C.pg_array_set(self.raw, key, value)
end

function Array:__len()
  return self.count
end

--- Fill with random numbers. @tparam table how {seed = 0, stream = 0, dist = "uniform" (low, high),
-- "normal" (mean, stddev) or "integer" (first, last)} @return the array
function Array:random(how)
  local seed, stream = how.seed or 0, how.stream or 0
  if how.dist == "normal" then
    check(C.pg_fill_normal(self.raw, seed, stream, how.mean or 0, how.stddev or 1, failure))
  elseif how.dist == "integer" then
    if not how.last then invalid "array:random: dist \"integer\" needs the option 'last'" end
    check(C.pg_fill_integer(self.raw, seed, stream, how.first or 0, how.last, failure))
  else
    check(C.pg_fill_uniform(self.raw, seed, stream, how.low or 0, how.high or 1, failure))
  end
  return self
end

--- A zeroed array. @tparam string dtype "f32", "i64", ... @tparam number|table shape
-- @raise "not_found" for an unknown dtype, "range" for a bad shape
function jit.array(dtype, shape)
  local list = type(shape) == "table" and shape or { shape }
  local dims, out = ffi.new("int64_t[?]", #list + 1, list), ffi.new("pg_array *[1]")
  check(C.pg_array_make(dtype, #list, dims, out, failure))
  local raw = ffi.gc(out[0], C.pg_array_drop)
  return setmetatable({
    raw = raw, dtype = dtype, shape = list, count = tonumber(C.pg_array_count(raw)),
    bytes = tonumber(C.pg_array_bytes(raw)), data = C.pg_array_data(raw),
  }, Array)
end

--- Compare every element. @tparam[opt] table tolerance {rtol = 0, atol = 0}
-- @treturn table {count, bad, first_bad, worst, max_abs, max_rel, max_ulp}
function jit.compare(want, got, tolerance)
  local how, out = tolerance or {}, ffi.new("pg_difference[1]")
  check(C.pg_differ(want.raw, got.raw, how.rtol or 0, how.atol or 0, out, failure))
  local result = {}
  for _, name in ipairs { "count", "bad", "first_bad", "worst", "max_abs", "max_rel", "max_ulp" } do
    result[name] = tonumber(out[0][name])
  end
  return result
end

-- ---- devices ----

local Device, Buffer, Module, Kernel = {}, {}, {}, {}
Device.__index, Buffer.__index, Module.__index, Kernel.__index = Device, Buffer, Module, Kernel

--- Open a device. @tparam[opt="auto"] string spec "auto", "cuda:0", "sim", "sim:check"
function jit.open(spec)
  local out = ffi.new("pg_device *[1]")
  check(C.pg_open(spec or "auto", out, failure))
  return setmetatable({ raw = ffi.gc(out[0], C.pg_close) }, Device)
end

--- End the device, and with it its memory and modules.
function Device:close()
  if self.raw then C.pg_close(ffi.gc(self.raw, nil)) end
  self.raw = nil
end

local function open(device)
  return device.raw or invalid("this device was closed")
end

--- @treturn table {spec, name, driver, cc_major, cc_minor, multiprocessors, gpu_clock,
-- memory_bytes, l2_bytes}
function Device:info()
  local out = ffi.new("pg_machine[1]")
  check(C.pg_describe(open(self), out, failure))
  local info = { gpu_clock = out[0].gpu_clock ~= 0 }
  for _, name in ipairs { "spec", "name", "driver" } do info[name] = ffi.string(out[0][name]) end
  for _, name in ipairs { "cc_major", "cc_minor", "multiprocessors", "memory_bytes", "l2_bytes" } do
    info[name] = tonumber(out[0][name])
  end
  return info
end

--- Memory of the device. @tparam number bytes @treturn table buffer; it lives as long as the device
-- or until buffer:free()
function Device:alloc(bytes)
  local out = ffi.new("uint64_t[1]")
  check(C.pg_alloc(open(self), bytes, out, failure))
  return setmetatable({ device = self, at = out[0], bytes = bytes }, Buffer)
end

--- A buffer with the elements of an array.
function Device:upload(array)
  local buffer = self:alloc(array.bytes)
  check(C.pg_upload(open(self), buffer.at, array.data, array.bytes, failure))
  return buffer
end

--- Fill an array from the buffer's start. @return the array
function Buffer:download(array)
  if array.bytes > self.bytes then
    invalid("an array of %d bytes from a buffer of %d", array.bytes, self.bytes)
  end
  check(C.pg_download(open(self.device), array.data, self.at, array.bytes, failure))
  return array
end

function Buffer:free()
  if self.at ~= 0 then check(C.pg_free(open(self.device), self.at, failure)) end
  self.at = 0
end

--- Compile CUDA C++. @tparam table how {source =, name = "source.cu", options = {"-DN=4"}}
-- @raise "compile_error", "environment" without NVRTC
function Device:compile(how)
  local options, count = strings(how.options)
  local out = ffi.new("pg_module *[1]")
  check(C.pg_build(open(self), how.source, how.name or "source.cu", options, count, out, failure))
  return setmetatable({ device = self, raw = out[0] }, Module)
end

--- Load PTX text.
function Device:load(ptx, name)
  local out = ffi.new("pg_module *[1]")
  check(C.pg_load(open(self), ptx, name or "module.ptx", out, failure))
  return setmetatable({ device = self, raw = out[0] }, Module)
end

--- Wait for all kernels. @raise "launch_error" when one faulted
function Device:sync()
  check(C.pg_sync(open(self), failure))
end

-- ---- kernels ----

local INTEGERS = { [1] = "int8_t[1]", [2] = "int16_t[1]", [4] = "int32_t[1]", [8] = "int64_t[1]" }
local FLOATS = { [4] = "float[1]", [8] = "double[1]" }

-- A cell that holds an argument as the kernel's parameter has it.
local function cell(value, parameter, index)
  if getmetatable(value) == Buffer then return ffi.new("uint64_t[1]", value.at) end
  local fraction = type(value) == "number" and value % 1 ~= 0
  local kinds = (parameter.kind == "f" or parameter.kind == "?" and fraction) and FLOATS
    or (parameter.kind == "i" or parameter.kind == "p" or parameter.kind == "?") and INTEGERS
  local ctype = kinds and kinds[parameter.bytes]
  if type(value) ~= "number" and type(value) ~= "cdata" or not ctype or
    kinds == INTEGERS and fraction then
    invalid("argument #%d: a %s for a parameter of kind '%s' and %d bytes", index,
      type(value), parameter.kind, parameter.bytes)
  end
  return ffi.new(ctype, value)
end

--- A kernel by its name in PTX. @raise "not_found"
function Module:kernel(name)
  local raw, out = open(self.device), ffi.new("pg_kernel *[1]")
  check(C.pg_find_kernel(raw, self.raw, name, out, failure))
  local self_, count = { device = self.device, raw = out[0], parameters = {} }, ffi.new("int[1]")
  check(C.pg_parameter_count(raw, out[0], count, failure))
  local kind, bytes = ffi.new("char[1]"), ffi.new("uint32_t[1]")
  for i = 1, count[0] do
    check(C.pg_parameter(raw, out[0], i - 1, kind, bytes, failure))
    self_.parameters[i] = { kind = string.char(kind[0]), bytes = bytes[0] }
  end
  return setmetatable(self_, Kernel)
end

local function extent(value)
  local list = type(value) == "table" and value or { value or 1 }
  return ffi.new("uint32_t[3]", list[1] or 1, list[2] or 1, list[3] or 1)
end

--- Start the kernel. @tparam table how {grid =, block = (number or {x, y, z}), shared = bytes,
-- args = {buffers and numbers}}
function Kernel:launch(how)
  local args = how.args or {}
  if #args ~= #self.parameters then
    invalid("the kernel takes %d arguments, got %d", #self.parameters, #args)
  end
  local cells, pointers = {}, ffi.new("const void *[?]", #args + 1)
  for i, value in ipairs(args) do
    cells[i] = cell(value, self.parameters[i], i)
    pointers[i - 1] = cells[i]
  end
  check(C.pg_start(open(self.device), self.raw, extent(how.grid), extent(how.block),
    how.shared or 0, pointers, #args, failure))
end

--- Time what `body` launches. @tparam[opt] table how {method = "cold" (default) or "hot"}
-- @treturn table {median, low, high, min, max: microseconds; samples, gpu_clock}
function Device:measure(body, how)
  local raised
  local callback = ffi.cast("int (*)(void *)", function()
    local ok, e = pcall(body)
    if not ok then raised = e end
    return ok and 0 or 1
  end)
  local out, cold = ffi.new("pg_times[1]"), (how or {}).method ~= "hot" and 1 or 0
  local status = C.pg_measure(open(self), callback, nil, cold, out, failure)
  callback:free()
  if raised then error(raised, 0) end
  check(status)
  local times = { gpu_clock = out[0].gpu_clock ~= 0, samples = tonumber(out[0].samples) }
  for _, name in ipairs { "median", "low", "high", "min", "max" } do times[name] = out[0][name] end
  return times
end

-- A compiled call of C must not come back into Lua.
local compiler, off = pcall(require, "jit")
if compiler then off.off(Device.measure) end

--- Have a candidate judged, by a process of its own.
-- @tparam string task @tparam string candidate a file @tparam[opt] table options words of
-- `perigee check`, {"--device", "sim:check"} @treturn string the record, JSON
function jit.check(task, candidate, options)
  local list, count = strings(options)
  local out = ffi.new("char *[1]")
  check(C.pg_judge(task, candidate, list, count, out, failure))
  return take(out)
end

jit.version = ffi.string(C.pg_version())

return jit
