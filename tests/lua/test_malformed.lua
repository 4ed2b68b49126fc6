-- Every field of a task with every wrong kind of value: what comes of it is a task or an error with
-- a code, a message and a place, never a Lua error of the library's own.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local case = require "perigee.case"
local catalogue = require "perigee.catalogue"
local describe = require "perigee.describe"
local describe_text = require "perigee.describe_text"
local task = require "perigee.task"
local validate = require "perigee.validate"

local knot = {}
knot.knot = knot

local VALUES = {
  7, -1, 0.5, 1 / 0, 0 / 0, "", "x", "n", "{", "\0", true, false, {}, { 1 }, { "a" }, { {} },
  { x = {} },
  { name = "a" }, { { name = "a" } }, { { name = "a", set = { n = 1 } } }, { { name = 7 } },
  { n = { default = {} } }, { n = { default = 1, check = { {} } } }, knot, { knot },
  pg.array("f32", 2), pg.struct("S", { { "a", "i32" } }), coroutine.create(function() end),
  math.maxinteger,
  function() end, function() return 7 end, function() return "x" end, function() return {} end,
  function() return { 1 } end, function() return { x = 1 } end, function() return knot end,
  function() return { y = pg.array("f32", 3) } end, function() return pg.array("i8", 0) end,
  function() error "boom" end, function() error { 1 } end, function() error() end,
  function(p) return p.none.x end, function(...) return ... end,
}

local function good()
  return {
    name = "t/x", doc = "A task.", params = { n = { default = 4 } },
    kernel = "void k(const float* x, float* y, int n)",
    inputs = function(p, rng) return { x = rng:array("f32", p.n) } end,
    outputs = function(p) return { y = pg.spec("f32", p.n) } end,
    launch = { grid = "n", block = 32 },
    reference = function(_, io) return { y = 2 * io.x } end,
    work = function(p) return { bytes = 8 * p.n } end, facts = function() return {} end,
    impls = { naive = { "cuda", source = "" } }, args = function() return {} end,
  }
end

-- All that is done with a task before a kernel runs, and the judging of a right answer.
local function try(one)
  one:points { sweep = one.sweeps[1] and one.sweeps[1].name, purpose = "sim" }
  for _, cell in ipairs(one:select_cells()) do
    one:resolve { purpose = "sim", cell = cell or nil }
  end
  local it = case.make(one, one:resolve { purpose = "sim" }, 1)
  it:expected()
  it:work()
  it:facts()
  describe_text.print(one, function() end)
  core.json_encode(describe.table(one))
  local arrays = {}
  for _, name in ipairs(it:checked_names()) do arrays[name] = it:expected()[name]:cast("f32") end
  validate.run(it, arrays, 0)
end

local function use(declared)
  try(pg.task(declared))
end

local CODES = {}
for name in core.read_file("host/error.h"):gmatch('X%([%u_]+, "([%l_]+)"') do CODES[name] = true end

local function check(declared, what, f)
  local ok, e = xpcall(f or use, function(e)
    if type(e) == "table" then return e end
    return { message = debug.traceback(tostring(e)) }
  end, declared)
  if ok then return 0 end
  lu.assertTrue(CODES[e.code] and e.code ~= "internal", what .. ": " .. tostring(e.message))
  lu.assertEquals(type(e.message), "string", what)
  lu.assertNotStrContains(e.message, "stack traceback", what)
  return 1
end

TestFields = {}

function TestFields:test_the_task_is_right_as_it_is()
  lu.assertEquals(check(good(), "good"), 0)
end

local function fields_of_a_task()
  local list = {}
  local text = core.read_file("lua/perigee/task.lua"):match("local FIELDS = (%b{})")
  for name in text:gsub('"[^"]*"', ""):gmatch("([%w_]+) =") do list[#list + 1] = name end
  return list
end

function TestFields:test_every_field_with_every_value()
  local refused, fields = 0, fields_of_a_task()
  lu.assertTrue(#fields > 15)
  for _, field in ipairs(fields) do
    for i, value in ipairs(VALUES) do
      local declared = good()
      declared[field] = value
      refused = refused + check(declared, ("%s = value #%d (%s)"):format(field, i, type(value)))
    end
  end
  lu.assertTrue(refused > 8 * #fields, refused .. " refused")
end

function TestFields:test_every_field_of_parameters_implementations_cells_and_sweeps()
  local function each(make, fields)
    for name in fields:gmatch("%a+") do
      for i, value in ipairs(VALUES) do
        local declared = good()
        make(declared, name, value)
        check(declared, ("%s = value #%d (%s)"):format(name, i, type(value)))
      end
    end
  end
  each(function(t, name, value) t.params.n[name] = value end,
    "default check sim type min max choices variant only doc")
  each(function(t, name, value) t.impls.naive[name] = value end,
    "lang file source doc kernel launch args define include options scratch ptx only knobs where "
    .. "export name")
  each(function(t, name, value) t.cells = { { name = "a", [name] = value } } end,
    "name axis set sim doc needs")
  each(function(t, name, value) t.sweeps = { { name = "a", set = { n = 1 }, [name] = value } } end,
    "name set sim doc")
  each(function(t, name, value) t.outputs = function()
      return { y = { dtype = "f32", n = 4, [name] = value } }
    end end, "dtype n shape init")
  each(function(t, name, value) t.launch = { grid = 1, block = 1, [name] = value } end,
    "grid block shared cooperative args kernel memset copy steps")
end

-- A text with one character deleted, doubled, swapped with the next or replaced by another of it.
local function damaged(text, random)
  local at, other = random(#text - 1), random(#text)
  local c, next_one = text:sub(at, at), text:sub(at + 1, at + 1)
  local instead = ({ "", c .. c, next_one .. c, text:sub(other, other) })[random(4)]
  local skip = instead == next_one .. c and 2 or 1
  return text:sub(1, at - 1) .. instead .. text:sub(at + skip)
end

function TestFields:test_task_files_with_one_wrong_character()
  local text = core.read_file("tasks/vector/saxpy.lua"):gsub("65537", "257")
  text = text:gsub("[^\n]*%-%-[^\n]*", "")
  local path, refused, state = os.tmpname() .. ".lua", 0, 0
  local function random(most)
    state = state + 1
    return 1 + core.random_below(20, 0, state, most)
  end
  for i = 1, 400 do
    local wrong = damaged(text, random)
    core.write_file(path, wrong)
    refused = refused + check(path, ("#%d:\n%s"):format(i, wrong), function()
      for _, one in ipairs(catalogue.load(path)) do try(one) end
    end)
  end
  os.remove(path)
  os.remove((path:gsub("%.lua$", "")))
  lu.assertTrue(refused > 150, refused .. " refused")
end

-- What the script around it holds is not the file's.
function TestFields:test_loading_counts_what_the_file_takes()
  local held = ("x"):rep(530 << 20)
  local ok, found = pcall(catalogue.load, "tasks/vector/saxpy.lua")
  lu.assertTrue(ok, tostring(found))
  lu.assertEquals(#held, 530 << 20)
  lu.assertErrorMsgContains("loading took more than 512 MB", catalogue.load,
    "tests/malformed/tasks/memory.lua")
end

function TestFields:test_what_is_no_declaration()
  for i, value in ipairs(VALUES) do
    local ok, e = pcall(task.new, value)
    lu.assertFalse(ok, i)
    lu.assertTrue(type(e) == "table" and CODES[e.code], ("#%d: %s"):format(i, tostring(e)))
  end
end

os.exit(lu.LuaUnit.run())
