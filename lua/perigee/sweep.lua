--- Values of a parameter as text: one (`4096`, `4k`, `2^20`), a list (`1k,4k,1M`) or a range
-- (`2^10..2^26*4`: from, to, and by what each is multiplied; `0..100+25`: what is added).
-- k M G are thousands, Ki Mi Gi are powers of 1024.
-- @module perigee.sweep

local core = require "perigee.core"

local sweep = {}

sweep.MOST = 1000 -- values of one parameter, and points of one sweep

local UNITS = {
  k = 1000, M = 1000000, G = 1000000000, Ki = 1 << 10, Mi = 1 << 20, Gi = 1 << 30,
}
local HINT = "write one (4096, 4k, 2^20), a list (1k,4k,1M) or a range (2^10..2^26*4, 0..100+25)"

local function whole(value)
  return math.tointeger(value) or value
end

--- A number as people write it.
-- @tparam string text "4096", "1e6", "0x10", "4k", "64Ki", "2^20", "-1.5"
-- @treturn number|nil an integer where the value is one; nil when it is no number
function sweep.number(text)
  local plain = tonumber(text)
  if plain then return plain end
  local base, exponent = text:match("^(%d+)%^(%d+)$")
  if base then
    local value = (tonumber(base) + 0.0) ^ tonumber(exponent)
    return value < 2.0 ^ 63 and whole(value) or value
  end
  local digits, unit = text:match("^([%-%d%.]+)(%a+)$")
  local number = digits and UNITS[unit] and tonumber(digits)
  return number and whole(number * UNITS[unit]) or nil
end

-- first, first op step, ... up to last.
local function climb(first, last, op, step, fail)
  local rises = op == "*" and step > 1 and first > 0 or op == "+" and step > 0
  if not rises or last < first then fail() end
  local list, value = {}, first
  local slack = math.type(first + step) == "integer" and 0 or math.abs(last) * 1e-12
  while value <= last + slack do
    list[#list + 1] = value
    if #list > sweep.MOST then return list end
    value = op == "*" and whole(value * step) or first + #list * step
  end
  return list
end

-- "first..last", "first..last*factor", "first..last+step" -> a list, or nil when it is no range.
local function range(text, fail)
  local left, rest = text:match("^(.-)%.%.(.*)$")
  if not left then return nil end
  local right, op, by = rest:match("^(.-)([*+])(.+)$")
  local first, last = sweep.number(left), sweep.number(right or rest)
  local step = sweep.number(by or "1")
  if not first or not last or not step then fail() end
  return climb(first, last, op or "+", step, fail)
end

--- The values of a text, in its order.
-- @tparam string text
-- @tparam string what who says so, for errors: "--set n=..."
-- @tparam[opt] string where
-- @treturn table list of numbers, and texts where an item is no number
-- @raise "invalid" for a range that cannot be read or has no end, "range" for too many values
function sweep.list(text, what, where)
  local list = {}
  local function fail()
    core.error("invalid", ("%s: cannot read '%s'"):format(what, text), HINT, where)
  end
  for item in (text .. ","):gmatch("([^,]*),") do
    item = item:match("^%s*(.-)%s*$")
    if item == "" then fail() end
    for _, value in ipairs(range(item, fail) or { sweep.number(item) or item }) do
      list[#list + 1] = value
    end
    if #list > sweep.MOST then
      core.error("range", ("%s: '%s' makes more than %d values"):format(what, text, sweep.MOST),
        "give the range a step: 1..1M*4 multiplies, 0..1M+100k adds", where)
    end
  end
  return list
end

--- Every combination of lists, the last name's values running fastest.
-- @tparam table names in order
-- @tparam table lists name -> list of values
-- @tparam[opt] string where
-- @treturn table list of {name = value}
-- @raise "range" when there are more than MOST
function sweep.product(names, lists, where)
  local points = { {} }
  for _, name in ipairs(names) do
    local longer = {}
    if #points * #lists[name] > sweep.MOST then
      core.error("range", ("these are more than %d combinations"):format(sweep.MOST),
        "sweep fewer values at a time", where)
    end
    for _, point in ipairs(points) do
      for _, value in ipairs(lists[name]) do
        local copy = { [name] = value }
        for key, old in pairs(point) do copy[key] = old end
        longer[#longer + 1] = copy
      end
    end
    points = longer
  end
  return points
end

return sweep
