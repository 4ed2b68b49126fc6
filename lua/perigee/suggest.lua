--- The nearest of several names to a misspelt one, and the hint that says so.
-- @module perigee.suggest

local suggest = {}

-- Edits (insert, delete, replace, swap of neighbours) between two words.
local function distance(a, b)
  local before, last = {}, {}
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    local row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      local best = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
      local swapped = i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      if swapped then best = math.min(best, before[j - 2] + 1) end
      row[j] = best
    end
    before, last = last, row
  end
  return last[#b]
end

--- The nearest name, or nil when none is near.
-- @tparam string name what was typed
-- @tparam table names list of names that exist
function suggest.nearest(name, names)
  local best, best_distance
  local typed = name:lower()
  for _, other in ipairs(names) do
    local d = distance(typed, other:lower())
    if not best or d < best_distance then best, best_distance = other, d end
  end
  if best and best_distance <= math.max(1, #name // 3) and best_distance < #name then
    return best
  end
  for _, other in ipairs(names) do -- "saxpy" for "vector/saxpy"
    if #name >= 3 and other:lower():find(typed, 1, true) then return other end
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
