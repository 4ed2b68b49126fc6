--- What the bindings of NVIDIA's libraries share: finding a library at run time, device memory for
-- workspaces, errors. Each library is a file beside this one; all are for experts, which run in a
-- trusted runner (perigee.trusted) and work on its stream.
-- @module perigee.lib.cuda

local core = require "perigee.core"
local ffi = require "ffi"
local files = require "perigee.files"

local cuda = {}

ffi.cdef [[
  int cuMemAlloc_v2(uint64_t *address, size_t bytes);
  int cuMemFree_v2(uint64_t address);
  int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
  int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
  int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream);
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
  local pipe = io.popen(("'%s' -c 'import sys; print(*sys.path, sep=chr(10))' 2>/dev/null"):format(
    (python:gsub("'", "'\\''"))), "r")
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
-- @raise "out_of_memory" is left to the library's own status: "launch_error"
function cuda.check(status, what, names)
  if type(status) ~= "number" then status = ffi.tonumber(status) end
  if status == 0 then return end
  core.error("launch_error", ("%s: status %d%s"):format(what, status,
    names and names[status] and " (" .. names[status] .. ")" or ""))
end

-- ---- memory ----

--- The driver's library.
function cuda.driver()
  return ffi.load "libcuda.so.1"
end

--- Device memory that nobody else touches.
-- @tparam integer bytes 0 is allowed
-- @treturn table {at = its address, or 0, bytes}; freed with the value
-- @raise "out_of_memory"
function cuda.allocate(bytes)
  local driver, at = cuda.driver(), ffi.new "uint64_t[1]"
  if bytes > 0 and ffi.tonumber(driver.cuMemAlloc_v2(at, bytes)) ~= 0 then
    core.error("out_of_memory", ("no memory for a workspace of %d bytes"):format(bytes))
  end
  local address = ffi.tonumber(at[0])
  return setmetatable({ at = address, bytes = bytes }, { __gc = function()
    if address ~= 0 then driver.cuMemFree_v2(address) end
  end })
end

--- A device address as the pointer that a library takes. @tparam integer address
function cuda.pointer(address)
  return ffi.cast("void *", address)
end

return cuda
