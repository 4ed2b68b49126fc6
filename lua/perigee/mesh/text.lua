--- What the mesh readers share: number lines, and arrays built from millions of numbers, which are
-- packed to bytes in batches: several times faster than storing each through the array.
-- @module perigee.mesh.text

local core = require "perigee.core"

local text = {}

local BATCH = 240 -- values packed by one call; a multiple of 1, 2 and 3

--- A growing array.
-- @tparam string format of string.pack for one value: "d" or "i4"
-- @tparam string dtype the array's: "f64" or "i32"
function text.column(format, dtype)
  local full, pieces, values, used = format:rep(BATCH), {}, {}, 0
  local column = { count = 0 }

  local function flush()
    pieces[#pieces + 1] = string.pack(used == BATCH and full or format:rep(used),
      table.unpack(values, 1, used))
    column.count = column.count + used
    used = 0
  end

  function column.push(a)
    used = used + 1
    values[used] = a
    if used == BATCH then flush() end
  end

  function column.push3(a, b, c)
    values[used + 1], values[used + 2], values[used + 3] = a, b, c
    used = used + 3
    if used == BATCH then flush() end
  end

  --- Append values that are already packed.
  function column.append(bytes, count)
    if used > 0 then flush() end
    pieces[#pieces + 1] = bytes
    column.count = column.count + count
  end

  --- The array: {rows, width}, or {rows} when width is 1.
  function column.array(width)
    if used > 0 then flush() end
    local rows = column.count // width
    return core.from_bytes(dtype, width == 1 and rows or { rows, width }, table.concat(pieces))
  end

  return column
end

--- Raise a syntax error at a line of a file.
function text.fail(path, line, message, ...)
  core.error("syntax", message:format(...), "the file is damaged or of another format",
    ("%s:%d"):format(path, line))
end

--- Raise one at a byte of a file, counted from 0.
function text.fail_byte(path, byte, message, ...)
  core.error("syntax", message:format(...), "the file is damaged or of another format",
    ("%s, byte %d"):format(path, byte))
end

--- A token as a number, or an error that names it. "nan" and "inf" are no numbers.
function text.number(token, path, line)
  local value = tonumber(token)
  if not value then text.fail(path, line, "'%s' is no number", token:sub(1, 40)) end
  return value
end

--- The words of a line.
function text.words(line)
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  return words
end

--- A collector of faces: polygons become fans of triangles, indices are checked.
-- @tparam integer vertices how many there are
function text.faces(vertices)
  local column = text.column("i4", "i32")
  local faces = {}

  --- One triangle; false when an index is out of range.
  function faces.triangle(a, b, c)
    local inside = a >= 0 and b >= 0 and c >= 0 and a < vertices and b < vertices and c < vertices
    if inside then column.push3(a, b, c) end
    return inside
  end

  --- One polygon (fewer than 3 corners: nothing); false and the first index out of range.
  function faces.polygon(corners)
    for _, corner in ipairs(corners) do
      local inside = math.type(corner) == "integer" and corner >= 0 and corner < vertices
      if not inside then return false, corner end
    end
    for i = 2, #corners - 1 do column.push3(corners[1], corners[i], corners[i + 1]) end
    return true
  end

  --- i32[m][3], nil when there are none.
  function faces.array()
    local array = column.array(3)
    return array.count > 0 and array or nil
  end

  return faces
end

return text
