-- A sweep: one kernel at many sizes, as a table and as numbers to go on with. On a GPU the time is
-- the GPU's; on the simulator what it counts, warp instructions, is worth comparing.
local pg = require "perigee"

local saxpy = pg.catalogue.find("vector/saxpy")[1]
local gpu = pg.device("auto"):info().gpu_clock
local sizes = gpu and "2^12..2^24*4" or "2^8..2^14*4" -- as of `perigee run --set n=...`

local records = pg.run(saxpy, { device = not gpu and "sim:profile" or nil, impls = { "naive" },
  set = { n = sizes }, out = print })

local first = records[1]
for _, r in ipairs(records) do
  assert(r.verdict == "passed", r.reason)
  local figure = r.time and ("%.0f GB/s"):format(r.efficiency.bandwidth)
    or ("%.2f warp instructions an element"):format(r.counters.warp_instructions / r.params.n)
  print(("n = %8d: %4d times the first size, %s"):format(r.params.n,
    r.params.n // first.params.n, figure))
end
