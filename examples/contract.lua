-- A contract about how, not only what: the product must be made on tensor cores, and its sums must
-- not be f16. The audit reads both from the PTX; to break one is the verdict "forbidden".
local pg = require "perigee"

local task = pg.task {
  name = "example/matmul_f16", doc = "c = a b^T with f16 factors; sums in f32, on tensor cores",
  params = { n = { default = 1024, check = { 16, 64 }, sim = 64, min = 16 } },
  inputs = function(p, rng)
    return { a = rng:array("f16", { p.n, p.n }), b = rng:array("f16", { p.n, p.n }) }
  end,
  outputs = function(p) return { c = pg.spec("f32", { p.n, p.n }) } end,
  kernel = "void matmul(const half* a, const half* b, float* c, int n)",
  launch = { grid = { "n // 8", "n // 16" }, block = 32 },
  reference = function(_, io) return { c = pg.product(io.a, io.b, { b_transposed = true }) } end,
  validate = { "close", rtol = 1e-4, atol = 1e-2 },
  require = { "tensor_core" }, forbid = { "f16_accumulate" },
}

-- A warp makes 16 x 8 elements of c. Two f16 stand in a word; a row of a and b has m words.
local TENSOR = [[
extern "C" __global__ void matmul(const unsigned* a, const unsigned* b, float* c, int n) {
  int m = n / 2, lane = threadIdx.x, row = 16 * blockIdx.y + lane / 4, col = 8 * blockIdx.x;
  float s[4] = {};
  for (int k = lane %% 4; k < m; k += 8) {
    const unsigned *x = a + row * m + k, *y = b + (col + lane / 4) * m + k;
    unsigned x0 = x[0], x1 = x[8 * m], x2 = x[4], x3 = x[8 * m + 4], y0 = y[0], y1 = y[4];
    %s
  }
  float* to = c + row * n + col + lane %% 4 * 2;
  for (int k = 0; k < 4; k++) to[k / 2 * 8 * n + k %% 2] = s[k];
}]]
local SUMS_IN_F32 = [[asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
        : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(y0), "r"(y1));]]
-- 16 products are added in f16, then widened: faster, and nearly as exact at this size.
local SUMS_IN_F16 = [[unsigned h[2];
    asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
        "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %8};"
        : "=r"(h[0]), "=r"(h[1]) : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(y0), "r"(y1), "r"(0));
    for (int i = 0; i < 4; i++) {
      float wide;
      asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"((short)(h[i / 2] >> i % 2 * 16)));
      s[i] += wide;
    }]]
local PLAIN = [[
extern "C" __global__ void matmul(const unsigned* a, const unsigned* b, float* c, int n) {
  int m = n / 2, row = 16 * blockIdx.y + threadIdx.x / 2, col = 8 * blockIdx.x;
  for (int j = threadIdx.x % 2; j < 8; j += 2) {
    float sum = 0;
    for (int k = 0; k < m; k++)
      for (int half = 0; half < 32; half += 16) {
        float x, y;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((short)(a[row * m + k] >> half)));
        asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"((short)(b[(col + j) * m + k] >> half)));
        sum += x * y;
      }
    c[row * n + col + j] = sum;
  }
}]]

local CANDIDATES = {
  { "tensor cores, sums in f32", TENSOR:format(SUMS_IN_F32), "passed" },
  { "tensor cores, sums in f16", TENSOR:format(SUMS_IN_F16), "forbidden" },
  { "a loop", PLAIN, "forbidden" },
}
for _, candidate in ipairs(CANDIDATES) do
  local record = pg.check(task, { source = candidate[2] })
  print(("%s: %s%s"):format(candidate[1], record.verdict,
    record.reason and "\n  " .. record.reason or ""))
  assert(record.verdict == candidate[3], record.reason)
end
