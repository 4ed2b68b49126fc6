--- linalg/cholesky by cuSOLVER; a kernel of our own brings the lower triangle of a to l, and 0
-- above it, which a library would leave as it is.
return function(run)
  local ffi, cuda = require "ffi", require "perigee.lib.cuda"
  local n, solver = run.params.n, require("perigee.lib.cusolver").handle(run.stream)
  local factor = solver:cholesky(n)
  local triangle = cuda.kernel("kernels/linalg/lower.ptx", "lower_triangle")
  local a, l, count = ffi.new "uint64_t[1]", ffi.new "uint64_t[1]", ffi.new("int32_t[1]", n)
  local args = ffi.new("void *[3]", { a, l, count })
  local grid, block = { (n + 31) // 32, (n + 7) // 8 }, { 32, 8 }
  return function(io)
    a[0], l[0] = io.a, io.l
    triangle(run.stream, grid, block, args)
    factor(io.l)
  end, { library = "cuSOLVER", version = solver.version }
end
