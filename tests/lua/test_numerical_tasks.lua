-- The tasks of numerical libraries: norm/softmax, fft/c2c, sparse/spmv, conv/conv2d, linalg/solve,
-- matmul/f16. Their references against definitions, their kernels at the edges of tiles, and what
-- their validators refuse beside plain damage: less precision than the contract asks for.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local case = require "perigee.case"
local validate = require "perigee.validate"

local function random(shape, seed, dtype)
  return pg.array(dtype or "f32", shape):random { seed = seed, dist = "uniform", low = -1 }
end

local POISON = 0x7fa12345 -- of outputs, before they were written

local function find(name) return pg.catalogue.find(name)[1] end

local function case_of(name, set, seed)
  local task = find(name)
  return case.make(task, task:resolve { purpose = "sim", set = set }, seed or 1)
end

local function judged(one, arrays)
  return validate.run(one, arrays, POISON)
end

local function assert_refused(one, arrays, words)
  local got = judged(one, arrays)
  lu.assertFalse(got.ok)
  lu.assertStrContains(got.reason, words)
end

local function assert_accepted(one, arrays)
  local got = judged(one, arrays)
  lu.assertTrue(got.ok, got.reason)
end

-- ---- kernels at sizes around their tiles ----

TestEdges = {}

local function assert_all_pass(name, set, cells)
  lu.skipIf(not core.compiler_info(), "no NVRTC on this machine")
  local records = pg.run(find(name), { device = "sim", seed = 1, set = set, cells = cells })
  lu.assertTrue(#records > 1)
  for _, record in ipairs(records) do
    lu.assertEquals(record.verdict, "passed", ("%s %s %s: %s"):format(name, record.impl,
      core.json_encode(record.params), tostring(record.reason)))
  end
end

function TestEdges.test_softmax()
  assert_all_pass("norm/softmax", { rows = "3", columns = "1,4,127,128,132,2048,4096,16388" })
end

function TestEdges.test_every_length_of_a_transform()
  assert_all_pass("fft/c2c", { log2n = "0..13+1", batch = "3" })
end

function TestEdges.test_sparse_matrices_of_every_kind()
  assert_all_pass("sparse/spmv", { rows = "1,65,2100", mean = "1,30" })
end

function TestEdges.test_convolution()
  assert_all_pass("conv/conv2d", { images = "2", inputs = "1,6", outputs = "3,129", height = "1,9",
    width = "8,15" })
end

function TestEdges.test_solve()
  assert_all_pass("linalg/solve", { n = "1,15,16,33,64,97", m = "1,37" })
end

-- Panels of which a thread has four rows, then two.
function TestEdges.test_solve_with_taller_panels()
  lu.skipIf(not core.compiler_info(), "no NVRTC on this machine")
  for _, record in ipairs(pg.run(find "linalg/solve", { device = "sim", impls = { "blocked" },
    set = { n = "1050", m = "2" } })) do
    lu.assertEquals(record.verdict, "passed", record.reason)
  end
end

function TestEdges.test_half_precision_product()
  assert_all_pass("matmul/f16", { m = "1,129", n = "8,30", k = "1,64,65,136" })
end

-- ---- references against definitions ----

TestReferences = {}

function TestReferences.test_softmax()
  local x = random({ 3, 5 }, 1)
  local y = require("norm.softmax_reference").softmax(x, 5)
  for i = 0, 2 do
    local sum = 0
    for j = 0, 4 do sum = sum + math.exp(x:get(i, j)) end
    for j = 0, 4 do
      lu.assertAlmostEquals(y[5 * i + j], math.exp(x:get(i, j)) / sum, 1e-15)
    end
  end
end

function TestReferences.test_convolution()
  local n, c, k, h, v = 2, 3, 2, 4, 5
  local x, w = random({ n, c, h, v }, 1), random({ k, c, 3, 3 }, 2)
  local y = require("conv.reference").apply(x, w, n, c, k, h, v):reshape { n, k, h, v }
  local function at(i, channel, row, column)
    if row < 0 or row >= h or column < 0 or column >= v then return 0 end
    return x:get(i, channel, row, column)
  end
  for i = 0, n - 1 do for o = 0, k - 1 do for row = 0, h - 1 do for column = 0, v - 1 do
    local sum = 0
    for channel = 0, c - 1 do for r = 0, 2 do for s = 0, 2 do
      sum = sum + w:get(o, channel, r, s) * at(i, channel, row + r - 1, column + s - 1)
    end end end
    lu.assertAlmostEquals(y:get(i, o, row, column), sum, 1e-14)
  end end end end
end

local csr = require "sparse.csr"

function TestReferences.test_a_sparse_product_is_that_of_the_dense_matrix()
  for _, kind in ipairs { "even", "power", "band" } do
    local n = 60
    local first, column = csr.make(7, kind, n, 6)
    local value, x, dense = random(column.count, 1), random(n, 2), pg.array("f64", { n, n })
    for row = 0, n - 1 do
      for i = first[row], first[row + 1] - 1 do dense:set(row, column[i], value[i]) end
    end
    local cmp = pg.compare(pg.product(dense, x), (csr.multiply(first, column, value, x)),
      { atol = 1e-14 })
    lu.assertTrue(cmp.ok, kind)
  end
end

-- Columns ascend, none comes twice, all lie in the matrix, in a band near the diagonal. Returns the
-- lengths of rows, in order of size.
local function check_matrix(kind, n, first, column)
  local lengths = {}
  for row = 0, n - 1 do
    local length = first[row + 1] - first[row]
    lengths[row + 1] = length
    for i = first[row], first[row + 1] - 1 do
      lu.assertTrue(column[i] >= 0 and column[i] < n)
      lu.assertTrue(i == first[row] or column[i] > column[i - 1])
      lu.assertTrue(kind ~= "band" or math.abs(column[i] - row) <= 4 * length)
    end
  end
  table.sort(lengths)
  return lengths
end

function TestReferences.test_rows_of_sparse_matrices()
  local n, mean = 5000, 12
  for _, kind in ipairs { "even", "power", "band" } do
    local first, column = csr.make(3, kind, n, mean)
    local lengths = check_matrix(kind, n, first, column)
    lu.assertTrue(math.abs(column.count / n - mean) < mean / 2, kind .. " " .. column.count)
    if kind == "power" then lu.assertTrue(lengths[n] > 20 * mean, lengths[n])
    else
      lu.assertTrue(lengths[n] <= 2 * mean)
      lu.assertEquals(lengths[1], 0)
    end
  end
end

-- Of another seed, a matrix of the same size has nothing in the same place.
function TestReferences.test_other_inputs_of_a_sparse_product_have_elements_elsewhere()
  local task, n = pg.catalogue.find("sparse/spmv")[1], 1000
  for _, kind in ipairs { "even", "power", "band" } do
    local p = task:resolve { purpose = "sim", set = { matrix = kind, rows = n } }
    local one = case.make(task, p, 5)
    local other = case.like(one, 6)
    local a, b = one.io, other.io
    lu.assertEquals(check_matrix(kind, n, b.first, b.column),
      check_matrix(kind, n, a.first, a.column))
    local moved = 0
    for row = 1, n - 1 do moved = moved + (a.first[row] == b.first[row] and 0 or 1) end
    lu.assertTrue(moved > 0.9 * n, moved)
    local equal = a.column.count - pg.compare(a.column, b.column, {}).bad
    lu.assertTrue(equal < 0.05 * a.column.count, equal)
  end
end

-- ---- what is refused ----

TestRefused = {}

-- What half precision leaves of an array.
local function halved(array) return array:cast("f16"):cast("f32") end

local function with_factors(set)
  local one = case_of("matmul/f16", set)
  return one, one.io.a:cast("f64"), one.io.b:cast("f64")
end

function TestRefused.test_a_product_that_was_summed_in_half_precision()
  local one, a, b = with_factors { m = 20, n = 30, k = 64 }
  local c = pg.product(a, b)
  assert_accepted(one, { c = c:cast("f32"):reshape { 20, 30 } })
  local sums = pg.array("f16", { 20, 30 })
  for i = 0, 19 do for j = 0, 29 do
    for l = 0, 63 do sums:set(i, j, sums:get(i, j) + a:get(i, l) * b:get(l, j)) end
  end end
  assert_refused(one, { c = sums:cast("f32") }, "c[")
  assert_refused(one, { c = halved(c:cast("f32")):reshape { 20, 30 } }, "c[")
end

function TestRefused.test_a_kernel_that_adds_halves()
  lu.skipIf(not core.compiler_info(), "no NVRTC on this machine")
  local record = pg.check(find "matmul/f16", { source = [[
    extern "C" __global__ void matmul(const void* a, const void* b, float* c, int m, int n, int k) {
      unsigned d0, d1;
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2, %2, %2}, "
        "{%2, %2}, {%2, %2};" : "=r"(d0), "=r"(d1) : "r"(0));
      c[0] = d0;
    }]] }, { device = "sim" })
  lu.assertEquals(record.verdict, "forbidden")
end

-- Sums cut off after every eight products, as tensor cores do, in f32.
function TestRefused.test_a_product_that_tensor_cores_truncate_is_right()
  local one, a, b = with_factors { m = 4, n = 8, k = 2048 }
  local c = pg.array("f32", { 4, 8 })
  for i = 0, 3 do for j = 0, 7 do
    local sum = 0.0
    for l = 0, 2047 do
      sum = sum + a:get(i, l) * b:get(l, j)
      if l % 8 == 7 and sum ~= 0 then
        local unit = 2.0 ^ (math.floor(math.log(math.abs(sum), 2)) - 23)
        sum = (sum < 0 and math.ceil or math.floor)(sum / unit) * unit
      end
    end
    c:set(i, j, sum)
  end end
  assert_accepted(one, { c = c })
end

local function convolved(one, x, w)
  local p = one.p
  return require("conv.reference").apply(x, w, p.images, p.inputs, p.outputs, p.height, p.width)
    :cast("f32"):reshape { p.images, p.outputs, p.height, p.width }
end

-- 10 bits of the factors: TF32. The larger case is judged by sums over the outputs alone.
function TestRefused.test_a_convolution_with_factors_cut_to_ten_bits()
  for _, set in ipairs { {}, { images = 2, inputs = 32, outputs = 64, height = 48, width = 48 } } do
    local one = case_of("conv/conv2d", set)
    lu.assertEquals(one:expected().y == nil, set.images ~= nil)
    local right = convolved(one, one.io.x, one.io.w)
    assert_accepted(one, { y = right })
    assert_refused(one, { y = convolved(one, halved(one.io.x), halved(one.io.w)) }, "y")
    right[right.count // 3] = right[right.count // 3] + 0.01
    assert_refused(one, { y = right }, "y")
  end
end

-- What only fits the signs that follow from the poison, which a kernel can read before it writes.
function TestRefused.test_sums_of_a_convolution_for_signs_that_a_kernel_could_know()
  local one = case_of("conv/conv2d", { images = 2, inputs = 32, outputs = 64, height = 48,
    width = 48 })
  local signs = 2 * pg.array("f64", { 1, 64 }):random { seed = POISON, dist = "integer",
    last = 1 } - 1
  local sums = require("conv.reference").apply(one.io.x,
    pg.product(signs, one.io.w:reshape { 64, 9 * 32 }), 2, 32, 1, 48, 48)
  local y, plane = pg.array("f32", { 2, 64, 48, 48 }), 48 * 48
  for i = 0, 1 do
    local image = pg.product(signs:reshape { 64, 1 },
      sums:slice(i * plane, plane):reshape { 1, plane }) / 64
    y:slice(64 * i * plane, 64 * plane):copy_from(image:cast("f32"):reshape(64 * plane))
  end
  assert_refused(one, { y = y }, "y, outputs with random signs")
end

function TestRefused.test_one_wrong_or_infinite_element_of_a_large_convolution()
  local one = case_of("conv/conv2d", { images = 2, inputs = 32, outputs = 64, height = 48,
    width = 48 })
  local y = convolved(one, one.io.x, one.io.w)
  for _, value in ipairs { 0 / 0, math.huge, -math.huge, -y[777] } do
    local wrong = y:copy()
    wrong[777] = value
    assert_refused(one, { y = wrong }, "y, outputs with random signs")
  end
end

-- Gaussian elimination in f32, with pivots or without.
local function eliminated(one, pivoting)
  local n, m = one.p.n, one.p.m
  local a, b = one.io.a:copy(), one.io.b:copy()
  local function exchange(array, i, j, width)
    local row = array:slice(i * width, width):copy()
    array:slice(i * width, width):copy_from(array:slice(j * width, width))
    array:slice(j * width, width):copy_from(row)
  end
  for j = 0, n - 1 do
    local top = j
    for i = j + 1, pivoting and n - 1 or j do
      if math.abs(a:get(i, j)) > math.abs(a:get(top, j)) then top = i end
    end
    if top ~= j then
      exchange(a, j, top, n)
      exchange(b, j, top, m)
    end
    for i = 0, n - 1 do
      if i ~= j then
        local factor = a:get(i, j) / a:get(j, j)
        for c = j, n - 1 do a:set(i, c, a:get(i, c) - factor * a:get(j, c)) end
        for c = 0, m - 1 do b:set(i, c, b:get(i, c) - factor * b:get(j, c)) end
      end
    end
  end
  for i = 0, n - 1 do
    for c = 0, m - 1 do b:set(i, c, b:get(i, c) / a:get(i, i)) end
  end
  return b
end

function TestRefused.test_elimination_without_pivots()
  local refused = 0
  for seed = 1, 5 do
    local one = case_of("linalg/solve", { n = 60, m = 2 }, seed)
    assert_accepted(one, { x = eliminated(one, true) })
    if not judged(one, { x = eliminated(one, false) }).ok then refused = refused + 1 end
  end
  lu.assertTrue(refused > 0, "with luck all pivots are large")
  local zero = case_of("linalg/solve", { n = 60, m = 2, diagonal = "zero" })
  assert_refused(zero, { x = eliminated(zero, false) }, "a x")
end

function TestRefused.test_a_solution_in_half_precision()
  local lapack = require "perigee.lib.lapack"
  lu.skipIf(not lapack.available(), "no LAPACKE")
  for _, n in ipairs { 1, 20, 300 } do
    local one = case_of("linalg/solve", { n = n, m = 3 })
    local x = lapack.solve(one.io.a:cast("f64"), one.io.b:cast("f64")):cast("f32")
    assert_accepted(one, { x = x })
    assert_refused(one, { x = halved(x) }, "a x")
    assert_refused(one, { x = pg.array("f32", x.shape, math.huge) }, "a x")
  end
end

function TestRefused.test_exponentials_of_half_precision()
  local one = case_of("norm/softmax", { rows = 2, columns = 500 })
  local right = one:expected().y:cast("f32"):reshape { 2, 500 }
  assert_accepted(one, { y = right })
  assert_refused(one, { y = halved(right) }, "y[")
end

-- Roots of unity of f16.
function TestRefused.test_a_transform_with_roots_of_half_precision()
  local one = case_of("fft/c2c", { log2n = 6, batch = 2 })
  local y = pg.array("f32", { 2, 128 })
  local function made(unit)
    for row = 0, 1 do for k = 0, 63 do
      local re, im = 0.0, 0.0
      for j = 0, 63 do
        local angle = -2 * math.pi * (j * k % 64) / 64
        local c = math.floor(math.cos(angle) / unit + 0.5) * unit
        local s = math.floor(math.sin(angle) / unit + 0.5) * unit
        local a, b = one.io.x:get(row, 2 * j), one.io.x:get(row, 2 * j + 1)
        re, im = re + a * c - b * s, im + a * s + b * c
      end
      y:set(row, 2 * k, re):set(row, 2 * k + 1, im)
    end end
    return y
  end
  assert_accepted(one, { y = made(2.0 ^ -40) })
  assert_refused(one, { y = made(2.0 ^ -11) }, "y[")
end

os.exit(lu.LuaUnit.run())
