-- A task's parameters as they are by default, but smaller: what is large keeps its ratio, so that
-- values are as many, and as often equal, for each element.

local params = require "perigee.params"

local scaled = {}

local LARGE, ENOUGH = 1 << 16, 1 << 14

local function is_large(value) return math.type(value) == "integer" and math.abs(value) >= LARGE end

--- Resolve a task's parameters: every large integer is divided by the same power of two; the others
-- are those for the simulator.
-- @treturn table as of Task:resolve
function scaled.resolve(task, cell)
  local largest, set = 0, {}
  local default = task:resolve { purpose = "default", cell = cell }
  for name in pairs(task.params) do
    if is_large(default[name]) then largest = math.max(largest, math.abs(default[name])) end
  end
  local divisor = 1
  while largest // divisor > ENOUGH do divisor = 2 * divisor end
  for _, name in ipairs(params.names(task.params)) do
    if is_large(default[name]) then set[name] = math.tointeger(default[name] / divisor)
      or default[name] // divisor end
  end
  return task:resolve { purpose = "sim", cell = cell, set = set }
end

return scaled
