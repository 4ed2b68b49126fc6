--- What a search knows: the configurations evaluated so far, in order, and the space they are in.
-- A pipeline's `propose` gets it and only reads it.
--
-- `history[i]` is `{ index, knobs, value, verdict, note, record }`: value is the objective, smaller
-- is better, nil for a configuration that failed. `history.best` and `history.default` are entries
-- or nil, `history.left` says how many evaluations the budget still allows, `history.batch` how
-- many candidates are wanted at once, `history.seed` is the search's seed. `history.space` has
-- `count`, `names`, and functions `at(index)`, `index_of(knobs)`, `allowed(index)`,
-- `neighbours(index)`, `list()` (numbers of all allowed ones; nil when they are too many).
-- @module perigee.history

local core = require "perigee.core"
local knobs = require "perigee.knobs"

local History = {}
History.__index = History

local history = {}

local LIST_MOST = 1 << 16

local function space_of(space, environment)
  local listed, verdicts = nil, {}
  local self = { names = space.names, count = space.total, knobs = space.list }
  function self.at(index) return knobs.at(space, index) end
  function self.index_of(values) return knobs.index(space, values) end
  function self.neighbours(index) return knobs.neighbours(space, index) end
  function self.allowed(index)
    if verdicts[index] == nil then
      verdicts[index] = not knobs.broken(space, knobs.at(space, index), environment)
    end
    return verdicts[index]
  end
  function self.list()
    if space.total > LIST_MOST then return nil end
    listed = listed or knobs.list(space, environment)
    return listed
  end
  return self
end

--- @tparam table space what knobs.declare returned
-- @tparam table how {seed =, budget = evaluations, batch =, environment = names for constraints}
function history.new(space, how)
  return setmetatable({
    space = space_of(space, how.environment), seed = how.seed or 1, left = how.budget,
    batch = how.batch or 1, by_index = {},
  }, History)
end

--- Add what was found out. @tparam table entry {index or nil, knobs, value, verdict, note, record}
function History:add(entry)
  self[#self + 1] = entry
  self.left = self.left and math.max(0, self.left - 1)
  if entry.index then self.by_index[entry.index] = entry end
  if entry.index == 0 then self.default = entry end
  if entry.value and (not self.best or entry.value < self.best.value) then self.best = entry end
end

--- The entry of configuration `index` of the space; nil while it is unknown.
function History:known(index)
  return self.by_index[index]
end

--- Whether a configuration is worth proposing: it keeps the constraints and is unknown.
function History:open(index)
  return not self.by_index[index] and self.space.allowed(index)
end

--- A stream of random numbers that the seed fixes: `draw(n)` gives 0 to n - 1, `draw()` a float
-- below 1.
-- @tparam integer stream streams of different numbers are independent
function History:random(stream)
  local seed, counter = self.seed, 0
  return function(n)
    local bits = core.random_u64(seed, stream, counter) >> 11
    counter = counter + 1
    if n then return bits % n end
    return bits / (1 << 53)
  end
end

return history
