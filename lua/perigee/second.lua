--- A second opinion: the PTX of a candidate for a GPU, run on sim:check over the first check sizes.
-- A GPU does not see what is right by luck: reads past the end, or of shared memory that an earlier
-- launch left, races, missing barriers. And it does not say where a fault is that it sees: so the
-- case that failed is run there, too. It is a diagnosis of small sizes, for a second, and no
-- defence against a kernel that is honest at those: nothing else may rest on it.
-- @module perigee.second

local core = require "perigee.core"
local errors = require "perigee.errors"
local params = require "perigee.params"

local second = {}

second.DEVICE = "sim:check"
local BUDGET_S, KERNEL_S = 1.0, 1 -- sizes come in the task's order, small ones first

-- What decides: faults that are such on every device. What the simulator lacks, or takes too long
-- for, is no opinion, and values were judged on the GPU.
local DECIDES = { out_of_bounds = true, uninitialized_read = true, race = true,
  input_modified = true }
local DECIDES_KIND = { divergence = true, misaligned = true, deadlock = true }

local function decides(failure)
  local finding = failure.findings and failure.findings[1]
  return finding and (DECIDES[failure.verdict] or DECIDES_KIND[finding.kind]) or false
end

-- A session on the simulator that has the judge's cases, kept for the next candidate.
local function session_of(session)
  if not session.other then
    session.other = require("perigee.judge").session { device = second.DEVICE, timeout = KERNEL_S,
      seed = session.seed, progress = session.progress }
    session.other.cases = session.cases
  end
  return session.other
end

-- The arm as the simulator gets it: the same PTX.
local function twin(arm)
  return { cases = 0, kind = arm.kind, set = arm.set, p = arm.p, impl = arm.impl, key = arm.key,
    request = arm.request, built = arm.built, ptx = arm.ptx, map = arm.map }
end

-- What kept the simulator from an opinion is told beside the verdict.
local function no_opinion(arm, reason)
  arm.unseen = { kind = "unchecked", severity = "note",
    text = ("%s did not see all of it: %s"):format(second.DEVICE, reason) }
end

-- One case on the simulator, an entry of the session's check_list. Returns a failure or nil, and
-- where.
local function try(other, copy, task, entry, set)
  local able, failure, where = errors.catch("environment", other.check_one, other, copy, task,
    entry, set)
  if able then return failure, where end
  if failure.code ~= "environment" then errors.again(failure) end
  return { verdict = "environment", reason = failure.message, findings = {} }
end

--- Ask for it. `arm.checked_by` lists the simulator when a case went through; `arm.unseen` is a
-- finding when one did not.
-- @tparam table session a session on a GPU
-- @tparam table arm that is right there
-- @tparam table task
-- @tparam[opt] table set
-- @treturn table|nil a failure
-- @treturn string|nil where it failed
function second.ask(session, arm, task, set)
  local other, copy, started = session_of(session), twin(arm), core.now()
  local failure, where
  for index = 1, params.check_count(task.params, set) do
    failure, where = try(other, copy, task, { index = index, number = 1 }, set)
    if failure then break end
    arm.checked_by = { session.spec, second.DEVICE }
    if core.now() - started > BUDGET_S then break end
  end
  if copy.runner then other.pool:release(copy.runner) end
  if not failure then return nil end
  if not decides(failure) then return no_opinion(arm, failure.reason) end
  arm.checked_by = { session.spec, second.DEVICE }
  failure.hint = failure.hint or ("right on the GPU by luck, which does not look; %s does"):format(
    second.DEVICE)
  return failure, where and ("%s, on %s"):format(where, second.DEVICE) or nil
end

--- Where the fault of an arm is that failed on a GPU: findings with a place go behind those of its
-- failure, whose verdict stays.
-- @tparam table session a session on a GPU
-- @tparam table arm with a failure, and failed_entry, the entry of check_list that failed
-- @tparam table task
-- @tparam[opt] table set
function second.locate(session, arm, task, set)
  local other, copy, own = session_of(session), twin(arm), arm.failure
  local failure = try(other, copy, task, arm.failed_entry, set)
  if copy.runner then other.pool:release(copy.runner) end
  if not failure or not decides(failure) and failure.verdict ~= own.verdict then return end
  for _, finding in ipairs(failure.findings) do
    finding.text = ("on %s: %s"):format(second.DEVICE, finding.text)
    table.insert(own.findings, finding)
  end
  if failure.findings[1] then arm.checked_by = { session.spec, second.DEVICE } end
end

return second
