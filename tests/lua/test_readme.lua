-- The examples in the READMEs are run: the task of tasks/README.md is judged by the validator of
-- validators/README.md. The committed PTX is what the sources say.
local lu = require "luaunit"
local core = require "perigee.core"
local impl = require "perigee.impl"
local judge = require "perigee.judge"

-- The first ```lua block of a file that contains `text`.
local function block(path, text)
  for code in core.read_file(path):gmatch("```lua\n(.-)```") do
    if code:find(text, 1, true) then return assert(load(code, "@" .. path)) end
  end
  lu.fail(path .. " has no example with " .. text)
end

TestReadme = {}

function TestReadme:test_the_task_and_the_validator()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local task = block("tasks/README.md", "pg.task")()
  local validator = block("validators/README.md", "return function(ctx)")()
  local path = os.tmpname() .. ".cu"
  local function verdict_of(expression)
    core.write_file(path, 'extern "C" __global__ void twice(const float* x, float* y, int n) {\n'
      .. "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = " .. expression
        .. ";\n}\n")
    local session <close> = judge.session { device = "sim" }
    return session:check(task, impl.candidate(path), {}).verdict
  end
  lu.assertEquals(verdict_of("2 * x[i]"), "passed")
  lu.assertEquals(verdict_of("2.001f * x[i]"), "wrong_result")
  task.validate, task.validators = validator, nil
  lu.assertEquals(verdict_of("2 * x[i]"), "passed")
  lu.assertEquals(verdict_of("2.001f * x[i]"), "wrong_result")
  os.remove(path)
  os.remove((path:gsub("%.cu$", "")))
end

function TestReadme:test_every_field_of_a_task_is_documented()
  local text = core.read_file("tasks/README.md")
  local fields = core.read_file("lua/perigee/task.lua"):match("local FIELDS = (%b{})")
  for name in fields:gmatch("([%w_]+) =") do lu.assertStrContains(text, "`" .. name) end
end

TestPtx = {}

function TestPtx:test_committed_ptx_was_made_from_the_sources()
  local binary = (os.getenv("BUILD") or "build") .. "/perigee"
  local pipe <close> = io.popen(binary .. " kernels/build.lua --check 2>&1")
  lu.assertEquals(pipe:read("a"), "")
end

os.exit(lu.LuaUnit.run())
