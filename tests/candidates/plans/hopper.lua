-- What only a GPU of compute capability 9.0 has: tensor maps and clusters of blocks.
local pg = require "perigee"

return {
  pg.task {
    name = "test/tensor",
    doc = "A matrix twice as large, tile by tile through tensor copies.",
    params = { rows = { default = 1000, sim = 50 }, columns = { default = 516, sim = 36 } },
    inputs = function(p, rng) return { x = rng:array("f32", { p.rows, p.columns }) } end,
    outputs = function(p) return { y = pg.spec("f32", { p.rows, p.columns }) } end,
    kernel = "void twice(const float* x, float* y, int rows, int columns)",
    launch = { grid = { "ceil_div(columns, 32)", "ceil_div(rows, 16)" }, block = { 32, 16 } },
    reference = function(_, io) return { y = 2 * io.x } end,
    validate = { "close", ops = 1 },
    impls = {
      naive = { "cuda", "hopper.cu" },
      tensor = { "cuda", "hopper.cu", launch = {
        kernel = "twice_tensor", block = { 32, 16 },
        grid = { "ceil_div(columns, 32)", "ceil_div(rows, 16)" },
        args = { { tensor_map = "x", box = { 16, 32 } }, "y", "rows", "columns" },
      } },
      -- The same memory as a longer, narrower matrix, from its second row on.
      shifted = { "cuda", "hopper.cu", scratch = { copy = { dtype = "f32",
        shape = { "rows + 1", "columns" } } }, launch = {
        { copy = { { "copy", offset = "4 * columns" }, "x" } },
        { kernel = "twice_tensor", block = { 32, 16 },
          grid = { "ceil_div(columns, 32)", "ceil_div(rows, 16)" },
          args = { { tensor_map = "copy", offset = "4 * columns", shape = { "rows", "columns" },
            box = { 16, 32 } }, "y", "rows", "columns" } },
      } },
    },
  },
  pg.task {
    name = "test/clusters",
    doc = "For each block its rank in its cluster and the cluster's size, which are the launch's.",
    params = { blocks = { default = 64, sim = 8 } },
    outputs = function(p) return { y = pg.spec("i32", p.blocks) } end,
    kernel = "void ranks(int* y)",
    launch = { grid = "blocks", block = 32, cluster = 4 },
    reference = function(p)
      local y = pg.array("i32", p.blocks)
      for i = 0, p.blocks - 1 do y[i] = i % 4 + 10 * 4 end
      return { y = y }
    end,
    validate = "exact",
    impls = { naive = { "cuda", "hopper.cu" } },
  },
}
