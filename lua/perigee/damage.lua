--- Damaged answers: what a validator must reject. Each damage changes one buffer of a right answer
-- in a way that cheats and mistakes do: zeros, ones, NaN, a constant, a copy of an input, the
-- answer to other inputs, a part that was not written, one wrong element. Tests prove tasks and
-- validators with it.
-- @module perigee.damage

local core = require "perigee.core"
local buffers = require "perigee.buffers"
local case = require "perigee.case"
local impl = require "perigee.impl"
local precision = require "perigee.precision"
local validate = require "perigee.validate"

local damage = {}

damage.POISON = 0x7fa12345 -- what a buffer holds that was never written

local function copy(array)
  return array:copy()
end

-- An array like `array` with other bytes.
local function with_bytes(array, bytes)
  return core.from_bytes(array.struct or array.dtype, array.shape, bytes)
end

-- The first `keep` elements as they are, bytes from `rest` behind them.
local function keep_first(array, keep, rest)
  local size = array.nbytes // array.count
  return with_bytes(array, array:tostring():sub(1, keep * size) .. rest:sub(keep * size + 1))
end

local function poison(array)
  return (("<I4"):pack(damage.POISON)):rep(array.nbytes // 4 + 1):sub(1, array.nbytes)
end

local SMALL = 0.1

-- Largest finite magnitude.
local function size_of(array)
  return core.row_norms(array, array.count)[0]
end

-- One element changed to what no rounding explains.
local function wrong_element(array, index)
  local other = copy(array)
  if precision.is_float(array.dtype) then
    local value, size = array[index], size_of(array)
    other[index] = math.abs(value) > SMALL * size and -value or size > 0 and size or 1.0
    return other
  end
  local size = array.nbytes // array.count
  local bytes = array:tostring()
  local at = index * size + 1 -- the lowest byte of the first field
  return with_bytes(array, bytes:sub(1, at - 1)
    .. string.char(bytes:byte(at) ~ (array.dtype == "bool" and 1 or 5)) .. bytes:sub(at + 1))
end

local function one_value(array, index, value)
  if not precision.is_float(array.dtype) then return nil end
  local other = copy(array)
  other[index] = value
  return other
end

-- An input's elements as far as they go.
local function copy_of(array, input)
  if not core.is_array(input) or input.count == 0 then return nil end
  if input.dtype ~= array.dtype or input.struct then
    return input.nbytes >= array.nbytes and with_bytes(array, input:tostring():sub(1, array.nbytes))
      or nil
  end
  local bytes = input:tostring()
  return with_bytes(array, bytes:rep(array.nbytes // #bytes + 1):sub(1, array.nbytes))
end

-- name -> function(array) -> damaged array, or nil where it does not apply.
local KINDS = {
  { "zeros", function(a) return copy(a):fill_bytes(0) end },
  { "ones", function(a) return not a.struct and copy(a):fill(1) or nil end },
  { "all bits set", function(a) return a.dtype ~= "bool" and copy(a):fill_bytes(0xFF) or nil end },
  { "NaN", function(a) return precision.is_float(a.dtype) and copy(a):fill(0 / 0) or nil end },
  { "a constant", function(a)
    local size = a.nbytes // a.count
    return with_bytes(a, a:tostring():sub(1, size):rep(a.count))
  end },
  { "unwritten", function(a) return with_bytes(a, poison(a)) end },
  { "second half zero", function(a)
    return keep_first(a, a.count // 2, ("\0"):rep(a.nbytes)) end },
  { "second half unwritten", function(a) return keep_first(a, a.count // 2, poison(a)) end },
  { "last element zero", function(a)
    local small = precision.is_float(a.dtype) and math.abs(a[a.count - 1]) <= SMALL * size_of(a)
    return not small and keep_first(a, a.count - 1, ("\0"):rep(a.nbytes)) or nil
  end },
  { "shifted by one", function(a)
    local size, bytes = a.nbytes // a.count, a:tostring()
    return with_bytes(a, bytes:sub(1, size) .. bytes:sub(1, a.nbytes - size))
  end },
  { "first element wrong", function(a) return wrong_element(a, 0) end },
  { "middle element wrong", function(a) return wrong_element(a, a.count // 2) end },
  { "last element wrong", function(a) return wrong_element(a, a.count - 1) end },
  { "one element NaN", function(a) return one_value(a, a.count // 3, 0 / 0) end },
  { "one element infinite", function(a) return one_value(a, a.count // 3, math.huge) end },
}

damage.PREVIOUS = "the answer to other inputs"

--- The names of all kinds of damage; copies of inputs are called "a copy of NAME".
function damage.kinds()
  local names = {}
  for i, kind in ipairs(KINDS) do names[i] = kind[1] end
  names[#names + 1] = damage.PREVIOUS
  return names
end

local function with(arrays, name, array)
  local changed = {}
  for key, value in pairs(arrays) do changed[key] = value end
  changed[name] = array
  return changed
end

-- Damage that changes no bit is none.
local function differs(a, b)
  return b and b:tostring() ~= a:tostring()
end

--- Every damaged version of a right answer.
-- @tparam table one a case of perigee.case
-- @tparam table arrays name -> array: a right answer, as it would come back from a run
-- @tparam[opt] table only set of names: buffers to damage
-- @tparam[opt] table previous name -> array: what is right for another seed
-- @treturn table list of {kind, buffer, arrays}
function damage.versions(one, arrays, only, previous)
  local list = {}
  local function add(kind, name, array)
    if differs(arrays[name], array) then
      list[#list + 1] = { kind = kind, buffer = name, arrays = with(arrays, name, array) }
    end
  end
  for _, buffer in ipairs(one.list) do
    local right = arrays[buffer.name]
    if right and right.count > 0 and (not only or only[buffer.name]) then
      for _, kind in ipairs(KINDS) do add(kind[1], buffer.name, kind[2](right)) end
      local old = previous and previous[buffer.name]
      if old and old.nbytes == right.nbytes then add(damage.PREVIOUS, buffer.name, old) end
      for _, other in ipairs(one.list) do
        if other.role == "input" then
          add("a copy of " .. other.name, buffer.name, copy_of(right, one.io[other.name]))
        end
      end
    end
  end
  return list
end

--- A right answer made of the expected values, each in its buffer's own format; nil where the
-- reference returns none for an output or state.
function damage.right(one)
  local arrays = {}
  for _, buffer in ipairs(one.list) do
    if buffer.role ~= "input" then
      local want = one:expected()[buffer.name]
      if not core.is_array(want) then return nil end
      arrays[buffer.name] = want.struct and want:copy()
        or want:cast(buffer.dtype):reshape(buffer.shape)
    end
  end
  return arrays
end

--- What an implementation of a task answers: for tasks whose right answer only a kernel gives.
-- @tparam table session of perigee.judge
-- @tparam table task
-- @tparam table p resolved parameters
-- @tparam[opt] string name of the implementation; default: the first
-- @tparam[opt] integer number of the seed, from 0
-- @treturn table,table the case and the arrays that came back
-- @raise "invalid" with the reason when it failed
function damage.answer(session, task, p, name, number)
  local declared = task:select_impls(name and { name })[1]
  local arm = { impl = impl.resolve(task, declared, p), p = p, kind = "run" }
  session:build({ arm }, function() arm.case = case.make(task, p, session:seed_of(number or 0)) end)
  local failure, arrays = arm.failure, nil
  if not failure then failure, arrays = session:run_case(arm, 1, true) end
  local copies = buffers.copies(arrays or {})
  if arm.runner then session.pool:release(arm.runner) end
  if failure then core.error("invalid", ("%s of %s: %s"):format(declared.name, task.name,
    failure.reason)) end
  return arm.case, copies
end

--- Judge a right answer and every damaged version of it. State that no validator looks at is left
-- whole: it is the candidate's own.
-- @tparam table one a case
-- @tparam[opt] table arrays a right answer; default: damage.right(one)
-- @tparam[opt] table except set of kinds that the contract accepts (kind = true, or
--   "kind of buffer" = true)
-- @tparam[opt] table previous what is right for another seed
-- @treturn table {right = verdict of the right answer as validate.run returns it, tried = number,
--   accepted = list of "zeros of y": damage that passed, labels = set of all "zeros of y" that
--   change the answer, excepted ones too}
function damage.prove(one, arrays, except, previous)
  arrays = arrays or damage.right(one)
  local result = { right = validate.run(one, arrays, damage.POISON), tried = 0, accepted = {},
    labels = {} }
  for _, version in ipairs(damage.versions(one, arrays, result.right.seen,
    previous)) do
    local label = version.kind .. " of " .. version.buffer
    result.labels[label] = true
    if not (except and (except[version.kind] or except[label])) then
      result.tried = result.tried + 1
      if validate.run(one, version.arrays, damage.POISON).ok then
        table.insert(result.accepted, label)
      end
    end
  end
  return result
end

return damage
