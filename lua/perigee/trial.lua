--- A candidate apart from its verdict: whether it compiles and loads, what it counts, and what it
-- costs beside others on the same inputs. Functions over a session of perigee.judge.
-- @module perigee.trial

local core = require "perigee.core"
local comparison = require "perigee.comparison"
local impl = require "perigee.impl"
local params = require "perigee.params"
local record = require "perigee.record"
local validate = require "perigee.validate"

local trial = {}

-- An arm of a candidate, or of an implementation of the task.
local function arm_of(session, task, one, how)
  local arm = { cases = 0, kind = one.foreign and "check" or "run", set = how.set }
  arm.p = task:resolve { purpose = session.purpose, set = how.set }
  arm.impl = impl.choose(one, how.knobs, true)
  if one.is_data and not one.broken then impl.check_knobs(arm.impl, task, arm.p) end
  return arm
end

-- A process that calls a library, which takes long to load, serves the next call, too.
local function release(session, arms)
  for _, arm in ipairs(arms) do
    local give_back = arm.runner and arm.runner.trusted and session.pool.keep
      or session.pool.release
    if arm.runner then give_back(session.pool, arm.runner) end
  end
end

--- Compile a candidate and load it, with the buffers of the last check size: nothing runs.
-- @tparam table session
-- @tparam table task
-- @tparam table candidate what impl.candidate returned
-- @tparam table how {set, knobs}
-- @treturn table a record whose verdict is "passed" or says why it cannot be launched; nothing was
--   judged, so it is none to keep
function trial.compile(session, task, candidate, how)
  session.pool:fill(1)
  local arm = arm_of(session, task, candidate, how)
  session:build({ arm })
  -- the first size may be one at which nothing is launched
  arm.case = session:check_case(task,
    { index = params.check_count(task.params, how.set), number = 1 }, how.set)
  if not arm.failure then arm.failure = session:prepare(arm, 1) end
  release(session, { arm })
  return (record.of(arm, session))
end

--- Run implementations and candidates on the same inputs, at the size that is timed; where the
-- device has a clock they are timed interleaved, the first being what others are compared with.
-- @tparam table session
-- @tparam table task
-- @tparam table list what impl.candidate or impl.resolve returned, each
-- @tparam table how {set, knobs, checked = the session that has just checked a candidate of the
--   list at small sizes: inputs of the timed size are still new there}
-- @treturn table list of {rec, extra, ptx}, one for each, see record.of
function trial.beside(session, task, list, how)
  if how.checked ~= session then session:renew() end
  validate.prepare(task)
  local arms, results = {}, {}
  for i, one in ipairs(list) do arms[i] = arm_of(session, task, one, how) end
  session.pool:fill(#arms)
  session:run_point(task, arms, function() return session:timed_case(task, how.set) end)
  for i, arm in ipairs(arms) do
    local rec, extra = record.of(arm, session)
    results[i] = { rec = rec, extra = extra, ptx = arm.built and arm.built.ptx }
  end
  release(session, arms)
  return results
end

--- How many times cheaper one is than another: medians, or exact counts.
-- @tparam table one {rec, extra} of `beside`
-- @tparam table other the same
-- @treturn number|nil ratio
-- @treturn table|nil its 95% interval
function trial.speedup(one, other)
  local row = comparison.pair(one.rec, other.rec, one.extra.samples, other.extra.samples)
  if not row.ratio then return nil end
  return row.ratio, core.json_array(row.ratio_ci95)
end

return trial
