--- What a search makes small: the median time on a device with a clock, else a counter of the
-- simulator, which is exact and never presented as time.
-- @module perigee.objective

local core = require "perigee.core"
local units = require "perigee.units"

local objective = {}

local COUNTERS = { instructions = "warp_instructions" } -- short names

local function counter(name)
  local field = COUNTERS[name] or name
  return {
    name = name, exact = true, title = name, text = units.count,
    of = function(rec)
      local counters = rec.verdict == "passed" and rec.counters
      if not counters or not counters.complete then return nil end
      local value = counters[field]
      if type(value) ~= "number" then
        local names = {}
        for key, count in pairs(counters) do
          if type(count) == "number" then names[#names + 1] = key end
        end
        table.sort(names)
        core.error("not_found", ("no counter '%s'"):format(name),
          require("perigee.suggest").hint(name, names, "counters"))
      end
      return math.max(value, 1) -- ratios need more than nothing
    end,
  }
end

--- @tparam[opt] string name "time", "instructions" or a counter of sim:profile
-- @tparam string device resolved name
-- @treturn table {name, title, exact, text = value in words, of = value of a record or nil}
-- @raise "invalid" when the device cannot tell it
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
