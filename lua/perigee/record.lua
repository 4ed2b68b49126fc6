--- Result records: one table, one JSON object, for each evaluation. The fields are those of the
-- design.
-- @module perigee.record

local core = require "perigee.core"
local experts = require "perigee.experts"
local ceilings = require "perigee.ceilings"
local files = require "perigee.files"
local impl = require "perigee.impl"
local sources = require "perigee.sources"

local record = {}

local function list(values)
  return core.json_array(values or {})
end

--- PTX version and target, e.g. "8.7, sm_90".
local function ptx_version(ptx)
  local version, target = ptx:match("%.version%s+([%d%.]+)"), ptx:match("%.target%s+([%w_]+)")
  return version and ("%s, %s"):format(version, target or "?") or nil
end

-- The ceilings of the session's GPU, read once; false when they were never measured.
local function known_ceilings(session)
  if session.ceilings == nil then
    local info = session.info
    session.ceilings = info and info.name and ceilings.load(info.name) or false
  end
  return session.ceilings
end

-- Compulsory work per second, and its share of what this GPU can do where that is known.
local function efficiency(arm, session)
  local time, work = arm.time, arm.case:work()
  if not time or time.median_us <= 0 then return nil end
  local result = {
    bandwidth = work.bytes and work.bytes / time.median_us * 1e-3 or nil, -- GB/s
    compute = work.flops and work.flops / time.median_us * 1e-3 or nil, -- Gflop/s
  }
  local known = known_ceilings(session)
  if known then
    result.of_limit, result.limit = ceilings.share(result, known,
      { case = arm.case, method = time.method, l2_bytes = session.info.l2_bytes })
  end
  return result
end

-- -1 stands for what the device cannot tell.
local function known(value)
  return value and value >= 0 and value or nil
end

-- What the driver or the parser says of each kernel that the plan launches.
local function kernel_facts(arm)
  local wanted, result = {}, {}
  for _, name in ipairs(arm.kernel_names or {}) do wanted[name] = true end
  for _, kernel in ipairs(arm.kernels or {}) do
    if wanted[kernel.name] then
      result[#result + 1] = {
        name = kernel.name, registers = known(kernel.registers),
        local_bytes = known(kernel.local_bytes), shared_bytes = known(kernel.shared_bytes),
        max_threads = kernel.max_threads,
      }
    end
  end
  return list(result)
end

-- What the PTX of those kernels says; nil where no kernel was launched.
local function audited(arm)
  local seen = arm.audit
  return seen and { facts = seen.facts, globals = seen.globals, entries = seen.entries,
    launches = seen.launches }
end

-- What the run found and, behind it, what the audit did.
local function findings_of(arm, found)
  local all = list(table.move(found or {}, 1, #(found or {}), 1, {}))
  for _, finding in ipairs(arm.audit and arm.audit.findings or {}) do all[#all + 1] = finding end
  all[#all + 1] = arm.nondeterministic
  all[#all + 1] = arm.far
  all[#all + 1] = arm.slow_export
  all[#all + 1] = arm.seen
  all[#all + 1] = arm.unseen
  all[#all + 1] = arm.left_out
  return all
end

local function environment(health)
  if not health then return nil end
  local power = known(health.power_mw)
  return {
    clock = known(health.sm_clock_mhz), temp = known(health.temperature_c),
    power = power and power / 1000, -- MHz, degrees Celsius, watts
  }
end

local function knobs_of(arm)
  local _, values = impl.settings(arm.impl, arm.case.p)
  return next(values) and values or nil
end

-- Restrictions of the compiler; nil where nothing was compiled for this record.
local function compiler_sandbox(built)
  if not built or built.cached or not built.sandbox then return nil end
  return list(built.sandbox)
end

-- What is known whatever came out.
local function about(arm, session)
  local info, built = session.info or {}, arm.built
  return {
    task = arm.case.task.name, cell = arm.cell and arm.cell.name, params = arm.case.p,
    impl = arm.impl.name, lang = arm.impl.lang, source = arm.impl.shown, device = session.spec,
    knobs = knobs_of(arm), gpu = info.name,
    cases = arm.cases, checked_by = list(arm.checked_by or { session.spec }),
    checks = list(arm.checks), facts = arm.facts or {}, kernels = kernel_facts(arm),
    audit = audited(arm),
    work = arm.case:work(), seed = session.seed, schedule = arm.schedule,
    source_sha = arm.source_sha,
    trusted = experts.is(arm.impl) or nil, library = arm.library,
    sandbox = list(arm.sandbox), compiler_sandbox = compiler_sandbox(built),
    env = environment(arm.health), at = core.utc(),
    versions = {
      perigee = core.version, driver = info.driver ~= "" and info.driver or nil,
      nvrtc = built and built.compiler, ptx = built and ptx_version(built.ptx),
    },
  }
end

local function add_build(rec, built)
  rec.compile_log = built.log
  rec.compile_ms, rec.compile_cached = built.seconds * 1e3, built.cached
  rec.committed_ptx, rec.stale_ptx = built.committed, built.stale or nil
  rec.ptx_sha = core.sha256(built.ptx)
end

local function add_failure(rec, arm)
  local failure = arm.failure
  rec.verdict, rec.reason, rec.hint = failure.verdict, failure.reason, failure.hint
  rec.findings, rec.failed_at = findings_of(arm, failure.findings), arm.failed_at
  rec.failed_cases, rec.dumped = arm.failed_cases, failure.dumped
  rec.not_dumped = failure.not_dumped
  rec.compile_log = rec.compile_log or failure.log or ""
end

-- Who knows the seed can know every input and its answer.
local function flag_seed(rec, session)
  if rec.kind ~= "check" or not session.repeats then return end
  table.insert(rec.findings, { kind = "known_seed", severity = "note",
    text = "its inputs follow from a seed that was given: who knew it could know the answers" })
end

-- A failed verdict carries no time; the simulator's wall time never stands where a GPU's does.
local function add_success(rec, arm, session)
  local gpu_clock = session.info and session.info.gpu_clock
  rec.verdict, rec.findings = "passed", findings_of(arm, arm.findings)
  rec.time, rec.speedup, rec.speedup_ci95 = arm.time, arm.speedup, arm.speedup_ci95
  rec.efficiency = efficiency(arm, session)
  rec.counters = arm.counters and arm.counters.complete and arm.counters or nil -- no 0 for unknown
  rec.export_us = arm.export_us
  if arm.profile then rec.lines, rec.hot_addresses = arm.profile.lines, arm.profile.hot end
  if not gpu_clock then rec.sim_wall_us = arm.wall_us end
  flag_seed(rec, session)
end

-- The file of the PTX that stood in for the source; nil when the source was compiled.
local function committed_of(arm)
  local shown = arm.built and arm.built.committed
  if not shown or core.file_info(shown) then return shown end
  return files.join(core.home or ".", shown)
end

-- What it takes to run the very same again: sources by their SHA-256, options, plan, inputs.
local function add_origin(rec, arm)
  rec.kind, rec.input_seed = arm.kind or "run", arm.case.seed
  rec.set = next(arm.set or {}) and arm.set or nil
  rec.task_file = arm.case.task.file and files.shown(arm.case.task.file)
  rec.plan = arm.steps and #arm.steps > 0 and arm.steps or nil
  local request = arm.request
  if not request then return {} end
  local options = list {}
  for _, option in ipairs(request.options) do
    if option:sub(1, 2) ~= "-I" then options[#options + 1] = option end -- folders of this machine
  end
  rec.options, rec.sources = options, list {}
  local bundle = sources.of(arm.impl, request.source, committed_of(arm))
  for i, source in ipairs(bundle) do rec.sources[i] = { name = source.name, sha = source.sha } end
  return bundle
end

--- Build the record of one arm.
-- @tparam table arm see perigee.judge
-- @tparam table session {spec, info, seed}
-- @treturn table the record
-- @treturn table what belongs to it and is too long to print: {sources = list of {name, sha,
--   text}, samples = list of microseconds}, see perigee.store
function record.of(arm, session)
  local rec = about(arm, session)
  local extra = { sources = add_origin(rec, arm), samples = arm.samples }
  if arm.built then add_build(rec, arm.built) end
  if arm.failure then
    add_failure(rec, arm)
  else
    add_success(rec, arm, session)
  end
  return rec, extra
end

return record
