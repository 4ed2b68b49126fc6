-- pg.native: C compiled while a script runs; what is derived from its source; errors by line.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local ffi = require "ffi"
local prototypes = require "perigee.prototypes"

local folder = os.tmpname()
os.remove(folder)
core.mkdir_all(folder)
local getenv = os.getenv
local variables = { PERIGEE_CACHE = folder }
os.getenv = function(name) -- luacheck: ignore
  if variables[name] ~= nil then return variables[name] or nil end
  return getenv(name)
end

TestNative = {}

local function count_files()
  local n = 0
  for _ in pairs(core.list_dir(folder .. "/native")) do n = n + 1 end
  return n
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
  lu.assertErrorMsgContains("cannot convert 'perigee.array' to 'float *'", lib.t_scale,
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
  local ok, e = pcall(pg.native, { source = "int t_" .. "made(void) { return " .. "gone; }" })
  lu.assertFalse(ok)
  lu.assertStrMatches(e.where, ".*test_native.lua:%d+: C source:1")
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
end

function TestNative.test_prototypes_leave_out_what_is_not_offered()
  local text = prototypes.of [[
    #define BODY {
    // int comment(void) { }
    int global = 3, list[] = { 1, 2 };
    const char* text = "int quoted(void) { }";
    struct pair { int a; struct { int b; } in; };
    static inline int small(int x) { return x; }
    extern inline unsigned long big(struct pair p)
    { if (p.a) { return 1; } return '}'; }
    int declared(int);
  ]]
  lu.assertEquals((text:gsub("%s+", " ")),
    " struct pair { int a; struct { int b; } in; }; unsigned long big(struct pair p) ;")
end

local status = lu.LuaUnit.run()
for _, name in ipairs(core.list_dir(folder .. "/native") or {}) do
  os.remove(folder .. "/native/" .. (type(name) == "table" and name.name or name))
end
os.remove(folder .. "/native")
os.remove(folder .. "/faulty.c")
os.remove(folder)
os.exit(status)
