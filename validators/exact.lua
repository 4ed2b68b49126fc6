--- exact: equal values, for integers, indices, flags and bytes. Floats must be equal as numbers (so
-- that -0 and 0 are equal), structs in every bit. Options: of (name or list), nan_equal.
local pg = require "perigee"

local OPTIONS = { of = "string table", nan_equal = "boolean" }

local WORD = { "u8", "u16", nil, "u32", nil, nil, nil, "u64" } -- by bytes

-- The bits of one field of every element, as integers.
local function bits_of(array, field)
  local values = array:field(field.name)
  local dtype = WORD[values.nbytes // math.max(1, values.count)]
  return pg.from_bytes(dtype, values.shape, values:tostring())
end

-- Structs are compared field by field, so that the report names the field.
local function structs(ctx, target)
  if target.got:equal_bits(target.want) then
    return ctx:pass(target.name, ("%d elements equal"):format(target.got.count))
  end
  for _, field in ipairs(target.got.struct.fields) do
    local check = ctx:compare { name = target.name .. "." .. field.name,
      want = bits_of(target.want, field), got = bits_of(target.got, field) }
    if not check.ok then return check end
  end
end

return function(ctx)
  ctx:check_options(OPTIONS)
  local checks = {}
  for i, target in ipairs(ctx:targets()) do
    checks[i] = target.got.struct and structs(ctx, target)
      or ctx:compare(target, ctx.options.nan_equal and { nan_equal = true } or nil)
  end
  return ctx:result(checks)
end
