-- The first kernel: every thread writes its own number. Runs on a GPU, else on the simulator.
local pg = require "perigee"
local dev = pg.device "auto"

local mod = dev:compile { name = "hello.cu", source = [[
  extern "C" __global__ void hello(int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i * i;
  }
]] }

local n = 1000
local out = dev:upload(pg.array("i32", n))
mod:kernel("hello"):launch { grid = (n + 255) // 256, block = 256, args = { out, n } }
print("31 * 31 =", out:download()[31], "computed by", dev:info().name)
