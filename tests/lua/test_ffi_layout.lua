-- Where members lie, and which bits a bit-field has, against the C compiler that is here: structs
-- and unions of any members, attributes and #pragma pack, drawn at random, always the same.
local lu = require "luaunit"
local pg = require "perigee"
local ffi = require "ffi"

TestFfiLayout = {}

local COUNT = 250
math.randomseed(2026)

local function one_of(list) return list[math.random(#list)] end
local function chance(share) return math.random() < share end

local BITS = { ["char"] = 8, ["signed char"] = 8, ["unsigned char"] = 8, ["short"] = 16,
  ["unsigned short"] = 16, ["int"] = 32, ["unsigned"] = 32, ["long"] = 64, ["unsigned long"] = 64,
  ["_Bool"] = 1 }
local INTEGERS, OTHERS = {}, { "float", "double", "void *", "long double" }
for name in pairs(BITS) do INTEGERS[#INTEGERS + 1] = name end
table.sort(INTEGERS)

local source = { "#include <string.h>\n#include <stddef.h>" }
local declared = {}

local function declare(text)
  source[#source + 1] = text
  declared[#declared + 1] = text
end

for i = 1, 24 do -- typedefs with another alignment than their type
  local name, base = "td" .. i, one_of(i < 17 and INTEGERS or OTHERS)
  declare(("typedef %s %s __attribute__((aligned(%d)));"):format(base, name,
    1 << math.random(0, 4)))
  if BITS[base] then
    BITS[name] = BITS[base]
    INTEGERS[#INTEGERS + 1] = name
  else
    OTHERS[#OTHERS + 1] = name
  end
end

local function attributes(share)
  local text = chance(share) and " __attribute__((packed))" or ""
  if not chance(share) then return text end
  return text .. (" __attribute__((aligned(%d)))"):format(1 << math.random(0, 4))
end

-- { text, name, type of its whole }; of a bit-field without the type, of padding without a name.
local function draw_member(name)
  if ffi.arch == "x64" and chance(0.5) then
    local base = one_of(INTEGERS)
    local width = math.random(0, BITS[base])
    if width == 0 or chance(0.1) then return { text = ("%s : %d;"):format(base, width) } end
    return { name = name, text = ("%s %s : %d%s;"):format(base, name, width, attributes(0.12)) }
  end
  local base = one_of(chance(0.7) and INTEGERS or OTHERS)
  local length = not base:find "^td" and chance(0.2) and ("[%d]"):format(math.random(3)) or ""
  return { name = name, whole = base .. length,
    text = ("%s %s%s%s;"):format(base, name, length, attributes(0.12)) }
end

local ONES = [[
  size_t size_NAME(void) { return sizeof(NAME); }
  size_t align_NAME(void) { return _Alignof(NAME); }
  void ones_NAME(int member, unsigned char *to) {
    NAME v;
    memset(&v, 0, sizeof v);
    switch (member) { SETS }
    memcpy(to, &v, sizeof v);
  }
]]

local types = {}
for i = 1, COUNT do
  local name, members, texts, sets = "drawn" .. i, {}, {}, {}
  for k = 1, math.random(7) do
    local one = draw_member("m" .. k)
    if k > 1 and #types > 0 and chance(0.1) then
      local inner = one_of(types).name
      one = { name = "m" .. k, whole = inner,
        text = ("%s m%d%s;"):format(inner, k, attributes(0.1)) }
    end
    texts[k] = one.text
    if one.name then members[#members + 1] = one end
  end
  for k, one in ipairs(members) do
    sets[k] = (one.whole and "case %d: memset(&v.%s, 255, sizeof v.%s); break;"
      or "case %d: v.%s = -1; break;"):format(k, one.name, one.name)
  end
  local text = ("typedef %s { %s }%s %s;"):format(chance(0.2) and "union" or "struct",
    table.concat(texts, " "), attributes(0.15), name)
  if chance(0.15) then
    text = ("#pragma pack(push, %d)\n%s\n#pragma pack(pop)"):format(1 << math.random(0, 3), text)
  end
  declare(text)
  source[#source + 1] = ONES:gsub("%u%u%u%u+", { NAME = name, SETS = table.concat(sets, " ") })
  declared[#declared + 1] = ([[size_t size_NAME(void); size_t align_NAME(void);
    void ones_NAME(int, unsigned char *);]]):gsub("NAME", name)
  types[i] = { name = name, text = text, members = members }
end

local c = pg.native { source = table.concat(source, "\n"), cdef = table.concat(declared, "\n") }

function TestFfiLayout.test_sizes_and_alignments_are_the_compiler_s()
  for _, t in ipairs(types) do
    lu.assertEquals({ ffi.sizeof(t.name), ffi.alignof(t.name) },
      { c["size_" .. t.name](), c["align_" .. t.name]() }, t.text)
  end
end

local function hex(bytes)
  return (bytes:gsub(".", function(b) return ("%02x"):format(b:byte()) end))
end

-- The bytes of a struct, all zero but for a member, which is all ones.
local function ours(t, member)
  local value = ffi.new(t.name)
  if member.whole then
    local at = ffi.cast("char *", value) + ffi.offsetof(t.name, member.name)
    ffi.fill(at, ffi.sizeof(member.whole), 255)
  else
    value[member.name] = -1
    local all = value[member.name] -- of a signed one -1, of bool true
    lu.assertTrue(all == true or all ~= 0, t.text)
  end
  return ffi.string(ffi.cast("char *", value), ffi.sizeof(value))
end

function TestFfiLayout.test_members_lie_where_the_compiler_puts_them()
  local bits = 0
  for _, t in ipairs(types) do
    for k, member in ipairs(t.members) do
      local theirs = ffi.new("unsigned char[?]", c["size_" .. t.name]())
      c["ones_" .. t.name](k, theirs)
      lu.assertEquals(hex(ours(t, member)), hex(ffi.string(theirs, ffi.sizeof(theirs))),
        t.text .. " " .. member.name)
      if not member.whole then bits = bits + 1 end
    end
  end
  lu.assertTrue(ffi.arch ~= "x64" or bits > COUNT)
end

os.exit(lu.LuaUnit.run())
