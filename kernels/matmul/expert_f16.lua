--- matmul/f16 by cuBLASLt, with sums in single precision.
return function(run)
  local p = run.params
  local product, said = require("perigee.lib.cublas").tuned_product(run.stream,
    { m = p.m, n = p.n, k = p.k, dtype = "f16", out = "f32" }, run.sets[1])
  return function(io) product(io.a, io.b, io.c) end,
    { library = "cuBLASLt", version = said.version, note = said.note }
end
