--- sparse/spmv: a sparse matrix in compressed rows times a vector.

local pg = require "perigee"
local csr = require "sparse.csr"

local BETWEEN = { dist = "uniform", low = -1, high = 1 }

-- Blocks that have an equal part of the elements: 5 for each of 132 multiprocessors.
local function parts(p)
  return math.max(1, math.min(660, p.rows * p.mean // 1024))
end

return pg.task {
  name = "sparse/spmv",
  doc = [==[
y = a x for a sparse square matrix in compressed rows and a vector, in single precision.

The elements of row i are value[first[i]] ... value[first[i + 1] - 1], in the columns column[...]
of the same places, in ascending order: y[i] is the sum of value[k] x[column[k]]. A row without
elements gives 0. Matrix even: rows of no to 2 mean elements, anywhere. Matrix power: row lengths by
a power law, with few very long rows. Matrix band: as even, near the diagonal. Every element of the
matrix must be read, 8 bytes each, and the vectors moved.]==],
  params = {
    matrix = {
      default = "even", check = { "even", "band", "power", "even", "power", "power" }, sim = "even",
      choices = { "even", "power", "band" }, doc = "where the elements are",
    },
    rows = {
      default = 1 << 20, check = { 1, 33, 200, 1000, 1000, 4099 }, sim = 700, min = 1,
      max = 1 << 24, doc = "rows and columns",
    },
    mean = {
      default = 32, check = { 1, 3, 8, 1, 20, 3 }, sim = 9, min = 1, max = "2^28 // rows",
      doc = "elements in a row, about",
    },
  },
  cells = {
    { name = "even", set = { matrix = "even" }, doc = "x is read at random" },
    { name = "power", set = { matrix = "power" }, doc = "row lengths differ much" },
    { name = "band", set = { matrix = "band" }, doc = "x is read nearby" },
  },
  inputs = function(p, rng)
    local first, column = csr.make(rng:integer(0, (1 << 62) - 1), p.matrix, p.rows, p.mean)
    return {
      first = first, column = column, value = rng:array("f32", column.count, BETWEEN),
      x = rng:array("f32", p.rows, BETWEEN),
    }
  end,
  -- How many elements there are follows from the seed. Where they are differs, too: else what a
  -- launch found out about that, and kept, would serve the next.
  renew = function(p, io, rng)
    local first, column = csr.mixed(rng:integer(0, (1 << 62) - 1), p.matrix, io.first)
    return {
      first = first, column = column, value = rng:array("f32", column.count, BETWEEN),
      x = rng:array("f32", p.rows, BETWEEN),
    }
  end,
  families = { "tiny", "huge" },
  outputs = function(p) return { y = pg.spec("f32", p.rows) } end,
  kernel = "void spmv(const int* first, const int* column, const float* value, const float* x, "
    .. "float* y, int rows)",
  launch = function(p) return { grid = (p.rows + 255) // 256, block = 256 } end,
  reference = function(_, io)
    local y, bound = csr.multiply(io.first, io.column, io.value, io.x)
    return { y = y, bound = bound }
  end,
  validate = { "close", scale = "bound" }, -- the bound has the number of roundings of each row
  work = function(p, io)
    local count = io.column.count
    return { bytes = 8 * count + 12 * p.rows, flops = 2 * count, items = count }
  end,
  torch = [[
    matrix = torch.sparse_csr_tensor(first, column, value, size=(rows, rows))
    return matrix @ x
  ]],
  impls = {
    expert = { "lua", "kernels/sparse/expert.lua", doc = "cuSPARSE" },
    naive = { "cuda", "kernels/sparse/spmv.cu", doc = "a thread a row" },
    stream = {
      "cuda", "kernels/sparse/spmv_stream.cu", doc = "equal parts of the elements a block",
      launch = function(p)
        return {
          {
            kernel = "spmv_stream", grid = parts(p), block = 256,
            args = { "first", "column", "value", "x", "y", "head", "head_row", "rows" },
          },
          {
            kernel = "spmv_heads", grid = (parts(p) + 255) // 256, block = 256,
            args = { "y", "head", "head_row", parts(p) },
          },
        }
      end,
      scratch = function(p)
        return {
          head = { dtype = "f32", n = parts(p) }, head_row = { dtype = "i32", n = parts(p) },
        }
      end,
    },
  },
}
