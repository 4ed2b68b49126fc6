--- The random source a task gets: every call takes the next stream of one seed (Philox, see
-- host/rng.h), so a value depends on the seed and on the order of calls only.
-- @module perigee.rng

local core = require "perigee.core"

local Rng = {}
Rng.__index = Rng

local rng = {}

--- A new source. @tparam integer seed
function rng.new(seed)
  return setmetatable({ seed = seed, streams = 0 }, Rng)
end

function Rng:next_stream()
  local stream = self.streams
  self.streams = stream + 1
  return stream
end

--- A new random array.
-- @param dtype scalar dtype, e.g. "f32"
-- @param shape integer or table of integers
-- @tparam[opt] table options {dist = "uniform"|"normal"|"integer"|"bits", low=, high=, mean=,
--   stddev=, first=, last=}; the default is uniform in [0, 1)
function Rng:array(dtype, shape, options)
  local how = { seed = self.seed, stream = self:next_stream() }
  for key, value in pairs(options or {}) do how[key] = value end
  return core.array(dtype, shape):random(how)
end

--- One uniform number in [low, high), default [0, 1).
function Rng:uniform(low, high)
  low, high = low or 0.0, high or 1.0
  return low + (high - low) * core.random_f64(self.seed, self:next_stream(), 0)
end

--- One integer from first to last, both included.
function Rng:integer(first, last)
  local one = core.array("i64", 1)
  one:random { seed = self.seed, stream = self:next_stream(), dist = "integer", first = first,
    last = last }
  return one[0]
end

return rng
