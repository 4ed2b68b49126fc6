--- What each lever of a fuse with sums in a layout of its own gives: a pipeline that proposes them
-- one after the other, from the plainest on. Timed again, interleaved, at the end:
--
--     perigee tune kernels/tsdf/levers.lua hash/tsdf_fuse --impl cuda-own --cell base \
--       --set capacity=2048 --top 12
--
-- README.md in this folder has the table that came out, and what the knobs of fuse_own.cu mean.

local levers = require "perigee.irregularity.levers"

return {
  propose = function(history)
    local list = {}
    for i = #history + 1, #levers.LIST do
      list[#list + 1] = { knobs = levers.whole(levers.LIST[i][2]) }
    end
    return list
  end,
}
