--- Prints a table of tasks as Markdown: times of the plain and of the best implementation, their
-- ratio, and the share of the machine's limit; not a task itself.
--
--     build/perigee tasks/table.lua                  all but those of the TSDF workload
--     build/perigee tasks/table.lua reduce/sum ...   these
--
-- The limit of a task is the time that its compulsory bytes take at the rate of a copy of 1 GiB, or
-- its operations at the rate of fused multiply-adds in registers, whichever is longer. Both rates
-- are measured first. They need a GPU: elsewhere there is only the verdict.

local pg = require "perigee"

local CEILINGS = [[
extern "C" __global__ void copy(const uint4* x, uint4* y, int n) {
  int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
  if (i + blockDim.x >= n) return;
  uint4 a = __ldcs(x + i), b = __ldcs(x + i + blockDim.x);
  __stcs(y + i, a);
  __stcs(y + i + blockDim.x, b);
}
extern "C" __global__ void fma(float* y, int rounds, float factor) {
  float sums[32];
  for (int k = 0; k < 32; k++) sums[k] = threadIdx.x + k;
  for (int i = 0; i < rounds; i++)
#pragma unroll
    for (int k = 0; k < 256; k++) sums[k % 32] = fmaf(sums[k % 32], factor, factor);
  float total = 0;
  for (int k = 0; k < 32; k++) total += sums[k];
  if (total == 12345.678f) *y = total;
}
]]

-- Bytes a microsecond and operations a microsecond; nil without a GPU.
local function measure_ceilings()
  local dev = pg.device "auto"
  if dev:info().kind ~= "cuda" then return nil end
  local module = dev:compile { source = CEILINGS, name = "ceilings.cu" }
  local bytes, rounds = 1 << 30, 2000
  local from, to = dev:alloc(bytes), dev:alloc(bytes)
  local copy, fma = module:kernel "copy", module:kernel "fma"
  local copied = pg.measure(dev, function()
    copy:launch { grid = bytes // 16 // 512, block = 256, args = { from, to, bytes // 16 } }
  end, { method = "cold" })
  local added = pg.measure(dev, function()
    fma:launch { grid = 132 * 16, block = 256, args = { to, rounds, 0.5 } }
  end, { method = "hot" })
  return 2 * bytes / copied.median, 2.0 * 256 * rounds * 132 * 16 * 256 / added.median
end

-- One row for each point that was measured: records of its implementations, the plain one first.
local function points_of(records)
  local points, by_key = {}, {}
  for _, record in ipairs(records) do
    local key = record.cell or ""
    if not by_key[key] then
      by_key[key] = { name = record.task .. (record.cell and " " .. record.cell or "") }
      table.insert(points, by_key[key])
    end
    table.insert(by_key[key], record)
  end
  return points
end

local function median(record) return record.time and record.time.median_us end

local function best_of(point)
  local best = point[1]
  for _, record in ipairs(point) do
    if median(record) and (not median(best) or median(record) < median(best)) then best = record end
  end
  return best
end

local function time_text(us)
  if not us then return "-" end
  return us < 1000 and ("%.1f us"):format(us) or ("%.2f ms"):format(us / 1000)
end

local function rate_text(work, us)
  if work.flops and work.flops > 20 * work.bytes then
    return ("%.1f TFLOP/s"):format(work.flops / us / 1e6)
  end
  return ("%.0f GB/s"):format(work.bytes / us / 1e3)
end

local function row(point, bandwidth, operations)
  local plain, best = point[1], best_of(point)
  local us, work = median(best), best.work or {}
  if not us then return { point.name, best.verdict, "-", "-", "-", "-", "-" } end
  local least = math.max((work.bytes or 0) / bandwidth, (work.flops or 0) / operations)
  return {
    point.name, time_text(median(plain)), best.impl, time_text(us),
    median(plain) and ("%.1fx"):format(median(plain) / us) or "-", rate_text(work, us),
    ("%.0f%%"):format(100 * least / us),
  }
end

local function print_row(cells) print("| " .. table.concat(cells, " | ") .. " |") end

local function chosen()
  if #arg == 0 then
    local tasks = {}
    for _, task in ipairs((pg.catalogue.all())) do
      if not task.name:find("/tsdf_", 1, true) then tasks[#tasks + 1] = task end
    end
    return tasks
  end
  local tasks = {}
  for i, name in ipairs(arg) do tasks[i] = pg.catalogue.find(name)[1] end
  return tasks
end

local bandwidth, operations = measure_ceilings()
if bandwidth then
  print(("Copy %.0f GB/s, fused multiply-add %.1f TFLOP/s.\n"):format(bandwidth / 1e3,
    operations / 1e6))
end
print_row { "task", "naive", "best", "time", "ratio", "rate", "of limit" }
print_row { "---", "---", "---", "---", "---", "---", "---" }
local failed = false
for _, task in ipairs(chosen()) do
  for _, point in ipairs(points_of(pg.run(task))) do
    for _, record in ipairs(point) do failed = failed or record.verdict ~= "passed" end
    print_row(row(point, bandwidth or 1, operations or 1))
    io.stdout:flush()
  end
end
return failed and 1 or 0
