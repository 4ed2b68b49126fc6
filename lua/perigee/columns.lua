--- Aligned tables that are printed row by row: widths are fixed by the header and what is known
-- before the first row, so that a row appears when its result does.
-- @module perigee.columns

local Columns = {}
Columns.__index = Columns

local columns = {}

-- Width in characters, not bytes.
local function width(text)
  return utf8.len(text) or #text
end

local function pad(text, size, right)
  local space = (" "):rep(size - width(text))
  return right and space .. text or text .. space
end

--- Words as lines of at most `most` characters. @treturn table lines; none for no words
function columns.wrap(words, most)
  local lines, line = {}, nil
  for word in words:gmatch("%S+") do
    if line and #line + 1 + #word > most then
      lines[#lines + 1] = line
      line = word
    else
      line = line and line .. " " .. word or word
    end
  end
  lines[#lines + 1] = line
  return lines
end

--- @tparam table list of {title=, width= at least, right = align right}
-- @tparam[opt] table options {indent = spaces, gap = spaces between columns}
function columns.new(list, options)
  options = options or {}
  local self = setmetatable({
    list = list, indent = (" "):rep(options.indent or 2), gap = (" "):rep(options.gap or 2),
  }, Columns)
  for _, column in ipairs(list) do
    column.width = math.max(column.width or 0, width(column.title))
  end
  return self
end

--- A row as a line. Values are text; nil is blank.
function Columns:row(values)
  local parts = {}
  for i, column in ipairs(self.list) do
    parts[i] = pad(values[i] or "", column.width, column.right)
  end
  return (self.indent .. table.concat(parts, self.gap):gsub("%s+$", ""))
end

--- The header line.
function Columns:header()
  local titles = {}
  for i, column in ipairs(self.list) do titles[i] = column.title end
  return self:row(titles)
end

--- All rows at once: widths fit the values. @treturn string lines
function columns.text(list, rows, options)
  for i, column in ipairs(list) do
    column.width = column.width or 0
    for _, row in ipairs(rows) do column.width = math.max(column.width, width(row[i] or "")) end
  end
  local self = columns.new(list, options)
  local lines = { self:header() }
  for _, row in ipairs(rows) do lines[#lines + 1] = self:row(row) end
  return table.concat(lines, "\n")
end

return columns
