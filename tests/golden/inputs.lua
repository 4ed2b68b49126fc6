-- The operands of golden vectors, made again wherever they are needed: from the types of the
-- sources, the row and Philox bits. Row kinds: pairs of special values, special values, raw bits,
-- numbers near one, near relatives of the first operand, extremes, short mantissas, conversions.
local core = require "perigee.core"

local M = {}

M.SEED = 20240
local ROWS = { one = 512, more = 384, exhaustive = 65536, warp = 2048, matrix = 256 }

local function random(stream, index)
  return core.random_u64(M.SEED, stream, index)
end

local function pick(list, bits)
  return list[(bits & 0x7fffffff) % #list + 1]
end

local function ones(n)
  return n >= 64 and -1 or (1 << n) - 1
end

-- ---- special values ----

-- The first twelve of each list meet each other in every pair.
local function float_specials(t)
  local m, e = t.mantissa, t.exponent
  local sign, inf, bias = 1 << (m + e), ones(e) << m, ones(e - 1)
  local one, top = bias << m, 1 << (m - 1)
  local quiet, signaling = inf | top | 5, inf | 1
  local list = { 0, sign, one, sign | one, inf, sign | inf, quiet, signaling, 1,
    sign | ones(m), 1 << m, inf - 1 }
  local function both(x)
    list[#list + 1] = x
    list[#list + 1] = sign | x
  end
  both(inf | ones(m))
  both(inf - 1)
  both((1 << m) + 1)
  both(ones(m))
  for k = -2, 2 do -- powers of two and their neighbours
    for d = -1, 1 do both(((bias + k) << m) + d) end
  end
  for _, k in ipairs { 7, 8, 10, 11, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64 } do
    if bias + k <= ones(e) - 1 then
      for d = -1, 1 do both(((bias + k) << m) + d) end
    end
  end
  for _, k in ipairs { 0, 1, 2, 3, 6 } do -- n + 1/2
    if k + 1 <= m then both(((bias + k) << m) | (1 << (m - k - 1))) end
  end
  return list
end

local function int_specials(bits)
  local top, all = 1 << (bits - 1), ones(bits)
  local list = { 0, 1, all, 2, top, top - 1, top + 1, all - 1, 3, 0x7f & all, 0x80 & all,
    0xff & all }
  for k = 2, bits - 1 do
    for d = -1, 1 do list[#list + 1] = ((1 << k) + d) & all end
  end
  return list
end

local specials = setmetatable({}, { __index = function(cache, t)
  local list = t.kind == "float" and float_specials(t) or int_specials(t.bits)
  cache[t] = list
  return list
end })

-- ---- one value ----

-- Exponents of numbers that conversions must get right.
local RANGE = { half = { -27, 18 }, fp8 = { -20, 18 }, single = { -152, 130 }, exponent = { -6, 8 },
  default = { -3, 66 } }

local function with_exponent(t, low, high, bits)
  local m, bias = t.mantissa, ones(t.exponent - 1)
  local k = bias + low + (bits >> 33) % (high - low + 1)
  k = math.max(0, math.min(k, ones(t.exponent) - 1))
  local sign = (bits >> 32 & 1) << (m + t.exponent)
  return sign | k << m | (random(77, bits & 0xffffffff) & ones(m))
end

local SHORT = { 1, 2, 3, 4, 8, 9, 11, 12 } -- bits of a short mantissa

local function float_value(t, domain, kind, bits, first)
  local m, e = t.mantissa, t.exponent
  local bias, sign = ones(e - 1), 1 << (m + e)
  local raw = random(78, bits & 0xffffffff) & ones(m + e + 1)
  if domain == "angle" then return with_exponent(t, -12, 8, bits) end
  if kind == "special" then return pick(specials[t], bits) end
  if kind == "raw" then return raw end
  if kind == "near" then return with_exponent(t, -3, 3, bits) end
  if kind == "relative" and first then
    return ((first ~ (bits >> 40 & 1) << (m + e)) + (bits >> 41 & 7) - 3) & (sign | (sign - 1))
  end
  if kind == "extreme" then
    local half = bias // 2
    local around = (bits >> 50 & 1) == 0 and -half or half
    return with_exponent(t, around - m // 2 - 3, around + m // 2 + 3, bits)
  end
  if kind == "short" then
    local keep = pick(SHORT, bits >> 20)
    local x = with_exponent(t, -m - 2, m + 2, bits)
    return keep < m and x & ~ones(m - keep) or x
  end
  local r = RANGE[domain] or RANGE.default
  local x = with_exponent(t, r[1], r[2], bits)
  local cut = (bits >> 24 & 31) - 4 -- often a number that ends in a half
  return cut > 0 and cut < m and x & ~ones(m - cut) | (1 << (m - cut)) or x
end

local DOMAINS = { -- of integers
  shift = function(bits)
    local kind = bits >> 60 & 15
    if kind < 11 then return (bits & 0xffff) % 70 end
    return kind < 13 and (bits & 0xff) or bits & 0xffffffff
  end,
  bit = function(bits)
    local kind = bits >> 60 & 15
    if kind < 12 then return (bits & 0xffff) % 36 end
    return kind < 15 and (bits & 0xff) or bits & 0xffffffff
  end,
  small = function(bits) return ((bits & 0xff) % 9 - 4) & 0xffffffff end,
  few = function(bits) return (bits & 0xffff) % 5 << 30 end,
  rare = function(bits) return (bits & 0xffff) % 40 == 0 and 1 or 0 end,
  lane = function(bits) return bits >> 60 & 15 < 14 and bits & 31 or bits & 0xffffffff end,
}

local function int_value(t, domain, kind, bits, first)
  local all = ones(t.bits)
  if domain then return DOMAINS[domain](bits) & all end
  local raw = random(79, bits & 0xffffffff) & all
  if kind == "special" then return pick(specials[t], bits) end
  if kind == "near" or kind == "short" then
    local small = raw >> (bits >> 40) % t.bits
    return (bits >> 39 & 1) == 0 and small or -small & all
  end
  if kind == "relative" and first then return (first + (bits >> 41 & 3) - 1) & all end
  return raw
end

local function value(o, kind, bits, first)
  local t = o.type
  if t.kind == "pair" then
    local half = require("spec").types[t.half]
    local low = { type = half, domain = o.domain }
    local a = value(low, kind, bits, first and first & 0xffff)
    local b = value(low, kind, random(80, bits & 0xffffffff), first and first >> 16)
    return a | b << 16
  end
  return (t.kind == "float" and float_value or int_value)(t, o.domain, kind, bits, first)
end

-- ---- rows ----

local KINDS = { "special", "raw", "near", "relative", "extreme", "short", "convert", "near" }
local PAIRS = 144

local function row_kind(i, arity)
  if arity == 1 then return KINDS[i % #KINDS + 1] end
  return KINDS[(i - PAIRS) % #KINDS + 1]
end

local function plain_values(e, k, n, firsts)
  local o, arity, list = e.sources[k], #e.sources, {}
  local t = o.type
  local known = (t.kind == "float" or t.kind == "int" and not o.domain) and specials[t]
  for at = 0, n * o.count - 1 do
    local bits, i = random(k, at), at // o.count
    if e.exhaustive then
      list[at] = i
    elseif arity == 1 and known and i < (o.domain == "angle" and 8 or #known) then
      list[at] = known[i + 1]
    elseif arity > 1 and k <= 2 and known and i < PAIRS then
      list[at] = known[(k == 1 and i // 12 or i % 12) % #known + 1]
    elseif arity > 1 and i < PAIRS then
      list[at] = value(o, "special", bits)
    else
      list[at] = value(o, row_kind(i, arity), bits, firsts and firsts[at])
    end
  end
  return list
end

-- Member masks that lanes of one warp share.
local MASKS = { 0xffffffff, 0xffffffff, 0x0000ffff, 0xffff0000, 0x00ff00ff, 0x55555555, 0x80000001,
  0x7fffffff, 0xfffffffe, 0x00000100, 0x0f0f0f0f, 0xffffffff }
-- Clamp and segment mask of shuffles: as compilers write them, then any.
local CLAMPS = { 0x1f, 0x00, 0x101f, 0x181f, 0x1c1f, 0x1e1f, 0x1000, 0x1800, 0x1c00, 0x1e03 }

local function warp_values(e, k, n)
  local o, list = e.sources[k], {}
  for i = 0, n - 1 do
    local bits, warp = random(100 + k, i), i // 32
    if o.name == "mask" then
      local any = random(99, warp) & 0xffffffff
      list[i] = MASKS[warp % 16 + 1] or (any == 0 and 1 or any)
    elseif o.domain == "clamp" then
      list[i] = CLAMPS[(warp * 7 + warp // 16) % 13 + 1] or random(98, warp) & 0x1f1f
    elseif o.domain == "lane" and warp % 2 == 0 then
      list[i] = DOMAINS.lane(random(97, warp)) -- one for the whole warp
    else
      list[i] = value(o, "raw", bits)
    end
  end
  return list
end

-- Fragments of matrices: small integers, whose sums are exact in every order, and numbers.
local function small_integer(o, bits)
  local n = (bits & 0xffff) % 9 - 4
  if o.type.kind == "pair" then
    local half = { type = require("spec").types[o.type.half] }
    return small_integer(half, bits) | small_integer(half, bits >> 16) << 16
  end
  if o.type.kind ~= "float" then return bits & ones(o.type.bits) end
  if n == 0 then return 0 end
  local t, magnitude = o.type, n < 0 and -n or n
  local log = magnitude >= 4 and 2 or magnitude >= 2 and 1 or 0
  return (n < 0 and 1 or 0) << (t.mantissa + t.exponent)
    | (ones(t.exponent - 1) + log) << t.mantissa | (magnitude - (1 << log)) << (t.mantissa - log)
end

local function matrix_values(e, k, n)
  local o, list = e.sources[k], {}
  for i = 0, n * o.count - 1 do
    local bits, exact = random(200 + k, i), i // o.count // 32 % 2 == 0
    list[i] = exact and small_integer(o, bits) or value(o, "near", bits)
    if o.name == "tf32" then list[i] = list[i] & ~0x1fff end
  end
  return list
end

-- ---- arrays ----

--- How many threads the vectors of an entry need.
function M.rows(e)
  if e.matrix then return ROWS.matrix end
  if e.warp then return ROWS.warp end
  if e.exhaustive then return ROWS.exhaustive end
  return #e.sources == 1 and ROWS.one or ROWS.more
end

local FORMAT = { "B", "<I2", [4] = "<I4", [8] = "<i8" }

local function packed(list, count, bytes)
  local format, out = FORMAT[bytes], {}
  local mask = ones(bytes * 8)
  for i = 0, count - 1 do out[i + 1] = string.pack(format, list[i] & mask) end
  return table.concat(out)
end

local cache = {}

local function signature(e)
  local words = { e.matrix and "matrix" or e.warp and "warp" or "plain" }
  for _, o in ipairs(e.sources) do
    words[#words + 1] = ("%d*%s:%s"):format(o.count, o.name, o.domain or "")
  end
  return table.concat(words, " ")
end

--- The operands of an entry: { bytes of source 1, ... }, lists of integers in `.values`.
function M.make(e)
  local name = signature(e)
  if cache[name] then return cache[name] end
  local n, made = M.rows(e), { values = {} }
  for k, o in ipairs(e.sources) do
    local list
    if e.matrix then
      list = matrix_values(e, k, n)
    elseif e.warp then
      list = warp_values(e, k, n)
    else
      local like = o.name == e.sources[1].name and o.count == e.sources[1].count
      local first = k > 1 and like and made.values[1] or nil
      list = plain_values(e, k, n, first)
    end
    made.values[k] = list
    made[k] = packed(list, n * o.count, o.type.bytes)
  end
  cache[name] = made
  return made
end

return M
