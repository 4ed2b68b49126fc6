--- LAPACK through LAPACKE: factors, solutions, eigenvalues, singular values. Matrices are f64
-- arrays of two extents, row by row. Arguments are left as they are; results are new arrays.
--
--    local lapack = require "perigee.lib.lapack"
--    local x = lapack.solve(a, b)
--    local w, v = lapack.eigen(symmetric)
--
-- Every function raises environment when there is no LAPACKE, invalid for wrong shapes and dtypes,
-- range where a result does not exist (a singular matrix, one that is not positive definite).
-- @module perigee.lib.lapack

local core = require "perigee.core"
local library = require "perigee.lib.library"

local lapack = {}

local ROW_MAJOR, UPPER, LOWER, VECTORS = 101, ("U"):byte(), ("L"):byte(), ("V"):byte()
local NONE, ONE_NORM, SOME = ("N"):byte(), ("1"):byte(), ("S"):byte()

local open, available = library.declare {
  what = "LAPACKE", package = "liblapacke",
  names = { "liblapacke.so.3", "libmkl_rt.so", "libmkl_rt.so.2", "libopenblas.so.0" },
  symbol = "LAPACKE_dgesv",
  cdef = [[
int LAPACKE_dgesv(int layout, int n, int nrhs, double* a, int lda, int* ipiv, double* b, int ldb);
int LAPACKE_dgetrf(int layout, int m, int n, double* a, int lda, int* ipiv);
int LAPACKE_dgecon(int layout, char norm, int n, const double* a, int lda, double anorm,
                   double* rcond);
int LAPACKE_dpotrf(int layout, char uplo, int n, double* a, int lda);
int LAPACKE_dgeqrf(int layout, int m, int n, double* a, int lda, double* tau);
int LAPACKE_dorgqr(int layout, int m, int n, int k, double* a, int lda, const double* tau);
int LAPACKE_dgels(int layout, char trans, int m, int n, int nrhs, double* a, int lda, double* b,
                  int ldb);
int LAPACKE_dsyevd(int layout, char jobz, char uplo, int n, double* a, int lda, double* w);
int LAPACKE_dgesdd(int layout, char jobz, int m, int n, double* a, int lda, double* s, double* u,
                   int ldu, double* vt, int ldvt);
]],
}

--- Whether LAPACKE is there. @function available
lapack.available = available

--- The file that was found.
function lapack.name()
  return (select(2, open()))
end

local function check(where, name, array, shape)
  library.check(where, name, array, "f64", 2)
  if shape then library.check_shape(where, name, array, shape) end
end

local function check_square(where, a)
  check(where, "a", a)
  library.check_shape(where, "a", a, { a.shape[1], a.shape[1] })
  return a.shape[1]
end

-- Call a routine; `failed` says what a positive info means, nil where there is none.
local function call(name, failed, ...)
  local info = open()["LAPACKE_" .. name](...)
  if info > 0 and failed then core.error("range", failed:format(info - 1)) end
  if info < -1000 then core.error("out_of_memory", name .. ": no memory for its workspace") end
  if info < 0 then
    core.error("invalid", ("%s: argument %d is wrong, or has a NaN"):format(name, -info))
  end
end

local function leading(a) return math.max(1, a.shape[2]) end

--- Solve a x = b by factors with partial pivoting.
-- @tparam array a {n, n}
-- @tparam array b {n, m}, or {n}
-- @treturn array x with the shape of b
function lapack.solve(a, b)
  local n = check_square("solve", a)
  library.check("solve", "b", b, "f64")
  local x = b:copy()
  local columns = b.ndim == 1 and 1 or b.shape[2]
  library.check_shape("solve", "b", b, b.ndim == 1 and { n } or { n, columns })
  call("dgesv", "solve: the matrix is singular: pivot %d is 0", ROW_MAJOR, n, columns, a:copy(),
    leading(a), core.array("i32", n), x, math.max(1, columns))
  return x
end

--- Factors with partial pivoting: row i of l u is row p[i] of a.
-- @tparam array a {m, n}
-- @treturn array lu {m, n}: u, and l below its diagonal, whose own is 1
-- @treturn array p i32 {m}: a permutation of the rows
-- @treturn boolean whether u has a zero on its diagonal
function lapack.lu(a)
  check("lu", "a", a)
  local m, n = a.shape[1], a.shape[2]
  local lu, pivots, p = a:copy(), core.array("i32", math.min(m, n)), core.array("i32", m)
  local info = open().LAPACKE_dgetrf(ROW_MAJOR, m, n, lu, leading(a), pivots)
  if info < 0 then core.error("invalid", "lu: the matrix has a NaN") end
  for i = 0, m - 1 do p[i] = i end
  for i = 0, pivots.count - 1 do
    local j = pivots[i] - 1
    p[i], p[j] = p[j], p[i]
  end
  return lu, p, info > 0
end

local function one_norm(a)
  local largest = 0
  for j = 0, a.shape[2] - 1 do
    local sum = 0
    for i = 0, a.shape[1] - 1 do sum = sum + math.abs(a:get(i, j)) end
    largest = math.max(largest, sum)
  end
  return largest
end

--- Estimate of the condition number in the 1-norm; infinity for a singular matrix.
-- @tparam array a {n, n}
-- @treturn number
function lapack.condition(a)
  local n = check_square("condition", a)
  local lu, _, singular = lapack.lu(a)
  if singular then return math.huge end
  local reciprocal = core.array("f64", 1)
  call("dgecon", nil, ROW_MAJOR, ONE_NORM, n, lu, leading(a), one_norm(a), reciprocal)
  return 1 / reciprocal[0]
end

--- Cholesky factor of a symmetric positive definite matrix: a = l l^T, or u^T u with `upper`.
-- @tparam array a {n, n}; one triangle of it is read
-- @tparam[opt] table options `upper`
-- @treturn array {n, n}, zeros in the other triangle
function lapack.cholesky(a, options)
  local o = library.options("cholesky", options, { "upper" })
  local n = check_square("cholesky", a)
  local l = a:copy()
  call("dpotrf", "cholesky: the matrix is not positive definite: column %d", ROW_MAJOR,
    o.upper and UPPER or LOWER, n, l, leading(a))
  for i = 0, n - 1 do
    if o.upper then l:slice(i * n, i):fill(0)
    else l:slice(i * n + i + 1, n - 1 - i):fill(0) end
  end
  return l
end

--- a = q r, q with orthonormal columns and r upper triangular.
-- @tparam array a {m, n}, m >= n
-- @treturn array q {m, n}
-- @treturn array r {n, n}
function lapack.qr(a)
  check("qr", "a", a)
  local m, n = a.shape[1], a.shape[2]
  if m < n then
    core.error("invalid", ("qr: a has %d rows, fewer than its %d columns"):format(m, n)) end
  local q, tau, r = a:copy(), core.array("f64", n), core.array("f64", { n, n })
  call("dgeqrf", nil, ROW_MAJOR, m, n, q, leading(a), tau)
  for i = 0, n - 1 do
    r:slice(i * n + i, n - i):copy_from(q:slice(i * n + i, n - i))
  end
  call("dorgqr", nil, ROW_MAJOR, m, n, n, q, leading(a), tau)
  return q, r
end

--- The x for which |a x - b| is smallest, a of full rank; with fewer rows than columns the smallest
-- such x.
-- @tparam array a {m, n}
-- @tparam array b {m, k}
-- @treturn array x {n, k}
function lapack.least_squares(a, b)
  check("least_squares", "a", a)
  check("least_squares", "b", b)
  local m, n, k = a.shape[1], a.shape[2], b.shape[2]
  library.check_shape("least_squares", "b", b, { m, k })
  local x = core.array("f64", { math.max(m, n), k })
  x:slice(0, m * k):copy_from(b:reshape(m * k))
  call("dgels", "least_squares: the matrix has not full rank: column %d", ROW_MAJOR, NONE, m, n, k,
    a:copy(), leading(a), x, math.max(1, k))
  return x:slice(0, n * k):reshape { n, k }
end

--- Eigenvalues and eigenvectors of a symmetric matrix.
-- @tparam array a {n, n}; its lower triangle is read
-- @treturn array w {n}, ascending
-- @treturn array v {n, n}, column j belongs to w[j]
function lapack.eigen(a)
  local n = check_square("eigen", a)
  local v, w = a:copy(), core.array("f64", n)
  call("dsyevd", "eigen: it did not converge (%d)", ROW_MAJOR, VECTORS, LOWER, n, v, leading(a), w)
  return w, v
end

--- Singular values and vectors: a = u diag(s) vt, with k = min(m, n).
-- @tparam array a {m, n}
-- @treturn array s {k}, descending
-- @treturn array u {m, k}
-- @treturn array vt {k, n}
function lapack.svd(a)
  check("svd", "a", a)
  local m, n = a.shape[1], a.shape[2]
  local k = math.min(m, n)
  local s, u, vt = core.array("f64", k), core.array("f64", { m, k }), core.array("f64", { k, n })
  call("dgesdd", "svd: it did not converge (%d)", ROW_MAJOR, SOME, m, n, a:copy(), leading(a), s, u,
    math.max(1, k), vt, math.max(1, n))
  return s, u, vt
end

return lapack
