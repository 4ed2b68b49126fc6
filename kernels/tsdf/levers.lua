--- What each lever of a fuse with sums in a layout of its own gives: a pipeline that proposes them
-- one after the other, from the plainest on. Timed again, interleaved, at the end:
--
--     perigee tune kernels/tsdf/levers.lua hash/tsdf_fuse --impl cuda-own --cell base \
--       --set capacity=2048 --top 12
--
-- README.md in this folder has the table that came out, and what the knobs of fuse_own.cu mean.

local LEVERS = {
  { PAIR = 0, BRICK = 0, AHEAD = 0 },
  { PAIR = 0, BRICK = 0, AHEAD = 0, FLOATS = 5 },
  { BRICK = 0, AHEAD = 0 },
  { BRICK = 0, AHEAD = 0, ROWS = 3 },
  { AHEAD = 0 },
  { AHEAD = 0, RUN = 2, BLOCK = 128 },
  { AHEAD = 0, RUN = 4, BLOCK = 64 },
  { RUN = 2, BLOCK = 128 },
  { RUN = 4, BLOCK = 64 },
  {},
}

-- Knobs that a lever does not name have the defaults of `cuda-own`.
local function whole(lever)
  local knobs = { BLOCK = 256, RUN = 1, ROWS = 1, FLOATS = 8, PAIR = 1, BRICK = 1, AHEAD = 1,
    PER_SM = 0 }
  for name, value in pairs(lever) do knobs[name] = value end
  return knobs
end

return {
  propose = function(history)
    local list = {}
    for i = #history + 1, #LEVERS do list[#list + 1] = { knobs = whole(LEVERS[i]) } end
    return list
  end,
}
