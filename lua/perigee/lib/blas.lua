--- BLAS through CBLAS: OpenBLAS, MKL or the reference implementation, whichever is found first.
-- Arrays are used in place, row by row; all arrays of a call have the same dtype, f64 or f32.
--
--    local blas = require "perigee.lib.blas"
--    local c = blas.gemm(a, b)                          -- {m, k} times {k, n}
--    local g = blas.gemm(a, a, { a_transposed = true }) -- a^T a
--
-- Every function raises environment when there is no BLAS, invalid for wrong shapes and dtypes, and
-- for a result that has memory in common with a matrix or vector that is read.
-- @module perigee.lib.blas

local core = require "perigee.core"
local library = require "perigee.lib.library"

local blas = {}

local FORMATS = "f64 f32"
local PREFIX, CTYPE = { f64 = "d", f32 = "s" }, { f64 = "double", f32 = "float" }

-- T is the type, P the letter.
local DECLARATIONS = [[
T cblas_Pdot(int n, const T* x, int incx, const T* y, int incy);
T cblas_Pnrm2(int n, const T* x, int incx);
T cblas_Pasum(int n, const T* x, int incx);
void cblas_Paxpy(int n, T alpha, const T* x, int incx, T* y, int incy);
void cblas_Pscal(int n, T alpha, T* x, int incx);
void cblas_Pgemv(int order, int transposed, int m, int n, T alpha, const T* a, int lda, const T* x,
                 int incx, T beta, T* y, int incy);
void cblas_Pgemm(int order, int a_transposed, int b_transposed, int m, int n, int k, T alpha,
                 const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);
void cblas_Ptrsm(int order, int side, int uplo, int transposed, int diag, int m, int n, T alpha,
                 const T* a, int lda, T* b, int ldb);
]]

local function declarations()
  local text = ""
  for dtype, letter in pairs(PREFIX) do
    text = text .. DECLARATIONS:gsub("%f[%w]T%f[%W]", CTYPE[dtype]):gsub("cblas_P",
      "cblas_" .. letter)
  end
  return text
end

local ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112
local UPPER, LOWER, NON_UNIT, UNIT, LEFT = 121, 122, 131, 132, 141

local open, available = library.declare {
  what = "BLAS", package = "libopenblas0",
  names = { "libopenblas.so.0", "libmkl_rt.so", "libmkl_rt.so.2", "libcblas.so.3", "libblas.so.3" },
  symbol = "cblas_dgemm", cdef = declarations(),
}

--- Whether a BLAS is there. @function available
blas.available = available

--- The file that was found. @treturn string such as "libopenblas.so.0"
function blas.name()
  return (select(2, open()))
end

local function check(where, name, array, ndim, like)
  library.check(where, name, array, like and like.dtype or FORMATS, ndim)
end

-- The function for the dtype of an array.
local function routine(name, array)
  return open()["cblas_" .. PREFIX[array.dtype] .. name]
end

local function same_length(where, x, y)
  if x.count ~= y.count then
    core.error("invalid", ("%s: x has %d elements, y has %d"):format(where, x.count, y.count))
  end
end

--- Inner product of two vectors.
-- @tparam array x
-- @tparam array y of as many elements
-- @treturn number
function blas.dot(x, y)
  check("dot", "x", x)
  check("dot", "y", y, nil, x)
  same_length("dot", x, y)
  return routine("dot", x)(x.count, x, 1, y, 1)
end

--- Euclidean norm of a vector, without overflow.
function blas.nrm2(x)
  check("nrm2", "x", x)
  return routine("nrm2", x)(x.count, x, 1)
end

--- Sum of the magnitudes of a vector.
function blas.asum(x)
  check("asum", "x", x)
  return routine("asum", x)(x.count, x, 1)
end

--- y = y + alpha x, in place. @treturn array y
function blas.axpy(alpha, x, y)
  check("axpy", "x", x)
  check("axpy", "y", y, nil, x)
  same_length("axpy", x, y)
  routine("axpy", x)(x.count, alpha, x, 1, y, 1)
  return y
end

--- x = alpha x, in place. @treturn array x
function blas.scal(alpha, x)
  check("scal", "x", x)
  routine("scal", x)(x.count, alpha, x, 1)
  return x
end

-- Rows and columns, exchanged for a transposed matrix.
local function extents(matrix, transposed)
  local rows, columns = matrix.shape[1], matrix.shape[2]
  if transposed then return columns, rows end
  return rows, columns
end

-- Leading dimensions are at least 1, also of empty matrices.
local function leading(matrix) return math.max(1, matrix.shape[2]) end

-- The array that receives a result: the option, apart from the arguments, or a new one.
local function result_of(where, name, o, shape, arguments)
  local array, like = o[name], arguments.a
  if not array then return core.array(like.dtype, shape) end
  check(where, name, array, #shape, like)
  library.check_shape(where, name, array, shape)
  library.check_apart(where, name, array, arguments)
  return array
end

--- y = alpha a x + beta y.
-- @tparam array a {m, n}
-- @tparam array x of n elements (m when transposed)
-- @tparam[opt] table options `transposed`, `alpha` (1), `beta` (0), `y` (default: a new array)
-- @treturn array y {m}
function blas.gemv(a, x, options)
  local o = library.options("gemv", options, { "transposed", "alpha", "beta", "y" })
  check("gemv", "a", a, 2)
  check("gemv", "x", x, nil, a)
  local m, n = extents(a, o.transposed)
  if x.count ~= n then
    core.error("invalid", ("gemv: x has %d elements, expected %d"):format(x.count, n))
  end
  local y = result_of("gemv", "y", o, { m }, { a = a, x = x })
  routine("gemv", a)(ROW_MAJOR, o.transposed and TRANSPOSED or PLAIN, a.shape[1], a.shape[2],
    o.alpha or 1, a, leading(a), x, 1, o.beta or 0, y, 1)
  return y
end

--- c = alpha a b + beta c.
-- @tparam array a {m, k}, or {k, m} with a_transposed
-- @tparam array b {k, n}, or {n, k} with b_transposed
-- @tparam[opt] table options `a_transposed`, `b_transposed`, `alpha` (1), `beta` (0), `c` (default:
--   a new array)
-- @treturn array c {m, n}
function blas.gemm(a, b, options)
  local o = library.options("gemm", options, { "a_transposed", "b_transposed", "alpha", "beta",
    "c" })
  check("gemm", "a", a, 2)
  check("gemm", "b", b, 2, a)
  local m, k = extents(a, o.a_transposed)
  local rows, n = extents(b, o.b_transposed)
  if rows ~= k then
    core.error("invalid", ("gemm: a has %d columns, b has %d rows"):format(k, rows))
  end
  local c = result_of("gemm", "c", o, { m, n }, { a = a, b = b })
  routine("gemm", a)(ROW_MAJOR, o.a_transposed and TRANSPOSED or PLAIN,
    o.b_transposed and TRANSPOSED or PLAIN, m, n, k, o.alpha or 1, a, leading(a), b, leading(b),
    o.beta or 0, c, leading(c))
  return c
end

--- Solve a x = alpha b for a triangular matrix; x comes in the place of b.
-- @tparam array a {n, n}; what lies in the other triangle does not matter
-- @tparam array b {n, m}
-- @tparam[opt] table options `upper`, `transposed`, `unit` (ones on the diagonal), `alpha` (1)
-- @treturn array b
function blas.trsm(a, b, options)
  local o = library.options("trsm", options, { "upper", "transposed", "unit", "alpha" })
  check("trsm", "a", a, 2)
  check("trsm", "b", b, 2, a)
  library.check_shape("trsm", "a", a, { b.shape[1], b.shape[1] })
  library.check_apart("trsm", "b", b, { a = a })
  routine("trsm", a)(ROW_MAJOR, LEFT, o.upper and UPPER or LOWER,
    o.transposed and TRANSPOSED or PLAIN, o.unit and UNIT or NON_UNIT, b.shape[1], b.shape[2],
    o.alpha or 1, a, leading(a), b, leading(b))
  return b
end

return blas
