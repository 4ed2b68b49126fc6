-- lua/README.md against the library: every public name is documented, and every name in it exists.
local lu = require "luaunit"
local pg = require "perigee"
local context = require "perigee.context"
local core = require "perigee.core"
local task = require "perigee.task"

-- Names in the first column of the reference's tables, by what stands before the dot or colon.
local function documented()
  local found = {}
  for line in core.read_file("lua/README.md"):gmatch("[^\n]+") do
    local cell = line:match("^| (.-) |")
    if line:match("^## Candidates") then break end
    for code in (cell or ""):gmatch("`([^`]+)`") do
      local object, name = code:match("^(%a+)[%.:]([%a_][%w_]*)")
      if object then
        found[object] = found[object] or {}
        found[object][name] = true
      end
    end
  end
  return found
end

local function methods_of(value)
  local names = {}
  local index = debug.getmetatable(value).__index
  for name in pairs(type(index) == "table" and index or {}) do
    if not name:match("^__") then names[name] = true end
  end
  return names
end

-- The methods of arrays and buffers are reached through a function; it is asked for each name.
local function asked(value, names)
  local found = {}
  for name in pairs(names) do
    local ok, method = pcall(function() return value[name] end)
    if ok and type(method) == "function" then found[name] = true end
  end
  return found
end

local function class_methods(class)
  local names = {}
  for name, value in pairs(class) do
    if type(value) == "function" and not name:match("^__") then names[name] = true end
  end
  return names
end

-- Method tables of the C binding that no __index shows: functions among the upvalues.
local function hidden_methods(value)
  local index, names = debug.getmetatable(value).__index, {}
  for i = 1, 9 do
    local label, up = debug.getupvalue(index, i)
    if label and type(up) == "table" then
      for name, method in pairs(up) do
        if type(method) == "function" and not name:match("^__") then names[name] = true end
      end
    end
  end
  return names
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local DOCUMENTED = documented()

local function without(set, other)
  local rest = {}
  for name in pairs(set) do
    if not other[name] then rest[name] = true end
  end
  return table.concat(sorted(rest), ", ")
end

local function same(object, public)
  local known = DOCUMENTED[object] or {}
  lu.assertEquals(without(public, known), "", object .. ": not in lua/README.md")
  lu.assertEquals(without(known, public), "", object .. ": in lua/README.md and nowhere else")
end

TestReference = {}

function TestReference:test_pg()
  local public = {}
  for name, value in pairs(pg) do
    public[name] = true
    lu.assertNotNil(value, name)
  end
  same("pg", public)
end

function TestReference:test_arrays()
  local array = pg.array("f32", 1)
  same("a", hidden_methods(array))
  lu.assertEquals(sorted(asked(array, DOCUMENTED.a)), sorted(DOCUMENTED.a))
  for _, field in ipairs { "dtype", "shape", "ndim", "count", "nbytes" } do
    lu.assertNotNil(array[field], field)
  end
end

function TestReference:test_devices_buffers_and_events()
  local dev <close> = pg.device "sim"
  same("dev", methods_of(dev))
  local buffer = dev:upload(pg.array("f32", 4))
  same("buffer", asked(buffer, { upload = 1, download = 1, fill = 1, copy_from = 1, free = 1 }))
  local event = methods_of(dev:event())
  lu.assertTrue(event[next(DOCUMENTED.event)])
  lu.assertTrue(event[next(DOCUMENTED.start)])
  lu.assertEquals(#sorted(event), 2)
end

function TestReference:test_modules_and_kernels()
  local dev <close> = pg.device "sim"
  local mod = dev:compile { lang = "ptx", source = ".version 7.0\n.target sm_70\n"
    .. ".address_size 64\n.visible .entry k() { ret; }\n" }
  same("module", methods_of(mod))
  same("kernel", methods_of(mod:kernel "k"))
end

function TestReference:test_tasks_validators_and_random_sources()
  local one = task.new { name = "t/x", kernel = "void k(int* y)", reference = function() end,
    launch = {}, outputs = function() return { y = pg.spec("i32", 1) } end }
  same("task", class_methods(getmetatable(one)))
  same("ctx", class_methods(getmetatable(context.new {})))
  same("rng", class_methods(getmetatable(pg.rng(1))))
end

function TestReference:test_what_measure_compare_and_summarize_give_is_named()
  local text = core.read_file("lua/README.md")
  local dev <close> = pg.device "sim"
  local function named(result)
    for name in pairs(result) do lu.assertStrContains(text, name) end
  end
  named(pg.measure(dev, function() end))
  named(pg.compare(pg.array("f32", 2), pg.array("f32", 2, 1), {}))
  named(pg.ratio({ 1, 2, 3, 4, 5, 6 }, { 1, 2, 3, 4, 5, 6 }))
end

function TestReference:test_every_error_code_is_named()
  local text = core.read_file("lua/README.md")
  for name in core.read_file("host/error.h"):gmatch('X%([%u_]+, "([%l_]+)"') do
    if name ~= "ok" then lu.assertStrContains(text, "`" .. name) end
  end
end

function TestReference:test_every_module_in_the_reading_order_exists()
  local list = core.read_file("lua/README.md"):match("In the order to read them:(.-)Nothing is")
  for name in list:gmatch("`([%l_]+/?[%l_]+)`") do
    lu.assertNotNil(core.file_info(("lua/perigee/%s.lua"):format(name)), name)
  end
end

-- Of `cli/` and `mesh/` the list names the folder.
function TestReference:test_every_module_is_in_the_reading_order()
  local list = core.read_file("lua/README.md"):match("In the order to read them:(.-)Nothing is")
  local function look(folder)
    for _, name in ipairs(core.list_dir("lua/perigee/" .. folder)) do
      local path = folder .. name
      local module = path:match("^(.*)%.lua$")
      if module then
        lu.assertStrContains(list, "`" .. module .. "`")
      elseif not name:find(".", 1, true) and not list:find("`" .. path .. "/`", 1, true) then
        look(path .. "/")
      end
    end
  end
  look("")
end

os.exit(lu.LuaUnit.run())
