-- pg.run and pg.check, and what is promised of the examples: a task with kernel, reference and
-- validator takes under 40 lines, a validator under 10. tests/run runs the examples themselves.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"

-- Lines that hold more than a comment.
local function lines_of(text)
  local count = 0
  for line in text:gmatch("[^\n]+") do
    if line:find("%S") and not line:match("^%s*%-%-") then count = count + 1 end
  end
  return count
end

TestPromise = {}

function TestPromise:test_a_task_with_kernels_reference_and_validator_takes_under_40_lines()
  local text = core.read_file("examples/benchmark.lua")
  for _, part in ipairs { "reference =", "validate =", "__global__", "inputs =", "work =" } do
    lu.assertStrContains(text, part)
  end
  lu.assertTrue(lines_of(text) < 40, lines_of(text) .. " lines")
end

function TestPromise:test_the_task_of_the_readme_takes_under_40_lines_with_its_kernel()
  local readme = core.read_file("tasks/README.md")
  local count = lines_of(readme:match("```lua\n(.-)```"))
    + lines_of(readme:match("```cuda\n(.-)```"))
  lu.assertTrue(count < 40, count .. " lines")
end

function TestPromise:test_a_validator_takes_under_10_lines()
  local body = core.read_file("examples/validator.lua"):match("local function permutation.-\nend\n")
  lu.assertTrue(lines_of(body) < 10, lines_of(body) .. " lines")
  body = core.read_file("validators/README.md"):match("```lua\n(.-)```")
  lu.assertTrue(lines_of(body) < 10, lines_of(body) .. " lines")
end

function TestPromise:test_every_example_is_in_the_readme()
  local readme = core.read_file("examples/README.md")
  for _, name in ipairs(core.list_dir("examples")) do
    if name ~= "README.md" then lu.assertStrContains(readme, "`" .. name) end
  end
end

TestEvaluate = {}

local KERNEL = [[extern "C" __global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = %s;
}]]

local function task()
  return pg.task {
    name = "t/twice", params = { n = { default = 64, check = { 1, 33 }, min = 1 } },
    inputs = function(p, rng) return { x = rng:array("f32", p.n) } end,
    outputs = function(p) return { y = pg.spec("f32", p.n) } end,
    kernel = "void twice(const float* x, float* y, int n)",
    launch = function(p) return { grid = (p.n + 31) // 32, block = 32 } end,
    reference = function(_, io) return { y = 2 * io.x } end,
    validate = { "close", ops = 1 },
    impls = {
      naive = { "cuda", source = KERNEL:format("2 * x[i]") },
      wrong = { "cuda", source = KERNEL:format("3 * x[i]") },
    },
  }
end

function TestEvaluate:test_run_returns_a_record_for_each_implementation_and_point()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local lines = {}
  local records = pg.run(task(), { device = "sim", set = { n = "5,6" },
    out = function(line) lines[#lines + 1] = line end })
  lu.assertEquals(#records, 4)
  lu.assertEquals(records[1].verdict, "passed")
  lu.assertEquals(records[2].verdict, "wrong_result")
  lu.assertEquals({ records[1].params.n, records[3].params.n }, { 5, 6 })
  lu.assertStrContains(table.concat(lines, "\n"), "naive           passed")
  lu.assertEquals(#pg.run(task(), { device = "sim", impls = { "naive" } }), 1)
end

local VARIANTS = [[#include <cuda_fp16.h>
extern "C" __global__ void twice(const TYPE* x, TYPE* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + x[i];
}]]

function TestEvaluate:test_every_variant_is_a_cell_and_an_implementation_may_be_for_one_only()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local one = pg.task {
    name = "t/variants", params = {
      n = { default = 64 }, dtype = { default = "f32", choices = { "f16", "f32" }, variant = true },
    },
    inputs = function(p, rng) return { x = rng:array(p.dtype, p.n) } end,
    outputs = function(p) return { y = pg.spec(p.dtype, p.n) } end,
    kernel = "void twice(const {dtype}* x, {dtype}* y, int n)",
    launch = { grid = 2, block = 32 },
    reference = function(_, io) return { y = 2 * io.x } end,
    validate = { "close", ops = 1 },
    impls = {
      naive = { "cuda", source = VARIANTS,
        define = function(p) return { TYPE = pg.ctype(p.dtype) } end },
      half = { "cuda", source = VARIANTS, define = { TYPE = "__half" }, only = { dtype = "f16" } },
    },
  }
  local got = {}
  for _, rec in ipairs(pg.run(one, { device = "sim" })) do
    got[#got + 1] = ("%s %s %s %s"):format(rec.cell, rec.impl, rec.params.dtype, rec.verdict)
  end
  lu.assertEquals(got, { "f32 naive f32 passed", "f16 naive f16 passed", "f16 half f16 passed" })
  lu.assertEquals(#pg.run(one, { device = "sim", set = { dtype = "f16" } }), 2)
  local candidate = { source = (VARIANTS:gsub("TYPE", "__half")) }
  lu.assertEquals(pg.check(one, candidate, { device = "sim", set = { dtype = "f16" } }).verdict,
    "passed")
  lu.assertNotEquals(pg.check(one, candidate, { device = "sim" }).verdict, "passed")
end

function TestEvaluate:test_check_judges_a_text_or_a_file()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local rec = pg.check(task(), { source = KERNEL:format("2 * x[i]") }, { device = "sim" })
  lu.assertEquals(rec.verdict, "passed")
  lu.assertEquals(rec.cases, 10)
  local path = os.tmpname() .. ".cu"
  core.write_file(path, KERNEL:format("x[i] - x[i]"))
  rec = pg.check(task(), path, { device = "sim", set = { n = { 7, 8 } } })
  lu.assertEquals(rec.verdict, "wrong_result")
  lu.assertStrContains(rec.failed_at, "n = 7")
  os.remove(path)
end

function TestEvaluate:test_tune_tries_what_the_constraints_allow_and_finds_the_best()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  local one = task()
  one.impls[3] = { name = "open", "cuda", knobs = { COUNT = { 3, 1, 2, 9 } },
    where = { "COUNT < 9" }, source = ([[extern "C" __global__ void twice(const float* x, float* y,
      int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      for (volatile int k = 0; k < COUNT; k++) if (i < n) y[i] = 2 * x[i];
    }]]) }
  local found = pg.tune(one, { device = "sim:profile", seed = 3 })
  lu.assertEquals(found.best, { COUNT = 1 })
  lu.assertEquals(found.reason, "done")
  lu.assertEquals(#found.entries, 3)
  lu.assertEquals(found.record.verdict, "passed")
  local ok, e = pcall(pg.tune, task())
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "no implementation of t/twice has knobs")
end

function TestEvaluate:test_mistakes_are_raised()
  local function refused(message, f, ...)
    local ok, e = pcall(f, ...)
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, message)
  end
  refused("unknown option 'devcie'", pg.run, task(), { devcie = "sim" })
  refused("option set: expected a table, got a string", pg.run, task(), { set = "n=1" })
  refused("pg.run: expected a task, got a string", pg.run, "vector/saxpy")
  refused("pg.check: expected a path or { source = text }", pg.check, task(), 7)
  refused("unknown option 'impls'", pg.check, task(), "x.cu", { impls = {} })
  refused("has no implementation 'naiv'", pg.run, task(), { device = "sim", impls = { "naiv" } })
  refused("unknown parameter 'm'", pg.run, task(), { device = "sim", set = { m = 1 } })
  refused("unknown device", pg.run, task(), { device = "gpu" })
end

os.exit(lu.LuaUnit.run())
