--- Tools that run candidates: compile, check, time, profile, submit. Each call writes what it was
-- sent into the folder of the call, judges it with inputs nobody has seen, and records it.
-- @module perigee.serve.candidates

local core = require "perigee.core"
local device = require "perigee.device"
local errors = require "perigee.errors"
local files = require "perigee.files"
local hardware = require "perigee.hardware"
local impl = require "perigee.impl"
local judge = require "perigee.judge"
local outcome = require "perigee.serve.outcome"
local params = require "perigee.params"
local profile = require "perigee.profile"
local protocol = require "perigee.serve.protocol"
local records = require "perigee.serve.records"
local repro = require "perigee.repro"
local rivals = require "perigee.rivals"
local sources = require "perigee.sources"
local standings = require "perigee.standings"
local store = require "perigee.store"
local suggest = require "perigee.suggest"
local task_named = require("perigee.serve.catalogue").task
local trial = require "perigee.trial"
local units = require "perigee.units"

local tools = {}

local CHECK_S, TIME_S, SUBMIT_S = 0.05, 0.3, 1.0 -- seconds of timing for each arm
local LINES = 8
local BEST_MOST = 3 -- of a board are tried until one can be run
local DETAIL_MOST = 4000 -- bytes of each text of a record
local EXTENSION = { cuda = "cu", rust = "rs", triton = "py", ptx = "ptx" }

-- ---- what was sent ----

local function bundle_of(given, request)
  if given.attempt then
    local whole = records.attempt(given.attempt, request)
    return repro.bundle(whole, request.options.db), whole
  end
  if given.source then
    return { { name = "candidate." .. EXTENSION[given.language or "cuda"], text = given.source } }
  end
  local bundle = {}
  for _, name in ipairs(params.names(given.files)) do
    if not name:match "^[%w_][%w_./+-]*$" or #name > 100 or ("/" .. name .. "/"):find "/%.%.?/" then
      core.error("invalid", ("files: '%s' is no name of a file"):format(name),
        "letters, digits, '_', '-', '.', and '/' for folders, none of them '.' or '..'")
    end
    bundle[#bundle + 1] = { name = name, text = given.files[name] }
  end
  return bundle
end

local function check_sent(given)
  local count = 0
  for _, name in ipairs { "source", "files", "attempt" } do
    if given[name] ~= nil then count = count + 1 end
  end
  if count ~= 1 or given.files and not next(given.files) then
    core.error("invalid", count > 1 and "source, files and attempt exclude each other"
      or "nothing was sent to judge", "send one of: source, files, attempt")
  end
end

-- The candidate, written into the folder of the call, and the attempt that it is, if any. Its files
-- have no other neighbours.
local function written(given, task, request)
  check_sent(given)
  if given.name and suggest.has(task:impl_names(), given.name) then
    core.error("invalid", ("name: '%s' is an implementation that comes with %s"):format(given.name,
      task.name), "call the candidate something else")
  end
  local bundle, whole = bundle_of(given, request)
  local folder = files.join(request.folder, "candidate")
  local first, single = sources.write(bundle, folder), #bundle == 1
  local plan = files.is_file(files.join(folder, "plan.lua"))
  local path = (single and not plan) and first or folder
  local one = impl.candidate(path)
  one.sent = path
  one.shown = (single and not plan) and bundle[1].name or one.path and files.basename(one.path)
    or "candidate"
  one.name = given.name or whole and whole.impl or "candidate"
  return one, whole
end

-- JSON has one kind of number: 4096.0 is an integer.
local function whole_numbers(set)
  if not set then return nil end
  local result = {}
  for name, value in pairs(set) do
    result[name] = math.type(value) == "float" and math.tointeger(value) or value
  end
  return result
end

-- What a call is about: task, candidate and how it is to be run.
local function read(given, request)
  local task = task_named(given.task)
  local how = { set = whole_numbers(given.set) or {} }
  local p = task:resolve { purpose = "check", set = how.set }
  params.check_effect(task.params, how.set, { p }, task.name)
  local one, whole = written(given, task, request)
  how.knobs = whole_numbers(given.knobs or whole and whole.knobs)
  impl.check_choice({ one }, how.knobs or {})
  return task, one, how
end

-- ---- sessions: one a device, kept from call to call ----

local kept = {}

-- A call's progress goes where that call wants it.
local function session_on(spec, request, progress, budget)
  local options = request.options
  local self = kept[spec]
  if not self then
    self = {}
    self.judge = judge.session { device = spec, timeout = options.timeout,
      trust = options.trust, lines = spec:match "^sim:profile" and true or nil,
      progress = function(text) self.say(text) end }
    kept[spec] = self
  end
  self.say, self.judge.budget = progress, budget
  return self.judge
end

local function spec_of(request)
  return device.spec(request.options.device)
end

-- What a judge of this device counts with where it has no clock.
local function counting(spec)
  return spec:match "^sim" and "sim:profile" or spec
end

local SPARES = 3 -- processes of a GPU: to check a candidate, and to time it beside another

--- After a call, while nothing is timed: what the next candidate needs.
function tools.stand_by()
  for _, self in pairs(kept) do
    if not self.judge.sim then self.judge:stand_by(SPARES) end
  end
end

--- Before a call that is sure to come: the processes that it needs.
function tools.expect(request)
  local session = session_on(spec_of(request), request, function() end, CHECK_S)
  if not session.sim then session:start(SPARES) end
end

-- ---- one at a time on a GPU ----

local LOOK_S = 0.1 -- between two looks whether the GPU is free

-- A lock on the GPU of a call: servers and evaluations that share one take turns, for what is timed
-- must be alone. A simulator needs none; where no lock can be made, nobody waits.
local function turn(request, progress)
  local spec = spec_of(request)
  local folder = not spec:match "^sim" and files.cache "locks"
  if not folder or not core.mkdir_all(folder) then return nil end
  local visible = (os.getenv "CUDA_VISIBLE_DEVICES" or "all"):gsub("[^%w]", "-")
  local path = ("%s/%s-%s"):format(folder, spec:gsub("[^%w]", "-"), visible)
  local lock, e = core.lock(path)
  while not lock and not e do
    progress(("waiting for %s, on which another agent is judged"):format(spec))
    core.poll({}, {}, LOOK_S)
    lock, e = core.lock(path)
  end
  return lock
end

-- ---- records ----

-- Keep records in the session of this server; the numbers of those that were kept, and a warning
-- when one could not be. A call is answered all the same.
local function keep(request, list)
  local numbers, options = {}, request.options
  local ok, e = errors.catch("internal", function()
    local into <close> = store.open(options.db)
    local session = into:session(options.session, "serve")
    for i, one in ipairs(list) do numbers[i] = into:add(session, one.rec, one.extra) end
  end)
  return numbers, not ok and "not recorded: " .. errors.text(e) or nil
end

-- Paths of this call's folder say nothing to whoever sent the files.
local function without(value, prefix)
  if type(value) == "string" then
    local at = value:find(prefix, 1, true)
    while at do
      value = value:sub(1, at - 1) .. value:sub(at + #prefix)
      at = value:find(prefix, 1, true)
    end
    return value
  end
  if type(value) ~= "table" then return value end
  for name, item in pairs(value) do value[name] = without(item, prefix) end
  return value
end

local function tidy(rec, request)
  return without(without(rec, files.join(request.folder, "candidate/")),
    files.join(request.folder, ""))
end

-- The record of an attempt, kept and answered. `others` are records to keep with it.
local function answer_for(one, tool, request, others)
  one.rec.tool = tool
  tidy(one.rec, request)
  local list = { one }
  for _, other in ipairs(others or {}) do list[#list + 1] = other end
  local numbers, warning = keep(request, list)
  local answer = outcome.of(one.rec, numbers[1])
  answer.warning = warning
  return answer, outcome.lines(one.rec, answer, request.resources)
end

-- A record whose long texts are cut.
local function brief(value)
  if type(value) == "string" then return outcome.cut(value, DETAIL_MOST) or value end
  if type(value) ~= "table" then return value end
  local copy = setmetatable({}, getmetatable(value))
  for name, item in pairs(value) do copy[name] = brief(item) end
  return copy
end

-- The whole record goes into one part of the answer: the words, in versions that know no other.
local function finish(answer, lines, given, rec, request)
  if answer.warning then lines[#lines + 1] = answer.warning end
  if given.detail and protocol.has_structure(request.version) then
    answer.detail = brief(rec)
  elseif given.detail then
    lines[#lines + 1] = core.json_encode(brief(rec))
  end
  return answer, table.concat(lines, "\n")
end

-- ---- compile and check ----

function tools.compile(given, request, progress)
  local task, one, how = read(given, request)
  local session = session_on(spec_of(request), request, progress, CHECK_S)
  local rec = tidy(trial.compile(session, task, one, how), request)
  local compiles = rec.verdict == "passed"
  local answer = { task = task.name, compiles = compiles, verdict = not compiles and rec.verdict
    or nil, reason = rec.reason, hint = rec.hint, messages = outcome.messages(rec),
    log = outcome.log(rec), kernels = outcome.kernels(rec), findings = outcome.findings(rec),
    techniques = outcome.techniques(rec), compile_ms = rec.compile_ms,
    compiler = rec.versions.nvrtc, device = rec.device }
  local lines = { compiles and task.name .. ": compiles and loads" or ("%s: %s"):format(task.name,
    rec.verdict), rec.reason, answer.log, rec.hint }
  if compiles then lines = { lines[1], answer.log } end
  for _, line in ipairs(outcome.kernel_lines(answer.kernels)) do lines[#lines + 1] = line end
  if compiles and session.sim then lines[#lines + 1] = "registers are known on a GPU only" end
  for _, finding in ipairs(answer.findings) do
    lines[#lines + 1] = ("%s: %s"):format(finding.severity or "note", finding.text)
  end
  local said = {}
  for i = 1, 100 do said[#said + 1] = lines[i] end -- a reason or a log may be missing
  return answer, table.concat(said, "\n")
end

local function check(task, one, how, request, progress)
  local session = session_on(spec_of(request), request, progress, CHECK_S)
  local rec, extra = session:check(task, one, how)
  return { rec = rec, extra = extra }, session
end

function tools.check(given, request, progress)
  local task, one, how = read(given, request)
  how.untimed = true
  local result = check(task, one, how, request, progress)
  local answer, lines = answer_for(result, "check", request)
  return finish(answer, lines, given, result.rec, request)
end

-- ---- time and submit ----

-- Whether a record is of the candidate itself, or of one that is compared with it anyway.
local function is_there(whole, one, others)
  for _, other in ipairs(others) do
    if whole.kind ~= "check" and other.name == whole.impl then return true end
  end
  local text = one.path and files.is_file(one.path) and files.read(one.path)
  return text and core.sha256(text) == whole.source_sha or false
end

-- What a record ran, to be run again.
local function restored(task, whole, name, request)
  local folder = files.join(request.folder, "best")
  files.empty(folder)
  local best = repro.restore(task, whole, repro.bundle(whole, request.options.db), folder, {})
  return setmetatable({ name = name }, { __index = best })
end

-- The best that the store knows and that can still be run, unless it is the candidate itself or one
-- of the others; and rows of those that were better by their records but cannot be run.
local function best_so_far(task, one, p, spec, gpu, request, others)
  local lost = {}
  if not files.is_file(request.options.db) then return nil, lost end
  local from <close> = store.open(request.options.db, { readonly = true })
  for _, row in ipairs(standings.best(from, task.name, p, { device = spec, gpu = gpu },
    BEST_MOST)) do
    local whole = from:record(row.attempt)
    if is_there(whole, one, others) then return nil, lost end
    local name = ("best (%s)"):format(whole.impl)
    local ok, best = errors.catch("internal", restored, task, whole, name, request)
    if ok then return best, lost end
    lost[#lost + 1] = { name = name, verdict = "environment",
      reason = ("attempt %d cannot be run again: %s"):format(row.attempt, best.message) }
  end
  return nil, lost
end

local function all_rivals(session, task, one, how, request)
  local p = task:resolve { purpose = session.purpose, set = how.set }
  local list = rivals.of(task, p, request.options.against, session.sim)
  local gpu = not session.sim and session:device().name or nil
  local ok, best, lost = errors.catch("internal", best_so_far, task, one, p, session.spec, gpu,
    request, list)
  if not ok then -- the store cannot be read
    return list, { { name = "best", verdict = "environment", reason = best.message } }
  end
  if best then table.insert(list, math.min(2, #list + 1), best) end
  return list, lost
end

-- What the check found out stays with the record that has the time.
local function merge(timed, checked)
  local a, b = timed.rec, checked.rec
  a.cases = (a.cases or 0) + (b.cases or 0)
  local by, said = core.json_array {}, {}
  for _, rec in ipairs { b, a } do
    for _, name in ipairs(rec.checked_by or {}) do
      if not suggest.has(by, name) then by[#by + 1] = name end
    end
  end
  a.checked_by = by
  for _, finding in ipairs(a.findings) do said[finding.text] = true end
  for _, finding in ipairs(b.findings) do
    if not said[finding.text] then table.insert(a.findings, finding) end
  end
  return timed
end

local function rival_row(own, other)
  local cost, unit = outcome.cost(other.rec)
  local row = { name = other.rec.impl, verdict = other.rec.verdict, reason = other.rec.reason,
    cost = cost }
  if cost then
    row.cost_text = records.cost_text(cost, unit)
    if own.rec.verdict == "passed" then row.speedup, row.ci95 = trial.speedup(own, other) end
  end
  return row
end

local function add_cost(answer, own)
  local rec = own.rec
  answer.cost, answer.unit = outcome.cost(rec)
  if rec.time then
    answer.time = { median_us = rec.time.median_us, ci95_us = rec.time.ci95_us,
      samples = rec.time.samples, method = rec.time.method }
  end
  answer.rivals = rec.rivals
  local rates = rec.efficiency or {}
  answer.of_limit, answer.limit = rates.of_limit, rates.limit
  answer.bandwidth_gb_s, answer.compute_gflop_s = rates.bandwidth, rates.compute
end

-- How many instructions a candidate takes beside another's.
local function cost_words(speedup)
  if speedup == 1 then return "as cheap as" end
  if speedup > 1 then return units.ratio(speedup) .. " cheaper than" end
  return units.ratio(1 / speedup) .. " as costly as"
end

local function rival_line(row, unit)
  if not row.cost then
    return ("beside %s: %s"):format(row.name, row.reason or row.verdict)
  end
  if not row.speedup then return ("beside %s: %s"):format(row.name, row.cost_text) end
  local text = ("%s (%s)"):format(row.name, row.cost_text)
  if unit ~= "us" then return ("%s %s"):format(cost_words(row.speedup), text) end
  return ("%s as fast as %s, 95%% interval %.3f .. %.3f"):format(units.ratio(row.speedup), text,
    row.ci95[1], row.ci95[2])
end

local function cost_lines(lines, answer)
  if answer.cost then
    lines[#lines + 1] = "cost: " .. records.cost_text(answer.cost, answer.unit)
      .. (answer.unit == "us" and "" or ", counted on the simulator: no time of a GPU")
  end
  if answer.of_limit then
    lines[#lines + 1] = ("%s of the %s limit"):format(units.percent(answer.of_limit),
      answer.limit)
  end
  for _, row in ipairs(answer.rivals or {}) do lines[#lines + 1] = rival_line(row, answer.unit) end
end

-- Check, then measure beside the others.
local function measured(given, request, progress, tool, seconds)
  local task, one, how = read(given, request)
  local others, lost = {}, {}
  how.small = spec_of(request) == counting(spec_of(request))
  how.untimed = not how.small
  local own, checked = check(task, one, how, request, progress)
  how.checked = checked
  if own.rec.verdict == "passed" then
    local session = session_on(counting(spec_of(request)), request, progress, seconds)
    local list
    list, lost = all_rivals(session, task, one, how, request)
    list[#list + 1] = one
    others = trial.beside(session, task, list, how)
    own = merge(table.remove(others), own)
  end
  local known = {}
  own.rec.rivals = core.json_array {}
  for i, other in ipairs(others) do
    tidy(other.rec, request)
    own.rec.rivals[i] = rival_row(own, other)
    if other.rec.kind ~= "check" then known[#known + 1] = other end -- the best is there already
  end
  table.move(lost, 1, #lost, #own.rec.rivals + 1, own.rec.rivals)
  if tool == "submit" then own.rec.submitted = true end
  local answer, lines = answer_for(own, tool, request, known)
  add_cost(answer, own)
  cost_lines(lines, answer)
  return answer, lines, own.rec
end

function tools.time(given, request, progress)
  local answer, lines, rec = measured(given, request, progress, "time", given.seconds or TIME_S)
  return finish(answer, lines, given, rec, request)
end

-- Its place among all that the store knows of this task, size and machine.
local function place(rec, number, request)
  local from <close> = store.open(request.options.db, { readonly = true })
  local rows, count = standings.best(from, rec.task, rec.params, rec)
  for _, row in ipairs(rows) do
    if row.attempt == number then return row.rank, count end
    if row.name == rec.impl and row.source_sha == rec.source_sha then
      return row.rank, count -- an earlier attempt of the same kernel was faster by chance
    end
  end
  return nil
end

function tools.submit(given, request, progress)
  local answer, lines, rec = measured(given, request, progress, "submit", SUBMIT_S)
  answer.recorded = answer.attempt ~= nil
  if answer.recorded and answer.cost then
    answer.rank, answer.of = place(rec, answer.attempt, request)
  end
  lines[#lines + 1] = answer.recorded and "submitted as final" or "NOT recorded"
  if answer.rank then
    lines[#lines] = ("%s: place %d of %d"):format(lines[#lines], answer.rank, answer.of)
  end
  return finish(answer, lines, given, rec, request)
end

-- ---- profile ----

local function source_lines(hottest, one)
  local by_file = {}
  for _, row in ipairs(hottest) do
    local folder = one.path and files.dirname(one.path) or "."
    local text = by_file[row.file]
      or core.read_file(files.join(folder, files.basename(row.file))) or ""
    by_file[row.file] = text
    local number = 0
    for line in (text .. "\n"):gmatch "([^\n]*)\n" do
      number = number + 1
      if number == row.line then row.text = line:match "^%s*(.-)%s*$" end
    end
  end
end

local function hot_line(row)
  return ("line %d: %s warp instructions (%s)%s  %s"):format(row.line,
    units.count(row.instructions), units.percent(row.share), row.sectors_per_request
    and (", %.1f sectors a request"):format(row.sectors_per_request) or "", row.text or row.file)
end

-- Counters of the GPU that this server has, if it has one and may read them; else why not.
local function of_gpu(task, one, how, request, progress)
  local spec = spec_of(request)
  if spec:match "^sim" then return nil end
  local own = trial.beside(session_on(spec, request, progress, CHECK_S), task, { one }, how)[1]
  if own.rec.verdict ~= "passed" then return nil, "on " .. spec .. ": " .. own.rec.verdict end
  progress("counting on " .. spec)
  return hardware.counters({ task = task.name, file = task.file, set = how.set, knobs = how.knobs,
    candidate = one.sent, ptx = own.ptx, plan = own.rec.plan, device = spec }, request.folder)
end

local function add_hardware(answer, lines, rows, why)
  answer.hardware, answer.no_hardware = rows, why
  for _, row in ipairs(rows or {}) do
    lines[#lines + 1] = ("%s: %s; %s"):format(row.name, row.value, row.suggests)
  end
  if why then lines[#lines + 1] = "no counters of the GPU: " .. why end
end

function tools.profile(given, request, progress)
  local task, one, how = read(given, request)
  local session = session_on("sim:profile", request, progress, CHECK_S)
  local own = trial.beside(session, task, { one }, how)[1]
  local rec = tidy(own.rec, request)
  local passed = rec.verdict == "passed"
  local answer = outcome.of(rec, nil)
  answer.params = rec.params
  local lines = outcome.lines(rec, answer)
  if passed then
    answer.counters = profile.rows(rec)
    answer.lines = profile.hottest(rec, given.lines or LINES)
    source_lines(answer.lines, one)
    lines = { ("%s: counted at %s"):format(task.name, params.text(rec.params)) }
    for _, row in ipairs(answer.counters) do
      lines[#lines + 1] = ("%s: %s; %s"):format(row.name, row.value, row.suggests)
    end
    for _, row in ipairs(answer.lines) do lines[#lines + 1] = hot_line(row) end
    add_hardware(answer, lines, of_gpu(task, one, how, request, progress))
  end
  return finish(answer, lines, { detail = given.detail and passed }, rec.counters, request)
end

-- ---- all of them ----

local BOUNDED = { check = true, time = true, submit = true }

-- Where attempts are counted, the last that may be done is to submit one of them.
local function check_budget(name, given, request)
  local most = request.options.attempts
  if not most or not BOUNDED[name] or name == "submit" and given.attempt
    or not files.is_file(request.options.db) then return end
  local from <close> = store.open(request.options.db, { readonly = true })
  if from:attempts(request.options.session) >= most then
    core.error("invalid", ("the %d attempts of this session are spent"):format(most),
      "submit the best of them by its number; history lists them")
  end
end

for _, name in ipairs { "compile", "check", "time", "submit", "profile" } do
  local tool = tools[name]
  tools[name] = function(given, request, progress)
    check_budget(name, given, request)
    local _ <close> = turn(request, progress)
    return tool(given, request, progress)
  end
end

return tools
