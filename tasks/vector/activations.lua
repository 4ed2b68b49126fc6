--- vector/relu_f32 ... vector/hardswish_bf16: a family of 12 activation functions in 3 precisions,
-- made in a loop. A new function is a line here, one in each kernel file and one in the reference.

local pg = require "perigee"
local reference = require "vector.activations_reference"

local FUNCTIONS = {
  relu = "max(x, 0)",
  leaky_relu = "x where x > 0, else 0.01 x",
  elu = "x where x > 0, else exp(x) - 1",
  selu = "1.05070098735548049 * (x where x > 0, else 1.67326324235437728 * (exp(x) - 1))",
  gelu = "x / 2 * (1 + erf(x / sqrt(2)))",
  gelu_tanh = "x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))",
  silu = "x / (1 + exp(-x))",
  mish = "x * tanh(log(1 + exp(x)))",
  softplus = "log(1 + exp(x))",
  sigmoid = "1 / (1 + exp(-x))",
  tanh = "tanh(x)",
  hardswish = "x * min(max(x + 3, 0), 6) / 6",
}

-- Bytes of an element, its type in C, and the tolerance: twice the rounding of the format relative
-- to the result, and what f32 arithmetic loses where terms cancel.
local PRECISIONS = {
  f32 = { bytes = 4, type = "float", rtol = 2.0 ^ -18, atol = 2e-6 },
  f16 = { bytes = 2, type = "half", rtol = 2.0 ^ -10, atol = 4e-6 },
  bf16 = { bytes = 2, type = "__nv_bfloat16", rtol = 2.0 ^ -7, atol = 4e-6 },
}

local DOC = [[
y = %s of n numbers in %s: %s.

For every i from 0 to n - 1, y[i] is that function of x[i], computed as in float and rounded once to
%s. x is uniform in [-scale, scale): with a large scale, exp overflows where a formula is careless.
A result may be off by %.2g of itself plus %.2g. Of an infinite x, y is the limit, and of NaN it is
NaN%s. Everything is read or written once, so memory is the limit: %d bytes an element.]]

-- The larger of NaN and 0 is either, so of relu's NaN nothing is asked.
local function families_of(name)
  local list = { "tiny", "denormal", "zeros", "equal", "sorted", "infinity" }
  if name ~= "relu" then list[#list + 1] = "nan" end
  return list
end

local function activation(name, formula, dtype)
  local precision = PRECISIONS[dtype]
  local full = name .. "_" .. dtype
  return pg.task {
    name = "vector/" .. full,
    doc = DOC:format(name, dtype, formula, dtype, precision.rtol, precision.atol,
      name == "relu" and " or 0" or "", 2 * precision.bytes),
    params = {
      n = {
        default = 1 << 25, check = { 0, 1, 7, 255, 4096, 65537 }, sim = 4099, min = 0,
        max = 1 << 30, doc = "number of elements",
      },
      scale = {
        default = 8.0, check = { 8.0, 8.0, 8.0, 0.01, 100.0, 8.0 }, min = 1e-6, max = 1000.0,
        doc = "largest magnitude of an input",
      },
    },
    inputs = function(p, rng)
      return { x = rng:array(dtype, p.n, { dist = "uniform", low = -p.scale, high = p.scale }) }
    end,
    families = families_of(name),
    outputs = function(p) return { y = pg.spec(dtype, p.n) } end,
    kernel = ("void %s(const %s* x, %s* y, int n)"):format(full, precision.type, precision.type),
    launch = function(p) return { grid = (p.n + 255) // 256, block = 256 } end,
    allow_empty = true,
    reference = function(_, io) return { y = reference.apply(name, io.x:cast("f64")) } end,
    validate = { "close", rtol = precision.rtol, atol = precision.atol, nan_equal = true },
    work = function(p) return { bytes = 2 * precision.bytes * p.n, items = p.n } end,
    impls = {
      naive = { "cuda", "kernels/vector/activations.cu", doc = "one element a thread" },
      wide = {
        "cuda", "kernels/vector/activations_wide.cu",
        doc = "two 16-byte vectors a thread, functions of few instructions",
        launch = function(p)
          local elements = 256 * 2 * 16 // precision.bytes
          return { grid = math.max(1, (p.n + elements - 1) // elements), block = 256 }
        end,
      },
    },
  }
end

local names, family = {}, {}
for name in pairs(FUNCTIONS) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  for _, dtype in ipairs { "f32", "f16", "bf16" } do
    family[#family + 1] = activation(name, FUNCTIONS[name], dtype)
  end
end
return family
