-- What LuaJIT's ffi and Perigee's give must be the same lines: run by both, compared by
-- tests/ffi/run.
-- Arguments: the library made of tests/ffi/library.c, a folder of broken ones. Differences that
-- Lua 5.4 forces are not in here; they are listed in host/ffi/README.md and tested in
-- tests/lua/test_ffi.lua.

-- An object that is older than the ffi: its finalizer, which calls it, runs after all others.
local late
local make = rawget(_G, "newproxy") -- Lua 5.1 finalizes no tables
local oldest = make and make(true) or {}
local meta = make and getmetatable(oldest) or {}
function meta.__gc() late() end
if not make then setmetatable(oldest, meta) end

local ffi = require "ffi"
local path, broken = ...
local tonumber = ffi.tonumber or tonumber -- LuaJIT's own takes cdata
local C = ffi.C
local count = 0

-- ---- one formatter ---------------------------------------------------------------------------

-- 64-bit integers are cdata in LuaJIT and print with a suffix; floats print with ".0" in Lua 5.4.
local function text(value)
  if math.type and math.type(value) == "integer" then return (("%d"):format(value)) end
  if type(value) == "number" then return (("%.14g"):format(value)) end
  local s = tostring(value)
  s = s:gsub("^(%-?%d+)U?LL$", "%1"):gsub("0x%x+", "ADDRESS")
  return (s:gsub("(struct) %d+", "%1 N"):gsub("(union) %d+", "%1 N"):gsub("(enum) %d+", "%1 N"))
end

local function show(name, ...)
  local list = { ... }
  for i = 1, select("#", ...) do list[i] = text(list[i]) end
  count = count + 1
  print(("%s: %s"):format(name, table.concat(list, " ")))
end

-- The part of a message that both have.
local PARTS = { "cannot convert '.-' to '.-'", "wrong number of arguments for function call",
  "missing declaration for symbol '.-'", "too many initializers for '.-'",
  "'.-' has no member named '.-'", "attempt to write to constant location",
  "size of C type is unknown or too large", "attempt to perform arithmetic on '.-' and '.-'",
  "cannot change a protected metatable",
  "attempt to redefine '.-'", "'.-' is not callable", "attempt to get length of '.-'",
  "attempt to compare '.-' with '.-'", "'.-' cannot be indexed with '.-'", "bad callback",
  "undeclared or implicit tag '.-'", "undefined symbol: t_absent", "invalid ELF header",
  "file too short", "lib%w+%.so: cannot open shared object file", "Is a directory",
  "t_missing" }

-- What the two say in words of their own.
local WORDS = {
  { luajit = "value expected", perigee = "got no value", both = "a value is missing" },
  { luajit = "declaration specifier expected near '(.-)'", perigee = "implicit type '(.-)'",
    both = "no type: %s" },
  { luajit = "declaration specifier expected near '<eof>'", perigee = "the text ends",
    both = "ends too soon" },
  { luajit = "'<identifier>' expected near 'float'", perigee = "'float' after another type",
    both = "two types" },
}

-- A message that neither list knows is shown whole, and so is a difference.
local function reason(message)
  local part = message
  for _, pattern in ipairs(PARTS) do
    part = message:match(pattern) or part
  end
  for _, words in ipairs(WORDS) do
    local found = message:match(rawget(_G, "jit") and words.luajit or words.perigee)
    part = found and words.both:format(found) or part
  end
  return part
end

local function fails(name, f, ...)
  local ok, why = pcall(f, ...)
  show(name, ok and "no error" or reason(type(why) == "table" and why.message or tostring(why)))
end

-- ---- types: names, sizes, layout -------------------------------------------------------------

ffi.cdef [[
  typedef struct point { int x, y; } point;
  typedef struct vec { double x, y, z; } vec;
  typedef struct mixed { float f; int i; double d; } mixed;
  typedef struct pair { float a, b; } pair;
  typedef union either { int64_t i; double d; } either;
  typedef enum color { RED, GREEN = 5, BLUE } color;
  enum { FLAG_A = 1 << 0, FLAG_B = 1 << 4, FLAG_ALL = FLAG_A | FLAG_B, FLAG_MINUS = -3 };
  static const int LIMIT = 42;
  struct bits { unsigned a : 3, b : 5; int c : 7; unsigned : 0; unsigned char d : 2; };
  struct small { char c; short s; char e; };
  struct packed { char c; int i; double d; } __attribute__((packed));
  struct aligned { char c; int i __attribute__((aligned(16))); };
  struct outer { int head; struct { int in_a; union { int in_b; float in_f; }; }; point p; };
  struct list { struct list *next; int value; };
  struct flexible { int n; double items[]; };
  struct nested { point at[3]; char name[8]; };
  struct opaque;
  typedef int (*binary)(int, double);
  typedef const char *text_t; /* a comment */
  typedef int matrix[2][3]; // another
  typedef unsigned long long int ull;
#pragma pack(push, 1)
  struct squeezed { char c; int i; };
#pragma pack(pop)
  struct normal { char c; int i; };
]]

local TYPES = { "int", "unsigned", "char", "signed char", "unsigned char", "short",
  "unsigned short int",
  "long", "unsigned long", "long long", "ull", "float", "double", "bool", "int8_t", "uint8_t",
  "int16_t", "uint32_t", "int64_t", "size_t", "void *", "const char *", "char *const",
  "const int *const *", "int [4]", "int [2][3]", "matrix", "int (*)[4]", "int *[4]", "binary",
  "int (*)(int)", "int (*[3])(void)", "point", "struct point *", "either", "color", "struct nested",
  "const point", "volatile int", "text_t", "struct packed", "wchar_t", "intptr_t" }
for _, name in ipairs(TYPES) do
  local t = ffi.typeof(name)
  show("type " .. name, t, ffi.sizeof(t), ffi.alignof(t))
end
for _, name in ipairs { "bits", "small", "packed", "aligned", "outer", "list", "flexible", "nested",
  "squeezed", "normal" } do
  show("struct " .. name, ffi.sizeof("struct " .. name), ffi.alignof("struct " .. name))
end
show("offset", ffi.offsetof("struct small", "s"), ffi.offsetof("struct packed", "d"),
  ffi.offsetof("struct aligned", "i"), ffi.offsetof("struct outer", "in_f"),
  ffi.offsetof("struct outer", "p"), ffi.offsetof("struct flexible", "items"))
show("offset of a bit-field", ffi.offsetof("struct bits", "b"))
show("offset of nothing", (ffi.offsetof("point", "w")))
show("constants", C.RED, C.GREEN, C.BLUE, C.FLAG_ALL, C.FLAG_MINUS, C.LIMIT)
fails("vla without a length", ffi.sizeof, "int [?]")
show("no size", (ffi.sizeof("void")), (ffi.sizeof("struct opaque")))
show("vla", ffi.sizeof("int [?]", 10), ffi.typeof("int [?]"))
ffi.cdef("struct $ { int $; };", "t_given", "t_member")
show("names given", ffi.typeof("struct t_given *"), ffi.offsetof("struct t_given", "t_member"))
fails("no such tag", ffi.typeof, "struct nosuch *")
show("typeof with a type", ffi.typeof("$ [3]", ffi.typeof "point"))
show("typeof with a number", ffi.typeof("int [$]", 7))
show("typeof of a value", ffi.typeof(ffi.new "point"))
show("abi", ffi.abi "64bit", ffi.abi "le", ffi.abi "be", ffi.abi "win", ffi.os, ffi.arch)
show("expression",
  ffi.sizeof "char [(3 + 4) * 2 - (16 >> 2) % 3 + (1 ? 10 : 20) + sizeof(int) + !0]")
show("character", ffi.sizeof "char ['A']", ffi.sizeof "char ['\\n']",
  ffi.sizeof "char [0x10 | 010]")

-- ---- new, cast, initializers -----------------------------------------------------------------

local function ints(a, n)
  local list = {}
  for i = 0, n - 1 do list[#list + 1] = text(a[i]) end
  return table.concat(list, ",")
end
show("new int", tonumber(ffi.new("int", 5)), tonumber(ffi.new("int", -5.9)))
show("new uint8", tonumber(ffi.new("uint8_t", 300)), tonumber(ffi.new("int8_t", 200)))
show("new float", tonumber(ffi.new("float", 0.5)), tonumber(ffi.new("double", 1 / 3)))
show("new bool", tonumber(ffi.new("int", true)), ffi.new("bool[1]", true)[0], ffi.new("bool[1]",
  0)[0])
show("int64", ffi.new("int64_t", 2 ^ 40), ffi.cast("int64_t", -7))
show("zero", ints(ffi.new "int[3]", 3))
show("one fills", ints(ffi.new("int[4]", 9), 4))
show("some", ints(ffi.new("int[4]", 1, 2), 4))
show("table", ints(ffi.new("int[4]", { 1, 2, 3 }), 4))
show("table from 0", ints(ffi.new("int[4]", { [0] = 7, 8 }), 4))
show("table of one", ints(ffi.new("int[4]", { 6 }), 4))
ffi.cdef "struct t_open { short n; int v[?]; }; struct t_text { int n; char v[?]; };"
for i, values in ipairs { { 5, { 1, 2, 3 } }, { n = 5, v = { 1, 2, 3 } },
  { [0] = 5, { 1, 2, 3 } } } do
  local open = ffi.new("struct t_open", 3, values)
  show("open struct " .. i, open.n, open.v[0], open.v[1], open.v[2])
end
show("open struct", ints(ffi.new("struct t_open", 3, 5, { 1, 2, 3 }).v, 3))
show("open struct, text", ffi.string(ffi.new("struct t_text", 4, { 5, "abc" }).v),
  ffi.string(ffi.new("struct t_text", 2, 5, "abc").v, 2))
fails("open struct, a number", ffi.new, "struct t_open", 3, { 5, 7 })
fails("open struct, text for ints", ffi.new, "struct t_open", 3, { 5, "abc" })
show("vla new", ints(ffi.new("int[?]", 3, { 4, 5, 6 }), 3), ffi.sizeof(ffi.new("int[?]", 3)))
show("string in an array", ffi.string(ffi.new("char[8]", "abc")), ffi.new("char[3]", "abcdef")[2])
show("struct values", ffi.new("point", 1, 2).y, ffi.new("point", 1).y)
show("struct table", ffi.new("point", { 3, 4 }).x, ffi.new("point", { y = 6 }).y,
  ffi.new("point", { y = 6 }).x)
show("union", ffi.new("either", { d = 1.5 }).d, ffi.new("either", 3).i)
local nested = ffi.new("struct nested", { { { 1, 2 }, { 3, 4 } }, "xy" })
show("nested", nested.at[0].x, nested.at[1].y, nested.at[2].x, ffi.string(nested.name))
local outer = ffi.new("struct outer", 1, 2, 3, { 4, 5 })
show("anonymous", outer.head, outer.in_a, outer.in_b, outer.p.x, outer.p.y)
local flexible = ffi.new("struct flexible")
show("flexible", flexible.n, ffi.sizeof(flexible))
ffi.cdef "struct vls { int n; short items[?]; };"
local vls = ffi.new("struct vls", 5, { 5 })
vls.items[4] = 77
show("vls", ffi.sizeof(vls), vls.items[4], vls.n, ffi.sizeof("struct vls", 2))
show("copy of a struct", ffi.new("point", ffi.new("point", 8, 9)).y)
show("cast to pointer", ffi.cast("int *", 0), ffi.cast("void *", 16))
show("cast truncates", tonumber(ffi.cast("uint8_t", 511)), tonumber(ffi.cast("int", 3.99)),
  tonumber(ffi.cast("int8_t", 128)))
show("cast of an address", ffi.cast("int", nil), ffi.cast("intptr_t", ffi.cast("int *", 24)),
  ffi.cast("color", ffi.cast("int *", 5)), ffi.cast("size_t", "text") ~= 0,
  ffi.cast("char", ffi.new("int[2]")) ~= nil)
fails("cast of a struct to an integer", ffi.cast, "int", ffi.new "point")
fails("cast of a bool to a pointer", ffi.cast, "int *", ffi.new "bool")
fails("cast of a pointer to a bool", ffi.cast, "bool", ffi.cast("int *", 8))
fails("pointer for a bool", ffi.new, "bool", ffi.cast("int *", 8))
fails("cast of no constant", ffi.cast, "color", "PINK")
show("cast negative", tonumber(ffi.cast("uint32_t", -1)), tonumber(ffi.cast("uint16_t", -2)))
show("ctype is called", ffi.typeof("point")(5, 6).x, ffi.typeof("int[?]")(4)[3])
show("enum", ffi.new("color", "GREEN"), ffi.new("color", 6), tonumber(ffi.new("color", "BLUE")))
fails("too many values", ffi.new, "int[2]", 1, 2, 3)
fails("too many in a table", ffi.new, "int[2]", { 1, 2, 3 })
fails("too many for a struct", ffi.new, "point", 1, 2, 3)
fails("no enum constant", ffi.new, "color", "PINK")
fails("string for an int", ffi.new, "int", "5")
fails("table for an int", ffi.new, "int", {})
fails("nil for an int", ffi.new, "int[1]", { "x" })
fails("number for a pointer", ffi.new, "int *[1]", { 5 })
fails("opaque", ffi.new, "struct opaque")
fails("void", ffi.new, "void")
fails("unknown type", ffi.new, "nonsense")
fails("wrong struct", ffi.new, "vec", ffi.new "point")

-- ---- reading and writing ---------------------------------------------------------------------

local p = ffi.new("point", 1, 2)
p.x = p.x + 10
show("member", p.x, p.y)
local a = ffi.new("int[5]", { 10, 20, 30, 40, 50 })
a[1] = 21.7
show("element", a[0], a[1], a[4], a[ffi.new("int", 2)])
local q = ffi.cast("int *", a)
show("pointer", q[2], (q + 1)[0], (1 + q)[1], (q + 3)[-1], #tostring(q) > 10)
show("pointer difference", (q + 4) - q, q - (q + 2))
local null = ffi.cast("int *", 0)
show("arithmetic on NULL", null - 7 == ffi.cast("int *", -28), (null + 3) - null, null - (null + 3),
  ffi.cast("int *", -8) + 2 == null, ffi.cast("point *", -4) < ffi.cast("point *", 4))
show("pointer comparison", q == q + 0, q < q + 1, q + 1 <= q, q > q + 1, a == q)
show("qualifiers are not compared", ffi.cast("const int *", q) <= q,
  ffi.cast("volatile int *", q) < q, ffi.cast("color *", q + 1) - ffi.cast("const unsigned *", q))
fails("order with void *", function() return q < ffi.cast("void *", q) end)
fails("difference of other types", function() return q - ffi.cast("float *", q) end)
show("types", p, a, q, a + 1, nested.at, nested.at[0], nested.name)
local bits = ffi.new("struct bits", 5, 17, -9, 3)
bits.a = 9
show("bit-fields", bits.a, bits.b, bits.c, bits.d)
local item = ffi.new("struct list")
item.value = 3
local first = ffi.new("struct list", item, 4)
show("through a pointer", first.next.value, first.value, first.next.next)
local pp = ffi.new("point *[1]", p)
pp[0].y = 99
show("pointer to a struct", p.y, pp[0].x, pp)
local m = ffi.new("matrix", { { 1, 2, 3 }, { 4, 5, 6 } })
show("matrix", m[0][2], m[1][0], m[1], ffi.sizeof(m[1]))
local u = ffi.new("either")
u.d = 1
show("union bytes", u.i == 0x3ff0000000000000, ffi.sizeof(u))
local chars = ffi.new("char[4]", "ab")
show("char", chars[0], chars[2])
nested.at[2] = p
show("struct copied", nested.at[2].y)
nested.name = "seven77"
show("string copied", ffi.string(nested.name))
local fp = ffi.new("float[2]", 0.1)
show("float", ("%.9f"):format(fp[1]))
ffi.cdef [[
  struct tight {
    char c; const char *p; int (*f)(int); int64_t i; double d;
  } __attribute__((packed));
]]
local tight = ffi.new("struct tight", 1, ffi.cast("const char *", q), nil, 2 ^ 40, 0.5)
tight.p, tight.d = ffi.cast("const char *", 16), 1.25
show("packed", ffi.sizeof(tight), tight.p, tight.f, tight.i, tight.d, tight.c)
fails("no member", function() return p.z end)
fails("no member to write", function() p.z = 1 end)
fails("member with a zero byte", function() return p["x\0y"] end)
fails("enum with a zero byte", ffi.new, "color", "RED\0")
show("offset with a zero byte", (ffi.offsetof("point", "x\0y")))
fails("index of a struct", function() return p[true] end)
fails("const", function() ffi.new("const int[2]")[0] = 1 end)
fails("const struct", function() ffi.new("const point").x = 1 end)
fails("void *", function() return ffi.cast("void *", 8)[0] end)
fails("string into an int", function() a[0] = "x" end)
fails("length", function() return #a end)
fails("call", function() return p() end)
fails("pointer plus pointer", function() return q + q end)
fails("struct plus number", function() return p + 1 end)
fails("pointer times", function() return q * 2 end)

-- ---- integers --------------------------------------------------------------------------------

local seven, i64 = ffi.new("int", 7), ffi.new("int64_t", 7)
show("int arithmetic", seven + 1, seven * 2, seven - 10, -seven, 1 + seven)
show("int division", seven / ffi.new("int", 2), ffi.new("int", -7) / ffi.new("int", 2),
  ffi.new("int", -7) % ffi.new("int", 3))
show("power", seven ^ ffi.new("int", 3), ffi.new("int", 2) ^ ffi.new("int", 40))
local zero = ffi.new "int"
show("by zero", seven / zero, seven % zero, zero ^ ffi.new("int", -1), seven ^ ffi.new("int", -1),
  ffi.new("int", -1) ^ ffi.new("int", -3), ffi.new("unsigned", 7) % zero)
show("int comparison", seven < 8, seven <= 6, seven > 6.5, 6 < seven, seven == ffi.new("int", 7))
show("int64", i64 + 1, i64 * i64, i64 == ffi.new("int64_t", 7))
show("enum and a name", ffi.new("color", "RED") + "BLUE", "GREEN" * ffi.new("color", 3),
  ffi.new("color", "RED") == ffi.new("color", 0), ffi.new("color", "RED") < "BLUE")
fails("enum and no name", function() return ffi.new("color", 1) + "PINK" end)
show("enum is printed signed", ffi.new("color", -2))
show("enum order", ffi.new("color", "RED") < ffi.new("color", "BLUE"), ffi.new("color",
  5) == ffi.new("color", "GREEN"))

-- ---- string, copy, fill ----------------------------------------------------------------------

local buffer = ffi.new "char[16]"
ffi.copy(buffer, "hello world")
show("copy", ffi.string(buffer), ffi.string(buffer, 5), ffi.string(buffer + 6))
ffi.fill(buffer, 3, 0x78)
show("fill", ffi.string(buffer))
ffi.fill(buffer, 16)
show("fill with 0", ffi.string(buffer), #ffi.string(buffer, 16))
local to = ffi.new "int[3]"
ffi.copy(to, a, 12)
show("copy memory", ints(to, 3))
show("string of a string", ffi.string("ab"), ffi.string("ab", 1), #ffi.string("ab", 3),
  ffi.string("a\0b"))
show("void string", ffi.string(ffi.cast("const void *", "bytes"), 3))
fails("string of a struct", ffi.string, p)
fails("string of nothing", ffi.string, 5)

-- ---- functions -------------------------------------------------------------------------------

ffi.cdef [[
  int t_counter; const char *const t_text; point t_point;
  int t_add(int a, double b);
  int8_t t_i8(int8_t); uint8_t t_u8(uint8_t); int16_t t_i16(int16_t); uint16_t t_u16(uint16_t);
  uint32_t t_u32(uint32_t); int64_t t_i64(int64_t); float t_float(float); double t_double(double);
  bool t_not(bool); color t_next(color); point t_swap(point); vec t_scale(vec, double);
  mixed t_mixed(mixed); pair t_pair(pair); either t_either(either);
  int t_sum(const int *v, int n); size_t t_length(const char *s) __attribute__((nonnull(1)));
  extern void *t_same(void *p); point *t_make(int x, int y); void t_drop(point *);
  int t_many(int, int, int, int, int, int, int, int, double, float);
  double t_vsum(int n, ...);
  int t_vpoint(int n, ...); int t_fail(int code); int t_apply(int (*f)(int), int v);
  double t_fold(double (*f)(double, double), const double *v, int n);
  bool t_each(bool (*f)(const point *, const char *), int n);
  int (*t_pick(void))(int, double);
  typedef struct { char c; double d; } __attribute__((packed)) tight;
  typedef struct { char c; int64_t i; } __attribute__((packed)) tight_ints;
  typedef struct { char c; float a, b; } __attribute__((packed)) tight_floats;
  tight t_tight(int c, double d); tight_ints t_tight_ints(int c, int64_t i);
  tight_floats t_tight_floats(int c, float a, float b);
  void t_nothing(void), t_fill(point p[], int n);
  int t_renamed(int) __asm__("t_renamed_in_c");
  int t_missing(void);
  int snprintf(char *, size_t, const char *, ...);
  double fabs(double);
]]
local lib = ffi.load(path)
show("function", lib.t_add(2, 3.9), lib.t_add)
show("small integers", lib.t_i8(-128), lib.t_u8(255), lib.t_i16(-32768), lib.t_u16(65535))
show("integers wrap", lib.t_i8(200), lib.t_u8(-1), lib.t_u16(65537), lib.t_u32(-1))
show("u32", lib.t_u32(4294967295))
show("i64", lib.t_i64(-2 ^ 53), lib.t_i64(ffi.new("int64_t", 2 ^ 40)))
show("floats", lib.t_float(0.25), lib.t_double(0.1), lib.t_double(ffi.new("float", 0.5)))
show("bool", lib.t_not(true), lib.t_not(false), lib.t_not(0))
show("enum", lib.t_next("RED"), lib.t_next(C.GREEN), lib.t_next(lib.t_next("RED")))
show("struct by value", lib.t_swap(p).x, lib.t_swap({ 5, 6 }).x, lib.t_swap(p))
show("three doubles", lib.t_scale({ 1, 2, 3 }, 2).z)
local mixed = lib.t_mixed({ 0.5, 2, 3.25 })
show("mixed struct", mixed.f, mixed.i, mixed.d)
show("two floats", lib.t_pair({ 1.5, 2.5 }).a, lib.t_pair({ 1.5, 2.5 }).b)
show("union by value", lib.t_either({ i = 41 }).i)
local packed, packed_ints, packed_floats = lib.t_tight(1, 2.5), lib.t_tight_ints(2, 2 ^ 40),
  lib.t_tight_floats(3, 0.5, 0.25)
show("packed struct returned", packed.c, packed.d, packed_ints.c, packed_ints.i, packed_floats.c,
  packed_floats.a, packed_floats.b)
show("array argument", lib.t_sum(a, 5), lib.t_sum(q + 1, 2), lib.t_sum(ffi.new("int[3]", 1, 2,
  3), 3))
show("string argument", lib.t_length("four"), lib.t_length(ffi.new("char[9]", "sixsix")))
show("nil", lib.t_same(nil))
show("pointer argument", ffi.cast("int *", lib.t_same(a))[4], ffi.cast("point *", lib.t_same(p)).y)
show("many", lib.t_many(1, 2, 3, 4, 5, 6, 7, 8, 9.5, 10.5))
show("variadic", lib.t_vsum(3, 1.5, 2.25, 0.25), lib.t_vsum(0))
show("struct behind the dots", lib.t_vpoint(1, ffi.new("point", 3, 4)),
  lib.t_vpoint(1, ffi.new("point[2]", { { 5, 6 } })))
C.snprintf(buffer, 16, "%d|%s|%.1f|%c", ffi.new("int", 12), "s", 2.5, ffi.new("int", 65))
show("snprintf", ffi.string(buffer))
show("errno", lib.t_fail(33), ffi.errno(), ffi.errno(5), ffi.errno())
show("returned function", lib.t_pick()(1, 2), lib.t_pick())
show("nothing", select("#", lib.t_nothing()))
local points = ffi.new "point[3]"
lib.t_fill(points, 3)
show("filled", points[2].x, points[2].y)
show("renamed", lib.t_renamed(1))
show("variables", lib.t_counter, ffi.string(lib.t_text), lib.t_point.x)
lib.t_counter = 20
lib.t_point.y = 5
show("variables written", lib.t_counter, lib.t_point.y)
show("C", C.fabs(-2.5))
fails("too few", lib.t_add, 1)
fails("too many", lib.t_add, 1, 2, 3)
fails("string for an int", lib.t_add, "1", 2)
fails("nil for a double", lib.t_add, 1, nil)
fails("struct for an int", lib.t_add, p, 1)
fails("wrong pointer", lib.t_sum, ffi.new "double[1]", 1)
fails("wrong struct", lib.t_swap, ffi.new "vec")
fails("const dropped", lib.t_same, "text")
fails("const pointer dropped", lib.t_same, ffi.cast("const int *", a))
fails("too few before the dots", lib.t_vsum)
fails("undeclared", function() return lib.t_undeclared end)
fails("unresolved", function() return lib.t_missing() end)
fails("not a library", ffi.load, "surely_no_such_library")
show("version in a name", ffi.load "m.so.6" ~= nil, ffi.load "libm.so.6" ~= nil)
for _, name in ipairs { "text", "short", "folder", "symbol", "needs", "absent" } do
  fails("broken library, " .. name, ffi.load, broken .. "/lib" .. name .. ".so")
end

-- ---- callbacks -------------------------------------------------------------------------------

show("callback", lib.t_apply(function(v) return v * 3 end, 14))
show("fold", lib.t_fold(function(x, y) return x + y end, ffi.new("double[3]", 1.5, 2.5, 3), 3))
local seen = {}
show("struct for a callback", lib.t_each(function(at, name)
  seen[#seen + 1] = text(at.y) .. ffi.string(name)
  return at.x < 2
end, 5), table.concat(seen, ","))
local cb = ffi.cast("int (*)(int)", function(v) return v + 1 end)
show("cast to a callback", cb, cb(1), lib.t_apply(cb, 2))
cb:set(function(v) return v + 2 end)
show("set", cb(1))
cb:free()
fails("call of what was freed", cb, 1)
fails("C calls what was freed", lib.t_apply, cb, 1)
fails("freed twice", function() cb:free() end)
fails("set when freed", function() cb:set(print) end)
local function plus(n)
  return function(v) return v + n end
end
local one = plus(1)
local this, that = ffi.cast("int (*)(int)", one), ffi.cast("int (*)(int)", one)
show("casts are callbacks of their own", this == that, this(1), that(1))
this:set(plus(10))
show("set is of one", this(1), that(1), lib.t_apply(one, 1), lib.t_apply(this, 1))
this:free()
show("free is of one", that(1), lib.t_apply(that, 1))
ffi.cdef "struct t_ops { int (*f)(int), (*g)(int); };"
local held = ffi.new("struct t_ops", one, one)
held.f:set(plus(20))
show("members are callbacks of their own", held.f(1), held.g(1))
fails("no callback", function() ffi.cast("int (*)(int)", 8):free() end)
show("C function as a callback", lib.t_apply(lib.t_renamed, 1))
fails("error in a callback", function()
  lib.t_apply(function() return "no number" end, 1)
end)

-- ---- gc, metatype, istype --------------------------------------------------------------------

local before = lib.t_counter
do
  local made = ffi.gc(lib.t_make(1, 2), lib.t_drop)
  show("made", made.x, made)
end
collectgarbage()
collectgarbage()
show("collected", lib.t_counter - before)
do
  local kept = ffi.gc(lib.t_make(1, 2), lib.t_drop)
  ffi.gc(kept, nil)
  lib.t_drop(kept)
end
collectgarbage()
show("once", lib.t_counter - before)

local Complex
Complex = ffi.metatype("struct { double re, im; }", {
  __add = function(x, y) return Complex(x.re + y.re, x.im + y.im) end,
  __eq = function(x, y) return x.re == y.re and x.im == y.im end,
  __lt = function(x, y) return x.re < y.re end,
  __le = function(x, y) return x.re <= y.re end,
  __unm = function(x) return Complex(-x.re, -x.im) end,
  __len = function() return 2 end,
  __concat = function(x, y) return tostring(x) .. "|" .. tostring(y) end,
  __call = function(x, v) return x.re + v end,
  __tostring = function(x) return ("%g+%gi"):format(x.re, x.im) end,
  __newindex = function(x, k, v) if k == "both" then x.re, x.im = v, v end end,
  __index = { abs2 = function(x) return x.re * x.re + x.im * x.im end, NAME = "complex" },
})
local z = Complex(3, 4)
show("metatype", z, z + z, -z, #z, z(1), z:abs2(), z.NAME, Complex.NAME)
show("metatype compares", z == Complex(3, 4), z == Complex(1, 4), z < Complex(4, 0),
  z <= Complex(3, 0))
show("metatype joins", z .. z, z .. "x")
z.both = 8
show("metatype writes", z, ffi.cast(ffi.typeof("$ *", Complex), z):abs2())
fails("metatype twice", ffi.metatype, Complex, {})
local Box = ffi.metatype("struct { int v; }", {
  __new = function(ct, v) return ffi.new(ct, v * 2) end,
  __index = function(box, key) return key .. box.v end,
})
show("__new and __index", Box(4).v, Box(1).name)
local died = 0
local Mortal = ffi.metatype("struct { int v; }", { __gc = function() died = died + 1 end })
Mortal(1)
collectgarbage()
collectgarbage()
show("__gc", died)
ffi.gc(Mortal(1), nil)
collectgarbage()
collectgarbage()
show("__gc taken off", died)
ffi.gc(Mortal(1), function() died = died + 10 end)
collectgarbage()
collectgarbage()
show("__gc replaced", died)
show("istype", ffi.istype("int", ffi.new "int"), ffi.istype("int", ffi.new "unsigned"),
  ffi.istype("point", p),
  ffi.istype("struct point", ffi.cast("point *", p)), ffi.istype("vec", p), ffi.istype("int", 5),
  ffi.istype("const point", p), ffi.istype("int [5]", a), ffi.istype("int *", a))

show("istype of pointers", ffi.istype("const char *", ffi.new "unsigned char *"),
  ffi.istype("int *", ffi.new "color *"), ffi.istype("int *", ffi.new "float *"),
  ffi.istype("void *", ffi.new "int *"), ffi.istype("const int *", ffi.new "volatile int *"),
  ffi.istype("point *", ffi.new "vec *"), ffi.istype("int **", ffi.new "const int **"),
  ffi.istype("int *[2]", ffi.new "int *[2]"), ffi.istype("unsigned [2]", ffi.new "int[2]"),
  ffi.istype("int [2]", ffi.new "int[3]"), ffi.istype("int *", ffi.new "int[2]"))
show("enum pointers", ffi.new("int *[1]", ffi.new "color[1]")[0],
  ffi.new("color *[1]", ffi.new "int[1]")[0], ffi.new("color *[1]", ffi.new "unsigned[1]")[0])
fails("enum pointer of another size", ffi.new, "color *[1]", ffi.new "int64_t[1]")

-- ---- declarations ----------------------------------------------------------------------------

local function refused(name, source)
  fails(name, ffi.cdef, source)
end
refused("unfinished", "int f(")
refused("no type", "nosuch x;")
refused("redefined", "struct point { int z; };")
refused("two types", "int float x;")
refused("array of nothing", "void a[3];")
refused("negative array", "int a[-1];")

-- The types that a declaration makes: how they are spelled, their sizes and alignments.
local function declares(name, source, ...)
  ffi.cdef(source)
  for i = 1, select("#", ...) do
    local made = select(i, ...)
    show(name, ffi.typeof(made), ffi.sizeof(made), ffi.alignof(made))
  end
end
declares("empty", "", "int")
declares("attributes",
  [[__attribute__((visibility("default"))) int t_attr(int)
  __asm__("abs") __attribute__((nothrow, cold));]])
show("attributes", ffi.typeof(C.t_attr), C.t_attr(-3))
declares("extension",
  "__extension__ typedef struct { __const char *__restrict a; __signed__ char b; } t_ext;",
  "t_ext", "t_ext *")
show("extension", ffi.offsetof("t_ext", "b"), ffi.new("t_ext", "text", 200).b,
  ffi.typeof(ffi.new("t_ext").a))
declares("inline", [[extern inline int t_inline(int a) __asm__("" "a" /* both */ "bs"); ; ;]])
show("inline", C.t_inline(-4))
declares("old names", [[char unsigned t_old(char unsigned) __asm__("t_u8");
  typedef long long unsigned int t_llu;]], "t_llu", "unsigned short int", "long double",
  "signed long int long")
show("old names", lib.t_old(300), lib.t_old(-1))
declares("function pointers",
  [[void (*t_signal(int sig, void (*func)(int)))(int) __asm__("signal");]])
show("function pointers", ffi.typeof(C.t_signal), C.t_signal(10, nil))
declares("struct in a struct",
  "struct t_out { struct t_in { int v; } in; enum { T_ONE = 1, T_TWO } e; };",
  "struct t_in", "struct t_out")
show("struct in a struct", C.T_TWO, ffi.offsetof("struct t_out", "e"))
declares("bodies", [[
  static __inline__ int t_body(int v) {
    char c = '}'; /* } */
    double d = 1.5e3; // '
    { return "}\"}"[v] + c; }
  }
  typedef short t_after;
  extern inline int abs(int v) { return v; } ]], "t_after")
show("bodies", C.abs(-5))
declares("modes", [[
  typedef unsigned int t_uqi __attribute__((mode(QI))), *t_pu;
  typedef int t_di __attribute__((__mode__(__DI__)));
  typedef int __attribute__((mode(HI))) t_hi;
  typedef const int t_ci __attribute__((mode(DI))); ]], "t_uqi", "t_pu", "t_di", "t_hi", "t_ci")
show("modes", tonumber(ffi.new("t_uqi", 257)), tonumber(ffi.new("t_hi", 65535)),
  ffi.new("t_di", 2 ^ 40))
declares("lines", "#line 12 \"a.h\"\ntypedef int t_l1;\n# 3 \"b.h\" 2 3\ntypedef t_l1 t_l2[3];",
  "t_l1", "t_l2")
declares("alignments", [[
  typedef struct t_s t_ss __attribute__((aligned(16)));
  struct t_s { int a; };
  typedef const short t_cs __attribute__((aligned(8)));
  typedef int t_low __attribute__((aligned(2)));
  struct t_al { char c; t_cs s; t_ss a, b; char d; t_low e; }; ]],
  "t_ss", "struct t_s", "t_ss[2]", "t_cs", "t_low", "struct t_al")
for _, name in ipairs { "s", "a", "b", "d", "e" } do
  show("alignments", ffi.offsetof("struct t_al", name))
end
show("alignments", ffi.istype("struct t_s", ffi.new "t_ss"),
  ffi.istype("t_ss", ffi.new "struct t_s"), ffi.istype("int *", ffi.new "t_low *"))
fails("aligned const", function() ffi.new("struct t_al").s = 5 end)
ffi.metatype("struct t_s", { __index = { next = function(self) return self.a + 1 end } })
show("alignments", ffi.new("t_ss", 4):next(), ffi.new("struct t_al").a:next(),
  ffi.cast("t_ss *", ffi.new "struct t_s[1]").a)

-- ---- complex numbers ---------------------------------------------------------------------------

declares("complex", "typedef double _Complex t_z; typedef float _Complex t_c;", "t_z", "t_c",
  "complex", "complex float", "complex double *", "t_c[3]")
local wide, narrow = ffi.new("complex", 1, -2.5), ffi.new "t_c[2]"
show("complex", wide, wide.re, wide.im, wide[0], wide[1],
  ffi.new("complex", 3), ffi.new("complex", { 5, 6 }))
narrow[1] = wide
fails("part of a complex", function() wide.re = 7 end)
fails("part of a complex by number", function() wide[1] = 7 end)
show("complex to complex", wide, narrow[0], narrow[1], ffi.new("complex", narrow[1]))
narrow[0] = 4
show("number to complex", narrow[0], ffi.new("complex", ffi.new("float", 2)))
show("complex to number", tonumber(wide), tonumber(ffi.new("int", wide)),
  tonumber(ffi.cast("int", wide)))
fails("complex + number", function() return wide + 1 end)
fails("complex length", function() return #wide end)
ffi.cdef "double complex csqrt(double complex); float complex conjf(float complex);"
local libm = ffi.load "m"
show("complex by value", libm.csqrt(-9), libm.csqrt(ffi.new("complex", 3, 4)),
  libm.conjf(narrow[1]), libm.conjf(wide))

-- A text that is wrong somewhere declares nothing, whatever came before.
ffi.cdef "enum t_re { T_RE = 1 };"
for _, wrong in ipairs {
  "typedef int t_undone; struct t_undone { int x; }; int t_u8(int); t_none x;",
  "enum t_re { T_RE = 1, T_RE2 };", "enum t_undone { T_UNDONE = 1, T_UNDONE2 = t_none };",
  "struct t_undone { enum { T_UNDONE = 1 } e; t_none x; };" } do
  show("a wrong text", (pcall(ffi.cdef, wrong)), (pcall(ffi.typeof, wrong)))
end
for _, name in ipairs { "t_undone", "struct t_undone", "enum t_undone" } do
  show("undone", name, (pcall(ffi.new, name)))
end
for _, name in ipairs { "T_UNDONE", "T_RE2", "T_RE" } do
  show("undone", name, (pcall(function() return C[name] end)))
end
ffi.cdef "enum t_undone { T_UNDONE = 2 }; typedef double t_undone;"
show("declared since", C.T_UNDONE, ffi.sizeof "t_undone")
show("last", count)

function late()
  show("finalizer at the end", oldest ~= nil, ffi.new("point", 5, 6).y, C.fabs(-1.5),
    ffi.cast("int (*)(int)", plus(1))(2), that(1))
end
