--- `perigee check TASK CANDIDATE...`
-- @module perigee.cli.check

local common = require "perigee.cli.common"
local impl = require "perigee.impl"
local keep = require "perigee.cli.keep"
local params = require "perigee.params"
local report = require "perigee.report"
local verdict = require "perigee.verdict"

local check = {}

local SPARES = 4

function check.configure(parser)
  parser:argument("task", "name of a task (see perigee list) or a task file")
  parser:argument("candidate", "source file (.cu, .rs, .py or .ptx) or folder with a plan.lua")
    :args("+")
  common.evaluation(parser, "0.2")
  common.trust(parser)
  keep.configure(parser)
end

--- @treturn integer exit status
function check.main(options)
  local task = common.one_task(options.task)
  local how = { set = common.sets(options.set), knobs = common.knobs(options.knob) }
  local p = task:resolve { purpose = "check", set = how.set }
  params.check_effect(task.params, how.set, { p }, task.name)
  local candidates = {}
  for i, path in ipairs(options.candidate) do candidates[i] = impl.candidate(path) end
  impl.check_choice(candidates, how.knobs)
  local keeper <close> = keep.open(options, "check")
  local session <close>, line = common.session(options)
  session.pool:fill(math.min(SPARES, #candidates))
  local status = 0
  for i, candidate in ipairs(candidates) do
    local rec, extra = session:check(task, candidate, how)
    line:clear()
    keeper:add(rec, extra)
    status = common.worse(status, verdict.status(rec.verdict))
    if options.json then
      common.out(report.json(keeper:shown(rec, extra)))
    else
      if i > 1 then common.out("") end
      report.check(rec, task, common.out)
    end
    if i < #candidates then session:stand_by(math.min(SPARES, #candidates - i)) end
  end
  return keeper:status(status)
end

return check
