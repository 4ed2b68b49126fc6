--- cuSOLVER for experts: dense factors in single precision. Matrices are the library's,
-- column-major; a row-major one is its transpose. Device addresses are integers.
-- @module perigee.lib.cusolver

local cuda = require "perigee.lib.cuda"
local ffi = require "ffi"

local cusolver = {}

ffi.cdef [[
  typedef struct cusolverDnContext *cusolverDnHandle_t;
  int cusolverGetVersion(int *version);
  int cusolverDnCreate(cusolverDnHandle_t *handle);
  int cusolverDnDestroy(cusolverDnHandle_t handle);
  int cusolverDnSetStream(cusolverDnHandle_t handle, uintptr_t stream);
  int cusolverDnSpotrf_bufferSize(cusolverDnHandle_t handle, int uplo, int n, uintptr_t a, int lda,
                                  int *count);
  int cusolverDnSpotrf(cusolverDnHandle_t handle, int uplo, int n, uintptr_t a, int lda,
                       uintptr_t workspace, int count, uintptr_t info);
  int cusolverDnSgetrf_bufferSize(cusolverDnHandle_t handle, int m, int n, uintptr_t a, int lda,
                                  int *count);
  int cusolverDnSgetrf(cusolverDnHandle_t handle, int m, int n, uintptr_t a, int lda,
                       uintptr_t workspace, uintptr_t pivots, uintptr_t info);
  int cusolverDnSgetrs(cusolverDnHandle_t handle, int transposed, int n, int nrhs, uintptr_t a,
                       int lda, uintptr_t pivots, uintptr_t b, int ldb, uintptr_t info);
]]

local LOWER, NOT_TRANSPOSED, INT = 0, 0, 4
local NAMES = { [1] = "not initialized", [2] = "allocation failed", [3] = "invalid value",
  [4] = "architecture mismatch", [6] = "execution failed", [7] = "internal error" }

local check = cuda.checker(NAMES)

local Handle = {}
Handle.__index = Handle

--- A handle that works on a stream. @treturn Handle with `version`
-- @raise "environment" when the library is missing
function cusolver.handle(stream)
  local library, raw = cuda.open "cusolver", ffi.new "cusolverDnHandle_t[1]"
  local version = ffi.new "int[1]"
  check(library.cusolverGetVersion(version), "cusolverGetVersion")
  check(library.cusolverDnCreate(raw), "cusolverDnCreate")
  local handle = ffi.gc(raw[0], library.cusolverDnDestroy)
  check(library.cusolverDnSetStream(handle, stream), "cusolverDnSetStream")
  return setmetatable({ library = library, raw = handle, info = cuda.allocate(INT),
    version = cuda.version_text(version[0], 1000) }, Handle)
end

--- Make ready a Cholesky factor of a symmetric matrix of n x n: its lower triangle becomes that of
-- the factor, what is above the diagonal stays. On an H200 the upper one takes 2.7 times as long.
-- @treturn function (a)
function Handle:cholesky(n)
  local library, handle, info, count = self.library, self.raw, self.info, ffi.new "int[1]"
  check(library.cusolverDnSpotrf_bufferSize(handle, LOWER, n, 0, n, count),
    "cusolverDnSpotrf_bufferSize")
  local room = cuda.allocate(4 * count[0])
  return function(a)
    check(library.cusolverDnSpotrf(handle, LOWER, n, a, n, room.at, count[0], info.at),
      "cusolverDnSpotrf")
  end
end

--- Make ready the solution of a x = b for a matrix of n x n and m right-hand sides. Factors take
-- the place of `a`, solutions that of `b`.
-- @treturn function (a, b)
function Handle:solution(n, m)
  local library, handle, info, count = self.library, self.raw, self.info, ffi.new "int[1]"
  check(library.cusolverDnSgetrf_bufferSize(handle, n, n, 0, n, count),
    "cusolverDnSgetrf_bufferSize")
  local room, pivots = cuda.allocate(4 * count[0]), cuda.allocate(INT * n)
  return function(a, b)
    check(library.cusolverDnSgetrf(handle, n, n, a, n, room.at, pivots.at, info.at),
      "cusolverDnSgetrf")
    check(library.cusolverDnSgetrs(handle, NOT_TRANSPOSED, n, m, a, n, pivots.at, b, n, info.at),
      "cusolverDnSgetrs")
  end
end

return cusolver
