--- Tasks whose outputs must differ from inputs to inputs, where nothing else says so: a generator
-- of random numbers whose right answers are many (`varies = true`). An output that repeats what the
-- same arm wrote for other inputs of the same size is wrong.
-- @module perigee.varies

local core = require "perigee.core"
local buffers = require "perigee.buffers"
local params = require "perigee.params"

local varies = {}

local SHARE = 0.01 -- of elements that may be equal by chance, and one more

-- What an arm wrote first at these parameters: {seed, arrays}.
local function first_of(arm, arrays)
  local key = params.text(arm.case.p)
  arm.written = arm.written or {}
  if not arm.written[key] then
    arm.written[key] = { seed = arm.case.seed, arrays = buffers.copies(arrays) }
  end
  return arm.written[key]
end

--- Compare with what the arm wrote for other inputs.
-- @tparam table arm {case, written = kept here}
-- @tparam table arrays name -> array, right as far as validators see
-- @treturn table|nil a failure
function varies.check(arm, arrays)
  if not arm.case.task.varies then return nil end
  local first = first_of(arm, arrays)
  if first.seed == arm.case.seed then return nil end
  for _, buffer in ipairs(arm.case.list) do
    local name, array = buffer.name, arrays[buffer.name]
    if buffer.role == "output" and array then
      local equal = array.count - core.compare(first.arrays[name], array, {}).bad
      if equal > 1 + SHARE * array.count then
        return { verdict = "wrong_result", findings = {},
          reason = ("%s: %d of %d elements are those for other inputs"):format(name, equal,
            array.count), hint = "the output must depend on the inputs, see the task's text" }
      end
    end
  end
  return nil
end

return varies
