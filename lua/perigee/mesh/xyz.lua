--- Reader for XYZ and PWN: a point a line, at least three numbers, separated by blanks, commas or
-- semicolons. Further numbers (normals, colours) are passed over; so are blank lines, comments (#,
-- //) and a first line that holds nothing but the count.
-- @module perigee.mesh.xyz

local text = require "perigee.mesh.text"

local xyz = {}

local POINT = "^[ \t]*([^%s,;#/]+)[ \t,;]+([^%s,;#/]+)[ \t,;]+([^%s,;#/]+)[^\n]*\n()"

-- A line that is no point: nothing to read, the count, or an error.
local function other_line(state)
  local line, at = state.bytes:match("^([^\n]*)\n()", state.at)
  state.at, state.line = at, state.line + 1
  local words = text.words((line:gsub("#.*", ""):gsub("//.*", ""):gsub("[,;]", " ")))
  local count = #words == 1 and math.tointeger(tonumber(words[1]))
  if count and state.points.count == 0 and not state.count then
    state.count = count
  elseif words[1] then
    text.fail(state.path, state.line, "expected at least 3 numbers, got '%s'", line:sub(1, 40))
  end
end

--- Parse the text of an XYZ file.
-- @treturn table {points = f64[n][3], fields = {}}
-- @raise "syntax" with the line
function xyz.parse(bytes, path)
  if bytes:sub(-1) ~= "\n" then bytes = bytes .. "\n" end
  local column = text.column("d", "f64")
  local state = { bytes = bytes, path = path, at = 1, line = 0, points = column }
  local number, rows = text.number, 0
  while state.at <= #bytes do
    local x, y, z, at = bytes:match(POINT, state.at)
    if x then
      state.at, state.line, rows = at, state.line + 1, rows + 1
      column.push3(tonumber(x) or number(x, path, state.line),
        tonumber(y) or number(y, path, state.line), tonumber(z) or number(z, path, state.line))
    else
      other_line(state)
    end
  end
  if state.count and state.count ~= rows then
    text.fail(path, state.line, "the first line says %d points, the file has %d", state.count, rows)
  end
  if rows == 0 then text.fail(path, 1, "the file has no points") end
  return { points = column.array(3), fields = {} }
end

return xyz
