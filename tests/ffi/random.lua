-- Random programs for the ffi: LuaJIT's and Perigee's must give the same. tests/ffi/run compares.
-- Arguments: the library made of tests/ffi/library.c, the first seed and the last.
-- Left out is what Lua 5.4 or safety makes different (host/ffi/README.md), what is undefined, such
-- as a float beyond an int, and what would crash LuaJIT, such as an index beyond an array.

local ffi = require "ffi"
local path, first_seed, last_seed = ...
local tonumber = ffi.tonumber or tonumber
local unpack = table.unpack or rawget(_G, "unpack")
local lib = ffi.load(path)

ffi.cdef [[
  typedef struct point { int x, y; } point;
  typedef struct vec { double x, y, z; } vec;
  typedef struct mixed { float f; int i; double d; } mixed;
  typedef union either { int64_t i; double d; } either;
  typedef enum color { RED, GREEN = 5, BLUE } color;
  enum sign { MINUS = -5, PLUS = 100 };
  struct bits { unsigned a : 3; int b : 5; bool c : 1; unsigned char d; };
  struct nest { struct { int x, y; }; union { int z; float f; }; point a[2]; char s[5]; };
  struct tight { char a; double d; } __attribute__((packed));
  struct wide { char s[5]; int v[3]; float f; bool b; enum sign e; int8_t x; uint16_t y; };
  int t_add(int, double); int8_t t_i8(int8_t); uint16_t t_u16(uint16_t); float t_float(float);
  bool t_not(bool); color t_next(color); point t_swap(point); vec t_scale(vec, double);
  mixed t_mixed(mixed); either t_either(either); size_t t_length(const char *);
  int t_many(int, int, int, int, int, int, int, int, double, float); void *t_same(void *);
]]

local TYPES = { "int", "char", "uint8_t", "int16_t", "uint32_t", "float", "double", "bool", "color",
  "enum sign", "point", "vec", "mixed", "either", "struct bits", "struct nest", "struct tight",
  "struct wide", "int *", "char *", "const char *", "void *", "const void *", "point *", "int **",
  "const int *", "color *", "uint8_t *", "float *", "int (*)[3]", "int (*)(int)", "int[3]",
  "char[5]", "point[2]", "int[2][3]", "float[2]", "bool[3]", "const int",
  "volatile int[2]", "const char[4]", "color[2]", "struct wide[2]", "either[2]", "void" }
local MEMBERS = { "x", "y", "z", "a", "b", "c", "d", "e", "f", "i", "s", "v" }
local NUMBERS = { 0, 1, 2, 3, -1, 5, 7, 100, 127, 128, 255, 256, 300, 65535, 65536, -128, -129, 2.5,
  -2.5, 0.1, 1e9, -2 ^ 31, 2 ^ 31 - 1 }
local TEXTS = { "RED", "BLUE", "MINUS", "", "a", "text", "longer text" }
local ARGUMENTS = { t_add = 2, t_i8 = 1, t_u16 = 1, t_float = 1, t_not = 1, t_next = 1, t_swap = 1,
  t_scale = 2, t_mixed = 1, t_either = 1, t_same = 1, t_many = 10 }
local FUNCTIONS = { "t_add", "t_i8", "t_u16", "t_float", "t_not", "t_next", "t_swap", "t_scale",
  "t_mixed", "t_either", "t_same", "t_many" }

local state
local function random(n) -- 1 .. n, the same in both
  state = state * 16807 % 2147483647
  return math.floor(state / 65536) % n + 1
end
local function one(list) return list[random(#list)] end

-- ---- values ----------------------------------------------------------------------------------

local function is_cdata(value) return type(value) == "cdata" or type(value) == "userdata" end
local function type_of(value) -- LuaJIT's typeof of a reference is one
  return is_cdata(value) and tostring(ffi.typeof(value)):gsub("%(&%)", "") or ""
end
local function is_pointer(value) return type_of(value):find "[*]" ~= nil end
local function is_array(value) return type_of(value):find "%[" ~= nil end
local function is_scalar(value) return is_cdata(value) and tonumber(value) ~= nil end

local kept, depth -- cdata and numbers that went before

local function draw()
  local kind = random(14)
  if kind <= 6 and #kept > 0 then return one(kept) end
  if kind == 7 then return one(TEXTS) end
  if kind == 8 then return nil end
  if kind == 9 then return random(2) == 1 end
  if kind > 11 or depth > 2 then return one(NUMBERS) end
  depth = depth + 1
  local list, form = {}, random(3)
  for i = 1, form < 3 and random(4) - 1 or 0 do
    local value = draw()
    if type(value) == "nil" then value = 0 end
    list[i] = value
  end
  for _ = 1, form > 1 and random(3) or 0 do list[one(MEMBERS)] = draw() end
  depth = depth - 1
  return list
end

-- ---- what is printed -------------------------------------------------------------------------

local function text(value)
  if type(value) == "number" then
    return value == 0 and "0" or (("%.10g"):format(value):gsub("e%+", "e"))
  end
  if type(value) == "string" then return ("%q"):format(value) end
  if not is_cdata(value) then return tostring(value) end
  if is_scalar(value) then
    return ("%s %.10g"):format(type_of(value), tonumber(value))
  end
  return (tostring(value):gsub("0x%x+", "ADDRESS"))
end

local function describe(value)
  if type(value) ~= "table" then return text(value) end
  local list = {}
  for i, item in ipairs(value) do list[i] = describe(item) end
  for _, name in ipairs(MEMBERS) do
    if type(value[name]) ~= "nil" then list[#list + 1] = name .. "=" .. describe(value[name]) end
  end
  return "{" .. table.concat(list, ",") .. "}"
end

-- The bytes of what is no scalar and holds no pointer.
local function bytes(value)
  if not is_cdata(value) or is_scalar(value) or is_pointer(value) then return "" end
  local whole = ffi.string(ffi.cast("const char *", ffi.cast("const void *", value)),
    ffi.sizeof(value))
  return " " .. whole:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
end

-- Perigee tells an enum from its integer.
local function reason(e)
  e = type(e) == "table" and e.message or tostring(e)
  e = e:match "cannot convert '.-' to '.-'" or e:match "too many initializers" or ""
  e = e:gsub("'enum color'", "'unsigned int'"):gsub("'enum sign'", "'int'")
  return "error: " .. e
end

-- ---- operations: each draws, and gives its text and what to do ---------------------------------

local operations = {}

function operations.new()
  local ctype, count, values = one(TYPES), random(4) - 1, {}
  for i = 1, count do values[i] = draw() end
  local shown = {}
  for i = 1, count do shown[i] = describe(values[i]) end
  -- LuaJIT leaves the characters behind such a string as they were in memory.
  if ctype:find "char%[" and count == 1 and type(values[1]) == "string" then return end
  return ctype .. "(" .. table.concat(shown, ", ") .. ")", function()
    return ffi.new(ctype, unpack(values, 1, count))
  end
end

function operations.cast()
  local ctype, value = one(TYPES), draw()
  local is_address = type(value) == "string" or is_array(value) or is_pointer(value)
  return "cast " .. ctype .. " " .. describe(value), function()
    local result = ffi.cast(ctype, value)
    if is_address and is_scalar(result) then return "an address" end
    return result
  end
end

-- What has a key that may be asked for: a number within an array, else a name.
local function place()
  local value = draw()
  if not is_cdata(value) or is_pointer(value) then return end
  local length = tonumber(type_of(value):match "%[(%d+)%]")
  if length and random(3) > 1 then return value, random(length) - 1 end
  return value, one(MEMBERS)
end

function operations.index()
  local value, key = place()
  if not key then return end
  return describe(value) .. "." .. key, function() return value[key] end
end

function operations.set()
  local value, key = place()
  local item = draw()
  if not key then return end
  return ("%s.%s = %s"):format(describe(value), key, describe(item)), function()
    value[key] = item
    return value
  end
end

local ARITHMETIC = {
  ["+"] = function(a, b) return a + b end, ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end, ["/"] = function(a, b) return a / b end,
  ["%"] = function(a, b) return a % b end, ["^"] = function(a, b) return a ^ b end,
  ["<"] = function(a, b) return a < b end, ["<="] = function(a, b) return a <= b end,
}

function operations.arithmetic()
  local a, b, name = draw(), draw(), one { "+", "-", "*", "/", "%", "^", "<", "<=" }
  if not is_cdata(a) and not is_cdata(b) then return end -- Lua's own
  if name:find "<" and (type(a) == "nil" or type(b) == "nil") then return end -- NULL in LuaJIT
  local addresses = (is_array(a) or is_pointer(a)) and (is_array(b) or is_pointer(b))
  return ("%s %s %s"):format(describe(a), name, describe(b)), function()
    local result = ARITHMETIC[name](a, b)
    return addresses and "of addresses" or result
  end
end

function operations.call()
  local name, values, shown = one(FUNCTIONS), {}, {}
  local count = ARGUMENTS[name]
  for i = 1, count do
    values[i] = draw()
    shown[i] = describe(values[i])
  end
  return name .. "(" .. table.concat(shown, ", ") .. ")", function()
    return lib[name](unpack(values, 1, count))
  end
end

function operations.ask()
  local ctype, value, member = one(TYPES), draw(), one(MEMBERS)
  return ("ask %s %s %s"):format(ctype, describe(value), member), function()
    return table.concat({ tostring(ffi.istype(ctype, value)), text(tonumber(ffi.sizeof(ctype))),
      tostring(ffi.offsetof(ctype, member)) }, " ")
  end
end

function operations.string()
  local value, length = draw(), random(4) - 1
  if type(value) ~= "string" and not type_of(value):find "char %[[45]%]" then return end
  if type(value) == "string" and length > #value then return end
  return ("string %s %d"):format(describe(value), length), function()
    return ffi.string(value, length)
  end
end

-- ---- running ---------------------------------------------------------------------------------

local NAMES = { "new", "new", "new", "cast", "cast", "index", "set", "set", "arithmetic", "call",
  "call", "ask", "string" }

local function keep(value)
  if type(value) == "number" and not (value > -2 ^ 31 and value < 2 ^ 31) then return end
  if type(value) ~= "number" and not is_cdata(value) then return end
  if #kept < 25 then kept[#kept + 1] = value else kept[random(25)] = value end
end

for seed = first_seed, last_seed do
  state, kept, depth = seed * 7919 % 2147483646 + 1, {}, 0
  for step = 1, 60 do
    local what, run = operations[one(NAMES)]()
    if what then
      local ok, value = pcall(run)
      -- 64-bit integers are cdata only in LuaJIT.
      if ok and type(value) == "cdata" and tostring(value):find "^%-?%d+U?LL$" then
        value = tonumber(value)
      end
      print(("%d.%d: %s: %s"):format(seed, step, what,
        ok and text(value) .. bytes(value) or reason(value)))
      if ok then keep(value) end
    end
  end
end
