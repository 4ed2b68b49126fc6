--- matmul/f32 by cuBLAS, in single precision: no TF32.
return function(run)
  local p = run.params
  local blas = require("perigee.lib.cublas").handle(run.stream)
  local product = blas:product { m = p.m, n = p.n, k = p.k, dtype = "f32" }
  return function(io) product(io.a, io.b, io.c) end,
    { library = "cuBLAS", version = blas.version }
end
