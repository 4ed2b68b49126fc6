-- A task whose implementations loop until a flag is set: the largest value so far, found by looking
-- one place to the left in every round.
local pg = require "perigee"

local function loop(p)
  return {
    { repeat_until = "done", max = "n", steps = {
      { memset = "done", byte = 1 },
      { kernel = "spread", grid = "ceil_div(n, 64)", block = 64,
        args = { "value", "next", "done", "n" } },
      { copy = { "value", "next" } },
    } },
    p.n > 0 and { kernel = "count", grid = 1, block = 1, args = { "rounds" } } or nil,
  }
end

local SCRATCH = { done = { dtype = "i32", n = 1 }, next = { dtype = "i32", n = "n" },
  rounds = { dtype = "i32", n = 1, init = 0 } }

return pg.task {
  name = "test/spread",
  doc = "value[i] = the largest of value[0] to value[i].",
  params = { n = { default = 300, check = { 1, 64, 100 }, sim = 100, min = 1 } },
  state = function(p) return { value = { dtype = "i32", n = p.n, init = (function()
    local values = pg.array("i32", p.n)
    for i = 0, p.n - 1 do values[i] = (i * 7919) % 1009 - i // 3 end
    return values
  end)() } } end,
  kernel = "void spread(int* value, int n)",
  launch = { grid = 1, block = 32 },
  reference = function(p, io)
    local largest = pg.array("i32", p.n)
    for i = 0, p.n - 1 do
      largest[i] = math.max(io.value[i], i > 0 and largest[i - 1] or io.value[i])
    end
    return { value = largest }
  end,
  validate = "exact",
  impls = {
    naive = { "cuda", "spread.cu", launch = loop, scratch = SCRATCH },
    grid = { "cuda", "spread.cu",
      scratch = { next = { dtype = "i32", n = "n" }, changed = { dtype = "i32", n = 2, init = 0 } },
      launch = { kernel = "spread_grid", grid = "ceil_div(n, 64)", block = 64, cooperative = true,
        args = { "value", "next", "changed", "n" } } },
    short = { "cuda", "spread.cu", scratch = SCRATCH, launch = { { repeat_until = "done", max = 3,
      steps = { { memset = "done", byte = 0 } } } } },
  },
}
