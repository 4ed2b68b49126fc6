--- CUB for experts: its device-wide functions are templates of host code, so a few lines of CUDA
-- C++ that call them are compiled by the toolkit's nvcc, once, into a library that ffi loads.
-- @module perigee.lib.cub

local core = require "perigee.core"
local cuda = require "perigee.lib.cuda"
local ffi = require "ffi"
local files = require "perigee.files"
local shell = require "perigee.shell"

local cub = {}

local HEAD = [[
#include <cub/cub.cuh>
#define PG_EXPORT extern "C" __attribute__((visibility("default")))
PG_EXPORT int pg_cub_version() { return CUB_VERSION; }
]]
local FLAGS = "-shared -O3 -std=c++17 -arch=native -Xcompiler -fPIC -Xlinker -z,defs"

-- nvcc and what it says of itself.
local function compiler()
  local candidates = {}
  for _, name in ipairs { "CUDA_HOME", "CUDA_PATH" } do
    local root = os.getenv(name)
    if root and root ~= "" then candidates[#candidates + 1] = files.join(root, "bin/nvcc") end
  end
  for _, path in ipairs { "nvcc", "/usr/local/cuda/bin/nvcc" } do
    candidates[#candidates + 1] = path
  end
  for _, path in ipairs(candidates) do
    local text, ok = shell.output(shell.quoted(path) .. " --version")
    if ok then return path, text end
  end
  core.error("environment", "this machine has no nvcc, which compiles CUB",
    "it comes with the CUDA toolkit; name its folder in CUDA_HOME")
end

local function first_error(log)
  return log:match "[^\n]*error[^\n]*" or log:match "[^\n]+" or "it says nothing"
end

local function compile(nvcc, text, to, folder)
  local source = files.join(folder, "source.cu")
  files.write(source, text)
  local log, compiled = shell.output(("%s %s %s -o %s"):format(shell.quoted(nvcc), FLAGS,
    shell.quoted(source), shell.quoted(to)))
  if not compiled then core.error("compile_error", "nvcc: " .. first_error(log)) end
end

--- Compile functions that call CUB, for the GPU that is here, or take them from the user's cache.
-- @tparam string source CUDA C++ after `#include <cub/cub.cuh>`; what is called from here begins
--   with PG_EXPORT
-- @tparam string declarations for ffi
-- @tparam string gpu the GPU's name, which is a part of the key
-- @treturn library of ffi
-- @treturn string version of CUB
-- @raise "environment" without nvcc, "compile_error"
function cub.compile(source, declarations, gpu)
  for i, text in ipairs { source or false, declarations or false, gpu or false } do
    if type(text) ~= "string" then
      core.error("invalid", ("bad argument #%d to 'compile': expected string, got %s"):format(i,
        text and type(text) or "nil"))
    end
  end
  local nvcc, version = compiler()
  local text = HEAD .. source
  local key = core.sha256(table.concat({ version, FLAGS, gpu, text }, "\0"))
  local folder = files.cache "native"
  if not (folder and core.mkdir_all(folder)) then
    core.error("environment", "there is no folder to keep compiled libraries in",
      "set HOME or XDG_CACHE_HOME")
  end
  local path = files.join(folder, key .. ".so")
  if not files.is_file(path) then
    files.make(path, function(to, within) compile(nvcc, text, to, within) end)
  end
  ffi.cdef("int pg_cub_version();" .. declarations)
  local library = ffi.load(path)
  return library, cuda.version_text(library.pg_cub_version(), 100000)
end

--- Make ready a device-wide function, which says itself how much memory it wants besides.
-- @tparam string what its name, for errors
-- @tparam function call (room, bytes, from, to), answers a status: where `room` is 0 it writes what
--   it wants into bytes[0], elsewhere it enqueues
-- @treturn function (from, to) called with device addresses; enqueues
function cub.ready(what, call)
  local bytes = ffi.new "size_t[1]"
  cuda.check(call(0, bytes, 0, 0), what)
  local room = cuda.allocate(math.max(1, ffi.tonumber(bytes[0])))
  return function(from, to) cuda.check(call(room.at, bytes, from, to), what) end
end

return cub
