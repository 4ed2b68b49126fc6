--- linalg/cholesky: the Cholesky factor of a symmetric positive definite matrix.

local pg = require "perigee"

local TILE = 64

local function tiles(p) return (p.n + TILE - 1) // TILE end

local function column_steps(p)
  local steps = {}
  for j = 0, p.n - 1 do
    steps[j + 1] = {
      kernel = "cholesky_column", grid = (p.n + 127) // 128, block = 128,
      args = { "a", "l", "n", j },
    }
  end
  return steps
end

local function blocked_steps(p)
  local count, size = tiles(p), tiles(p) * TILE
  local steps = {
    {
      kernel = "cholesky_begin", grid = { count, count }, block = 256,
      args = { "a", "l", "w", "n", size },
    },
    { kernel = "cholesky_first", grid = 1, block = 256, args = { "w", "l", "inverse", "n", size } },
  }
  for step = 0, count - 2 do
    local rest = count - 1 - step
    steps[#steps + 1] = {
      kernel = "cholesky_panel", grid = rest, block = 256,
      args = { "w", "l", "inverse", "n", size, step },
    }
    steps[#steps + 1] = {
      kernel = "cholesky_update", grid = rest * (rest + 1) // 2, block = 256,
      args = { "w", "l", "inverse", "n", size, step },
    }
  end
  return steps
end

-- The product of a factor that is 0 but for its diagonal, of ones, and its first column.
local function of_column(p, rng)
  local column = rng:array("f32", { p.n, 1 }, { dist = "uniform", low = -1, high = 1 })
  column[0] = 0
  local a = pg.product(column, column, { b_transposed = true })
  for i = 0, p.n - 1 do
    a:set(i, i, a:get(i, i) + 1)
    a:set(i, 0, i == 0 and 1 or column[i])
    a:set(0, i, a:get(i, 0))
  end
  return { a = a:cast("f32") }
end

-- b b^T / n of a square b has eigenvalues from 0 to 4/3; the shift makes the condition about 14.
local function positive_definite(p, rng)
  if p.factor == "column" then return of_column(p, rng) end
  local b = rng:array("f32", { p.n, p.n }, { dist = "uniform", low = -1, high = 1 })
  local a = (pg.product(b, b, { b_transposed = true }) / p.n):cast("f32")
  for i = 0, p.n - 1 do a:set(i, i, a:get(i, i) + p.shift) end
  return { a = a }
end

return pg.task {
  name = "linalg/cholesky",
  doc = [[
Cholesky factor of a symmetric positive definite matrix of n x n single-precision numbers.

a = l l^T, where l is 0 above its diagonal and positive on it; both matrices are stored row by row.
a is b b^T / n for a b of random elements, and shift is added to its diagonal. Arithmetic is that of
single precision. With factor = column, nothing but the diagonal and the first column of l differs
from 0, which shows whether products keep the 24 bits of their factors. The work is n^3 / 3
operations, in a chain of n square roots and quotients.]],
  params = {
    n = {
      default = 2048, check = { 1, 2, 31, 64, 65, 130, 200 }, sim = 150, min = 1, max = 4096,
      doc = "rows and columns",
    },
    shift = { default = 0.1, min = 0.001, max = 1000.0, only = { factor = "full" },
      doc = "added to the diagonal" },
    factor = {
      default = "full", check = { "full", "full", "full", "column", "full" }, sim = "full",
      choices = { "full", "column" }, doc = "what of the factor is not 0",
    },
  },
  also = { { factor = "column" } }, -- the roundings of long sums would hide lost bits
  inputs = positive_definite,
  families = {}, -- a matrix of other values is hardly positive definite
  outputs = function(p) return { l = pg.spec("f32", { p.n, p.n }) } end,
  kernel = "void cholesky(const float* a, float* l, int n)",
  launch = function() return { grid = 1, block = 256 } end,
  reference = function() return {} end, -- the product of the factor with itself is judged
  validate = {
    "factorization", kind = "cholesky",
    terms = function(p) return p.factor == "column" and 8 or 0 end,
  },
  work = function(p)
    return { bytes = 8 * p.n * p.n, flops = p.n ^ 3 / 3, items = p.n * p.n }
  end,
  time = { method = "hot" },
  torch = "return torch.linalg.cholesky_ex(a)[0]",
  impls = {
    expert = { "lua", "kernels/linalg/expert_cholesky.lua", doc = "cuSOLVER" },
    naive = {
      "cuda", "kernels/linalg/cholesky_column.cu", doc = "a launch a column", launch = column_steps,
    },
    blocked = {
      "cuda", "kernels/linalg/cholesky_blocked.cu",
      doc = "tiles of 64 x 64; the next tile on the diagonal is factored during the update",
      launch = blocked_steps,
      scratch = function(p)
        local size = tiles(p) * TILE
        return {
          w = { dtype = "f32", shape = { size, size } },
          inverse = { dtype = "f32", n = TILE * TILE },
        }
      end,
    },
  },
}
