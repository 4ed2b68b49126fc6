--- Module variables that a candidate's kernels write: what they hold outlives a launch, so it is
-- put back before every timed sample as state is (see host/judge/globals.h).
-- @module perigee.globals

local globals = {}

local MOST = 4096 -- what a runner keeps
local PLACE = 1 << 18 -- bytes that each counts as beside its own: thousands have no room either

--- Names of the variables that the kernels of an arm's plan may write, sorted.
-- @tparam table arm of perigee.judge, after its audit
function globals.names(arm)
  local names = {}
  for name in pairs(arm.audit and arm.audit.globals or {}) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- Whether a name stands more than once in a text.
local function named_again(text, name)
  local count = 0
  for word in text:gmatch "[%a_$%%][%w_$]*" do
    count = count + (word == name and 1 or 0)
    if count > 1 then return true end
  end
  return false
end

-- What stands behind each `.global` that declares something, up to one of the characters `stop`.
local function declarations(ptx, stop)
  local text = ("\n" .. ptx):gsub("%.ptr%s+%.global", ".ptr") -- a parameter that points there
  return text:gmatch("[^%w_%.$]%.global([^%w_][^" .. stop .. "]*)")
end

--- Whether PTX declares a variable in global memory, or something that looks like it. A module
-- without one keeps nothing from launch to launch.
function globals.any(ptx)
  for declared in declarations(ptx, ";\n") do
    -- One number as its contents, at most: else the names are not all before the sign.
    local before, number = declared:match "^([^={]*)=?%s*([-+%w%.]*)%s*$"
    local name = before and before:match "([%a_$%%][%w_$]*)%s*$"
    if not name or number == nil or before:find "," or named_again(ptx, name) then return true end
  end
  return false
end

--- What the variables of a module take, in bytes, at least. An extent that is no plain number is
-- large.
function globals.bytes(ptx)
  local total = 0.0
  for declared in declarations(ptx, ";={") do
    local bytes = (tonumber(declared:match "%.[busf](%d+)") or 8) / 8
    for extent in declared:gmatch "%[([^%]]+)%]" do
      bytes = bytes * (tonumber(extent) or math.huge)
    end
    total = total + PLACE + bytes
  end
  return total
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
