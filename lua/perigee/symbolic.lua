--- Shapes in terms of parameters: several cases of a task are looked at, and an extent gets the
-- name that gives its value in each of them: f32[n], i32[rows + 1]. What fits none stays a number.
-- @module perigee.symbolic

local core = require "perigee.core"
local params = require "perigee.params"

local symbolic = {}

-- {text with the name, value}, from the plainest.
local FORMS = {
  { "%s", function(v) return v end },
  { "%s + 1", function(v) return v + 1 end },
  { "%s - 1", function(v) return v - 1 end },
  { "2 * %s", function(v) return 2 * v end },
}

-- Names of values: parameters first, then what derive and args add.
local function names_in(declared, p)
  local names = params.names(declared)
  for _, name in ipairs(params.names(p)) do
    if declared[name] == nil then names[#names + 1] = name end
  end
  return names
end

local function agrees(extents, cases, value_of)
  for i, one in ipairs(cases) do
    local ok, value = pcall(value_of, one.values)
    if not ok or value ~= extents[i] then return false end
  end
  return true
end

-- One name in one form, else the product of two.
local function find(extents, cases, names)
  for _, form in ipairs(FORMS) do
    for _, name in ipairs(names) do
      local function value(p) return form[2](math.tointeger(p[name])) end
      if agrees(extents, cases, value) then return form[1]:format(name), value end
    end
  end
  for i, a in ipairs(names) do
    for j = i + 1, #names do
      local b = names[j]
      local function value(p) return math.tointeger(p[a]) * math.tointeger(p[b]) end
      if agrees(extents, cases, value) then return ("%s * %s"):format(a, b), value end
    end
  end
  return nil
end

local function varies(list)
  for _, value in ipairs(list) do
    if value ~= list[1] then return true end
  end
  return false
end

--- Name the extents of a buffer.
-- @tparam table declared parameters of the task
-- @tparam table cases list of {list = buffers, values = what has a name}, of one contract; the
--   first is the one that is shown
-- @tparam integer index of the buffer in each case's list
-- @tparam table p values for which the extents are wanted
-- @treturn table,table|nil texts (names or numbers), and the extents for `p`; nil when one of them
--   has no name and is not the same in every case
function symbolic.shape(declared, cases, index, p)
  local names = names_in(declared, cases[1].values)
  local texts, extents = {}, {}
  for k, extent in ipairs(cases[1].list[index].shape) do
    local seen = {}
    for i, one in ipairs(cases) do seen[i] = one.list[index].shape[k] or -1 end
    local text, value
    if varies(seen) then text, value = find(seen, cases, names) end
    texts[k] = text or tostring(extent)
    if extents and (text or not varies(seen)) then
      extents[k] = text and value(p) or extent
    else
      extents = nil
    end
  end
  return core.json_array(texts), extents
end

return symbolic
