--- cuBLAS and cuBLASLt for experts: `local blas = require "perigee.lib.cublas".handle(stream)`.
-- Matrices are row-major here; the library's are column-major, so the factors change places.
-- Device addresses are integers.
-- @module perigee.lib.cublas

local core = require "perigee.core"
local cuda = require "perigee.lib.cuda"
local ffi = require "ffi"

local cublas = {}

ffi.cdef [[
  typedef struct cublasContext *cublasHandle_t;
  int cublasCreate_v2(cublasHandle_t *handle);
  int cublasDestroy_v2(cublasHandle_t handle);
  int cublasSetStream_v2(cublasHandle_t handle, uintptr_t stream);
  int cublasGetVersion_v2(cublasHandle_t handle, int *version);
  int cublasGemmEx(cublasHandle_t handle, int transa, int transb, int m, int n, int k,
                   const void *alpha, uintptr_t a, int a_type, int lda, uintptr_t b, int b_type,
                   int ldb, const void *beta, uintptr_t c, int c_type, int ldc, int compute,
                   int algorithm);
  int cublasSgeam(cublasHandle_t handle, int transa, int transb, int m, int n, const float *alpha,
                  uintptr_t a, int lda, const float *beta, uintptr_t b, int ldb, uintptr_t c,
                  int ldc);

  typedef struct cublasLtContext *cublasLtHandle_t;
  typedef struct { uint64_t data[8]; } cublasLtMatmulAlgo_t;
  typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
  } cublasLtMatmulHeuristicResult_t;
  int cublasLtCreate(cublasLtHandle_t *handle);
  int cublasLtDestroy(cublasLtHandle_t handle);
  size_t cublasLtGetVersion(void);
  int cublasLtMatmulDescCreate(void **desc, int compute, int scale_type);
  int cublasLtMatmulDescDestroy(void *desc);
  int cublasLtMatrixLayoutCreate(void **layout, int type, uint64_t rows, uint64_t columns,
                                 int64_t ld);
  int cublasLtMatrixLayoutDestroy(void *layout);
  int cublasLtMatmulPreferenceCreate(void **preference);
  int cublasLtMatmulPreferenceDestroy(void *preference);
  int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                           size_t bytes);
  int cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, void *desc, void *a, void *b, void *c,
                                     void *d, void *preference, int requested,
                                     cublasLtMatmulHeuristicResult_t *results, int *returned);
  int cublasLtMatmul(cublasLtHandle_t handle, void *desc, const void *alpha, uintptr_t a,
                     void *a_layout, uintptr_t b, void *b_layout, const void *beta, uintptr_t c,
                     void *c_layout, uintptr_t d, void *d_layout, const cublasLtMatmulAlgo_t *algo,
                     uintptr_t workspace, size_t workspace_bytes, uintptr_t stream);
]]

-- cudaDataType_t, cublasComputeType_t, cublasLtMatmulPreferenceAttributes_t.
local TYPES = { f32 = 0, f64 = 1, f16 = 2, bf16 = 14 }
local COMPUTE_F32, COMPUTE_F64, DEFAULT_ALGORITHM, MAX_WORKSPACE = 68, 70, -1, 1

local NAMES = { [1] = "not initialized", [3] = "allocation failed", [7] = "invalid value",
  [8] = "architecture mismatch", [13] = "execution failed", [14] = "internal error",
  [15] = "not supported" }

local check, made = cuda.checker(NAMES)

-- One and zero, of the type that sums have.
local function factors(dtype)
  local type = dtype == "f64" and "double[1]" or "float[1]"
  return ffi.new(type, 1), ffi.new(type, 0)
end

-- ---- cuBLAS ----

local Handle = {}
Handle.__index = Handle

--- A handle that works on a stream.
-- @tparam integer stream
-- @treturn Handle with `version`
-- @raise "environment" when the library is missing
function cublas.handle(stream)
  local library, raw, version = cuda.open "cublas", ffi.new "cublasHandle_t[1]", ffi.new "int[1]"
  check(library.cublasCreate_v2(raw), "cublasCreate")
  local handle = ffi.gc(raw[0], library.cublasDestroy_v2)
  check(library.cublasSetStream_v2(handle, stream), "cublasSetStream")
  check(library.cublasGetVersion_v2(handle, version), "cublasGetVersion")
  return setmetatable({ library = library, raw = handle,
    version = cuda.version_text(version[0], 10000) }, Handle)
end

--- Make ready a product of row-major matrices, c = a b, in the arithmetic of f32 (of f64 for f64),
-- never of TF32.
-- @tparam table how {m, n, k, dtype = of a and b, out = of c, the same if not said}
-- @treturn function (a, b, c) called with device addresses; enqueues
function Handle:product(how)
  local library, handle, one, zero = self.library, self.raw, factors(how.dtype)
  local compute = how.dtype == "f64" and COMPUTE_F64 or COMPUTE_F32
  local given, wanted = TYPES[how.dtype], TYPES[how.out or how.dtype]
  local m, n, k = how.m, how.n, how.k
  return function(a, b, c)
    check(library.cublasGemmEx(handle, 0, 0, n, m, k, one, b, given, n, a, given, k, zero, c,
      wanted, n, compute, DEFAULT_ALGORITHM), "cublasGemmEx")
  end
end

--- Make ready a transposition of f32 matrices: `to` has the columns of `from` as its rows.
-- @tparam integer rows of `from`, row-major
-- @tparam integer columns
-- @treturn function (from, to)
function Handle:transposition(rows, columns)
  local library, handle, one, zero = self.library, self.raw, factors "f32"
  return function(from, to)
    check(library.cublasSgeam(handle, 1, 0, rows, columns, one, from, columns, zero, to, rows, to,
      rows), "cublasSgeam")
  end
end

-- ---- cuBLASLt ----

local ASKED, WORKSPACE = 8, 64 << 20 -- algorithms to choose from, bytes they may use

local function preference_of(library)
  local preference = made(library.cublasLtMatmulPreferenceCreate,
    library.cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceCreate")
  check(library.cublasLtMatmulPreferenceSetAttribute(preference, MAX_WORKSPACE,
    ffi.new("uint64_t[1]", WORKSPACE), 8), "cublasLtMatmulPreferenceSetAttribute")
  return preference
end

-- The algorithms that the library would try, best first by its own estimate.
local function algorithms(library, handle, desc, layouts)
  local results = ffi.new("cublasLtMatmulHeuristicResult_t[?]", ASKED)
  local returned = ffi.new "int[1]"
  check(library.cublasLtMatmulAlgoGetHeuristic(handle, desc, layouts.b, layouts.a, layouts.c,
    layouts.c, preference_of(library), ASKED, results, returned), "cublasLtMatmulAlgoGetHeuristic")
  local list = {}
  for i = 0, returned[0] - 1 do
    if results[i].state == 0 then list[#list + 1] = results[i] end
  end
  if #list == 0 then core.error("unsupported", "cuBLASLt has no algorithm for this product") end
  return list, results
end

--- The product of row-major matrices, c = a b, by the fastest of the algorithms that cuBLASLt
-- proposes, each tried on the buffers of `example`.
-- @tparam integer stream
-- @tparam table how {m, n, k, dtype = of a and b, out = of c}
-- @tparam table example {a, b, c}: device addresses
-- @treturn function (a, b, c) called with device addresses; enqueues
-- @treturn table {version, note = which was chosen}
function cublas.tuned_product(stream, how, example)
  local library, raw = cuda.open "cublasLt", ffi.new "cublasLtHandle_t[1]"
  check(library.cublasLtCreate(raw), "cublasLtCreate")
  local handle, one, zero = ffi.gc(raw[0], library.cublasLtDestroy), factors(how.dtype)
  local function layout(dtype, rows, columns)
    return made(library.cublasLtMatrixLayoutCreate, library.cublasLtMatrixLayoutDestroy,
      "cublasLtMatrixLayoutCreate", TYPES[dtype], columns, rows, columns)
  end
  local layouts = { a = layout(how.dtype, how.m, how.k), b = layout(how.dtype, how.k, how.n),
    c = layout(how.out, how.m, how.n) }
  local desc = made(library.cublasLtMatmulDescCreate, library.cublasLtMatmulDescDestroy,
    "cublasLtMatmulDescCreate", COMPUTE_F32, TYPES.f32)
  local list, results = algorithms(library, handle, desc, layouts)
  local workspace = cuda.allocate(WORKSPACE)
  local function enqueue(algorithm, a, b, c)
    return library.cublasLtMatmul(handle, desc, one, b, layouts.b, a, layouts.a, zero, c, layouts.c,
      c, layouts.c, algorithm.algo, workspace.at, WORKSPACE, stream)
  end
  local best, tried = cuda.fastest(stream, #list, function(i)
    return enqueue(list[i], example.a, example.b, example.c) == 0
  end)
  return function(a, b, c)
    check(enqueue(list[best], a, b, c), "cublasLtMatmul")
  end, { version = cuda.version_text(ffi.tonumber(library.cublasLtGetVersion()), 10000),
    keep = results, note = ("the fastest of %d algorithms, number %d"):format(tried, best) }
end

return cublas
