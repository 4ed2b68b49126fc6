--- NumPy's `.npy` files: `pg.npy.save(path, array)`, `pg.npy.load(path)`. Versions 1 to 3, little
-- endian; C order is written, Fortran order is read, too. Structs are structured dtypes with C's
-- layout. bf16 and the 8-bit floats, which NumPy lacks, are written as their bits (u2, u1) and read
-- back by naming the dtype: `pg.npy.load(path, "bf16")`.
-- @module perigee.npy

local core = require "perigee.core"

local npy = {}

local MAGIC = "\x93NUMPY"
local ALIGN = 64 -- the data begins at a multiple of this
local DEPTH_MOST, HEADER_MOST, DIM_MOST, FIELDS_MOST = 16, 1 << 20, 8, 16

-- ---- dtypes ----

local CODES = {
  f64 = "<f8", f32 = "<f4", f16 = "<f2", bf16 = "<u2", f8e4m3 = "|u1", f8e5m2 = "|u1",
  i64 = "<i8", i32 = "<i4", i16 = "<i2", i8 = "|i1", u64 = "<u8", u32 = "<u4", u16 = "<u2",
  u8 = "|u1", bool = "|b1",
}
local DTYPES = {
  f8 = "f64", f4 = "f32", f2 = "f16", i8 = "i64", i4 = "i32", i2 = "i16", i1 = "i8", u8 = "u64",
  u4 = "u32", u2 = "u16", u1 = "u8", b1 = "bool", ["?"] = "bool",
}
local COMPLEX = { c8 = "f32", c16 = "f64" } -- become structs of re and im
local OTHERS = { O = "Python objects (pickle), which can run code", U = "text", S = "bytes",
  a = "bytes", M = "dates", m = "time spans", V = "raw bytes" }

local function fail(file, hint, text, ...)
  core.error("syntax", text:format(...), hint, file)
end

-- ---- the header: a Python literal ----

-- A reader of dictionaries, lists, tuples, strings, integers, True, False and None.
local Parser = {}
Parser.__index = Parser

function Parser:wrong(expected)
  local at = self.text:sub(self.at, self.at + 19):gsub("[^%g ]", "?")
  fail(self.file, nil, "bad .npy header: expected %s, got '%s' at character %d", expected, at,
    self.at)
end

function Parser:space()
  self.at = self.text:find("[^ \t\r\n]", self.at) or #self.text + 1
end

-- The next character when it is `char`.
function Parser:skip(char)
  self:space()
  if self.text:sub(self.at, self.at) ~= char then return false end
  self.at = self.at + 1
  return true
end

function Parser:string()
  local quote = self.text:sub(self.at, self.at)
  local close = self.text:find(quote, self.at + 1, true)
  local value = close and self.text:sub(self.at + 1, close - 1)
  if not value or value:find("[\\\n]") then self:wrong("a plain string") end
  self.at = close + 1
  return value
end

-- Values up to `close`, as { kind = "tuple" | "list", ... }.
function Parser:sequence(kind, close, depth)
  local list = { kind = kind }
  while not self:skip(close) do
    list[#list + 1] = self:value(depth)
    if not self:skip(",") then
      if not self:skip(close) then self:wrong("',' or '" .. close .. "'") end
      break
    end
  end
  return list
end

function Parser:dictionary(depth)
  local map = { kind = "dictionary", items = {} }
  while not self:skip("}") do
    self:space()
    if not self.text:find("^['\"]", self.at) then self:wrong("a key") end
    local key = self:string()
    if not self:skip(":") then self:wrong("':'") end
    map.items[key] = self:value(depth)
    if not self:skip(",") then
      if not self:skip("}") then self:wrong("',' or '}'") end
      break
    end
  end
  return map
end

local WORDS = { True = true, False = false, None = "none" }

function Parser:value(depth)
  if depth > DEPTH_MOST then self:wrong("fewer brackets") end
  self:space()
  if self.text:find("^['\"]", self.at) then return self:string() end
  if self:skip("(") then return self:sequence("tuple", ")", depth + 1) end
  if self:skip("[") then return self:sequence("list", "]", depth + 1) end
  if self:skip("{") then return self:dictionary(depth + 1) end
  local number = self.text:match("^%d+", self.at)
  if number then
    self.at = self.at + #number
    self:skip("L") -- long integers of Python 2
    return math.tointeger(tonumber(number)) or self:wrong("an integer below 2^63")
  end
  local word = self.text:match("^%a+", self.at)
  if word == nil or WORDS[word] == nil then self:wrong("a value") end
  self.at = self.at + #word
  return WORDS[word]
end

-- The dictionary of a header.
local function parse(text, file)
  local parser = setmetatable({ text = text, at = 1, file = file }, Parser)
  local value = parser:value(0)
  parser:space()
  if parser.at <= #text then parser:wrong("the end") end
  if type(value) ~= "table" or value.kind ~= "dictionary" then
    fail(file, nil, "bad .npy header: it is no dictionary")
  end
  for _, key in ipairs { "descr", "fortran_order", "shape" } do
    if value.items[key] == nil then fail(file, nil, "bad .npy header: it has no '%s'", key) end
  end
  return value.items
end

-- ---- what a header says ----

-- "<f4" -> dtype, bytes. `real` NumPy dtypes that Perigee lacks are named.
local function scalar_of(code, file)
  local order, kind = tostring(code):match("^([<>|=]?)(.+)$")
  if not kind or type(code) ~= "string" then fail(file, nil, "bad .npy header: dtype %s",
    type(code) == "string" and "'" .. code .. "'" or type(code)) end
  local dtype = DTYPES[kind] or COMPLEX[kind] and kind
  if not dtype then
    local what = OTHERS[kind:sub(1, 1)]
    core.error("unsupported", what and ("dtype '%s': %s"):format(code, what)
      or ("dtype '%s' is not known"):format(code), "save numbers: a.astype('float32')", file)
  end
  if order == ">" and not kind:find("1$") then
    core.error("unsupported", ("dtype '%s' is big endian"):format(code),
      ("save it as little endian: a.astype('<%s')"):format(kind), file)
  end
  if COMPLEX[kind] then
    local part = COMPLEX[kind]
    return core.struct(part == "f32" and "complex64" or "complex128",
      { { "re", part }, { "im", part } }), tonumber(kind:sub(2))
  end
  return dtype, tonumber(kind:sub(2)) or 1
end

-- One entry of a structured dtype: { name, code, count, offset, bytes }; name nil for padding.
local function field_of(entry, offset, file)
  if type(entry) ~= "table" or (#entry ~= 2 and #entry ~= 3) then
    fail(file, nil, "bad .npy header: a field is no ('name', 'dtype')") end
  local name, code, shape = entry[1], entry[2], entry[3]
  if type(name) ~= "string" or type(code) ~= "string" then
    core.error("unsupported", "a field with a title or with fields of its own",
      "save a flat structure: fields of plain numbers", file)
  end
  local padding = name == "" and code:match("^|V(%d+)$")
  if padding then return { offset = offset, bytes = math.tointeger(tonumber(padding)) } end
  local dtype, size = scalar_of(code, file)
  if type(dtype) ~= "string" then
    core.error("unsupported", ("field '%s' is complex"):format(name), "save re and im", file) end
  local count = 1
  for _, extent in ipairs(type(shape) == "table" and shape or { shape }) do
    if math.type(extent) ~= "integer" or extent < 1 or count > HEADER_MOST // extent then
      fail(file, nil, "bad .npy header: the shape of field '%s'", name) end
    count = count * extent
  end
  return { name = name, dtype = dtype, count = count, offset = offset, bytes = size * count }
end

-- The struct of a structured dtype, its fields as they lie in the file, bytes of a record there.
local function struct_of(list, file)
  local fields, declared, offset = {}, {}, 0
  for _, entry in ipairs(list) do
    local field = field_of(entry, offset, file)
    offset = offset + field.bytes
    if field.name then
      fields[#fields + 1] = field
      declared[#declared + 1] = { field.name, field.dtype, field.count }
    end
  end
  if #fields == 0 or #fields > FIELDS_MOST then
    core.error("unsupported", ("a structure of %d fields"):format(#fields),
      ("1 to %d are possible"):format(FIELDS_MOST), file)
  end
  return core.struct("Record", declared), fields, offset
end

-- Records of the file in the layout of C: nothing to do where they are the same.
local function in_c_layout(data, struct, fields, record)
  local same = struct.size == record
  for i, field in ipairs(struct.fields) do same = same and field.offset == fields[i].offset end
  if same then return data end
  local records = {}
  for at = 0, #data - record, record do
    local parts, size = {}, 0
    for i, field in ipairs(struct.fields) do
      parts[#parts + 1] = ("\0"):rep(field.offset - size)
      parts[#parts + 1] = data:sub(at + fields[i].offset + 1, at + fields[i].offset
        + fields[i].bytes)
      size = field.offset + fields[i].bytes
    end
    parts[#parts + 1] = ("\0"):rep(struct.size - size)
    records[#records + 1] = table.concat(parts)
  end
  return table.concat(records)
end

local function shape_of(shape, file)
  if type(shape) ~= "table" or shape.kind ~= "tuple" then
    fail(file, nil, "bad .npy header: the shape is no tuple") end
  if #shape > DIM_MOST then
    core.error("unsupported", ("%d dimensions"):format(#shape), "at most 8 are possible", file) end
  local extents, count = {}, 1
  for i, extent in ipairs(shape) do
    if math.type(extent) ~= "integer" then
      fail(file, nil, "bad .npy header: the shape holds no integers") end
    if extent > 0 and count > (1 << 56) // extent then
      fail(file, nil, "bad .npy header: a shape of too many elements") end
    extents[i], count = extent, count * extent
  end
  if #extents == 0 then extents[1] = 1 end
  return extents, count
end

-- Header text and the data behind it.
local function split(text, file)
  if text:sub(1, #MAGIC) ~= MAGIC then
    fail(file, "np.save writes them", "no .npy file: it does not begin with \\x93NUMPY") end
  if #text < 8 then fail(file, nil, "the .npy file ends within its header") end
  local major = text:byte(7)
  if major < 1 or major > 3 then
    core.error("unsupported", (".npy version %d.%d"):format(major, text:byte(8)),
      "versions 1 to 3 are possible", file)
  end
  local width = major == 1 and 2 or 4
  if #text < 8 + width then fail(file, nil, "the .npy file ends within its header") end
  local length = ("<I" .. width):unpack(text, 9)
  local first = 9 + width
  if length > HEADER_MOST or #text < first + length - 1 then
    fail(file, nil, "the .npy file ends within its header of %d bytes", length) end
  return text:sub(first, first + length - 1), first + length
end

-- Elements as another dtype of the same size.
local function named(dtype, wanted, bytes, file)
  if not wanted or wanted == dtype then return dtype end
  local size = core.array(wanted, 1).nbytes
  if size == bytes then return wanted end
  return core.error("invalid", ("elements of %d bytes are no %s"):format(bytes,
    type(wanted) == "string" and wanted or wanted.name), nil, file)
end

--- An array of the bytes of a `.npy` file.
-- @tparam string text
-- @param[opt] wanted a dtype of the same size that elements are taken as (their bits do not change)
-- @tparam[opt] string file what errors name
-- @treturn array
-- @raise "syntax" (no .npy file, or one that is cut off), "unsupported" (a dtype, byte order or
--   version that cannot be had), "out_of_memory"
function npy.decode(text, wanted, file)
  local header_text, first = split(text, file)
  local header = parse(header_text, file)
  local shape, count = shape_of(header.shape, file)
  local dtype, bytes, fields
  if type(header.descr) == "table" and header.descr.kind == "list" then
    dtype, fields, bytes = struct_of(header.descr, file)
  else
    dtype, bytes = scalar_of(header.descr, file)
  end
  if type(header.fortran_order) ~= "boolean" then
    fail(file, nil, "bad .npy header: fortran_order is neither True nor False") end
  local have = #text - first + 1
  if count > 0 and have // bytes < count or have ~= count * bytes then
    fail(file, nil, "the .npy file has %d bytes of data, %d elements of %d need %.0f", have, count,
      bytes, count * 1.0 * bytes)
  end
  local data = text:sub(first)
  if fields then
    data = in_c_layout(data, dtype, fields, bytes)
    bytes = dtype.size
  end
  dtype = named(dtype, wanted, bytes, file)
  if not header.fortran_order then return core.from_bytes(dtype, shape, data) end
  local turned = {}
  for i, extent in ipairs(shape) do turned[#shape + 1 - i] = extent end
  return core.from_bytes(dtype, turned, data):transposed()
end

--- Read a `.npy` file.
-- @tparam string path
-- @param[opt] dtype take the elements as this one, of the same size: `pg.npy.load(path, "bf16")`
-- @treturn array; a 0-dimensional one has shape { 1 }, complex numbers are structs of re and im
-- @raise "io", and what npy.decode raises
function npy.load(path, dtype)
  local text, e = core.read_file(path)
  if not text then core.error(e.code or "io", e.message, e.hint, path) end
  return npy.decode(text, dtype, path)
end

-- ---- writing ----

local function descr_of(array)
  local struct = array.struct
  if not struct then return ("'%s'"):format(CODES[array.dtype]) end
  local parts, at = {}, 0
  local function pad(to)
    if to > at then parts[#parts + 1] = ("('', '|V%d')"):format(to - at) end
  end
  for _, field in ipairs(struct.fields) do
    pad(field.offset)
    parts[#parts + 1] = ("('%s', '%s'%s)"):format(field.name, CODES[field.dtype],
      field.count > 1 and (", (%d,)"):format(field.count) or "")
    at = field.offset + field.count * core.array(field.dtype, 1).nbytes
  end
  pad(struct.size)
  return "[" .. table.concat(parts, ", ") .. "]"
end

--- The header of a `.npy` file of an array, which its bytes (`array:tostring()`) follow.
function npy.header(array)
  local shape = table.concat(array.shape, ", ") .. (array.ndim == 1 and "," or "")
  local text = ("{'descr': %s, 'fortran_order': False, 'shape': (%s), }"):format(descr_of(array),
    shape)
  local before = #MAGIC + 4
  local padded = text .. (" "):rep(-(before + #text + 1) % ALIGN) .. "\n"
  return MAGIC .. "\1\0" .. ("<I2"):pack(#padded) .. padded
end

--- Write a `.npy` file, version 1.
-- @tparam string path
-- @tparam array array
-- @raise "io"
function npy.save(path, array)
  if not core.is_array(array) then
    core.error("invalid", ("npy.save: expected an array, got %s"):format(type(array))) end
  local file <close>, why = io.open(path, "wb")
  local ok = file
  if ok then ok, why = file:write(npy.header(array), array:tostring()) end
  if ok then ok, why = file:flush() end
  if not ok then
    core.error("io", ("cannot write '%s': %s"):format(path, (why:gsub("^.*: ", ""))))
  end
end

return npy
