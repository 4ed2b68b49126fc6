--- cuBLAS for experts: `local blas = require("perigee.lib.cublas").handle(run.stream)`.
-- Matrices are row-major here; the library's are column-major, so the factors change places.
-- @module perigee.lib.cublas

local cuda = require "perigee.lib.cuda"
local ffi = require "ffi"

local cublas = {}

ffi.cdef [[
  typedef struct cublasContext *cublasHandle_t;
  int cublasCreate_v2(cublasHandle_t *handle);
  int cublasDestroy_v2(cublasHandle_t handle);
  int cublasSetStream_v2(cublasHandle_t handle, void *stream);
  int cublasGetVersion_v2(cublasHandle_t handle, int *version);
  int cublasGemmEx(cublasHandle_t handle, int transa, int transb, int m, int n, int k,
                   const void *alpha, const void *a, int a_type, int lda, const void *b,
                   int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                   int compute, int algorithm);
]]

-- cudaDataType_t and cublasComputeType_t.
local TYPES = { f32 = 0, f64 = 1, f16 = 2, bf16 = 14 }
local COMPUTE_F32, COMPUTE_F64, DEFAULT_ALGORITHM = 68, 70, -1

local NAMES = { [1] = "not initialized", [3] = "allocation failed", [7] = "invalid value",
  [8] = "architecture mismatch", [13] = "execution failed", [15] = "not supported" }

local Handle = {}
Handle.__index = Handle

local function version_of(library, handle)
  local version = ffi.new "int[1]"
  cuda.check(library.cublasGetVersion_v2(handle, version), "cublasGetVersion", NAMES)
  local number = version[0]
  return ("%d.%d.%d"):format(number // 10000, number // 100 % 100, number % 100)
end

--- A handle that works on a stream.
-- @tparam integer stream
-- @treturn Handle with `version`
-- @raise "environment" when the library is missing
function cublas.handle(stream)
  local library, raw = cuda.open "cublas", ffi.new "cublasHandle_t[1]"
  cuda.check(library.cublasCreate_v2(raw), "cublasCreate", NAMES)
  local handle = ffi.gc(raw[0], library.cublasDestroy_v2)
  cuda.check(library.cublasSetStream_v2(handle, cuda.pointer(stream)), "cublasSetStream", NAMES)
  return setmetatable({ library = library, raw = handle, version = version_of(library, handle) },
    Handle)
end

--- Make ready a product of row-major matrices, c = a b, summed in f32 (f64 for f64), with no
-- arithmetic of fewer bits than the factors have: single precision stays single precision.
-- @tparam table how {m, n, k, dtype = of a and b, out = of c, the same if not said}
-- @treturn function (a, b, c) called with device addresses; enqueues
function Handle:product(how)
  local library, handle = self.library, self.raw
  local double = how.dtype == "f64"
  local one = ffi.new(double and "double[1]" or "float[1]", 1)
  local zero = ffi.new(double and "double[1]" or "float[1]", 0)
  local compute = double and COMPUTE_F64 or COMPUTE_F32
  local given, made = TYPES[how.dtype], TYPES[how.out or how.dtype]
  local m, n, k, pointer = how.m, how.n, how.k, cuda.pointer
  return function(a, b, c)
    local status = library.cublasGemmEx(handle, 0, 0, n, m, k, one, pointer(b), given, n,
      pointer(a), given, k, zero, pointer(c), made, n, compute, DEFAULT_ALGORITHM)
    if status ~= 0 then cuda.check(status, "cublasGemmEx", NAMES) end
  end
end

return cublas
