--- Reader for PLY: ascii, binary of both byte orders, lists, any elements and properties.
-- @module perigee.mesh.ply

local core = require "perigee.core"
local text = require "perigee.mesh.text"

local ply = {}

-- PLY type -> format of string.unpack, bytes.
local TYPES = {
  char = "i1", int8 = "i1", uchar = "I1", uint8 = "I1", short = "i2", int16 = "i2", ushort = "I2",
  uint16 = "I2", int = "i4", int32 = "i4", uint = "I4", uint32 = "I4", float = "f", float32 = "f",
  double = "d", float64 = "d",
}
local ORDERS = { binary_little_endian = "<", binary_big_endian = ">", ascii = "ascii" }
local INDEX_LISTS = { vertex_indices = true, vertex_index = true }
local BATCH = 60 -- rows unpacked by one call

-- ---- the header ----

local function type_of(word, path, line)
  local format = TYPES[word or ""]
  if not format then text.fail(path, line, "unknown property type '%s'", tostring(word)) end
  return format
end

local header_line = {}

function header_line.format(header, words, path, line)
  header.order = ORDERS[words[2] or ""]
  if not header.order then text.fail(path, line, "unknown format '%s'", tostring(words[2])) end
end

function header_line.element(header, words, path, line)
  local count = math.tointeger(tonumber(words[3]))
  if #words ~= 3 or not count or count < 0 then
    text.fail(path, line, "expected: element NAME COUNT, got '%s'", table.concat(words, " "))
  end
  header[#header + 1] = { name = words[2], count = count, properties = {}, line = line }
end

function header_line.property(header, words, path, line)
  local element = header[#header]
  if not element then text.fail(path, line, "a property before the first element") end
  local property
  if words[2] == "list" then
    property = { name = words[5] }
    property.count, property.item = type_of(words[3], path, line), type_of(words[4], path, line)
    if not property.count:match("^[iI]") then
      text.fail(path, line, "the length of a list is no integer")
    end
    element.lists = true
  else
    property = { name = words[3], item = type_of(words[2], path, line) }
  end
  if not property.name then text.fail(path, line, "a property has no name") end
  table.insert(element.properties, property)
end

function header_line.comment() end
header_line.obj_info = header_line.comment

-- Elements in order; where the data begins (byte from 1, line).
local function read_header(bytes, path)
  local header, at, line = {}, 1, 0
  while true do
    local row, next_at = bytes:match("^([^\n]*)\n()", at)
    line = line + 1
    if not row or #row > 4096 then text.fail(path, line, "the header has no end_header") end
    local words = text.words(row)
    at = next_at
    if line == 1 then
      if words[1] ~= "ply" then text.fail(path, 1, "no PLY file: the first line is not 'ply'") end
    elseif words[1] == "end_header" then
      if not header.order then text.fail(path, line, "the header has no format line") end
      header.at, header.line = at, line
      return header
    elseif words[1] then
      local read = header_line[words[1]]
      if not read then text.fail(path, line, "unknown header line '%s'", words[1]:sub(1, 40)) end
      read(header, words, path, line)
    end
  end
end

-- ---- what is wanted of an element ----

-- Positions of named scalar properties; an error when one is missing.
local function find_columns(element, names, path)
  local columns = {}
  for i, name in ipairs(names) do
    for k, property in ipairs(element.properties) do
      if property.name == name and not property.count then columns[i] = k end
    end
    if not columns[i] then
      core.error("not_found", ("element %s has no property '%s'"):format(element.name, name), nil,
        ("%s:%d"):format(path, element.line))
    end
  end
  return columns
end

-- Takes rows of scalar values: x, y, z into one column, other fields into one each.
local function vertex_sink(fields)
  local sink = { points = text.column("d", "f64"), fields = {} }
  for i, name in ipairs(fields) do
    sink.fields[i] = { name = name, column = text.column("d", "f64") }
  end
  function sink.row(values, columns, base)
    sink.points.push3(values[base + columns[1]], values[base + columns[2]],
      values[base + columns[3]])
    for i, field in ipairs(sink.fields) do field.column.push(values[base + columns[3 + i]]) end
  end
  return sink
end

-- ---- ascii ----

local ascii = {}

-- A line of k words: captures none, ends after the newline.
local function words_pattern(count)
  return "^[ \t]*" .. ("([^%s]+)"):rep(count, "[ \t]+") .. "[ \t\r]*\n()"
end

local function next_line(state, element, row)
  local line, at = state.bytes:match("^([^\n]*)\n()", state.at)
  if not line then
    text.fail(state.path, state.line + 1, "the file ends in element %s, row %d of %d",
      element.name, row, element.count)
  end
  state.at, state.line = at, state.line + 1
  return line
end

-- Scalar rows: the words of each line, as many as there are properties.
function ascii.scalars(state, element, sink, columns)
  local width = #element.properties
  local pattern = width <= 30 and words_pattern(width) or nil
  local number, path = text.number, state.path
  for row = 0, element.count - 1 do
    local words = pattern and { state.bytes:match(pattern, state.at) } or {}
    if words[1] then
      state.at, state.line = words[width + 1], state.line + 1
    else
      words = text.words(next_line(state, element, row))
      if #words ~= width then
        text.fail(path, state.line, "element %s has %d properties, this line %d words",
          element.name, width, #words)
      end
    end
    if sink then
      for _, k in ipairs(columns) do
        words[k] = tonumber(words[k]) or number(words[k], path, state.line)
      end
      sink.row(words, columns, 0)
    end
  end
end

-- One row with lists; returns the list called vertex_indices.
function ascii.list_row(state, element, row)
  local words = text.words(next_line(state, element, row))
  local at, found = 1, nil
  for _, property in ipairs(element.properties) do
    local count = 1
    if property.count then
      count = math.tointeger(tonumber(words[at]))
      if not count or count < 0 then
        text.fail(state.path, state.line, "expected the length of list %s, got '%s'", property.name,
          tostring(words[at]))
      end
      at = at + 1
    end
    if at + count - 1 > #words then
      text.fail(state.path, state.line, "element %s: the line ends within property %s",
        element.name, property.name)
    end
    if property.count and INDEX_LISTS[property.name] then
      found = {}
      for i = 1, count do found[i] = text.number(words[at + i - 1], state.path, state.line) end
    end
    at = at + count
  end
  if at <= #words then
    text.fail(state.path, state.line, "element %s: %d words too many", element.name,
      #words - at + 1)
  end
  return found
end

function ascii.fail(state, message, ...)
  text.fail(state.path, state.line, message, ...)
end

function ascii.triangles() -- no batches
  return 0
end

-- ---- binary ----

local binary = {}

local function need(state, bytes, element, row)
  if state.at + bytes - 1 > #state.bytes then
    text.fail_byte(state.path, #state.bytes, "the file ends in element %s, row %d of %d",
      element.name, row, element.count)
  end
end

-- Format of a row that yields the wanted columns and skips the rest.
local function row_format(element, columns)
  local wanted, parts, order = {}, {}, {}
  for _, k in ipairs(columns) do wanted[k] = true end
  for k, property in ipairs(element.properties) do
    if wanted[k] then
      parts[k] = property.item
      order[#order + 1] = k
    else
      parts[k] = ("x"):rep(string.packsize("<" .. property.item))
    end
  end
  return table.concat(parts), order
end

-- Where each wanted column stands among the values that a row yields.
local function places_of(columns, order)
  local places, straight = {}, #columns == 3
  for i, k in ipairs(columns) do
    for place, other in ipairs(order) do
      if other == k then places[i] = place end
    end
    straight = straight and places[i] == i
  end
  return places, straight
end

function binary.scalars(state, element, sink, columns)
  local order = state.order
  local format, kept = row_format(element, columns or {})
  local stride = string.packsize(order .. format)
  local whole = (#state.bytes - state.at + 1) // math.max(1, stride)
  if stride > 0 and element.count > whole then
    text.fail_byte(state.path, #state.bytes, "the file ends in element %s, row %d of %d",
      element.name, whole, element.count)
  end
  local places, straight = places_of(columns or {}, kept)
  local row = 0
  while sink and row < element.count do
    local rows = math.min(BATCH, element.count - row)
    if straight then
      sink.points.append(string.pack(("d"):rep(3 * rows),
        string.unpack(order .. format:rep(rows), state.bytes, state.at + row * stride)), 3 * rows)
    else
      local at = state.at + row * stride
      local values = { string.unpack(order .. format:rep(rows), state.bytes, at) }
      for i = 0, rows - 1 do sink.row(values, places, i * #kept) end
    end
    row = row + rows
  end
  state.at = state.at + stride * element.count
end

function binary.list_row(state, element, row)
  local found
  for _, property in ipairs(element.properties) do
    local count, size = 1, string.packsize("<" .. property.item)
    if property.count then
      need(state, string.packsize("<" .. property.count), element, row)
      count, state.at = string.unpack(state.order .. property.count, state.bytes, state.at)
      if count < 0 then
        text.fail_byte(state.path, state.at - 1, "list %s has length %d", property.name, count)
      end
    end
    need(state, count * size, element, row)
    if property.count and INDEX_LISTS[property.name] then
      found = count <= 250
        and { string.unpack(state.order .. property.item:rep(count), state.bytes, state.at) } or {}
      found[count + 1] = nil
      for i = #found + 1, count do
        local at = state.at + (i - 1) * size
        found[i] = string.unpack(state.order .. property.item, state.bytes, at)
      end
    end
    state.at = state.at + count * size
  end
  return found
end

function binary.fail(state, message, ...)
  text.fail_byte(state.path, state.at - 1, message, ...)
end

-- Rows that are nothing but a list of three, a batch as far as it goes. Returns how many it took.
function binary.triangles(state, element, faces, row)
  local list = element.properties[1]
  if #element.properties > 1 or list.item:match("^[fd]") then return 0 end
  local one = list.count .. list.item:rep(3)
  local stride = string.packsize("<" .. one)
  local rows = math.min(BATCH, element.count - row, (#state.bytes - state.at + 1) // stride)
  if rows < 1 then return 0 end
  local values = { string.unpack(state.order .. one:rep(rows), state.bytes, state.at) }
  for i = 0, rows - 1 do
    local at = 4 * i
    local three = values[at + 1] == 3
    if not (three and faces.triangle(values[at + 2], values[at + 3], values[at + 4])) then
      state.at = state.at + i * stride
      return i
    end
  end
  state.at = state.at + rows * stride
  return rows
end

-- ---- elements ----

local function read_faces(reader, state, element, faces)
  local has_indices = false
  for _, property in ipairs(element.properties) do
    has_indices = has_indices or (property.count and INDEX_LISTS[property.name])
  end
  local row = 0
  while row < element.count do
    local taken = has_indices and reader.triangles(state, element, faces, row) or 0
    row = row + taken
    if taken == 0 then
      local corners = reader.list_row(state, element, row)
      if corners then
        local ok, bad = faces.polygon(corners)
        if not ok then
          reader.fail(state, "face %d: index %s, but there are vertices 0 to %d", row,
            tostring(bad), state.vertices - 1)
        end
      end
      row = row + 1
    end
  end
end

local function read_element(reader, state, element, out)
  if element.name == "vertex" then
    if element.lists then
      core.error("unsupported", "vertices with list properties are not read", nil,
        ("%s:%d"):format(state.path, element.line))
    end
    local names = { "x", "y", "z", table.unpack(out.wanted) }
    out.vertex = vertex_sink(out.wanted)
    reader.scalars(state, element, out.vertex, find_columns(element, names, state.path))
  elseif element.name == "tristrips" then
    core.error("unsupported", "triangle strips are not read", "write the faces as lists",
      ("%s:%d"):format(state.path, element.line))
  elseif element.name == "face" and element.lists then
    out.faces = text.faces(state.vertices)
    read_faces(reader, state, element, out.faces)
  elseif element.lists then
    for row = 0, element.count - 1 do reader.list_row(state, element, row) end
  else
    reader.scalars(state, element, nil, nil)
  end
end

local function vertex_count(header, path)
  for _, element in ipairs(header) do
    if element.name == "vertex" then return element.count end
  end
  text.fail(path, header.line, "the file has no element vertex")
end

--- Parse the bytes of a PLY file.
-- @tparam string bytes
-- @tparam string path for messages
-- @tparam table wanted names of further vertex properties to read, e.g. {"red", "green", "blue"}
-- @treturn table {points = f64[n][3], faces = i32[m][3] or nil, fields = {name = f64[n]}}
-- @raise "syntax" with line or byte, "not_found", "unsupported"
function ply.parse(bytes, path, wanted)
  local header = read_header(bytes, path)
  local reader = header.order == "ascii" and ascii or binary
  if reader == ascii and bytes:sub(-1) ~= "\n" then bytes = bytes .. "\n" end
  local state = {
    bytes = bytes, path = path, at = header.at, line = header.line, order = header.order,
    vertices = vertex_count(header, path),
  }
  local out = { wanted = wanted }
  for _, element in ipairs(header) do read_element(reader, state, element, out) end
  local fields = {}
  for _, field in ipairs(out.vertex.fields) do fields[field.name] = field.column.array(1) end
  return { points = out.vertex.points.array(3), faces = out.faces and out.faces.array(),
    fields = fields }
end

return ply
