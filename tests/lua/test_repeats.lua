-- Outputs that follow from more than the inputs.
local lu = require "luaunit"
local core = require "perigee.core"
local pg = require "perigee"
local impl = require "perigee.impl"
local judge = require "perigee.judge"

-- Any numbers will do.
local function check(statement, fields)
  local t = {
    name = "t/any", params = { n = { default = 64, check = { 0, 7, 64 } } },
    kernel = "void any(const int* x, int* y, int n)",
    inputs = function(p, rng) return { x = rng:array("i32", p.n, { dist = "bits" }) } end,
    outputs = function(p) return { y = pg.spec("i32", p.n) } end,
    launch = { grid = 1, block = 64 }, reference = function() return {} end,
    validate = function(ctx) return ctx:pass("y", tostring(ctx:array("y").count)) end,
  }
  for name, value in pairs(fields) do t[name] = value end
  local path = os.tmpname() .. ".cu"
  assert(core.write_file(path, [[
    extern "C" __global__ void any(const int* x, int* y, int n) {
      int i = threadIdx.x;
      if (i < n) ]] .. statement .. "\n}\n"))
  local session <close> = judge.session { device = "sim" }
  local rec = session:check(pg.task(t), impl.candidate(path), {})
  os.remove(path)
  return rec
end

local function finding(rec, kind)
  for _, one in ipairs(rec.findings) do
    if one.kind == kind then return one end
  end
end

TestRepeats = {}

function TestRepeats:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

-- What the output held before differs from run to run.
function TestRepeats:test_outputs_that_differ_from_run_to_run()
  local right = check("y[i] = x[i] + 1;", { deterministic = true })
  lu.assertEquals(right.verdict, "passed")
  lu.assertNil(finding(right, "nondeterministic"))
  local noted = check("y[i] = y[i] + 1;", {})
  lu.assertEquals(noted.verdict, "passed")
  lu.assertEquals(finding(noted, "nondeterministic").severity, "note")
  lu.assertEquals(finding(noted, "nondeterministic").text,
    "y differs from run to run on the same inputs")
  local refused = check("y[i] = y[i] + 1;", { deterministic = true })
  lu.assertEquals(refused.verdict, "nondeterministic")
end

os.exit(lu.LuaUnit.run())
