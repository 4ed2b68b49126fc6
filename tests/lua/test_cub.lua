-- perigee.lib.cub without a GPU: what it asks of nvcc, by a stand-in that notes it; and the real
-- compiler, where there is one, with the expert of a task.
local lu = require "luaunit"
local core = require "perigee.core"
local cub = require "perigee.lib.cub"
local cuda = require "perigee.lib.cuda"
local ffi = require "ffi"
local files = require "perigee.files"
local shell = require "perigee.shell"

local getenv = os.getenv
local folder, variables = files.temporary(), {}
os.getenv = function(name) -- luacheck: ignore
  if variables[name] ~= nil then return variables[name] or nil end
  return getenv(name)
end

-- An nvcc for C, and a CUB that is only a version.
local NVCC = [[
#!/bin/sh
here=${0%/bin/nvcc}
[ "$1" = --version ] && { cat "$here/version"; exit; }
echo run >>"$here/log"
for word; do case $word in *.cu) from=$word ;; *.so) to=$word ;; esac; done
sed 's/extern "C"//' "$from" | cc -shared -fPIC -I"$here/include" -x c - -o "$to"
]]

TestCub = {}

function TestCub.setUp()
  for _, name in ipairs { "bin", "include/cub" } do core.mkdir_all(folder .. "/" .. name) end
  core.write_file(folder .. "/bin/nvcc", NVCC)
  core.write_file(folder .. "/include/cub/cub.cuh", "#define CUB_VERSION 300102\n")
  core.write_file(folder .. "/version", "release 1")
  os.execute("chmod +x " .. shell.quoted(folder .. "/bin/nvcc"))
  variables.CUDA_HOME, variables.PERIGEE_CACHE = folder, folder .. "/cache"
end

function TestCub.tearDown() files.empty(folder) end

local function runs()
  return select(2, (core.read_file(folder .. "/log") or ""):gsub("run", ""))
end

local SOURCE, DECLARATION = "PG_EXPORT int t_cub() { return 7; }", "int t_cub();"

function TestCub.test_it_is_compiled_once_for_a_gpu_and_a_compiler()
  local library, version = cub.compile(SOURCE, DECLARATION, "A")
  lu.assertEquals({ library.t_cub(), version }, { 7, "3.1.2" })
  cub.compile(SOURCE, DECLARATION, "A")
  lu.assertEquals(runs(), 1)
  cub.compile(SOURCE, DECLARATION, "B")
  lu.assertEquals(runs(), 2)
  core.write_file(folder .. "/version", "release 2")
  cub.compile(SOURCE, DECLARATION, "A")
  lu.assertEquals(runs(), 3)
  for _, name in ipairs(core.list_dir(folder .. "/cache/native")) do
    lu.assertStrMatches(name, "%x+%.so")
  end
end

local function failure(...)
  local ok, e = pcall(cub.compile, ...)
  lu.assertFalse(ok)
  return e
end

function TestCub.test_what_does_not_compile_is_told_and_not_kept()
  local e = failure("PG_EXPORT int t_bad() { return nowhere; }", "int t_bad();", "A")
  lu.assertEquals(e.code, "compile_error")
  lu.assertStrContains(e.message, "nowhere")
  lu.assertEquals(core.list_dir(folder .. "/cache/native"), {})
end

function TestCub.test_mistakes_and_what_is_missing()
  for i, arguments in ipairs { { nil, "", "" }, { "", 5, "" }, { "", "" } } do
    local e = failure(table.unpack(arguments, 1, 3))
    lu.assertStrContains(e.message, ("bad argument #%d to 'compile': expected string"):format(i))
  end
  variables.PERIGEE_CACHE = "off"
  local e = failure(SOURCE, DECLARATION, "A")
  lu.assertEquals(e.code, "environment")
  lu.assertStrContains(e.hint, "XDG_CACHE_HOME")
end

-- What experts share says that there is no driver, instead of what the loader says.
function TestCub.test_no_driver_is_an_error_of_the_machine()
  lu.skipIf(pcall(ffi.load, "libcuda.so.1"), "there is a driver")
  for _, call in ipairs { cuda.driver, function() return cuda.allocate(8) end } do
    local ok, e = pcall(call)
    lu.assertFalse(ok)
    lu.assertEquals(e.code, "environment")
    lu.assertStrContains(e.hint, "driver of an NVIDIA GPU")
  end
end

-- The lines that an expert has in its file, by the real CUB. Without a GPU nothing runs: CUB's own
-- code says so.
TestReal = {}

function TestReal.test_the_expert_of_a_sum_compiles()
  variables.CUDA_HOME, variables.PERIGEE_CACHE = nil, folder .. "/cache"
  local _, found = shell.output "nvcc --version || /usr/local/cuda/bin/nvcc --version"
  lu.skipIf(not found, "no nvcc")
  local _, gpu = shell.output "nvidia-smi -L"
  lu.skipIf(gpu, "there is a GPU: tests/gpu runs it")
  local expert = dofile "kernels/reduce/expert.lua"
  local ok, e = pcall(expert, { gpu = "none", stream = 0, params = { n = 100 } })
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "launch_error")
  lu.assertStrMatches(e.message, "cub::DeviceReduce::Sum: status %d+")
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status, true)
