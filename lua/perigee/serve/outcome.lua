--- What a record says to whoever wrote the candidate: few fields, and the same in a few lines.
-- @module perigee.serve.outcome

local core = require "perigee.core"
local comparison = require "perigee.comparison"
local explain = require "perigee.explain"
local facts = require "perigee.facts"
local params = require "perigee.params"
local units = require "perigee.units"

local outcome = {}

local LOG_MOST = 4000 -- bytes of a compiler's log
local REPORTS_MOST = 4

--- A text, the end of a long one cut off; nil for none.
function outcome.cut(text, most)
  if not text or not text:find "%S" then return nil end
  if #text <= most then return text end
  local head = explain.head(text, most)
  return ("%s\n... %d bytes more"):format(head, #text - #head)
end

local function some(list)
  return list and #list > 0 and list or nil
end

-- ---- parts ----

-- Errors and warnings of NVRTC, of rustc ("error[E0425]: text", then "--> file:line:column"), and
-- of Python.
local function messages_of(log)
  local list, open = core.json_array {}, nil
  for line in (log .. "\n"):gmatch "([^\n]*)\n" do
    local file, number, severity, text = line:match "^(.-)%((%d+)%): (%a+)[^:]*: (.*)$"
    if severity then
      list[#list + 1] = { file = file, line = math.tointeger(tonumber(number)),
        severity = severity, text = text }
    else
      severity, text = line:match "^(%a+)[%[%]%w]*: (.+)$"
      if severity == "error" or severity == "warning" then
        open = { severity = severity, text = text }
        list[#list + 1] = open
      end
      file, number = line:match "%-%-> (.-):(%d+):%d+"
      if file and open then open.file, open.line, open = file, math.tointeger(tonumber(number)) end
    end
  end
  return list
end

--- What a compiler said, as a list of {severity, text, file, line}.
function outcome.messages(rec)
  return messages_of(rec.compile_log or "")
end

function outcome.log(rec)
  return outcome.cut(rec.compile_log, LOG_MOST)
end

--- Registers and memory of the kernels.
function outcome.kernels(rec)
  local list = core.json_array {}
  for i, kernel in ipairs(rec.kernels or {}) do
    list[i] = { name = kernel.name, registers = kernel.registers, max_threads = kernel.max_threads,
      shared_bytes = kernel.shared_bytes, local_bytes = kernel.local_bytes }
  end
  return list
end

function outcome.findings(rec)
  local list = core.json_array {}
  for _, finding in ipairs(rec.findings or {}) do
    if finding.severity or finding.kind == "slow_export" then
      list[#list + 1] = { severity = finding.severity, text = finding.text, where = finding.where }
    end
  end
  return list
end

--- How the kernels are made, by the audit.
function outcome.techniques(rec)
  local list, found = core.json_array {}, rec.audit and rec.audit.facts or {}
  for _, name in ipairs(facts.TECHNIQUES) do
    if found[name] then list[#list + 1] = name end
  end
  return list
end

-- Faults and races with their source lines.
local function reports_of(rec)
  local list = core.json_array {}
  for _, finding in ipairs(rec.findings or {}) do
    if not finding.severity and finding.text and #list < REPORTS_MOST then
      list[#list + 1] = finding.text
    end
  end
  return list
end

local function failing_of(rec)
  local cases = rec.failed_cases or {}
  local failing = { case = rec.failed_at, pattern = cases.pattern, failed = cases.failed,
    tried = cases.tried }
  for _, check in ipairs(rec.checks or {}) do
    if not check.ok and not failing.buffer then
      failing.buffer, failing.elements = check.name, check.elements
    end
  end
  return next(failing) and failing or nil
end

local function checks_of(rec)
  local lines = core.json_array {}
  for i, check in ipairs(rec.checks or {}) do
    lines[i] = ("%s: %s"):format(check.name, check.detail or "right")
  end
  return lines
end

-- ---- the whole ----

--- The answer about a record.
-- @tparam table rec
-- @tparam[opt] integer number of the attempt
-- @treturn table fields as tools.lua declares them
function outcome.of(rec, number)
  local passed = rec.verdict == "passed"
  return {
    attempt = number, task = rec.task, verdict = rec.verdict, passed = passed, set = rec.set,
    reason = rec.reason, hint = rec.hint ~= "" and rec.hint or nil,
    failing = not passed and failing_of(rec) or nil,
    reports = some(reports_of(rec)), findings = some(outcome.findings(rec)),
    log = not passed and outcome.log(rec) or nil, cases = rec.cases,
    checks = passed and checks_of(rec) or nil, kernels = outcome.kernels(rec),
    device = rec.device, gpu = rec.gpu,
  }
end

--- What a record is of, when that is not the task as it stands: "at n = 1 only".
function outcome.only_at(set)
  return ("at %s only"):format(params.text(set))
end

--- Kernels in a line each.
function outcome.kernel_lines(kernels)
  local lines = {}
  for i, kernel in ipairs(kernels) do
    local parts = { "kernel " .. kernel.name }
    if kernel.registers then parts[#parts + 1] = kernel.registers .. " registers" end
    if (kernel.shared_bytes or 0) > 0 then
      parts[#parts + 1] = units.bytes(kernel.shared_bytes) .. " shared"
    end
    if (kernel.local_bytes or 0) > 0 then
      parts[#parts + 1] = units.bytes(kernel.local_bytes) .. " local memory a thread"
    end
    lines[i] = table.concat(parts, ", ")
  end
  return lines
end

local function element_lines(lines, failing)
  for i, one in ipairs(failing and failing.elements or {}) do
    if i > 1 then -- the reason has the first
      lines[#lines + 1] = ("%s[%s]: expected %s, got %s"):format(failing.buffer, one.index,
        tostring(one.expected), tostring(one.got))
    end
  end
end

--- The answer in words.
-- @tparam table rec the record
-- @tparam table answer what `of` returned
-- @tparam[opt] boolean resources false: who reads it has none, where the whole of a text would be
-- @treturn table lines
function outcome.lines(rec, answer, resources)
  local lines = { ("%s: %s%s"):format(rec.task, rec.verdict,
    answer.attempt and (" (attempt %d)"):format(answer.attempt) or "") }
  local all = resources ~= false and answer.attempt
    and ("perigee://attempts/%d"):format(answer.attempt) or false
  for _, line in ipairs(explain.failure(rec, "", all)) do lines[#lines + 1] = line end
  element_lines(lines, answer.failing)
  for _, line in ipairs(explain.findings(rec, "")) do lines[#lines + 1] = line end
  if answer.passed then
    lines[#lines + 1] = ("%d cases on %s"):format(rec.cases or 0,
      table.concat(rec.checked_by or {}, ", "))
    if rec.set then lines[#lines] = ("%s, %s"):format(lines[#lines], outcome.only_at(rec.set)) end
    for _, line in ipairs(answer.checks) do lines[#lines + 1] = line end
  end
  for _, line in ipairs(outcome.kernel_lines(answer.kernels)) do lines[#lines + 1] = line end
  return lines
end

--- Cost and unit of a record that passed.
function outcome.cost(rec)
  local cost, metric = comparison.cost(rec)
  if rec.verdict ~= "passed" or not cost then return nil end
  return cost, metric == "time" and "us" or "warp_instructions"
end

return outcome
