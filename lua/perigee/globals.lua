--- Module variables that a candidate's kernels write: what they hold outlives a launch, so it is
-- put back before every timed sample as state is (see host/judge/globals.h).
-- @module perigee.globals

local globals = {}

local MOST = 4096 -- what a runner keeps

--- Names of the variables that the kernels of an arm's plan may write, sorted.
-- @tparam table arm of perigee.judge, after its audit
function globals.names(arm)
  local names = {}
  for name in pairs(arm.audit and arm.audit.globals or {}) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- Whether PTX declares a variable in global memory, or something that looks like it. A module
-- without one keeps nothing from launch to launch.
function globals.any(ptx)
  return ("\n" .. ptx):find "[^%w_%.$]%.global[^%w_]" ~= nil
end

--- What keeps variables from being put back: nothing is timed then. `missing` is what a runner did
-- not find of them.
-- @treturn table|nil a failure
function globals.unkept(names, missing)
  local text
  if #names > MOST then
    text = ("the module has %d variables, of which at most %d can be put back before a timed "
      .. "sample"):format(#names, MOST)
  elseif #missing > 0 then
    text = ("variables of the module that cannot be put back before a timed sample: %s"):format(
      table.concat(missing, ", ", 1, math.min(#missing, 5)))
  end
  return text and { verdict = "unsupported", reason = text, findings = {},
    hint = "declare scratch in a plan.lua" } or nil
end

--- PTX in which these variables can be found by name: those of a file (`static`) are hidden.
function globals.exposed(ptx, names)
  local wanted = {}
  for _, name in ipairs(names) do wanted[name] = true end
  local function expose(before, declaration)
    local name = declaration:match "^%s[^;{=]-([%w_$%%]+)%s*%[?[%d%s%[%]]*[;={]"
    if not name or not wanted[name] then return nil end
    return before .. ".visible .global" .. declaration
  end
  return (ptx:gsub("(\n[ \t]*)%.global(%s[^\n]*)", expose))
end

return globals
