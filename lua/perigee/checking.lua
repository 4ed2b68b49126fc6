--- Checking one candidate: every check size with several seeds, families of values, then the size
-- that is timed. The methods belong to a session of perigee.judge.
-- @module perigee.checking

local core = require "perigee.core"
local case = require "perigee.case"
local errors = require "perigee.errors"
local families = require "perigee.families"
local impl = require "perigee.impl"
local params = require "perigee.params"
local pattern = require "perigee.pattern"
local record = require "perigee.record"
local second = require "perigee.second"
local seeds = require "perigee.seeds"
local validate = require "perigee.validate"
local verdict = require "perigee.verdict"

local checking = {}

local Session = {} -- what is added to it

local SEED_CHECK, SEED_TIMED = 1 << 20, 1 << 21 -- streams of the base seed
local SEEDS_OF_SIZE = 64 -- apart: seeds and families of one check size

local function is_wrong(failure)
  return failure.verdict == "wrong_result" or failure.verdict == "unwritten_output"
end

-- A record shows its seed, from which all inputs follow: the next candidate, which may have been
-- written since, gets inputs of another. A seed that the user gave stays.
function Session:renew()
  if self.seed_used and not self.repeats then
    self.seed, self.cases = seeds.fresh(), {}
    if self.other then self.other.seed, self.other.cases = self.seed, self.cases end
    collectgarbage() -- Lua does not know how large the arrays of a case are
  end
  self.seed_used = true
end

local AHEAD_S = 1 -- what is not made in so much is made when it is needed

--- Make the inputs of the next candidate while nobody waits: of the task and sizes of the last.
function Session:prepare_ahead()
  local last = self.last
  if not last or not self.seed_used or self.repeats or last.seconds > AHEAD_S then return end
  self:renew()
  self.seed_used = false -- nobody has seen it
  self:prepare_cases(last.task, last.set)
  local timed_s = (1 + #last.task.also) * (last.timed_s or math.huge)
  if timed_s <= AHEAD_S then self:prepare_timed(last.task, last.set, last.untimed) end
end

-- The case for a purpose and seed, kept while the candidate is judged.
function Session:case(task, how, stream, family)
  local p = task:resolve(how)
  local key = table.concat({ task.name, stream, family or "", params.text(p) }, "\n")
  if not self.cases[key] then
    self.cases[key] = case.make(task, p, self:seed_of(stream), family)
  end
  return self.cases[key]
end

local function at(one, which, purpose)
  return ("%s (%s)"):format(one.task:brief(one.p, purpose), which)
end

-- `entry`: of check_list.
function Session:check_case(task, entry, set)
  return self:case(task, { purpose = "check", index = entry.index, set = set },
    SEED_CHECK + entry.index * SEEDS_OF_SIZE + entry.number, entry.family)
end

-- What is checked, in order: a list of {index, number, family}.
function Session:check_list(task, set)
  return families.list(params.check_count(task.params, set), seeds.CHECK, function(index)
    return self:check_case(task, { index = index, number = 1 }, set)
  end)
end

-- Cases of the timed size that are judged and not timed: the task's field `also`. What the user has
-- set stays.
function Session:also_list(task, set)
  local list = {}
  for i, changes in ipairs(task.also) do
    local all, differs = {}, false
    for name, value in pairs(set or {}) do all[name] = value end
    for name, value in pairs(changes) do
      differs = differs or all[name] == nil
      if all[name] == nil then all[name] = value end
    end
    local one = { purpose = self.purpose, set = all }
    if differs then list[#list + 1] = self:case(task, one, SEED_TIMED + i) end
  end
  return list
end

--- The case that is timed, complete; `untimed`: for a verdict, which one version serves.
function Session:timed_case(task, set, untimed)
  local started = core.now()
  local one = self:case(task, { purpose = self.purpose, set = set }, SEED_TIMED)
  if untimed then one:expected() elseif not one.versions then self:complete(one) end
  if self.last then self.last.timed_s, self.last.untimed = core.now() - started, untimed end
  return one
end

-- Families that a task did not ask for may be none of its own: a matrix that must be definite,
-- sorted keys, probabilities.
local function is_guessed(task, entry) return entry.family ~= nil and task.families == nil end

-- Whether the reference has an answer to such values.
function Session:has_answer(task, entry, set)
  local one = self:check_case(task, entry, set)
  if one.unanswerable == nil then
    local ok, e = errors.catch("invalid", one.expected, one)
    if not ok and e.code == "out_of_memory" then errors.again(e) end
    one.unanswerable = not ok
  end
  return not one.unanswerable
end

-- Whether the task's first implementation, if it can say, is right with such values. Its process
-- serves until the candidate is judged.
function Session:is_own(task, entry, set)
  local one, declared = self:check_case(task, entry, set), task:select_impls()[1]
  if not declared or not params.fits(declared.only, one.p) then return true end
  local there, resolved = errors.catch("invalid", impl.resolve, task, declared)
  if not there then return true end
  local arm = { impl = resolved, p = one.p, kind = "check", cases = 0, runner = self.own_runner }
  self:build { arm }
  arm.case = one
  local failure = arm.failure or self:run_case(arm, 1, true)
  self.own_runner = arm.runner
  return not failure or not is_wrong(failure)
end

-- Inputs and expected values of the check sizes, made while the driver and the compiler are busy.
function Session:prepare_cases(task, set)
  self.progress("making inputs and expected values")
  local started = core.now()
  for _, one in ipairs(self:check_list(task, set)) do
    if not is_guessed(task, one) or self:has_answer(task, one, set) then
      self:check_case(task, one, set):expected()
    end
  end
  local key, before = core.json_encode { task.name, set or {} }, self.last or {}
  self.last = { key = key, task = task, set = set, seconds = core.now() - started,
    timed_s = before.key == key and before.timed_s or nil, untimed = before.untimed }
end

-- Those of the timed size: they may take seconds, which is too much for a candidate that fails at a
-- small one.
function Session:prepare_timed(task, set, untimed)
  for _, one in ipairs(self:also_list(task, set)) do one:expected() end
  self:timed_case(task, set, untimed)
end

-- What a failing case leaves that later cases overwrite.
local OF_CASE = { "case", "cases", "checks", "facts", "counters", "profile", "findings", "wall_us",
  "schedule", "steps", "kernel_names" }

local function keep(arm)
  local kept = {}
  for _, field in ipairs(OF_CASE) do kept[field] = arm[field] end
  kept.found = arm.audit and arm.audit.findings
  return kept
end

local function declared(one)
  local values = { values = one.family or "drawn" }
  for name in pairs(one.task.params) do values[name] = one.p[name] end
  return values
end

-- Which cases fail says what is wrong: after a wrong result the others are tried, too, for a
-- moment.
local AFTER_S = 2

local function failed_cases(tried, count)
  local failed = 0
  for _, one in ipairs(tried) do failed = failed + (one.ok and 0 or 1) end
  return { failed = failed, tried = #tried, of = count, pattern = pattern.cases(tried) }
end

-- One check size with one seed, or one family; the failure, if any.
function Session:check_one(arm, task, entry, set)
  arm.case = self:check_case(task, entry, set)
  local which = entry.family and ("%s values"):format(entry.family)
    or ("inputs %d of %d"):format(entry.number, seeds.CHECK)
  local where = at(arm.case, which, "sim")
  self.progress("checking " .. where)
  local twice = entry.number == seeds.CHECK
    and entry.index == params.check_count(task.params, set)
  local failure = self:verify(arm, 1, twice and "twice" or true)
  return failure, failure and verdict.is_of_case(failure) and where or nil
end

-- What was not judged, and why not: a note of the record.
local function left_out(names)
  if #names == 0 then return nil end
  local text = "%s values left out: the task's own reference or implementation has no right answer "
    .. "to them; its field `families` says which it takes"
  return { kind = "family", severity = "note", text = text:format(table.concat(names, ", ")) }
end

-- One entry as check_one does it; nil, nil, true where its family is none of the task's.
function Session:check_entry(arm, task, one, set)
  local guessed = is_guessed(task, one)
  if guessed and not self:has_answer(task, one, set) then return nil, nil, true end
  local failure, where = self:check_one(arm, task, one, set)
  if guessed and failure and is_wrong(failure) and not self:is_own(task, one, set) then
    return nil, nil, true
  end
  return failure, where, false
end

-- Everything that is checked. The first failure decides.
function Session:check_cases(arm, task, set)
  local tried, others, kept, since = {}, {}, nil, nil
  local list = self:check_list(task, set)
  for _, one in ipairs(list) do
    local failure, where, not_ours = self:check_entry(arm, task, one, set)
    if not_ours then others[#others + 1] = one.family
    else tried[#tried + 1] = { params = declared(arm.case), ok = not failure } end
    if failure and not kept then
      kept, since = keep(arm), core.now()
      arm.failure, arm.failed_at, arm.failed_entry = failure, where, one
    end
    if failure and not is_wrong(failure) then break end
    if kept and core.now() - since > AFTER_S then break end
  end
  arm.left_out = left_out(others)
  if not kept then return end
  for _, field in ipairs(OF_CASE) do arm[field] = kept[field] end
  if arm.audit then arm.audit.findings = kept.found end
  if is_wrong(arm.failure) then
    arm.failed_cases = failed_cases(tried, #list - #others)
  end
end

-- Inputs of the timed size that are not timed.
function Session:check_also(arm, task, set)
  for _, one in ipairs(self:also_list(task, set)) do
    arm.case = one
    local where = at(one, "the timed size, but not timed", self.purpose)
    self.progress("checking " .. where)
    arm.failure = self:verify(arm, 1)
    arm.failed_at = arm.failure and verdict.is_of_case(arm.failure) and where or nil
    if arm.failure then return end
  end
end

-- The size that is timed, with inputs that no earlier case had.
function Session:check_timed(arm, task, set, untimed)
  arm.case = self:timed_case(task, set, untimed)
  local where = at(arm.case, "the timed size", self.purpose)
  self.progress("checking " .. where)
  arm.failure = self:verify(arm, self:sets_for(arm.case, { arm }))
  arm.failed_at = arm.failure and verdict.is_of_case(arm.failure) and where or nil
  if not arm.failure and not untimed then self:time { arm } end
end

--- Check one candidate: compile, every check size with three seeds, then the timed size.
-- @tparam table task
-- @tparam table candidate what impl.candidate returned
-- @tparam table how {set = {name = value, list or text}}: a list stands for the sizes that are
--   checked, of which the last is timed; knobs = {name = value or text}; untimed = true for the
--   verdict alone; small = true: who calls judges the timed size, with the session's timed_case
-- @treturn table,table the record, and what is too long to print, see record.of
function Session:check(task, candidate, how)
  self.pool:fill(1) -- the first thing of all: it opens the driver meanwhile
  self:renew()
  validate.prepare(task)
  local arm = { cases = 0, kind = "check", set = how.set }
  arm.p = task:resolve { purpose = self.purpose, set = how.set }
  arm.impl = impl.choose(candidate, how.knobs, true)
  if candidate.is_data and not candidate.broken then impl.check_knobs(arm.impl, task, arm.p) end
  self:build({ arm }, function()
    self:prepare_cases(task, how.set)
    if not self.info and not how.small then self:prepare_timed(task, how.set, how.untimed) end
  end)
  arm.case = self:check_case(task, { index = 1, number = 1 }, how.set)
  if not arm.failure then self:check_cases(arm, task, how.set) end
  if not arm.failure and not self.sim then
    arm.failure, arm.failed_at = second.ask(self, arm, task, how.set)
  elseif arm.failed_entry and not self.sim and verdict.is_of_case(arm.failure) then
    second.locate(self, arm, task, how.set)
  end
  if not arm.failure then self:check_also(arm, task, how.set) end
  if not arm.failure and not how.small then
    self:check_timed(arm, task, how.set, how.untimed)
  end
  for _, one in pairs { arm.runner, self.own_runner } do self.pool:release(one) end
  self.own_runner = nil
  return record.of(arm, self)
end

--- Give the sessions of the judge what checks a candidate.
-- @tparam table class of sessions
function checking.extend(class)
  for name, method in pairs(Session) do class[name] = method end
end

return checking
