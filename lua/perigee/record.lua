--- Result records: one table, one JSON object, for each evaluation. The fields are those of the
-- design.
-- @module perigee.record

local core = require "perigee.core"

local record = {}

local function list(values)
  return core.json_array(values or {})
end

--- PTX version and target, e.g. "8.7, sm_90".
local function ptx_version(ptx)
  local version, target = ptx:match("%.version%s+([%d%.]+)"), ptx:match("%.target%s+([%w_]+)")
  return version and ("%s, %s"):format(version, target or "?") or nil
end

-- Compulsory work per second. No ceiling is known yet, so of_limit stays out.
local function efficiency(work, time)
  if not time or time.median_us <= 0 then return nil end
  return {
    bandwidth = work.bytes and work.bytes / time.median_us * 1e-3 or nil, -- GB/s
    compute = work.flops and work.flops / time.median_us * 1e-3 or nil, -- Gflop/s
  }
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

local function environment(health)
  if not health then return nil end
  local power = known(health.power_mw)
  return {
    clock = known(health.sm_clock_mhz), temp = known(health.temperature_c),
    power = power and power / 1000, -- MHz, degrees Celsius, watts
  }
end

--- Build the record of one arm.
-- @tparam table arm see perigee.judge
-- @tparam table session {spec, info, seed}
function record.of(arm, session)
  local info, case, built = session.info or {}, arm.case, arm.built
  local failure = arm.failure
  local gpu = info.gpu_clock
  return {
    task = case.task.name, cell = arm.cell and arm.cell.name or nil, params = case.p,
    impl = arm.impl.name,
    lang = arm.impl.lang, source = arm.impl.shown, device = session.spec, gpu = info.name,
    verdict = failure and failure.verdict or "passed", reason = failure and failure.reason or nil,
    hint = failure and failure.hint or nil, failed_at = failure and arm.failed_at or nil,
    findings = list(failure and failure.findings), checked_by = list { session.spec },
    cases = arm.cases, checks = list(arm.checks), facts = arm.facts or {},
    compile_ms = built and built.seconds * 1e3 or nil, compile_cached = built and built.cached
      or nil,
    compile_log = built and built.log or failure and failure.log or "",
    committed_ptx = built and built.committed, stale_ptx = built and built.stale or nil,
    time = not failure and arm.time or nil, speedup = not failure and arm.speedup or nil,
    speedup_ci95 = not failure and arm.speedup_ci95 or nil,
    work = case:work(), efficiency = not failure and efficiency(case:work(), arm.time) or nil,
    counters = not failure and arm.counters or nil,
    sim_wall_us = not failure and not gpu and arm.wall_us or nil, kernels = kernel_facts(arm),
    seed = session.seed, source_sha = arm.source_sha, ptx_sha = built and core.sha256(built.ptx)
      or nil,
    sandbox = list(arm.sandbox),
    versions = {
      perigee = core.version, driver = info.driver ~= "" and info.driver or nil,
      nvrtc = built and built.compiler, ptx = built and ptx_version(built.ptx),
    },
    env = environment(arm.health), at = core.utc(),
  }
end

return record
