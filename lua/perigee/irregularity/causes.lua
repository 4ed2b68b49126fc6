--- Where the cost of a stage comes from: the variants of perigee.irregularity.ablations, timed,
-- counted, and the one explained by the other.
-- @module perigee.irregularity.causes

local core = require "perigee.core"
local ablations = require "perigee.irregularity.ablations"

local causes = {}

--- Split a cost along the chain of a stage: what each step saves against the one before it.
-- @tparam string stage
-- @tparam function cost variant key -> number (nil when it is not known)
-- @treturn table list of {cause, by, cost, share}, the last one what remains; and the whole cost;
--   nil when a variant is not known
function causes.split(stage, cost)
  local chain, list = ablations.CHAIN[stage], {}
  local whole = cost(ablations.key(chain[1]))
  local before = whole
  for i = 2, #chain do
    local now = cost(ablations.key(chain[i]))
    if not before or not now then return nil end
    list[#list + 1] = { cause = chain[i].cause, by = chain[i].by, cost = before - now,
      from = ablations.key(chain[i - 1]), to = ablations.key(chain[i]) }
    before = now
  end
  list[#list + 1] = { cause = ablations.FLOOR, by = "", cost = before }
  for _, one in ipairs(list) do one.share = one.cost / whole end
  return list, whole
end

--- What the pairs of a stage say. @treturn table list of {cause, cost, share, from, to}
function causes.pairs_of(stage, cost)
  local list, whole = {}, cost(ablations.key(ablations.CHAIN[stage][1]))
  for _, pair in ipairs(ablations.PAIRS[stage]) do
    local with, without = cost(pair.with), cost(pair.without)
    if with and without and whole then
      list[#list + 1] = { cause = pair.cause, cost = with - without, from = pair.with,
        to = pair.without, share = (with - without) / whole }
    end
  end
  return list
end

-- ---- times explained by counts ----

--- What is counted of a variant, in millions.
causes.COUNTED = {
  { "warp instructions", function(c) return c.warp_instructions / 1e6 end },
  { "load sectors", function(c) return c.global_load_sectors / 1e6 end },
  { "atomic sectors", function(c) return c.global_atomic_sectors / 1e6 end },
  { "collisions", function(c) return c.global_atomic_collisions / 1e6 end },
  { "store sectors", function(c) return c.global_store_sectors / 1e6 end },
  { "L2 misses", function(c) return ((c.l2_sectors or 0) - (c.l2_hit_sectors or 0)) / 1e6 end },
}

local function row_of(one)
  local row = {}
  for k, counted in ipairs(causes.COUNTED) do row[k] = counted[2](one.counters) end
  return row
end

-- Weights >= 0 with the least squares of relative errors, by cyclic coordinate descent.
local ROUNDS = 3000

local function least_squares(rows, targets)
  local count = #causes.COUNTED
  local weights, left = {}, table.move(targets, 1, #targets, 1, {})
  for k = 1, count do weights[k] = 0 end
  for _ = 1, ROUNDS do
    for k = 1, count do
      local along, square = 0, 0
      for i, row in ipairs(rows) do
        along, square = along + row[k] * left[i], square + row[k] * row[k]
      end
      local step = square > 0 and math.max(-weights[k], along / square) or 0
      weights[k] = weights[k] + step
      for i, row in ipairs(rows) do left[i] = left[i] - step * row[k] end
    end
  end
  return weights
end

-- Rows and targets in units of the measured time, so that errors are relative ones.
local function scaled(list, floor)
  local rows, targets = {}, {}
  for i, one in ipairs(list) do
    rows[i] = row_of(one)
    for k = 1, #rows[i] do rows[i][k] = rows[i][k] / one.us end
    targets[i] = (one.us - floor) / one.us
  end
  return rows, targets
end

--- The cost of a variant by its counts. @treturn number microseconds
function causes.modelled(model, one)
  local sum, row = model.floor, row_of(one)
  for k, weight in ipairs(model.weights) do sum = sum + weight * row[k] end
  return sum
end

--- Explain times by counts: microseconds a million of each, fitted.
-- @tparam table list of variants {us, counters}
-- @tparam number floor an empty kernel's time
-- @treturn table {weights, floor}
function causes.fit(list, floor)
  return { weights = least_squares(scaled(list, floor)), floor = floor }
end

--- How well counts foretell times: each cell by a model of the others (of itself where there is no
-- other).
-- @tparam table list of variants {us, counters, cell, kernel}
-- @treturn table {typical, worst, of = the worst variant, cells}: relative errors
function causes.agreement(list, floor)
  local cells, errors, result = {}, {}, { worst = 0, cells = 0 }
  for _, one in ipairs(list) do
    if not cells[one.cell] then result.cells = result.cells + 1 end
    cells[one.cell] = true
  end
  for cell in pairs(cells) do
    local others = {}
    for _, one in ipairs(list) do
      if one.cell ~= cell or result.cells == 1 then others[#others + 1] = one end
    end
    local model = causes.fit(others, floor)
    for _, one in ipairs(list) do
      if one.cell == cell and one.kernel ~= "empty" then
        local off = math.abs(causes.modelled(model, one) / one.us - 1)
        errors[#errors + 1] = off
        if off >= result.worst then result.worst, result.of = off, cell .. " " .. one.kernel end
      end
    end
  end
  result.typical = #errors > 0 and core.summarize(errors).median or nil
  return result
end

-- The variants of a stage that are timed and counted, in an order of their own.
local function timed_and_counted(list, stage)
  local some = {}
  for _, one in ipairs(list) do
    if one.stage == stage and one.us and one.counters then some[#some + 1] = one end
  end
  table.sort(some, function(a, b) return a.cell .. a.kernel < b.cell .. b.kernel end)
  return some
end

--- Explain the times of a stage's variants by their counts.
-- @tparam table variants list of {stage, cell, kernel, us, counters}; of other stages, too
-- @tparam string stage
-- @treturn table|nil what `fit` gave; nil when none, or only the empty kernel, is timed and
--   counted, or that one is not
-- @treturn table|nil what `agreement` gave
function causes.explain(variants, stage)
  local list, floor, others = timed_and_counted(variants, stage), math.huge, 0
  for _, one in ipairs(list) do
    if one.kernel == "empty" then floor = math.min(floor, one.us) else others = others + 1 end
  end
  if others == 0 or floor == math.huge then return nil end
  return causes.fit(list, floor), causes.agreement(list, floor)
end

--- How the simulator's counters compare with those of hardware, over all variants that have both.
-- @tparam table list of variants {counters, ncu, samples}
-- @treturn table list of {name, typical, least, most}: simulator / hardware
function causes.against_hardware(list)
  local result = {}
  for _, name in ipairs { "warp_instructions", "global_load_sectors", "global_atomic_sectors",
    "global_store_sectors" } do
    local ratios = {}
    for _, one in ipairs(list) do
      local ours, theirs = one.counters and one.counters[name], one.ncu and one.ncu[name]
      local counts = ours and theirs and theirs > one.samples / 100 -- a few are noise
      if counts then ratios[#ratios + 1] = ours / theirs end
    end
    if #ratios > 0 then
      local s = core.summarize(ratios)
      result[#result + 1] = { name = (name:gsub("global_", ""):gsub("_", " ")),
        typical = s.median, least = s.min, most = s.max }
    end
  end
  return result
end

--- How well counts explain times, and the simulator's counters those of hardware, as rows.
-- @tparam table list of variants {stage, cell, kernel, samples, us, counters, ncu}
-- @treturn table list of {stage, what, value as text}
function causes.agreement_rows(list)
  local rows = {}
  local function add(stage, what, value) rows[#rows + 1] = { stage, what, value } end
  for _, stage in ipairs { "allocate", "update" } do
    local model, agreement = causes.explain(list, stage)
    if model then
      add(stage, "median error", ("%.3f"):format(agreement.typical))
      add(stage, "largest error", ("%.3f"):format(agreement.worst))
      add(stage, "largest of", (agreement.of:gsub(",", "")))
      for k, counted in ipairs(causes.COUNTED) do
        add(stage, counted[1], ("%.3g"):format(model.weights[k]))
      end
    end
  end
  for _, one in ipairs(causes.against_hardware(list)) do
    add("hardware", one.name, ("%.2f"):format(one.typical))
  end
  return rows
end

return causes
