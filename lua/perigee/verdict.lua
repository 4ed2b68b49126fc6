--- Verdicts: the words a candidate can get, and how errors and faults of a run map to them.
-- @module perigee.verdict

local verdict = {}

--- The words, in the order of the design.
verdict.WORDS = {
  "passed", "wrong_result", "unwritten_output", "out_of_bounds", "uninitialized_read", "race",
  "input_modified", "nondeterministic", "timeout", "launch_error", "compile_error", "cheat",
  "forbidden", "unsupported", "environment",
}

-- Kind of a kernel fault -> verdict. A deadlock is a hang that the simulator understood.
local OF_FAULT = {
  out_of_bounds = "out_of_bounds", misaligned = "launch_error",
  uninitialized = "uninitialized_read",
  uninitialized_read = "uninitialized_read", race = "race", trap = "launch_error",
  timeout = "timeout", deadlock = "timeout", read_only = "input_modified", other = "launch_error",
  divergence = "launch_error",
}

-- Error code of a call -> verdict. Codes that are no fault of the candidate are left out: they are
-- raised.
local OF_CODE = {
  compile_error = "compile_error", syntax = "compile_error", unsupported = "unsupported",
  launch_error = "launch_error", timeout = "timeout", crashed = "launch_error",
  not_found = "launch_error", invalid = "launch_error", range = "launch_error",
  out_of_memory = "environment", environment = "environment",
}

--- Exit status of the command for a verdict: 0, 1, or 3 for what the machine lacks.
function verdict.status(word)
  if word == "passed" then return 0 end
  if word == "environment" or word == "unsupported" then return 3 end
  return 1
end

local function first_line(text)
  return (tostring(text):match("^[^\n]*"))
end

-- The fault first, then what else was found.
local function with_others(fault, found)
  local list = { fault }
  for _, other in ipairs(found or {}) do
    if other.text ~= fault.text then list[#list + 1] = other end
  end
  return list
end

--- A mistake in a candidate's plan, which is data of a stranger: a verdict, not the end of a run.
-- @tparam table e error {code, message, hint, where}
-- @tparam string word "compile_error" for what is found before compiling, else "launch_error"
function verdict.of_plan(e, word)
  if e.code == "unsupported" or e.code == "environment" then word = e.code end
  local text = e.where and ("%s: %s"):format(e.where, e.message) or e.message
  return { verdict = word, reason = first_line(text), hint = e.hint,
    findings = { { kind = word, text = text, where = e.where } } }
end

--- What a failed call of the runner means.
-- @tparam table e error {code, message, hint, where}
-- @tparam[opt] table fault what the device says of the kernel that stopped
-- @tparam[opt] table found what else it found before, the fault may be among it
-- @treturn table {verdict, reason, hint, findings}
function verdict.of_error(e, fault, found)
  local kind = fault and fault.kind
  if kind and kind ~= "none" and kind ~= "" then
    return {
      verdict = OF_FAULT[kind] or "launch_error", reason = first_line(fault.text or e.message),
      findings = with_others(fault, found), hint = e.hint,
    }
  end
  local word = OF_CODE[e.code]
  if not word then return nil end
  return { verdict = word, reason = e.message, hint = e.hint, where = e.where, findings = {} }
end

--- Whether a failure belongs to a case: something ran.
-- @tparam table failure
function verdict.is_of_case(failure)
  local refused = failure.verdict == "launch_error" and not failure.findings[1]
  return not refused and failure.verdict ~= "compile_error" and failure.verdict ~= "forbidden"
    and verdict.status(failure.verdict) ~= 3
end

return verdict
