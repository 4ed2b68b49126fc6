--- What is tried on the best fuse, one lever after the other: the configurations of the knobs of
-- kernels/tsdf/fuse_own.cu that kernels/tsdf/levers.lua times, and their table.
-- @module perigee.irregularity.levers

local suite = require "perigee.irregularity.suite"
local tables = require "perigee.irregularity.tables"

local levers = {}

--- {what the page calls it, the knobs that it sets; the others are as `cuda-own` has them}, from
-- the plainest on.
levers.LIST = {
  { "one addition of four sums, one of the fifth", { PAIR = 0, BRICK = 0, AHEAD = 0 } },
  { "the fifth sum in an array of its own (`FLOATS=5`)",
    { PAIR = 0, BRICK = 0, AHEAD = 0, FLOATS = 5 } },
  { "two lanes add a whole sector at once (`PAIR=1`; so in all rows below)",
    { BRICK = 0, AHEAD = 0 } },
  { "three threads a ray (`ROWS=3`)", { BRICK = 0, AHEAD = 0, ROWS = 3 } },
  { "voxels in bricks of 2 x 2 x 2 (`BRICK=1`; below, too)", { AHEAD = 0 } },
  { "two points a thread (`RUN=2 BLOCK=128`)", { AHEAD = 0, RUN = 2, BLOCK = 128 } },
  { "four (`RUN=4 BLOCK=64`)", { AHEAD = 0, RUN = 4, BLOCK = 64 } },
  { "the sector is prefetched a step before the addition (`AHEAD=1`)", {} },
  { "and two points a thread", { RUN = 2, BLOCK = 128 } },
  { "and four", { RUN = 4, BLOCK = 64 } },
}

--- All knobs of a configuration: what it sets, and the defaults of `cuda-own`.
function levers.whole(knobs)
  local all = {}
  for _, impl in ipairs(suite.task "fuse".impls) do
    for name, values in pairs(impl.name == "cuda-own" and impl.knobs or {}) do
      all[name] = knobs[name] or values[1]
    end
  end
  return all
end

--- The same as one word, by which a row of the file of levers is found.
function levers.word(knobs)
  local words = {}
  for name, value in pairs(levers.whole(knobs)) do
    words[#words + 1] = ("%s=%d"):format(name, value)
  end
  table.sort(words)
  return table.concat(words, ":")
end

-- The arms and cells of the file, in its order.
local function measured(data)
  local list, seen = {}, {}
  for _, row in ipairs(data.levers.rows) do
    local name = ("%s, `%s`"):format(row.cell, row.arm)
    if not seen[name] then list[#list + 1] = { row.cell, row.arm, name } end
    seen[name] = true
  end
  return list
end

--- What each lever of the best fuse gives: a section of the page.
function tables.sections.levers(data)
  if not data.levers then return nil end
  local arms = measured(data)
  local heads, rows = { "" }, {}
  for i, one in ipairs(arms) do heads[1 + i] = one[3] end
  for k, lever in ipairs(levers.LIST) do
    rows[k] = { lever[1] }
    for i, one in ipairs(arms) do
      local row = data.levers.find(one[1], one[2], levers.word(lever[2]))
      rows[k][1 + i] = row and tables.us(row.median_us) or ""
    end
  end
  return tables.markdown { heads, table.unpack(rows) }
end

return levers
