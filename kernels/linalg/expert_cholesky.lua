--- linalg/cholesky by cuSOLVER, in the fastest of its ways, each tried on the first set. The
-- library's matrices are column-major: what is an upper triangle to it is a lower one here. Kernels
-- of our own bring the factor to l, and 0 above it, which a library would leave as it is.
return function(run)
  local ffi, cuda = require "ffi", require "perigee.lib.cuda"
  local n, solver = run.params.n, require("perigee.lib.cusolver").handle(run.stream)
  local from, to, count = ffi.new "uint64_t[1]", ffi.new "uint64_t[1]", ffi.new("int32_t[1]", n)
  local args = ffi.new("void *[3]", { from, to, count })
  local function kernel(name, rows)
    local launch = cuda.kernel("kernels/linalg/lower.ptx", name)
    local grid, block = { (n + 31) // 32, (n + rows - 1) // rows }, { 32, 8 }
    return function(a, l)
      from[0], to[0] = a, l
      launch(run.stream, grid, block, args)
    end
  end
  local lower, transposed = kernel("lower_triangle", 8), kernel("lower_of_transposed", 32)
  local room, copy = cuda.allocate(4 * n * n), cuda.copying(run.stream, 4 * n * n)
  local function enqueue(way, io)
    if way.upper then
      lower(io.a, io.l)
      return way.factor(io.l)
    end
    copy(room.at, io.a) -- which is symmetric
    local status = way.factor(room.at)
    transposed(room.at, io.l)
    return status
  end
  local ways = solver:cholesky_ways(n)
  local best = ways[cuda.fastest(run.stream, #ways, function(i)
    return enqueue(ways[i], run.sets[1]) == 0
  end)]
  return function(io) cuda.check(enqueue(best, io), best.name) end,
    { library = "cuSOLVER", version = solver.version, note = best.name }
end
