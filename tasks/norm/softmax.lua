--- norm/softmax: exponentials of each row over their sum.

local pg = require "perigee"
local reference = require "norm.softmax_reference"

local UNIT = 2.0 ^ -24 -- of f32
local NORMAL = 2.0 ^ -126 -- smaller numbers may be flushed to zero

-- Of one element: the difference to the maximum is rounded, perhaps multiplied by log2(e), and errs
-- by as many units as it is large, at most 2 scale; the exponentials are off by some units, a sum
-- of n positive terms by 4 sqrt(n) (Higham and Mary 2019).
local function tolerance(p)
  return (4 * math.sqrt(p.columns) + 6 * p.scale + 16) * UNIT
end

-- A row in registers: 4, 8 or 16 elements a thread; else it is read twice.
local function rows_steps(p)
  local threads, fours = 1024, "any"
  if p.columns % 4 == 0 and p.columns <= 16 * 1024 then
    threads = math.max(32, math.min(1024, (p.columns + 511) // 512 * 32))
    local each = (p.columns + 4 * threads - 1) // (4 * threads)
    fours = each == 3 and 4 or each
  end
  return {
    kernel = "softmax_" .. fours, grid = p.rows, block = threads, args = { "x", "y", "columns" },
  }
end

return pg.task {
  name = "norm/softmax",
  doc = [[
Softmax of every row of a matrix of single-precision numbers.

y[i][j] = exp(x[i][j]) / (exp(x[i][0]) + ... + exp(x[i][columns - 1])), for matrices stored row by
row. x is uniform in [-scale, scale); with a large scale exp(x) overflows where the largest element
of the row is not subtracted first. Everything is read and written once at least, so memory is the
limit: 8 bytes an element.]],
  params = {
    rows = {
      default = 8192, check = { 1, 3, 17, 128, 5, 2 }, sim = 6, min = 1, max = 1 << 24,
      doc = "rows",
    },
    columns = {
      default = 4096, check = { 1, 33, 1000, 256, 4096, 20001 }, sim = 1000, min = 1,
      max = "2^30 // rows", doc = "elements of a row",
    },
    scale = {
      default = 8.0, check = { 8.0, 8.0, 8.0, 200.0, 1.0, 8.0 }, min = 1e-3, max = 1000.0,
      doc = "largest magnitude of an element",
    },
  },
  sweeps = {
    {
      name = "columns", set = { columns = "2^6..2^15*2" }, sim = { columns = "2^6..2^12*4" },
      doc = "short and long rows",
    },
  },
  inputs = function(p, rng)
    local between = { dist = "uniform", low = -p.scale, high = p.scale }
    return { x = rng:array("f32", { p.rows, p.columns }, between) }
  end,
  also = { { scale = 200.0 } }, -- what a kernel cannot see of the size that is timed
  families = { "tiny", "zeros", "equal", "sorted", "reversed" },
  outputs = function(p) return { y = pg.spec("f32", { p.rows, p.columns }) } end,
  kernel = "void softmax(const float* x, float* y, int rows, int columns)",
  launch = function(p) return { grid = p.rows, block = 256 } end,
  reference = function(p, io) return { y = reference.softmax(io.x, p.columns) } end,
  validate = {
    "close", atol = NORMAL, rtol = tolerance,
  },
  work = function(p)
    local count = p.rows * p.columns
    return { bytes = 8 * count, items = count }
  end,
  torch = "return torch.softmax(x, 1)",
  impls = {
    expert = { "lua", "kernels/norm/expert.lua", doc = "cuDNN" },
    naive = {
      "cuda", "kernels/norm/softmax.cu", doc = "a thread a row, three passes",
      launch = function(p) return { grid = (p.rows + 63) // 64, block = 64 } end,
    },
    rows = {
      "cuda", "kernels/norm/softmax_rows.cu", doc = "a block a row, which stays in registers",
      launch = rows_steps,
    },
  },
}
