--- Special functions of the GNU Scientific Library, by its names: gsl_sf_NAME is gsl.NAME. Each
-- gives the value and GSL's bound of its error; `map` applies one to every element of an array.
--
--    local gsl = require "perigee.lib.gsl"
--    print(gsl.gamma(0.5), gsl.bessel_Jn(2, 3.5))
--    local y = gsl.map("erf", x)                 -- f64 array with the shape of x
--
-- A result that is too small is 0. Raises environment when there is no GSL, not_found for a name
-- that is none of `gsl.names()`, range outside a function's domain, for results too large, and for
-- an order (the n of `bessel_Jn`) that is no integer of 32 bits.
-- @module perigee.lib.gsl

local core = require "perigee.core"
local ffi = require "ffi"
local library = require "perigee.lib.library"
local suggest = require "perigee.suggest"

-- Arguments by name: d is a double, i an int.
local FUNCTIONS = {
  d = { "erf", "erfc", "log_erfc", "erf_Z", "erf_Q", "gamma", "lngamma", "gammastar", "gammainv",
    "psi", "psi_1", "zeta", "zetam1", "eta", "bessel_J0", "bessel_J1", "bessel_Y0", "bessel_Y1",
    "bessel_I0", "bessel_I1", "bessel_K0", "bessel_K1", "bessel_j0", "bessel_j1", "bessel_j2",
    "dawson", "dilog", "expint_E1", "expint_E2", "expint_Ei", "Shi", "Chi", "Si", "Ci", "sinc",
    "log", "log_1plusx", "log_1plusx_mx", "expm1", "exprel", "lambert_W0", "lambert_Wm1", "clausen",
    "debye_1", "debye_2", "debye_3", "debye_4", "synchrotron_1", "transport_2", "lnsinh",
    "lncosh" },
  dd = { "beta", "lnbeta", "gamma_inc_P", "gamma_inc_Q", "gamma_inc", "poch", "hzeta", "bessel_Jnu",
    "bessel_Ynu", "bessel_Inu", "bessel_Knu", "fermi_dirac_inc_0", "hypot" },
  ddd = { "beta_inc", "hyperg_1F1", "hyperg_U" },
  dddd = { "hyperg_2F1" },
  id = { "bessel_Jn", "bessel_Yn", "bessel_In", "bessel_Kn", "bessel_jl", "bessel_yl",
    "legendre_Pl", "legendre_Ql", "psi_n", "expint_En", "fermi_dirac_int" },
}

local SIGNATURE = { d = "double", i = "int" }
local DOMAIN, UNDERFLOW = 1, 15 -- GSL's status
local INT_LEAST, INT_MOST = -(1 << 31), (1 << 31) - 1

local known, names = {}, {}
local function declarations()
  local text = [[
typedef struct { double val; double err; } gsl_sf_result;
const char* gsl_strerror(int status);
typedef void gsl_error_handler_t(const char* reason, const char* file, int line, int status);
gsl_error_handler_t* gsl_set_error_handler_off(void);
]]
  for kinds, list in pairs(FUNCTIONS) do
    local args = kinds:gsub(".", function(kind) return SIGNATURE[kind] .. ", " end)
    for _, name in ipairs(list) do
      text = text .. ("int gsl_sf_%s_e(%sgsl_sf_result* result);\n"):format(name, args)
      known[name] = kinds
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return text
end

local open, available = library.declare {
  what = "GNU Scientific Library", package = "libgsl27",
  names = { "libgsl.so.27", "libgsl.so.28", "libgsl.so.25", "libgsl.so.23", "libgsl.so" },
  symbol = "gsl_sf_erf_e", cdef = declarations(),
  prepare = function(gsl) gsl.gsl_set_error_handler_off() end, -- the default one ends the process
}

local gsl = {
  --- Whether GSL is there. @function available
  available = available,
}

--- The names of all functions, in order.
function gsl.names()
  return table.move(names, 1, #names, 1, {})
end

local function fail(name, status, ...)
  local args = {}
  for i, value in ipairs { ... } do args[i] = ("%.17g"):format(value) end
  core.error("range", ("%s(%s): %s"):format(name, table.concat(args, ", "),
    status == DOMAIN and "outside its domain" or ffi.string(open().gsl_strerror(status))))
end

local function check(name, kinds, ...)
  if select("#", ...) ~= #kinds then
    core.error("invalid", ("%s: expected %d arguments, got %d"):format(name, #kinds,
      select("#", ...)))
  end
  for i = 1, #kinds do
    local value = select(i, ...)
    if type(value) ~= "number" then
      core.error("invalid", ("%s: argument %d: expected number, got %s"):format(name, i,
        type(value)))
    end
    local whole = kinds:sub(i, i) ~= "i" or math.tointeger(value)
    if not whole or whole ~= true and (whole < INT_LEAST or whole > INT_MOST) then
      core.error("range", ("%s: argument %d: expected an integer of 32 bits, got %.17g"):format(
        name, i, value))
    end
  end
end

-- name -> a function of numbers: made once.
local function make(name)
  local kinds = known[name]
  if not kinds then
    core.error("not_found", ("gsl has no '%s'"):format(tostring(name)),
      suggest.hint(tostring(name), names, "functions"))
  end
  local call, result = open()["gsl_sf_" .. name .. "_e"], ffi.new "gsl_sf_result"
  local function evaluate(status, ...)
    if status ~= 0 and status ~= UNDERFLOW then fail(name, status, ...) end
    return result.val, result.err
  end
  if kinds == "d" then
    return function(x, ...)
      check(name, kinds, x, ...)
      return evaluate(call(x, result), x)
    end
  end
  return function(...)
    check(name, kinds, ...)
    local args = { ... }
    args[#args + 1] = result
    return evaluate(call(table.unpack(args)), ...)
  end
end

local made = setmetatable({}, { __index = function(list, name)
  list[name] = make(name)
  return list[name]
end })

--- A function of every element.
-- @tparam string name of a function, as in gsl.names()
-- @tparam array x of any dtype with a real value
-- @param ... arguments in front of x: `gsl.map("bessel_Jn", x, 2)`
-- @treturn array f64 with the shape of x
function gsl.map(name, x, ...)
  if not core.is_array(x) or x.struct then
    core.error("invalid", ("map: x: expected an array of numbers, got %s"):format(type(x)))
  end
  local f, y, args = made[name], core.array("f64", x.shape), { ... }
  local place = #args + 1
  for i = 0, x.count - 1 do
    args[place] = x[i]
    y[i] = f(table.unpack(args, 1, place))
  end
  return y
end

return setmetatable(gsl, { __index = function(_, name) return made[name] end })
