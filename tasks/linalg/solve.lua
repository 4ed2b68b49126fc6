--- linalg/solve: systems of linear equations with one matrix and several right-hand sides.

local pg = require "perigee"

local function elimination_steps(p)
  local steps = {
    {
      kernel = "solve_begin", grid = { (p.n + p.m + 127) // 128, p.n }, block = 128,
      args = { "a", "b", "w", "n", "m" },
    },
  }
  for j = 0, p.n - 2 do
    steps[#steps + 1] = { kernel = "solve_pivot", grid = 1, block = 256,
      args = { "w", "factor", "n", "m", j } }
    steps[#steps + 1] = {
      kernel = "solve_eliminate", grid = { (p.n + p.m - j + 126) // 128, p.n - 1 - j },
      block = 128, args = { "w", "factor", "n", "m", j },
    }
  end
  steps[#steps + 1] = { kernel = "solve_back", grid = p.m, block = 256,
    args = { "w", "x", "n", "m" } }
  return steps
end

local PANEL, TILE_ROWS, TILE_COLUMNS, BACK = 16, 128, 64, 32

-- Of the padded matrix with the right-hand sides beside it.
local function layout(p)
  local size = (p.n + BACK - 1) // BACK * BACK
  return size, size + (p.m + 3) // 4 * 4
end

-- Rows of a panel that each of 512 threads has: a power of two.
local function rows_each(rows)
  local each = 2
  while each * 512 < rows do each = 2 * each end
  return each
end

local function blocked_steps(p)
  local size, stride = layout(p)
  local steps = {
    {
      kernel = "solve_begin", grid = { (stride + 127) // 128, size }, block = 128,
      args = { "a", "b", "w", "n", "m", size, stride },
    },
    {
      kernel = "solve_panel_" .. rows_each(size), grid = 1, block = 512,
      args = { "w", "moves", size, stride },
    },
  }
  local function add(kernel, grid, block, ...)
    steps[#steps + 1] = { kernel = kernel, grid = grid, block = block, args = { ... } }
  end
  for at = 0, size - PANEL, PANEL do
    local right, below = stride - at - PANEL, size - at - PANEL
    add("solve_rows", (right + 127) // 128, 128, "w", "moves", stride, at)
    if below > 0 then
      add("solve_update_" .. rows_each(below),
        { (below + TILE_ROWS - 1) // TILE_ROWS, (right + TILE_COLUMNS - 1) // TILE_COLUMNS }, 512,
        "w", "moves", "ticket", size, stride, at)
    end
  end
  for at = size - BACK, 0, -BACK do
    add("solve_back", { (p.m + 31) // 32, at // BACK + 1 }, 256, "w", "x", "n", "m", size, stride,
      at)
  end
  return steps
end

return pg.task {
  name = "linalg/solve",
  doc = [[
Solution x of a x = b for a square matrix and m right-hand sides, in single precision.

a has n rows and columns, b and x have n rows and m columns; all are stored row by row. Elements are
drawn from [-1, 1), so a is neither symmetric nor dominated by its diagonal: elimination needs
pivots. With diagonal = zero, all elements on it are 0. A result is right when it solves a system so
near to the given one that rounding explains it: row i of a x - b is small beside the norms of row i
of a and of x. Factors with partial pivoting take 2 n^3 / 3 operations, in a chain of n pivots; both
solutions of triangles 2 n^2 m.]],
  params = {
    n = {
      default = 2048, check = { 1, 2, 31, 64, 65, 130, 200 }, sim = 70, min = 1, max = 2048,
      doc = "equations",
    },
    m = {
      default = 32, check = { 1, 3, 1, 32, 17, 40, 1 }, sim = 5, min = 1, max = 1024,
      doc = "right-hand sides",
    },
    diagonal = {
      default = "random", check = { "random", "zero", "random", "zero", "random" },
      choices = { "random", "zero" }, doc = "elements on the diagonal of a",
    },
  },
  inputs = function(p, rng)
    local between = { dist = "uniform", low = -1, high = 1 }
    local a = rng:array("f32", { p.n, p.n }, between)
    if p.diagonal == "zero" and p.n > 1 then
      for i = 0, p.n - 1 do a:set(i, i, 0) end
    end
    return { a = a, b = rng:array("f32", { p.n, p.m }, between) }
  end,
  families = { "tiny" }, -- a matrix of other values may have no inverse
  outputs = function(p) return { x = pg.spec("f32", { p.n, p.m }) } end,
  kernel = "void solve(const float* a, const float* b, float* x, int n, int m)",
  launch = function() return { grid = 1, block = 256 } end,
  reference = function() return {} end, -- what is left of a x - b is judged
  validate = "linear_system",
  work = function(p)
    return {
      bytes = 4 * p.n * (p.n + 2 * p.m), flops = 2 * p.n ^ 3 / 3 + 2 * p.n ^ 2 * p.m,
      items = p.n * p.m,
    }
  end,
  time = { method = "hot" },
  torch = "return torch.linalg.solve_ex(a, b)[0]",
  impls = {
    expert = { "lua", "kernels/linalg/expert_solve.lua", doc = "cuSOLVER" },
    naive = {
      "cuda", "kernels/linalg/solve_elimination.cu", doc = "two launches a column",
      launch = elimination_steps,
      scratch = function(p)
        return {
          w = { dtype = "f32", shape = { p.n, p.n + p.m } }, factor = { dtype = "f32", n = p.n },
        }
      end,
    },
    blocked = {
      "cuda", "kernels/linalg/solve_blocked.cu",
      doc = "panels of 16 columns in the registers of one block", launch = blocked_steps,
      scratch = function(p)
        local size, stride = layout(p)
        return {
          w = { dtype = "f32", shape = { size, stride } },
          moves = { dtype = "i32", n = 3 * PANEL + 1 },
          ticket = { dtype = "u32", n = 1, init = 0 },
        }
      end,
    },
  },
}
