-- An agent that knows one kernel and searches its knobs by itself, from what each attempt cost: the
-- elements a thread adds up, doubled as long as that helps, then halved again. For reduce/sum,
-- whose plan it writes, in the setting refine.
--
--     perigee eval --tasks reduce/sum --setting refine --rounds 6 --agent 'perigee knobs.lua'
local core = require "perigee.core"

local SOURCE = [[
extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
  __shared__ float part[BLOCK];
  float own = 0;
#pragma unroll UNROLL
  for (int i = threadIdx.x; i < n; i += BLOCK) own += x[i];
  part[threadIdx.x] = own;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[0] = part[0];
}
]]

local FIRST, LEAST, MOST = { block = 256, unroll = 2 }, 32, 1024

-- The moves, in order: each is tried from the best so far.
local MOVES = {
  function(at) return { block = math.min(MOST, at.block * 2), unroll = at.unroll } end,
  function(at) return { block = math.max(LEAST, at.block // 2), unroll = at.unroll } end,
  function(at) return { block = at.block, unroll = at.unroll * 2 } end,
}

-- What was sent in each round follows from the costs, so nothing needs to be remembered.
local function next_of(history)
  local best, best_cost, move, sent = FIRST, nil, 1, FIRST
  for i = 1, #history do
    local cost = history[i].verdict == "passed" and history[i].cost
    if cost and (not best_cost or cost < best_cost) then
      best, best_cost = sent, cost
    elseif i > 1 then
      move = move + 1
    end
    if not MOVES[move] then return nil end
    sent = MOVES[move](best)
  end
  return sent
end

local request = assert(core.json_decode(io.read "a"))
local at = next_of(request.history or {})
if not at or request.task ~= "reduce/sum" then
  print(core.json_encode { stop = true })
  return 0
end
print(core.json_encode { files = { ["sum.cu"] = SOURCE, ["plan.lua"] = ([[
return { launch = { grid = 1, block = %d }, define = { BLOCK = %d, UNROLL = %d } }
]]):format(at.block, at.block, at.unroll) } })
