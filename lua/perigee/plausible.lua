--- Whether a time is possible: what a cold run must bring from memory takes as long as this GPU
-- takes at its best, as `perigee doctor --measure` found it, or else as the clock and width of its
-- memory say. A time below that is no achievement but a sign that the work was done elsewhere.
-- @module perigee.plausible

local units = require "perigee.units"

local plausible = {}

local MARGIN = 1.05 -- over what was measured
local WRITING = 1.2 -- writing alone is faster than copying (H200: 4514 and 3915 GB/s)

-- Bytes of the buffers that are read, and of those that are written. State is both.
local function distinct(one)
  local read, written = 0, 0
  for _, buffer in ipairs(one.list) do
    if buffer.role ~= "output" then read = read + buffer.bytes end
    if buffer.role ~= "input" then written = written + buffer.bytes end
  end
  return read, written
end

--- The least bytes that a cold run moves through memory: its compulsory bytes, but no byte twice,
-- and without what may be left in L2 when it ends.
-- @tparam table one a case
-- @tparam integer l2_bytes
-- @treturn number bytes
-- @treturn boolean whether more is written than read
function plausible.least_bytes(one, l2_bytes)
  local read, written = distinct(one)
  local compulsory = math.min(one:work().bytes or 0, read + written)
  return math.max(0, compulsory - math.min(l2_bytes, written)), written > read
end

-- The most that memory can move, in GB/s, and by what that is known.
local function most_of(known, info, writes)
  if known and known.copy then
    return math.max(known.copy, known.read or 0) * MARGIN * (writes and WRITING or 1), "measured"
  end
  if (info.memory_gbs or 0) > 0 then return info.memory_gbs, "clock and width" end
end

--- Judge the time of an arm.
-- @tparam table one its case
-- @tparam table time {method, median_us}
-- @tparam[opt] table known what ceilings.load returned
-- @tparam table info of the device: l2_bytes, memory_gbs
-- @treturn table|nil a failure
-- @treturn string for the record: by what it was judged, or why it was not
function plausible.judge(one, time, known, info)
  if time.method ~= "cold" then return nil, "not judged: caches are warm" end
  local bytes, writes = plausible.least_bytes(one, info.l2_bytes or 0)
  local most, by = most_of(known, info, writes)
  if not most then return nil, "not judged: no ceilings; perigee doctor --measure finds them" end
  if bytes == 0 then return nil, "not judged: nothing must come from memory" end
  local rate = bytes / time.median_us * 1e-3 -- GB/s
  if rate <= most then return nil, ("%.0f of %.0f GB/s (%s)"):format(rate, most, by) end
  local text = ("impossible: %s from memory in %s are %.0f GB/s, and this GPU moves at most %.0f"):
    format(units.bytes(bytes), units.time(time.median_us), rate, most)
  return { verdict = "cheat", reason = text, findings = { { kind = "impossible", text = text } } }
end

return plausible
