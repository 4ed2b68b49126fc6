-- What Perigee's ffi does beyond LuaJIT's, and where Lua 5.4 forces another answer: the list in
-- host/ffi/README.md. What both do alike is in tests/ffi/shared.lua.
local lu = require "luaunit"
local pg = require "perigee"
local ffi = require "ffi"
local core = require "perigee.core"
local files = require "perigee.files"
local shell = require "perigee.shell"

ffi.cdef [[
  typedef struct ffi_point { int x, y; } ffi_point;
  struct ffi_line { ffi_point from, to; int steps[4]; };
  unsigned long long strtoull(const char *, char **, int);
  int abs(int);
  void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
  int fileno(void *stream);
  long labs(long);
]]

TestFfi = {}

local function error_of(f, ...)
  local ok, e = pcall(f, ...)
  lu.assertFalse(ok)
  return e
end

-- ---- Lua 5.4 ---------------------------------------------------------------------------------

function TestFfi.test_64_bit_integers_are_lua_integers()
  lu.assertEquals(math.type(ffi.C.labs(-5)), "integer")
  lu.assertEquals(ffi.new("int64_t", math.maxinteger), math.maxinteger)
  lu.assertEquals(ffi.cast("uint64_t", -1), -1)
  lu.assertEquals(ffi.C.strtoull("18446744073709551615", nil, 10), -1)
  lu.assertTrue(ffi.istype("int64_t", 7))
  lu.assertEquals(ffi.C.labs(math.mininteger + 1), math.maxinteger)
end

function TestFfi.test_null_is_compared_with_nullptr()
  local none = ffi.new("int *")
  lu.assertTrue(none == ffi.nullptr)
  lu.assertFalse(none == nil)
  lu.assertFalse(ffi.new("int[1]") == ffi.nullptr)
end

function TestFfi.test_tonumber()
  lu.assertEquals(ffi.tonumber(ffi.new("uint8_t", 200)), 200)
  lu.assertEquals(ffi.tonumber(ffi.new("double", 1.5)), 1.5)
  lu.assertEquals(ffi.tonumber("0x10"), 16)
  lu.assertNil(ffi.tonumber("ten"))
  lu.assertNil(ffi.tonumber(ffi.nullptr))
end

-- ---- errors ----------------------------------------------------------------------------------

function TestFfi.test_an_error_names_function_argument_and_place()
  local here = debug.getinfo(1, "l").currentline
  local e = error_of(function()
    local value = ffi.C.abs("five")
    return value
  end)
  lu.assertEquals(e.code, "invalid")
  lu.assertEquals(e.message, "bad argument #1 to 'abs' (cannot convert 'string' to 'int')")
  lu.assertStrContains(e.where, "test_ffi.lua:" .. here + 2)
end

function TestFfi.test_functions_of_the_module_are_named()
  lu.assertEquals(error_of(ffi.offsetof, "ffi_point", 3).message,
    "bad argument #2 to 'offsetof': expected name of a member, got number")
end

function TestFfi.test_a_conversion_names_argument_and_member()
  ffi.cdef "typedef struct ffi_named { int n; struct { short k; } in; int v[2]; } ffi_named;"
  local function says(what, f, ...) lu.assertEquals(error_of(f, ...).message, what) end
  local named = ffi.typeof "ffi_named"
  says("bad argument #2 to 'new' (cannot convert 'string' to 'int' for member 'n')", ffi.new, named,
    { n = "x" })
  says("bad argument #1 to 'struct ffi_named' (cannot convert 'table' to 'short' for member 'k')",
    named, { 1, { k = {} } })
  says("bad argument #3 to 'struct ffi_named' (cannot convert 'bool' to 'int [2]' for member 'v')",
    named, 1, { 2 }, true)
  says("bad argument #4 to 'new' (cannot convert 'string' to 'int')", ffi.new, "int[3]", 1, 2, "x")
  says("bad argument #3 to 'new' (cannot convert 'nil' to 'int')", ffi.new, "int[?]", 2, nil)
  says("bad argument #2 to 'cast' (cannot convert 'table' to 'int')", ffi.cast, "int", {})
  says("cannot convert 'string' to 'int' for member 'n'", function() named().n = "x" end)
  says("cannot convert 'string' to 'int'", function() named().v[0] = "x" end)
  local take = ffi.cast("int (*)(ffi_named, int)", function() return 5 end)
  says("bad argument #1 to 'take' (cannot convert 'string' to 'int' for member 'v')", function()
    take({ v = { 1, "x" } }, 3)
    return true
  end)
  take:free()
end

function TestFfi.test_the_result_of_a_callback_is_named()
  lu.assertEquals(error_of(ffi.C.qsort, ffi.new("int[2]"), 2, 4, function() return "x" end).message,
    "cannot convert 'string' to 'int', which the callback returns")
end

function TestFfi.test_what_is_no_address_is_named()
  lu.assertEquals(error_of(ffi.fill, 5, 1).message,
    "bad argument #1 to 'fill' (cannot convert 'number' to 'void *')")
  lu.assertEquals(error_of(ffi.copy, ffi.new "char[4]", {}, 1).message,
    "bad argument #2 to 'copy' (cannot convert 'table' to 'const void *')")
end

function TestFfi.test_a_count_that_is_wrong_says_both()
  lu.assertEquals(error_of(ffi.C.abs).message,
    "wrong number of arguments for function call to 'abs' (expected 1, got 0)")
end

-- A library has aliases: the C library calls printf also _IO_printf.
function TestFfi.test_functions_are_named_as_they_were_declared()
  ffi.cdef "int printf(const char *, ...); int ffi_other(int) __asm__(\"abs\");"
  lu.assertStrContains(error_of(ffi.C.printf, "x", {}).message, "bad argument #2 to 'printf'")
  local f = ffi.C.ffi_other
  lu.assertStrContains(error_of(f, "x").message, "bad argument #1 to 'ffi_other'")
  local callback = ffi.cast("int (*)(int)", f)
  lu.assertStrContains(error_of(function() return (callback("x")) end).message, "'callback'")
end

-- Every function of the module with every kind of value in every place: what is refused is refused
-- by a table with a code that there is, and a message.
function TestFfi.test_every_error_is_a_table()
  local values = { false, 5, -1.5, 1 << 50, 0 / 0, "text", "int", "a\0b", "", {}, print,
    io.stdout, pg.array("f32", 4), ffi.typeof "ffi_point", ffi.typeof "int[?]", ffi.new "int[4]",
    ffi.new "ffi_point", ffi.new("double", 2), ffi.nullptr, ffi.C.abs, coroutine.create(print) }
  local codes = { invalid = true, range = true, not_found = true, syntax = true,
    unsupported = true, out_of_memory = true }
  local refused = 0
  local function try(name, ...)
    local arguments = table.pack(...)
    local ok, e = pcall(ffi[name], ...)
    if ok then return end
    refused = refused + 1
    local what = ("%s with %d arguments: %s"):format(name, arguments.n, tostring(e))
    lu.assertEquals(type(e), "table", what)
    lu.assertTrue(codes[e.code], what)
    lu.assertTrue(#e.message > 8, what)
  end
  for name, f in pairs(ffi) do
    if type(f) == "function" and name ~= "load" then
      try(name)
      for _, first in ipairs(values) do
        try(name, first)
        for _, second in ipairs(values) do
          try(name, first, second)
          for _, third in ipairs(values) do try(name, first, second, third) end
        end
      end
    end
  end
  for _, value in ipairs(values) do pcall(ffi.gc, value, nil) end
  lu.assertTrue(refused > 10000, refused)
end

function TestFfi.test_no_memory_is_an_error_like_others()
  local e = error_of(ffi.new, "char[?]", 1 << 46)
  lu.assertEquals(e.code, "out_of_memory")
  lu.assertStrContains(e.message, "no memory for 703687441777")
end

function TestFfi.test_names_have_no_zero_byte()
  lu.assertEquals(error_of(ffi.load, "m\0x").message, "bad argument #1 to 'load': "
    .. "expected name of a library, without zero bytes, got string")
  lu.assertFalse(ffi.abi "le\0")
  lu.assertEquals(error_of(ffi.cdef, "struct $;", "ffi_a\0b").message,
    "bad argument #2 to 'cdef': expected C type, name or number, got string")
end

function TestFfi.test_a_declaration_s_error_has_line_and_column()
  local e = error_of(ffi.cdef, "int good(void);\n  int bad(;")
  lu.assertEquals(e.code, "syntax")
  lu.assertStrContains(e.message, "line 2, column 11")
end

function TestFfi.test_missing_libraries_and_symbols()
  local e = error_of(ffi.load, "no_such_library_at_all")
  lu.assertEquals({ e.code, e.message }, { "not_found", "cannot load library "
    .. "'no_such_library_at_all': libno_such_library_at_all.so: cannot open shared object file: "
    .. "No such file or directory" })
  ffi.cdef "int surely_not_there(void);"
  lu.assertStrContains(error_of(function() return ffi.C.surely_not_there end).message,
    "cannot resolve symbol 'surely_not_there'")
  lu.assertStrContains(error_of(function() return ffi.C.never_declared end).message,
    "missing declaration for symbol 'never_declared'")
end

-- ---- mistakes that would crash ---------------------------------------------------------------

function TestFfi.test_an_index_outside_an_array()
  local a = ffi.new("int[4]")
  for _, i in ipairs { -1, 4, 1 << 40, math.mininteger } do
    lu.assertEquals(error_of(function() return a[i] end).code, "range")
    lu.assertEquals(error_of(function() a[i] = 1 end).code, "range")
  end
  local v = ffi.new("double[?]", 2)
  lu.assertEquals(error_of(function() return v[2] end).code, "range")
  local line = ffi.new("struct ffi_line")
  lu.assertEquals(error_of(function() line.steps[4] = 1 end).code, "range")
end

function TestFfi.test_null_is_not_followed()
  local p = ffi.new("ffi_point *")
  lu.assertStrContains(error_of(function() return p.x end).message, "NULL")
  lu.assertStrContains(error_of(function() p[0].x = 1 end).message, "NULL")
  lu.assertStrContains(error_of(ffi.new("int (*)(int)"), 1).message, "NULL")
  lu.assertErrorMsgContains("NULL", ffi.string, ffi.new "char *")
  lu.assertErrorMsgContains("NULL", ffi.fill, nil, 4)
end

function TestFfi.test_copies_stay_within_what_is_known()
  local to, from = ffi.new("char[4]"), ffi.new("char[8]", "1234567")
  lu.assertEquals(error_of(ffi.copy, to, from, 5).code, "range")
  lu.assertEquals(error_of(ffi.copy, to, "1234").code, "range")
  lu.assertEquals(error_of(ffi.copy, from, "12", 4).code, "range")
  lu.assertEquals(error_of(ffi.fill, to, 5).code, "range")
  lu.assertEquals(error_of(ffi.string, to, 5).code, "range")
  lu.assertEquals(error_of(ffi.string, "ab", 4).code, "range")
  lu.assertEquals(error_of(ffi.string, pg.array("u8", 4), 5).code, "range")
  lu.assertStrContains(error_of(ffi.fill, io.stdout, 4).message, "cannot convert 'FILE*'")
  lu.assertStrContains(error_of(ffi.fill, ffi.C.abs, 4).message, "cannot convert 'int ()'")
  ffi.copy(to, from, 4)
  lu.assertEquals(ffi.string(to), "1234") -- without a zero at its end
end

function TestFfi.test_a_freed_callback_is_not_called()
  local cb = ffi.cast("int (*)(int)", function(v) return v end)
  lu.assertEquals(cb(3), 3)
  cb:free()
  local copy = ffi.cast("int (*)(int)", cb)
  for _ = 1, 500 do -- what was freed does not serve again soon
    ffi.cast("int (*)(int)", function() return 7 end):free()
    lu.assertEquals(error_of(copy, 3).message, "bad callback: it was freed")
  end
end

function TestFfi.test_freed_callbacks_serve_again()
  local seen = {}
  local function make(i)
    local cb = ffi.cast("int (*)(int)", function(v) return v + i end)
    assert(cb(1) == 1 + i)
    seen[tostring(cb)] = true
    return cb
  end
  for i = 1, 20000 do make(i):free() end
  local addresses = 0
  for _ in pairs(seen) do addresses = addresses + 1 end
  lu.assertTrue(addresses > 900 and addresses <= 1000, addresses)
  local kept = {}
  local e = error_of(function() for i = 1, 2000 do kept[i] = make(i) end end)
  lu.assertEquals(e.code, "range")
  lu.assertStrContains(e.message, "too many callbacks")
  lu.assertTrue(#kept > 900)
  for i, cb in ipairs(kept) do
    assert(cb(1) == 1 + i)
    cb:free()
  end
end

function TestFfi.test_sizes_are_bounded()
  lu.assertNotNil(error_of(ffi.new, "char[?]", -1).message)
  lu.assertNotNil(error_of(ffi.new, "char[?]", 1 << 50).message)
  lu.assertNotNil(error_of(ffi.typeof, "int[1 << 40][1 << 40]").message)
  lu.assertNotNil(error_of(ffi.typeof, ("*"):rep(1000)).message)
  lu.assertNotNil(error_of(ffi.typeof, "int " .. ("("):rep(1000)).message)
end

function TestFfi.test_a_pointer_to_an_enum_without_constants_yet()
  ffi.cdef "enum ffi_later;"
  lu.assertFalse(ffi.istype("int *", ffi.new "enum ffi_later *"))
  lu.assertTrue(ffi.istype("enum ffi_later *", ffi.new "enum ffi_later *"))
  lu.assertEquals(error_of(ffi.new, "enum ffi_later *[1]", ffi.new "int[1]").code, "invalid")
end

function TestFfi.test_other_values_are_no_cdata()
  local index = getmetatable(ffi.new "int[1]")
  lu.assertEquals(index, "ffi") -- protected
  for _, value in ipairs { io.stdout, pg.array("f32", 1), {}, "text", 5, true } do
    lu.assertFalse(ffi.istype("int", value))
  end
end

-- ---- lifetimes -------------------------------------------------------------------------------

function TestFfi.test_a_member_keeps_its_struct_alive()
  local freed = 0
  local to = ffi.gc(ffi.new("struct ffi_line", { { 1, 2 }, { 3, 4 } }), function()
    freed = freed + 1
  end).to
  collectgarbage()
  lu.assertEquals({ freed, to.y }, { 0, 4 })
  to = nil -- luacheck: ignore
  collectgarbage()
  collectgarbage()
  lu.assertEquals(freed, 1)
end

-- ---- callbacks -------------------------------------------------------------------------------

function TestFfi.test_an_error_in_a_callback_comes_after_the_call()
  local calls = 0
  local a = ffi.new("int[3]", 3, 1, 2)
  local e = error_of(ffi.C.qsort, a, 3, 4, function()
    calls = calls + 1
    error { code = "mine" }
  end)
  lu.assertEquals(e.code, "mine")
  lu.assertEquals(calls, 1) -- then qsort got zeros, and came to its end
  lu.assertEquals(a[0] + a[1] + a[2], 6)
end

-- As C23 has it. Two headers that include a third one say the same twice.
function TestFfi.test_one_definition_may_come_twice()
  local whole = [[
    struct twice {
      int tag : 3;
      union { struct { short x, y; } at[2]; const char *text; } u;
      enum { TWICE_A, TWICE_B = 7 } kind;
      struct twice *next;
      int (*call)(struct { long n; } *, double);
      const struct twice_later *later;
    } __attribute__((packed));
    struct twice_later { const struct twice_later *next; };
    enum twice_kinds { TWICE_C = -1, TWICE_D };
    struct { int no_tag; } twice_of_none;
  ]]
  ffi.cdef(whole)
  local one = ffi.typeof "struct twice"
  ffi.cdef(whole)
  lu.assertTrue(ffi.istype(one, ffi.new "struct twice"))
  local function refused(from, to)
    local text, changed = whole:gsub(from, to)
    lu.assertEquals(changed, 1, from)
    lu.assertErrorMsgContains("attempt to redefine '", ffi.cdef, text)
    lu.assertErrorMsgContains("attempt to redefine '", ffi.cdef, text)
  end
  refused("tag : 3", "tag : 4")
  refused("tag :", "tags :")
  refused("short x", "unsigned short x")
  refused("at%[2%]", "at[3]")
  refused("const char", "char")
  refused("TWICE_B = 7", "TWICE_B = 8")
  refused("TWICE_B = 7", "TWICE_E = 7")
  refused("long n", "unsigned long n")
  refused("double%)", "...)")
  refused("double%)", "float)")
  refused("__attribute__%(%(packed%)%)", "")
  refused("TWICE_C = %-1", "TWICE_C")
  refused("union {", "struct {")
  lu.assertEquals({ ffi.C.TWICE_B, ffi.C.TWICE_C }, { 7, -1 })
  ffi.cdef(whole)
end

-- Also of a struct declared before, and of what was made of it then (LuaJIT keeps the body).
function TestFfi.test_a_wrong_text_gives_no_body()
  ffi.cdef "struct ffi_bare; typedef const struct ffi_bare ffi_bare_const;"
  lu.assertErrorMsgContains("implicit type 'none'", ffi.cdef, [[
    struct ffi_bare { int x; };
    struct ffi_full { struct ffi_bare a; const struct ffi_bare b; };
    none x; ]])
  for _, name in ipairs { "struct ffi_bare", "struct ffi_full", "ffi_bare_const" } do
    lu.assertFalse((pcall(ffi.new, name)), name)
  end
  ffi.cdef "struct ffi_bare { short s, t; };" -- as large as the one that is gone
  lu.assertEquals(ffi.new("ffi_bare_const", 3, 4).t, 4)
  lu.assertEquals(ffi.new("const struct ffi_bare", 3, 4).t, 4)
end

function TestFfi.test_types_within_types_are_compared_in_good_time()
  local text = { "typedef struct { int x; } nested_0;" }
  for i = 1, 30 do
    text[#text + 1] = ("typedef struct { nested_%d a, b; } nested_%d;"):format(i - 1, i)
  end
  text[#text + 1] = "struct nested { nested_30 whole; };"
  local whole = table.concat(text)
  ffi.cdef(whole)
  lu.assertErrorMsgContains("attempt to redefine 'nested'", ffi.cdef, whole)
end

-- LuaJIT refuses them: _Float128, an array parameter of a variable length.
function TestFfi.test_headers_of_more_than_luajit_reads()
  local function header(name)
    local cc = ("echo '#include <%s>' | cc -E -P -D_GNU_SOURCE -x c -"):format(name)
    local pipe = assert(io.popen(cc))
    local text = pipe:read "a"
    pipe:close()
    lu.assertTrue(#text > 1000, name)
    ffi.cdef(text)
  end
  header "math.h"
  header "regex.h"
  header "pthread.h"
  header "sys/socket.h" -- defines struct timespec, too, and unions without a name
  local m, two = ffi.load "m", ffi.new "int[1]"
  lu.assertEquals({ m.hypot(3, 4), m.frexp(8, two), two[0], m.cosf64(0), m.ldexpf32(1, 3) },
    { 5.0, 0.5, 4, 1.0, 8.0 })
  lu.assertEquals(ffi.sizeof "_Float128", 16)
  local at = ffi.new "regex_t"
  lu.assertEquals(ffi.C.regcomp(at, "b+", 1), 0)
  local found = ffi.new "regmatch_t[1]"
  lu.assertEquals(ffi.C.regexec(at, "abbb", 1, found, 0), 0)
  lu.assertEquals({ found[0].rm_so, found[0].rm_eo }, { 1, 4 })
  ffi.C.regfree(at)
  local e = error_of(function() m.sqrtf128(ffi.new "_Float128") end)
  lu.assertEquals(e.message, "'_Float128' cannot be passed or returned by value")
end

function TestFfi.test_enums_are_as_wide_as_their_constants()
  ffi.cdef [[
    enum ffi_wide { FFI_A = 1ULL << 40, FFI_B, FFI_C = 5 };
    enum ffi_signed { FFI_N = -1, FFI_M = 0x80000000 };
    enum ffi_wide ffi_labs(enum ffi_wide) __asm__("labs");
    struct ffi_enums { enum ffi_wide a; enum ffi_signed b; };
  ]]
  lu.assertEquals({ ffi.C.FFI_B, ffi.C.FFI_M }, { (1 << 40) + 1, 1 << 31 })
  local both = ffi.new("struct ffi_enums", { "FFI_B", "FFI_M" })
  lu.assertEquals({ ffi.tonumber(both.a), ffi.tonumber(both.b) }, { (1 << 40) + 1, 1 << 31 })
  lu.assertEquals(tostring(ffi.C.ffi_labs("FFI_B")), "cdata<enum ffi_wide>: 1099511627777")
  local called = ffi.cast("enum ffi_signed (*)(enum ffi_signed)", function(v) return v end)
  lu.assertEquals(ffi.tonumber(called "FFI_M"), 1 << 31)
  called:free()
end

function TestFfi.test_a_part_of_a_complex_number()
  local z = ffi.new("complex", 1.5, 2)
  lu.assertEquals({ z[0], z.im, tostring(z), ffi.tonumber(z) }, { 1.5, 2.0, "1.5+2i", 1.5 })
  local e = error_of(function() return z[2] end)
  lu.assertEquals({ e.code, e.message },
    { "range", "index 2 of a complex number: expected 0 or 1" })
  ffi.cdef "long double _Complex csqrtl(long double _Complex);"
  e = error_of(function() ffi.load "m".csqrtl(ffi.new "complex long double") end)
  lu.assertEquals(e.message, "'complex long double' cannot be passed or returned by value")
end

function TestFfi.test_a_function_is_one_callback()
  local function compare(x, y)
    return ffi.cast("const int *", x)[0] - ffi.cast("const int *", y)[0]
  end
  for _ = 1, 2000 do
    local a = ffi.new("int[3]", 3, 1, 2)
    ffi.C.qsort(a, 3, 4, compare)
    assert(a[0] == 1 and a[2] == 3)
  end
end

function TestFfi.test_a_library_is_found_by_its_number_alone()
  local said = files.in_temporary(function(folder)
    local script = files.join(folder, "script.lua")
    files.write(script, [[
      local ffi = require "ffi"
      ffi.cdef "int ffi_numbered(void);"
      print(ffi.load("ffinumbered").ffi_numbered())
    ]])
    local function make(number, value)
      local _, ok = shell.output(("echo 'int ffi_numbered(void) { return %d; }' | "
        .. "cc -shared -fPIC -x c - -o %s/libffinumbered.so.%d"):format(value, folder, number))
      lu.assertTrue(ok)
    end
    make(3, 30)
    make(27, 270) -- the newer one
    return shell.output(("LD_LIBRARY_PATH=%s %s %s"):format(folder,
      shell.quoted(core.binary()), script))
  end)
  lu.assertEquals(said, "270\n")
end

-- ---- Perigee's own values --------------------------------------------------------------------

function TestFfi.test_arrays_of_perigee_are_pointers()
  local a = pg.from_list("i32", { 4, 5, 6 })
  local copy = ffi.new("int[3]")
  ffi.copy(copy, a, 12)
  lu.assertEquals({ copy[0], copy[2] }, { 4, 6 })
  lu.assertEquals(ffi.cast("int *", a)[1], 5)
  lu.assertEquals(error_of(ffi.copy, copy, pg.array("u8", 4), 5).code, "range")
  lu.assertErrorMsgContains("cannot convert 'array of i32' to 'double *'", function()
    ffi.new("double *[1]")[0] = a
  end)
end

function TestFfi.test_files_are_pointers()
  lu.assertEquals(ffi.C.fileno(io.stdout), 1)
  local file = io.tmpfile()
  file:close()
  lu.assertStrContains(error_of(ffi.C.fileno, file).message, "closed file")
end

function TestFfi.test_struct_by_value_in_a_callback()
  local cb = ffi.cast("ffi_point (*)(ffi_point)", function(p) return { p.y, p.x } end)
  local swapped = cb(ffi.new("ffi_point", 1, 2))
  lu.assertEquals({ swapped.x, swapped.y }, { 2, 1 })
  cb:free()
end

-- ---- where there is none ---------------------------------------------------------------------

function TestFfi.test_data_written_as_lua_has_no_ffi()
  lu.assertEquals(core.read_data("return { n = 1 }", "plan.lua").n, 1)
  lu.assertNotNil(error_of(core.read_data, 'return { n = require "ffi" }', "plan.lua").message)
end

os.exit(lu.LuaUnit.run())
