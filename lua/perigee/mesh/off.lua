--- Reader for OFF: comments, blank lines, and the variants with normals and colours (COFF, NOFF,
-- CNOFF, ...), whose additional numbers are passed over.
-- @module perigee.mesh.off

local core = require "perigee.core"
local text = require "perigee.mesh.text"

local off = {}

local VERTEX = "^[ \t]*([^%s#]+)[ \t]+([^%s#]+)[ \t]+([^%s#]+)[^\n]*\n()"
local TRIANGLE = "^[ \t]*3[ \t]+(%d+)[ \t]+(%d+)[ \t]+(%d+)%f[^%w.][^\n]*\n()"

-- The words of the next line that is neither blank nor a comment.
local function next_words(state, what)
  while true do
    local line, at = state.bytes:match("^([^\n]*)\n()", state.at)
    if not line then text.fail(state.path, state.line + 1, "the file ends before %s", what) end
    state.at, state.line = at, state.line + 1
    local words = text.words((line:gsub("#.*", "")))
    if words[1] then return words end
  end
end

-- The keyword, which may be missing, and the counts, which may stand on its line.
local function read_counts(state)
  local words = next_words(state, "the counts of vertices and faces")
  local prefix, rest = words[1]:match("^(%u*%d*%l?%u*)OFF(.*)$")
  if prefix then
    if rest ~= "" or prefix:find("[4n]") or prefix:find("ST", 1, true) or words[2] == "BINARY" then
      local shown = table.concat(words, " ", 1, math.min(2, #words))
      core.error("unsupported", ("'%s' is not read"):format(shown),
        "write the file as plain OFF", ("%s:%d"):format(state.path, state.line))
    end
    table.remove(words, 1)
    if not words[1] then words = next_words(state, "the counts of vertices and faces") end
  end
  local vertices, faces = math.tointeger(tonumber(words[1])), math.tointeger(tonumber(words[2]))
  if not vertices or not faces or vertices < 0 or faces < 0 then
    text.fail(state.path, state.line,
      "no OFF file: expected the counts of vertices and faces, got '%s'",
      table.concat(words, " "):sub(1, 40))
  end
  return vertices, faces
end

local function read_vertices(state, count)
  local column = text.column("d", "f64")
  local bytes, path, number = state.bytes, state.path, text.number
  for row = 0, count - 1 do
    local x, y, z, at = bytes:match(VERTEX, state.at)
    if x then
      state.at, state.line = at, state.line + 1
    else
      local words = next_words(state, ("vertex %d of %d"):format(row, count))
      x, y, z = table.unpack(words, 1, 3)
      if not z then
        text.fail(path, state.line, "vertex %d: expected 3 numbers, got %d", row, #words)
      end
    end
    column.push3(tonumber(x) or number(x, path, state.line),
      tonumber(y) or number(y, path, state.line), tonumber(z) or number(z, path, state.line))
  end
  return column.array(3)
end

local function read_polygon(state, faces, row, count, vertices)
  local words = next_words(state, ("face %d of %d"):format(row, count))
  local corners, list = math.tointeger(tonumber(words[1])), {}
  if not corners or corners < 0 or corners > #words - 1 then
    text.fail(state.path, state.line,
      "face %d: expected the number of corners and as many indices, got '%s'", row,
      table.concat(words, " "):sub(1, 40))
  end
  for i = 1, corners do list[i] = text.number(words[i + 1], state.path, state.line) end
  local ok, bad = faces.polygon(list)
  if not ok then
    text.fail(state.path, state.line, "face %d: index %s, but there are vertices 0 to %d", row,
      tostring(bad),
      vertices - 1)
  end
end

local function read_faces(state, count, vertices)
  local faces = text.faces(vertices)
  local tointeger = math.tointeger
  for row = 0, count - 1 do
    local a, b, c, at = state.bytes:match(TRIANGLE, state.at)
    if a and faces.triangle(tointeger(a), tointeger(b), tointeger(c)) then
      state.at, state.line = at, state.line + 1
    else
      read_polygon(state, faces, row, count, vertices)
    end
  end
  return faces.array()
end

--- Parse the text of an OFF file.
-- @treturn table {points = f64[n][3], faces = i32[m][3] or nil, fields = {}}
-- @raise "syntax" with the line, "unsupported"
function off.parse(bytes, path)
  if bytes:sub(-1) ~= "\n" then bytes = bytes .. "\n" end
  local state = { bytes = bytes, path = path, at = 1, line = 0 }
  local vertices, faces = read_counts(state)
  local points = read_vertices(state, vertices)
  return { points = points, faces = faces > 0 and read_faces(state, faces, vertices) or nil,
    fields = {} }
end

return off
