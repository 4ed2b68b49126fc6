--- Expressions of a candidate's plan that have a value of their own at the timed size: each part of
-- them is worked out there and at other sizes, without a launch.
-- @module perigee.audit_plan

local expression = require "perigee.expression"
local implementation = require "perigee.impl"
local params = require "perigee.params"

local plans = {}

local SIZE_LEAST = 1000 -- a smaller parameter is a choice (a radius, bits) more often than a size
local TEXT_MOST = 1 << 14 -- bytes of all that is looked at; plans have some hundred

-- The texts of a plan, wherever they stand: names are expressions, too, of which nothing comes.
local function collect(value, set)
  if type(value) == "string" then set[value] = true end
  for _, item in pairs(type(value) == "table" and value or {}) do collect(item, set) end
  return set
end

local function texts_of(...)
  local list, bytes = {}, 0
  for _, text in ipairs(params.names(collect({ ... }, {}))) do
    bytes = bytes + #text
    if bytes <= TEXT_MOST then list[#list + 1] = text end
  end
  return list
end

local function with(p, name, value)
  local other = {}
  for key, own in pairs(p) do other[key] = own end
  other[name] = value
  return other
end

local function scaled(p, factor)
  local other = {}
  for name, value in pairs(p) do
    other[name] = math.type(value) == "integer" and value * factor // 1 | 0 or value
  end
  return other
end

-- Parameters of the checks and of the cells.
local function declared(task)
  local list = {}
  local function add(how)
    local ok, p = pcall(task.resolve, task, how)
    if ok then list[#list + 1] = p end
  end
  for index = 1, params.check_count(task.params) do add { purpose = "check", index = index } end
  for _, cell in ipairs(task.cells) do add { purpose = "default", cell = cell } end
  return list
end

-- Parameters with another value of `name` than `p` has.
local function others_of(p, name, known)
  local value, list = p[name], {}
  for _, other in ipairs { value - 2, value - 1, value + 1, value + 2, value // 2, value * 2,
    value * 3 } do
    list[#list + 1] = with(p, name, other)
  end
  for _, factor in ipairs { 2, 3, 0.5 } do list[#list + 1] = scaled(p, factor) end
  for _, other in ipairs(known) do
    if other[name] ~= value then list[#list + 1] = other end
  end
  return list
end

-- What an expression may name, as in perigee.plan; nil where the task has no such size.
local function names_at(arm, p)
  local ok, env = pcall(function()
    local all = {}
    for _, scalars in ipairs { (implementation.settings(arm.impl, p)),
      arm.case.task:call("args", p) or {} } do
      for name, value in pairs(scalars) do all[name] = value end
    end
    return all
  end)
  return ok and env or nil
end

local function envs_at(arm, list)
  local envs = {}
  for _, p in ipairs(list) do envs[#envs + 1] = names_at(arm, p) end
  return envs
end

--- The texts that single out a timed size.
-- @tparam table arm of perigee.judge
-- @tparam table sizes list of parameters at which it may be timed
-- @treturn table list of {text, name = of the parameter, value}
function plans.findings(arm, sizes)
  local impl, list, seen = arm.impl, {}, {}
  if type(impl.launch) ~= "table" and type(impl.args) ~= "table" then return list end
  local texts, known = texts_of(impl.launch or false, impl.args), declared(arm.case.task)
  for _, p in ipairs(sizes) do
    local env = names_at(arm, p)
    for _, name in ipairs(env and params.names(p) or {}) do
      local is_size = math.type(p[name]) == "integer" and p[name] >= SIZE_LEAST
      local others = is_size and envs_at(arm, others_of(p, name, known))
      for _, text in ipairs(others and texts or {}) do
        if not seen[text] and expression.singles_out(text, env, others) then
          seen[text] = true
          list[#list + 1] = { text = text, name = name, value = p[name] }
        end
      end
    end
  end
  return list
end

return plans
