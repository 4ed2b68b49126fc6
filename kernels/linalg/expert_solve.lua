--- linalg/solve by cuSOLVER: factors with partial pivoting. Matrices are transposed on the way,
-- since the library keeps them column by column.
return function(run)
  local cuda = require "perigee.lib.cuda"
  local n, m = run.params.n, run.params.m
  local solver = require("perigee.lib.cusolver").handle(run.stream)
  local blas = require("perigee.lib.cublas").handle(run.stream)
  local factors, sides = cuda.allocate(4 * n * n), cuda.allocate(4 * n * m)
  local turn, solve = blas:transposition(n, n), solver:solution(n, m)
  local there, back = blas:transposition(n, m), blas:transposition(m, n)
  return function(io)
    turn(io.a, factors.at)
    there(io.b, sides.at)
    solve(factors.at, sides.at)
    back(sides.at, io.x)
  end, { library = "cuSOLVER", version = solver.version }
end
