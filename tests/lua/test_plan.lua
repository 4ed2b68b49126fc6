-- Plans: arguments by the names of the signature, launch forms, and the errors of a task that does
-- not fit.
local lu = require "luaunit"
local pg = require "perigee"
local buffers = require "perigee.buffers"
local case = require "perigee.case"
local core = require "perigee.core"
local files = require "perigee.files"
local plan = require "perigee.plan"
local scratch = require "perigee.scratch"
local shell = require "perigee.shell"

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
  lu.assertEquals(steps[3], { copy = { 1, 0 }, bytes = 16, to_offset = 0, from_offset = 0 })
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

function TestPlan:test_numbers_may_be_expressions()
  local steps = build({ args = function() return { half = 2 } end }, {
    launch = {
      { grid = { "ceil_div(n, 3)", "half" }, block = "32 * half", shared = "4 * n" },
      { memset = "table", byte = "n", offset = "8 * half", bytes = "n << 2" },
      { kernel = "other", grid = "half", block = 1,
        args = { { "table", offset = "16 * half" }, "n", "n * half", "a / 2", 7, "half" } },
    },
  })
  lu.assertEquals(steps[1].grid, { 2, 2, 1 })
  lu.assertEquals(steps[1].block, { 64, 1, 1 })
  lu.assertEquals(steps[1].shared, 16)
  lu.assertEquals(steps[2], { memset = 2, byte = 4, offset = 16, bytes = 16 })
  lu.assertEquals(steps[3].args, { { buffer = 2, offset = 32 }, { i = 4 }, { i = 8 }, { f = 1.25 },
    { i = 7 }, { i = 2 } })
end

function TestPlan:test_parts_are_copied_by_offsets()
  local steps = build(nil, { launch = {
    { copy = { { "y", offset = "n + 4" }, { "x", offset = 4 } } },
    { copy = { "y", { "x", offset = "4 * n" } } },
  } })
  lu.assertEquals(steps[1], { copy = { 1, 0 }, to_offset = 8, from_offset = 4, bytes = 8 })
  lu.assertEquals(steps[2], { copy = { 1, 0 }, to_offset = 0, from_offset = 16, bytes = 0 })
end

function TestPlan:test_clusters_and_tensor_maps()
  local steps = build(nil, { launch = {
    kernel = "t", grid = { 8, 2 }, block = 32, cluster = { 4, 2 },
    args = {
      { tensor_map = "x", box = { 2 } },
      { tensor_map = "y", shape = { 2, "n // 2" }, box = { 1, "n // 4" }, swizzle = 32,
        dtype = "u32", offset = 4 },
    },
  } })
  lu.assertEquals(steps[1].cluster, { 4, 2, 1 })
  lu.assertEquals(steps[1].args[1], { tensor_map = 0, dtype = "f32", shape = { 4 }, box = { 2 },
    swizzle = 0, offset = 0 })
  lu.assertEquals(steps[1].args[2], { tensor_map = 1, dtype = "u32", shape = { 2, 2 },
    box = { 1, 1 }, swizzle = 32, offset = 4 })
  lu.assertNil(build()[1].cluster)
end

function TestPlan:test_loops()
  local steps = build(nil, {
    launch = {
      { repeat_until = "table", max = "10 * n", steps = {
        { memset = "y" },
        { repeat_until = "table", max = 2, steps = { grid = 1, block = 1 } },
      } },
    },
  })
  lu.assertEquals(steps[1].repeat_until, 2)
  lu.assertEquals(steps[1].max, 40)
  lu.assertEquals(steps[1].steps[1].memset, 1)
  lu.assertEquals(steps[1].steps[2].steps[1].launch, "k")
  lu.assertEquals(plan.kernels(steps), { "k" })
end

function TestPlan:test_a_loop_of_launches_that_are_all_empty_is_left_out()
  local empty = { { repeat_until = "table", max = 1, steps = { { grid = 0, block = 1 } } } }
  lu.assertEquals(#build({ allow_empty = true }, { launch = empty }), 0)
end

function TestPlan:test_kernels_may_be_renamed_by_a_map()
  local steps = build({ kernel = { "void a(float* y)", "void b(int n)" } }, {
    kernel = { a = "fast_a<{T}, {n}>", b = "void b2(float* y, int n)" },
    launch = { { kernel = "a", grid = 1, block = 1 }, { kernel = "b", grid = 1, block = 1 } },
  }, { n = 4, T = "f32" })
  lu.assertEquals(steps[1].launch, "fast_a<float, 4>")
  lu.assertEquals(steps[1].args, { { buffer = 1 } })
  lu.assertEquals(steps[2].launch, "b2")
  lu.assertEquals(steps[2].args, { { buffer = 1 }, { i = 4 } })
end

function TestPlan:test_mistakes_in_steps()
  local function mistake(launch, message, hint, code)
    refuses(message, hint or "", code or "invalid", nil, { launch = launch })
  end
  local one = { grid = 1, block = 1 }
  mistake({}, "launch has no steps")
  mistake({ 7 }, "launch #1: expected a step, got number", "a step is {")
  mistake({ one, { gird = 1 } }, "launch #2: unknown field 'gird'", "did you mean 'grid'?")
  mistake({ one, fast = true }, "'fast' among the steps of a list", "list of steps")
  mistake({ { memset = "y", grid = 1 } }, "launch #1: unknown field 'grid'")
  mistake({ { memset = "x" } }, "launch #1: 'x' is an input", "copy it to scratch")
  mistake({ { memset = "y", byte = 256 } }, "byte of launch #1 is 256: expected an integer from 0",
    "", "range")
  mistake({ { memset = "y", bytes = "n + 13" } }, "bytes of launch #1 is 17 (n + 13)", "", "range")
  mistake({ { memset = "y", offset = 17 } }, "offset of launch #1 is 17", "", "range")
  mistake({ { copy = { "y" } } }, "copy: expected two buffers", "write { copy")
  mistake({ { copy = "y" } }, "copy: expected two buffers")
  mistake({ { copy = { "x", "y" } } }, "'x' is an input")
  mistake({ { copy = { "y", "y" } } }, "'y' is copied to itself")
  mistake({ { copy = { "y", { "x", at = 1 } } } }, "copy: unknown field 'at'")
  mistake({ { copy = { { "y", offset = 17 }, "x" } } }, "offset of launch #1 is 17", "", "range")
  mistake({ { copy = { { "y", offset = 12 }, "x" }, bytes = 5 } }, "bytes of launch #1 is 5", "",
    "range")
  mistake({ { copy = { "y", "x" }, bytes = 17 } }, "bytes of launch #1 is 17", "", "range")
  mistake({ { repeat_until = "done", max = 1, steps = one } }, "launch #1: no buffer 'done'", "",
    "not_found")
  mistake({ { repeat_until = "x", max = 1, steps = one } }, "'x' is an input")
  mistake({ { repeat_until = "y", steps = one } }, "repeat_until without max", "the most rounds")
  mistake({ { repeat_until = "y", max = 0, steps = one } }, "max of launch #1 is 0", "", "range")
  mistake({ { repeat_until = "y", max = 1 } }, "launch: expected steps, got nil")
  mistake({ { repeat_until = "y", max = 1, steps = {} } }, "launch has no steps")
  mistake({ { repeat_until = "y", max = 1, steps = { one, { copy = 1 } } } },
    "launch #1.2: copy: expected two buffers")
  local deep = one
  for _ = 1, 5 do deep = { repeat_until = "y", max = 1, steps = { deep } } end
  mistake({ deep }, "nested deeper than 4", "", "range")
  mistake({ grid = "nn", block = 1 }, 'grid of launch #1: no name \'nn\' in "nn"',
    "did you mean 'n'?", "not_found")
  mistake({ grid = "n / 3", block = 1 }, "grid of launch #1 has 1.333", "//", "range")
  mistake({ grid = { 1, 2, 3, 4 }, block = 1 }, "expected an integer or {x, y, z}, got 4 values")
  mistake({ grid = 1 << 32, block = 1 }, "grid of launch #1 has 4294967296 where an integer below",
    "", "range")
  mistake({ grid = true, block = 1 }, "got true")
  mistake({ grid = 1, block = 1, shared = -1 }, "shared of launch #1 is -1", "", "range")
  mistake({ grid = 1, block = 1, cooperative = 1 }, "cooperative: expected true or false")
  mistake({ grid = 6, block = 1, cluster = 4 }, "a grid of {6, 1, 1} in clusters of {4, 1, 1}",
    "multiple", "range")
  mistake({ grid = 6, block = 1, cluster = 0 }, "in clusters of {0, 1, 1}", "", "range")
  for _, one_case in ipairs {
    { { tensor_map = "xx", box = { 1 } }, "argument #1: no buffer 'xx'", "not_found" },
    { { tensor_map = "x" }, "argument #1, box: expected a list of 1 to 5 extents", "invalid" },
    { { tensor_map = "x", box = { 1, 1 } }, "the shape has 1 extents, the box 2", "invalid" },
    { { tensor_map = "x", box = { 257 } }, "argument #1, box is 257: expected", "range" },
    { { tensor_map = "x", box = { 1 }, shape = { 0 } }, "argument #1, shape is 0", "range" },
    { { tensor_map = "x", box = { 1 }, swizle = 3 }, "unknown field 'swizle'", "invalid" },
  } do
    mistake({ grid = 1, block = 1, args = { one_case[1] } }, one_case[2], "", one_case[3])
  end
  mistake({ grid = 1, block = 1, kernel = 3 }, "kernel: expected a name, got a number")
  mistake({ grid = 1, block = 1, args = "y" }, "args: expected a list, got a string")
  mistake({ grid = 1, block = 1, args = { y = 1 } }, "args: expected a plain list")
  mistake({ grid = 1, block = 1, args = { { "y", offset = 17 } } },
    "argument #1: offset 17 in the 16 bytes of y", "counts bytes", "range")
  mistake({ grid = 1, block = 1, args = { { "y", at = 1 } } }, "argument #1: unknown field 'at'")
  mistake({ grid = 1, block = 1, args = { { "yy" } } }, "argument #1: no buffer 'yy'", "",
    "not_found")
  mistake({ grid = 1, block = 1, args = { "y", "nn" } }, "argument #2: no buffer or scalar 'nn'",
    "", "not_found")
  mistake({ grid = 1, block = 1, args = { "y", "n +" } },
    "argument #2: expected a number or a name", "", "syntax")
end

-- ---- scratch ----

TestScratch = {}

local function scratch_of(declared, own, p)
  local a_task = task { state = function() return { table = { dtype = Entry, n = 8 } } end }
  local one = case.make(a_task, p or { n = 10 }, 1)
  return scratch.list({ scratch = declared, where = "plan.lua" }, one, own)
end

function TestScratch:test_sizes_are_expressions_and_types_those_of_the_task()
  local got = scratch_of({ a = { dtype = "f32", n = "2 * n" }, b = { bytes = "n + 1" },
    c = { dtype = "i16", shape = { 2, "n" }, init = "empty" }, d = { dtype = "Entry", n = 3 } })
  lu.assertEquals({ got[1].bytes, got[2].bytes, got[3].bytes, got[4].bytes }, { 80, 11, 40, 48 })
  lu.assertEquals({ got[1].role, got[2].role, got[3].role }, { "scratch", "scratch", "state" })
  lu.assertEquals(got[3].fill, 255)
  lu.assertEquals(scratch.set_bytes(got), 40)
  for _, buffer in ipairs(got) do lu.assertIsTrue(buffer.scratch) end
end

function TestScratch:test_own_copies_where_sets_must_not_meet()
  local got = scratch_of({ a = { dtype = "f32", n = 1 } }, true)
  lu.assertEquals(got[1].role, "output")
  lu.assertEquals(scratch.set_bytes(got), 4)
end

function TestScratch:test_mistakes()
  for _, one in ipairs {
    { { a = 3 }, "invalid", "scratch 'a': expected a table, got a number" },
    { { [1] = {} }, "invalid", "scratch: '1' is no name" },
    { { ["a b"] = {} }, "invalid", "'a b' is no name" },
    { { table = { bytes = 1 } }, "invalid", "has the name of a buffer of the task" },
    { { a = { n = 3 } }, "invalid", "scratch 'a' has no dtype" },
    { { a = { dtype = "f32" } }, "invalid", "expected one of n, shape and bytes, got none" },
    { { a = { dtype = "f32", n = 1, shape = 2 } }, "invalid", "got several" },
    { { a = { dtype = "f32", bytes = 4 } }, "invalid", "both bytes and a dtype" },
    { { a = { dtype = "f33", n = 1 } }, "not_found", "f33" },
    { { a = { dtype = "f32", n = -1 } }, "range", "size of scratch 'a' is -1" },
    { { a = { dtype = "f32", n = "n / 4" } }, "range", "size of scratch 'a' is 2.5" },
    { { a = { dtype = "f32", n = "nn" } }, "not_found", "no name 'nn'" },
    { { a = { dtype = "f32", shape = { 1 << 40, 1 << 40 } } }, "range", "more than 2^46" },
    { { a = { dtype = "f32", count = 4 } }, "invalid", "unknown field 'count'" },
    { { a = { dtype = "f32", n = 1, init = 256 } }, "invalid", "init = 256" },
    { { a = { dtype = {}, n = 1 } }, "invalid", "dtype: expected a name, got a table" },
  } do
    local ok, e = pcall(scratch_of, one[1])
    lu.assertFalse(ok, one[3])
    lu.assertEquals(type(e) == "table" and e.code or e, one[2], one[3])
    lu.assertStrContains(e.message, one[3])
  end
end

TestMalformed = {}

-- The candidates as they are, each with the kernel that it would include: of their own folder only.
local function with_kernels(folder)
  local from, names = "tests/malformed/plans", {}
  local kernel = files.read(files.join(from, "axpy.cuh"))
  shell.output(("cp -r %s/. %s"):format(from, shell.quoted(folder)))
  for _, name in ipairs(core.list_dir(from)) do
    local own = files.join(folder, name)
    local source = files.join(own, "axpy.cu")
    if files.is_folder(own) then names[#names + 1] = name end
    if core.read_file(source) == '#include "../axpy.cuh"\n' then files.write(source, kernel) end
  end
  return names
end

-- Each has the verdict that its plan's head says, in those words.
function TestMalformed:test_each_is_told()
  if not core.compiler_info() then lu.skip "no NVRTC on this machine" end
  files.in_temporary(function(folder)
    local names, records = with_kernels(folder), {}
    local check = "%s/perigee check vector/saxpy %s/*/ --set n=1000 --device sim --json"
    local text = shell.output(check:format(os.getenv "BUILD" or "build", shell.quoted(folder)))
    for line in text:gmatch "[^\n]+" do
      local record = core.json_decode(line)
      if type(record) == "table" and record.impl then records[record.impl] = record end
    end
    lu.assertTrue(#names > 100)
    for _, name in ipairs(names) do
      local head = files.read(files.join(files.join(folder, name), "plan.lua"))
      local record = records[name] or {}
      lu.assertEquals(record.verdict, head:match "verdict: (%l[%l_]*)", name)
      lu.assertStrContains(table.concat({ record.reason or "", record.hint or "",
        record.compile_log or "" }, "\n"), head:match "says: ([^\n]+)", false, false, name)
    end
  end)
end

os.exit(lu.LuaUnit.run())
