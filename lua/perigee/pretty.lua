--- Values in words, for interactive mode: tables with what they hold, arrays with their first and
-- last elements. Never more than a screen.
-- @module perigee.pretty

local core = require "perigee.core"

local pretty = {}

local ITEMS, DEPTH, WIDTH = 16, 3, 80
local ENDS = 4 -- elements shown at both ends of a long array

local function is_name(key)
  return type(key) == "string" and key:match "^[%a_][%w_]*$" ~= nil
end

local render

-- The list part first, then the other keys in order of their text.
local function keys_of(value)
  local keys = {}
  for key in next, value do
    if not (math.type(key) == "integer" and key >= 1 and key <= #value) then
      keys[#keys + 1] = key
    end
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) and type(a) == "number" then return a < b end
    return tostring(a) < tostring(b)
  end)
  return keys
end

local function table_parts(value, depth, seen)
  local parts, left = {}, 0
  local function add(text)
    if #parts < ITEMS then parts[#parts + 1] = text() else left = left + 1 end
  end
  for i = 1, #value do add(function() return render(rawget(value, i), depth + 1, seen) end) end
  for _, key in ipairs(keys_of(value)) do
    add(function()
      local name = is_name(key) and key or "[" .. render(key, DEPTH, seen) .. "]"
      return name .. " = " .. render(rawget(value, key), depth + 1, seen)
    end)
  end
  if left > 0 then parts[#parts + 1] = ("... %d more"):format(left) end
  return parts
end

local function table_text(value, depth, seen)
  if seen[value] then return "{ itself }" end
  if next(value) == nil then return "{}" end
  if depth >= DEPTH then return "{ ... }" end
  seen[value] = true
  local parts = table_parts(value, depth, seen)
  seen[value] = nil
  local line = "{ " .. table.concat(parts, ", ") .. " }"
  if #line <= WIDTH and not line:find "\n" then return line end
  local indent = ("  "):rep(depth + 1)
  return "{\n" .. indent .. table.concat(parts, ",\n" .. indent) .. "\n" .. ("  "):rep(depth) .. "}"
end

local function array_text(array, seen)
  local parts, count = {}, array.count
  local function add(first, last)
    for i = first, last do parts[#parts + 1] = render(array[i], DEPTH - 1, seen) end
  end
  if count <= 2 * ENDS + 1 then
    add(0, count - 1)
  else
    add(0, ENDS - 1)
    parts[#parts + 1] = "..."
    add(count - ENDS, count - 1)
  end
  return ("%s { %s }"):format(tostring(array), table.concat(parts, ", "))
end

function render(value, depth, seen)
  if core.is_array(value) then return array_text(value, seen) end
  if type(value) == "string" then return ("%q"):format(value):gsub("\\\n", "\\n") end
  local meta = type(value) == "table" and getmetatable(value)
  if type(value) ~= "table" or (type(meta) == "table" and meta.__tostring) then
    return tostring(value)
  end
  return table_text(value, depth, seen)
end

--- A value in words: a string as it is, everything else as one would write it.
function pretty.text(value)
  if type(value) == "string" then return value end
  return (render(value, 0, {}))
end

return pretty
