-- saxpy by hand: inputs from a seed, a launch, a check against float64, and a time.
-- Run it with a size of your own: perigee examples/saxpy.lua 1000000
local pg = require "perigee"

local dev = pg.device "auto"
local gpu = dev:info().gpu_clock
local n = math.tointeger(tonumber(arg[1] or (gpu and 1 << 22 or 10000)))
local a = 2.5

local x = pg.array("f32", n):random { seed = 7, stream = 0, dist = "normal" }
local y = pg.array("f32", n):random { seed = 7, stream = 1, dist = "normal" }
local dx, dy, dz = dev:upload(x), dev:upload(y), dev:upload(pg.array("f32", n))

local mod = dev:compile { file = "kernels/vector/saxpy.cu" }
local launch = mod:kernel("saxpy"):bind {
  grid = (n + 255) // 256, block = 256, args = { dx, dy, dz, a, n },
} -- arguments are checked and packed once; launch() costs little more than the driver's own call

launch()
local expected = a * x + y -- arithmetic of arrays is float64
local result = pg.compare(expected, dz:download(), { rtol = 2.0 ^ -22, atol = 2.0 ^ -20 })
assert(result.bad == 0, ("%d of %d elements are wrong"):format(result.bad, n))

local t = pg.measure(dev, launch, { method = "cold" })
print(("%d elements, all right; largest error %.2g"):format(n, result.max_abs))
print(("median %.2f us, 95%% interval %.2f .. %.2f us, %d samples by the clock of the %s"):format(
  t.median, t.ci95[1], t.ci95[2], t.samples, t.clock))
if gpu then print(("%.0f GB/s of compulsory traffic"):format(12 * n / t.median * 1e-3)) end
