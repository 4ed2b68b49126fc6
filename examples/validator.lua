-- A validator of one's own: a kernel that shuffles has many right answers, so no list of expected
-- values can judge it. The validator checks what must hold: every number comes once.
local pg = require "perigee"

local function permutation(ctx)
  local seen, out = {}, ctx.outputs.out
  for i = 0, #out - 1 do
    local right = out[i] >= 0 and out[i] < #out and not seen[out[i]]
    if not right then return { ok = false, reason = ("out[%d] = %d"):format(i, out[i]) } end
    seen[out[i]] = true
  end
  return { ok = true }
end

local task = pg.task {
  name = "example/rotate", doc = "out holds every number from 0 to n - 1 once, in any order",
  params = { n = { default = 1 << 16, check = { 1, 1000 }, sim = 1000, min = 1 } },
  outputs = function(p) return { out = pg.spec("i32", p.n) } end,
  kernel = "void rotate(int* out, int n)",
  launch = function(p) return { grid = (p.n + 127) // 128, block = 128 } end,
  reference = function() return {} end, -- there is no single right answer
  validate = permutation,
}

local CANDIDATES = {
  right = "out[i] = (i + n / 2) % n;",
  wrong = "out[i] = (i + n / 2) % (n - n / 8);",
}
for name, body in pairs(CANDIDATES) do
  local record = pg.check(task, { source = [[
    extern "C" __global__ void rotate(int* out, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) ]] .. body .. "\n}" })
  print(("%s: %s%s"):format(name, record.verdict, record.reason and ", " .. record.reason or ""))
  assert((record.verdict == "passed") == (name == "right"))
end
