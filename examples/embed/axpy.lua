-- Perigee inside LuaJIT: luajit axpy.lua [DEVICE]. From an installation, the path of jit.lua is
-- PREFIX/share/perigee/lua/perigee/jit.lua.
local here = arg[0]:match("^(.*)/[^/]*$") or "."
local pg = dofile(here .. "/../../lua/perigee/jit.lua")

local dev = pg.open(arg[1] or "auto")
local kernel = dev:compile { name = "axpy.cu", source = [[
  extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
  }
]] }:kernel "axpy"

local n = 1000
local x = pg.array("f32", n):random { seed = 7, dist = "normal" }
local want, got = pg.array("f64", n), pg.array("f32", n)
for i = 0, n - 1 do want[i] = 2 * x[i] end

local dx, dy = dev:upload(x), dev:alloc(4 * n)
local times = dev:measure(function()
  kernel:launch { grid = 4, block = 256, args = { 2, dx, dy, n } }
end)
local difference = pg.compare(want, dy:download(got), { rtol = 1e-6 })
print(("%d of %d elements wrong; %s time %.3g us"):format(difference.bad, difference.count,
  times.gpu_clock and "GPU" or "simulator", times.median))
os.exit(difference.bad == 0 and 0 or 1)
