--- Devices for scripts: what the C binding gives, plus `dev:compile` and modules that make template
-- instances on demand.
-- @module perigee.device

local core = require "perigee.core"
local compile = require "perigee.compile"
local files = require "perigee.files"
local impl = require "perigee.impl"
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

-- The language of a request: what it says, else what its file's name says, else CUDA C++.
local function language_of(how)
  if how.lang then return impl.known_language(how.lang) end
  return how.file and impl.LANGUAGES[files.extension(how.file)] or "cuda"
end

-- What stands in no need of NVRTC: PTX, and languages with compilers of their own.
local function load_built(dev, built, name)
  local self = setmetatable({ device = dev, ptx = built.ptx, log = built.log, cached = built.cached,
    seconds = built.seconds, compiler = built.compiler, map = compile.argument_map(built.ptx) },
    Module)
  self.raw = dev:load(built.ptx, name)
  return self
end

local function compile_elsewhere(dev, lang, how)
  if not how.file then
    core.error("invalid", ("dev:compile: %s is compiled from a file"):format(lang),
      'dev:compile{ file = "saxpy.rs" }')
  end
  local _, name, path = source_of(how)
  local info = dev:info()
  local request = impl.request({ lang = lang, path = path, shown = name, define = how.define }, {})
  local built, e = compile.finish(compile.start(request,
    how.arch or info.kind == "cuda" and compile.arch_of(info) or nil))
  if not built then error(e, 0) end
  return load_built(dev, built, name)
end

--- Compile and load.
-- @param dev the device
-- @tparam table how {file = path or source = text, lang = "cuda"|"rust"|"triton"|"ptx" (default: by
--   the file's name), define = {NAME = value},
--   include = {folder...}, options = {...}, arch = "compute_90"}
-- @treturn table module: `module:kernel(name)`, `module:kernels()`, `.ptx`, `.log`, `.seconds`,
--   `.cached`
-- @raise "compile_error" (the error carries .log), "environment" without NVRTC
local function compile_on(dev, how)
  local lang = language_of(how)
  if lang == "rust" or lang == "triton" then return compile_elsewhere(dev, lang, how) end
  local source, name, path = source_of(how)
  if lang == "ptx" then
    return load_built(dev, { ptx = source, log = "", seconds = 0, cached = false }, name)
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
