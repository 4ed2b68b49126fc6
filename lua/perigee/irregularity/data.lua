--- Judged arms of every language on data that leaves causes out: all blocks there, points in
-- another order; and beside the regular control.
-- @module perigee.irregularity.data

local core = require "perigee.core"
local report = require "perigee.irregularity.report"
local split = require "perigee.irregularity.split"
local suite = require "perigee.irregularity.suite"

local data = {}

--- The columns.
data.VARIANTS = {
  { name = "as it is", title = "as it is", set = {} },
  { name = "control", title = "control", set = {}, control = true },
  { name = "all there", title = "all there", set = { warm = true }, only = "allocate" },
  { name = "shuffled", title = "shuffled", set = { order = "shuffled" } },
  { name = "morton", title = "Morton", set = { order = "morton" } },
}

-- The controls have an arm a language, whatever arms are asked for.
local function plan_of(how)
  local plan, impls = {}, suite.impls(how.impls, how.stages)
  for _, stage in ipairs(how.stages) do
    for _, variant in ipairs(data.VARIANTS) do
      if not variant.only or variant.only == stage then
        local list = suite.plan { stages = { variant.control and suite.CONTROLS[stage] or stage },
          cells = how.cells, impls = not variant.control and impls or nil, set = variant.set,
          any = true }
        for _, one in ipairs(list) do
          one.variant = variant.name
          plan[#plan + 1] = one
        end
      end
    end
  end
  return plan
end

--- Do what the options of kernels/tsdf/irregularity.lua say.
-- @treturn integer exit status
function data.run(options)
  local how, results = split.prepared(options), suite.results()
  local json <close> = how.json and report.opened(how.json) or nil
  local left_out = suite.run(plan_of(how), { device = how.spec, passes = how.passes or 3,
    seed = how.seed, budget = how.budget }, function(record)
    results:add(record)
    if json then json:write(core.json_encode(record), "\n") end
  end)
  report.variants(results, data.VARIANTS, how.spec:match "^sim" ~= nil)
  report.left_out(left_out)
  if how.csv then report.variants_csv(results, how.csv) end
  return results:failed() and 1 or 0
end

return data
