--- cuFFT for experts.
-- @module perigee.lib.cufft

local cuda = require "perigee.lib.cuda"
local ffi = require "ffi"

local cufft = {}

ffi.cdef [[
  int cufftPlan1d(int *plan, int nx, int type, int batch);
  int cufftSetStream(int plan, uintptr_t stream);
  int cufftExecC2C(int plan, uintptr_t from, uintptr_t to, int direction);
  int cufftDestroy(int plan);
  int cufftGetVersion(int *version);
]]

local C2C, FORWARD = 0x29, -1
local NAMES = { [1] = "invalid plan", [2] = "allocation failed", [4] = "invalid value",
  [5] = "internal error", [6] = "execution failed", [7] = "setup failed", [8] = "invalid size" }

local check = cuda.checker(NAMES)

--- Make ready forward transforms of rows of complex numbers in single precision, not scaled.
-- @tparam integer stream
-- @tparam integer n length of a row
-- @tparam integer batch rows
-- @treturn function (from, to) called with device addresses; enqueues
-- @treturn string version
-- @raise "environment" when the library is missing
function cufft.forward(stream, n, batch)
  local library, raw, version = cuda.open "cufft", ffi.new "int[1]", ffi.new "int[1]"
  check(library.cufftGetVersion(version), "cufftGetVersion")
  check(library.cufftPlan1d(raw, n, C2C, batch), "cufftPlan1d")
  local plan = raw[0]
  local owner = setmetatable({}, { __gc = function() library.cufftDestroy(plan) end })
  check(library.cufftSetStream(plan, stream), "cufftSetStream")
  return function(from, to)
    check(owner and library.cufftExecC2C(plan, from, to, FORWARD), "cufftExecC2C")
  end, cuda.version_text(version[0], 1000)
end

return cufft
