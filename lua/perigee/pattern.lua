--- What wrong elements have in common, in words: where they are ("last row only", "every 33rd
-- element") and what they look like ("every element is zero", "too large by a factor of 2"). The
-- facts come from host/pattern.h in one walk over the elements.
-- @module perigee.pattern

local core = require "perigee.core"
local units = require "perigee.units"

local pattern = {}

local BLOCKS = { 1024, 512, 256, 128, 64, 32 } -- sizes of tiles, whose rest is a usual mistake
local SHOWN = 4 -- residues that are listed

-- ---- words for numbers ----

local function ordinal(n)
  local ending = "th"
  if n % 100 < 11 or n % 100 > 13 then
    ending = ({ "st", "nd", "rd" })[n % 10] or "th"
  end
  return n .. ending
end

--- A flat index as a script writes it: "70" in a vector, "1, 6" in rows of 64.
-- @tparam integer index flat, 0-based
-- @tparam table shape
function pattern.index(index, shape)
  local parts = {}
  for d = #shape, 1, -1 do
    table.insert(parts, 1, tostring(shape[d] > 0 and index % shape[d] or 0))
    index = shape[d] > 0 and index // shape[d] or 0
  end
  return table.concat(parts, ", ")
end

-- ---- places ----

-- The coordinates first, first + stride, ... last of 0 .. extent - 1. one and many: what they are
-- called ("row", "rows").
local function progression(first, last, stride, extent, one, many)
  if first == last then
    if last == extent - 1 then return "last " .. one end
    if first == 0 then return "first " .. one end
    return ("%s %d"):format(one, first)
  end
  if stride > 1 then
    local whole = first < stride and last + stride >= extent
    if whole and stride == 2 then return (first == 0 and "even " or "odd ") .. many end
    local text = ("every %s %s"):format(ordinal(stride), one)
    if not whole then return ("%s from %d to %d"):format(text, first, last) end
    return first == 0 and text or ("%s, beginning with %d,"):format(text, first)
  end
  if last == extent - 1 then return ("%s from %d on"):format(many, first) end
  return ("%s %d to %d"):format(many, first, last)
end

-- Whether `bad` marks are first, first + stride, ... last with nothing left out, and so many that
-- it is no accident: any two are a progression.
local function is_progression(a, bad, extent)
  if bad == 1 then return true end
  if a.stride == 0 or (a.last - a.first) // a.stride + 1 ~= bad then return false end
  if a.stride == 1 then return a.first == 0 or a.last == extent - 1 or bad > 2 end
  return bad >= (a.first < a.stride and a.last + a.stride >= extent and 3 or 4)
end

local function axis_name(d, ndim)
  if ndim == 2 then return d == 1 and "row" or "column", d == 1 and "rows" or "columns" end
  return "index along axis " .. d - 1, "indices along axis " .. d - 1
end

-- Rows, columns and other coordinates that all wrong elements share; nil when they share none.
local function by_axes(found)
  local parts, whole = {}, found.box
  for d, axis in ipairs(found.axes) do
    if axis.touched < axis.extent then
      if is_progression(axis, axis.touched, axis.extent)
        and (found.box or axis.touched * 2 <= math.min(axis.extent, found.bad)) then
        local one, many = axis_name(d, #found.axes)
        parts[#parts + 1] = progression(axis.first, axis.last, axis.stride, axis.extent, one, many)
      else
        whole = false
      end
    end
  end
  if #parts == 0 then return nil end
  local text = (table.concat(parts, ", "):gsub(",$", "")) .. " only"
  return whole and text or ("%s (%d elements of that)"):format(text, found.bad)
end

local SIDES = 10 -- so many on one side of the diagonal are no accident

local function by_diagonal(found)
  if found.diagonal == found.bad then return "on the diagonal only" end
  if found.bad < SIDES then return nil end
  if found.above == found.bad then return "above the diagonal only" end
  if found.below == found.bad then return "below the diagonal only" end
  return nil
end

-- What a wrong tail is: whole blocks were done and the rest was not.
local function rest_of_blocks(first, count)
  for _, block in ipairs(BLOCKS) do
    if first == count // block * block and first > 0 then
      return (" (what is left after blocks of %d)"):format(block)
    end
  end
  return ""
end

local function by_index(found, count)
  if not is_progression(found, found.bad, count) then return nil end
  local text = progression(found.first, found.last, found.stride, count, "element", "indices")
  if found.stride == 1 and found.last == count - 1 then
    return ("from index %d on%s"):format(found.first, rest_of_blocks(found.first, count))
  end
  if found.stride == 1 and found.first == 0 then return ("up to index %d"):format(found.last) end
  if found.stride > 1 then return (text:gsub(",$", "")) end
  return text .. " only"
end

local function by_residue(found)
  local list = found.residues
  if not list then return nil end
  local first, last = list[1], list[#list]
  if last - first + 1 == #list then
    return first == last and ("indices with i %% %d = %d"):format(found.modulus, first)
      or ("indices with i %% %d in %d to %d"):format(found.modulus, first, last)
  end
  if #list > SHOWN then return nil end
  return ("indices with i %% %d in {%s}"):format(found.modulus, table.concat(list, ", "))
end

-- Large strides in common are a place even when not all of these elements are wrong.
local function by_stride(found)
  if found.stride < 2 or found.bad < 4 then return nil end
  return ("only where i %% %d = %d, %d elements of that"):format(found.stride,
    found.first % found.stride, found.bad)
end

--- Where the marked elements are, in words.
-- @tparam array marks u64, bit i % 64 of word i // 64 for element i (pg.compare sets them)
-- @tparam table shape of the elements; extents of 1 say nothing and are left out
-- @treturn string|nil nil when all are marked, or nothing is plain
function pattern.places(marks, shape)
  local dense, count = {}, 1
  for _, extent in ipairs(shape) do
    if extent ~= 1 then dense[#dense + 1] = extent end
    count = count * extent
  end
  if #dense == 0 then dense[1] = count end
  local found = core.find_pattern(marks, dense)
  if found.bad == 0 or found.bad == count then return nil end
  if found.bad == 1 then
    if found.first == count - 1 then return "only the last element is wrong" end
    if found.first == 0 then return "only the first element is wrong" end
    return nil
  end
  if #dense == 1 then return by_index(found, count) or by_residue(found) or by_stride(found) end
  return found.box and by_axes(found) or by_diagonal(found) or by_index(found, count)
    or by_axes(found) or by_residue(found)
end

-- ---- values ----

local NARROW = 1e-3 -- spread of a factor or difference that counts as one

local function near(low, high)
  return high - low <= NARROW * math.max(math.abs(low), math.abs(high))
end

-- The same factor or difference for all of them. One pair says nothing.
local function by_number(found, nothing_else)
  if found.pairs < 2 or not nothing_else then return nil end
  if found.ratios == found.pairs and near(found.ratio_min, found.ratio_max) then
    local ratio = (found.ratio_min + found.ratio_max) / 2
    if near(math.min(ratio, -1), math.max(ratio, -1)) then return "they have the wrong sign" end
    if near(math.min(ratio, 1), math.max(ratio, 1)) then return nil end -- rounding
    if ratio ~= 0 then return ("off by a constant factor %.6g"):format(ratio) end
  end
  if near(found.difference_min, found.difference_max) then
    return ("off by a constant difference %.6g"):format(found.difference_min)
  end
  return nil
end

local function by_sameness(found, cmp)
  if found.nans == cmp.bad then
    return cmp.bad == cmp.count and cmp.count > 1 and "every element is NaN"
      or ("%d of them are NaN"):format(found.nans)
  end
  if found.zeros == cmp.bad and cmp.bad > 1 then
    return cmp.got_zeros == cmp.count and "every element is zero" or "they are zero"
  end
  if found.pairs == cmp.bad and cmp.bad > 2 and found.got_min == found.got_max then
    return ("they are all %.6g"):format(found.got_min)
  end
  return nil
end

--- "it is a copy of x" when an array equals an input, else nil.
-- @tparam array got
-- @tparam table inputs arrays by name
function pattern.copy_of(got, inputs)
  local names = {}
  for name, input in pairs(inputs or {}) do
    if core.is_array(input) and input.dtype == got.dtype and input.count == got.count
      and got:equal_bits(input) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names[1] and ("it is a copy of %s"):format(names[1]) or nil
end

-- Tolerances that belong to places do not go along when elements are moved.
local function moved_tolerance(tolerance)
  local t = {}
  for _, name in ipairs { "rtol", "atol", "ulp", "overflow" } do t[name] = tolerance[name] end
  if tolerance.scale then t.atol = nil end
  return t
end

local SAMPLES = 64

-- Whether got[i] is want[place(i)] for a sample of i, so that the whole is compared only then.
local function sample_fits(want, got, t, first, count, place)
  local close = 0
  for k = 0, SAMPLES - 1 do
    local i = first + k * count // SAMPLES
    local w, g = want[place(i)], got[i]
    if type(w) ~= "number" or type(g) ~= "number" then return w == g end
    if math.abs(w - g) <= (t.atol or 0) + ((t.rtol or 0) + 1e-6) * math.abs(w) then
      close = close + 1
    end
  end
  return close >= SAMPLES - 4
end

-- got is want, moved by `by` elements. Edges may hold anything.
local function is_shifted(want, got, t, by)
  local count = got.count - math.abs(by)
  if count < SAMPLES then return false end
  local from, to = math.max(0, -by), math.max(0, by)
  if not sample_fits(want, got, t, to, count, function(i) return i - by end) then return false end
  return core.compare(want:slice(from, count), got:slice(to, count), t).bad * 100 <= count
end

local function is_transposed(want, got, t)
  local shape = got.shape
  if #shape ~= 2 or shape[1] < 2 or shape[2] < 2 then return false end
  local rows, columns = shape[1], shape[2]
  if want.count ~= rows * columns then return false end
  local turned = want:reshape(shape):transposed()
  return core.compare(turned, got, t).bad == 0
end

-- The right values in wrong places.
local function by_moving(want, got, cmp, tolerance)
  if cmp.bad * 2 < cmp.count or cmp.count < 2 then return nil end
  local t = moved_tolerance(tolerance)
  if is_transposed(want, got, t) then return "transposed" end
  local columns = #got.shape > 1 and got.shape[#got.shape] or nil
  for _, by in ipairs { 1, -1, 2, -2, columns or 1, columns and -columns or -1 } do
    if is_shifted(want, got, t, by) then
      local what = columns and math.abs(by) == columns and "row" or "element"
      local n = what == "row" and 1 or math.abs(by)
      return ("shifted by %s %s%s towards the %s"):format(n == 1 and "one" or n, what,
        n == 1 and "" or "s", by > 0 and "end" or "beginning")
    end
  end
  return nil
end

--- What the wrong values look like, in words.
-- @tparam table f {want, got, cmp = what pg.compare returned, marks, inputs = by name, tolerance}
-- @treturn string|nil
function pattern.values(f)
  local cmp = f.cmp
  local found = core.find_relation(f.want, f.got, f.marks)
  local copy = cmp.count > 1 and pattern.copy_of(f.got, f.inputs)
  if copy then return copy end
  local same = by_sameness(found, cmp)
  if same then return same end
  if found.nans > 0 then return ("%d of them are NaN"):format(found.nans) end
  if cmp.inf_got > 0 and found.pairs < cmp.bad then
    return ("%d of them are infinite"):format(cmp.bad - found.pairs)
  end
  return by_moving(f.want, f.got, cmp, f.tolerance) or by_number(found, found.pairs == cmp.bad)
end

-- ---- a whole failure ----

local function number(value)
  return math.type(value) == "float" and ("%.9g"):format(value) or tostring(value)
end

local function unwritten(f, where)
  local cmp = f.cmp
  if cmp.unwritten == cmp.count then
    return ("%s: %d of %d elements never written"):format(f.name, cmp.unwritten, cmp.count)
  end
  return ("%s: %d of %d elements never written (the first: %s[%s])%s"):format(f.name,
    cmp.unwritten, cmp.count, f.name, pattern.index(cmp.first_bad, f.got.shape),
    where and ": " .. where or "")
end

-- Memory that was never written mostly explains the rest. A byte equals the poison by chance.
local function is_unwritten(f)
  local size = f.got.nbytes // math.max(1, f.got.count)
  return f.cmp.unwritten * 2 > f.cmp.bad and f.cmp.unwritten * size >= 4
end

--- The verdict and the reason for elements that differ.
-- @tparam table f {name, want, got, cmp, marks, inputs, tolerance}
-- @treturn table {verdict, reason, pattern = the words about places and values, or nil}
function pattern.failure(f)
  local cmp, where = f.cmp, pattern.places(f.marks, f.got.shape)
  if is_unwritten(f) then
    return { verdict = "unwritten_output", reason = unwritten(f, where), pattern = where }
  end
  local first, parts = cmp.mismatch[1], {}
  parts[#parts + 1] = where
  parts[#parts + 1] = pattern.values(f)
  if cmp.unwritten > 0 then
    parts[#parts + 1] = ("%d of them were never written"):format(cmp.unwritten)
  end
  local words = #parts > 0 and table.concat(parts, "; ") or nil
  return {
    verdict = "wrong_result", pattern = words,
    reason = ("%s[%s]: expected %s, got %s; %d of %d elements wrong%s"):format(f.name,
      pattern.index(first.index, f.got.shape), number(first.want), number(first.got), cmp.bad,
      cmp.count, words and ": " .. words or ""),
  }
end

-- ---- across cases ----

local MODULI = { 1024, 512, 256, 128, 64, 32, 16, 8, 4 }

-- Whether a property holds for exactly the cases that failed.
local function tells_apart(cases, name, property)
  for _, one in ipairs(cases) do
    if property(one.params[name]) ~= not one.ok then return false end
  end
  return true
end

local function limits(cases, name)
  local failed_min, failed_max = math.huge, -math.huge
  local passed_min, passed_max = math.huge, -math.huge
  for _, one in ipairs(cases) do
    local value = one.params[name]
    if one.ok then
      passed_min, passed_max = math.min(passed_min, value), math.max(passed_max, value)
    else
      failed_min, failed_max = math.min(failed_min, value), math.max(failed_max, value)
    end
  end
  return failed_min, failed_max, passed_min, passed_max
end

local function shown(value)
  return math.type(value) == "integer" and units.count(value) or tostring(value)
end

local function of_integer(cases, name)
  if tells_apart(cases, name, function(v) return v % 2 == 1 end) then
    return ("odd %s only"):format(name) end
  for _, m in ipairs(MODULI) do
    if tells_apart(cases, name, function(v) return v % m ~= 0 end) then
      return ("%s that is not a multiple of %d"):format(name, m)
    end
  end
  if tells_apart(cases, name, function(v) return v % 2 == 0 end) then
    return ("even %s only"):format(name) end
  return nil
end

local function of_number(cases, name)
  local failed_min, failed_max, passed_min, passed_max = limits(cases, name)
  if failed_min == failed_max and tells_apart(cases, name, function(v)
    return v == failed_min end) then
    return ("%s = %s only"):format(name, shown(failed_min)) end
  if failed_min > passed_max then return ("%s >= %s only"):format(name, shown(failed_min)) end
  if failed_max < passed_min then return ("%s <= %s only"):format(name, shown(failed_max)) end
  return nil
end

local function of_choice(cases, name)
  for _, one in ipairs(cases) do
    local value = one.params[name]
    if not one.ok and tells_apart(cases, name, function(v) return v == value end) then
      return ("%s = %s only"):format(name, tostring(value))
    end
  end
  return nil
end

-- The largest difference between what is smooth in all failing cases and not in others is one
-- number; a place that one parameter explains is believed before others.
local function of_parameter(cases, name)
  local integer, numeric = true, true
  for _, one in ipairs(cases) do
    local value = one.params[name]
    integer = integer and math.type(value) == "integer"
    numeric = numeric and type(value) == "number"
  end
  if not numeric then return of_choice(cases, name) end
  return of_number(cases, name) or integer and of_integer(cases, name) or nil
end

local function varying(cases)
  local names = {}
  for name, value in pairs(cases[1].params) do
    for _, one in ipairs(cases) do
      if one.params[name] ~= value then
        names[#names + 1] = name
        break
      end
    end
  end
  table.sort(names)
  return names
end

--- What the failing cases of one check have in common.
-- @tparam table cases list of {params, ok}, several of the same parameters with different inputs
-- @treturn string|nil nil when all failed, none did, or nothing is plain
function pattern.cases(cases)
  local failed = 0
  for _, one in ipairs(cases) do failed = failed + (one.ok and 0 or 1) end
  if failed == 0 or failed == #cases then return nil end
  for _, name in ipairs(varying(cases)) do
    local text = of_parameter(cases, name)
    if text then return text end
  end
  return nil
end

return pattern
