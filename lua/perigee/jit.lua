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

-- Header and library of the tree or the installation that this file is in.
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

-- ---- arguments ----

local function shown(value)
  return type(value) == "number" and tostring(value) or type(value)
end

-- Refuse an argument unless it is good.
local function must(good, where, name, expected, value)
  if not good then invalid("%s: %s: expected %s, got %s", where, name, expected, shown(value)) end
  return value
end

local function text_of(where, name, value)
  return must(type(value) == "string", where, name, "string", value)
end

-- A number, or a 64-bit one of C.
local function number_of(where, name, value)
  return must(type(value) == "number" or type(value) == "cdata" and tonumber(value), where, name,
    "number", value)
end

local function is_size(value)
  return type(value) == "number" and value >= 0 and value % 1 == 0
end

-- A table of options, none of them unknown. known: words, separated by spaces
local function options_of(where, how, known)
  must(type(how) == "table", where, "options", "table", how)
  for name in pairs(how) do
    if not (" " .. known .. " "):find(" " .. tostring(name) .. " ", 1, true) then
      invalid("%s: unknown option '%s' (options: %s)", where, tostring(name), known)
    end
  end
  return how
end

-- A list of strings for C, and its length.
local function strings(where, list)
  list = list or {}
  must(type(list) == "table", where, "options", "list of strings", list)
  local array = ffi.new("const char *[?]", #list + 1)
  for i, value in ipairs(list) do
    array[i - 1] = text_of(where, "option #" .. i, value)
  end
  return array, #list
end

-- A text that C allocated.
local function take(pointer)
  local value = ffi.string(pointer[0])
  C.pg_text_free(pointer[0])
  return value
end

-- ---- arrays ----

local Array = {}

local function array_of(where, name, value)
  return must(getmetatable(value) == Array, where, name, "array", value)
end

local function check_index(array, key)
  if not (is_size(key) and key < array.count) then
    invalid("index %s is outside an array of %d elements", tostring(key), array.count)
  end
end

function Array:__index(key)
  if type(key) ~= "number" then return Array[key] end
  check_index(self, key)
  return C.pg_array_get(self.raw, key)
end

function Array:__newindex(key, value)
  check_index(self, key)
  if C.pg_array_set(self.raw, key, number_of("array", "element", value)) ~= 0 then
    invalid("array: element: %s does not hold %s", self.dtype, tostring(value))
  end
end

function Array:__len()
  return self.count
end

--- Fill with random numbers. @tparam table how {seed = 0, stream = 0, dist = "uniform" (low, high),
-- "normal" (mean, stddev) or "integer" (first, last)} @return the array
function Array:random(how)
  how = options_of("array:random", how or {},
    "seed stream dist low high mean stddev first last")
  for name, value in pairs(how) do
    if name ~= "dist" then number_of("array:random", name, value) end
  end
  local seed, stream, dist = how.seed or 0, how.stream or 0, how.dist or "uniform"
  if dist == "normal" then
    check(C.pg_fill_normal(self.raw, seed, stream, how.mean or 0, how.stddev or 1, failure))
  elseif dist == "integer" then
    if not how.last then invalid "array:random: dist \"integer\" needs the option 'last'" end
    check(C.pg_fill_integer(self.raw, seed, stream, how.first or 0, how.last, failure))
  else
    must(dist == "uniform", "array:random", "dist", '"uniform", "normal" or "integer"', dist)
    check(C.pg_fill_uniform(self.raw, seed, stream, how.low or 0, how.high or 1, failure))
  end
  return self
end

--- A zeroed array. @tparam string dtype "f32", "i64", ... @tparam number|table shape
-- @raise "not_found" for an unknown dtype, "range" for a bad shape
function jit.array(dtype, shape)
  local list = type(shape) == "table" and shape or { shape }
  text_of("array", "dtype", dtype)
  must(#list > 0, "array", "shape", "number or list of numbers", shape)
  for i, extent in ipairs(list) do number_of("array", "extent #" .. i, extent) end
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
  local how, out = options_of("compare", tolerance or {}, "rtol atol"), ffi.new("pg_difference[1]")
  array_of("compare", "want", want)
  array_of("compare", "got", got)
  check(C.pg_differ(want.raw, got.raw, number_of("compare", "rtol", how.rtol or 0),
    number_of("compare", "atol", how.atol or 0), out, failure))
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
  check(C.pg_open(text_of("open", "spec", spec or "auto"), out, failure))
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
  must(is_size(bytes), "alloc", "bytes", "size", bytes)
  check(C.pg_alloc(open(self), bytes, out, failure))
  return setmetatable({ device = self, at = out[0], bytes = bytes }, Buffer)
end

--- A buffer with the elements of an array.
function Device:upload(array)
  local buffer = self:alloc(array_of("upload", "array", array).bytes)
  check(C.pg_upload(open(self), buffer.at, array.data, array.bytes, failure))
  return buffer
end

--- Fill an array from the buffer's start. @return the array
function Buffer:download(array)
  if array_of("download", "array", array).bytes > self.bytes then
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
  options_of("compile", how, "source name options")
  local options, count = strings("compile", how.options)
  local out = ffi.new("pg_module *[1]")
  check(C.pg_build(open(self), text_of("compile", "source", how.source),
    text_of("compile", "name", how.name or "source.cu"), options, count, out, failure))
  return setmetatable({ device = self, raw = out[0] }, Module)
end

--- Load PTX text.
function Device:load(ptx, name)
  local out = ffi.new("pg_module *[1]")
  check(C.pg_load(open(self), text_of("load", "ptx", ptx),
    text_of("load", "name", name or "module.ptx"), out, failure))
  return setmetatable({ device = self, raw = out[0] }, Module)
end

--- End a module, and with it its kernels; else it lives as long as the device.
function Module:unload()
  if self.raw then C.pg_unload(open(self.device), self.raw) end
  self.raw = nil
end

local function loaded(module)
  return module.raw or invalid("this module was unloaded")
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
  if kinds == INTEGERS and parameter.bytes < 8 then
    local half = 2 ^ (8 * parameter.bytes - 1)
    if tonumber(value) < -half or tonumber(value) >= 2 * half then
      invalid("argument #%d: %s does not fit in %d bytes", index, tostring(value), parameter.bytes)
    end
  end
  return ffi.new(ctype, value)
end

--- A kernel by its name in PTX. @raise "not_found"
function Module:kernel(name)
  local raw, out = open(self.device), ffi.new("pg_kernel *[1]")
  check(C.pg_find_kernel(raw, loaded(self), text_of("kernel", "name", name), out, failure))
  local self_, count = { module = self, raw = out[0], parameters = {} }, ffi.new("int[1]")
  check(C.pg_parameter_count(raw, out[0], count, failure))
  local kind, bytes = ffi.new("char[1]"), ffi.new("uint32_t[1]")
  for i = 1, count[0] do
    check(C.pg_parameter(raw, out[0], i - 1, kind, bytes, failure))
    self_.parameters[i] = { kind = string.char(kind[0]), bytes = bytes[0] }
  end
  return setmetatable(self_, Kernel)
end

local function extent(name, value)
  local list, out = type(value) == "table" and value or { value or 1 }, ffi.new("uint32_t[3]", 1)
  for i = 1, math.max(#list, 3) do
    local one = list[i] or 1
    must(i < 4 and is_size(one) and one < 2 ^ 32, "launch", name, "number or {x, y, z}", value)
    out[i - 1] = one
  end
  return out
end

--- Start the kernel. @tparam table how {grid =, block = (number or {x, y, z}), shared = bytes,
-- args = {buffers and numbers}}
function Kernel:launch(how)
  options_of("launch", how, "grid block shared args")
  local args, shared = how.args or {}, how.shared or 0
  must(type(args) == "table", "launch", "args", "list", args)
  must(is_size(shared) and shared < 2 ^ 32, "launch", "shared", "size", shared)
  if #args ~= #self.parameters then
    invalid("the kernel takes %d arguments, got %d", #self.parameters, #args)
  end
  local cells, pointers = {}, ffi.new("const void *[?]", #args + 1)
  for i = 1, #args do
    cells[i] = cell(args[i], self.parameters[i], i)
    pointers[i - 1] = cells[i]
  end
  loaded(self.module)
  check(C.pg_start(open(self.module.device), self.raw, extent("grid", how.grid),
    extent("block", how.block), shared, pointers, #args, failure))
end

--- Time what `body` launches. @tparam[opt] table how {method = "cold" (default) or "hot"}
-- @treturn table {median, low, high, min, max: microseconds; samples, gpu_clock}
function Device:measure(body, how)
  local raised
  must(type(body) == "function", "measure", "body", "function", body)
  how = options_of("measure", how or {}, "method")
  must(how.method == nil or how.method == "cold" or how.method == "hot", "measure", "method",
    '"cold" or "hot"', how.method)
  local callback = ffi.cast("int (*)(void *)", function()
    local ok, e = pcall(body)
    if not ok then raised = e end
    return ok and 0 or 1
  end)
  local out, cold = ffi.new("pg_times[1]"), how.method ~= "hot" and 1 or 0
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
  local list, count = strings("check", options)
  local out = ffi.new("char *[1]")
  check(C.pg_judge(text_of("check", "task", task), text_of("check", "candidate", candidate), list,
    count, out, failure))
  return take(out)
end

jit.version = ffi.string(C.pg_version())

return jit
