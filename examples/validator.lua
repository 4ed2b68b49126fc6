-- A validator of one's own: a kernel that shuffles has many right answers, so no list of expected
-- values can judge it. The validator checks what must hold: the output is a permutation of the
-- input. The task, a right kernel and a wrong one are all in this file; the judge runs both.
local pg = require "perigee"
local judge = require "perigee.judge"

local function permutation(ctx)
  local seen, got = {}, ctx.outputs.out
  for i = 0, #got - 1 do
    local value = got[i]
    if value < 0 or value >= #got then
      return { ok = false, reason = ("out[%d] = %d is no index"):format(i, value) }
    end
    if seen[value] then
      return { ok = false, reason = ("%d comes twice: out[%d] and out[%d]"):format(value,
        seen[value], i) }
    end
    seen[value] = i
  end
  return { ok = true, checks = { { name = "permutation", ok = true, detail = #got .. " values" } } }
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

-- A candidate is a file: write it, judge it, remove it.
local function verdict_of(body)
  local path = os.tmpname()
  os.rename(path, path .. ".cu")
  path = path .. ".cu"
  local file <close> = assert(io.open(path, "w"))
  file:write('extern "C" __global__ void rotate(int* out, int n) {\n'
    .. "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) " .. body .. "\n}\n")
  file:flush()
  local session <close> = judge.session { device = require("perigee.device").spec() }
  local rec = session:check(task, require("perigee.impl").candidate(path), {})
  os.remove(path)
  return rec
end

for _, name in ipairs { "right", "wrong" } do
  local rec = verdict_of(CANDIDATES[name])
  print(("%-6s %s%s"):format(name, rec.verdict, rec.reason and ": " .. rec.reason or ""))
  assert((rec.verdict == "passed") == (name == "right"))
end
