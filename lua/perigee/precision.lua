--- Formats of floating-point numbers.
-- @module perigee.precision

local precision = {}

--- Format -> unit roundoff: the relative error of a number rounded to it.
precision.UNIT = { f64 = 2.0 ^ -53, f32 = 2.0 ^ -24, tf32 = 2.0 ^ -11, f16 = 2.0 ^ -11,
  bf16 = 2.0 ^ -8, f8e4m3 = 2.0 ^ -4, f8e5m2 = 2.0 ^ -3 }

--- Format -> its smallest positive number: what rounding among the smallest can lose.
precision.TINY = { f64 = 2.0 ^ -1074, f32 = 2.0 ^ -149, f16 = 2.0 ^ -24, bf16 = 2.0 ^ -133,
  f8e4m3 = 2.0 ^ -9, f8e5m2 = 2.0 ^ -16 }

--- Whether a dtype is one of floating-point numbers.
function precision.is_float(dtype) return precision.TINY[dtype] ~= nil end

return precision
