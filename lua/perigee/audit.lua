--- The audit of a candidate: the facts of the kernels that its plan launches, findings (what a
-- reader of its verdict should know), and the facts that its task requires or forbids. Findings
-- never change a verdict; a broken contract is the verdict "forbidden".
-- @module perigee.audit

local core = require "perigee.core"
local facts = require "perigee.facts"
local plan = require "perigee.plan"
local units = require "perigee.units"

local audit = {}

local TABLE_NOTED = 4096 -- bytes; the tables of CUDA's own functions are smaller

local function finding(kind, severity, text, where)
  return { kind = kind, severity = severity, text = text, where = where }
end

-- ---- sizes ----

local SIGNS = { eq = "==", ne = "!=", lt = "<", le = "<=", gt = ">", ge = ">=", lo = "<",
  ls = "<=", hi = ">", hs = ">=" }

-- Whether a comparison with `constant` tells `value` from its neighbour.
local function separates(constant, value)
  return math.type(value) == "integer" and math.abs(value - constant) <= 1
end

-- The parameter by its name in the contract, where the kernel is one of the task's.
local function name_of(test, signatures)
  for _, parsed in ipairs(signatures) do
    local param = test.parameter and parsed.params[test.parameter]
    if param and test.of == ("%s_param_%d"):format(parsed.name, test.parameter - 1) then
      return param.name
    end
  end
  return test.of or "a size"
end

local function said(test, signatures)
  local name, sign = name_of(test, signatures), SIGNS[test.comparison:gsub("u$", "")]
  if not test.exact then name = "a value computed from " .. name end
  if not sign then return ("%s(%s, %d)"):format(test.comparison, name, test.constant) end
  return ("%s %s %d"):format(name, sign, test.constant)
end

-- Comparisons with a size that is timed, and those on one side of which nothing is stored.
local function size_findings(list, found, sizes, signatures)
  for _, test in ipairs(found.tests) do
    local timed
    for _, value in ipairs(sizes) do
      timed = timed or (test.exact and separates(test.constant, value) and value)
    end
    if timed or test.skips then
      local text = "branches on " .. said(test, signatures)
      if timed then text = ("%s, the timed size"):format(text) end
      if test.skips then text = text .. ": one way from there nothing is stored" end
      list[#list + 1] = finding("size_branch", "suspicious", text, test.where)
    end
  end
  if found.test_count > #found.tests then
    list[#list + 1] = finding("size_branch", "suspicious",
      ("compares sizes with constants in %d places"):format(found.test_count))
  end
end

-- ---- findings ----

local function variables(sizes)
  local names = {}
  for name in pairs(sizes) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    names[i] = name == "*" and "a variable" or ("%s (%s)"):format(name, units.bytes(sizes[name]))
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
  { "allocate", "note", "allocates memory on the device" },
}

--- What a reader should know of kernels.
-- @tparam table found what facts.of returned
-- @tparam table sizes values that are timed
-- @tparam table signatures the task's contract
-- @treturn table list of {kind, severity = "suspicious" | "note", text, where}
function audit.findings(found, sizes, signatures)
  local list = {}
  local state = found.facts.global_state
  if state then
    list[1] = finding("global_state", "suspicious", ("writes %s, which outlives a launch"):format(
      variables(found.globals)), state.where)
  end
  for _, told in ipairs(TOLD) do
    local fact = found.facts[told[1]]
    if fact then
      list[#list + 1] = finding(told[1], told[2], ("%s: %s"):format(told[3], fact.text), fact.where)
    end
  end
  for name, bytes in pairs(found.tables) do
    if bytes >= TABLE_NOTED then
      list[#list + 1] = finding("constant_table", "note",
        ("reads a table of %s, %s"):format(units.bytes(bytes), name),
        found.facts.constant_table.where)
    end
  end
  size_findings(list, found, sizes, signatures)
  return list
end

-- ---- an arm of the judge ----

-- Integers among the parameters and scalars of the size that is timed here and of the default one.
local function timed_sizes(arm)
  local task, list = arm.case.task, {}
  local function add(p)
    for _, values in ipairs { p, task:call("args", p) or {} } do
      for _, value in pairs(values) do
        if math.type(value) == "integer" then list[#list + 1] = value end
      end
    end
  end
  add(arm.p)
  local ok, p = pcall(task.resolve, task, { purpose = "default", cell = arm.cell, set = arm.set })
  if ok then pcall(add, p) end -- what is set may not go with the defaults of the rest
  return list
end

local function forbidden(text, where, fact)
  return { verdict = "forbidden", reason = text,
    findings = { { kind = "forbidden", text = text, where = where, fact = fact } } }
end

-- PTX that a driver may well accept. What must have or lack facts has to be readable.
local function unreadable(module, required, not_allowed)
  local text = "the audit cannot read this PTX: " .. module.unreadable
  local failure
  if #required + #not_allowed > 0 then
    failure = forbidden(text)
    failure.hint = "the task requires or forbids instructions, so it must be readable"
  end
  return { facts = {}, globals = {}, findings = { finding("unreadable", "note", text) },
    failure = failure }
end

local function examine(arm)
  local task = arm.case.task
  local required, not_allowed = task:facts_of("require", arm.p), task:facts_of("forbid", arm.p)
  arm.built.audit = arm.built.audit or facts.read(arm.ptx, arm.impl.shown)
  local module = arm.built.audit
  if module.unreadable then return unreadable(module, required, not_allowed) end
  local found, entries = facts.of(module, arm.kernel_names), 0
  for _, fn in pairs(module.functions) do entries = entries + (fn.entry and 1 or 0) end
  local wrong = facts.broken(found.facts, required, not_allowed)
  return {
    facts = found.facts, globals = found.globals, entries = entries,
    findings = audit.findings(found, timed_sizes(arm), arm.case.signatures),
    failure = wrong and forbidden(wrong.text, wrong.where, wrong.fact),
  }
end

local function launches(steps)
  local count = 0
  plan.each_launch(steps, function() count = count + 1 end)
  return count
end

--- Audit the kernels that an arm's plan launches; `arm.audit` is {facts, globals, entries,
-- launches, findings}. A plan that launches nothing says nothing.
-- @tparam table arm of perigee.judge, its module loaded and its plan linked
-- @treturn nil|table the failure "forbidden"
function audit.arm(arm)
  if #arm.kernel_names == 0 then return nil end
  local key = core.json_encode { arm.key, arm.kernel_names, arm.cell and arm.cell.name or "" }
  if arm.audited ~= key then
    arm.audited, arm.audit = key, examine(arm)
  end
  arm.audit.launches = launches(arm.steps)
  return arm.audit.failure
end

return audit
