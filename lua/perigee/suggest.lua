--- The nearest of several names to a misspelt one, and the hint that says so.
-- @module perigee.suggest

local core = require "perigee.core"

local suggest = {}

--- The nearest name, or nil when none is near: a few edits away, or with what was typed inside.
-- @tparam string name what was typed
-- @tparam table names list of names that exist
function suggest.nearest(name, names)
  local near = core.nearest(name, names)
  if near or #name < 3 then return near end
  for _, other in ipairs(names) do -- "saxpy" for "vector/saxpy"
    if other:lower():find(name:lower(), 1, true) then return other end
  end
  return nil
end

--- Whether a list has a value.
function suggest.has(list, value)
  for _, item in ipairs(list) do
    if item == value then return true end
  end
  return false
end

--- A hint for an unknown name: the nearest one, else what there is.
-- @tparam string what e.g. "parameters"
function suggest.hint(name, names, what)
  local near = suggest.nearest(name, names)
  if near then return ("did you mean '%s'?"):format(near) end
  if #names == 0 then return ("there are no %s"):format(what) end
  local shown = table.move(names, 1, math.min(#names, 20), 1, {})
  return ("%s: %s%s"):format(what, table.concat(shown, ", "), #names > 20 and ", ..." or "")
end

return suggest
