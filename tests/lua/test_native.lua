-- pg.native: C compiled while a script runs; what is derived from its source; errors by line.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local ffi = require "ffi"
local files = require "perigee.files"
local prototypes = require "perigee.prototypes"
local shell = require "perigee.shell"

local folder = files.temporary()
local getenv = os.getenv
local variables = { PERIGEE_CACHE = folder }
os.getenv = function(name) -- luacheck: ignore
  if variables[name] ~= nil then return variables[name] or nil end
  return getenv(name)
end

TestNative = {}

local function count_files()
  return #core.list_dir(folder .. "/native")
end

function TestNative.test_a_function_is_compiled_and_called()
  local lib, info = pg.native { source = "double t_third(double x) { return x / 3; }" }
  lu.assertEquals(lib.t_third(2), 2 / 3)
  lu.assertFalse(info.cached)
  lu.assertStrContains(info.compiler, ".")
end

function TestNative.test_arrays_are_passed_as_pointers()
  local lib = pg.native { source = [[
    void t_scale(float* v, long n, float by) { for (long i = 0; i < n; i++) v[i] *= by; }
  ]] }
  local a = pg.from_list("f32", { 1, 2, 3 })
  lib.t_scale(a, 3, 0.5)
  lu.assertEquals({ a[0], a[1], a[2] }, { 0.5, 1, 1.5 })
  lu.assertErrorMsgContains("cannot convert 'array of f64' to 'float *'", lib.t_scale,
    pg.array("f64", 3), 3, 1)
end

function TestNative.test_types_of_the_source_are_declared()
  local lib = pg.native { source = [[
    typedef struct { double mean; int n; } t_moments; /* } ; */
    enum t_mode { T_PLAIN = 4, T_SQUARED };
    static int hidden(int x) { return x; }
    t_moments t_measure(const double* v, int n) {
      t_moments m = {0, hidden(n)};
      for (int i = 0; i < n; i++) m.mean += v[i] / n;
      return m;
    }
  ]] }
  local m = lib.t_measure(ffi.new("double[4]", { 1, 2, 3, 6 }), 4)
  lu.assertEquals({ m.mean, m.n, ffi.C.T_SQUARED }, { 3, 4, 5 })
  lu.assertErrorMsgContains("missing declaration for symbol 'hidden'", function()
    return lib.hidden
  end)
end

function TestNative.test_the_same_source_is_compiled_once()
  local source = "int t_once(void) { return 1; }"
  local first = pg.native { source = source }
  local before = count_files()
  local again, info = pg.native { source = source }
  lu.assertTrue(rawequal(first, again))
  lu.assertTrue(info.cached)
  lu.assertEquals(count_files(), before)
  local _, other = pg.native { source = source, flags = { "-DOTHER" } }
  lu.assertFalse(other.cached)
  lu.assertEquals(count_files(), before + 1)
end

function TestNative.test_without_a_cache_nothing_is_left_behind()
  variables.PERIGEE_CACHE = "off"
  local before = count_files()
  local lib = pg.native { source = "int t_uncached(void) { return 8; }" }
  variables.PERIGEE_CACHE = folder
  lu.assertEquals(lib.t_uncached(), 8)
  lu.assertEquals(count_files(), before)
end

function TestNative.test_an_error_has_the_line_of_the_script()
  local here = debug.getinfo(1, "l").currentline
  local ok, e = pcall(function()
    local lib = pg.native { source = [[
      int t_wrong(void) {
        return nowhere;
      }
    ]] }
    return lib
  end)
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "compile_error")
  lu.assertStrContains(e.message, "nowhere")
  lu.assertStrMatches(e.where, ".*test_native.lua:" .. here + 4)
  lu.assertStrContains(e.log, "error:")
end

function TestNative.test_a_made_source_is_placed_at_the_call()
  local here = debug.getinfo(1, "l").currentline
  local ok, e = pcall(function()
    local lib = pg.native { source = "int t_" .. "made(void) { return " .. "gone; }" }
    return lib
  end)
  lu.assertFalse(ok)
  lu.assertStrMatches(e.where, ".*test_native.lua:" .. here + 2 .. ": C source:1")
end

function TestNative.test_a_file_is_named_in_its_errors()
  local path = folder .. "/faulty.c"
  core.write_file(path, "int t_file(void)\n{ return 1 }\n")
  local ok, e = pcall(pg.native, { file = path })
  lu.assertFalse(ok)
  lu.assertStrMatches(e.where, ".*faulty.c:2")
  lu.assertErrorMsgContains("absent.c", pg.native, { file = folder .. "/absent.c" })
end

function TestNative.test_openmp_where_the_compiler_has_it()
  local lib, info = pg.native { openmp = true, source = [[
    int t_openmp(void) {
    #ifdef _OPENMP
      return 1;
    #else
      return 0;
    #endif
    }
  ]] }
  lu.assertEquals(lib.t_openmp(), info.openmp and 1 or 0)
end

function TestNative.test_no_compiler_is_an_error_of_the_machine()
  variables.CC = "/nowhere/cc"
  local ok, e = pcall(pg.native, { source = "int t_nocc(void) { return 1; }" })
  variables.CC = nil
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "environment")
  lu.assertStrContains(e.hint, "$CC")
end

function TestNative.test_options_are_checked()
  lu.assertErrorMsgContains("unknown option 'sauce'", pg.native, { sauce = "" })
  lu.assertErrorMsgContains("either 'source' or 'file'", pg.native, {})
  lu.assertErrorMsgContains("option 'source': expected string", pg.native, { source = {} })
  lu.assertErrorMsgContains("expected table", pg.native, "int f;")
  local source = "int t_options(void) { return 1; }"
  lu.assertErrorMsgContains("option 'flags': expected string or table of strings, got n", pg.native,
    { source = source, flags = 5 })
  lu.assertErrorMsgContains("option 'flags', number 2: expected string, got number", pg.native,
    { source = source, flags = { "-O1", 5 } })
  lu.assertErrorMsgContains("option 'openmp': expected boolean, got string", pg.native,
    { source = source, openmp = "yes" })
end

-- "symbol lookup error" and the end of the process, if it were found out when it is called.
function TestNative.test_a_function_that_is_nowhere_is_an_error_with_its_place()
  local here = debug.getinfo(1, "l").currentline
  local how = { source = [[
    int t_nowhere(void);
    int t_calls(void) {
      return t_nowhere();
    }
  ]] }
  for _ = 1, 2 do -- it is not kept for the next start
    local ok, e = pcall(pg.native, how)
    lu.assertFalse(ok)
    lu.assertEquals(e.code, "compile_error")
    lu.assertStrMatches(e.message, ".*undefined.*t_nowhere.*")
    lu.assertStrMatches(e.where, ".*test_native.lua:" .. here + 4)
  end
end

function TestNative.test_what_a_compiler_only_warns_of_is_refused()
  for source, word in pairs {
    ["double t_implicit(double x) { return t_undeclared(x); }"] = "t_undeclared",
    ["int* t_number(int x) { return x; }"] = "int",
    ["float* t_pointer(double* x) { return x; }"] = "pointer",
  } do
    local ok, e = pcall(pg.native, { source = source })
    lu.assertFalse(ok, source)
    lu.assertEquals(e.code, "compile_error")
    lu.assertStrContains(e.message, word)
  end
end

-- What the loader cannot find is told as it says it, whatever the compiler warned of.
function TestNative.test_a_library_that_is_gone_when_it_is_loaded()
  core.write_file(folder .. "/gone.c", "int t_gone(void) { return 1; }")
  os.execute(("cd %s && cc -shared -fPIC gone.c -o libtgone.so"):format(shell.quoted(folder)))
  local ok, e = pcall(pg.native, { source = [[
    #warning "be careful"
    int t_gone(void);
    int t_asks(void) { return t_gone(); }
  ]], flags = { "-L" .. folder, "-ltgone" } })
  lu.assertFalse(ok)
  lu.assertStrMatches(e.message, "C does not load: .*libtgone%.so.*")
end

function TestNative.test_what_the_host_exports_may_be_called()
  local lib = pg.native { source = [[
    extern const char lua_ident[];
    int t_host(void) { return lua_ident[0] == '$'; }
  ]] }
  lu.assertEquals(lib.t_host(), 1)
end

-- Declarations are those of the process; each library keeps its own.
function TestNative.test_two_sources_may_have_the_same_name_with_other_types()
  local first = pg.native { source = "int t_same(int x) { return x + 1; }" }
  local second = pg.native { source = "double t_same(double x) { return 2 * x; }" }
  lu.assertEquals(second.t_same(2.25), 4.5)
  lu.assertEquals(first.t_same(2), 3)
  local given = pg.native { source = "long t_same(long x, long y) { return x * y; }",
    cdef = "long t_same(long, long);" }
  local last = pg.native { source = "float t_same(void) { return 0.5f; }" }
  lu.assertEquals({ first.t_same(2), second.t_same(2.25), given.t_same(6, 7), last.t_same() },
    { 3, 4.5, 42, 0.5 })
end

function TestNative.test_macros_and_conditions_are_those_of_the_compiler()
  local lib = pg.native { flags = "-DT_FLAG=7", source = [[
    #ifdef __cplusplus
    extern "C" {
    #endif
    #define T_REAL double
    #if 0
    int t_branch(void) { return 1; }
    #else
    T_REAL t_branch(T_REAL x) { return x * T_FLAG; }
    #endif
    #ifdef __cplusplus
    }
    #endif
  ]] }
  lu.assertEquals(lib.t_branch(0.5), 3.5)
end

function TestNative.test_a_type_of_a_header_wants_a_declaration()
  local here = debug.getinfo(1, "l").currentline
  local how = { source = [[
    #include <stdio.h>
    int t_opaque(FILE* file) { return file == NULL; }
  ]] }
  local ok, e = pcall(pg.native, how)
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "t_opaque cannot be declared: ")
  lu.assertStrContains(e.message, "'FILE'")
  lu.assertStrContains(e.hint, "cdef")
  lu.assertStrMatches(e.where, ".*test_native.lua:" .. here + 3)
  how.cdef = "int t_opaque(void* file);"
  lu.assertEquals(pg.native(how).t_opaque(nil), 1)
end

-- A reference that is quietly of an older header would be worse than a slower start.
function TestNative.test_a_header_of_ones_own_that_changed_is_compiled_again()
  local path, header = folder .. "/own.c", folder .. "/own.h"
  core.write_file(path, '#include "own.h"\nint t_own(void) { return T_OWN; }\n')
  for _, value in ipairs { 1, 2 } do
    core.write_file(header, "#define T_OWN " .. value)
    lu.assertEquals(pg.native { file = path }.t_own(), value)
  end
end

function TestNative.test_nothing_but_libraries_is_in_the_cache()
  for _, name in ipairs(core.list_dir(folder .. "/native")) do
    lu.assertStrMatches(name, "%x+%.so")
  end
end

function TestNative.test_prototypes_leave_out_what_is_not_offered()
  local text = prototypes.of([[
# 1 "/usr/include/other.h" 1 3
    int other(void) { }
    typedef int other_t;
# 7 "own.c" 2
    #pragma omp simd {
    int global = 3, list[] = { 1, 2 };
    const char* text = "int quoted(void) { }";
    struct pair { int a; struct { int b; } in; };
    struct __attribute__((packed)) tight { char c; int i; };
    struct wide { char c; } __attribute__((aligned(16)));
    static inline int small(int x) { return x; }
    extern inline unsigned long big(struct pair p)
    { if (p.a) { return 1; } return '}'; }
    int declared(int);
  ]], "own.c")
  lu.assertEquals((table.concat(text):gsub("%s+", " ")),
    " struct pair { int a; struct { int b; } in; };"
    .. " struct __attribute__((packed)) tight { char c; int i; };"
    .. " struct wide { char c; } __attribute__((aligned(16))); unsigned long big(struct pair p) ;")
end

local status = lu.LuaUnit.run()
files.remove(folder)
os.exit(status)
