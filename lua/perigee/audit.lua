--- The audit of a candidate: the facts of the kernels that its plan launches, findings (what a
-- reader of its verdict should know), and the facts that its task requires or forbids. Findings
-- never change a verdict; a broken contract is the verdict "forbidden".
-- @module perigee.audit

local core = require "perigee.core"
local facts = require "perigee.facts"
local params = require "perigee.params"
local plan = require "perigee.plan"
local plans = require "perigee.audit_plan"
local sizes = require "perigee.audit_sizes"
local units = require "perigee.units"

local audit = {}

local TABLE_NOTED = 4096 -- bytes; the tables of CUDA's own functions are smaller

local function finding(kind, severity, text, where)
  return { kind = kind, severity = severity, text = text, where = where }
end

-- ---- findings ----

local function variables(bytes)
  local names = params.names(bytes)
  for i, name in ipairs(names) do
    names[i] = name == "*" and "a variable" or ("%s (%s)"):format(name, units.bytes(bytes[name]))
  end
  return table.concat(names, ", ")
end

-- Facts that are findings by themselves: {name, severity, text}.
local TOLD = {
  { "child_launch", "suspicious", "launches kernels itself" },
  { "clock", "suspicious", "reads a clock" },
  { "cache_policy", "suspicious", "changes what stays in L2" },
  { "event_counter", "suspicious", "reads or triggers counters of events" },
  { "placement", "note", "reads where it runs" },
  { "print", "note", "prints" },
  { "allocate", "suspicious", "allocates memory on the device, which outlives a launch" },
}

--- What a reader should know of kernels.
-- @tparam table found what facts.of returned
-- @tparam table worlds list of parameter in the PTX -> value when it is timed
-- @tparam table names parameter in the PTX -> name in the task's contract
-- @treturn table list of {kind, severity = "suspicious" | "note", text, where}
function audit.findings(found, worlds, names)
  local list = {}
  local state = found.facts.global_state
  if state then
    list[1] = finding("global_state", "suspicious", ("writes %s, which outlives a launch"):format(
      variables(found.state)), state.where)
  end
  for _, told in ipairs(TOLD) do
    local fact = found.facts[told[1]]
    if fact then
      list[#list + 1] = finding(told[1], told[2], ("%s: %s"):format(told[3], fact.text), fact.where)
    end
  end
  for _, name in ipairs(params.names(found.tables)) do
    local bytes = found.tables[name]
    if bytes >= TABLE_NOTED then
      list[#list + 1] = finding("constant_table", "note",
        ("reads a table of %s, %s"):format(units.bytes(bytes), name),
        found.facts.constant_table.where)
    end
  end
  for _, one in ipairs(sizes.findings(found.tests, worlds, names)) do
    list[#list + 1] = finding("size_branch", "suspicious", one.text, one.where)
  end
  if found.test_count > #found.tests then
    list[#list + 1] = finding("size_branch", "suspicious",
      ("compares sizes with constants in %d places or more"):format(found.test_count))
  end
  return list
end

-- ---- an arm of the judge ----

-- What launches of the plan give to parameters, and the shape of their grids.
local function worlds_of_plan(arm, module, worlds)
  plan.each_launch(arm.steps, function(step)
    local fn, values = module.functions[step.launch], {}
    for k, name in ipairs(fn and fn.parameters or {}) do
      values[name] = step.args and step.args[k] and step.args[k].i
    end
    for k, axis in ipairs { "x", "y", "z" } do
      values["%nctaid." .. axis], values["%ntid." .. axis] = step.grid[k], step.block[k]
    end
    worlds[#worlds + 1] = values
  end)
end

-- The same of the contract's parameters and scalars at `p`.
local function world_of_contract(arm, names, p)
  local values, given = {}, arm.case.task:call("args", p) or {}
  for ptx, name in pairs(names) do
    local value = given[name]
    if value == nil then value = p[name] end
    values[ptx] = math.type(value) == "integer" and value or nil
  end
  return values
end

-- Parameters of the kernels that are launched -> names in the contract, where the kernel is one of
-- the task's.
local function names_of(arm, module)
  local names, signatures = {}, arm.case.signatures
  for _, kernel in ipairs(arm.kernel_names) do
    local fn, parsed = module.functions[kernel], signatures[kernel]
    for k, name in ipairs(fn and fn.parameters or {}) do
      local param = parsed and #parsed.params == #fn.parameters and parsed.params[k]
      names[name] = param and param.name or ("parameter %d of %s"):format(k, kernel)
    end
  end
  return names
end

-- Parameters when it is timed here, and by default on a GPU.
local function timed_sizes(arm)
  local task = arm.case.task
  local ok, p = pcall(task.resolve, task, { purpose = "default", cell = arm.cell, set = arm.set })
  return { arm.p, ok and p or nil } -- what is set may not go with the defaults
end

-- What parameters are when it is timed: in this plan, if it is the timed one; in the contract at
-- that size, and at the size that a GPU times by default.
local function timed_worlds(arm, module, names)
  local worlds = {}
  if params.text(arm.case.p) == params.text(arm.p) then worlds_of_plan(arm, module, worlds) end
  for i, p in ipairs(timed_sizes(arm)) do
    local made, world = pcall(world_of_contract, arm, names, p)
    if not made and i == 1 then error(world, 0) end
    if made then worlds[#worlds + 1] = world end
  end
  return worlds
end

local function forbidden(text, where, fact)
  return { verdict = "forbidden", reason = text,
    findings = { { kind = "forbidden", text = text, where = where, fact = fact } } }
end

-- PTX that a driver may well accept. What must have or lack facts has to be readable; and of a
-- stranger's kernel nobody would know whether it allocates, launches, or keeps lines in L2.
local function unreadable(module, required, not_allowed, foreign)
  local text = "the audit cannot read this PTX: " .. module.unreadable
  local failure
  if #required + #not_allowed > 0 then
    failure = forbidden(text)
    failure.hint = "the task requires or forbids instructions, so it must be readable"
  elseif foreign then
    failure = { verdict = "unsupported", reason = text, findings = {},
      hint = "what a candidate does must be readable: leave out the construct named" }
  end
  return { facts = {}, globals = module.globals,
    findings = { finding("unreadable", "suspicious", text) },
    failure = failure }
end

-- A block that one launch gives back the next one gets, with what is in it: answers would outlive
-- launches there, and nothing puts such memory back. The simulator has none either.
local function allocates(found)
  local fact = found.facts.allocate
  if not fact then return nil end
  local text = "memory from the device's allocator keeps what is in it from launch to launch"
  return { verdict = "unsupported", reason = text, hint = "declare scratch in a plan.lua",
    findings = { { kind = "allocate", text = text, where = fact.where } } }
end

local function examine(arm)
  local task = arm.case.task
  local required, not_allowed = task:facts_of("require", arm.p), task:facts_of("forbid", arm.p)
  arm.built.audit = arm.built.audit or facts.read(arm.ptx, arm.impl.shown)
  local module = arm.built.audit
  if module.unreadable then
    return unreadable(module, required, not_allowed, arm.impl.foreign)
  end
  local found, entries = facts.of(module, arm.kernel_names), 0
  for _, fn in pairs(module.functions) do entries = entries + (fn.entry and 1 or 0) end
  local wrong = facts.broken(found.facts, required, not_allowed)
  local apart = {}
  for i, one in ipairs(plans.findings(arm, timed_sizes(arm))) do
    apart[i] = finding("size_branch", "suspicious", ("the plan's \"%s\" tells %s = %d, the timed "
      .. "size, from all others"):format(one.text, one.name, one.value), arm.impl.where)
  end
  return {
    facts = found.facts, globals = found.globals, entries = entries, found = found, apart = apart,
    failure = wrong and forbidden(wrong.text, wrong.where, wrong.fact) or allocates(found),
  }
end

-- The findings for the plan at hand: the last is that of the timed size.
local function find(arm)
  local found, module = arm.audit.found, arm.built.audit
  if not found then return arm.audit.findings end -- unreadable
  local names = names_of(arm, module)
  local worlds = #found.tests > 0 and timed_worlds(arm, module, names) or {}
  local list = audit.findings(found, worlds, names)
  return table.move(arm.audit.apart, 1, #arm.audit.apart, #list + 1, list)
end

local function launches(steps)
  local count = 0
  plan.each_launch(steps, function() count = count + 1 end)
  return count
end

--- Audit the kernels that an arm's plan launches; `arm.audit` is {facts, globals, entries,
-- launches, findings}. A plan that launches nothing says nothing.
-- @tparam table arm of perigee.judge, its module loaded and its plan linked
-- @treturn nil|table the failure "forbidden", or "unsupported" for kernels that allocate memory and
--   for candidates whose PTX cannot be read
function audit.arm(arm)
  if #arm.kernel_names == 0 then return nil end
  local key = core.json_encode { arm.key, arm.kernel_names, arm.cell and arm.cell.name or "" }
  if arm.audited ~= key then
    arm.audited, arm.audit = key, examine(arm)
  end
  arm.audit.findings = find(arm)
  arm.audit.launches = launches(arm.steps)
  return arm.audit.failure
end

return audit
