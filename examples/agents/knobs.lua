-- An agent that searches the knobs of its kernels by itself, from what each attempt cost: block and
-- unroll are doubled as long as that helps, then the block is halved. It knows six tasks; in
-- oneshot it sends where its search begins.
--
--     perigee eval --tasks reduce/sum --setting refine --rounds 6 --agent 'perigee knobs.lua'
local core = require "perigee.core"
local client = require "perigee.client"

-- ---- kernels ----

-- Sums, largest and the like: one block, a tree over what its threads found.
local function reduction(signature, start, each, join)
  return { grid = "1", source = ([[
static __device__ float join(float a, float b) { return %s; }
extern "C" __global__ void %s {
  __shared__ float part[BLOCK];
  float own = %s;
#pragma unroll UNROLL
  for (int i = threadIdx.x; i < n; i += BLOCK) own = join(own, %s);
  part[threadIdx.x] = own;
  __syncthreads();
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] = join(part[threadIdx.x], part[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) r[0] = part[0];
}
]]):format(join, signature, start, each) }
end

-- UNROLL elements a thread, a block apart.
local function elementwise(signature, statement)
  return { grid = "ceil(n / (BLOCK * UNROLL))", source = ([[
extern "C" __global__ void %s {
  int first = blockIdx.x * BLOCK * UNROLL + threadIdx.x;
#pragma unroll
  for (int k = 0; k < UNROLL; k++) {
    int i = first + k * BLOCK;
    if (i < n) %s;
  }
}
]]):format(signature, statement) }
end

local KERNELS = {
  ["reduce/sum"] = reduction("reduce_sum(const float* x, float* r, int n)", "0.0f", "x[i]",
    "a + b"),
  ["reduce/max"] = reduction("reduce_max(const float* x, float* r, int n)", "x[0]", "x[i]",
    "fmaxf(a, b)"),
  ["reduce/dot"] = reduction("reduce_dot(const float* x, const float* y, float* r, int n)", "0.0f",
    "x[i] * y[i]", "a + b"),
  ["vector/saxpy"] = elementwise(
    "saxpy(const float* x, const float* y, float* z, float a, int n)", "z[i] = a * x[i] + y[i]"),
  ["vector/relu_f32"] = elementwise("relu_f32(const float* x, float* y, int n)",
    "y[i] = x[i] > 0.0f ? x[i] : x[i] * 0.0f"),
  ["vector/leaky_relu_f32"] = elementwise("leaky_relu_f32(const float* x, float* y, int n)",
    "y[i] = x[i] > 0.0f ? x[i] : 0.01f * x[i]"),
}

local kernel

-- What is sent for a choice of the knobs.
local function files_of(at)
  local grid = kernel.grid:gsub("BLOCK", at.block):gsub("UNROLL", at.unroll)
  return { ["kernel.cu"] = kernel.source, ["plan.lua"] = ([[
return { launch = { grid = %q, block = %d }, define = { BLOCK = %d, UNROLL = %d } }
]]):format(grid, at.block, at.block, at.unroll) }
end

-- ---- the search ----

local FIRST, LEAST, MOST, TRIES = { block = 256, unroll = 2 }, 32, 1024, 8

-- The moves, in order: each is tried from the best so far.
local MOVES = {
  function(at) return { block = math.min(MOST, at.block * 2), unroll = at.unroll } end,
  function(at) return { block = at.block, unroll = at.unroll * 2 } end,
  function(at) return { block = math.max(LEAST, at.block // 2), unroll = at.unroll } end,
}

-- What was sent in each round follows from the costs, so nothing needs to be remembered.
-- @treturn table|nil what to try next; nil when no move is left
-- @treturn integer|nil number of the best so far
local function next_of(history)
  local best, best_cost, number, move, sent = FIRST, nil, nil, 1, FIRST
  for i = 1, #history do
    local cost = history[i].verdict == "passed" and history[i].cost
    if cost and (not best_cost or cost < best_cost) then
      best, best_cost, number = sent, cost, i
    elseif i > 1 then
      move = move + 1
    end
    if not MOVES[move] then return nil, number end
    sent = MOVES[move](best)
  end
  return sent, number
end

-- ---- settings ----

local function with_tools(request)
  local server <close> = client.connect(request.server)
  local history = {}
  local at, best = FIRST, nil
  while at and #history < (request.rounds or TRIES) do
    local answer, why = server:call("time", { task = request.task, files = files_of(at) })
    history[#history + 1] = assert(answer, why)
    at, best = next_of(history)
  end
  if best then
    server:call("submit", { task = request.task, attempt = history[best].attempt })
  end
end

local request = assert(core.json_decode(io.read "a"))
kernel = KERNELS[request.task]
local at = kernel and next_of(request.history or {})
if kernel and request.setting == "tools" then
  with_tools(request)
elseif at then
  print(core.json_encode { files = files_of(at) })
  return 0
end
print(core.json_encode { stop = true })
