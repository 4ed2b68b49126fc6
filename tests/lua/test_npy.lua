-- .npy files: bytes as the format's documentation has them, what NumPy itself writes and reads
-- where it is installed, round trips of every dtype, and bad files.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"

local npy = pg.npy

-- A file of version `major` as numpy.lib.format describes it: magic, version, length of the header,
-- the header padded with spaces to a multiple of 64 bytes in all and ended by a newline, data.
local function file(header, data, major)
  local width = (major or 1) == 1 and 2 or 4
  local spaces = -(8 + width + #header + 1) % 64
  local padded = header .. (" "):rep(spaces) .. "\n"
  local length = ("<I" .. width):pack(#padded)
  return "\x93NUMPY" .. string.char(major or 1, 0) .. length .. padded .. data
end

local function header(descr, shape, fortran)
  return ("{'descr': %s, 'fortran_order': %s, 'shape': %s, }"):format(descr,
    fortran and "True" or "False", shape)
end

-- numpy.arange(3, dtype='<f4') as numpy.save writes it: 0x76 = 118 bytes of header, data at 128.
local ARANGE = "\x93NUMPY\x01\x00\x76\x00"
  .. "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }" .. (" "):rep(60) .. "\n"
  .. "\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x40"

TestGolden = {}

function TestGolden:test_a_vector()
  lu.assertEquals(#ARANGE, 128 + 12)
  local a = npy.decode(ARANGE)
  lu.assertEquals({ a.dtype, a.shape, a:totable() }, { "f32", { 3 }, { 0, 1, 2 } })
  lu.assertEquals(npy.header(a) .. a:tostring(), ARANGE)
end

function TestGolden:test_versions_shapes_and_spellings()
  for major = 1, 3 do
    local a = npy.decode(file(header("'<i2'", "(2, 3)"), ("<i2i2i2i2i2i2"):pack(1, 2, 3, 4, 5, 6),
      major))
    lu.assertEquals({ a.dtype, a.shape, a:totable() }, { "i16", { 2, 3 }, { 1, 2, 3, 4, 5, 6 } })
  end
  lu.assertEquals(npy.decode(file(header("'<f8'", "()"), ("<d"):pack(2.5))):totable(), { 2.5 })
  lu.assertEquals(npy.decode(file(header("'<f8'", "(0, 5)"), "")).shape, { 0, 5 })
  lu.assertEquals(npy.decode(file(header('"|b1"', "(3L,)"), "\1\0\1")):totable(),
    { true, false, true })
  local a = npy.decode(file('{"shape":(2,),"fortran_order":False,"descr":"<u4"}',
    ("<I4I4"):pack(7, 0xffffffff)))
  lu.assertEquals(a:totable(), { 7, 0xffffffff })
end

function TestGolden:test_fortran_order()
  -- [[1, 2, 3], [4, 5, 6]] column by column.
  local a = npy.decode(file(header("'|u1'", "(2, 3)", true), "\1\4\2\5\3\6"))
  lu.assertEquals({ a.shape, a:totable() }, { { 2, 3 }, { 1, 2, 3, 4, 5, 6 } })
  a = npy.decode(file(header("'|u1'", "(2, 2, 2)", true), "\0\4\2\6\1\5\3\7"))
  lu.assertEquals(a:totable(), { 0, 1, 2, 3, 4, 5, 6, 7 })
end

function TestGolden:test_structs()
  -- numpy.dtype([...], align=True) of an i8 and an i4 has four bytes of padding at its end.
  local descr = "[('key', '<i8'), ('value', '<i4'), ('', '|V4')]"
  local a = npy.decode(file(header(descr, "(2,)"), ("<i8i4xxxxi8i4xxxx"):pack(1, 2, -3, -4)))
  lu.assertEquals({ a[0], a[1], a.struct.size },
    { { key = 1, value = 2 }, { key = -3, value = -4 }, 16 })
  -- The same without padding, as NumPy's packed structs are: moved into C's layout.
  a = npy.decode(file(header("[('value', '<i4'), ('key', '<i8'), ('pos', '<f4', (3,))]", "(2,)"),
    ("<i4i8fffi4i8fff"):pack(2, 1, 0.5, 1, 2, -4, -3, 3, 4, 5)))
  lu.assertEquals(a[1], { key = -3, value = -4, pos = { 3, 4, 5 } })
  lu.assertEquals(a.struct.size, 32)
  a = npy.decode(file(header("'<c8'", "(1,)"), ("<ff"):pack(1.5, -2)))
  lu.assertEquals(a[0], { re = 1.5, im = -2 })
end

TestRoundTrip = {}

local path = os.tmpname()

local function round_trip(array, dtype)
  npy.save(path, array)
  local back = npy.load(path, dtype)
  lu.assertEquals(back.shape, array.shape)
  lu.assertEquals(back:tostring(), array:tostring())
  return back
end

function TestRoundTrip:test_every_dtype_and_shape()
  for _, dtype in ipairs { "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i8", "i16", "i32",
    "i64", "u8", "u16", "u32", "u64", "bool" } do
    for _, shape in ipairs { 0, 1, 17, { 3, 5 }, { 2, 0, 4 }, { 2, 3, 1, 4 },
      { 1, 1, 1, 1, 1, 1, 1, 2 } } do
      local a = pg.array(dtype, shape):random { seed = 2, dist = "bits" }
      lu.assertEquals(round_trip(a, dtype).dtype, dtype)
    end
  end
  local Entry = pg.struct("Entry", { { "flag", "u8" }, { "key", "i64" }, { "pos", "f32", 3 },
    { "half", "f16" } })
  local a = pg.array(Entry, { 2, 2 })
  a[3] = { flag = 1, key = -5, pos = { 1, 2, 3 }, half = 0.5 }
  lu.assertEquals(round_trip(a)[3], a[3])
end

-- A reader of its own: Python's literal parser and struct module, or NumPy where it is installed.
local CHECK = [[
import ast, struct, sys
def read(path):
    data = open(path, 'rb').read()
    assert data[:8] == b'\x93NUMPY\x01\x00', data[:8]
    length, = struct.unpack('<H', data[8:10])
    assert (10 + length) % 64 == 0 and data[9 + length:10 + length] == b'\n'
    head = ast.literal_eval(data[10:10 + length].decode('latin1'))
    assert set(head) == {'descr', 'fortran_order', 'shape'} and head['fortran_order'] is False
    return head, data[10 + length:]
head, data = read(sys.argv[1])
assert head['descr'] == [('flag', '|u1'), ('', '|V7'), ('key', '<i8'), ('pos', '<f4', (3,)),
                         ('', '|V4')], head
assert head['shape'] == (2, 2)
assert struct.unpack_from('<B7xqfff', data, 3 * 32) == (1, -5, 1.0, 2.0, 3.0)
try:
    import numpy
except ImportError:
    print('python')
    sys.exit()
a = numpy.load(sys.argv[1])
assert a.shape == (2, 2) and a[1, 1]['key'] == -5 and list(a[1, 1]['pos']) == [1, 2, 3]
out = numpy.asfortranarray(numpy.arange(6, dtype='<f4').reshape(2, 3))
numpy.save(sys.argv[2], out)
print('numpy')
]]

function TestRoundTrip:test_another_reader()
  if not os.execute("python3 -c '' 2>/dev/null") then
    lu.skip("no python3; the golden bytes above are checked all the same") end
  local Entry = pg.struct("Entry", { { "flag", "u8" }, { "key", "i64" }, { "pos", "f32", 3 } })
  local a = pg.array(Entry, { 2, 2 })
  a[3] = { flag = 1, key = -5, pos = { 1, 2, 3 } }
  npy.save(path, a)
  local script, out = os.tmpname(), path .. ".npy"
  core.write_file(script, CHECK)
  local pipe <close> = io.popen(("python3 %s %s %s 2>&1"):format(script, path, out))
  local said = pipe:read("a")
  os.remove(script)
  lu.assertTrue(said == "python\n" or said == "numpy\n", said)
  if said == "numpy\n" then
    lu.assertEquals({ npy.load(out).shape, npy.load(out):totable() },
      { { 2, 3 }, { 0, 1, 2, 3, 4, 5 } })
    os.remove(out)
  end
end

TestBad = {}

local function refuses(text, code, words)
  local ok, e = pcall(npy.decode, text, nil, "x.npy")
  lu.assertFalse(ok)
  lu.assertEquals({ e.code, e.where }, { code, "x.npy" }, e.message)
  lu.assertStrContains(e.message, words)
end

function TestBad:test_each_has_its_error()
  local four = ("\0"):rep(4)
  refuses("", "syntax", "it does not begin with")
  refuses("PK\3\4" .. ("x"):rep(200), "syntax", "it does not begin with")
  refuses("\x93NUMPY", "syntax", "ends within its header")
  refuses("\x93NUMPY\1\0", "syntax", "ends within its header")
  refuses("\x93NUMPY\4\0\1\0x", "unsupported", "version 4.0")
  refuses("\x93NUMPY\1\0\xff\xffx", "syntax", "ends within its header of 65535 bytes")
  refuses(file("", ""), "syntax", "expected a value")
  refuses(file("[1]", ""), "syntax", "no dictionary")
  refuses(file("{'descr': '<f4'}", ""), "syntax", "it has no 'fortran_order'")
  refuses(file(header("'<f4'", "(1,)") .. " x", four), "syntax", "expected the end")
  refuses(file(header("'<f4'", "5"), four), "syntax", "the shape is no tuple")
  refuses(file(header("'<f4'", "(1.5,)"), four), "syntax", "expected ',' or ')'")
  refuses(file(header("'<f4'", "(-1,)"), four), "syntax", "expected a value")
  refuses(file(header("'<f4'", "('x',)"), four), "syntax", "the shape holds no integers")
  refuses(file(header("'<f4'", "(4294967296, 4294967296)"), four), "syntax", "too many elements")
  refuses(file(header("'<f4'", "(99999999999999999999,)"), four), "syntax", "below 2^63")
  refuses(file(header("'<f4'", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), four), "unsupported",
    "9 dimensions")
  refuses(file(header("'<f4'", "(2,)"), four), "syntax",
    "has 4 bytes of data, 2 elements of 4 need 8")
  refuses(file(header("'<f4'", "(1,)"), four .. "x"), "syntax", "has 5 bytes of data")
  refuses(file(header("'>f4'", "(1,)"), four), "unsupported", "big endian")
  refuses(file(header("'|O'", "(1,)"), four), "unsupported", "pickle")
  refuses(file(header("'<U1'", "(1,)"), four), "unsupported", "text")
  refuses(file(header("'<q9'", "(1,)"), four), "unsupported", "is not known")
  refuses(file(header("7", "(1,)"), four), "syntax", "dtype number")
  refuses(file(header("[('a', [('b', '<f4')])]", "(1,)"), four), "unsupported", "fields of its own")
  refuses(file(header("[]", "(1,)"), four), "unsupported", "a structure of 0 fields")
  refuses(file(header("[('a', '<f4', (0,))]", "(1,)"), four), "syntax", "the shape of field 'a'")
  refuses(file(header("'<f4'", ("("):rep(100)), four), "syntax", "fewer brackets")
  refuses(file("{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}", four), "syntax",
    "neither True nor False")
  local ok, e = pcall(npy.decode, ARANGE, "f64")
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "elements of 4 bytes are no f64")
end

-- Damaged files give an array or an error table, never anything else.
function TestBad:test_damaged_files()
  local seeds = { ARANGE, file(header("[('key', '<i8'), ('v', '<i4', (2,))]", "(2, 2)", true),
    ("\5"):rep(64), 2), file(header("'<c16'", "(2,)"), ("\1"):rep(32), 3) }
  local tried, arrays = 0, 0
  local function try(text)
    tried = tried + 1
    local ok, result = pcall(npy.decode, text)
    if ok then
      arrays = arrays + 1
      lu.assertTrue(pg.is_array(result))
    else
      lu.assertEquals(type(result), "table", tostring(result))
      lu.assertNotNil(({ syntax = 1, unsupported = 1, invalid = 1, range = 1, out_of_memory = 1 })
        [result.code], result.code)
    end
  end
  for s, seed in ipairs(seeds) do
    for length = 0, #seed do try(seed:sub(1, length)) end
    for trial = 1, 3000 do
      local bytes = { seed:byte(1, -1) }
      for k = 1, 1 + trial % 4 do
        local at = core.random_below(s, trial, k, #bytes) + 1
        local kind = core.random_below(s, trial, 10 + k, 3)
        local value = core.random_below(s, trial, 20 + k, 256)
        if kind == 0 then bytes[at] = value
        elseif kind == 1 then bytes[at] = ("{}[](),:'\"0123456789<>|TFfiu"):byte(value % 27 + 1)
        else table.remove(bytes, at) end
      end
      try(string.char(table.unpack(bytes)))
    end
  end
  lu.assertTrue(arrays > 0 and arrays < tried)
end

function TestBad:test_files_that_cannot_be_read_or_written()
  local ok, e = pcall(npy.load, "/nowhere/x.npy")
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "/nowhere/x.npy")
  ok, e = pcall(npy.save, "/nowhere/x.npy", pg.array("f32", 3))
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "io")
  ok, e = pcall(npy.save, path, "text")
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "invalid")
end

local status = lu.LuaUnit.run()
os.remove(path)
os.exit(status)
