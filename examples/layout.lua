-- A candidate with its own layout: the task wants colours interleaved, red green blue alpha, and
-- lets a candidate keep them otherwise while it is timed. examples/layout is a folder whose
-- plan.lua keeps four planes, so that neighbours write neighbouring words, and exports them.
local pg = require "perigee"

local task = pg.task {
  name = "example/unpack", doc = "colour[i][c] = byte c of pixel i, over 255",
  params = { n = { default = 1 << 20, check = { 1, 999 }, sim = 5000, min = 1 } },
  inputs = function(p, rng) return { pixel = rng:array("u32", p.n) } end,
  outputs = function(p) return { colour = pg.spec("f32", { p.n, 4 }) } end,
  kernel = "void unpack(const unsigned int* pixel, float* colour, int n)",
  launch = { grid = "ceil_div(n, 256)", block = 256 },
  own_layout = { "colour" },
  reference = function(p, io)
    local bytes = pg.from_bytes("u8", { p.n, 4 }, io.pixel:tostring())
    return { colour = bytes / 255 }
  end,
  validate = { "close", ops = 1 },
  work = function(p) return { bytes = 20 * p.n } end,
}

local INTERLEAVED = [[
  extern "C" __global__ void unpack(const unsigned int* pixel, float* colour, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int c = 0; c < 4; c++) colour[4 * i + c] = (pixel[i] >> 8 * c & 255) / 255.0f;
  }]]

local here = arg[0]:match("^(.*/)") or ""
for _, candidate in ipairs { { source = INTERLEAVED }, here .. "layout" } do
  local record = pg.check(task, candidate, { out = print })
  assert(record.verdict == "passed", record.reason)
end
