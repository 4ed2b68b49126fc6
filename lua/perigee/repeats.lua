--- Whether outputs of the same inputs have the same bits.
-- @module perigee.repeats

local buffers = require "perigee.buffers"

local repeats = {}

local KEPT_BYTES = 64 << 20 -- of outputs that are kept for a comparison

local function copies(one, arrays)
  local kept = {}
  for _, buffer in ipairs(one.list) do
    local array = buffer.role == "output" and arrays[buffer.name]
    kept[buffer.name] = array and array.nbytes > 0 and array or nil
  end
  return next(kept) and buffers.copies(kept, KEPT_BYTES) or nil
end

-- The first output in the order of the contract whose bits differ.
local function differing(one, kept, arrays)
  for _, buffer in ipairs(one.list) do
    local before, now = kept[buffer.name], arrays[buffer.name]
    if before and now and not before:equal_bits(now) then return buffer.name end
  end
  return nil
end

--- Run the arm's case a second time, with another poison and another schedule, and compare bits.
-- A difference is a finding, and a failure for a task that is `deterministic`.
-- @tparam table arm its case judged right
-- @tparam table arrays what came back
-- @tparam function run returns arrays of another run, or nil and a failure
-- @treturn table|nil a failure
function repeats.again(arm, arrays, run)
  local kept = copies(arm.case, arrays)
  if not kept then return nil end
  local others, failure = run()
  if not others then return failure end
  local name = differing(arm.case, kept, others)
  if not name then return nil end
  local text = ("%s differs from run to run on the same inputs"):format(name)
  if arm.case.task.deterministic then
    return { verdict = "nondeterministic", reason = text, findings = {} }
  end
  arm.nondeterministic = { kind = "nondeterministic", severity = "note", text = text }
  return nil
end

return repeats
