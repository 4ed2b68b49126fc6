-- Plans: arguments by the names of the signature, launch forms, and the errors of a task that does
-- not fit.
local lu = require "luaunit"
local pg = require "perigee"
local buffers = require "perigee.buffers"
local plan = require "perigee.plan"

TestPlan = {}

local Entry = pg.struct("Entry", { { "key", "i64" }, { "block", "i32" }, { "pad", "i32" } })

local function task(fields)
  local declared = {
    name = "t/x", kernel = "void k(const float* x, float* y, float a, int n)",
    launch = function() return { grid = 4, block = 128 } end, outputs = function() return {} end,
    reference = function() return {} end,
  }
  for name, value in pairs(fields or {}) do declared[name] = value end
  return pg.task(declared)
end

local function list()
  return {
    buffers.normal("x", "input", pg.array("f32", 4)), buffers.normal("y", "output",
      pg.spec("f32", 4)),
    buffers.normal("table", "state", { dtype = Entry, n = 8, init = "empty" }),
  }
end

local function build(fields, impl, p)
  return plan.build(task(fields), impl or {}, p or { n = 4, a = 2.5 }, list())
end

function TestPlan:test_arguments_are_matched_by_name()
  local steps = build()
  lu.assertEquals(#steps, 1)
  lu.assertEquals(steps[1].launch, "k")
  lu.assertEquals(steps[1].grid, { 4, 1, 1 })
  lu.assertEquals(steps[1].block, { 128, 1, 1 })
  lu.assertEquals(steps[1].args, { { buffer = 0 }, { buffer = 1 }, { f = 2.5 }, { i = 4 } })
end

function TestPlan:test_args_of_the_task_go_before_parameters()
  local steps = build { args = function(p) return { n = 2 * p.n } end }
  lu.assertEquals(steps[1].args[4], { i = 8 })
end

function TestPlan:test_several_kernels_and_steps()
  local steps = build {
    kernel = { "void first(Entry* table)", "void second(float* y, int n)" },
    launch = function()
      return {
        { kernel = "first", grid = { 2, 3 }, block = 32, shared = 64 },
        { memset = "table", byte = 255, bytes = 16 }, { copy = { "y", "x" } },
        { kernel = "second", grid = 1, block = 1, cooperative = true },
      }
    end,
  }
  lu.assertEquals(steps[1].grid, { 2, 3, 1 })
  lu.assertEquals(steps[1].shared, 64)
  lu.assertEquals(steps[2], { memset = 2, byte = 255, bytes = 16, offset = 0 })
  lu.assertEquals(steps[3], { copy = { 1, 0 }, bytes = 16 })
  lu.assertIs(steps[4].cooperative, true)
  lu.assertEquals(plan.kernels(steps), { "first", "second" })
end

function TestPlan:test_an_implementation_has_its_own_name_launch_and_arguments()
  local steps = build(nil, {
    kernel = "k_fast", args = { "y", { "x", offset = 8 }, "n", 7, 0.5 },
    launch = function(p) return { grid = p.n, block = 32 } end,
  })
  lu.assertEquals(steps[1].launch, "k_fast")
  lu.assertEquals(steps[1].grid, { 4, 1, 1 })
  lu.assertEquals(steps[1].args,
    { { buffer = 1 }, { buffer = 0, offset = 8 }, { f = 4.0 }, { i = 7 }, { f = 0.5 } })
end

function TestPlan:test_an_implementation_may_have_another_signature()
  local steps = build(nil, { kernel = "void swapped(int n, float* y)" })
  lu.assertEquals(steps[1].launch, "swapped")
  lu.assertEquals(steps[1].args, { { i = 4 }, { buffer = 1 } })
end

function TestPlan:test_special_floats_and_large_integers_survive_json()
  local steps = build({ kernel = "void k(float a, float b, uint64_t n)" }, nil,
    { a = 0 / 0, b = -math.huge, n = -1 })
  lu.assertEquals(steps[1].args, { { f = "NaN" }, { f = "-Infinity" },
    { u = "18446744073709551615" } })
end

local function refuses(message, hint, code, ...)
  local ok, e = pcall(build, ...)
  lu.assertFalse(ok, message)
  lu.assertEquals(e.code, code, message)
  lu.assertStrContains(e.message, message)
  lu.assertStrContains(e.hint or "", hint)
  lu.assertStrContains(e.where, "test_plan.lua:")
end

function TestPlan:test_an_empty_grid_is_refused_unless_the_task_allows_it()
  local empty = function() return { grid = 0, block = 128 } end
  refuses("launch #1 has an empty grid: {0, 1, 1}", "at least one block", "range",
    { launch = empty })
  lu.assertEquals(#build { launch = empty, allow_empty = true }, 0)
  refuses("launch #1 has an empty block", "", "range",
    { launch = function() return { grid = 1, block = 0 } end, allow_empty = true })
end

function TestPlan:test_grids_that_are_no_integers()
  refuses("grid of launch #1 has 1.5", "//", "range", { launch = function() return { grid = 1.5,
    block = 1 } end })
  refuses("grid of launch #1 has -1", "", "range", { launch = function() return { grid = -1,
    block = 1 } end })
  refuses("expected an integer or {x, y, z}, got nil", "", "invalid",
    { launch = function() return { block = 1 } end })
end

function TestPlan:test_names_that_do_not_exist()
  refuses("'z' is neither a buffer of the task", "", "invalid",
    { kernel = "void k(const float* z)" })
  refuses("'nn' is neither a buffer nor a scalar", "", "invalid", { kernel = "void k(int nn)" })
  refuses("unknown field 'gird'", "did you mean 'grid'?", "invalid",
    { launch = function() return { gird = 1, block = 1 } end })
  refuses("no buffer 'tabel'", "did you mean 'table'?", "not_found",
    { launch = function() return { { memset = "tabel" } } end })
end

function TestPlan:test_types_that_do_not_fit()
  refuses("buffer x holds f32 but parameter 'x' points to double", "", "invalid",
    { kernel = "void k(const double* x)" })
  refuses("'x' is a buffer but parameter 'x' is no pointer", "", "invalid",
    { kernel = "void k(int x)" })
  refuses("'x' is an input but its parameter is not const", "write const float* x", "invalid",
    { kernel = "void k(float* x)" })
  refuses("scalar 'n': expected an integer for i32, got 2.5", "", "invalid",
    { kernel = "void k(int n)" }, nil,
    { n = 2.5 })
end

os.exit(lu.LuaUnit.run())
