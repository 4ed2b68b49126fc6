--- What the bindings of NVIDIA's libraries share: finding a library at run time, device memory for
-- workspaces, errors. Each library is a file beside this one; all are for experts, which run in a
-- trusted runner (perigee.trusted) and work on its stream.
-- @module perigee.lib.cuda

local core = require "perigee.core"
local ffi = require "ffi"
local files = require "perigee.files"
local shell = require "perigee.shell"

local cuda = {}

ffi.cdef [[
  int cuMemAlloc_v2(uint64_t *address, size_t bytes);
  int cuMemFree_v2(uint64_t address);
  int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, uintptr_t stream);
  int cuStreamSynchronize(uintptr_t stream);
  int cuModuleLoadDataEx(void **module, const void *image, unsigned count, void *options,
                         void *values);
  int cuModuleGetFunction(void **function, void *module, const char *name);
  int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                     uintptr_t stream, void **params, void **extra);
]]

-- ---- finding libraries ----

local MAJORS = { 13, 12, 11, 10, 9, 8 } -- of their file names, newest first

-- Folders below `folder` in which Python's wheels keep the libraries.
local function add_wheels(folder, list)
  local nvidia = files.join(folder, "nvidia")
  for _, name in ipairs(core.list_dir(nvidia) or {}) do
    local lib = files.join(files.join(nvidia, name), "lib")
    if files.is_folder(lib) then list[#list + 1] = lib end
  end
end

-- Where the user's Python looks for packages; asked only when a library is nowhere else.
local function python_folders()
  local python = os.getenv "PERIGEE_PYTHON" or "python3"
  local pipe = io.popen(shell.quoted(python)
    .. " -c 'import sys; print(*sys.path, sep=chr(10))' 2>/dev/null", "r")
  local list = {}
  for folder in pipe:lines() do
    if folder ~= "" then add_wheels(folder, list) end
  end
  pipe:close()
  return list
end

local function toolkit_folders()
  local list = {}
  for _, name in ipairs { "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX" } do
    local root = os.getenv(name)
    for _, lib in ipairs(root and root ~= "" and { "lib64", "lib" } or {}) do
      list[#list + 1] = files.join(root, lib)
    end
  end
  list[#list + 1] = "/usr/local/cuda/lib64"
  list[#list + 1] = "/usr/local/cuda/lib"
  return list
end

local function try(name)
  local ok, library = pcall(ffi.load, name)
  return ok and library or nil
end

local function try_folders(stem, folders)
  for _, folder in ipairs(folders) do
    for _, major in ipairs(MAJORS) do
      local path = files.join(folder, ("lib%s.so.%d"):format(stem, major))
      local library = files.is_file(path) and try(path)
      if library then return library end
    end
  end
  return nil
end

--- Open a library: where the loader finds it, in the toolkit, or in wheels of the user's Python.
-- @tparam string stem "cublas"
-- @tparam[opt] string package what brings it, for the hint
-- @treturn library of ffi
-- @raise "environment" when it is not there
function cuda.open(stem, package)
  for _, major in ipairs(MAJORS) do
    local library = try(("lib%s.so.%d"):format(stem, major))
    if library then return library end
  end
  return try_folders(stem, toolkit_folders()) or try_folders(stem, python_folders())
    or core.error("environment", ("this machine has no lib%s"):format(stem),
      ("it comes with %s; or name its folder in LD_LIBRARY_PATH"):format(package or
        ("the CUDA toolkit and the Python package nvidia-%s"):format(stem)))
end

--- Raise what a library answered, unless it is 0.
-- @tparam integer status
-- @tparam string what the call, e.g. "cublasSgemm"
-- @tparam[opt] table names status -> name
-- @raise "launch_error"
function cuda.check(status, what, names)
  if type(status) ~= "number" then status = ffi.tonumber(status) end
  if status == 0 then return end
  core.error("launch_error", ("%s: status %d%s"):format(what, status,
    names and names[status] and " (" .. names[status] .. ")" or ""))
end

--- What calls of one library are made with.
-- @tparam[opt] table names status -> name
-- @treturn function check(status, what): raises as `cuda.check`, with these names
-- @treturn function made(create, destroy, what, ...): the pointer that `create`, called with where
--   to write it and with all that follows, answers; destroyed with the value
function cuda.checker(names)
  local function check(status, what) cuda.check(status, what, names) end
  return check, function(create, destroy, what, ...)
    local raw = ffi.new "void *[1]"
    check(create(raw, ...), what)
    return ffi.gc(raw[0], destroy)
  end
end

--- A version as text: NVIDIA's libraries give one number, major x `of_major` + minor x 100 + patch.
function cuda.version_text(number, of_major)
  return ("%d.%d.%d"):format(number // of_major, number % of_major // 100, number % 100)
end

-- ---- memory and streams ----

--- The driver's library. @raise "environment"
function cuda.driver()
  return try "libcuda.so.1" or core.error("environment", "this machine has no libcuda.so.1",
    "it comes with the driver of an NVIDIA GPU")
end

--- Device memory that nobody else touches.
-- @tparam integer bytes 0 is allowed
-- @treturn table {at = its address, or 0, bytes}; freed with the value
-- @raise "out_of_memory"
function cuda.allocate(bytes)
  local driver, at = cuda.driver(), ffi.new "uint64_t[1]"
  if bytes > 0 and driver.cuMemAlloc_v2(at, bytes) ~= 0 then
    core.error("out_of_memory", ("no memory for a workspace of %d bytes"):format(bytes))
  end
  local address = ffi.tonumber(at[0])
  return setmetatable({ at = address, bytes = bytes }, { __gc = function()
    if address ~= 0 then driver.cuMemFree_v2(address) end
  end })
end

--- Make ready a copy on the device. @treturn function (to, from) called with addresses; enqueues
function cuda.copying(stream, bytes)
  local driver = cuda.driver()
  return function(to, from)
    if bytes > 0 then
      cuda.check(driver.cuMemcpyDtoDAsync_v2(to, from, bytes, stream), "cuMemcpyDtoDAsync")
    end
  end
end

--- Wait for a stream.
function cuda.wait(stream)
  cuda.check(cuda.driver().cuStreamSynchronize(stream), "cuStreamSynchronize")
end

local TRIES = 5 -- of each; the best counts

--- Which of several ways takes the least time, by the host's clock.
-- @tparam integer stream
-- @tparam integer count
-- @tparam function enqueue called with the number of a way; false: that one does not work
-- @treturn integer the fastest
-- @treturn integer how many work
-- @raise "unsupported" when none does
function cuda.fastest(stream, count, enqueue)
  local best, best_s, works = nil, math.huge, 0
  for number = 1, count do
    local least, ok = math.huge, enqueue(number) -- which may load a kernel
    for _ = 1, ok and TRIES or 0 do
      cuda.wait(stream)
      local started = core.now()
      enqueue(number)
      cuda.wait(stream)
      least = math.min(least, core.now() - started)
    end
    works = works + (ok and 1 or 0)
    if least < best_s then best, best_s = number, least end
  end
  return best or core.error("unsupported", "the library has no way to compute this"), works
end

-- ---- kernels of our own ----

--- A kernel of committed PTX, for the little that a library leaves to do.
-- @tparam string path of the PTX, relative to Perigee's folder
-- @tparam string name
-- @treturn function (stream, grid, block, args = a cdata array of pointers to the arguments)
function cuda.kernel(path, name)
  local driver, module, entry = cuda.driver(), ffi.new "void *[1]", ffi.new "void *[1]"
  local ptx = files.read(files.find(path, { core.home }))
  cuda.check(driver.cuModuleLoadDataEx(module, ptx, 0, nil, nil), "cuModuleLoadDataEx")
  cuda.check(driver.cuModuleGetFunction(entry, module[0], name), "cuModuleGetFunction")
  return function(stream, grid, block, args)
    cuda.check(driver.cuLaunchKernel(entry[0], grid[1], grid[2], 1, block[1], block[2], 1, 0,
      stream, args, nil), "cuLaunchKernel")
  end
end

return cuda
