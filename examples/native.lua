-- C beside Lua: a reference at C speed, compiled when the script runs, and any C library.
-- Needs a C compiler; without one it says so.
local pg = require "perigee"
local ffi = require "ffi"

local lib, info = pg.native { openmp = true, source = [[
  // Harmonic numbers: H(n) = 1 + 1/2 + ... + 1/n, the small terms first.
  double harmonic(long n) {
    double sum = 0;
    #pragma omp parallel for reduction(+ : sum)
    for (long i = n; i > 0; i--) sum += 1.0 / i;
    return sum;
  }
]] }

ffi.cdef "double log(double x);"
local n, gamma = 10000000, 0.57721566490153286
local got, want = lib.harmonic(n), ffi.C.log(n) + gamma + 1 / (2 * n)
print(("H(%d) = %.12f, by its expansion %.12f"):format(n, got, want))
print(("compiled by %s%s"):format(info.compiler, info.openmp and ", with OpenMP" or ""))
return math.abs(got - want) < 1e-9
