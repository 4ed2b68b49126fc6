-- Declaring tasks: mistakes are found when the file is loaded, with its line; cases are
-- reproducible.
local lu = require "luaunit"
local pg = require "perigee"
local case = require "perigee.case"
local plan = require "perigee.plan"

TestTask = {}

local function declared(fields)
  local t = {
    name = "t/x", params = { n = { default = 8 } },
      kernel = "void k(const float* x, float* y, int n)",
    inputs = function(p, rng) return { x = rng:array("f32", p.n) } end,
    outputs = function(p) return { y = pg.spec("f32", p.n) } end,
    launch = function() return { grid = 1, block = 1 } end,
    reference = function(_, io) return { y = 2 * io.x } end,
  }
  for name, value in pairs(fields or {}) do t[name] = value end
  for name, value in pairs(t) do
    if value == "absent" then t[name] = nil end
  end
  return t
end

local function refuses(fields, message, hint)
  local ok, e = pcall(function()
    return pg.task(declared(fields)) -- this line is the place
  end)
  lu.assertFalse(ok, message)
  lu.assertStrContains(e.message, message)
  lu.assertStrContains(e.hint or "", hint or "")
  lu.assertStrContains(e.where, "test_task.lua:")
end

function TestTask:test_mistakes_are_named_with_their_place()
  refuses({ name = "absent" }, "field 'name' is missing")
  refuses({ reference = "absent" }, "field 'reference' is missing")
  refuses({ outputs = "absent" }, "neither outputs nor state")
  refuses({ ouputs = function() end }, "unknown field 'ouputs'", "did you mean 'outputs'?")
  refuses({ launch = 3 }, "field 'launch': expected function or table, got number")
  refuses({ level = "kernal" }, "unknown level")
  refuses({ name = "a b" }, "bad name 'a b'")
  refuses({ cells = { { set = { n = 1 } } } }, "cell #1 has no name")
  refuses({ cells = { { name = "a", set = { m = 1 } } } }, "unknown parameter 'm'")
  refuses({ cells = { { name = "a" }, { name = "a" } } }, "two cells are called 'a'")
  refuses({ impls = { { "cuda", "x.cu" } } }, "implementation #1 has no name")
  refuses({ impls = { a = { "cuda", "x.cu", optoins = {} } } },
    "implementation a: unknown field 'optoins'", "did you mean 'options'?")
  refuses({ impls = { a = { "cuda", "x.cu", launch = 7 } } }, "field 'launch': expected function")
  refuses({ impls = { a = { "cuda", "x.cu", args = 7 } } }, "field 'args': expected table")
  refuses({ cells = { { name = "a", needs = 7 } } }, "cell a: field 'needs': expected function")
  refuses({ cells = { { name = "a", set = 7 } } }, "cell a: field 'set': expected table")
  refuses({ kernel = "int k()" }, "must return void")
end

function TestTask:test_the_category_is_the_first_part_of_the_name()
  lu.assertEquals(pg.task(declared()).category, "t")
  lu.assertEquals(pg.task(declared { category = "other" }).category, "other")
end

function TestTask:test_implementations_have_an_order()
  local t = pg.task(declared { impls = { zeta = { "cuda", "a" }, expert = { "cuda", "a" },
    naive = { "cuda", "a" },
    alpha = { "cuda", "a" } } })
  lu.assertEquals(t:impl_names(), { "naive", "alpha", "zeta", "expert" })
  t = pg.task(declared { impls = { { name = "b", "cuda", "x" }, { name = "a", "cuda", "x" } } })
  lu.assertEquals(t:impl_names(), { "b", "a" })
end

function TestTask:test_selecting_by_name()
  local t = pg.task(declared { cells = { { name = "small" }, { name = "large" } },
    impls = { naive = { "cuda", "x" } } })
  lu.assertEquals(t:select_cells({ "large" })[1].name, "large")
  local ok, e = pcall(t.select_cells, t, { "larg" })
  lu.assertFalse(ok)
  lu.assertEquals(e.hint, "did you mean 'large'?")
  ok, e = pcall(t.select_impls, t, { "naiv" })
  lu.assertFalse(ok)
  lu.assertEquals(e.hint, "did you mean 'naive'?")
end

function TestTask:test_derive_adds_values()
  local t = pg.task(declared { derive = function(p) p.twice = 2 * p.n end })
  lu.assertEquals(t:resolve { purpose = "default" }.twice, 16)
end

-- ---- variants and sweeps ----

local function with_variants(fields)
  local t = declared {
    params = {
      n = { default = 8 },
      dtype = { default = "f32", choices = { "f16", "f32" }, variant = true },
    },
    kernel = "void k(const {dtype}* x, {dtype}* y, int n)",
    inputs = function(p, rng) return { x = rng:array(p.dtype, p.n) } end,
    outputs = function(p) return { y = pg.spec(p.dtype, p.n) } end,
    sweeps = { { name = "size", set = { n = "8..32*2" }, sim = { n = { 1, 2 } } } },
  }
  for name, value in pairs(fields or {}) do t[name] = value end
  return pg.task(t)
end

function TestTask:test_each_variant_has_its_contract_and_is_a_cell_the_default_first()
  local t = with_variants()
  lu.assertEquals(t:cell_names(), { "f32", "f16" })
  local p = t:resolve { purpose = "default", set = { dtype = "f16" } }
  lu.assertEquals(t:contract(p)[1].params[1].dtype, "f16")
  lu.assertEquals(t:contract(p).k.text, "void k(const __half* x, __half* y, int n)")
  lu.assertEquals(case.make(t, p, 1).by_name.x.dtype_name, "f16")
  lu.assertEquals(#t:select_cells(nil, { dtype = "f16" }), 1)
  lu.assertEquals(t:select_cells(nil, { dtype = "f16" })[1].name, "f16")
  local ok, e = pcall(t.select_cells, t, { "f32" }, { dtype = "f16" })
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "none of these cells has dtype = f16")
end

function TestTask:test_a_kernel_may_be_a_function_of_the_parameters()
  local t = with_variants { kernel = function(p)
    return ("void k(const %s* x, %s* y%s)"):format(pg.ctype(p.dtype), pg.ctype(p.dtype),
      p.dtype == "f16" and ", int n" or "")
  end }
  lu.assertEquals(#t:contract({ dtype = "f16" })[1].params, 3)
  lu.assertEquals(#t:contract({ dtype = "f32" })[1].params, 2)
end

function TestTask:test_mistakes_in_a_contract_that_depends_on_parameters()
  local function refused(fields, message, hint)
    local ok, e = pcall(with_variants, fields)
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, message)
    lu.assertStrContains(e.hint or "", hint or "")
    lu.assertStrContains(e.where, "test_task.lua:")
  end
  refused({ kernel = "void k({dtpye}* y)" }, "no parameter 'dtpye'", "did you mean 'dtype'?")
  refused({ kernel = function() return 7 end }, "expected a signature, got number")
  refused({ kernel = function(p) return p.none.x end }, "task t/x, kernel: attempt to index")
  refused({ kernel = { "void k(int n)", "void k(int m)" } }, "two kernels are called 'k'")
  refused({ kernel = { 7 } }, "kernel #1: expected a signature, got a number")
  refused({ sweeps = { { set = { n = 1 } } } }, "sweep #1: expected a name")
  refused({ sweeps = { { name = "a", set = { m = 1 } } } }, "unknown parameter 'm'")
  refused({ sweeps = { { name = "a", set = { n = "1..0" } } } }, "cannot read '1..0'")
  refused({ sweeps = { { name = "a", set = {} }, { name = "a", set = {} } } },
    "two sweeps are called 'a'")
end

function TestTask:test_points_of_a_sweep_and_of_set()
  local t = with_variants()
  local function sizes(how)
    local list, points, swept = {}, t:points(how)
    for i, point in ipairs(points) do list[i] = point.n end
    return list, swept
  end
  lu.assertEquals(sizes { sweep = "size", purpose = "default" }, { 8, 16, 32 })
  lu.assertEquals(sizes { sweep = "size", purpose = "sim" }, { 1, 2 })
  lu.assertEquals(sizes { sweep = "size", set = { n = "5" }, purpose = "sim" }, { 5 })
  lu.assertEquals({ t:points { set = { n = "1,2", dtype = "f16,f32" } } }, { { { n = 1 },
    { n = 2 } }, { "n" } })
  lu.assertEquals({ t:points {} }, { { {} }, {} })
  local ok, e = pcall(t.points, t, { sweep = "siez" })
  lu.assertFalse(ok)
  lu.assertEquals(e.hint, "did you mean 'size'?")
end

TestCase = {}

function TestCase:test_a_seed_gives_the_same_inputs_and_another_gives_others()
  local t = pg.task(declared())
  local p = t:resolve { purpose = "default" }
  local a, b, c = case.make(t, p, 7), case.make(t, p, 7), case.make(t, p, 8)
  lu.assertTrue(a.io.x:equal_bits(b.io.x))
  lu.assertFalse((a.io.x:equal_bits(c.io.x)))
end

function TestCase:test_buffers_are_in_the_order_of_the_signature()
  local t = pg.task(declared { kernel = "void k(float* y, const float* x)" })
  local one = case.make(t, { n = 8 }, 1)
  lu.assertEquals(one.list[1].name, "y")
  lu.assertEquals(one.list[2].name, "x")
  lu.assertEquals(one:set_bytes(), 32)
end

function TestCase:test_expected_values_may_be_lists_and_numbers()
  local t = pg.task(declared { reference = function() return { y = { 1, 2, 3, 4, 5, 6, 7,
    8 } } end })
  local one = case.make(t, { n = 8 }, 1)
  lu.assertEquals(one:expected().y[7], 8)
  lu.assertEquals(one:checked_names(), { "y" })
end

function TestCase:test_state_is_seen_by_the_reference_as_it_starts()
  local t = pg.task(declared {
    kernel = "void k(int* s)", inputs = "absent", outputs = "absent",
    state = function(p) return { s = { dtype = "i32", n = p.n, init = "empty" } } end,
    reference = function(_, io) return { s = io.s } end,
  })
  lu.assertEquals(case.make(t, { n = 8 }, 1):expected().s[3], -1)
end

function TestCase:test_mistakes_of_a_task_name_the_field()
  local function refuses_case(fields, message)
    local ok, e = pcall(function()
      local t = pg.task(declared(fields))
      case.make(t, t:resolve { purpose = "default" }, 1):expected()
    end)
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, message)
    lu.assertNotNil(e.where)
  end
  refuses_case({ inputs = function(p) return { x = p.m + 1 } end },
    "inputs: attempt to perform arithmetic")
  refuses_case({ inputs = function() return { x = 5 } end }, "input 'x': expected an array")
  refuses_case({ outputs = function() return { y = pg.spec("f33", 4) } end }, "f33")
  refuses_case({ outputs = function(p) return { y = pg.spec("f32", p.n / 2) } end },
    "where a size >= 0")
  refuses_case({ outputs = function() return { x = pg.spec("f32", 4) } end },
    "two buffers are called 'x'")
  refuses_case({ reference = function() return 1 end }, "reference: expected a table, got number")
  refuses_case({ reference = function() end }, "reference: it returned nothing")
  refuses_case({ reference = function() return { y = { 1, 2 } } end },
    "'y' has 2 elements, the buffer has 8")
  refuses_case({ reference = function() error { 1 } end }, "raised a table without code")
  refuses_case({ inputs = function() return { 5 } end }, "expected buffers by name")
  refuses_case({ derive = function() error "no" end }, "task t/x, derive: no")
  refuses_case({ derive = function() return 5 end }, "derive: expected a table, got number")
end

function TestCase:test_mistakes_of_what_is_launched_name_the_field()
  local function refuses_plan(fields, one, message)
    local t = pg.task(declared(fields))
    local it = case.make(t, { n = 8 }, 1)
    local ok, e = pcall(function()
      plan.build(t, one, it.p, it:buffers_for(one))
    end)
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, message)
    lu.assertEquals(e.where:match("test_task.lua") or e.where, one.where or "test_task.lua")
  end
  refuses_plan({ args = function() return 5 end }, {}, "args: expected a table, got number")
  refuses_plan({ launch = function() error "no" end }, {}, "task t/x, launch: no")
  refuses_plan({ launch = function() end }, {}, "launch: it returned nothing")
  refuses_plan({ launch = function() return { 7 } end }, {}, "expected a step")
  refuses_plan({}, { where = "impl", launch = function() return 7 end }, "launch: expected a table")
  refuses_plan({}, { where = "impl", scratch = function() return 7 end },
    "scratch: expected a table")
end

os.exit(lu.LuaUnit.run())
