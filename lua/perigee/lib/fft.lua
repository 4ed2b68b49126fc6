--- Fourier transforms through FFTW 3, in double precision. A complex array has a last extent of 2,
-- real and imaginary part. What is transformed are the rows: the last extent before that one, or
-- the last `dims` of them; those before count the transforms.
--
--    local fft = require "perigee.lib.fft"
--    local y = fft.forward(x)                    -- x, y: f64 {batch, n, 2}
--    local z = fft.inverse(y)                    -- x again
--    local s = fft.real(signal)                  -- {n} gives {n // 2 + 1, 2}
--
-- Every function raises environment when there is no FFTW, invalid for wrong shapes and dtypes.
-- @module perigee.lib.fft

local core = require "perigee.core"
local ffi = require "ffi"
local library = require "perigee.lib.library"

local fft = {}

local FORWARD, BACKWARD, ESTIMATE, PRESERVE = -1, 1, 1 << 6, 1 << 4

-- fftw_complex is double[2].
local DECLARATIONS = [[
typedef struct fftw_plan_s* fftw_plan;
fftw_plan fftw_plan_many_dft(int rank, const int* n, int howmany, double* in, const int* inembed,
  int istride, int idist, double* out, const int* onembed, int ostride, int odist, int sign,
  unsigned flags);
fftw_plan fftw_plan_many_dft_r2c(int rank, const int* n, int howmany, double* in,
  const int* inembed, int istride, int idist, double* out, const int* onembed, int ostride,
  int odist, unsigned flags);
void fftw_execute(const fftw_plan p);
void fftw_destroy_plan(fftw_plan p);
]]

-- Plans are made by one thread at a time unless FFTW is told otherwise: two hosts may be in two.
local function prepare()
  ffi.cdef "void fftw_make_planner_thread_safe(void);"
  local ok, threads = pcall(ffi.load, "libfftw3_threads.so.3")
  if ok then pcall(function() threads.fftw_make_planner_thread_safe() end) end
end

local open, available = library.declare {
  what = "FFTW 3", package = "libfftw3-double3", names = { "libfftw3.so.3" },
  symbol = "fftw_plan_many_dft", cdef = DECLARATIONS, prepare = prepare,
}

--- Whether FFTW is there. @function available
fft.available = available

local function execute(where, plan)
  if plan == ffi.nullptr then
    core.error("unsupported", where .. ": FFTW has no plan for this shape") end
  open().fftw_execute(plan)
  open().fftw_destroy_plan(plan)
end

-- The extents that are transformed, their product, and how many transforms there are.
local function layout(where, x, dims, extents)
  if math.type(dims) ~= "integer" or dims < 1 or dims > extents then
    core.error("range", ("%s: dims = %s, expected 1 to %d"):format(where, tostring(dims), extents))
  end
  local n, size, count, shape = ffi.new("int[?]", dims), 1, 1, x.shape
  for i = 1, extents do
    if i > extents - dims then
      n[i - 1 - (extents - dims)] = shape[i]
      size = size * shape[i]
    else
      count = count * shape[i]
    end
  end
  return n, size, count
end

local function transform(where, x, options, sign)
  local o = library.options(where, options, { "dims" })
  library.check(where, "x", x, "f64")
  local shape = x.shape
  if #shape < 2 or shape[#shape] ~= 2 then
    core.error("invalid", where .. ": x: the last extent of complex numbers is 2",
      "reshape { n, 2 }, real and imaginary part")
  end
  local y, dims = core.array("f64", shape), o.dims or 1
  local n, size, count = layout(where, x, dims, #shape - 1)
  if x.count == 0 then return y, size end
  execute(where, open().fftw_plan_many_dft(dims, n, count, x, nil, 1, size, y, nil, 1, size, sign,
    ESTIMATE | PRESERVE))
  return y, size
end

--- y[k] = sum over j of x[j] exp(-2 pi i j k / n), not scaled.
-- @tparam array x f64 {..., n, 2}
-- @tparam[opt] table options `dims`: so many extents are transformed (1)
-- @treturn array f64 of the same shape
function fft.forward(x, options)
  return (transform("forward", x, options, FORWARD))
end

--- The inverse of `forward`: with exp(+2 pi i j k / n), over n.
-- @tparam array x f64 {..., n, 2}
-- @tparam[opt] table options `dims`
-- @treturn array f64 of the same shape
function fft.inverse(x, options)
  local y, size = transform("inverse", x, options, BACKWARD)
  local scale = 1 / size
  local scaled = scale * y
  return scaled:reshape(x.shape)
end

--- The first half of the transform of real numbers; the other half are its conjugates.
-- @tparam array x f64 {..., n}
-- @treturn array f64 {..., n // 2 + 1, 2}
function fft.real(x)
  library.check("real", "x", x, "f64")
  local shape = x.shape
  local n, size, count = layout("real", x, 1, #shape)
  local half = size // 2 + 1
  shape[#shape], shape[#shape + 1] = half, 2
  local y = core.array("f64", shape)
  if x.count == 0 then return y end
  execute("real", open().fftw_plan_many_dft_r2c(1, n, count, x, nil, 1, size, y, nil, 1, half,
    ESTIMATE | PRESERVE))
  return y
end

return fft
