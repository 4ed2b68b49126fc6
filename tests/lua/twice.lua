-- The task of tests whose kernel matters little: y = 2 x for n numbers.
local pg = require "perigee"

--- @tparam table check the values of n that are checked
-- @tparam[opt] table fields other fields of the task
local function task(check, fields)
  local t = {
    name = "t/twice", params = { n = { default = 512, check = check } },
    kernel = "void twice(const float* x, float* y, int n)",
    inputs = function(p, rng) return { x = rng:array("f32", p.n) } end,
    outputs = function(p) return { y = pg.spec("f32", p.n) } end,
    launch = { grid = 2, block = 256 }, reference = function(_, io) return { y = 2 * io.x } end,
    validate = "close",
  }
  for name, value in pairs(fields or {}) do t[name] = value end
  return pg.task(t)
end

return { task = task }
