--- matmul/f32: the product of two matrices in single precision, with a tiled kernel whose knobs
-- span 200 configurations.

local pg = require "perigee"

local MOST_COMPUTED = 1 << 27 -- multiplications

local function extent(default, check, sim, doc)
  return { default = default, check = check, sim = sim, min = 1, max = 16384, doc = doc }
end

-- Each row keeps its elements in p.nonzeros random columns.
local function thinned(a, p, rng)
  local few = pg.array("f32", { p.m, p.k })
  local columns = rng:array("i64", p.m * p.nonzeros, { dist = "integer", last = p.k - 1 })
  for i = 0, columns.count - 1 do
    local place = i // p.nonzeros * p.k + columns[i]
    few[place] = a[place]
  end
  return few
end

-- Three products of tf32 numbers for one, which keep 22 bits of the factors, are right: rounding
-- within 4 sqrt(16) = 16 units. Those of bf16 numbers keep 16, and are off by 16 times as much.
local function roundings(p)
  return p.nonzeros > 0 and math.min(16 * p.nonzeros, p.k) or p.k
end

return pg.task {
  name = "matmul/f32",
  doc = [[
c = a b for matrices of single-precision numbers.

a has m rows and k columns, b has k rows and n columns, c has m rows and n columns; all are stored
row by row: c[i n + j] is the sum over l of a[i k + l] b[l n + j]. The elements of a and b are
drawn from [-1, 1), in some checks from elsewhere. The arithmetic must be that of single precision:
every product keeps the 24 bits of its factors. Sums may be in any order, and products may be fused
with them. At the default size arithmetic is the limit: 2 m n k operations.]],
  params = {
    m = extent(4096, { 1, 17, 128, 256, 131, 5 }, 150, "rows of a and c"),
    n = extent(4096, { 1, 33, 128, 384, 258, 300 }, 140, "columns of b and c"),
    k = extent(4096, { 1, 65, 128, 320, 129, 77 }, 70, "columns of a, rows of b"),
    nonzeros = {
      default = 0, check = { 0, 0, 0, 0, 0, 2 }, sim = 0, min = 0, max = 16384,
      doc = "elements of a row of a that are not 0; 0: all",
    },
  },
  inputs = function(p, rng)
    local between = { dist = "uniform", low = -1, high = 1 }
    local a = rng:array("f32", { p.m, p.k }, between)
    return {
      a = p.nonzeros > 0 and thinned(a, p, rng) or a,
      b = rng:array("f32", { p.k, p.n }, between),
    }
  end,
  -- Many roundings hide that factors have lost bits; the product of two numbers hides nothing.
  also = { { nonzeros = 1 } },
  families = { "tiny", "huge", "zeros", "equal", "alternating" },
  outputs = function(p) return { c = pg.spec("f32", { p.m, p.n }) } end,
  kernel = "void matmul(const float* a, const float* b, float* c, int m, int n, int k)",
  launch = function(p)
    return { grid = { (p.n + 15) // 16, (p.m + 15) // 16 }, block = { 16, 16 } }
  end,
  -- Large products are not computed on the host: the validator tests them against the factors.
  reference = function(p, io)
    return { c = p.m * p.n * p.k <= MOST_COMPUTED and pg.product(io.a, io.b) or nil }
  end,
  validate = { "freivalds", ops = roundings },
  work = function(p)
    local terms = p.nonzeros > 0 and p.nonzeros or p.k
    return {
      bytes = 4 * (p.m * p.k + p.k * p.n + p.m * p.n), flops = 2 * p.m * p.n * terms,
      items = p.m * p.n,
    }
  end,
  time = { method = "hot" },
  torch = "return a @ b",
  impls = {
    naive = { "cuda", "kernels/matmul/naive.cu", doc = "one element a thread" },
    expert = { "lua", "kernels/matmul/expert.lua", doc = "cuBLAS" },
    tiled = {
      "cuda", "kernels/matmul/tiled.cu", doc = "tiles in shared memory and in registers",
      knobs = {
        BM = { 128, 64, 256 }, BN = { 256, 64, 128 }, BK = { 16, 8, 32 }, TM = { 8, 4, 16 },
        TN = { 16, 4, 8 }, PER_SM = { 1, 2 },
      },
      where = {
        "BM % (4 * TM) == 0 and BN % (8 * TN) == 0", -- whole warps of 4 x 8 threads
        "64 * TM * TN <= BM * BN and BM * BN <= 512 * TM * TN", -- 64 to 512 threads
        "32 <= TM * TN and TM * TN <= 128 and BM * BN <= 32768", -- sums fit into registers
        "BK * TM * TN % (4 * BN) == 0 and BK * TM * TN % (4 * BM) == 0", -- loads shared evenly
        "BK * TM * TN * (BM + BN) <= 48 * BM * BN", -- at most 12 of 16 bytes a thread
      },
      launch = function(p)
        local tiles = ((p.m + p.BM - 1) // p.BM) * ((p.n + p.BN - 1) // p.BN)
        return {
          grid = tiles, block = p.BM * p.BN // (p.TM * p.TN),
          shared = 8 * p.BK * (p.BM + 4 + p.BN),
        }
      end,
    },
  },
}
