-- Random calls of everything that the ffi offers, with values that earlier ones gave. Under ASan
-- and UBSan no call may do harm, and what is refused raises {code, message}. An address that is
-- taken for a length asks for gigabytes: ASan's max_allocation_size_mb=64 makes that an error.
-- perigee tests/ffi/drive.lua LIBRARY [SEED [SECONDS]]: 1 seed, or seed after seed for so long.

local core = require "perigee.core"
local ffi = require "ffi"

local path, first, seconds = arg[1], tonumber(arg[2]) or 1, tonumber(arg[3])
local library, m = ffi.load(path), ffi.load "m"
local STEPS, POOL = 20000, 60
local CODES = { invalid = true, range = true, not_found = true, syntax = true, unsupported = true,
  out_of_memory = true }

ffi.cdef [[
  typedef struct { int a; char b; double c; } S1;
  typedef union { int i; float f; char s[6]; } U1;
  struct S2 { S1 s[2]; U1 u; struct S2 *n; int k : 5; unsigned j : 11; };
  struct VL { int n; short d[?]; };
  struct FL { char n; double d[]; };
  enum E1 { EA, EB = -5, EC = 100 };
  typedef struct __attribute__((packed)) { char a; long b; } PK;
  typedef S1 A1 __attribute__((aligned(32)));
  struct EM { };
  struct ANON { struct { int x, y; }; union { int z; float w; }; };
  struct OP;
  typedef int (*FP)(int, double);
  typedef struct point { int x, y; } point;
  typedef struct vec { double x, y, z; } vec;
  typedef struct mixed { float f; int i; double d; } mixed;
  typedef struct pair { float a, b; } pair;
  typedef union either { int64_t i; double d; } either;
  typedef enum color { RED, GREEN = 5, BLUE } color;
  typedef struct __attribute__((packed)) tight { char c; double d; } tight;
  int8_t t_i8(int8_t); uint16_t t_u16(uint16_t); uint32_t t_u32(uint32_t); int64_t t_i64(int64_t);
  float t_float(float); double t_double(double); bool t_not(bool); color t_next(color);
  point t_swap(point); vec t_scale(vec, double); mixed t_mixed(mixed); pair t_pair(pair);
  either t_either(either); tight t_tight(int c, double d); void *t_same(void *p);
  int t_add(int a, double b); int t_fail(int code); int t_apply(int (*f)(int), int v);
  complex csqrt(complex); complex float conjf(complex float);
  int t_many(int, int, int, int, int, int, int, int, double, float); double t_vsum(int n, ...);
  int snprintf(char *, size_t, const char *, ...);
  extern int t_counter; extern point t_point; int t_missing(void);
]]
local TYPES = { "int", "char", "uint8_t", "int16_t", "uint32_t", "int64_t", "uint64_t", "float",
  "double", "bool", "S1", "U1", "struct S2", "struct VL", "struct FL", "enum E1", "PK", "A1",
  "struct EM", "struct ANON", "FP", "int *", "char *", "const char *", "void *", "S1 *", "A1 *",
  "int[3]", "char[5]", "S1[2]", "A1[2]", "int[2][3]", "int[?]", "char[?]", "S1[?]", "struct VL *",
  "int **", "const int", "const S1", "volatile int[2]", "struct OP *", "struct OP", "void",
  "int (*)[3]", "float[0]", "struct EM[4]", "long double", "wchar_t", "int()", "U1[2]", "point",
  "vec", "mixed", "pair", "either", "color", "tight", "struct VL[2]", "nonsense", "int[-1]",
  "complex", "complex float", "complex float[2]", "long double complex", "__int128", "_Float128" }
local NAMES = { "a", "b", "c", "n", "d", "s", "u", "k", "j", "x", "y", "z", "EA", "EB", "i", "f",
  "t_counter", "t_point", "t_missing", "t_swap" }
local CALLS = { "t_i8", "t_u16", "t_u32", "t_i64", "t_float", "t_double", "t_not", "t_next",
  "t_swap", "t_scale", "t_mixed", "t_pair", "t_either", "t_tight", "t_same", "t_add", "t_fail",
  "t_many" }
local NUMBERS = { 0 / 0, 1 / 0, -1 / 0, math.maxinteger, math.mininteger, 2 ^ 63, -0.0, 1e300, 256 }

local function pick(list) return list[math.random(#list)] end

-- ---- values ------------------------------------------------------------------------------------

local pool, any
local KINDS = {
  function() return math.random(-5, 5) end,
  function() return math.random() * 1e5 end,
  function() return pick(NUMBERS) end,
  function() return ("x"):rep(math.random(0, 9)) end,
  function() return pick(NAMES) end,
  function() return nil end,
  function() return math.random(2) == 1 end,
  function() return function() return any() end end,
  function() return ffi.typeof(pick(TYPES)) end,
  function()
    local list = {}
    for i = 1, math.random(0, 4) do list[i] = any() end
    if math.random(3) == 1 then list[pick(NAMES)] = any() end
    return list
  end,
}

function any()
  if #pool > 0 and math.random(3) == 1 then return pick(pool) end
  local ok, value = pcall(pick(KINDS))
  return ok and value or nil
end

local function kind() return math.random(12) == 1 and any() or pick(TYPES) end
local function count() return math.random(0, 20) end

-- What may point anywhere is made, moved and compared, but not followed: that would be C's fault.
local function is_pointer(value)
  if type(value) ~= "userdata" then return false end
  local spelled = tostring(ffi.typeof(value))
  return spelled:find("*", 1, true) or spelled:find("(", 1, true)
end

local function solid()
  local value
  repeat value = any() until not is_pointer(value)
  return value
end

local function object()
  local value = solid()
  if type(value) == "userdata" and not tostring(value):find "^ctype<" then return value end
  return ffi.new "struct S2"
end

-- ---- calls -------------------------------------------------------------------------------------

-- Each draws its arguments and gives a function of them, so that those are known when it fails.
local OPS = {
  function() return ffi.new, kind() end,
  function() return ffi.new, kind(), any() end,
  function() return ffi.new, kind(), any(), any() end,
  function() return ffi.new, kind(), math.random(0, 9), any(), any() end,
  function() return ffi.cast, kind(), any() end,
  function() return ffi.sizeof, kind(), any() end,
  function() return ffi.alignof, kind() end,
  function() return ffi.offsetof, kind(), any() end,
  function() return ffi.istype, kind(), any() end,
  function() return ffi.typeof, kind() end,
  function() return ffi.typeof, "$ *", kind() end,
  function() return ffi.typeof, "$[$]", kind(), any() end,
  function() return ffi.typeof, "struct $", any() end,
  function() return function(a, b) return a[b] end, object(), any() end,
  function() return function(a, b) return a[b] end, object(), math.random(0, 5) end,
  function() return function(a, b, c) a[b] = c end, object(), any(), any() end,
  function() return function(a, b, c) a[b] = c end, object(), math.random(0, 5), any() end,
  function() return function(a, b) return a + b end, any(), any() end,
  function() return function(a, b) return a - b end, any(), any() end,
  function() return function(a, b) return a * b end, any(), any() end,
  function() return function(a, b) return a / b end, any(), any() end,
  function() return function(a, b) return a // b end, any(), any() end,
  function() return function(a, b) return a % b end, any(), any() end,
  function() return function(a, b) return a ^ b end, any(), any() end,
  function() return function(a) return -a end, any() end,
  function() return function(a) return #a end, any() end,
  function() return function(a, b) return a == b end, any(), any() end,
  function() return function(a, b) return a < b end, any(), any() end,
  function() return function(a, b) return a <= b end, any(), any() end,
  function() return function(a, b) return a .. b end, any(), any() end,
  function() return tostring, any() end,
  function() return ffi.string, solid(), any() end,
  function() return ffi.string, solid(), count() end,
  function() return ffi.copy, solid(), solid(), count() end,
  function() return ffi.copy, solid(), solid() end,
  function() return ffi.fill, solid(), count(), any() end,
  function() return ffi.gc, any(), solid() end,
  function() return ffi.tonumber, any(), any() end,
  function() return ffi.errno, any() end,
  function() return ffi.abi, any() end,
  function() return function(a) return library[a] end, any() end,
  function() return function(a, b) library[a] = b end, pick(NAMES), any() end,
  function() return library[pick(CALLS)], any(), any() end,
  function() return m.csqrt, any() end,
  function() return m.conjf, any() end,
  function() return library.t_many, 1, 2, 3, 4, 5, 6, 7, any(), any(), any() end,
  function() return library.t_vsum, 2, any(), any() end,
  function()
    return function(a, b) return ffi.C.snprintf(ffi.new "char[64]", 64, "%p %p", a, b) end,
      solid(), solid()
  end,
  function()
    return function(a, b, c)
      local called = ffi.cast("FP", function() return a end)
      local ok, result = pcall(called, b, c)
      called:free()
      return ok and result or pcall(called, b, c)
    end, any(), any(), any()
  end,
  function() return library.t_apply, function() return any() end, any() end,
  function()
    return function(a, b)
      local called = ffi.cast("int (*)(int)", function() return a end)
      local kept = library.t_apply(called, 1)
      called:set(function() return b end)
      kept = kept + library.t_apply(called, 2)
      called:free()
      return kept
    end, any(), any()
  end,
  function()
    return function(a, b, c)
      local type = ffi.metatype("struct { int q; }", { __index = a, __add = b, __tostring = c })
      return tostring(type(1).q + type(2))
    end, any(), any(), any()
  end,
}

-- ---- what must hold ----------------------------------------------------------------------------

local function describe(values)
  local list = {}
  for i = 1, values.n do
    local ok, text = pcall(tostring, values[i])
    list[i] = ok and text or type(values[i])
  end
  return table.concat(list, ", ")
end

local OURS = {}
for _, f in pairs(ffi) do OURS[f] = true end

-- Lua raises a string where no operand of an operator is cdata, or what is called is no function.
local function may_be_text(values, message)
  if OURS[values[1]] then return false end
  for i = 2, values.n do
    local is_cdata = type(values[i]) == "userdata" and tostring(values[i]):find "^ctype<" == nil
    if is_cdata then return message:find "attempt to call" ~= nil end
  end
  return true
end

local function check(step, values, e)
  if type(e) == "string" and may_be_text(values, e) then return end
  if type(e) == "table" and CODES[e.code] and #tostring(e.message) > 8 then return end
  if type(e) == "table" and not e.code then return end -- raised by a function of the pool
  error(("step %d: %s of (%s)"):format(step, type(e) == "table" and e.message or tostring(e),
    describe(values)), 0)
end

local function drive(seed)
  math.randomseed(seed)
  pool = {}
  local refused = 0
  for step = 1, STEPS do
    local values = table.pack(pick(OPS)())
    local ok, result = pcall(table.unpack(values, 1, values.n))
    if not ok then
      refused = refused + 1
      check(step, values, result)
    elseif result ~= nil then
      pool[#pool < POOL and #pool + 1 or math.random(POOL)] = result
    end
    if step % 1000 == 0 then collectgarbage() end
  end
  pool = {}
  collectgarbage()
  return refused
end

local start, seed = core.now(), first
repeat
  io.stdout:write(("seed %d: "):format(seed)):flush()
  local refused = drive(seed)
  print(("%d calls, %d refused"):format(STEPS, refused))
  assert(refused > STEPS / 10 and refused < STEPS * 9 / 10, "both kinds of calls are many")
  seed = seed + 1
until not seconds or core.now() - start > seconds
