-- How far the results of instructions that are not exact may lie from the simulator's accurate
-- ones: the error that the PTX ISA allows the GPU, with the section of the manual (9.1), and half a
-- unit in the last place for the simulator's own rounding. First pattern that matches the spelling
-- counts; of a relative and an absolute error the larger.
local M = {}

M.list = {
  { "^div%.approx", relative = 2 ^ -22, source = "9.7.3.8: 2 ulp for |b| in [2^-126, 2^126]" },
  { "^div%.full", relative = 2 ^ -22, source = "9.7.3.8: 2 ulp over the full range" },
  { "^rcp%.approx.*f32", relative = 2 ^ -23, source = "9.7.3.13: 1 ulp over the full range" },
  { "^sqrt%.approx", relative = 2 ^ -23, source = "9.7.3.15: 2^-23" },
  { "^rsqrt%.approx.*f32", relative = 2 ^ -22.9, source = "9.7.3.16: 2^-22.9" },
  { "^lg2%.approx", relative = 2 ^ -22, absolute = 2 ^ -22,
    source = "9.7.3.20: 2^-22 absolute in (0.5, 2), relative elsewhere" },
  { "^ex2%.approx.*%.f32", relative = 2 ^ -22, source = "9.7.3.21: 2 ulp" },
  { "^sin%.approx", absolute = 2 ^ -14.7,
    source = "9.7.3.18: 2^-20.5 to 2 pi, 2^-14.7 to 100 pi, none beyond" },
  { "^cos%.approx", absolute = 2 ^ -14.7,
    source = "9.7.3.19: 2^-20.5 to 2 pi, 2^-14.7 to 100 pi, none beyond" },
  { "^tanh%.approx%.f32", relative = 2 ^ -11, source = "9.7.3.22: 2^-11" },
  { "^tanh%.approx%.f16", absolute = 2 ^ -10.987, source = "9.7.4.9: 2^-10.987" },
  { "^tanh%.approx%.bf16", absolute = 2 ^ -8, source = "9.7.4.9: 2^-8" },
  { "^ex2%.approx.*%.f16", relative = 2 ^ -9.9, source = "9.7.4.10: 2^-9.9" },
  { "^ex2%.approx.*%.bf16", relative = 2 ^ -7, source = "9.7.4.10: 2^-7" },
  { "^rcp%.approx%.ftz%.f64", relative = 2 ^ -20,
    source = "9.7.3.14: no bound; the result has 20 bits of mantissa" },
  { "^rsqrt%.approx%.ftz%.f64", relative = 2 ^ -20,
    source = "9.7.3.17: no bound; the result has 20 bits of mantissa" },
  { "^rsqrt%.approx%.f64", relative = 2 ^ -51, source = "9.7.3.16: no bound; 2 ulp hold" },
  -- Sums of products, in an order PTX leaves open: a part of the sum of their magnitudes.
  { "^mma%..*%.f32$", sum = 2 ^ -21, source = "mma: order and rounding of sums are not specified" },
  { "^mma%..*%.f16$", sum = 2 ^ -9, source = "mma: order and rounding of sums are not specified" },
  { "^mma%..*%.f64$", sum = 2 ^ -50, source = "mma: order of sums is not specified" },
}

--- The bound of an entry, or nil when it is exact.
function M.of(e)
  for _, b in ipairs(M.list) do
    if e.key:find(b[1]) then return b end
  end
end

-- ---- numbers from bits ----

local function small_float(bits, mantissa, exponent)
  local sign = bits >> (mantissa + exponent) & 1 == 1 and -1.0 or 1.0
  local e, m = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
  local bias = (1 << exponent - 1) - 1
  if e == (1 << exponent) - 1 then return m == 0 and sign * math.huge or 0 / 0 end
  if e == 0 then return sign * m * 2.0 ^ (1 - bias - mantissa) end
  return sign * (1 + m * 2.0 ^ -mantissa) * 2.0 ^ (e - bias)
end

local read = {
  f32 = function(bytes, at) return (string.unpack("<f", bytes, at)), at + 4 end,
  f64 = function(bytes, at) return (string.unpack("<d", bytes, at)), at + 8 end,
  f16 = function(bytes, at) return small_float(string.unpack("<I2", bytes, at), 10, 5), at + 2 end,
  bf16 = function(bytes, at) return small_float(string.unpack("<I2", bytes, at), 7, 8), at + 2 end,
}
local LAST = { f32 = 2 ^ -23, f64 = 2 ^ -52, f16 = 2 ^ -10, bf16 = 2 ^ -7 }
local LEAST = { f32 = 2 ^ -149, f64 = 2 ^ -1074, f16 = 2 ^ -24, bf16 = 2 ^ -133 }

local function near(want, got, name, bound, scale)
  if want ~= want or got ~= got then return want ~= want and got ~= got end
  if want == got then return true end
  if want - want ~= 0 or got - got ~= 0 then return false end -- an infinity
  local allowed = math.max((bound.relative or 0) * math.abs(want), bound.absolute or 0)
    + (bound.sum or 0) * (scale or 0) + LAST[name] * math.abs(want) / 2 + LEAST[name]
  return math.abs(want - got) <= allowed
end

--- Index of the first element (a half of a pair counts as one) outside the bound, or nil. `scale`:
--- for sums, what the same instruction gave for the operands' magnitudes.
function M.first_outside(e, bound, want, got, scale)
  local name = e.dest.name:gsub("x2$", "")
  local take, at, i = read[name], 1, 0
  while at <= #want do
    local w, g, s = take(want, at), take(got, at), scale and take(scale, at)
    if not near(w, g, name, bound, s) then return i, w, g end
    i, at = i + 1, select(2, take(want, at))
  end
end

return M
