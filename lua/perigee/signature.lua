--- Parser of the C signature that is a task's contract: `void saxpy(const float* x, float* y, float
-- a, int n)`. The sizes are CUDA's on 64-bit Linux. Only what a kernel can take: pointers to
-- scalars or structs, and scalars.
-- @module perigee.signature

local core = require "perigee.core"
local suggest = require "perigee.suggest"

local signature = {}

-- C spelling -> dtype. Multi-word names are written with single spaces, `unsigned` first.
local TYPES = {
  ["char"] = "i8", ["signed char"] = "i8", ["unsigned char"] = "u8",
  ["short"] = "i16", ["unsigned short"] = "u16", ["int"] = "i32", ["unsigned int"] = "u32",
  ["long"] = "i64", ["unsigned long"] = "u64", ["long long"] = "i64",
  ["unsigned long long"] = "u64",
  ["int8_t"] = "i8", ["int16_t"] = "i16", ["int32_t"] = "i32", ["int64_t"] = "i64",
  ["uint8_t"] = "u8", ["uint16_t"] = "u16", ["uint32_t"] = "u32", ["uint64_t"] = "u64",
  ["size_t"] = "u64", ["ptrdiff_t"] = "i64", ["float"] = "f32", ["double"] = "f64",
  ["bool"] = "bool",
  ["half"] = "f16", ["__half"] = "f16", ["__nv_bfloat16"] = "bf16", ["nv_bfloat16"] = "bf16",
  ["__nv_fp8_e4m3"] = "f8e4m3", ["__nv_fp8_e5m2"] = "f8e5m2",
}

-- dtype -> the spelling that needs no header in CUDA C++ (but for the narrow floats).
local NATIVE = {
  f64 = "double", f32 = "float", f16 = "__half", bf16 = "__nv_bfloat16", f8e4m3 = "__nv_fp8_e4m3",
  f8e5m2 = "__nv_fp8_e5m2", i8 = "signed char", i16 = "short", i32 = "int", i64 = "long long",
  u8 = "unsigned char", u16 = "unsigned short", u32 = "unsigned int", u64 = "unsigned long long",
  bool = "bool",
}

local HEADERS = {
  f16 = "cuda_fp16.h", bf16 = "cuda_bf16.h", f8e4m3 = "cuda_fp8.h", f8e5m2 = "cuda_fp8.h",
}

local QUALIFIERS = {
  const = true, volatile = true, struct = true, restrict = true, __restrict__ = true,
  __restrict = true, extern = true, __global__ = true, inline = true, static = true,
}
local MODIFIERS = { unsigned = true, signed = true, short = true, long = true, int = true,
  char = true }

-- A dtype in the place of a type is short for its C spelling: "const f16* x".
local function spelled(text)
  return (text:gsub("%f[%w_]([%w_]+)()", function(word, after)
    return text:find("^%s*%*?%s*[%a_]", after) and word ~= "bool" and NATIVE[word] or nil
  end))
end

local function fail(where, text, ...)
  core.error("syntax", text:format(...),
    'write it as in C: "void name(const float* x, float* y, float a, int n)"', where)
end

-- unsigned/signed/long/short/int/char in any order -> one canonical spelling.
local function integer_name(words)
  local count = {}
  for _, word in ipairs(words) do count[word] = (count[word] or 0) + 1 end
  local base = count.char and "char" or count.short and "short"
    or (count.long or 0) >= 2 and "long long" or count.long and "long" or "int"
  if count.unsigned then return "unsigned " .. base end
  if count.signed and base == "char" then return "signed char" end
  return base
end

-- Split a declaration into words, stars and brackets.
local function tokens_of(text, where)
  local list, at = {}, 1
  while true do
    at = text:find("%S", at)
    if not at then return list end
    local token = text:match("^[%a_][%w_:]*", at) or text:match("^%[%s*%d*%s*%]", at)
      or text:match("^%*", at)
    if not token then fail(where, "cannot read '%s' in a kernel parameter", text:sub(at)) end
    list[#list + 1] = token
    at = at + #token
  end
end

local function type_of(words, where, text)
  if #words == 0 then fail(where, "parameter '%s' has no type", text) end
  if MODIFIERS[words[1]] then
    for _, word in ipairs(words) do
      if not MODIFIERS[word] then fail(where, "unknown type '%s'", table.concat(words, " ")) end
    end
    return integer_name(words)
  end
  if #words > 1 then fail(where, "cannot read the type '%s'", table.concat(words, " ")) end
  return words[1]
end

-- One parameter: qualifiers, type words, stars, name, brackets.
local function parse_param(text, where)
  local param, words, const_before_star = { stars = 0 }, {}, false
  for _, token in ipairs(tokens_of(text, where)) do
    if token == "*" then
      param.stars = param.stars + 1
    elseif token:sub(1, 1) == "[" then
      param.stars = param.stars + 1
    elseif token == "const" then
      if param.stars == 0 then const_before_star = true end
    elseif not QUALIFIERS[token] then
      if param.stars > 0 or (#words > 0 and not MODIFIERS[token]) then
        if param.name then fail(where, "parameter '%s' has two names", text) end
        param.name = token
      else
        words[#words + 1] = token
      end
    end
  end
  if not param.name then fail(where, "parameter '%s' has no name", text) end
  if param.stars > 1 then fail(where, "parameter '%s' is a pointer to a pointer", text) end
  param.pointer = param.stars == 1
  param.stars = nil
  param.const = const_before_star
  param.type = type_of(words, where, text)
  param.dtype = TYPES[param.type]
  return param
end

local function check_param(param, where)
  if param.pointer or param.dtype then return end
  local names = {}
  for name in pairs(TYPES) do names[#names + 1] = name end
  table.sort(names)
  core.error("unsupported", ("parameter '%s' has type '%s', which is no scalar"):format(param.name,
    param.type),
    suggest.nearest(param.type, names) and suggest.hint(param.type, names, "scalar types")
      or "pass structs through a pointer to a buffer", where)
end

--- Parse a signature.
-- @tparam string text the C declaration; a trailing `;`, `extern "C" __global__` and names of
--   dtypes in the place of types are allowed
-- @tparam[opt] string where place for error messages
-- @treturn table {name=, text=, params={{name=, type=, dtype=, pointer=, const=}...}, by_name={}};
--   dtype is nil for void* and for structs, whose name is `type`
-- @raise "syntax" or "unsupported", saying which parameter
function signature.parse(text, where)
  text = spelled(text)
  local body = text:gsub("/%*.-%*/", " "):gsub("//[^\n]*", " "):gsub('extern%s*"C"', " ")
  body = body:gsub("__launch_bounds__%s*%b()", " ")
  local head, list, rest = body:match("^([^()]*)%(([^()]*)%)%s*;?%s*(.*)$")
  if not head then fail(where, "cannot read the kernel signature '%s'", text) end
  if rest ~= "" then fail(where, "unexpected '%s' after the kernel signature", rest) end
  local result, name = head:match("^%s*(.-)([%a_][%w_]*)%s*$")
  if not name then fail(where, "the kernel signature '%s' has no name", text) end
  if not result:find("%f[%w_]void%f[^%w_]") then fail(where, "kernel %s must return void", name) end
  local parsed = { name = name, text = text, params = {}, by_name = {} }
  if list:find("%S") and list:match("^%s*(.-)%s*$") ~= "void" then
    for part in (list .. ","):gmatch("([^,]*),") do
      if not part:find("%S") then
        fail(where, "the kernel signature '%s' has an empty parameter", text)
      end
      local param = parse_param(part, where)
      check_param(param, where)
      if parsed.by_name[param.name] then
        fail(where, "two parameters are called '%s'", param.name)
      end
      parsed.params[#parsed.params + 1] = param
      parsed.by_name[param.name] = param
    end
  end
  return parsed
end

--- Spelling of a scalar dtype that needs no header in CUDA C++, e.g. "i64" -> "long long"; nil for
-- a struct.
function signature.native(dtype)
  return NATIVE[dtype]
end

--- `pg.ctype`: the C++ spelling of a scalar dtype, for macros and signatures.
-- @tparam string dtype e.g. "f16"
-- @treturn string e.g. "__half"
-- @raise "invalid" with the nearest name
function signature.ctype(dtype)
  local names = {}
  for name in pairs(NATIVE) do names[#names + 1] = name end
  table.sort(names)
  return NATIVE[dtype] or core.error("invalid", ("unknown dtype '%s'"):format(tostring(dtype)),
    suggest.hint(tostring(dtype), names, "dtypes"))
end

--- The header that declares a dtype in CUDA C++, or nil.
function signature.header(dtype)
  return HEADERS[dtype]
end

-- A parameter as CUDA C++ without headers.
local function render_param(param)
  local ctype = param.dtype and NATIVE[param.dtype] or param.type
  if param.type == "char" then ctype = "char" end
  return (param.const and param.pointer and "const " or "") .. ctype
    .. (param.pointer and "* " or " ") .. param.name
end

--- The signature as CUDA C++ that compiles without headers, wrapped at 100 columns.
function signature.render(parsed)
  local parts = {}
  for i, param in ipairs(parsed.params) do parts[i] = render_param(param) end
  local head = ('extern "C" __global__ void %s('):format(parsed.name)
  local line, lines = head, {}
  for i, part in ipairs(parts) do
    local text = part .. (i < #parts and ", " or "")
    if #line + #text > 96 and line ~= head then
      lines[#lines + 1] = line:gsub("%s+$", "")
      line = (" "):rep(4)
    end
    line = line .. text
  end
  lines[#lines + 1] = line .. ")"
  return table.concat(lines, "\n")
end

return signature
