--- What changed between two texts, line by line: the greedy algorithm of Myers (An O(ND) Difference
-- Algorithm and Its Variations, Algorithmica 1, 1986), with its trace kept.
-- @module perigee.linediff

local linediff = {}

local EDITS_MOST = 500 -- lines added and removed; beyond, all of it counts as changed
local AROUND = 2 -- unchanged lines that are shown beside a change

local function lines_of(text)
  local lines = {}
  if text == "" then return lines end
  for line in (text:gsub("\n$", "") .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
  return lines
end

-- The furthest x on each diagonal, for 0, 1, 2, ... edits, until both texts are used up.
local function trace_of(a, b)
  local furthest, trace = { [1] = 0 }, {}
  for edits = 0, math.min(#a + #b, EDITS_MOST) do
    local kept = {}
    for k = -edits - 1, edits + 1 do kept[k] = furthest[k] end
    trace[edits] = kept
    for k = -edits, edits, 2 do
      local down = k == -edits or (k ~= edits and furthest[k - 1] < furthest[k + 1])
      local x = down and furthest[k + 1] or furthest[k - 1] + 1
      while x < #a and x - k < #b and a[x + 1] == b[x - k + 1] do x = x + 1 end
      furthest[k] = x
      if x >= #a and x - k >= #b then return trace, edits end
    end
  end
  return nil
end

-- The script backwards: {mark, line}, mark " ", "-" or "+".
local function script_of(a, b)
  local trace, edits = trace_of(a, b)
  local script = {}
  if not trace then
    for i = #b, 1, -1 do script[#script + 1] = { "+", b[i] } end
    for i = #a, 1, -1 do script[#script + 1] = { "-", a[i] } end
    return script
  end
  local x, y = #a, #b
  for d = edits, 0, -1 do
    local v, k = trace[d], x - y
    local down = k == -d or (k ~= d and v[k - 1] < v[k + 1])
    local from_x = down and v[k + 1] or v[k - 1]
    local from_y = from_x - (down and k + 1 or k - 1)
    while x > from_x and y > from_y do
      script[#script + 1] = { " ", a[x] }
      x, y = x - 1, y - 1
    end
    if d > 0 then
      script[#script + 1] = down and { "+", b[y] } or { "-", a[x] }
      x, y = from_x, from_y
    end
  end
  return script
end

-- Which lines are shown: changed ones and a few around them.
local function shown(script)
  local near = {}
  for i, step in ipairs(script) do
    for j = i - AROUND, step[1] ~= " " and i + AROUND or -1 do near[j] = true end
  end
  return near
end

--- The difference as lines: "- removed", "+ added", "  unchanged", and "@ line N" where lines of
-- the second text are left out before.
-- @tparam string before
-- @tparam string after
-- @treturn table lines; none for equal texts
function linediff.lines(before, after)
  local script = script_of(lines_of(before), lines_of(after))
  local ordered, out, line, gap = {}, {}, 1, true
  for i = #script, 1, -1 do ordered[#ordered + 1] = script[i] end
  local near = shown(ordered)
  for i, step in ipairs(ordered) do
    if near[i] then
      if gap then out[#out + 1] = ("@ line %d"):format(line) end
      out[#out + 1] = step[1] .. " " .. step[2]
    end
    gap = not near[i]
    if step[1] ~= "-" then line = line + 1 end
  end
  return out
end

return linediff
