-- Structs by value between Lua and what the C compiler makes: as arguments, results, in callbacks.
-- Packed, aligned, nested, unions, bit-fields: drawn at random, always the same.
local lu = require "luaunit"
local pg = require "perigee"
local ffi = require "ffi"

TestFfiStructs = {}

local COUNT = 120
math.randomseed(105)

local function one_of(list) return list[math.random(#list)] end

-- A member's form, and what of it is compared: padding within need not be copied.
local MEMBERS = {}
for _, form in ipairs { "char %s", "signed char %s", "short %s", "int %s", "int64_t %s", "float %s",
  "double %s", "void *%s", "float %s[2]", "char %s[3]", "short %s[2]", "float %s[3]",
  "int %s __attribute__((aligned(8)))" } do
  MEMBERS[#MEMBERS + 1] = { form = form }
end
for _, body in ipairs { "short a; float b;", "char a; double b;", "float a; char b;" } do
  for _, attribute in ipairs { "", "__attribute__((packed))" } do
    MEMBERS[#MEMBERS + 1] = { form = ("struct %s { %s } %%s"):format(attribute, body),
      parts = { ".a", ".b" } }
  end
end
if ffi.arch == "x64" then
  for _, form in ipairs { "unsigned %s : 5", "int %s : 17", "int64_t %s : 33" } do
    MEMBERS[#MEMBERS + 1] = { form = form, is_bits = true }
  end
  MEMBERS[#MEMBERS + 1] = { form = "union { int i; float f; } %s" }
  MEMBERS[#MEMBERS + 1] = { form = "union { float f; double d; } %s" }
  MEMBERS[#MEMBERS + 1] = { form = "union { char c[9]; int i; } %s", parts = { ".c" } }
end

-- The C text of struct `name`, and of a function that compares two member by member.
local function draw_struct(name)
  local members, same = {}, {}
  for i = 1, math.random(4) do
    local kind, member = one_of(MEMBERS), "m" .. i
    members[i] = kind.form:format(member) .. ";"
    for _, part in ipairs(kind.parts or { "" }) do
      local whole = member .. part
      same[#same + 1] = (kind.is_bits and "a->%s == b->%s" or
        "!memcmp(&a->%s, &b->%s, sizeof a->%s)"):format(whole, whole, whole)
    end
  end
  local attribute = one_of { "", "", "__attribute__((packed))", "__attribute__((packed))",
    "__attribute__((aligned(16)))", "__attribute__((packed, aligned(2)))" }
  local body = ("typedef struct %s { %s } %s;"):format(attribute, table.concat(members, " "), name)
  return body, ("int same_%s(const %s *a, const %s *b) { return %s; }"):format(name, name, name,
    table.concat(same, " && "))
end

-- What stands before the struct, so that it comes into every register and onto the stack.
local function draw_neighbours()
  local list = {}
  for i = 1, math.random(0, 9) do list[i] = one_of { "int", "double" } end
  return list
end

local FUNCTIONS = [[
  int pass_NAME(BEFORE NAME v, double after, const NAME *want) {
    return CHECKS after == 0.5 && same_NAME(&v, want);
  }
  wide hidden_NAME(BEFORE NAME v, const NAME *want) { /* its address takes a register */
    return (wide){{CHECKS same_NAME(&v, want), 2, 3}};
  }
  NAME give_NAME(const NAME *from) { return *from; }
  NAME back_NAME(NAME (*f)(TYPES NAME, double, int), const NAME *v) {
    return f(NUMBERS *v, 0.5, 99);
  }
]]

local WIDE = "typedef struct wide { int64_t v[3]; } wide;"
local types, source, declarations = {}, { "#include <stdint.h>\n"
  .. "#include <string.h>\n" .. WIDE }, { WIDE }
for i = 1, COUNT do
  local name, neighbours = "drawn" .. i, draw_neighbours()
  local text = { NAME = name, BEFORE = "", CHECKS = "", TYPES = "", NUMBERS = "" }
  for k, ctype in ipairs(neighbours) do
    text.BEFORE = text.BEFORE .. ("%s b%d, "):format(ctype, k)
    text.CHECKS = text.CHECKS .. ("b%d == %d && "):format(k, k)
    text.TYPES = text.TYPES .. ctype .. ", "
    text.NUMBERS = text.NUMBERS .. k .. ", "
  end
  local body, same = draw_struct(name)
  source[#source + 1] = body .. "\n" .. same .. "\n" .. FUNCTIONS:gsub("%u%u+", text)
  declarations[#declarations + 1] = body .. ([[
    int same_NAME(const NAME *, const NAME *); int pass_NAME(BEFORE NAME, double, const NAME *);
    wide hidden_NAME(BEFORE NAME, const NAME *);
    NAME give_NAME(const NAME *);
    NAME back_NAME(NAME (*f)(TYPES NAME, double, int), const NAME *);]]):gsub("%u%u+", text)
  types[i] = { name = name, text = body, neighbours = neighbours,
    callback = ("%s (*)(%s %s, double, int)"):format(name, text.TYPES, name) }
end
local lib = pg.native { source = table.concat(source, "\n"),
  cdef = table.concat(declarations, "\n") }

local function each(body)
  for _, t in ipairs(types) do
    local value = ffi.new(t.name)
    local bytes = ffi.cast("uint8_t *", value)
    for i = 0, ffi.sizeof(t.name) - 1 do bytes[i] = math.random(255) end
    t.same = function(other) return lib["same_" .. t.name](other, value) == 1 end
    body(t, value)
  end
end

function TestFfiStructs.test_sizes_are_the_compiler_s()
  local sizes = { "#include <stdint.h>" }
  for i, t in ipairs(types) do
    sizes[#sizes + 1] = ("%s int size%d(void) { return sizeof(%s); }"):format(t.text, i, t.name)
  end
  local cdef = {}
  for i = 1, #types do cdef[i] = ("int size%d(void);"):format(i) end
  local c = pg.native { source = table.concat(sizes, "\n"), cdef = table.concat(cdef, "\n") }
  for i, t in ipairs(types) do lu.assertEquals(ffi.sizeof(t.name), c["size" .. i](), t.text) end
end

local function behind_neighbours(t, ...)
  local arguments = {}
  for i = 1, #t.neighbours do arguments[i] = i end
  return table.unpack(table.move({ ... }, 1, select("#", ...), #arguments + 1, arguments))
end

function TestFfiStructs.test_as_an_argument()
  each(function(t, value)
    local same = lib["pass_" .. t.name](behind_neighbours(t, value, 0.5, value))
    lu.assertEquals(same, 1, t.text .. t.callback)
  end)
end

function TestFfiStructs.test_as_an_argument_where_the_result_is_in_memory()
  each(function(t, value)
    local v = lib["hidden_" .. t.name](behind_neighbours(t, value, value)).v
    lu.assertEquals({ v[0], v[1], v[2] }, { 1, 2, 3 }, t.text .. t.callback)
  end)
end

function TestFfiStructs.test_as_a_result()
  each(function(t, value) lu.assertTrue(t.same(lib["give_" .. t.name](value)), t.text) end)
end

function TestFfiStructs.test_in_a_callback()
  each(function(t, value)
    local came
    local callback = ffi.cast(t.callback, function(...)
      local arguments, before = { ... }, #t.neighbours
      for i = 1, before do lu.assertEquals(arguments[i], i, t.text) end
      local v, after, last = table.unpack(arguments, before + 1)
      came = after == 0.5 and last == 99 and t.same(v)
      return v
    end)
    local result = lib["back_" .. t.name](callback, value)
    callback:free()
    lu.assertTrue(came, t.text .. t.callback)
    lu.assertTrue(t.same(result), t.text)
  end)
end

function TestFfiStructs.test_what_cannot_be_passed()
  for _, members in ipairs { "{ int x; } __attribute__((aligned(32)))", "{ long double x; }",
    "{ }", "{ int n; int v[?]; }" } do
    local called = ffi.cast(ffi.typeof("int (*)($)", ffi.typeof("struct " .. members)), 8)
    local ok, e = pcall(called, {})
    lu.assertFalse(ok)
    lu.assertEquals(e.code, "unsupported", members)
    lu.assertStrContains(e.message, "cannot be passed or returned by value")
  end
end

os.exit(lu.LuaUnit.run())
