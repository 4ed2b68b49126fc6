--- Versions of a case: the same parameters with inputs of other seeds. What is timed rotates among
-- them, so that an answer kept from an earlier launch is wrong in the next.
-- @module perigee.versions

local core = require "perigee.core"
local case = require "perigee.case"

local versions = {}

local MOST = 3
local SECONDS = 0.5 -- for the inputs and expected values of all but the second
local SECOND_S = 10 -- a second one is worth that much
local BYTES = 512 << 20 -- of what all versions hold on the device and in shared memory

local function has_contents(buffer)
  return buffer.role ~= "output" and buffer.array ~= nil
end

local function constant_bytes(one)
  local bytes = 0
  for _, buffer in ipairs(one.list) do
    if has_contents(buffer) then bytes = bytes + buffer.bytes end
  end
  return bytes
end

-- Whether one plan and one set of buffers serve both: sizes may follow from the inputs.
local function alike(a, b)
  if #a.list ~= #b.list then return false end
  for i, x in ipairs(a.list) do
    local y = b.list[i]
    if x.name ~= y.name or x.bytes ~= y.bytes or x.dtype_name ~= y.dtype_name
      or x.fill ~= y.fill or has_contents(x) ~= has_contents(y) then return false end
  end
  return true
end

-- Inputs that do not depend on the seed, those of a file for example.
local function same_contents(a, b)
  for i, x in ipairs(a.list) do
    if has_contents(x) and not x.array:equal_bits(b.list[i].array) then return false end
  end
  return true
end

local function worth_it(count, first_s, bytes)
  if count >= MOST or (count + 1) * bytes > BYTES then return false end
  return count == 1 and first_s < SECOND_S or count * first_s < SECONDS
end

--- Give a case further versions, as many as their making is worth: `one.versions` lists them all,
-- itself first. Expected values of all are computed.
-- @tparam table one a case
-- @tparam function seed_of number of a version, from 2 -> its seed
function versions.add(one, seed_of)
  local started = core.now()
  one:expected()
  local first_s, bytes = core.now() - started, constant_bytes(one)
  local list = { one }
  while worth_it(#list, first_s, bytes) do
    local other = case.make(one.task, one.p, seed_of(#list + 1))
    if not alike(one, other) or same_contents(one, other) then break end
    other:expected()
    list[#list + 1] = other
  end
  one.versions = list
end

local SHARE = 4 -- of the device's memory, for the contents of all versions and arms

--- Leave out versions that the device has no room for: each arm has its own copy of them.
-- @tparam table one a case
-- @tparam integer arms their number
-- @tparam integer memory bytes of the device
function versions.fit(one, arms, memory)
  local bytes = arms * constant_bytes(one)
  while one.versions and #one.versions > 1 and #one.versions * bytes > memory // SHARE do
    table.remove(one.versions)
  end
end

--- All versions of a case, itself first.
function versions.of(one)
  return one.versions or { one }
end

--- The version that a set holds. @treturn table,integer the case and its number, from 1
function versions.of_set(one, set)
  local list = versions.of(one)
  local number = set % #list + 1
  return list[number], number
end

return versions
