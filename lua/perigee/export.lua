--- Layouts of a candidate's own: where a task allows it, untimed steps (`export`) bring what a run
-- left behind into the task's layout before it is judged. While they run the inputs hold garbage,
-- so that the work cannot be done there.
-- @module perigee.export

local core = require "perigee.core"
local params = require "perigee.params"
local runner = require "perigee.runner"
local suggest = require "perigee.suggest"

local export = {}

--- Names of the buffers that may be left to an export; nil for all state and outputs.
-- @tparam table task
-- @tparam table list buffers of a case
-- @tparam string where place of the implementation that exports
-- @treturn table|nil name -> true
-- @raise "invalid" when the task does not allow it; "not_found" for a misspelt buffer of the task
function export.names(task, list, where)
  local allowed = task.own_layout
  if not allowed then
    core.error("invalid", ("export: %s takes its results as they are declared"):format(task.name),
      "leave export out; a task allows it by own_layout", where)
  end
  if allowed == true then return nil end
  local names, known = {}, {}
  for _, buffer in ipairs(list) do
    if buffer.role ~= "input" and not buffer.scratch then known[buffer.name] = true end
  end
  for _, name in ipairs(allowed) do
    if not known[name] then
      core.error("not_found", ("task %s: own_layout: no state or output '%s'"):format(task.name,
        tostring(name)), suggest.hint(tostring(name), params.names(known), "buffers"), task.where)
    end
    names[name] = true
  end
  return names
end

local function merged(...)
  local all, touched = {}, {}
  for _, arrays in ipairs { ... } do
    for name, array in pairs(arrays) do all[name] = array end
    for name, ranges in pairs(runner.touched(arrays)) do touched[name] = ranges end
  end
  return setmetatable(all, { touched = touched })
end

--- Fetch the results of a set, after its export where there is one. What may not be left to the
-- export is fetched before it.
-- @tparam table arm {runner, export = nil or {steps, names}}; gets export_us, the median so far
-- @tparam integer set
-- @tparam integer poison 4 bytes that outputs held before the run; others fill the inputs meanwhile
-- @treturn table name -> array; or nil and a failure
function export.fetch(arm, set, poison)
  local how, process = arm.export, arm.runner
  if not how then return process:read(set) end
  local early = {}
  if how.names then
    local arrays, failure = process:read(set, function(name) return not how.names[name] end)
    if not arrays then return nil, failure end
    early = arrays
  end
  local us, stopped = process:export(set, how.steps, poison ~ 1)
  if not us then
    stopped.hint = "in an export inputs hold garbage: keep in scratch what it needs"
    return nil, stopped
  end
  arm.exports[#arm.exports + 1] = us
  arm.export_us = #arm.exports > 1 and core.summarize(arm.exports).median or us
  local late, failure = process:read(set, how.names and function(name) return how.names[name] end)
  if not late then return nil, failure end
  return merged(early, late)
end

local FLOOR_US = 50 -- launches and a wait take so much of the host's clock
local PASSES = 4 -- over what may be brought: reading it, writing it, each at half the speed

--- Judge what the exports of a case took. One that takes longer than bringing the task's buffers
-- may take has done work; one that takes longer than what was timed is a finding.
-- @tparam number export_us the median of the exports
-- @tparam number median_us of the timed plan
-- @tparam integer bytes of the task's state and outputs, without scratch
-- @tparam number rate GB/s that memory moves
-- @treturn table|nil a failure
-- @treturn table|nil a finding
function export.judge(export_us, median_us, bytes, rate)
  local text = ("the untimed export took %.0f us, what was timed %.0f us: "):format(export_us,
    median_us)
  if export_us >= FLOOR_US + PASSES * 1e-3 * bytes / rate then
    text = text .. "the work was moved there"
    return { verdict = "cheat", reason = text, findings = { { kind = "slow_export",
      text = text } }, hint = "an export brings what is ready into the task's layout" }
  end
  if export_us < median_us + FLOOR_US then return nil end
  return nil, { kind = "slow_export", text = text .. "work may have been moved there" }
end

return export
