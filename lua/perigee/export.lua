--- Layouts of a candidate's own: where a task allows it, untimed steps (`export`) bring what a run
-- left behind into the task's layout before it is judged. While they run the inputs hold garbage,
-- so that the work cannot be done there.
-- @module perigee.export

local core = require "perigee.core"
local params = require "perigee.params"
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

local function merged(a, b)
  for name, array in pairs(b) do a[name] = array end
  return a
end

--- Fetch the results of a set, after its export where there is one. What may not be left to the
-- export is fetched before it.
-- @tparam table arm {runner, export = nil or {steps, names}}; gets export_us, the least so far
-- @tparam integer set
-- @tparam integer poison 4 bytes that outputs held before the run; others fill the inputs meanwhile
-- @treturn table name -> array; or nil and a failure
function export.fetch(arm, set, poison)
  local how, runner = arm.export, arm.runner
  if not how then return runner:read(set) end
  local early = {}
  if how.names then
    local arrays, failure = runner:read(set, function(name) return not how.names[name] end)
    if not arrays then return nil, failure end
    early = arrays
  end
  local us, stopped = runner:export(set, how.steps, poison ~ 1)
  if not us then
    stopped.hint = "in an export inputs hold garbage: keep in scratch what it needs"
    return nil, stopped
  end
  arm.export_us = math.min(arm.export_us or math.huge, us)
  local late, failure = runner:read(set, how.names and function(name) return how.names[name] end)
  if not late then return nil, failure end
  return merged(early, late)
end

local FLOOR_US = 50 -- launches and a wait take so much of the host's clock
local SLOW_GBS = 200 -- at least, where nobody measured what this GPU copies

--- An untimed export that takes longer than what was timed and than reading and writing all that it
-- may read and write, at half the speed of a copy, has done the work.
-- @tparam number median_us of the timed plan
-- @tparam number export_us the least that an export of the same case took
-- @tparam integer bytes of state, outputs and scratch
-- @tparam[opt] number copy GB/s, read and written
-- @treturn table|nil a failure
function export.too_long(median_us, export_us, bytes, copy)
  local allowed = median_us + FLOOR_US + 2e-3 * bytes / math.max(copy or 0, SLOW_GBS)
  if export_us < allowed then return nil end
  local text = ("the untimed export took %.0f us, what was timed %.0f us: the work was "
    .. "moved there"):format(export_us, median_us)
  return { verdict = "cheat", reason = text, findings = { { kind = "slow_export", text = text } },
    hint = "an export brings what is ready into the task's layout" }
end

return export
