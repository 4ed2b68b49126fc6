--- What an agent's attempts are worth: rates, fast_p, pass@k, speedups. Pure functions over
-- samples.
--
-- A sample is one try at a task, of one round or several; what counts at round r is the best of its
-- first r rounds, for an agent that is told what its attempts cost can keep the best. A sample
-- without an answer is one that failed: nothing is left out of a rate.
-- @module perigee.scores

local core = require "perigee.core"

local scores = {}

--- The p of fast_p: the share of samples that are right and more than p times as fast.
scores.P = { 0, 0.5, 0.8, 1, 1.5, 2, 5 }

local NOT_COMPILED = { compile_error = true, refused = true, missing = true }

-- The largest speedup over `base` of the first `most` rounds that passed; 0 for one that passed and
-- has no figure; nil when none passed.
local function best(sample, most, base)
  local found
  for i = 1, math.min(most, #sample.rounds) do
    local round = sample.rounds[i]
    if round.verdict == "passed" then
      found = math.max(found or 0, round.speedup and round.speedup[base] or 0)
    end
  end
  return found
end

local function share(samples, holds)
  local count = 0
  for _, sample in ipairs(samples) do count = count + (holds(sample) and 1 or 0) end
  return #samples > 0 and count / #samples or 0
end

local function compiled(most)
  return function(sample)
    for i = 1, math.min(most, #sample.rounds) do
      if not NOT_COMPILED[sample.rounds[i].verdict] then return true end
    end
    return false
  end
end

-- Samples of the tasks that have this baseline, whether or not one was right.
local function with_base(samples, base)
  local has, list = {}, {}
  for _, sample in ipairs(samples) do
    for _, name in ipairs(sample.bases or {}) do
      if name == base then has[sample.task] = true end
    end
  end
  for _, sample in ipairs(samples) do
    if has[sample.task] then list[#list + 1] = sample end
  end
  return list
end

local function against(samples, base, most)
  local list, logs, count = with_base(samples, base), 0, 0
  local result = { base = base, samples = #list, fast = core.json_array {} }
  for i, p in ipairs(scores.P) do
    result.fast[i] = { p = p, share = share(list, function(sample)
      local speedup = best(sample, most, base)
      return speedup ~= nil and (p == 0 or speedup > p)
    end) }
  end
  for _, sample in ipairs(list) do
    local speedup = best(sample, most, base)
    if speedup and speedup > 0 then logs, count = logs + math.log(speedup), count + 1 end
  end
  result.passed, result.geomean = count, count > 0 and math.exp(logs / count) or nil
  return result
end

local function bases_of(samples)
  local names, seen = {}, {}
  for _, sample in ipairs(samples) do
    for _, round in ipairs(sample.rounds) do
      for name in pairs(round.speedup or {}) do
        if not seen[name] then names[#names + 1] = name end
        seen[name] = true
      end
    end
  end
  table.sort(names)
  return names
end

--- The unbiased estimate of pass@k for n samples of which c are right: 1 - C(n - c, k) / C(n, k),
-- as a product (Chen et al., Evaluating Large Language Models Trained on Code, 2021, section 2.1).
-- @treturn number|nil nil for k > n
function scores.pass_at(n, c, k)
  if k > n then return nil end
  if n - c < k then return 1.0 end
  local miss = 1.0
  for i = n - c + 1, n do miss = miss * (1 - k / i) end
  return 1 - miss
end

-- The mean over tasks, for each k that every task has samples enough for.
local function pass_at_all(samples)
  local tasks, order, least = {}, {}, math.huge
  for _, sample in ipairs(samples) do
    if not tasks[sample.task] then
      tasks[sample.task] = { n = 0, c = 0 }
      order[#order + 1] = sample.task
    end
    local one = tasks[sample.task]
    one.n = one.n + 1
    one.c = one.c + (best(sample, math.huge, "") and 1 or 0)
  end
  for _, name in ipairs(order) do least = math.min(least, tasks[name].n) end
  local list, k = core.json_array {}, 1
  while k <= least and #order > 0 do
    local sum = 0
    for _, name in ipairs(order) do sum = sum + scores.pass_at(tasks[name].n, tasks[name].c, k) end
    list[#list + 1] = { k = k, share = sum / #order }
    k = k < least and math.min(least, k * 2) or least + 1
  end
  return list
end

--- Score samples.
-- @tparam table samples list of {task, rounds = list of {verdict = a record's, or "refused" for
--   what could not be judged, or "missing"; speedup = {name = how many times faster than that}},
--   bases = names of what the task has to compare with, tokens, seconds}. A baseline that no sample
--   was compared with is one that this machine cannot run: it is left out
-- @treturn table {samples, tasks, attempts, tokens, seconds, compile_rate, correct_rate, pass_at =
--   list of {k, share}, rounds = for each round {round, compiled, correct, against = list of {base,
--   samples, passed, geomean, fast = list of {p, share}}}, against = that of the last round}
function scores.of(samples)
  local most, result = 1, { samples = #samples, attempts = 0, tokens = 0, seconds = 0 }
  local seen = {}
  result.tasks = 0
  for _, sample in ipairs(samples) do
    most = math.max(most, #sample.rounds)
    result.attempts = result.attempts + #sample.rounds
    result.tokens = result.tokens + (sample.tokens or 0)
    result.seconds = result.seconds + (sample.seconds or 0)
    result.tasks = result.tasks + (seen[sample.task] and 0 or 1)
    seen[sample.task] = true
  end
  result.rounds = core.json_array {}
  for round = 1, most do
    local row = { round = round, compiled = share(samples, compiled(round)),
      correct = share(samples, function(sample) return best(sample, round, "") ~= nil end),
      against = core.json_array {} }
    for i, base in ipairs(bases_of(samples)) do row.against[i] = against(samples, base, round) end
    result.rounds[round] = row
  end
  local last = result.rounds[most]
  result.compile_rate, result.correct_rate = last.compiled, last.correct
  result.against, result.pass_at = last.against, pass_at_all(samples)
  return result
end

return scores
