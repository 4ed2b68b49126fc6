--- What an agent's attempts are worth: rates, fast_p, pass@k, speedups. Pure functions over
-- samples.
--
-- A sample is one try at a task, of one round or several. At round r the best of its first r rounds
-- counts, for an agent that is told what its attempts cost can keep the best; in the end the best
-- of all or, with the tools, what it submitted. A sample without an answer is one that failed:
-- nothing is left out of a rate.
-- @module perigee.scores

local core = require "perigee.core"

local scores = {}

-- The p of fast_p: the share of samples that are right and more than p times as fast.
local P = { 0, 0.5, 0.8, 1, 1.5, 2, 5 }

-- As what speedup a failed sample counts in the geometric mean over all of them.
local FAILED_AS = 0.1

local NOT_COMPILED = { compile_error = true, refused = true, missing = true, environment = true }

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

-- ---- against a baseline ----

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

local function geomeans(list, base, most)
  local logs, count, failed = 0, 0, 0
  for _, sample in ipairs(list) do
    local speedup = best(sample, most, base)
    if not speedup then failed = failed + 1 end
    if speedup and speedup > 0 then logs, count = logs + math.log(speedup), count + 1 end
  end
  local all = logs + failed * math.log(FAILED_AS)
  return count, count > 0 and math.exp(logs / count) or nil,
    count + failed > 0 and math.exp(all / (count + failed)) or nil
end

local function against(samples, base, most)
  local list = with_base(samples, base)
  local result = { base = base, samples = #list, fast = core.json_array {} }
  for i, p in ipairs(P) do
    result.fast[i] = { p = p, share = share(list, function(sample)
      local speedup = best(sample, most, base)
      return speedup ~= nil and (p == 0 or speedup > p)
    end) }
  end
  result.passed, result.geomean, result.geomean_all = geomeans(list, base, most)
  return result
end

-- What a sample says of its baselines: whether some round was timed, and beside which.
local function note_bases(sample, timed, seen)
  for _, round in ipairs(sample.rounds) do
    for name in pairs(round.speedup or {}) do seen[name], timed[sample.task] = true, true end
  end
end

-- Baselines that count, and those that this machine cannot run: kernels of their tasks were timed,
-- and never beside them.
local function bases_of(samples)
  local timed, seen, lacking = {}, {}, {}
  for _, sample in ipairs(samples) do note_bases(sample, timed, seen) end
  for _, sample in ipairs(samples) do
    for _, name in ipairs(sample.bases or {}) do
      lacking[name] = not seen[name] and (lacking[name] or timed[sample.task] or false)
    end
  end
  local names, missing = {}, core.json_array {}
  for name, lacks in pairs(lacking) do table.insert(lacks and missing or names, name) end
  table.sort(names)
  table.sort(missing)
  return names, missing
end

-- ---- pass@k ----

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

-- ---- all of it ----

local function row_of(samples, bases, most)
  local row = { compiled = share(samples, compiled(most)),
    correct = share(samples, function(sample) return best(sample, most, "") ~= nil end),
    against = core.json_array {} }
  for i, base in ipairs(bases) do row.against[i] = against(samples, base, most) end
  return row
end

-- The samples with only what counts in the end.
local function finals(samples)
  local list = {}
  for i, sample in ipairs(samples) do
    list[i] = sample.setting ~= "tools" and sample
      or { task = sample.task, bases = sample.bases, rounds = { sample.final } }
  end
  return list
end

local function attempts_of(sample)
  local count = 0
  for _, round in ipairs(sample.rounds) do
    if round.verdict ~= "missing" then count = count + 1 end
  end
  return count
end

--- Score samples.
-- @tparam table samples list of {task, setting, rounds = list of {verdict = a record's, or
--   "refused" for what could not be judged, or "missing"; speedup = {name = how many times faster
--   than that}}, final = with the tools, the round that was submitted; bases = names of what the
--   task has to compare with, tokens, seconds}
-- @treturn table {samples, tasks, attempts, tokens, seconds, compile_rate, correct_rate, against =
--   list of {base, samples, passed, geomean = of those that passed, geomean_all = with each that
--   failed as `failed_as`, fast = list of {p, share}}, pass_at = list of {k, share}: in the end;
--   rounds = for each round {round, compiled, correct, against}; no_base = baselines that this
--   machine cannot run, failed_as}
function scores.of(samples)
  local most, seen = 1, {}
  local result = { samples = #samples, tasks = 0, attempts = 0, tokens = 0, seconds = 0,
    failed_as = FAILED_AS, rounds = core.json_array {} }
  for _, sample in ipairs(samples) do
    most = math.max(most, #sample.rounds)
    result.attempts = result.attempts + attempts_of(sample)
    result.tokens = result.tokens + (sample.tokens or 0)
    result.seconds = result.seconds + (sample.seconds or 0)
    result.tasks = result.tasks + (seen[sample.task] and 0 or 1)
    seen[sample.task] = true
  end
  local bases, missing = bases_of(samples)
  result.no_base = missing
  for round = 1, most do
    result.rounds[round] = row_of(samples, bases, round)
    result.rounds[round].round = round
  end
  local last = finals(samples)
  local row = row_of(last, bases, math.huge)
  result.compile_rate, result.correct_rate = row.compiled, row.correct
  result.against, result.pass_at = row.against, pass_at_all(last)
  return result
end

return scores
