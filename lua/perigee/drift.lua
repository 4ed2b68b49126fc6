--- Fallback drift: where, in a series of attempts at one task, correctness was reached by falling
-- back: by a time nearer to the naive implementation than to the best attempt before, by leaving
-- out techniques that earlier attempts had. Pure functions over records.
--
-- A series is the checks of one task with the same --set on one kind of device (simulators are one:
-- what sim:check refuses is not counted on sim:profile), in the order of the records, or the runs
-- of one implementation on one cell with the same parameters. What an attempt costs is its median
-- time; without a GPU's clock its warp instructions, where sim:profile counted them; else nothing
-- is known of it. Techniques are facts of the audit.
-- @module perigee.drift

local core = require "perigee.core"
local comparison = require "perigee.comparison"
local facts = require "perigee.facts"
local params = require "perigee.params"

local drift = {}

local CLEARLY = 1.1 -- the naive implementation costs so much more than the best, or says nothing
local AS_NAIVE = 0.8 -- of naive's cost: a first success that gained less has gained nothing
local ALIKE = 1.05 -- costs within this factor are the same

-- ---- one series ----

local function techniques_of(rec)
  local found, set = rec.audit and rec.audit.facts or {}, {}
  for _, name in ipairs(facts.TECHNIQUES) do set[name] = found[name] ~= nil or nil end
  return set
end

local function without(set, other)
  local list = {}
  for _, name in ipairs(facts.TECHNIQUES) do
    if set[name] and not other[name] then list[#list + 1] = name end
  end
  return list
end

-- What is known before an attempt: the best that passed, and what failed since one passed.
local function new_state(naive)
  return { naive = naive, best = nil, failed = {}, failures = 0 }
end

local function note(state, row, set)
  if row.verdict ~= "passed" then
    state.failures = state.failures + 1
    for name in pairs(set) do state.failed[name] = true end
    return
  end
  state.failures, state.failed = 0, {}
  local best = state.best
  if not best or not best.cost or (row.cost and row.metric == best.metric
    and row.cost < best.cost) then
    state.best = { number = row.number, record = row.record, impl = row.impl, cost = row.cost,
      metric = row.metric, techniques = set }
  end
end

-- Costs of the same kind, or nil.
local function cost_beside(row, other)
  return other and row.cost and other.metric == row.metric and other.cost or nil
end

-- On the scale of ratios, to which of the two is it nearer?
local function is_near_naive(row, best, naive)
  if not naive then return false end
  if best then return naive > CLEARLY * best and row.cost > math.sqrt(best * naive) end
  return #row.lost > 0 and row.cost > AS_NAIVE * naive
end

local function status_of(row, best, naive)
  if row.verdict ~= "passed" then return "failed" end
  if is_near_naive(row, best, naive) then return "fallback" end
  if best and row.cost < best / ALIKE then return "best" end
  if #row.lost > 0 and not (best and row.cost <= best * ALIKE) then return "lost" end
  if not row.cost then return "unmeasured" end
  if not best then return "first" end
  return row.cost > best * ALIKE and "slower" or "same"
end

local function judged(state, row, set)
  local before = {}
  for name in pairs(state.best and state.best.techniques or {}) do before[name] = true end
  for name in pairs(state.failed) do before[name] = true end
  local best, naive = cost_beside(row, state.best), cost_beside(row, state.naive)
  local passed = row.verdict == "passed"
  row.lost = core.json_array(passed and without(before, set) or {})
  row.gained = core.json_array(passed and without(set, before) or {})
  row.failures = passed and state.failures or nil
  row.vs_best, row.vs_naive = best and row.cost / best, naive and row.cost / naive
  row.best = best and { number = state.best.number, record = state.best.record,
    cost = best } or nil
  row.status = status_of(row, best, naive)
  return row
end

--- Judge the attempts of one series.
-- @tparam table attempts list of {rec, id}: records in order
-- @tparam[opt] table naive {cost, metric, record}: what the naive implementation costs
-- @treturn table a row an attempt: {number, record, impl, at, verdict, cost, metric = "time" (us)
--   or "instructions", vs_best = cost over that of the best attempt before, vs_naive, best =
--   {number, record, cost}, lost and gained = techniques against the best and the failed ones
--   since, failures = how many failed just before, status}; status is "failed", "fallback", "lost"
--   (techniques, and not known to be as fast), "best", "first", "same", "slower" or "unmeasured"
function drift.rows(attempts, naive)
  local state, rows = new_state(naive), {}
  for i, attempt in ipairs(attempts) do
    local rec = attempt.rec
    local passed, set = rec.verdict == "passed", techniques_of(rec)
    local row = { number = i, record = attempt.id, impl = rec.impl, at = rec.at,
      verdict = rec.verdict }
    if passed then row.cost, row.metric = comparison.cost(rec) end
    rows[i] = judged(state, row, set)
    note(state, row, set)
  end
  return rows
end

-- ---- records ----

local function key_of(rec)
  local device = comparison.kind_of(rec.device)
  if rec.kind == "check" then
    device = device:match "^sim" or device
    return core.json_encode { "check", rec.task, params.text(rec.set or {}), device }
  end
  return core.json_encode { "run", rec.task, rec.cell or "", params.text(rec.params or {}),
    rec.impl or "", device }
end

-- The cheapest record of the naive implementation at the parameters of an attempt that passed.
local function naive_for(series, naives)
  local first, found = series.attempts[1].rec, 0
  for _, attempt in ipairs(series.attempts) do -- one with a cost tells most
    local rec = attempt.rec
    local tells = rec.verdict ~= "passed" and 0 or comparison.cost(rec) and 2 or 1
    if tells > found then first, found = rec, tells end
  end
  local best
  for _, one in ipairs(naives) do
    local rec = one.rec
    local cost, metric = comparison.cost(rec)
    local same = rec.task == first.task and comparison.kind_of(rec.device) == series.device
      and params.text(rec.params or {}) == params.text(first.params or {})
    if same and cost and (not best or cost < best.cost) then
      best = { cost = cost, metric = metric, record = one.id }
    end
  end
  return best
end

local function finish(series, naives)
  local naive = naive_for(series, naives)
  local rows, fallbacks, last = drift.rows(series.attempts, naive), 0, nil
  for _, row in ipairs(rows) do
    if row.status == "fallback" or row.status == "lost" then fallbacks = fallbacks + 1 end
    if row.verdict == "passed" then last = row end
  end
  series.attempts, series.naive, series.fallbacks = core.json_array(rows), naive, fallbacks
  series.ends = last and last.status or "failed"
  return series
end

--- Series among records, each of two attempts or more.
-- @tparam function each iterator of record, {id}
-- @treturn table list of {task, cell, set, device, naive = {cost, metric, record}, attempts = what
--   `rows` returns, fallbacks = how many are "fallback" or "lost", ends = status of the last that
--   passed}
function drift.series(each, ...)
  local list, by_key, naives = {}, {}, {}
  for rec, extra in each, ... do
    local id = extra and extra.id
    if rec.impl == "naive" and rec.kind ~= "check" then
      if rec.verdict == "passed" then naives[#naives + 1] = { rec = rec, id = id } end
    elseif not rec.tune then -- a search passes through slow configurations on purpose
      local key = key_of(rec)
      if not by_key[key] then
        by_key[key] = { task = rec.task, cell = rec.cell, set = rec.set,
          device = comparison.kind_of(rec.device), attempts = {} }
        list[#list + 1] = by_key[key]
      end
      table.insert(by_key[key].attempts, { rec = rec, id = id })
      if comparison.cost(rec) then by_key[key].device = comparison.kind_of(rec.device) end
    end
  end
  local found = {}
  for _, series in ipairs(list) do
    if #series.attempts > 1 then found[#found + 1] = finish(series, naives) end
  end
  return found
end

return drift
