--- Versions of a case: the same parameters with inputs of other seeds. What is timed rotates among
-- them, so that an answer kept from an earlier launch is wrong in the next; and some are held back,
-- which no launch sees before they are needed.
-- @module perigee.versions

local core = require "perigee.core"
local case = require "perigee.case"

local versions = {}

local MOST = 3
local SECONDS = 0.5 -- for the inputs and expected values of all but the second
local SECOND_S = 1.5 -- a second one is worth that much,
local HELD_S, HELD_OWN_S = 10, 0.5 -- and one that is held back that, from candidates and from a
-- task's own implementations, which have nothing to hide
local BYTES = 1 << 30 -- of what all versions hold on the device and in shared memory

-- What is filled with a byte has an array, too, once somebody has looked at it.
local function has_contents(buffer)
  return buffer.role ~= "output" and buffer.array ~= nil and not buffer.fill
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

local function worth_it(count, most, first_s, bytes)
  if count >= most or (count + 1) * bytes > BYTES then return false end
  return count == 1 and first_s < SECOND_S or count * first_s < SECONDS
end

-- Another version of the same sizes with other contents, its expected values computed; or nil and
-- why not.
local function another(one, seed)
  local other = case.like(one, seed) or case.make(one.task, one.p, seed)
  if not alike(one, other) then return nil, "sizes follow from the inputs" end
  if same_contents(one, other) then return nil, "the inputs do not depend on the seed" end
  other:expected()
  return other
end

-- A version that is not timed but like it, where another seed makes no other inputs: with what the
-- task's field `also` changes, whatever was set, since all that they are for is to be unseen. No
-- plan may follow from such a parameter.
local function elsewhere(one, seed)
  for _, changes in ipairs(one.task.also) do
    local set = {}
    for name in pairs(one.task.params) do set[name] = one.p[name] end
    for name, value in pairs(changes) do set[name] = value end
    local p = one.task:resolve { purpose = "default", set = set }
    local other = case.make(one.task, p, seed)
    if alike(one, other) and not same_contents(one, other) then
      other:expected()
      other.elsewhere = true
      return other
    end
  end
  return nil
end

--- Give a case further versions, as many as their making is worth: `one.versions` lists them all,
-- itself first. Expected values of all are computed, and those of a version that is held back, see
-- unseen.
-- @tparam table one a case
-- @tparam function seed_of number of a version, from 2 -> its seed
-- @tparam[opt=3] integer most versions that samples take turns at
-- @tparam[opt] boolean own only a task's own implementations are timed
-- @tparam[opt] integer inputs at most so many versions, whatever the samples; one: none held back
function versions.add(one, seed_of, most, own, inputs)
  local started = core.now()
  one:expected()
  local first_s, bytes = core.now() - started, constant_bytes(one)
  local list = { one }
  most = math.min(math.max(most or MOST, MOST), inputs or math.huge)
  while worth_it(#list, most, first_s, bytes) do
    local other = another(one, seed_of(#list + 1))
    if not other then break end
    list[#list + 1] = other
  end
  one.versions = list
  one.held_back = { seed_of = seed_of, own = own }
  if inputs == 1 then
    one.held_back.why = "one version was asked for"
  elseif first_s < (own and HELD_OWN_S or HELD_S) then
    versions.unseen(one, 1)
  else
    one.held_back.why = ("inputs and expected values take %.1f s"):format(first_s)
  end
end

local UNSEEN = 1 << 10 -- numbers of versions that are held back begin behind this

--- A version of a case that is not among its versions: what no launch has seen.
-- @tparam table one a case with versions
-- @tparam integer number from 1; the same for every arm
-- @treturn table|nil a case, `elsewhere` where its parameters are others, too; or nil and why there
--   is none
function versions.unseen(one, number)
  local held = one.held_back
  if not held or held.why then return nil, held and held.why or "it has no versions" end
  if not held[number] then
    local seed = held.seed_of(UNSEEN + number)
    local other, why = another(one, seed)
    if not other and not held.own then other = elsewhere(one, seed) end
    held[number], held.why = other, not other and why or nil
    if number > 2 then held[number - 1] = nil end -- there may be many, and large
  end
  return held[number], held.why
end

local SHARE = 4 -- of the device's memory, for the contents of all versions and arms
local SETS_SHARE = 2 -- the same, for their state and outputs

-- Whether `arms` have room for `count` versions, one that is held back and a sample that is kept.
local function has_room(one, count, arms, memory, set_bytes)
  return (count + 1) * arms * constant_bytes(one) <= memory // SHARE
    and (count + 2) * arms * set_bytes <= memory // SETS_SHARE
end

--- Leave out versions that the device has no room for: each arm has its own copy of them, one of
-- what is held back, and sets for each and for a sample that is kept. `one.crowded` is the number
-- of arms where there is no room but for a single set.
-- @tparam table one a case
-- @tparam integer arms their number
-- @tparam integer memory bytes of the device
-- @tparam integer set_bytes state and outputs of a set, and scratch of its own
function versions.fit(one, arms, memory, set_bytes)
  local function fits(count) return has_room(one, count, arms, memory, set_bytes) end
  while one.versions and #one.versions > 1 and not fits(#one.versions) do
    table.remove(one.versions)
  end
  one.crowded = one.versions and not fits(#one.versions) and arms or nil
end

--- The failure of a candidate where there would be room but for scratch: it would be timed on
-- inputs that it has seen, and what it keeps of them would be right.
-- @tparam table one a case
-- @tparam integer memory bytes of the device
-- @treturn table|nil a failure
function versions.crowded_out(one, memory)
  if not one.crowded or not has_room(one, 1, one.crowded, memory, one:set_bytes()) then
    return nil
  end
  return { verdict = "launch_error", findings = {},
    reason = "scratch leaves no room for inputs that no launch has seen",
    hint = "declare less scratch; what has no init exists once where a sample is one launch" }
end

-- In how many versions sets have their turns: those of the case, and one that is held back.
local function turns(one)
  local held = not one.crowded and one.held_back and one.held_back[1]
  return #versions.of(one) + (held and 1 or 0)
end

--- The sets that samples use: the first of each version, and more where a sample needs more.
-- @tparam table one a case
-- @tparam[opt=1] integer least how many at least
function versions.seen_sets(one, least)
  local sets, count, set = {}, #versions.of(one), 0
  while #sets < math.max(count, least or 1) do
    if set % turns(one) < count then sets[#sets + 1] = set end
    set = set + 1
  end
  return sets
end

--- How many sets serve a case: one a version, one for what is held back, one for a sample that is
-- kept. Where memory is short, the first alone.
-- @tparam table one a case
-- @tparam[opt=1] integer least sets that samples need
function versions.set_count(one, least)
  local sets = versions.seen_sets(one, least)
  if one.crowded or not one.held_back then return sets[#sets] + 1 end
  return math.max(turns(one), sets[#sets] + 1) + 1
end

--- All versions of a case, itself first.
function versions.of(one)
  return one.versions or { one }
end

--- The version that a set holds. @treturn table,integer the case and its number, from 1
function versions.of_set(one, set)
  local number = set % turns(one) + 1
  return versions.of(one)[number], number
end

return versions
