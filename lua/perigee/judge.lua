--- The judge: correctness first, then time. It holds cases and expected values, decides every
-- verdict, and talks to the processes that compile and run candidates. A session is one device and
-- one base seed.
-- @module perigee.judge

local core = require "perigee.core"
local audit = require "perigee.audit"
local buffers = require "perigee.buffers"
local builds = require "perigee.builds"
local case = require "perigee.case"
local compile = require "perigee.compile"
local dump = require "perigee.dump"
local errors = require "perigee.errors"
local experts = require "perigee.experts"
local export = require "perigee.export"
local impl = require "perigee.impl"
local params = require "perigee.params"
local plan = require "perigee.plan"
local pool = require "perigee.pool"
local record = require "perigee.record"
local repeats = require "perigee.repeats"
local scratch = require "perigee.scratch"
local seeds = require "perigee.seeds"
local timing = require "perigee.timing"
local validate = require "perigee.validate"
local varies = require "perigee.varies"
local verdict = require "perigee.verdict"
local versions = require "perigee.versions"

local Session = {}
Session.__index = Session

local judge = {}

local KNOWN_BYTES = 256 << 20 -- outputs up to this size are kept, to recognise equal bits cheaply
local ACCEPTED_MOST = 4 -- outputs of one case
local VERSION = 1 << 29 -- stream of a case's seed, and the number of the version
local SCHEDULE = 1 << 30 -- stream of a case's seed

--- Open a session. Nothing is opened on the device before it is needed.
-- @tparam table how {device = spec, timeout = seconds, budget = seconds for each arm's timing,
--   method = how to time instead of the task's own, seed =,
--   inputs = at most so many versions of a case's inputs, of a task's own implementations,
--   libraries = true: many tasks follow, so libraries are loaded ahead of need,
--   trust = see builds.new, lines = count by line on sim:profile, dump = folder for failing cases,
--   progress = function(text)}
function judge.session(how)
  local self = setmetatable({
    spec = how.device, timeout = how.timeout or 20, budget = how.budget or 0.5,
    seed = how.seed or seeds.fresh(), repeats = how.seed ~= nil,
    progress = how.progress or function() end,
    method = how.method, lines = how.lines, dump = how.dump, inputs = how.inputs, cases = {},
    libraries = how.libraries,
  }, Session)
  self.builds = builds.new(compile.DEFAULT_ARCH, self.progress, how)
  self.sim = self.spec:match("^sim") ~= nil
  self.purpose = self.sim and "sim" or "default"
  math.randomseed(seeds.fresh())
  self.pool = pool.new(self.spec, { timeout = self.timeout })
  return self
end

Session.__close = function(self) self:close() end

function Session:close()
  self.pool:close()
  self.builds:close()
  if self.other then self.other:close() end
end

--- Wait until no process of the session is starting or ending.
function Session:settle()
  self.pool:settle()
  if self.other then self.other:settle() end
end

--- Start the processes that the next `count` candidates need. Nothing may be being timed.
function Session:start(count)
  self.pool:fill(count)
  self.builds:prepare()
end

--- The same, and make inputs for the next, of the task and sizes of the last.
function Session:stand_by(count)
  self:start(count)
  self:prepare_ahead()
end

function Session:seed_of(stream)
  return core.random_u64(self.seed, stream, 0) >> 12
end

--- The device's information; waits for the first runner. @raise "environment"
function Session:device()
  if not self.info then
    self.pool:fill(1)
    self.info = self.pool.spares[1]:ready()
  end
  return self.info
end

-- Whether there will be timing, as far as that is known before the device is open.
function Session:has_clock()
  if self.info then return self.info.gpu_clock end
  return not self.sim
end

-- Expected values, and further versions of a case that is timed; `own`: of no candidates.
function Session:complete(one, own)
  if self:has_clock() then
    local _, launches = timing.method_of(one.task, one.p, self.method)
    versions.add(one, function(number)
      return core.random_u64(one.seed, VERSION + number, 0) >> 12
    end, launches, own, own and self.inputs or nil)
  else
    one:expected()
  end
  return one
end

-- How many arms have no process yet, or one that died: they will take one of the pool.
local function without_runner(arms)
  local count = 0
  for _, arm in ipairs(arms) do
    local one = arm.impl or arm.declared
    local needs = not experts.is(one) and (not arm.runner or arm.runner.dead)
    if needs then count = count + 1 end
  end
  return count
end

-- Compile for the arms; a wrong guess of the architecture is put right when the device is open.
function Session:build(arms, meanwhile)
  self.pool:fill(without_runner(arms)) -- opens the driver while the compiler works
  experts.start(self, arms)
  self.builds:compile(arms, meanwhile)
  local info = self:device()
  local arch = info.kind == "cuda" and compile.arch_of(info) or compile.DEFAULT_ARCH
  if arch == self.builds.arch then return end
  self.builds.arch = arch
  self.builds:compile(arms)
end

-- ---- one arm ----

-- A kernel that was declared without extern "C": found by its mangled name when only one fits.
local function find_kernel(kernels, name)
  local fits = {}
  for _, kernel in ipairs(kernels) do
    if kernel.name == name then return name end
    local length, rest = kernel.name:match("^_Z(%d+)(.*)$")
    if length and tonumber(length) == #name and rest:sub(1, #name) == name then
      fits[#fits + 1] = kernel.name
    end
  end
  return #fits == 1 and fits[1] or nil
end

local function kernel_missing(kernels, name)
  local names = {}
  for i, kernel in ipairs(kernels) do names[i] = kernel.name end
  local reason = #names == 0 and ("no kernel '%s': the module has none"):format(name)
    or ("no kernel '%s': the module has %s"):format(name, table.concat(names, ", "))
  return { verdict = "launch_error", reason = reason, findings = {},
    hint = ('declare it: extern "C" __global__ void %s(...)'):format(name) }
end

-- Put the names that the module really has into the plan.
local function link(arm, steps)
  local missing
  plan.each_launch(steps, function(step)
    local wanted = compile.lowered(arm.request, arm.built, step.launch) or step.launch
    local name = find_kernel(arm.kernels, wanted)
    missing = missing or not name and kernel_missing(arm.kernels, step.launch) or nil
    step.launch = name or step.launch
  end)
  return missing
end

-- A live runner with the arm's module in it.
function Session:load(arm)
  if experts.is(arm.impl) then return experts.load(self, arm) end
  if not arm.runner or arm.runner.dead then
    arm.runner = self.pool:take()
    arm.runner:ready()
    arm.kernels = nil
  end
  arm.sandbox = arm.runner:sandbox()
  if arm.loaded == arm.key and arm.kernels then return nil end
  local kernels, failure = arm.runner:load(arm.ptx, arm.impl.shown)
  if not kernels then return failure end
  arm.kernels, arm.loaded = kernels, arm.key
  return nil
end

-- A launch that was refused (no kernel stopped): show what the task promises to pass.
local function show_contract(arm, failure)
  local refused = failure.verdict == "launch_error" and not failure.findings[1]
  if not refused or failure.hint or experts.is(arm.impl) then return failure end
  local parsed = arm.case.signatures[1]
  failure.hint = "the contract: " .. parsed.text:gsub("%s+", " ")
  return failure
end

-- Each set has its own scratch where launches of one sample would meet in it, and where an export
-- reads it later.
function Session:own_scratch(one, implementation)
  local _, launches = timing.method_of(one.task, one.p, self.method)
  return implementation.export ~= nil or launches > 1
end

-- The arm's buffers and steps. A mistake in what comes with a candidate, its plan or the argument
-- map of its PTX, is a failure; one in a task is an error.
function Session:plan(arm)
  local one = arm.case
  arm.exports, arm.export_us, arm.slow_export = {}, nil, nil -- of this case
  local function build()
    local list = one:buffers_for(arm.impl, self:own_scratch(one, arm.impl))
    local built = { list = list, steps = plan.build(one.task, arm.impl, one.p, list, arm.map) }
    if arm.impl.export then
      built.export = { names = export.names(one.task, list, arm.impl.where),
        steps = plan.export(one.task, arm.impl, one.p, list, arm.map) }
    end
    return built
  end
  if not (arm.impl.is_data or arm.map) then return build() end
  local ok, built = errors.catch("invalid", build)
  if ok then return built end
  return nil, verdict.of_plan(built, "launch_error")
end

-- Load the module and make plan and buffers for the arm's case. Returns a failure or nil.
function Session:prepare(arm, sets)
  local failure = self:load(arm)
  if failure then return failure end
  local built
  built, failure = self:plan(arm)
  if not built then return failure end
  local list = built.list
  arm.sets, arm.steps, arm.export = sets, built.steps, built.export
  failure = link(arm, arm.steps) or (arm.export and link(arm, arm.export.steps))
  if failure then return failure end
  if arm.stored_steps then -- of a record that is run again
    arm.plan_changed = core.json_encode(arm.steps) ~= core.json_encode(arm.stored_steps)
    arm.steps = arm.stored_steps
  end
  arm.kernel_names = plan.kernels(arm.steps)
  return audit.arm(arm) or self:make_buffers(arm, list, sets)
    or experts.is(arm.impl) and experts.prepare(arm, list) or nil
end

-- Set s holds version s of the case. Where there are more sets than versions, the last is for a
-- sample that is kept, the one before for inputs that come when the timing is over.
function Session:make_buffers(arm, list, sets)
  local all, others = versions.of(arm.case), {}
  local function buffers_of(one)
    return one:buffers_for(arm.impl, self:own_scratch(one, arm.impl))
  end
  local no_room = arm.impl.foreign
    and versions.crowded_out(arm.case, self:device().memory_bytes or 0)
  if no_room then return no_room end
  for number = 2, #all do others[number - 1] = buffers_of(all[number]) end
  local fresh = sets > #all + 1 and not arm.case.crowded and versions.unseen(arm.case, 1)
  arm.kept_set = sets > #all and not arm.case.crowded and sets - 1 or nil
  arm.fresh_set = fresh and #all or nil
  local _, failure = arm.runner:setup(list, math.max(sets, #all), others,
    fresh and buffers_of(fresh) or nil)
  return failure and scratch.to_blame(list, self:device().memory_bytes, failure)
end

-- Run the plan once. Returns the arrays that came back, or nil and a failure.
local function run_once(arm, set, poison, lines)
  local how = { lines = lines, schedule = arm.schedule, digest = arm.kept_set ~= nil }
  local ran, failure = arm.runner:run(set, arm.steps, poison, how)
  if not ran then return nil, failure end
  arm.wall_us, arm.counters, arm.findings = ran.wall_us, ran.counters, ran.findings
  arm.profile, arm.digest = ran.profile, ran.digest
  return export.fetch(arm, set, poison)
end

-- How the simulator shuffles a case: a race that one order hides shows in another. With one thread
-- a schedule repeats: small cases have one, and all when the base seed was given. Not on
-- sim:profile, whose caches depend on the order, nor where the device's name has a seed.
function Session:schedule_of(one, small)
  if not self.sim or self.spec:match "^sim:profile" or self.spec:match ",seed=" then return nil end
  local alone = small or self.repeats
  return { seed = 1 + (core.random_u64(one.seed, SCHEDULE, 0) >> 12), workers = alone and 1 or 0 }
end

local DUMPS_MOST = 4 -- of one candidate

-- Leave the files of a failing case where the user wants them. A candidate that did not get as far
-- as a case leaves none.
function Session:dump_case(arm, failure, arrays)
  if not self.dump or not verdict.is_of_case(failure) then return end
  if (arm.dumps or 0) >= DUMPS_MOST then return end
  arm.dumps = (arm.dumps or 0) + 1
  local ok, path = errors.catch("invalid", dump.write, self.dump, { case = arm.case,
    impl = arm.impl, failure = failure, arrays = arrays, device = self.spec, seed = self.seed })
  if ok then failure.dumped = path
  elseif path.code == "io" then failure.not_dumped = path.message -- the verdict is not lost
  else errors.again(path) end
end

-- Run one case and judge it. Returns a failure or nil. `small`: the schedule repeats; "twice": and
-- the case is run again.
function Session:verify(arm, sets, small)
  local failure, arrays = self:run_case(arm, sets, small)
  if small == "twice" and not failure then failure = self:run_again(arm, arrays) end
  if failure then self:dump_case(arm, failure, arrays) end
  return failure
end

-- The same without files, over all versions of the case; the arrays that came back, too. After a
-- failure `arm.case` is the version at fault.
function Session:run_case(arm, sets, small)
  arm.schedule = self:schedule_of(arm.case, small)
  local failure = self:prepare(arm, sets)
  if failure then return show_contract(arm, failure) end
  arm.digests = {}
  local list = versions.of(arm.case)
  local arrays
  for number = #list, 1, -1 do -- what the record says is of the first
    arm.case = list[number]
    failure, arrays = self:run_version(arm, number)
    if failure then break end
  end
  return failure, arrays
end

-- One version of a case, in the set of its number. Returns a failure or nil, and arrays.
function Session:run_version(arm, number)
  arm.cases = (arm.cases or 0) + 1
  local poison = timing.poison()
  local arrays, stopped = run_once(arm, number - 1, poison, self.lines)
  if not arrays then return show_contract(arm, stopped) end
  return self:judge(arm, number, arrays, poison), arrays
end

-- The same case once more, where it is a small one: the bits should be the same, whatever the
-- poison and the schedule.
function Session:run_again(arm, arrays)
  return repeats.again(arm, arrays, function()
    if arm.schedule then arm.schedule.seed = arm.schedule.seed ~ 0x5555 end
    return run_once(arm, 0, timing.poison())
  end)
end

-- What was judged right for this very case and has the same bits: a case that is run with many
-- configurations (perigee.tune) or libraries keeps a few such outputs in `accepted`.
local function accepted_as(one, arrays)
  for _, right in ipairs(one.accepted or {}) do
    local same = next(arrays) ~= nil
    for name, array in pairs(arrays) do same = same and array:equal_bits(right.known[name]) end
    if same then return right end
  end
  return nil
end

local function accept(arm, arrays)
  local list = arm.case.accepted
  local known = list and #list < ACCEPTED_MOST and buffers.copies(arrays, KNOWN_BYTES)
  if not known then return end
  list[#list + 1] = { known = known, checks = arm.checks, facts = arm.facts }
end

function Session:judge(arm, number, arrays, poison)
  local right = accepted_as(arm.case, arrays)
  if right then
    arm.digests[number], arm.checks, arm.facts = arm.digest, right.checks, right.facts
    return nil
  end
  local result = validate.run(arm.case, arrays, poison)
  arm.checks = result.checks
  arm.facts = result.facts
  for name, value in pairs(arm.case:facts()) do
    if arm.facts[name] == nil then arm.facts[name] = value end
  end
  if not result.ok then
    -- What is no verdict by itself may be why: a read that nothing orders with atomics.
    return { verdict = result.verdict, reason = result.reason, findings = arm.findings or {} }
  end
  local repeated = varies.check(arm, arrays)
  if repeated then return repeated end
  arm.digests[number] = arm.digest
  accept(arm, arrays)
  return nil
end

-- ---- several arms on one case ----

-- An arm keeps its process and its module from case to case, and nothing else.
local RESULTS = {
  "cases", "checks", "facts", "failure", "failed_at", "digests", "counters", "profile", "wall_us",
  "health", "time", "samples", "speedup", "speedup_ci95", "kernel_names", "export_us",
  "schedule", "audit", "audited", "far", "library", "bits_differ", "chosen", "unseen_us",
  "unseen_why", "again_us", "seen",
}

local function reset(arm, p, cell)
  for _, field in ipairs(RESULTS) do arm[field] = nil end
  arm.p, arm.cell = p, cell
end

-- Whether none of the arms is a candidate.
local function all_own(arms)
  for _, arm in ipairs(arms) do
    if arm.impl.foreign then return false end
  end
  return true
end

-- One point: the same inputs for every arm, made by `make`; all are right or wrong before any is
-- timed.
function Session:run_point(task, arms, make, alike)
  local title = arms[1].cell and arms[1].cell.name or task.name
  local one
  self:build(arms, function()
    self.progress(title .. ": making inputs and expected values")
    one = make()
  end)
  local sets = self:sets_for(one, arms)
  for _, version in ipairs(alike and versions.of(one) or {}) do version.accepted = {} end
  for _, arm in ipairs(arms) do
    arm.case = one
    self.progress(("%s: checking %s"):format(title, arm.impl.name))
    if not arm.failure then arm.failure = self:verify(arm, sets) end
  end
  self:time(arms)
  self:measure_again(arms)
end

-- The arms whose implementation is for parameters `p`, without those that were passed over.
local function arms_for(arms, p)
  local chosen = {}
  for _, arm in ipairs(arms) do
    if params.fits(arm.only, p) and not arm.passed_over then chosen[#chosen + 1] = arm end
  end
  return chosen
end

local function check_choice(arms, choice)
  local list = {}
  for i, arm in ipairs(arms) do list[i] = arm.declared end
  impl.check_choice(list, choice)
end

--- Run implementations of a task on its cells: build, verify, time, compare.
-- @tparam table task
-- @tparam table how {cells = list of names or nil, impls = list of names or nil, set = {name =
--   value, list or text}, points = list of {name = value} to run each cell with (default: what
--   Task:points makes of set), knobs = {name = value or text} for the implementations that have
--   them, passes = how often all that is right is timed, each time with records of its own (1),
--   wants = function(cell, pass), asked before each cell and each pass after the first: false
--   leaves it out, keep = true: processes are for the next run of the session, where it is of a
--   task's own kernels, too, alike = true: many implementations will give the same bits, which are
--   judged once}
-- @tparam function on_record called with each record as soon as it is final, and with what is too
--   long to print, see record.of
-- @tparam[opt] function on_missing called with the name of an expert that was not asked for by name
--   and whose library this machine lacks, and with the reason: it has no record
function Session:run(task, how, on_record, on_missing)
  local points = how.points or task:points { set = how.set, purpose = self.purpose }
  local cells = task:select_cells(how.cells, how.set)
  local arms = {}
  for i, declared in ipairs(task:select_impls(how.impls)) do
    arms[i] = { declared = impl.resolve(task, declared), only = declared.only,
      passes = how.passes }
  end
  check_choice(arms, how.knobs)
  if #arms == 0 then
    core.error("invalid", ("task %s has no implementation to run"):format(task.name),
      ("check one of your own: perigee check %s FILE.cu"):format(task.name), task.where)
  end
  validate.prepare(task)
  self.pool:fill(without_runner(arms))
  local number = 0
  for _, cell in ipairs(cells) do
    local wanted = not how.wants or how.wants(cell, 1)
    for _, point in ipairs(wanted and points or {}) do
      number = number + 1
      local p = task:resolve { purpose = self.purpose, cell = cell or nil, set = point }
      local chosen = arms_for(arms, p)
      for _, arm in ipairs(chosen) do
        reset(arm, p, cell or nil)
        arm.impl = impl.choose(arm.declared, how.knobs, true)
      end
      if #chosen > 0 then
        self:run_point(task, chosen, function()
          return self:complete(case.make(task, p, self:seed_of(number)), all_own(chosen))
        end, how.alike)
      end
      for pass = 1, how.passes or 1 do
        if pass > 1 and how.wants and not how.wants(cell, pass) then break end
        if pass > 1 then self:time(chosen) end
        for _, arm in ipairs(chosen) do
          arm.passed_over = experts.passed_over(arm, how.impls ~= nil)
          if not arm.passed_over then on_record(record.of(arm, self))
          elseif on_missing and pass == 1 then on_missing(arm.impl.name, arm.passed_over) end
        end
      end
      collectgarbage() -- Lua does not know how large the arrays of a case are
    end
  end
  for _, arm in ipairs(arms) do
    local give_back = how.keep and self.pool.keep or self.pool.release
    if arm.runner then give_back(self.pool, arm.runner) end
  end
end

require("perigee.timed").extend(Session)
require("perigee.checking").extend(Session)

return judge
