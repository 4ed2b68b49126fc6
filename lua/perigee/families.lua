--- Families of values: inputs that random numbers never are. A check size is run once more with
-- each family that the task can take: those it declares (`families = { "tiny", "equal" }`), or,
-- where all inputs are plain floating-point arrays and there is no state, equal, sorted and
-- reversed elements. A family changes values that the task has drawn, so what they say of each
-- other (indices, positive definiteness) is lost: such a task declares none, `families = {}`.
-- @module perigee.families

local core = require "perigee.core"
local params = require "perigee.params"
local precision = require "perigee.precision"

local families = {}

-- Powers of two, so that scaling is exact: results that multiply two or three of them are still in
-- range, and denormals of each format.
local SCALES = {
  f64 = { tiny = -300, huge = 300, denormal = -1060 }, f32 = { tiny = -40, huge = 40,
    denormal = -140 }, bf16 = { tiny = -40, huge = 40, denormal = -130 },
  f16 = { tiny = -8, huge = 8, denormal = -20 },
}

local function scaled(family)
  return function(array)
    local scale = SCALES[array.dtype] and SCALES[array.dtype][family]
    for i = 0, scale and array.count - 1 or -1 do array[i] = array[i] * 2.0 ^ scale end
  end
end

local function ordered(before)
  return function(array)
    local values = {}
    for i = 0, array.count - 1 do values[i + 1] = array[i] end
    table.sort(values, before)
    for i = 0, array.count - 1 do array[i] = values[i + 1] end
  end
end

-- name -> function that changes an array with at least one element.
local APPLY = {
  tiny = scaled "tiny", huge = scaled "huge", denormal = scaled "denormal",
  zeros = function(array) array:fill(0) end,
  equal = function(array) array:fill(array[0]) end,
  sorted = ordered(function(a, b) return a < b end),
  reversed = ordered(function(a, b) return a > b end),
  alternating = function(array)
    for i = 0, array.count - 1 do
      local size = math.abs(array[i])
      array[i] = i % 2 == 0 and size or -size
    end
  end,
  infinity = function(array) array[array.count // 2] = math.huge end,
  nan = function(array) array[array.count // 2] = 0 / 0 end,
}

local DEFAULT = { "equal", "sorted", "reversed" }
local FEWEST, MOST = 200, 1 << 17 -- elements of all inputs, for the size that is run with families

--- The names of all families.
families.NAMES = params.names(APPLY)

local function is_plain(one)
  local some = false
  for _, buffer in ipairs(one.list) do
    if buffer.role == "state" then return false end
    if buffer.role == "input" then
      if not precision.is_float(buffer.dtype_name) or not buffer.array then return false end
      some = true
    end
  end
  return some
end

--- The families that a task is checked with.
-- @tparam table one a case of it
function families.of(one)
  return one.task.families or (is_plain(one) and DEFAULT) or {}
end

-- Which check size is run with families: the first that is not too small for them.
local function index_of(count, case_of)
  local best
  for index = 1, count do
    local elements = 0
    for _, buffer in ipairs(case_of(index).list) do
      if buffer.role == "input" then elements = elements + buffer.count end
    end
    if elements <= MOST then best = index end
    if best and elements >= FEWEST then return best end
  end
  return best
end

--- What a candidate is checked with, in order: every size with every seed, then one size with each
-- family.
-- @tparam integer count check sizes
-- @tparam integer seeds
-- @tparam function case_of index of a size -> a case of it
-- @treturn table list of {index, number = of the seed, family = name or nil}
function families.list(count, seeds, case_of)
  local list = {}
  for index = 1, count do
    for number = 1, seeds do list[#list + 1] = { index = index, number = number } end
  end
  local index = index_of(count, case_of)
  for k, family in ipairs(index and families.of(case_of(index)) or {}) do
    list[#list + 1] = { index = index, number = seeds + k, family = family }
  end
  return list
end

--- Give inputs the values of a family, in place.
-- @tparam table inputs name -> what a task declares: arrays are changed
-- @tparam string family
function families.apply(inputs, family)
  for _, name in ipairs(params.names(inputs)) do
    local array = inputs[name]
    if core.is_array(array) and not array.struct and array.count > 0 then APPLY[family](array) end
  end
end

--- Check what a task declares. @raise "not_found" with the nearest name
function families.check(list, where)
  for _, name in ipairs(list) do
    if not APPLY[name] then
      core.error("not_found", ("task: families: there is no '%s'"):format(tostring(name)),
        require("perigee.suggest").hint(tostring(name), families.NAMES, "families"), where)
    end
  end
end

return families
