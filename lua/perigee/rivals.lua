--- What a candidate is compared with whatever else is known: the task's implementation "naive", or
-- the first where none has that name, its expert, and what was asked for.
-- @module perigee.rivals

local core = require "perigee.core"
local experts = require "perigee.experts"
local impl = require "perigee.impl"
local params = require "perigee.params"
local suggest = require "perigee.suggest"

local rivals = {}

-- Names, that of the plain one first.
local function names_of(task, against)
  local all = task:impl_names()
  local list = { suggest.has(all, "naive") and "naive" or all[1] }
  for _, name in ipairs(all) do
    local wanted = name == "expert" or suggest.has(against or {}, name)
    if wanted and name ~= list[1] then list[#list + 1] = name end
  end
  return list
end

--- The implementations, without those that are not for these parameters, and those that a simulator
-- cannot run.
-- @tparam table task
-- @tparam table p resolved parameters
-- @tparam[opt] table against names
-- @tparam boolean simulated
-- @treturn table list of what impl.resolve returned
function rivals.of(task, p, against, simulated)
  local list = {}
  for _, declared in ipairs(task:select_impls(names_of(task, against))) do
    local one = params.fits(declared.only, p) and impl.resolve(task, declared)
    if one and not (simulated and experts.is(one)) then list[#list + 1] = one end
  end
  return list
end

--- Refuse a name that none of the tasks has: nothing would be compared with it, and nobody would
-- notice.
-- @tparam[opt] table against names
-- @tparam table tasks
-- @raise "not_found"
function rivals.check(against, tasks)
  for _, wanted in ipairs(against or {}) do
    local found = false
    for _, task in ipairs(tasks) do found = found or suggest.has(task:impl_names(), wanted) end
    if not found then
      core.error("not_found", ("--against: no task here has an implementation '%s'"):format(wanted),
        "perigee describe TASK names them")
    end
  end
end

return rivals
