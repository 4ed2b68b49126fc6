-- The module perigee.core without devices: arrays, comparison, statistics, JSON, system, errors.

local lu = require "luaunit"
local core = require "perigee.core"

--- The error table that f raises; fails when it raises none.
local function caught(f, ...)
  local ok, err = pcall(f, ...)
  lu.assertFalse(ok)
  lu.assertIsTable(err)
  lu.assertIsString(err.message)
  return err
end

local function assertRaises(code, pattern, f, ...)
  local err = caught(f, ...)
  lu.assertEquals(err.code, code)
  lu.assertStrContains(err.message, pattern)
  return err
end

local scratch = os.tmpname()
os.remove(scratch)

---------------------------------------------------------------------------------------------------
TestErrors = {}

function TestErrors.test_name_the_argument_and_what_was_got()
  local a = core.array("f32", 4)
  local err = assertRaises("invalid", "bad argument #1 to 'slice': expected integer, got string",
                           function() a:slice("x", 1) end)
  lu.assertStrMatches(err.where, ".*test_core.lua:%d+")
  assertRaises("invalid", "bad argument #2 to 'slice': expected integer, got float",
               function() a:slice(0, 1.5) end)
  assertRaises("invalid", "bad argument #2 to 'slice': expected integer, got no value",
               function() a:slice(0) end)
  assertRaises("invalid", "bad argument #1 to 'fill': expected number, got string",
               function() a:fill("x") end)
  assertRaises("invalid", "expected integer or list of integers, got nil",
               function() core.array("f32", nil) end)
  assertRaises("invalid", "bad object before ':fill': expected array, got table",
               function() local t = { fill = a.fill } t:fill(1) end)
end

function TestErrors.test_name_the_option_that_is_no_text()
  local function of(options) return function() core.attend(options) end end
  assertRaises("invalid", "bad argument #1 to 'attend': expected table, got no value",
               function() core.attend() end)
  assertRaises("invalid", "option 'command': expected string, got nil", of {})
  assertRaises("invalid", "option 'command': expected string, got number", of { command = 1 })
  assertRaises("invalid", "option 'command': expected text without a zero byte, got string",
               of { command = "a\0b" })
  local function with(writes)
    return of { command = "true", input = "", folder = "/nowhere", writes = writes }
  end
  assertRaises("invalid", "option 'writes': expected a list of strings, got string", with "a")
  assertRaises("invalid", "option 'writes': expected strings, got number at 2", with { "a", 1 })
  assertRaises("invalid", "option 'writes': expected strings without a zero byte, got string at 1",
               with { "a\0b" })
  local many = {}
  for i = 1, 65 do many[i] = "a" end
  assertRaises("range", "option 'writes': at most 64 texts, got 65", with(many))
end

function TestErrors.test_read_as_message_place_and_hint()
  local err = caught(core.error, "range", "too large", "take less", "file.lua:3")
  lu.assertEquals(tostring(err), "too large (file.lua:3)\n  take less")
  err = caught(core.error, "io", "lost")
  lu.assertNil(err.hint)
end

function TestErrors.test_place_is_that_of_the_script()
  local err = caught(function() core.error("io", "lost") end)
  lu.assertStrMatches(err.where, ".*test_core.lua:%d+")
end

function TestErrors.test_code_must_exist()
  assertRaises("invalid", "name of an error code", core.error, "no_such_code", "text")
end

---------------------------------------------------------------------------------------------------
TestArray = {}

function TestArray.test_starts_with_zeros_or_the_value()
  local a = core.array("f32", { 2, 3 })
  lu.assertEquals(#a, 6)
  lu.assertEquals(a.count, 6)
  lu.assertEquals(a.nbytes, 24)
  lu.assertEquals(a.dtype, "f32")
  lu.assertEquals(a.ndim, 2)
  lu.assertEquals(a.shape, { 2, 3 })
  lu.assertEquals(a:totable(), { 0, 0, 0, 0, 0, 0 })
  lu.assertEquals(core.array("i16", 3, -7):totable(), { -7, -7, -7 })
  lu.assertEquals(core.array("bool", 2, true):totable(), { true, true })
  lu.assertEquals(tostring(a), "array(f32, 2 x 3)")
  lu.assertNil(a.struct)
end

function TestArray.test_elements_have_the_type_of_the_dtype()
  local i, u, f, b = core.array("i64", 2), core.array("u64", 2), core.array("f32", 2),
    core.array("bool", 2)
  i[0], u[0], f[0], b[0] = math.mininteger, -1, 1 / 3, true
  lu.assertEquals(i[0], math.mininteger)
  lu.assertEquals(math.type(i[0]), "integer")
  lu.assertEquals(u[0], -1) -- two's complement of 2^64 - 1
  lu.assertEquals(f[0], string.unpack("f", string.pack("f", 1 / 3)))
  lu.assertEquals(math.type(f[1]), "float")
  lu.assertIsTrue(b[0])
  lu.assertIsFalse(b[1])
  i[1] = 3.0
  lu.assertEquals(math.type(i[1]), "integer")
end

function TestArray.test_refuses_what_the_dtype_does_not_hold()
  local u8, i32, f, b = core.array("u8", 1), core.array("i32", 1), core.array("f32", 1),
    core.array("bool", 1)
  assertRaises("range", "integer 256 is outside u8", function() u8[0] = 256 end)
  assertRaises("range", "integer -1 is outside u8", function() u8[0] = -1 end)
  assertRaises("range", "outside i32", function() i32[0] = 0xffffffff end)
  assertRaises("invalid", "expected integer, got float", function() i32[0] = 1.5 end)
  assertRaises("invalid", "expected integer, got string", function() i32[0] = "1" end)
  assertRaises("invalid", "expected number, got string", function() f[0] = "1" end)
  assertRaises("invalid", "expected number, got nil", function() f[0] = nil end)
  assertRaises("invalid", "expected boolean, got string", function() b[0] = "true" end)
  assertRaises("range", "outside bool", function() b[0] = 2 end)
end

function TestArray.test_refuses_indices_outside()
  local a = core.array("f32", { 2, 3 })
  assertRaises("range", "index 6 is outside the array: expected 0 to 5", function() return a[6] end)
  assertRaises("range", "index -1", function() a[-1] = 0 end)
  assertRaises("invalid", "index must be an integer, got 1.5", function() return a[1.5] end)
  assertRaises("invalid", "has no field 'size'", function() return a.size end)
  assertRaises("invalid", "an array index must be an integer", function() return a[nil] end)
  assertRaises("range", "empty array", function() return core.array("f32", 0)[0] end)
  assertRaises("range", "index 3 of dimension 1 is outside 0 to 2", function() a:get(1, 3) end)
  assertRaises("invalid", "has no field 'count'", function() a.count = 3 end)
end

function TestArray.test_rows_and_columns()
  local a = core.array("i32", { 2, 3 })
  for i = 0, 1 do
    for j = 0, 2 do a:set(i, j, 10 * i + j) end
  end
  lu.assertEquals(a:totable(), { 0, 1, 2, 10, 11, 12 })
  lu.assertEquals(a:get(1, 2), 12)
  lu.assertEquals(a[4], 11)
end

function TestArray.test_unknown_dtypes_and_shapes()
  local err = assertRaises("not_found", "unknown dtype 'float'", core.array, "float", 1)
  lu.assertStrContains(err.hint, "did you mean 'f32'?")
  assertRaises("range", "negative", core.array, "f32", -1)
  assertRaises("range", "elements", core.array, "f32", { math.maxinteger, 4 })
  assertRaises("out_of_memory", "no memory for an array", core.array, "f64", 1 << 46)
  assertRaises("invalid", "list of 1 to 8 integers", core.array, "f32", {})
  assertRaises("invalid", "list of integers", core.array, "f32", { 2, "x" })
end

function TestArray.test_copies_are_independent_and_views_are_not()
  local a = core.from_list("f32", { 0, 1, 2, 3, 4, 5 })
  local copy, slice, table2 = a:copy(), a:slice(2, 3), a:reshape { 2, 3 }
  a[3] = 33
  lu.assertEquals(copy[3], 3)
  lu.assertEquals(slice:totable(), { 2, 33, 4 })
  lu.assertEquals(table2:get(1, 0), 33)
  lu.assertEquals(a.ndim, 1)
  slice:fill(-1)
  lu.assertEquals(a:totable(), { 0, 1, -1, -1, -1, 5 })
  assertRaises("range", "slice of 3 elements from 4", function() a:slice(4, 3) end)
  assertRaises("range", "slice", function() a:slice(1, math.maxinteger) end)
  assertRaises("invalid", "does not fit", function() a:reshape(7) end)
end

function TestArray.test_a_view_keeps_its_memory_alive()
  local view = core.array("i64", 1000, 42):slice(10, 5):slice(1, 2)
  for _ = 1, 20 do
    core.array("i64", 1000, 7)
    collectgarbage()
  end
  lu.assertEquals(view:totable(), { 42, 42 })
end

function TestArray.test_garbage_arrays_are_freed()
  -- 200 x 64 MiB would not fit if the collector did not know of them.
  local function resident()
    return tonumber(core.read_file("/proc/self/status"):match "VmRSS:%s*(%d+)")
  end
  for _ = 1, 50 do core.array("f32", 1 << 22) end
  local most = resident()
  for _ = 1, 200 do
    core.array("f32", 1 << 22)
    most = math.max(most, resident())
  end
  lu.assertTrue(most < 1 << 20) -- 1 GiB of 3.2
end

function TestArray.test_a_missing_value_is_named()
  local a = core.array("f32", { 2, 2 })
  assertRaises("invalid", "bad argument #1 to 'fill': expected number, got no value",
               function() a:fill() end)
  assertRaises("invalid", "bad argument #3 to 'set': expected number, got no value",
               function() a:set(0, 1) end)
  assertRaises("invalid", "bad argument #2 to 'set': expected integer, got no value",
               function() a:set(0) end)
end

function TestArray.test_fill_and_fill_bytes()
  local a = core.array("f16", 5):fill(1.5)
  lu.assertEquals(a:totable(), { 1.5, 1.5, 1.5, 1.5, 1.5 })
  lu.assertEquals(core.array("u32", 2):fill_bytes(0xab):totable(), { 0xabababab, 0xabababab })
  assertRaises("invalid", "integer 0 to 255", function() a:fill_bytes(256) end)
end

function TestArray.test_bytes_and_back()
  local a = core.from_bytes("u16", 3, "\1\0\2\0\3\1")
  lu.assertEquals(a:totable(), { 1, 2, 259 })
  lu.assertEquals(a:tostring(), "\1\0\2\0\3\1")
  assertRaises("invalid", "3 x u16 takes 6 bytes, got 5", core.from_bytes, "u16", 3, "12345")
  lu.assertEquals(a:sha256(), core.sha256 "\1\0\2\0\3\1")
end

function TestArray.test_lists()
  lu.assertEquals(core.from_list("i32", { 1, 2, 3, 4 }, { 2, 2 }):get(1, 0), 3)
  assertRaises("invalid", "does not fit a list of 3", core.from_list, "i32", { 1, 2, 3 }, { 2, 2 })
  assertRaises("invalid", "bad argument #2 to 'from_list': expected integer, got string",
               core.from_list, "i32", { 1, "2" })
end

function TestArray.test_cast()
  local a = core.from_list("f64", { 1.75, -2.5, 300, 0 / 0 })
  lu.assertEquals(a:cast("i32"):totable(), { 1, -2, 300, 0 })
  lu.assertEquals(a:cast("u8")[2], 44)
  lu.assertTrue(a:cast("f16")[3] ~= a:cast("f16")[3])
  lu.assertEquals(core.from_list("u64", { -1 }):cast("f32")[0], 2.0 ^ 64)
end

function TestArray.test_copy_from()
  local a, b = core.from_list("f32", { 1, 2, 3 }), core.array("f32", 3)
  lu.assertEquals(b:copy_from(a):totable(), { 1, 2, 3 })
  assertRaises("invalid", "cannot copy 3 x f32 into 3 x i32",
               function() core.array("i32", 3):copy_from(a) end)
end

function TestArray.test_reductions()
  local a = core.from_list("f32", { 3, -1, 7, -1 })
  lu.assertEquals(a:sum(), 8.0)
  lu.assertEquals(a:mean(), 2.0)
  lu.assertEquals({ a:min() }, { -1.0, 1 })
  lu.assertEquals({ a:max() }, { 7.0, 2 })
  local wide = core.from_list("i64", { 1 << 60, (1 << 60) + 1 })
  lu.assertEquals(wide:max(), (1 << 60) + 1)
  assertRaises("range", "an empty array has no minimum", function() core.array("f32", 0):min() end)
  lu.assertEquals(core.array("f32", 0):sum(), 0.0)
end

function TestArray.test_equal_bits()
  local a = core.from_list("f32", { 1, 0 / 0, 0.0 })
  lu.assertEquals({ a:equal_bits(a:copy()) }, { true })
  local b = a:copy()
  b[2] = -0.0
  lu.assertEquals({ a:equal_bits(b) }, { false, 2 })
end

function TestArray.test_cannot_be_taken_apart()
  local a = core.array("f32", 1)
  lu.assertEquals(getmetatable(a), "perigee.array")
  lu.assertFalse(pcall(setmetatable, a, {}))
  -- Metamethods reached through debug still check what they get.
  local meta = debug.getmetatable(a)
  lu.assertFalse(pcall(meta.__index, io.stdout, 0))
  lu.assertFalse(pcall(meta.__newindex, 3, 0, 1))
  lu.assertFalse(pcall(meta.__gc, "x"))
  meta.__gc(a)
  lu.assertEquals(#a, 0)
end

---------------------------------------------------------------------------------------------------
TestStruct = {}

local Entry = core.struct("Entry",
  { { "key", "i64" }, { "block", "i32" }, { "pos", "i32", 3 }, { "w", "f16" } })

function TestStruct.test_has_c_layout()
  lu.assertEquals(Entry.size, 32)
  lu.assertEquals(Entry.align, 8)
  lu.assertEquals(Entry.name, "Entry")
  lu.assertEquals(Entry.fields[3], { name = "pos", dtype = "i32", count = 3, offset = 12 })
  lu.assertEquals(core.sizeof(Entry), 32)
  lu.assertEquals(core.sizeof "bf16", 2)
end

function TestStruct.test_elements_are_tables()
  local a = core.array(Entry, 3, { key = -1 })
  lu.assertEquals(a.dtype, "Entry")
  lu.assertTrue(a.struct == Entry)
  a[1] = { key = 1 << 62, pos = { 7, 8, 9 }, w = 0.5 }
  lu.assertEquals(a[1], { key = 1 << 62, block = 0, pos = { 7, 8, 9 }, w = 0.5 })
  lu.assertEquals(a[2].key, -1)
  a[1] = { block = 4 } -- the others stay
  lu.assertEquals(a[1].key, 1 << 62)
end

function TestStruct.test_fields_as_arrays()
  local a = core.array(Entry, 2)
  a[1] = { key = 5, pos = { 1, 2, 3 } }
  lu.assertEquals(a:field("key"):totable(), { 0, 5 })
  local pos = a:field "pos"
  lu.assertEquals(pos.shape, { 2, 3 })
  lu.assertEquals(pos:totable(), { 0, 0, 0, 1, 2, 3 })
  a:set_field("pos", pos:fill(9))
  lu.assertEquals(a[0].pos, { 9, 9, 9 })
  assertRaises("not_found", "struct Entry has no field 'x'", function() a:field "x" end)
  assertRaises("invalid", "needs 6 values, got 2",
    function() a:set_field("pos", core.array("i32", 2)) end)
  assertRaises("invalid", "expected array of i32, got array of f32",
               function() a:set_field("pos", core.array("f32", 6)) end)
end

function TestStruct.test_bad_values_name_the_field()
  local a = core.array(Entry, 1)
  assertRaises("invalid", "field 'key': expected integer, got string",
    function() a[0] = { key = "x" } end)
  assertRaises("invalid", "field 'pos': expected a list of 3 values",
    function() a[0] = { pos = { 1 } } end)
  assertRaises("invalid", "struct Entry has no field 'kye'", function() a[0] = { kye = 1 } end)
  assertRaises("invalid", "expected a table of fields, got number", function() a[0] = 1 end)
  assertRaises("invalid", "bad argument #1 to 'fill': field 'key'",
    function() a:fill { key = 1.5 } end)
end

function TestStruct.test_bad_structs()
  assertRaises("invalid", "list of {name, dtype [, count]}", core.struct, "T", { "x" })
  assertRaises("invalid", "two fields are named 'x'", core.struct, "T",
    { { "x", "f32" }, { "x", "f32" } })
  assertRaises("not_found", "unknown dtype 'int'", core.struct, "T", { { "x", "int" } })
  assertRaises("range", "count of 0", core.struct, "T", { { "x", "f32", 0 } })
  assertRaises("invalid", "name of 1 to 31 characters", core.struct, ("x"):rep(32),
    { { "x", "f32" } })
end

---------------------------------------------------------------------------------------------------
TestRandom = {}

function TestRandom.test_is_reproducible_and_indexed()
  local a = core.array("f64", 100):random { seed = 3, stream = 4 }
  lu.assertEquals(a[17], core.random_f64(3, 4, 17))
  lu.assertEquals(core.array("u32", 9):random({ seed = 3 })[8], core.random_u32(3, 0, 8))
  lu.assertEquals(core.array("i64", 9):random({ seed = 3 })[8], core.random_u64(3, 0, 8))
  lu.assertTrue(a:equal_bits(core.array("f64", 100):random { seed = 3, stream = 4 }))
  lu.assertFalse(a:equal_bits(core.array("f64", 100):random { seed = 4, stream = 4 }))
  -- Random123's vector for counter 0 and key 0.
  lu.assertEquals(core.random_u32(0, 0, 0), 0x6627e8d5)
  lu.assertEquals(core.random_u64(0, 0, 1), 0x9b00dbd8bc57ac4c)
end

function TestRandom.test_distributions()
  local i = core.array("i32", 1000):random { seed = 1, first = -2, last = 2 }
  lu.assertEquals((i:min()), -2)
  lu.assertEquals((i:max()), 2)
  local n = core.array("f32", 10000):random { seed = 1, mean = 5, stddev = 0.1 }
  lu.assertAlmostEquals(n:mean(), 5, 0.005)
  local u = core.array("f32", 10000):random { seed = 1, low = -3, high = -1 }
  lu.assertTrue(u:min() >= -3 and u:max() < -1)
  lu.assertAlmostEquals(u:mean(), -2, 0.03)
  lu.assertTrue(core.random_below(1, 2, 3, 10) < 10)
end

function TestRandom.test_bad_requests()
  local a = core.array("i32", 4)
  assertRaises("invalid", "unknown option 'sede'", function() a:random { sede = 1 } end)
  assertRaises("invalid", "option 'seed': expected integer, got string",
    function() a:random { seed = "x" } end)
  assertRaises("invalid", "'gauss'", function() a:random { dist = "gauss" } end)
  assertRaises("invalid", "needs a floating dtype, got i32",
    function() a:random { dist = "uniform" } end)
  assertRaises("invalid", "needs the option 'last'", function() a:random { first = 1 } end)
  assertRaises("range", "first 3 is above last 2", function() a:random { first = 3, last = 2 } end)
end

---------------------------------------------------------------------------------------------------
TestCompare = {}

function TestCompare.test_reports_what_differs()
  local want = core.from_list("f64", { 1, 2, 3, 4 })
  local got = core.from_list("f32", { 1, 2.5, 3, 0 / 0 })
  local c = core.compare(want, got, { rtol = 1e-3 })
  lu.assertFalse(c.ok)
  lu.assertEquals(c.bad, 2)
  lu.assertEquals(c.count, 4)
  lu.assertEquals(c.nan_got, 1)
  lu.assertEquals(c.first_bad, 1)
  lu.assertEquals(c.last_bad, 3)
  lu.assertEquals(c.worst, 3)
  lu.assertEquals(c.max_abs, 0.5)
  lu.assertEquals(c.mismatch[1], { index = 1, want = 2.0, got = 2.5 })
  lu.assertTrue(core.compare(want, want).ok)
end

function TestCompare.test_shows_wide_integers_exactly()
  local want, got = core.from_list("i64", { 1 << 60 }), core.from_list("i64", { (1 << 60) + 1 })
  local c = core.compare(want, got)
  lu.assertEquals(c.mismatch[1], { index = 0, want = 1 << 60, got = (1 << 60) + 1 })
end

function TestCompare.test_finds_poison()
  local got = core.array("f32", 4)
  local poison = core.from_bytes("f32", 1, string.pack("<I4", 0x7fc0dead))
  for i = 0, 3 do got:slice(i, 1):copy_from(poison) end
  got[2] = 1
  local c = core.compare(core.array("f32", 4, 1), got, { poison = 0x7fc0dead })
  lu.assertEquals(c.unwritten, 3)
  lu.assertEquals(c.bad, 3)
end

function TestCompare.test_bad_calls()
  local a = core.array("f32", 2)
  assertRaises("invalid", "expected array, got table", core.compare, a, {})
  assertRaises("invalid", "expected 2 elements, got 3", core.compare, a, core.array("f32", 3))
  assertRaises("invalid", "unknown option 'tol'", core.compare, a, a, { tol = 1 })
  assertRaises("range", "rtol must be a number >= 0", core.compare, a, a, { rtol = -1 })
end

function TestCompare.test_ulp_distance()
  lu.assertEquals(core.ulp_distance("f16", 1, 1 + 2 ^ -10), 1.0)
end

---------------------------------------------------------------------------------------------------
TestStats = {}

function TestStats.test_summary()
  local s = core.summarize { 5, 1, 4, 2, 3, 10, 9, 8, 7, 6 }
  lu.assertEquals(s.samples, 10)
  lu.assertEquals(s.median, 5.5)
  lu.assertEquals(s.p20, 2.8)
  lu.assertEquals(s.ci95, { 2.0, 9.0 })
  lu.assertEquals(s.min, 1.0)
  lu.assertEquals(core.summarize(core.from_list("f64", { 1, 2, 3 })).median, 2.0)
end

function TestStats.test_ratio()
  local r = core.ratio({ 4, 4.1, 4.2, 4.3, 4.4 }, { 2, 2.1, 2.2, 2.3, 2.4 })
  lu.assertAlmostEquals(r.ratio, 4.2 / 2.2, 1e-12)
  lu.assertTrue(r.ci95[1] <= r.ratio and r.ratio <= r.ci95[2])
  lu.assertEquals(r, core.ratio({ 4, 4.1, 4.2, 4.3, 4.4 }, { 2, 2.1, 2.2, 2.3, 2.4 }))
end

-- Samples that are alike within a slice say less than as many on their own.
function TestStats.test_ratio_of_slices()
  local a, b = { { 4, 4.1, 4.2 }, { 4.3, 4.4 } }, { 2, 2.1, 2.2, 2.3, 2.4 }
  local alone, r = core.ratio({ 4, 4.1, 4.2, 4.3, 4.4 }, b), core.ratio(a, b)
  lu.assertEquals(r.ratio, alone.ratio)
  lu.assertTrue(r.ci95[1] < alone.ci95[1] and r.ci95[2] > alone.ci95[2])
  lu.assertEquals(core.ratio({ { 4, 4.1, 4.2, 4.3, 4.4 } }, { b }), alone)
  assertRaises("invalid", "none of them empty", core.ratio, { { 1 }, {} }, b)
  assertRaises("invalid", "none of them empty", core.ratio, { { 1 }, 2 }, b)
  assertRaises("invalid", "slices of numbers", core.ratio, { { 1 }, { "x" } }, b)
  for _, length in ipairs { -1, 0, (1 << 28) + 1, math.maxinteger, math.mininteger } do
    local liar = setmetatable({}, { __len = function() return length end,
      __index = function() return { 1.0 } end })
    assertRaises("invalid", "2^28 slices", core.ratio, liar, b)
  end
end

function TestStats.test_bad_samples()
  assertRaises("invalid", "at least one sample", core.summarize, {})
  assertRaises("invalid", "list of numbers", core.summarize, { 1, "2" })
  assertRaises("invalid", "sample 1 is", core.summarize, { 1, 0 / 0 })
  assertRaises("invalid", "expected list of numbers, got number", core.summarize, 3)
  assertRaises("range", "positive samples", core.ratio, { 1 }, { 0 })
  for _, length in ipairs { -1, (1 << 28) + 1, 1 << 61, math.maxinteger, math.mininteger } do
    local liar = setmetatable({}, { __len = function() return length end,
      __index = function() return 1.0 end })
    assertRaises("invalid", "list of at most 2^28 numbers", core.summarize, liar)
    assertRaises("invalid", "list of at most 2^28 numbers", core.ratio, { 1 }, liar)
  end
end

---------------------------------------------------------------------------------------------------
TestJson = {}

function TestJson.test_is_deterministic_and_exact()
  lu.assertEquals(core.json_encode { b = 1, a = { 1, 2.5, true }, c = {} },
    '{"a":[1,2.5,true],"b":1,"c":{}}')
  lu.assertEquals(core.json_encode { math.maxinteger, math.mininteger, 2.0 },
                  "[9223372036854775807,-9223372036854775808,2.0]")
  lu.assertEquals(core.json_encode { 0 / 0, 1 / 0, -1 / 0 }, '["NaN","Infinity","-Infinity"]')
  lu.assertEquals(core.json_encode "a\0é\n\"", '"a\\u0000é\\n\\""')
  lu.assertEquals(core.json_encode { core.null }, "[null]")
  lu.assertEquals(core.json_encode(core.json_array {}), "[]")
  lu.assertEquals(core.json_encode({ a = 1 }, true), '{\n  "a": 1\n}')
end

function TestJson.test_numbers_survive()
  local numbers = { 0.1, 1 / 3, 1e-310, 1.7976931348623157e308, -0.0, 123456789012345.678, 5e-324 }
  for _, x in ipairs(numbers) do
    local back = core.json_decode(core.json_encode(x))
    lu.assertEquals(string.pack("d", back), string.pack("d", x))
  end
end

function TestJson.test_decodes()
  local v = core.json_decode '{"a": [1, 2.0, null, "x\\u0000y"], "b": {"c": true}, "e": []}'
  lu.assertEquals(math.type(v.a[1]), "integer")
  lu.assertEquals(math.type(v.a[2]), "float")
  lu.assertTrue(v.a[3] == core.null)
  lu.assertEquals(v.a[4], "x\0y")
  lu.assertTrue(v.b.c)
  lu.assertEquals(core.json_encode(v.e), "[]") -- an empty list stays one
end

function TestJson.test_bad_text_gives_a_place()
  local v, why = core.json_decode '{\n  "a": 1,\n  "b" 2\n}'
  lu.assertNil(v)
  lu.assertStrContains(why, "line 3")
  lu.assertNil((core.json_decode ""))
  lu.assertNil((core.json_decode "[1] x"))
  lu.assertNil((core.json_decode '{"a":1,"a":2}'))
  lu.assertNil((core.json_decode "[18446744073709551616]"))
  lu.assertNil((core.json_decode(("["):rep(100000))))
  lu.assertNil((core.json_decode "\"\xff\""))
end

function TestJson.test_what_it_cannot_hold_is_named()
  assertRaises("invalid", "value.a.b[2] is a function", core.json_encode,
    { a = { b = { 1, print } } })
  assertRaises("invalid", "value is a table that is neither", core.json_encode, { 1, x = 2 })
  assertRaises("invalid", "neither", core.json_encode, { [1.5] = 1 })
  assertRaises("invalid", "neither", core.json_encode, { 1, nil, 3 })
  assertRaises("invalid", "value[1] is a string that is not valid UTF-8", core.json_encode,
    { "\xff" })
  assertRaises("invalid", "UTF-8", core.json_encode, { ["\xff"] = 1 })
  local cycle = {}
  cycle.again = cycle
  assertRaises("invalid", "in a cycle", core.json_encode, cycle)
end

---------------------------------------------------------------------------------------------------
TestSys = {}

function TestSys.setUp() assert(core.mkdir_all(scratch .. "/a/b")) end
function TestSys.tearDown() os.execute("rm -rf '" .. scratch .. "'") end

function TestSys.test_files_are_written_whole_and_read_back()
  local path, bytes = scratch .. "/a/f", ("x\0y"):rep(10000)
  lu.assertTrue(core.write_file(path, bytes))
  lu.assertEquals(core.read_file(path), bytes)
  lu.assertTrue(core.write_file(path, "second"))
  lu.assertEquals(core.read_file(path, 6), "second")
  lu.assertEquals(core.list_dir(scratch .. "/a"), { "b", "f" }) -- nothing temporary is left
  local info = core.file_info(path)
  lu.assertEquals(info.type, "file")
  lu.assertEquals(info.size, 6)
  lu.assertAlmostEquals(info.mtime, os.time(), 60)
  lu.assertEquals(core.realpath(scratch .. "/a/b/../f"), core.realpath(path))
end

function TestSys.test_a_new_file_has_the_permissions_that_the_user_gives()
  local path = scratch .. "/a/f"
  assert(core.write_file(path, "x"))
  local pipe <close> = io.popen(("umask; stat -c %%a '%s'"):format(path))
  local mask, mode = tonumber(pipe:read "l", 8), tonumber(pipe:read "l", 8)
  lu.assertEquals(mode, 438 & ~mask) -- 0666
end

-- Replacing a device or a pipe by a file would break it for everybody.
function TestSys.test_what_is_no_plain_file_stays_what_it_is()
  local pipe, link, file = scratch .. "/pipe", scratch .. "/link", scratch .. "/file"
  os.execute(("mkfifo '%s'; ln -s file '%s'"):format(pipe, link))
  local reader = io.popen(("cat '%s'"):format(pipe))
  lu.assertTrue(core.write_file(pipe, "through the pipe"))
  lu.assertEquals(reader:read("a"), "through the pipe")
  reader:close()
  lu.assertEquals(core.file_info(pipe).type, "other")
  for _, text in ipairs { "first", "second" } do
    core.write_file(file, "")
    lu.assertTrue(core.write_file(link, text))
    lu.assertEquals(core.read_file(file), text)
  end
  lu.assertTrue(os.execute(("test -L '%s'"):format(link)))
  local done, err = core.write_file(scratch .. "/a", "x")
  lu.assertNil(done)
  lu.assertEquals(err.code, "io")
  lu.assertEquals(core.list_dir(scratch), { "a", "file", "link", "pipe" })
end

function TestSys.test_failures_are_values()
  local function assertFails(code, pattern, value, err)
    lu.assertNil(value)
    lu.assertEquals(err.code, code)
    lu.assertStrContains(err.message, pattern)
    lu.assertIsString(err.where)
  end
  assertFails("not_found", "cannot read", core.read_file(scratch .. "/none"))
  assertFails("io", "cannot read", core.read_file(scratch))
  assertFails("range", "longer than 2 bytes", core.read_file("/proc/self/status", 2))
  assertFails("not_found", "cannot write", core.write_file(scratch .. "/none/f", "x"))
  assertFails("not_found", "cannot list", core.list_dir(scratch .. "/none"))
  assertFails("not_found", "cannot find", core.file_info(scratch .. "/none"))
  assertFails("not_found", "cannot find", core.realpath(scratch .. "/none"))
  core.write_file(scratch .. "/file", "")
  assertFails("not_found", "cannot make", core.mkdir_all(scratch .. "/file/x"))
  assertFails("not_found", "cannot make", core.mkdir_all(scratch .. "/file"))
  assertRaises("invalid", "path without a zero byte", core.read_file, "a\0b")
  assertRaises("invalid", "bad argument #1 to 'read_file': expected string, got no value",
               core.read_file)
end

function TestSys.test_folders_are_sorted()
  for _, name in ipairs { "z", "B", "a10", "a9" } do
    core.write_file(scratch .. "/a/b/" .. name, "")
  end
  lu.assertEquals(core.list_dir(scratch .. "/a/b"), { "B", "a10", "a9", "z" })
end

function TestSys.test_the_nearest_of_a_list_of_names()
  lu.assertEquals(core.nearest("blok", { "block", "grid" }), "block")
  lu.assertNil(core.nearest("blok", {}))
  for _, names in ipairs { 7, { 1 }, { "block", {} } } do
    assertRaises("invalid", "list of names", core.nearest, "blok", names)
  end
end

function TestSys.test_clocks_and_process()
  local before = core.now()
  lu.assertTrue(core.now() >= before)
  lu.assertStrMatches(core.utc(), "%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ")
  lu.assertEquals(core.utc():sub(1, 13), os.date("!%Y-%m-%dT%H"))
  lu.assertTrue(core.cpu_count() >= 1)
  lu.assertEquals(core.getpid(), tonumber(core.realpath("/proc/self"):match "%d+"))
  lu.assertTrue(core.columns() > 0)
  lu.assertFalse(core.isatty(999))
  lu.assertEquals(core.file_info(core.home .. "/lua/perigee").type, "dir")
  lu.assertStrMatches(core.version, "%d+%.%d+%.%d+")
end

function TestSys.test_sha256()
  lu.assertEquals(core.sha256 "abc",
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
end

os.exit(lu.LuaUnit.run(), true)
