-- Mesh readers, sampling and scaling: files written here byte by byte, and geometry known by
-- formula.
local lu = require "luaunit"
local core = require "perigee.core"
local mesh = require "perigee.mesh"

local folder = os.tmpname()
os.remove(folder)
core.mkdir_all(folder)

local function file(name, bytes)
  local path = folder .. "/" .. name
  core.write_file(path, bytes)
  return path
end

local function read(name, bytes, options)
  local path = file(name, bytes)
  local ok, result = pcall(mesh.read, path, options)
  os.remove(path)
  if not ok then error(result, 0) end
  return result
end

-- The error that reading raises.
local function failure(name, bytes, options)
  local ok, e = pcall(read, name, bytes, options)
  lu.assertFalse(ok, "expected an error")
  lu.assertIsTable(e, tostring(e))
  return e
end

local function assert_array(array, shape, values)
  lu.assertEquals(array.shape, shape)
  lu.assertEquals(array:totable(), values)
end

local SQUARE = { 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5 }

-- ---- PLY ----

TestPly = {}

local ASCII = [[
ply
format ascii 1.0
comment a square
obj_info made by hand
element vertex 4
property float x
property float y
property float z
element face 2
property list uchar int vertex_indices
end_header
0 0 0
1 0 0
1 1 0
0 1 5e-1
3 0 1 2
3 0 2 3
]]

function TestPly:test_ascii()
  local square = read("a.ply", ASCII)
  assert_array(square.points, { 4, 3 }, SQUARE)
  assert_array(square.faces, { 2, 3 }, { 0, 1, 2, 0, 2, 3 })
  lu.assertEquals(square.points.dtype, "f64")
end

function TestPly:test_ascii_with_carriage_returns_and_no_last_newline()
  local square = read("a.ply", (ASCII:gsub("\n", "\r\n"):gsub("\r\n$", "")))
  assert_array(square.points, { 4, 3 }, SQUARE)
end

-- Elements and properties that nobody asked for, in an order of their own, x last.
local function odd_ply(order, word)
  local head = table.concat({
    "ply", "format " .. word .. " 1.0", "element camera 1", "property double fov",
    "property list short uint16 flags", "element vertex 2", "property uchar red",
      "property float z",
    "property int16 label", "property float y", "property double x", "element face 2",
    "property uint8 kind", "property list uint int32 vertex_index", "property list uchar float uv",
    "element note 1", "property ushort n", "end_header", "",
  }, "\n")
  local function pack(format, ...) return string.pack(order .. format, ...) end
  return head .. pack("di2I2I2", 60.5, 2, 7, 8) .. pack("I1fi2fd", 200, 3.5, -4, 2.25, 1e-3)
    .. pack("I1fi2fd", 10, -3.5, 9, 0.0, 7.0) .. pack("I1I4i4i4i4i4I1ff", 1, 4, 0, 1, 0, 1, 2, .5,
      .5)
    .. pack("I1I4i4i4i4I1", 2, 3, 1, 0, 1, 0) .. pack("I2", 77)
end

function TestPly:test_binary_of_both_byte_orders_with_any_properties()
  for order, word in pairs { ["<"] = "binary_little_endian", [">"] = "binary_big_endian" } do
    local shape = read("odd.ply", odd_ply(order, word), { fields = { "red", "label" } })
    assert_array(shape.points, { 2, 3 }, { 1e-3, 2.25, 3.5, 7.0, 0.0, -3.5 })
    assert_array(shape.faces, { 3, 3 }, { 0, 1, 0, 0, 0, 1, 1, 0, 1 }) -- a fan of two, then one
    lu.assertEquals(shape.fields.red:totable(), { 200.0, 10.0 })
    lu.assertEquals(shape.fields.label:totable(), { -4.0, 9.0 })
  end
end

-- More rows than one batch, triangles only, in the layout that most scanners write.
local function large_ply(n)
  local parts = { table.concat({
    "ply", "format binary_little_endian 1.0", "element vertex " .. n, "property float x",
    "property float y", "property float z", "property uchar red", "element face " .. n - 2,
    "property list uchar int vertex_indices", "end_header", "",
  }, "\n") }
  for i = 0, n - 1 do parts[#parts + 1] = string.pack("<fffI1", i, 2 * i, -i, i % 256) end
  for i = 0, n - 3 do parts[#parts + 1] = string.pack("<I1i4i4i4", 3, i, i + 1, i + 2) end
  return table.concat(parts)
end

function TestPly:test_binary_in_batches()
  local shape = read("large.ply", large_ply(1000))
  lu.assertEquals(shape.points.shape, { 1000, 3 })
  lu.assertEquals(shape.points:slice(3 * 777, 3):totable(), { 777.0, 1554.0, -777.0 })
  lu.assertEquals(shape.faces:slice(3 * 997, 3):totable(), { 997, 998, 999 })
end

function TestPly:test_a_polygon_between_triangles()
  local bytes = large_ply(100)
  bytes = bytes:gsub("element face 98", "element face 99")
    .. string.pack("<I1i4i4i4i4i4", 5, 9, 8, 7, 6, 5)
  local shape = read("mixed.ply", bytes)
  lu.assertEquals(shape.faces.shape, { 101, 3 })
  lu.assertEquals(shape.faces:slice(3 * 98, 9):totable(), { 9, 8, 7, 9, 7, 6, 9, 6, 5 })
end

function TestPly:test_a_cloud_has_no_faces()
  local cloud = read("c.ply", "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\n"
    .. "property float y\nproperty float z\nend_header\n1 2 3\n")
  lu.assertNil(cloud.faces)
end

function TestPly:test_truncated_ascii_says_the_line()
  local e = failure("t.ply", ASCII:sub(1, ASCII:find("1 1 0") - 1))
  lu.assertEquals(e.code, "syntax")
  lu.assertStrContains(e.message, "element vertex, row 2 of 4")
  lu.assertStrContains(e.where, "t.ply:14")
  e = failure("t.ply", ASCII:sub(1, -9))
  lu.assertStrContains(e.message, "element face, row 1 of 2")
end

function TestPly:test_truncated_binary_says_the_byte()
  local bytes = large_ply(1000)
  local e = failure("t.ply", bytes:sub(1, 5000))
  lu.assertStrContains(e.message, "the file ends in element vertex")
  lu.assertStrContains(e.where, "byte 5000")
  e = failure("t.ply", bytes:sub(1, -2))
  lu.assertStrContains(e.message, "element face, row 997 of 998")
end

function TestPly:test_every_truncation_is_an_error_and_never_a_crash()
  for _, bytes in ipairs { ASCII, odd_ply("<", "binary_little_endian") } do
    for length = 0, #bytes - 2 do failure("t.ply", bytes:sub(1, length)) end
  end
end

function TestPly:test_malformed_headers()
  local function changed(what, by) return (ASCII:gsub(what, by)) end
  local function message(bytes, options) return failure("m.ply", bytes, options).message end
  lu.assertStrContains(message("solid\n"), "not 'ply'")
  lu.assertStrContains(message(changed("ascii", "utf8")), "unknown format 'utf8'")
  lu.assertStrContains(message(changed("float x", "real x")), "type 'real'")
  lu.assertStrContains(message(changed("vertex 4", "vertex -4")), "NAME COUNT")
  lu.assertStrContains(message(changed("vertex 4", "vertex 9999999999999999")), "this line 4 words")
  lu.assertStrContains(message(changed("float x", "float q")), "no property 'x'")
  lu.assertStrContains(message(changed("^.-end_header", "ply\nend_header")), "no format line")
  lu.assertStrContains(message(changed("element vertex 4\n", "")), "before the first")
  lu.assertStrContains(message(ASCII, { fields = { "red" } }), "no property 'red'")
  local huge = large_ply(9):gsub("vertex 9", "vertex 9007199254740993")
  lu.assertStrContains(message(huge), "ends in")
end

function TestPly:test_malformed_data()
  local e = failure("m.ply", (ASCII:gsub("1 1 0", "1 one 0")))
  lu.assertStrContains(e.message, "'one' is no number")
  lu.assertStrContains(e.where, ":14")
  e = failure("m.ply", (ASCII:gsub("1 1 0", "1 1")))
  lu.assertStrContains(e.message, "has 3 properties, this line 2 words")
  e = failure("m.ply", (ASCII:gsub("3 0 2 3", "3 0 2 4")))
  lu.assertStrContains(e.message, "face 1: index 4, but there are vertices 0 to 3")
  lu.assertStrContains(e.where, ":17")
  e = failure("m.ply", (ASCII:gsub("3 0 2 3", "4 0 2 3")))
  lu.assertStrContains(e.message, "ends within property vertex_indices")
  e = failure("m.ply", large_ply(100):sub(1, -5) .. string.pack("<i4", 100))
  lu.assertStrContains(e.message, "face 97: index 100")
  lu.assertStrContains(e.where, "byte")
end

-- ---- OFF ----

TestOff = {}

function TestOff:test_comments_blank_lines_and_polygons()
  local shape = read("a.off",
    "# made by hand\nOFF # yes\n\n4 1 0\n# corners\n0 0 0\n1 0 0 # second\n"
    .. "\n1 1 0\n0 1 .5\n4 0 1 2 3 # a quad\n")
  assert_array(shape.points, { 4, 3 }, SQUARE)
  assert_array(shape.faces, { 2, 3 }, { 0, 1, 2, 0, 2, 3 })
end

function TestOff:test_counts_on_the_line_of_the_keyword_or_without_one()
  local body = "0 0 0\n1 0 0\n1 1 0\n0 1 0.5\n3 0 1 2\n3 0 2 3"
  for _, head in ipairs { "OFF 4 2 0\n", "4 2 0\n", "OFF\r\n4 2 5\r\n" } do
    local shape = read("b.off", head .. body)
    assert_array(shape.points, { 4, 3 }, SQUARE)
    assert_array(shape.faces, { 2, 3 }, { 0, 1, 2, 0, 2, 3 })
  end
end

function TestOff:test_normals_and_colours_are_passed_over()
  local shape = read("c.off", "CNOFF\n3 1 0\n0 0 0 0 0 1 255 0 0 255\n1 0 0 0 0 1 0 255 0 255\n"
    .. "0 1 0 0 0 1 0 0 255 255\n3 0 1 2 0.5 0.5 0.5\n")
  assert_array(shape.points, { 3, 3 }, { 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0 })
  assert_array(shape.faces, { 1, 3 }, { 0, 1, 2 })
end

function TestOff:test_a_cloud_has_no_faces()
  lu.assertNil(read("d.off", "OFF\n1 0 0\n1 2 3\n").faces)
end

function TestOff:test_damage_is_reported_with_its_line()
  local e = failure("e.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n")
  lu.assertStrContains(e.message, "face 0: index 3, but there are vertices 0 to 2")
  lu.assertStrContains(e.where, "e.off:6")
  e = failure("e.off", "OFF\n3 1 0\n0 0 0\n1 0\n0 1 0\n3 0 1 2\n")
  lu.assertStrContains(e.message, "vertex 1: expected 3 numbers, got 2")
  lu.assertStrContains(e.where, ":4")
  e = failure("e.off", "OFF\n3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
  lu.assertStrContains(e.message, "before face 1 of 2")
  e = failure("e.off", "OFF\n3 1 0\n0 0 0\n")
  lu.assertStrContains(e.message, "before vertex 1 of 3")
  e = failure("e.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1.5 2\n")
  lu.assertStrContains(e.message, "index 1.5")
  e = failure("e.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n5 0 1 2\n")
  lu.assertStrContains(e.message, "number of corners")
  e = failure("e.off", "hello\n")
  lu.assertStrContains(e.message, "no OFF file")
  lu.assertEquals(failure("e.off", "OFF BINARY\n3 1 0\n").code, "unsupported")
  lu.assertEquals(failure("e.off", "4OFF\n3 1 0\n").code, "unsupported")
  lu.assertEquals(failure("e.off", "").code, "syntax")
end

-- ---- XYZ ----

TestXyz = {}

function TestXyz:test_separators_comments_and_further_numbers()
  local cloud = read("a.xyz", "2\n# a comment\n1 2 3\n\n\t4,5;6e1, 0.5, 0.5\n// end")
  assert_array(cloud.points, { 2, 3 }, { 1.0, 2.0, 3.0, 4.0, 5.0, 60.0 })
  assert_array(read("a.pwn", "1 2 3 0 0 1\r\n").points, { 1, 3 }, { 1.0, 2.0, 3.0 })
end

function TestXyz:test_damage_is_reported_with_its_line()
  local e = failure("b.xyz", "1 2 3\n1 2\n")
  lu.assertStrContains(e.message, "expected at least 3 numbers")
  lu.assertStrContains(e.where, "b.xyz:2")
  lu.assertStrContains(failure("b.xyz", "1 2 3\n1 nan 3\n").message, "'nan' is no number")
  lu.assertStrContains(failure("b.xyz", "3\n1 2 3\n").message, "says 3 points, the file has 1")
  lu.assertStrContains(failure("b.xyz", "\n\n").message, "no points")
end

-- ---- files ----

TestFiles = {}

function TestFiles:test_unknown_extension_and_missing_file()
  lu.assertEquals(failure("a.stl", "solid").code, "unsupported")
  local ok, e = pcall(mesh.read, folder .. "/none.ply")
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "not_found")
end

-- ---- sampling and scaling ----

TestSample = {}

-- Two triangles in the planes z = 0 and z = 1, of areas 3 and 1.
local function two_triangles()
  return {
    points = core.from_bytes("f64", { 6, 3 }, string.pack(("d"):rep(18), 0, 0, 0, 3, 0, 0, 0, 2, 0,
      0, 0,
      1, 2, 0, 1, 0, 1, 1)),
    faces = core.from_bytes("i32", { 2, 3 }, string.pack(("i4"):rep(6), 0, 1, 2, 3, 4, 5)),
  }
end

function TestSample:test_points_are_exactly_n_by_area_and_on_the_surface()
  local points = mesh.sample(two_triangles(), 1001, { seed = 3 })
  lu.assertEquals(points.shape, { 1001, 3 })
  local low, sx, sy = 0, 0, 0
  for i = 0, 1000 do
    local x, y, z = points:get(i, 0), points:get(i, 1), points:get(i, 2)
    lu.assertTrue(z == 0 or math.abs(z - 1) < 1e-12)
    if z == 0 then
      low, sx, sy = low + 1, sx + x, sy + y
      lu.assertTrue(x >= 0 and y >= 0 and x / 3 + y / 2 <= 1 + 1e-12)
    end
  end
  lu.assertAlmostEquals(low, 750.75, 1)
  -- Uniform: the mean is the centroid, the deviation of a coordinate is side / sqrt(18).
  lu.assertAlmostEquals(sx / low, 1, 4 * 3 / math.sqrt(18 * low))
  lu.assertAlmostEquals(sy / low, 2 / 3, 4 * 2 / math.sqrt(18 * low))
end

function TestSample:test_a_seed_fixes_the_points()
  local a = mesh.sample(two_triangles(), 100, { seed = 3 })
  lu.assertTrue(a:equal_bits(mesh.sample(two_triangles(), 100, { seed = 3 })))
  lu.assertFalse((a:equal_bits(mesh.sample(two_triangles(), 100, { seed = 4 }))))
end

function TestSample:test_a_cloud_gives_its_points_and_no_more()
  local cloud = read("a.xyz", "0 0 0\n1 0 0\n2 0 0\n3 0 0\n4 0 0\n")
  assert_array(mesh.sample(cloud, 3), { 3, 3 }, { 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 3.0, 0.0, 0.0 })
  lu.assertTrue(mesh.sample(cloud, 5):equal_bits(cloud.points))
  lu.assertErrorMsgContains("has 5 points, 6 were asked for", function()
    local ok, e = pcall(mesh.sample, cloud, 6)
    error(ok and "no error" or e.message)
  end)
end

function TestSample:test_no_area_is_an_error()
  local flat = two_triangles()
  flat.points:fill(1)
  local ok, e = pcall(mesh.sample, flat, 10)
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "area 0")
  ok, e = pcall(mesh.sample, two_triangles(), 0)
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "range")
end

function TestSample:test_fit_scales_the_longest_side_and_moves_the_middle()
  local cloud = read("a.xyz", "10 0 -1\n14 1 0\n12 2 1\n")
  local points, factor = mesh.fit(cloud.points, { extent = 2, centre = { 0, 0, 5 } })
  lu.assertEquals(factor, 0.5)
  assert_array(points, { 3, 3 }, { -1.0, -0.5, 4.5, 1.0, 0.0, 5.0, 0.0, 0.5, 5.5 })
end

function TestSample:test_fit_refuses_points_without_extent_or_not_finite()
  local cloud = read("a.xyz", "1 1 1\n1 1 1\n")
  local ok, e = pcall(mesh.fit, cloud.points, { extent = 1 })
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "the same")
  cloud.points[4] = math.huge
  ok, e = pcall(mesh.fit, cloud.points, { extent = 1 })
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "point 1 has the coordinate inf")
end

TestSpeed = {}

-- 14 MB here; the promise is a file of 50 MB within seconds, on a machine that may be busy.
function TestSpeed:test_a_large_binary_file_reads_in_seconds()
  local n = 500000
  local row = string.pack("<fff", 1, 2, 3):rep(n)
  local faces = string.pack("<I1i4i4i4", 3, 0, 1, 2):rep(n)
  local head = ("ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty float x\n"
    .. "property float y\nproperty float z\nelement face %d\n"
    .. "property list uchar int vertex_indices\nend_header\n"):format(n, n)
  local started = core.now()
  local shape = read("big.ply", head .. row .. faces)
  lu.assertTrue(core.now() - started < 10)
  lu.assertEquals(shape.points:sum(), 6.0 * n)
  lu.assertEquals(shape.faces.shape, { n, 3 })
end

local status = lu.LuaUnit.run()
os.remove(folder)
os.exit(status)
