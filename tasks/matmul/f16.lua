--- matmul/f16: the product of two matrices in half precision, summed in single precision.

local pg = require "perigee"

local MOST_COMPUTED = 1 << 27 -- multiplications

local function extent(default, check, sim, doc)
  return { default = default, check = check, sim = sim, min = 1, max = 16384, doc = doc }
end

-- freivalds allows 4 sqrt(ops) roundings. Products of two halves are exact; sums of k rounded terms
-- err by 4 sqrt(k), and tensor cores truncate after every eight (Fasi, Higham, Mikaitis and
-- Pranesh, PeerJ Computer Science 7, 2021), always towards zero: k / 8 times two roundings more.
local function ops(p)
  return (math.sqrt(p.k) + p.k / 16) ^ 2
end

return pg.task {
  name = "matmul/f16",
  doc = [[
c = a b for matrices of half-precision numbers, with sums in single precision.

a has m rows and k columns, b has k rows and n columns, c has m rows and n columns of numbers in
single precision; all are stored row by row: c[i n + j] is the sum over l of a[i k + l] b[l n + j].
The elements of a and b are drawn from [-1, 1), in some checks from elsewhere. Products are exact in
single precision and sums must be kept in it, in any order; what tensor cores cut off is allowed. At
the default size arithmetic is the limit: 2 m n k operations.]],
  params = {
    m = extent(4096, { 1, 16, 128, 256, 131, 5 }, 140, "rows of a and c"),
    n = extent(4096, { 1, 8, 256, 384, 258, 300 }, 264, "columns of b and c"),
    k = extent(4096, { 1, 16, 64, 320, 129, 77 }, 72, "columns of a, rows of b"),
  },
  inputs = function(p, rng)
    local between = { dist = "uniform", low = -1, high = 1 }
    return {
      a = rng:array("f16", { p.m, p.k }, between), b = rng:array("f16", { p.k, p.n }, between),
    }
  end,
  families = { "tiny", "huge", "zeros", "equal", "alternating" },
  outputs = function(p) return { c = pg.spec("f32", { p.m, p.n }) } end,
  kernel = "void matmul(const half* a, const half* b, float* c, int m, int n, int k)",
  launch = function(p)
    return { grid = { (p.n + 15) // 16, (p.m + 15) // 16 }, block = { 16, 16 } }
  end,
  -- Large products are not computed on the host: the validator tests them against the factors.
  reference = function(p, io)
    return { c = p.m * p.n * p.k <= MOST_COMPUTED and pg.product(io.a, io.b) or nil }
  end,
  validate = { "freivalds", ops = ops },
  forbid = { "f16_accumulate" },
  work = function(p)
    return {
      bytes = 2 * (p.m * p.k + p.k * p.n) + 4 * p.m * p.n, flops = 2 * p.m * p.n * p.k,
      items = p.m * p.n,
    }
  end,
  time = { method = "hot" },
  torch = "return torch.mm(a, b, out_dtype=torch.float32)",
  impls = {
    expert = { "lua", "kernels/matmul/expert_f16.lua", doc = "cuBLASLt" },
    naive = { "cuda", "kernels/matmul/half.cu", doc = "one element a thread" },
    mma = {
      "cuda", "kernels/matmul/half_mma.cu", doc = "mma.sync from tiles that cp.async brings",
      knobs = {
        BM = { 128, 64, 256 }, BN = { 256, 64, 128 }, BK = { 64, 32 }, WM = { 64, 32 },
        WN = { 64, 32 }, STAGES = { 3, 2, 4 },
      },
      where = {
        "BM * BN <= 8 * WM * WN and 4 * WM * WN <= BM * BN", -- 128 to 256 threads
        "WM <= BM and WN <= BN and WM * WN <= 32 * BM", -- a row of b is loaded at once
        "2 * STAGES * BK * (BM + BN) <= 221184", -- bytes of shared memory
      },
      launch = function(p)
        local tiles = ((p.m + p.BM - 1) // p.BM) * ((p.n + p.BN - 1) // p.BN)
        return {
          grid = tiles, block = p.BM // p.WM * (p.BN // p.WN) * 32,
          shared = 2 * p.STAGES * p.BK * (p.BM + p.BN),
        }
      end,
    },
  },
}
