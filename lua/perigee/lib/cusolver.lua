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
  int cusolverDnCreateParams(void **params);
  int cusolverDnDestroyParams(void *params);
  int cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, void *params, int uplo, int64_t n,
                                  int type, uintptr_t a, int64_t lda, int compute, size_t *bytes,
                                  size_t *host_bytes);
  int cusolverDnXpotrf(cusolverDnHandle_t handle, void *params, int uplo, int64_t n, int type,
                       uintptr_t a, int64_t lda, int compute, uintptr_t workspace, size_t bytes,
                       void *host_workspace, size_t host_bytes, uintptr_t info);
  int cusolverDnSgetrf_bufferSize(cusolverDnHandle_t handle, int m, int n, uintptr_t a, int lda,
                                  int *count);
  int cusolverDnSgetrf(cusolverDnHandle_t handle, int m, int n, uintptr_t a, int lda,
                       uintptr_t workspace, uintptr_t pivots, uintptr_t info);
  int cusolverDnSgetrs(cusolverDnHandle_t handle, int transposed, int n, int nrhs, uintptr_t a,
                       int lda, uintptr_t pivots, uintptr_t b, int ldb, uintptr_t info);
]]

local LOWER, UPPER, TRANSPOSED, F32, INT = 0, 1, 1, 0, 4
local NAMES = { [1] = "not initialized", [2] = "allocation failed", [3] = "invalid value",
  [4] = "architecture mismatch", [6] = "execution failed", [7] = "internal error" }

local check, made = cuda.checker(NAMES)

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

-- The older call: sizes are of 32 bits.
function Handle:spotrf(uplo, n)
  local library, handle, info, count = self.library, self.raw, self.info, ffi.new "int[1]"
  check(library.cusolverDnSpotrf_bufferSize(handle, uplo, n, 0, n, count),
    "cusolverDnSpotrf_bufferSize")
  local room = cuda.allocate(4 * count[0])
  return function(a)
    return library.cusolverDnSpotrf(handle, uplo, n, a, n, room.at, count[0], info.at)
  end
end

-- The newer one, of sizes of 64 bits and any type.
function Handle:xpotrf(uplo, n)
  local library, handle, info = self.library, self.raw, self.info
  local params = made(library.cusolverDnCreateParams, library.cusolverDnDestroyParams,
    "cusolverDnCreateParams")
  local bytes, host_bytes = ffi.new "size_t[1]", ffi.new "size_t[1]"
  check(library.cusolverDnXpotrf_bufferSize(handle, params, uplo, n, F32, 0, n, F32, bytes,
    host_bytes), "cusolverDnXpotrf_bufferSize")
  local room, host_room = cuda.allocate(ffi.tonumber(bytes[0])), ffi.new("char[?]", host_bytes[0])
  return function(a)
    return library.cusolverDnXpotrf(handle, params, uplo, n, F32, a, n, F32, room.at, bytes[0],
      host_room, host_bytes[0], info.at)
  end
end

--- The library's ways to a Cholesky factor of a matrix of n x n, which takes the place of one
-- triangle of it; the other stays. Which is the fastest depends on the version and on n.
-- @treturn table list of {name, upper = which triangle, factor = function (a) that enqueues and
--   answers with a status}
function Handle:cholesky_ways(n)
  local list = {}
  for _, call in ipairs { "Spotrf", "Xpotrf" } do
    for uplo, triangle in pairs { [LOWER] = "lower", [UPPER] = "upper" } do
      list[#list + 1] = { name = call .. ", " .. triangle, upper = uplo == UPPER,
        factor = self[call:lower()](self, uplo, n) }
    end
  end
  return list
end

--- Make ready the solution of a x = b for a row-major matrix of n x n and m right-hand sides, each
-- of which is a row of `b`. Factors take the place of `a`, solutions that of `b`.
-- @treturn function (a, b)
function Handle:solution(n, m)
  local library, handle, info, count = self.library, self.raw, self.info, ffi.new "int[1]"
  check(library.cusolverDnSgetrf_bufferSize(handle, n, n, 0, n, count),
    "cusolverDnSgetrf_bufferSize")
  local room, pivots = cuda.allocate(4 * count[0]), cuda.allocate(INT * n)
  return function(a, b)
    check(library.cusolverDnSgetrf(handle, n, n, a, n, room.at, pivots.at, info.at),
      "cusolverDnSgetrf")
    check(library.cusolverDnSgetrs(handle, TRANSPOSED, n, m, a, n, pivots.at, b, n, info.at),
      "cusolverDnSgetrs")
  end
end

return cusolver
