--- Guided search: a spread of first configurations, then those of the largest expected improvement
-- under a Gaussian process over the logarithm of the objective (Jones, Schonlau and Welch,
-- Efficient Global Optimization, 1998). A failed configuration counts as bad as the worst.
-- @module perigee.search_guided

local gaussian = require "perigee.gaussian"

local guided = {}

local POOL = 1500 -- open configurations that are looked at for each proposal
local LATEST = 160 -- points that the model is fitted to: the cost grows with their cube
local SPREAD_OF = 24 -- random configurations of which the one farthest from all others is taken

-- ---- configurations as points ----

-- Numbers by size, on a logarithmic scale when all are positive, from 0 to 1; others by a
-- coordinate for each value.
local function axes_of(space)
  local axes = {}
  for _, knob in ipairs(space.knobs) do
    local low, high, logarithmic = math.huge, -math.huge, true
    for _, value in ipairs(knob.values) do
      if type(value) ~= "number" then
        low = nil
        break
      end
      logarithmic = logarithmic and value > 0
      low, high = math.min(low, value), math.max(high, value)
    end
    if not low then
      for _, value in ipairs(#knob.values > 1 and knob.values or {}) do
        axes[#axes + 1] = function(given) return given[knob.name] == value and 1 or 0 end
      end
    elseif high > low then
      local function scale(x) return logarithmic and math.log(x) or x end
      local from, span = scale(low), scale(high) - scale(low)
      axes[#axes + 1] = function(given) return (scale(given[knob.name]) - from) / span end
    end
  end
  return axes
end

local function point_of(axes, values)
  local point = {}
  for d, axis in ipairs(axes) do point[d] = axis(values) end
  return point
end

local function distance(a, b)
  local sum = 0
  for d = 1, #a do sum = sum + (a[d] - b[d]) ^ 2 end
  return sum
end

-- ---- the first configurations ----

local function start_size(history, axes)
  local total = #history + (history.left or 60)
  return math.max(4, math.min(2 * #axes + 2, total // 4))
end

-- Of a few random configurations the one that is farthest from those known and chosen.
local function spread_one(self, history, chosen)
  local best, far
  for _ = 1, SPREAD_OF do
    local index = history.space.list() and self.list[self.draw(#self.list) + 1]
      or self.draw(history.space.count)
    if history:open(index) and not chosen[index] then
      local point, near = self:point(history, index), math.huge
      for _, other in ipairs(self:points_of(history, chosen)) do
        near = math.min(near, distance(point, other))
      end
      if not far or near > far then best, far = index, near end
    end
  end
  return best
end

-- ---- expected improvement ----

-- Density and distribution of the standard normal; the latter by Abramowitz and Stegun 26.2.17,
-- error below 7.5e-8.
local function normal(x)
  local density = math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
  local t = 1 / (1 + 0.2316419 * math.abs(x))
  local tail = density * t * (0.319381530 + t * (-0.356563782 + t * (1.781477937
    + t * (-1.821255978 + t * 1.330274429))))
  return density, x > 0 and 1 - tail or tail
end

local function improvement(model, point, best)
  local mean, deviation = model:at(point)
  local z = (best - mean) / deviation
  local density, below = normal(z)
  return (best - mean) * below + deviation * density, mean
end

-- Open configurations to look at: all, or a random part with the neighbours of the best.
local function pool_of(self, history)
  local pool, seen = {}, {}
  local function add(index)
    if not seen[index] and history:open(index) then pool[#pool + 1] = index end
    seen[index] = true
  end
  local ranked = {}
  for _, entry in ipairs(history) do
    if entry.value and entry.index then ranked[#ranked + 1] = entry end
  end
  table.sort(ranked, function(a, b) return a.value < b.value end)
  for i = 1, math.min(5, #ranked) do
    for _, index in ipairs(history.space.neighbours(ranked[i].index)) do add(index) end
  end
  if self.list and #self.list <= POOL then
    for _, index in ipairs(self.list) do add(index) end
  else
    for _ = 1, POOL do
      add(self.list and self.list[self.draw(#self.list) + 1] or self.draw(history.space.count))
    end
  end
  return pool
end

-- Known points with the logarithm of their objective.
local function known(self, history)
  local points, values, worst = {}, {}, nil
  for _, entry in ipairs(history) do
    if entry.value then worst = math.max(worst or -math.huge, math.log(entry.value)) end
  end
  for i = math.max(1, #history - LATEST + 1), #history do
    local entry = history[i]
    if entry.index and worst then
      points[#points + 1] = self:point(history, entry.index)
      values[#values + 1] = entry.value and math.log(entry.value) or worst
    end
  end
  return points, values
end

local function argmax(model, pool, taken, points, best)
  local chosen, most, expected
  for _, index in ipairs(pool) do
    if not taken[index] then
      local gain, mean = improvement(model, points[index], best)
      if not most or gain > most then chosen, most, expected = index, gain, mean end
    end
  end
  return chosen, expected
end

-- One after the other; what was chosen counts as evaluated with the value that is expected of it.
local function improve(self, history)
  local points, values = known(self, history)
  local model = gaussian.learn(points, values, self.model)
  if not model then return {} end
  self.model = model
  local pool, pool_points, taken, chosen = pool_of(self, history), {}, {}, {}
  for _, index in ipairs(pool) do pool_points[index] = self:point(history, index) end
  local best = math.log(history.best.value)
  while #chosen < history.batch do
    local index, expected = argmax(model, pool, taken, pool_points, best)
    if not index then break end
    taken[index] = true
    chosen[#chosen + 1] = index
    points[#points + 1], values[#values + 1] = pool_points[index], expected
    model = #chosen < history.batch
      and gaussian.fit(points, values, model.scales, math.max(model.noise, 1e-4)) or model
  end
  return chosen
end

-- ---- the pipeline ----

local Guided = {}
Guided.__index = Guided

function Guided:point(history, index)
  if not self.points[index] then
    self.points[index] = point_of(self.axes, history.space.at(index))
  end
  return self.points[index]
end

function Guided:points_of(history, chosen)
  local list = {}
  for _, entry in ipairs(history) do
    if entry.index then list[#list + 1] = self:point(history, entry.index) end
  end
  for index in pairs(chosen) do list[#list + 1] = self:point(history, index) end
  return list
end

local function spread(self, history, count)
  local chosen, order = {}, {}
  if #history == 0 and history:open(0) then chosen[0], order[1] = true, 0 end
  while #order < count do
    local index = spread_one(self, history, chosen)
    if not index then break end
    chosen[index] = true
    order[#order + 1] = index
  end
  return order
end

function Guided:propose(history)
  if not self.axes then
    self.axes, self.list = axes_of(history.space), history.space.list()
    self.draw = history:random(3 + #history)
  end
  local missing = start_size(history, self.axes) - #history
  local chosen
  if missing > 0 or not history.best then
    chosen = spread(self, history, math.max(1, math.min(history.batch, math.max(missing, 1))))
  else
    chosen = improve(self, history)
  end
  for i, index in ipairs(chosen) do chosen[i] = history.space.at(index) end
  return chosen
end

--- @treturn table a pipeline
function guided.new()
  local self = setmetatable({ points = {} }, Guided)
  return { name = "guided", propose = function(history) return self:propose(history) end }
end

return guided
