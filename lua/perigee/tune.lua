--- Tuning: the host of a pipeline. It evaluates what is proposed, each configuration once, keeps
-- every record, goes on from a store after a kill, and measures the best side by side at the end.
-- @module perigee.tune

local core = require "perigee.core"
local case = require "perigee.case"
local comparison = require "perigee.comparison"
local errors = require "perigee.errors"
local history = require "perigee.history"
local impl = require "perigee.impl"
local knobs = require "perigee.knobs"
local params = require "perigee.params"
local pipelines = require "perigee.pipeline"
local record = require "perigee.record"
local sources = require "perigee.sources"
local validate = require "perigee.validate"

local Tune = {}
Tune.__index = Tune

local tune = {}

local SETS = 4 -- copies of state and outputs; a run may have more
local HOPELESS = 1.5 -- times the best: then the first few samples are enough
local SEARCH_STREAM, FINAL_STREAM = 1, 2 -- of the judge's base seed: the inputs
local IDLE_ROUNDS = 50 -- in which a pipeline proposes nothing new, before that counts as its end
local BATCH_LEAST, BATCH_MOST = 4, 8 -- candidates that compile at the same time, as the cores allow
local BATCH_BLIND = 16 -- of a pipeline whose proposals do not depend on what came out

--- @tparam table how {judge = judge.session, task, p, cell, set = what cell and command set, base =
--   resolved implementation or candidate, pipeline = what pipeline.find returned, objective, seed =
--   of the search, budget = evaluations or nil, seconds = or nil, store and session = where records
--   go, name = of the session, on_record = function(entry, rec, extra), on_progress =
--   function(text)}
function tune.new(how)
  local self = setmetatable({}, Tune)
  for name, value in pairs(how) do self[name] = value end
  self.space = self.base.space or knobs.declare(nil, nil, self.base.where)
  self.deadline = self.seconds and core.now() + self.seconds
  self.history = history.new(self.space, { seed = self.seed, budget = self.budget,
    environment = self.p, batch = BATCH_LEAST })
  self.keys, self.digests, self.read = {}, {}, 0
  self.counts = { resumed = 0, broken = 0, verdicts = {} }
  return self
end

-- ---- names of evaluations ----

-- SHA-256 of a source with what belongs to it.
local function digest_of(self, base)
  local path = base.path
  if not self.digests[path] then
    local ok, bundle = errors.catch("io", sources.of, base)
    self.digests[path] = ok and sources.digest(bundle) or "unreadable"
  end
  return self.digests[path]
end

--- The name of an evaluation: the same task, parameters, device, source and knobs give the same.
-- GPUs of one model are one device.
function Tune:key(base, values)
  return core.sha256(core.json_encode {
    task = self.task.name, cell = self.cell and self.cell.name, params = params.text(self.p),
    device = self.judge.spec:match("^cuda") or self.judge.spec, gpu = self.judge:device().name,
    method = self.judge.method,
    impl = base.name, source = digest_of(self, base), knobs = knobs.text(values),
  })
end

--- A name for the session that the same command gives again.
function tune.session_name(self)
  local digest = core.sha256(core.json_encode { self:key(self.base, {}), self.pipeline.digest,
    self.objective.name, self.seed })
  return ("%s-%s-%s"):format(self.pipeline.name, self.task.name:gsub("[^%w]+", "-"),
    digest:sub(1, 8))
end

-- ---- what is known ----

local function remember(self, entry, key)
  self.keys[key] = entry
  self.history:add(entry)
  local counts = self.counts.verdicts
  counts[entry.verdict] = (counts[entry.verdict] or 0) + 1
  pipelines.observe(self.pipeline, entry.record)
end

local function base_of(self, path)
  return path and impl.candidate(path) or self.base
end

-- The entry of a stored record; nil when it is of another source or machine by now.
local function entry_of(self, rec, key)
  local note = rec.tune
  if not note or note.final then return nil end
  if note.file and not core.file_info(note.file) then return nil end
  if self:key(base_of(self, note.file), rec.knobs or {}) ~= key then return nil end
  return {
    index = not note.file and knobs.index(self.space, rec.knobs or {}) or nil, note = note.note,
    knobs = rec.knobs or {}, value = self.objective.of(rec), verdict = rec.verdict, record = rec,
    path = note.file, key = key,
  }
end

--- Take what the session has that is not known yet, from an earlier run or from another process
-- that works on it: it is not evaluated again.
function Tune:resume()
  if not self.store then return end
  for rec, extra in self.store:records(self.session, self.read) do
    local entry = not self.keys[extra.key] and entry_of(self, rec, extra.key)
    if entry then
      remember(self, entry, extra.key)
      self.counts.resumed = self.counts.resumed + 1
    end
    self.read = extra.id
  end
end

-- ---- one evaluation ----

-- The case of all evaluations; each compares with the same expected values.
local function search_case(self)
  if not self.one then
    self.on_progress("making inputs and expected values")
    self.one = case.make(self.task, self.p, self.judge:seed_of(SEARCH_STREAM))
    self.one:expected()
    self.one.accepted = {} -- configurations often give the same bits, which are right once judged
  end
  return self.one
end

-- A configuration that the task's own functions refuse fails; the search goes on.
local function attempt(self, arm, sets)
  local ok, failure = errors.catch("launch_error", self.judge.verify, self.judge, arm, sets)
  if ok then return failure end
  if failure.code == "environment" then errors.again(failure) end
  return { verdict = "launch_error", reason = failure.message, hint = failure.hint, findings = {} }
end

local function hopeless_us(self)
  local best = self.history.best
  return not self.objective.exact and best and best.value * HOPELESS or nil
end

-- Verify and time one arm, in the process of the one before unless that has died.
local function measure(self, arm)
  arm.case, arm.runner = search_case(self), self.runner
  if arm.failure then return end
  local sets = math.min(SETS, self.judge:sets_for(self.one, { arm }))
  arm.failure = attempt(self, arm, sets)
  if not arm.failure then
    self.judge:time({ arm }, { hopeless_us = hopeless_us(self), quick = true })
  end
  if arm.runner and arm.runner.dead then self.judge.pool:release(arm.runner) end
  self.runner = arm.runner and not arm.runner.dead and arm.runner or nil
end

local function keep(self, rec, extra, key)
  extra.key = key
  if self.store then self.store:add(self.session, rec, extra) end
end

local function evaluate(self, arm)
  local candidate = arm.candidate
  self.on_progress("checking " .. knobs.text(candidate.values))
  local started = core.now()
  measure(self, arm)
  local rec, extra = record.of(arm, self.judge)
  rec.tune = {
    session = self.name, pipeline = self.pipeline.name, objective = self.objective.name,
    number = #self.history + 1, note = candidate.note, file = candidate.path,
    value = self.objective.of(rec), seconds = core.now() - started,
  }
  keep(self, rec, extra, candidate.key)
  local entry = { index = candidate.index, knobs = candidate.values, value = rec.tune.value,
    verdict = rec.verdict, note = candidate.note, record = rec, path = candidate.path,
    key = candidate.key }
  remember(self, entry, candidate.key)
  self.on_record(entry, rec, extra)
end

-- ---- the loop ----

--- Why the search ends now: "interrupted", "seconds", "budget"; nil when it goes on.
function Tune:over()
  if core.interrupted() then return "interrupted" end
  if self.history.left and self.history.left <= 0 then return "budget" end
  if self.deadline and core.now() > self.deadline then return "seconds" end
  return nil
end

-- What is new among the proposed candidates: neither known nor against a constraint.
local function fresh(self, proposed)
  local list, seen = {}, {}
  for _, candidate in ipairs(proposed) do
    local base = base_of(self, candidate.path)
    local space = base.space or self.space
    candidate.values = knobs.values(space, candidate.knobs)
    candidate.base = base
    candidate.index = not candidate.path and knobs.index(space, candidate.values) or nil
    candidate.key = self:key(base, candidate.values)
    if knobs.broken(space, candidate.values, self.p) then
      self.counts.broken = self.counts.broken + 1
    elseif not self.keys[candidate.key] and not seen[candidate.key]
      and (not self.history.left or #list < self.history.left) then
      seen[candidate.key] = true
      list[#list + 1] = candidate
    end
  end
  return list
end

local function arms_of(self, candidates)
  local arms = {}
  for i, candidate in ipairs(candidates) do
    arms[i] = { impl = impl.choose(candidate.base, candidate.values), p = self.p,
      cell = self.cell, kind = "tune", candidate = candidate }
  end
  return arms
end

-- All of a batch compile at the same time; nothing compiles while one is timed.
local function evaluate_all(self, candidates)
  local arms = arms_of(self, candidates)
  self.on_progress(("compiling %d configurations"):format(#arms))
  self.judge:build(arms, function() search_case(self) end)
  for _, arm in ipairs(arms) do
    self:resume()
    if self:over() then return end
    if not self.keys[arm.candidate.key] then evaluate(self, arm) end
  end
end

local function batch_size(self)
  local most = self.pipeline.blind and BATCH_BLIND or BATCH_MOST
  local cores = math.max(BATCH_LEAST, math.min(most, core.cpu_count()))
  return self.history.left and math.min(cores, self.history.left) or cores
end

--- Run the pipeline to its end. @treturn string why it ended: "done", "budget", "seconds",
--   "interrupted"
function Tune:run()
  validate.prepare(self.task)
  local idle = 0
  while idle < IDLE_ROUNDS do
    local reason = self:over()
    if reason then return reason end
    self.history.batch = batch_size(self)
    self:resume()
    self.on_progress("choosing what to try")
    local proposed = pipelines.propose(self.pipeline, self.history)
    if #proposed == 0 then break end
    local candidates = fresh(self, proposed)
    idle = #candidates == 0 and idle + 1 or 0
    if #candidates > 0 then evaluate_all(self, candidates) end
  end
  return self:over() or "done"
end

-- ---- the end: the best, side by side ----

-- Order of entries and of rows: the better, and of equal ones the earlier.
local function before(a, b)
  local x, y = a.value or math.huge, b.value or math.huge
  if x ~= y then return x < y end
  return (a.entry or a).record.tune.number < (b.entry or b).record.tune.number
end

-- The best `most` entries, the best first, and the default.
local function finalists(self, most)
  local ranked = {}
  for _, entry in ipairs(self.history) do
    if entry.value then ranked[#ranked + 1] = entry end
  end
  table.sort(ranked, before)
  local list = table.move(ranked, 1, math.min(most, #ranked), 1, {})
  local default = self.history.default
  local there = not (default and default.value)
  for _, entry in ipairs(list) do there = there or entry == default end
  if not there then list[#list + 1] = default end
  return list
end

local function set_ratio(row, base)
  if not base or not base.value or not row.value then return end
  if base.samples and row.samples then
    local r = core.ratio(comparison.slices(base.samples, base.time.slices),
      comparison.slices(row.samples, row.time.slices))
    row.ratio, row.ratio_ci95 = r.ratio, r.ci95
  else
    row.ratio = base.value / row.value
  end
end

-- Rows {entry, value, time, record, ratio, ratio_ci95, default}, the best first.
local function ranked_rows(self, rows)
  local base
  for _, row in ipairs(rows) do
    row.default = row.entry == self.history.default
    if row.default then base = row end
  end
  for _, row in ipairs(rows) do set_ratio(row, base) end
  table.sort(rows, before)
  return rows
end

-- Whether a configuration keeps its constraints at every size that `perigee check` looks at.
local function fits_check_sizes(self, candidate)
  local space = candidate.base.space or self.space
  for index = 1, params.check_count(self.task.params, self.set) do
    local p = self.task:resolve { purpose = "check", index = index, set = self.set }
    if knobs.broken(space, candidate.values, p) then return false end
  end
  return true
end

-- The sizes of `perigee check`: what is right at one size only must not win.
local function check_sizes(self, arm)
  if arm.failure or not fits_check_sizes(self, arm.candidate) then return end
  self.on_progress("checking every size " .. knobs.text(arm.candidate.values))
  local ok, e = errors.catch("launch_error", self.judge.check_cases, self.judge, arm, self.task,
    self.set)
  if ok then return end
  if e.code == "environment" then errors.again(e) end
  arm.failure = { verdict = "launch_error", reason = e.message, hint = e.hint, findings = {} }
end

-- Fresh inputs, each finalist in a process of its own, slices interleaved.
local function measured(self, list)
  local candidates = {}
  for i, entry in ipairs(list) do
    candidates[i] = { base = base_of(self, entry.path), values = entry.knobs, entry = entry }
  end
  if self.runner then self.judge.pool:release(self.runner) end
  self.runner, self.one = nil, nil
  local arms = arms_of(self, candidates)
  self.judge.pool:fill(#arms)
  self.judge:build(arms)
  local one = self.judge:complete(case.make(self.task, self.p,
    self.judge:seed_of(FINAL_STREAM)))
  local sets = self.judge:sets_for(one, arms)
  for _, arm in ipairs(arms) do
    arm.case = one
    check_sizes(self, arm)
    self.on_progress("checking again " .. knobs.text(arm.candidate.values))
    if not arm.failure then
      arm.case = one
      arm.failure = attempt(self, arm, sets)
    end
  end
  self.judge:time(arms)
  return arms
end

local function final_records(self, arms)
  local rows = {}
  for i, arm in ipairs(arms) do
    local rec, extra = record.of(arm, self.judge)
    rec.speedup, rec.speedup_ci95 = nil, nil -- arms of one implementation have one name
    rec.tune = { session = self.name, objective = self.objective.name, final = true,
      value = self.objective.of(rec), file = arm.candidate.path }
    rows[i] = { entry = arm.candidate.entry, value = rec.tune.value, time = rec.time,
      record = rec, samples = arm.samples, extra = extra }
  end
  rows = ranked_rows(self, rows)
  for _, row in ipairs(rows) do
    row.record.tune.ratio, row.record.tune.ratio_ci95 = row.ratio, row.ratio_ci95
  end
  return rows
end

-- What the session already has of this very comparison.
local function stored_rows(self, list, name)
  local by_key, rows = {}, {}
  if not self.store then return nil end
  for rec, extra in self.store:records(self.session) do
    if extra.key then by_key[extra.key] = { rec = rec, samples = extra.samples } end
  end
  for i, entry in ipairs(list) do
    local found = by_key[name .. entry.key]
    if not found then return nil end
    rows[i] = { entry = entry, value = found.rec.tune.value, time = found.rec.time,
      record = found.rec, samples = found.samples }
  end
  return ranked_rows(self, rows)
end

--- The best few and the default, as they were measured one after the other.
-- @tparam integer most how many
-- @treturn table rows {entry, value, time, record, ratio, ratio_ci95, default}, the best first
function Tune:best(most)
  local rows = {}
  for i, entry in ipairs(finalists(self, most)) do
    rows[i] = { entry = entry, value = entry.value, time = entry.record.time,
      record = entry.record }
  end
  return ranked_rows(self, rows)
end

--- The best few and the default: on a device with a clock measured again, all at the same time.
-- @tparam integer most how many
-- @tparam number seconds of timing for each
-- @treturn table rows as of Tune:best
-- @treturn boolean whether they were measured side by side
function Tune:final(most, seconds)
  local list = finalists(self, most)
  if #list == 0 or self.objective.exact or core.interrupted() then return self:best(most), false end
  local keys = {}
  for i, entry in ipairs(list) do keys[i] = entry.key end
  table.sort(keys)
  local name = "final " .. core.sha256(table.concat(keys)):sub(1, 16) .. " "
  local known = stored_rows(self, list, name)
  if known then return known, true end
  self.judge.budget = seconds
  local rows = final_records(self, measured(self, list))
  for _, row in ipairs(rows) do
    keep(self, row.record, row.extra, name .. row.entry.key)
    self.on_record(nil, row.record, row.extra)
  end
  return rows, true
end

return tune
