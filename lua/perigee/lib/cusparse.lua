--- cuSPARSE for experts: a sparse matrix in compressed rows times a vector.
-- @module perigee.lib.cusparse

local cuda = require "perigee.lib.cuda"
local ffi = require "ffi"

local cusparse = {}

ffi.cdef [[
  typedef struct cusparseContext *cusparseHandle_t;
  int cusparseCreate(cusparseHandle_t *handle);
  int cusparseDestroy(cusparseHandle_t handle);
  int cusparseGetVersion(cusparseHandle_t handle, int *version);
  int cusparseSetStream(cusparseHandle_t handle, uintptr_t stream);
  int cusparseCreateCsr(void **matrix, int64_t rows, int64_t columns, int64_t count,
                        uintptr_t first, uintptr_t column, uintptr_t value, int first_type,
                        int column_type, int base, int type);
  int cusparseDestroySpMat(void *matrix);
  int cusparseCreateDnVec(void **vector, int64_t size, uintptr_t values, int type);
  int cusparseDestroyDnVec(void *vector);
  int cusparseSpMV_bufferSize(cusparseHandle_t handle, int op, const void *alpha, void *a, void *x,
                              const void *beta, void *y, int compute, int algorithm,
                              size_t *bytes);
  int cusparseSpMV(cusparseHandle_t handle, int op, const void *alpha, void *a, void *x,
                   const void *beta, void *y, int compute, int algorithm, uintptr_t buffer);
]]

local F32, INDEX_32, NOT_TRANSPOSED = 0, 2, 0
local ALGORITHMS = { 2, 3 } -- CSR_ALG1, the default, and CSR_ALG2, whose sums have one order
local NAMES = { [1] = "not initialized", [2] = "allocation failed", [3] = "invalid value",
  [4] = "architecture mismatch", [6] = "execution failed", [7] = "internal error",
  [10] = "not supported", [11] = "insufficient resources" }

local check, made = cuda.checker(NAMES)

--- Make ready y = a x in single precision, for each of several sets of buffers, by the faster of
-- the library's two algorithms. Nothing about the matrix is worked out beforehand: what a product
-- needs to know of it is timed.
-- @tparam integer stream
-- @tparam table how {rows, count = elements}
-- @tparam table sets list of {first, column, value, x, y}: device addresses
-- @treturn function (number of a set, from 1); enqueues
-- @treturn table {version, note}
-- @raise "environment" when the library is missing
function cusparse.product(stream, how, sets)
  local library, raw = cuda.open "cusparse", ffi.new "cusparseHandle_t[1]"
  check(library.cusparseCreate(raw), "cusparseCreate")
  local handle, version = ffi.gc(raw[0], library.cusparseDestroy), ffi.new "int[1]"
  check(library.cusparseSetStream(handle, stream), "cusparseSetStream")
  check(library.cusparseGetVersion(handle, version), "cusparseGetVersion")
  local one, zero = ffi.new("float[1]", 1), ffi.new("float[1]", 0)
  local function vector(at)
    return made(library.cusparseCreateDnVec, library.cusparseDestroyDnVec, "cusparseCreateDnVec",
      how.rows, at, F32)
  end
  local described, buffers = {}, {}
  for i, io in ipairs(sets) do
    described[i] = { x = vector(io.x), y = vector(io.y),
      a = made(library.cusparseCreateCsr, library.cusparseDestroySpMat, "cusparseCreateCsr",
        how.rows, how.rows, how.count, io.first, io.column, io.value, INDEX_32, INDEX_32, 0, F32) }
  end
  for i, algorithm in ipairs(ALGORITHMS) do
    local bytes, d = ffi.new "size_t[1]", described[1]
    check(library.cusparseSpMV_bufferSize(handle, NOT_TRANSPOSED, one, d.a, d.x, zero, d.y, F32,
      algorithm, bytes), "cusparseSpMV_bufferSize")
    buffers[i] = cuda.allocate(ffi.tonumber(bytes[0]))
  end
  local function enqueue(which, d)
    return library.cusparseSpMV(handle, NOT_TRANSPOSED, one, d.a, d.x, zero, d.y, F32,
      ALGORITHMS[which], buffers[which].at)
  end
  local best = cuda.fastest(stream, #ALGORITHMS, function(i)
    return enqueue(i, described[1]) == 0
  end)
  return function(set) check(enqueue(best, described[set]), "cusparseSpMV") end,
    { version = cuda.version_text(version[0], 1000), note = ("CSR_ALG%d"):format(best) }
end

return cusparse
