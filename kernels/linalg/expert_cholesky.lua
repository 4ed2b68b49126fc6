--- linalg/cholesky by cuSOLVER, whose matrices are column-major. A kernel of our own turns the
-- factor's lower triangle into rows of l, with 0 above it, which a library would leave as it is.
return function(run)
  local ffi, cuda = require "ffi", require "perigee.lib.cuda"
  local n, solver = run.params.n, require("perigee.lib.cusolver").handle(run.stream)
  local factors, factor = cuda.allocate(4 * n * n), solver:cholesky(n)
  local copy = cuda.copying(run.stream, 4 * n * n)
  local turned = cuda.kernel("kernels/linalg/lower.ptx", "lower_of_transposed")
  local from, to = ffi.new("uint64_t[1]", factors.at), ffi.new "uint64_t[1]"
  local args = ffi.new("void *[3]", { from, to, ffi.new("int32_t[1]", n) })
  local grid, block = { (n + 31) // 32, (n + 31) // 32 }, { 32, 8 }
  return function(io)
    copy(factors.at, io.a) -- which is symmetric
    factor(factors.at)
    to[0] = io.l
    turned(run.stream, grid, block, args)
  end, { library = "cuSOLVER", version = solver.version }
end
