--- What a search makes small: the median time on a device with a clock, else a counter of the
-- simulator, which is exact and never presented as time.
-- @module perigee.objective

local core = require "perigee.core"
local suggest = require "perigee.suggest"
local units = require "perigee.units"

local objective = {}

local COUNTERS = { instructions = "warp_instructions" } -- short names

-- What sim:profile counts; opening it costs a moment, running something that is in vain more.
local function check_name(name)
  local dev <close> = core.device "sim:profile"
  local names = {}
  for short in pairs(COUNTERS) do names[#names + 1] = short end
  for key, count in pairs(dev:counters()) do
    if type(count) == "number" then names[#names + 1] = key end
  end
  table.sort(names)
  if not suggest.has(names, name) then
    core.error("not_found", ("no counter '%s'"):format(name), suggest.hint(name, names, "counters"))
  end
end

local function counter(name)
  local field = COUNTERS[name] or name
  check_name(name)
  return {
    name = name, exact = true, title = name, text = units.count,
    of = function(rec)
      local counters = rec.verdict == "passed" and rec.counters
      if not counters or not counters.complete then return nil end
      return math.max(counters[field], 1) -- ratios need more than nothing
    end,
  }
end

--- @tparam[opt] string name "time", "instructions" or a counter of sim:profile
-- @tparam string device resolved name
-- @treturn table {name, title, exact, text = value in words, of = value of a record or nil}
-- @raise "invalid" when the device cannot tell it, "not_found" with the nearest name
function objective.new(name, device)
  local sim = device:match("^sim") ~= nil
  name = name or (sim and "instructions" or "time")
  if name == "time" then
    if sim then
      core.error("invalid", "the simulator's time says nothing about a GPU",
        "leave --objective out, or name a counter: --objective instructions")
    end
    return { name = name, title = "median", exact = false, text = units.time,
      of = function(rec) return rec.time and rec.time.median_us end }
  end
  if not device:match("^sim:profile") then
    core.error("invalid", ("only sim:profile counts %s"):format(name), "add --device sim:profile")
  end
  return counter(name)
end

return objective
