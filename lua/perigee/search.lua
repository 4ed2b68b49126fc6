--- Built-in searches over knobs: pipelines as a user writes them. Each proposes from what the
-- history holds, so that a search that was killed goes on from its stored records.
-- @module perigee.search

local search = {}

local TRIES = 1000 -- draws for a configuration that is open, before a space counts as exhausted

--- Every configuration in the order of their numbers. @treturn table a pipeline
function search.grid()
  local at = 0
  return {
    name = "grid", whole = true, blind = true,
    propose = function(history)
      local chosen = {}
      while at < history.space.count and #chosen < history.batch do
        if history:open(at) then chosen[#chosen + 1] = history.space.at(at) end
        at = at + 1
      end
      return chosen
    end,
  }
end

-- A function that gives open configurations at random, each once; nil when there is none left.
local function sampler(history, stream)
  local draw, list = history:random(stream), history.space.list()
  if list then list = table.move(list, 1, #list, 1, {}) end
  local given = {}
  local function fresh(index) return not given[index] and history:open(index) end
  local function from_list()
    while #list > 0 do
      local place = draw(#list) + 1
      local index = list[place]
      list[place] = list[#list]
      list[#list] = nil
      if fresh(index) then return index end
    end
  end
  local function by_trial()
    for _ = 1, TRIES do
      local index = draw(history.space.count)
      if fresh(index) then return index end
    end
  end
  return function()
    local index = (list and from_list or by_trial)()
    if index then given[index] = true end
    return index
  end
end
search.sampler = sampler

--- The default, then configurations at random, none twice. @treturn table a pipeline
function search.random()
  local sample
  return {
    name = "random", blind = true,
    propose = function(history)
      sample = sample or sampler(history, 1)
      local chosen = {}
      if #history == 0 and history:open(0) then chosen[1] = history.space.at(0) end
      while #chosen < history.batch do
        local index = sample()
        if not index then break end
        if index ~= 0 then chosen[#chosen + 1] = history.space.at(index) end
      end
      return chosen
    end,
  }
end

-- ---- annealing ----

local CHAINS = 4
local HOT, COLD = 0.25, 0.01 -- what slowdown (as a logarithm) is taken with probability 1/e
local FREE_STEPS = 200 -- over known configurations, which cost nothing

-- Whether a chain moves from value a to value b.
local function accepts(a, b, temperature, draw)
  if not b then return false end
  if not a or b <= a then return true end
  return draw() < math.exp(-math.log(b / a) / temperature)
end

local function temperature_of(history)
  local total = #history + (history.left or 0)
  local part = total > 0 and #history / total or 0
  return HOT * (COLD / HOT) ^ part
end

-- Walk from the chain's place over known neighbours until one is open; nil when it does not find
-- one.
local function step(history, chain, draw, taken)
  for _ = 1, FREE_STEPS do
    local near = history.space.neighbours(chain.index)
    if #near == 0 then return nil end
    local index = near[draw(#near) + 1]
    local known = history:known(index)
    if known and accepts(chain.value, known.value, temperature_of(history), draw) then
      chain.index, chain.value = index, known.value
    elseif not known and not taken[index] and history.space.allowed(index) then
      return index
    end
  end
  return nil
end

local function learn(history, chains, from, draw)
  for i = from, #history do
    local entry = history[i]
    local chain = chains[entry.note]
    if chain and entry.index and (not chain.index
      or accepts(chain.value, entry.value, temperature_of(history), draw)) then
      chain.index, chain.value = entry.index, entry.value
    end
  end
  return #history + 1
end

--- Simulated annealing: chains that walk from configuration to neighbour, the first from the
-- default. @treturn table a pipeline
function search.anneal()
  local chains, learned, draw, sample = {}, 1, nil, nil
  for i = 1, CHAINS do chains[i] = {} end
  return {
    name = "anneal",
    propose = function(history)
      draw, sample = draw or history:random(2), sample or sampler(history, 1)
      learned = learn(history, chains, learned, draw)
      local chosen, taken = {}, {}
      for number, chain in ipairs(chains) do
        local index = chain.index and step(history, chain, draw, taken)
        if not chain.index and number == 1 and history:open(0) then index = 0 end
        index = index or sample()
        if index and not taken[index] and #chosen < history.batch then
          taken[index] = true
          chosen[#chosen + 1] = { knobs = history.space.at(index), note = number }
        end
      end
      return chosen
    end,
  }
end

--- Search guided by a model of what is known. @treturn table a pipeline
function search.guided()
  return require("perigee.search_guided").new()
end

search.NAMES = { "guided", "anneal", "random", "grid" }

return search
