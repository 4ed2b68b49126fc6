--- The scores of an evaluation in words: what `perigee eval` prints.
-- @module perigee.report_eval

local core = require "perigee.core"
local columns = require "perigee.columns"
local common = require "perigee.cli.common"
local units = require "perigee.units"

local report = {}

local ROUNDS_MOST = 12 -- lines of a curve

-- ---- samples ----

local function speedup_of(round)
  return round.verdict == "passed" and (round.speedup and round.speedup.naive or 0) or -1
end

-- What counts: what was submitted; else the best round, else the last.
local function shown_of(state)
  if state.unscored then return { verdict = "environment", reason = state.unscored } end
  if state.final then return state.final end
  local shown = { verdict = "missing", reason = state.ended and "the agent stopped" }
  for _, round in ipairs(state.rounds) do
    if speedup_of(round) >= speedup_of(shown) then shown = round end
  end
  return shown
end

--- A row for each sample.
-- @tparam table states as perigee.samples describes them
-- @treturn table list of {task, sample, rounds = how many, verdict, speedup, cost, unit, record =
--   its number, reason, tokens, seconds, fallbacks = how many of its attempts fell back}
function report.rows(states)
  local rows = core.json_array {}
  for i, state in ipairs(states) do
    local shown = shown_of(state)
    local passed = shown.verdict == "passed"
    rows[i] = { task = state.task, sample = state.sample, rounds = #state.rounds,
      verdict = shown.verdict, speedup = passed and shown.speedup or nil, cost = shown.cost,
      unit = shown.unit, record = shown.attempt, tokens = state.tokens, seconds = state.seconds,
      fallbacks = state.fallbacks,
      reason = not passed and (shown.reason or ""):match "^[^\n]*" or nil }
  end
  return rows
end

local function sample_lines(list)
  local rows = {}
  for i, row in ipairs(list) do
    local naive = row.speedup and row.speedup.naive
    rows[i] = { row.task, tostring(row.sample), tostring(row.rounds), row.verdict,
      naive and units.ratio(naive) or "", row.record and tostring(row.record) or "",
      row.reason or (row.fallbacks or 0) > 0 and ("%d fell back"):format(row.fallbacks) or "" }
  end
  return columns.text({ { title = "task" }, { title = "sample", right = true },
    { title = "rounds", right = true }, { title = "verdict" }, { title = "vs naive", right = true },
    { title = "record", right = true }, { title = "" } }, rows)
end

-- ---- scores ----

local counted = units.counted

local function share(value) return units.percent(value) end

local function geomean(one)
  return one.geomean and ("%s of %d"):format(units.ratio(one.geomean), one.passed) or "-"
end

-- Numbers of the rounds to show: all, or the first and ever fewer, and the last.
local function shown_rounds(count)
  local list, at = {}, 1
  while at < count do
    list[#list + 1] = at
    at = count <= ROUNDS_MOST and at + 1 or math.max(at + 1, at * 3 // 2)
  end
  list[#list + 1] = count
  return list
end

local function round_lines(result)
  local titles = { { title = "round", right = true }, { title = "compiled", right = true },
    { title = "correct", right = true } }
  for _, one in ipairs(result.against) do
    titles[#titles + 1] = { title = "against " .. one.base, right = true }
  end
  local rows = {}
  local function add(name, compiled, correct, against)
    local row = { name, share(compiled), share(correct) }
    for _, one in ipairs(against) do row[#row + 1] = geomean(one) end
    rows[#rows + 1] = row
  end
  for _, i in ipairs(shown_rounds(#result.rounds)) do
    local row = result.rounds[i]
    add(tostring(i), row.compiled, row.correct, row.against)
  end
  if result.setting == "tools" then
    add("submitted", result.compile_rate, result.correct_rate, result.against)
  end
  return columns.text(titles, rows)
end

local function base_lines(lines, result)
  for _, one in ipairs(result.against) do
    local parts = {}
    for i, at in ipairs(one.fast) do parts[i] = ("%g: %s"):format(at.p, share(at.share)) end
    lines[#lines + 1] = ("  fast_p against %s  %s"):format(one.base, table.concat(parts, "  "))
    if one.geomean_all then
      lines[#lines + 1] = ("  geometric mean against %s  %s over all of %s, those that "
        .. "failed as %g"):format(one.base, units.ratio(one.geomean_all),
        counted(one.samples, "sample"),
        result.failed_as)
    end
  end
  for _, name in ipairs(result.no_base) do
    lines[#lines + 1] = ("  %s cannot be run on this machine"):format(name)
  end
end

--- Print the scores. @tparam table result what perigee.scores made, with setting, session, list,
-- fallbacks, unscored, interrupted, ended
function report.print(result, options)
  local part = (result.interrupted or result.ended) and ", NOT ALL OF THEM" or ""
  local lines = { ("%s, %s, %s%s: %s, session %s"):format(result.setting,
    counted(result.tasks, "task"), counted(result.samples, "sample"), part, options.agent,
    result.session), "",
    sample_lines(result.list), "", round_lines(result) }
  base_lines(lines, result)
  for _, row in ipairs(result.list) do
    if row.unit == "warp_instructions" then
      lines[#lines + 1] = "  costs: warp instructions, counted on the simulator, no time of a GPU"
      break
    end
  end
  local pass = {}
  for i, at in ipairs(result.pass_at) do pass[i] = ("%d: %s"):format(at.k, share(at.share)) end
  lines[#lines + 1] = "  pass@k  " .. table.concat(pass, "  ")
  lines[#lines + 1] = ("  %s, %.0f s, %s as reported; %s fell back"):format(
    counted(result.attempts, "attempt"), result.seconds, counted(result.tokens, "token"),
    counted(result.fallbacks, "sample"))
  if result.unscored > 0 then
    lines[#lines + 1] = ("  without a score: %s more"):format(counted(result.unscored, "sample"))
  end
  common.out(table.concat(lines, "\n"))
end

return report
