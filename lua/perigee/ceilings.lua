--- What a GPU can do at most, as `perigee doctor --measure` found it: where that is kept, and what
-- share of it a result reaches. perigee.ceilings_measure does the measuring.
-- @module perigee.ceilings

local core = require "perigee.core"
local files = require "perigee.files"

local ceilings = {}

local LONGEST = 1 << 16 -- bytes of a file

--- The quantities in the order in which they are shown: {key, what, unit}.
ceilings.QUANTITIES = {
  { "copy", "memory, copied (read and written)", "GB/s" },
  { "read", "memory, read", "GB/s" },
  { "l2", "L2 cache, read", "GB/s" },
  { "f32", "fp32 fused multiply-adds", "Gflop/s" },
  { "f64", "fp64 fused multiply-adds", "Gflop/s" },
  { "f16", "fp16 tensor cores", "Gflop/s" },
  { "bf16", "bf16 tensor cores", "Gflop/s" },
  { "random_reads", "random 8-byte reads of memory", "G/s" },
  { "random_atomics", "random 8-byte atomics in memory", "G/s" },
  { "l2_atomics", "random 8-byte atomics in L2", "G/s" },
  { "launch_us", "an empty kernel after another", "us" },
  { "floor_us", "an empty kernel, timed alone", "us" },
  { "graph_us", "an empty kernel more in a graph", "us" },
}

--- The file of a GPU's ceilings. @tparam string gpu its name: all of one name are alike
function ceilings.path(gpu)
  return files.data("ceilings/" .. gpu:lower():gsub("[^%w]+", "-") .. ".json")
end

-- A number above 0 for each quantity that is there.
local function sound(stored, gpu)
  if type(stored) ~= "table" or stored.gpu ~= gpu then return false end
  for _, quantity in ipairs(ceilings.QUANTITIES) do
    local value = stored[quantity[1]]
    if value ~= nil and not (type(value) == "number" and value > 0) then return false end
  end
  return true
end

--- The stored ceilings of a GPU, nil when there are none.
-- @tparam string gpu its name
-- @treturn table|nil {gpu, driver, clock, at, perigee, copy, read, l2, ...}: see QUANTITIES
-- @treturn string|nil why a file that is there is not used
function ceilings.load(gpu)
  local path = ceilings.path(gpu)
  local text, e = core.read_file(path, LONGEST)
  if not text then return nil, e.code ~= "not_found" and e.message or nil end
  local stored = core.json_decode(text)
  if sound(stored, gpu) then return stored end
  return nil, ("%s does not hold the ceilings of %s"):format(path, gpu)
end

--- Store what was measured. @treturn string the path @raise "io"
function ceilings.save(found)
  local path = ceilings.path(found.gpu)
  files.make_folder(files.dirname(path))
  files.write(path, core.json_encode(found, true) .. "\n")
  return path
end

-- ---- what they are used for ----

local WIDTH = { f16 = 1, bf16 = 1, f32 = 2, f64 = 3 }

local function widest(case, counts)
  local found
  for _, buffer in ipairs(case.list) do
    local width = counts(buffer) and WIDTH[buffer.dtype_name]
    if width and (not found or width > WIDTH[found]) then found = buffer.dtype_name end
  end
  return found
end

-- The arithmetic that a case's flops are: that of the widest floating-point numbers that it is
-- given, whatever its sums are kept in. Small floats alone are multiplied by tensor cores at best.
local function arithmetic(case)
  return widest(case, function(buffer) return buffer.role ~= "output" end)
    or widest(case, function() return true end) or "f32"
end

-- What compulsory bytes can move at: a working set that stays in L2 from run to run is not bound by
-- memory.
local function bandwidth(known, bytes, method, l2_bytes)
  if known.l2 and method ~= "cold" and bytes <= l2_bytes then return known.l2, "L2 bandwidth" end
  if not known.copy then return nil end
  return math.max(known.copy, known.read or 0), "memory bandwidth"
end

--- Which limit a result is nearest to, and how near.
-- @tparam table efficiency {bandwidth, compute} of a record
-- @tparam table known what ceilings.load returned
-- @tparam table about {case, method, l2_bytes}
-- @treturn number|nil share of the limit; above 1 where caches gave more than memory can
-- @treturn string|nil the limit in words
function ceilings.share(efficiency, known, about)
  local share, limit
  local function take(value, ceiling, name)
    if not value or not ceiling then return end
    local ratio = value / ceiling
    if not share or ratio > share then share, limit = ratio, name end
  end
  local bytes = about.case:work().bytes or math.huge
  take(efficiency.bandwidth, bandwidth(known, bytes, about.method, about.l2_bytes or 0))
  local kind = arithmetic(about.case)
  take(efficiency.compute, known[kind], ("%s arithmetic"):format(kind))
  return share, limit
end

return ceilings
