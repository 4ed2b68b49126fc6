--- Devices for scripts: what the C binding gives, plus `dev:compile` and modules that make template
-- instances on demand.
-- @module perigee.device

local core = require "perigee.core"
local compile = require "perigee.compile"
local files = require "perigee.files"
local suggest = require "perigee.suggest"

local device = {}

local SPECS = { "auto", "cuda", "cuda:0", "sim", "sim:check", "sim:profile" }

local Module = {}
Module.__index = Module

--- Check a device's name without opening it. @treturn string the name, "auto" resolved
-- @raise "not_found" with the nearest name
function device.spec(name)
  if name == nil or name == "auto" then return core.default_device() end
  if name == "cuda" then return "cuda:0" end
  local bare = name:match("^sim[^,]*") or name -- what follows is checked when it is opened
  if bare == "sim" or bare == "sim:check" or bare == "sim:profile" or name:match("^cuda:%d+$") then
    return name
  end
  core.error("not_found", ("unknown device '%s'"):format(name),
    suggest.hint(name, SPECS, "perigee doctor says what this machine has; devices"))
end

-- The folder of the running script, where its relative paths start.
local function script_folder()
  local script = arg and arg[0]
  return script and files.dirname(script) or "."
end

local function source_of(how)
  if how.source then return how.source, how.name or "source.cu", nil end
  if type(how.file) ~= "string" then
    core.error("invalid", "compile: expected file = or source =",
      'dev:compile{ file = "saxpy.cu" }')
  end
  local path = files.find(how.file, { script_folder(), ".", core.home or "." })
  return files.read(path), files.shown(path), path
end

local function is_ptx(how)
  return how.lang == "ptx" or (not how.lang and how.file ~= nil
    and files.extension(how.file) == "ptx")
end

local function check_language(how)
  local lang = how.lang or "cuda"
  if lang ~= "cuda" and lang ~= "ptx" then
    core.error("unsupported", ("language '%s' is not in this version"):format(tostring(lang)),
      "languages: cuda, ptx")
  end
end

--- Compile and load.
-- @param dev the device
-- @tparam table how {file = path or source = text, lang = "cuda"|"ptx", define = {NAME = value},
--   include = {folder...}, options = {...}, arch = "compute_90"}
-- @treturn table module: `module:kernel(name)`, `module:kernels()`, `.ptx`, `.log`, `.seconds`,
--   `.cached`
-- @raise "compile_error" (the error carries .log), "environment" without NVRTC
local function compile_on(dev, how)
  check_language(how)
  local source, name, path = source_of(how)
  if is_ptx(how) then
    local self = setmetatable({ device = dev, ptx = source, log = "", seconds = 0, cached = false },
      Module)
    self.raw = dev:load(source, name)
    return self
  end
  local request = {}
  for key, value in pairs(how) do request[key] = value end
  request.source, request.name, request.path = source, name, path
  local info = dev:info()
  request.arch = how.arch or (info.kind == "cuda" and compile.arch_of(info)) or compile.DEFAULT_ARCH
  local built = compile.here(request)
  local self = setmetatable({
    device = dev, request = request, instances = {}, ptx = built.ptx, log = built.log,
    seconds = built.seconds, cached = built.cached, compiler = built.compiler,
  }, Module)
  self.raw = dev:load(built.ptx, name)
  return self
end

-- A template instance: compiled again with its name expression, so that the compiler keeps it.
local function instance(self, expression)
  if not self.request then
    core.error("not_found", ("'%s': PTX has no templates"):format(expression),
      "give the lowered name")
  end
  if not self.instances[expression] then
    local request = setmetatable({ expressions = { expression } }, { __index = self.request })
    local built = compile.here(request)
    local raw = self.device:load(built.ptx, self.request.name)
    self.instances[expression] = { raw = raw, kernel = raw:kernel(built.lowered[1]) }
  end
  return self.instances[expression].kernel
end

--- A kernel by name, e.g. "saxpy" or the template instance "saxpy<float, 4>".
-- @raise "not_found" with the names that exist
function Module:kernel(name)
  if name:find("<", 1, true) then return instance(self, name) end
  return self.raw:kernel(name)
end

--- Names of the kernels.
function Module:kernels()
  return self.raw:kernels()
end

-- The binding's devices share one metatable; the method is added to it once.
local function add_methods(dev)
  local methods = debug.getmetatable(dev).__index
  if type(methods) == "table" and not methods.compile then methods.compile = compile_on end
  return dev
end

--- Open a device. @tparam[opt="auto"] string name "auto", "cuda:N", "sim", "sim:check" or
-- "sim:profile"; a simulator's may go on with ",workers=N" and ",seed=N"
function device.open(name)
  return add_methods(core.device(device.spec(name)))
end

return device
