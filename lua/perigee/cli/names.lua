--- Completion of names at the interactive prompt: globals, and what a value has behind "." or ":".
-- @module perigee.cli.names

local core = require "perigee.core"

local names = {}

local KEYWORDS = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function",
  "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until",
  "while" }

-- Every name in a table, its metatable's __index and its __pairs.
local function collect(value, found)
  local meta = debug.getmetatable(value)
  local pairs_of = type(meta) == "table" and meta.__pairs
  if type(value) == "table" or pairs_of then
    for key in pairs(value) do
      if type(key) == "string" then found[key] = true end
    end
  end
  local index = type(meta) == "table" and rawget(meta, "__index")
  -- An array's elements and methods come from one function, which holds the methods last.
  if type(index) == "function" then
    local _, held = debug.getupvalue(index, debug.getinfo(index, "u").nups)
    index = held
  end
  if type(index) == "table" and index ~= value then collect(index, found) end
end

-- The value that "a.b.c" stands for; nil when there is none.
local function value_of(path)
  local value = _G
  for name in path:gmatch "[^.:]+" do
    local ok, item = pcall(function() return value[name] end)
    if not ok or item == nil then return nil end
    value = item
  end
  return value
end

local function starting_with(found, start)
  local list = {}
  for name in pairs(found) do
    if name:sub(1, #start) == start and name:match "^[%a_][%w_]*$"
      and (start:sub(1, 1) == "_" or name:sub(1, 1) ~= "_") then
      list[#list + 1] = name
    end
  end
  table.sort(list)
  return list
end

--- What a text may go on with.
-- @tparam string text what stands before the cursor
-- @treturn table,string names in order, and the part of a name that is there already
function names.after(text)
  local path, start = text:match "([%a_][%w_.:]*)[.:]([%w_]*)$"
  local found = {}
  if path then
    local value = value_of(path)
    if value ~= nil then pcall(collect, value, found) end
  else
    start = text:match "[%w_]*$"
    if text:sub(1, #text - #start):match "[.:\"']$" then return {}, start end
    collect(_G, found)
    for _, word in ipairs(KEYWORDS) do found[word] = true end
  end
  return starting_with(found, start), start
end

local function common_start(list)
  local start = list[1]
  for _, name in ipairs(list) do
    while name:sub(1, #start) ~= start do start = start:sub(1, -2) end
  end
  return start
end

local function in_columns(list)
  local width = 0
  for _, name in ipairs(list) do width = math.max(width, #name + 2) end
  local across, lines = math.max(1, core.columns() // width), {}
  for i = 1, #list, across do
    local row = {}
    for k = i, math.min(#list, i + across - 1) do
      row[#row + 1] = list[k] .. (" "):rep(width - #list[k])
    end
    lines[#lines + 1] = (table.concat(row):gsub("%s+$", ""))
  end
  return table.concat(lines, "\n")
end

--- What TAB does. @tparam string text before the cursor
-- @treturn string|nil what to insert
-- @treturn string|nil else what to show
function names.complete(text)
  if not text:find "%S" then return "  " end -- indentation
  local list, start = names.after(text)
  if #list == 0 then return nil end
  local more = common_start(list):sub(#start + 1)
  if more ~= "" then return more end
  if #list > 1 then return nil, in_columns(list) end
  return nil
end

return names
