-- perigee.lib: BLAS, LAPACK, FFTW and GSL, against closed forms, residuals and known constants.
-- Where a library is missing its tests are skipped; `make deps` brings them.
local lu = require "luaunit"
local pg = require "perigee"
local library = require "perigee.lib.library"
local blas, lapack = require "perigee.lib.blas", require "perigee.lib.lapack"
local fft, gsl = require "perigee.lib.fft", require "perigee.lib.gsl"

local function random(shape, seed, dtype)
  return pg.array(dtype or "f64", shape):random { seed = seed, low = -1, high = 1 }
end

local function assert_near(want, got, tolerance)
  local cmp = pg.compare(want, got, { atol = tolerance })
  lu.assertTrue(cmp.ok, ("off by %g"):format(cmp.max_abs))
  lu.assertEquals(got.shape, want.shape)
end

local function identity(n)
  local a = pg.array("f64", { n, n })
  for i = 0, n - 1 do a:set(i, i, 1) end
  return a
end

local function product(a, b, options)
  return pg.product(a, b, options):reshape { options and options.a_transposed and a.shape[2]
    or a.shape[1], options and options.b_transposed and b.shape[1] or b.shape[2] }
end

local function code_of(f, ...)
  local ok, e = pcall(f, ...)
  lu.assertFalse(ok)
  return e.code, e
end

-- A class whose tests are skipped where its library is missing.
local function needs(what)
  return { setUp = function() lu.skipIf(not what.available(), "the library is missing") end }
end

-- ---- what they share ----

TestLibrary = {}

function TestLibrary.test_a_missing_library_is_an_error_of_the_machine()
  local open, available = library.declare { what = "Nothing", package = "libnothing7",
    names = { "libnothing-at-all.so.7" }, symbol = "nothing", cdef = "int nothing(void);" }
  lu.assertFalse(available())
  local code, e = code_of(open)
  lu.assertEquals(code, "environment")
  lu.assertStrContains(e.message, "libnothing-at-all.so.7")
  lu.assertStrContains(e.hint, "apt-get install libnothing7")
end

function TestLibrary.test_a_library_without_the_symbol_is_passed_over()
  local open = library.declare { what = "m", package = "libc6", symbol = "cosh",
    names = { "libnothing-at-all.so.7", "libdl.so.2", "libm.so.6" }, cdef = "double cosh(double);" }
  local found, name = open()
  lu.assertEquals(found.cosh(0), 1)
  lu.assertEquals(name, "libm.so.6")
end

-- ---- BLAS ----

TestBlas = needs(blas)

function TestBlas.test_vectors()
  local x, y = pg.from_list("f64", { 3, 4, -12 }), pg.from_list("f64", { 1, 2, 3 })
  lu.assertEquals(blas.dot(x, y), -25)
  lu.assertEquals(blas.nrm2(x), 13)
  lu.assertEquals(blas.asum(x), 19)
  lu.assertEquals(blas.axpy(2, x, y):totable(), { 7, 10, -21 })
  lu.assertEquals(blas.scal(0.5, x):totable(), { 1.5, 2, -6 })
end

function TestBlas.test_single_precision_is_called_for_f32()
  local x = pg.from_list("f32", { 3, 4 })
  lu.assertEquals(blas.nrm2(x), 5)
  lu.assertEquals(blas.dot(x, x), 25)
  lu.assertEquals(blas.gemm(x:reshape { 2, 1 }, x:reshape { 1, 2 }).dtype, "f32")
end

function TestBlas.test_gemm_agrees_with_the_host_in_all_four_ways()
  for _, way in ipairs { {}, { a_transposed = true }, { b_transposed = true },
    { a_transposed = true, b_transposed = true } } do
    local a = random(way.a_transposed and { 5, 7 } or { 7, 5 }, 1)
    local b = random(way.b_transposed and { 4, 5 } or { 5, 4 }, 2)
    assert_near(product(a, b, way), blas.gemm(a, b, way), 1e-15)
  end
end

-- The host's own products, which references and Freivalds' test call, at the size that matmul/f32
-- and matmul/f16 are timed at: 128 rows of the result, and the whole times a vector of signs.
function TestBlas.test_products_at_the_timed_size_are_those_of_the_library()
  local n, apart = 4096, 4096 * 2.0 ^ -53 * 64 -- of sums of 4096 terms below 1
  local a, b = random({ n, n }, 1, "f32"):cast("f64"), random({ n, n }, 2, "f32"):cast("f64")
  local rows = a:slice(7 * n, 128 * n):reshape { 128, n }
  assert_near(blas.gemm(rows, b), pg.product(rows, b):reshape { 128, n }, apart)
  local signs = 2 * pg.array("f64", n):random { seed = 3, dist = "integer", last = 1 } - 1
  assert_near(blas.gemv(a, signs), pg.product(a, signs):reshape(n), apart)
  assert_near(blas.gemv(a, signs, { transposed = true }),
    pg.product(a, signs, { a_transposed = true }):reshape(n), apart)
end

function TestBlas.test_gemm_adds_to_a_given_result_in_place()
  local a, b, c = random({ 3, 2 }, 1), random({ 2, 4 }, 2), random({ 3, 4 }, 3)
  local want = (2 * product(a, b) - c):reshape { 3, 4 }
  local got = blas.gemm(a, b, { alpha = 2, beta = -1, c = c })
  lu.assertTrue(rawequal(got, c))
  assert_near(want, c, 1e-15)
end

function TestBlas.test_gemv_and_trsm()
  local a, x = random({ 4, 3 }, 5), random({ 3 }, 6)
  assert_near(pg.product(a, x):reshape(4), blas.gemv(a, x), 1e-15)
  local y = random({ 4 }, 7)
  assert_near(pg.product(a:transposed(), y):reshape(3), blas.gemv(a, y, { transposed = true }),
    1e-15)
  local l = pg.from_list("f64", { 2, 99, 1, 4 }, { 2, 2 }) -- 99 is not read
  local b = blas.trsm(l, pg.from_list("f64", { 6, 11 }, { 2, 1 }))
  lu.assertEquals(b:totable(), { 3, 2 })
end

function TestBlas.test_wrong_shapes_and_dtypes_are_told()
  lu.assertErrorMsgContains("a has 2 columns, b has 3 rows", blas.gemm, random({ 2, 2 }, 1),
    random({ 3, 2 }, 1))
  lu.assertErrorMsgContains("b: expected an array of f64, got one of f32", blas.gemm,
    random({ 2, 2 }, 1), random({ 2, 2 }, 1, "f32"))
  lu.assertErrorMsgContains("expected an array of f64 or f32, got one of f16", blas.nrm2,
    pg.array("f16", 3))
  lu.assertErrorMsgContains("expected an array of f64 or f32, got number", blas.nrm2, 3)
  lu.assertErrorMsgContains("expected shape { 2, 2 }, got { 3, 2 }", blas.gemm, random({ 2, 2 }, 1),
    random({ 2, 2 }, 1), { c = random({ 3, 2 }, 1) })
  lu.assertErrorMsgContains("unknown option 'betta'", blas.gemm, random({ 2, 2 }, 1),
    random({ 2, 2 }, 1), { betta = 1 })
  lu.assertErrorMsgContains("gemm: options: expected table, got number", blas.gemm,
    random({ 2, 2 }, 1), random({ 2, 2 }, 1), 5)
  lu.assertErrorMsgContains("x has 2 elements, y has 3", blas.dot, random({ 2 }, 1),
    random({ 3 }, 1))
end

-- Undefined in BLAS: what is read may be new already.
function TestBlas.test_a_result_in_the_memory_of_an_argument_is_refused()
  local a, b, x = random({ 2, 2 }, 1), random({ 2, 2 }, 2), random({ 6 }, 3)
  lu.assertErrorMsgContains("gemm: c has memory in common with a", blas.gemm, a, b, { c = a })
  lu.assertErrorMsgContains("gemm: c has memory in common with b", blas.gemm, a, b,
    { c = b:reshape { 2, 2 } })
  lu.assertErrorMsgContains("gemv: y has memory in common with x", blas.gemv, a, x:slice(0, 2),
    { y = x:slice(1, 2) })
  lu.assertErrorMsgContains("trsm: b has memory in common with a", blas.trsm, a, a)
  local beside = blas.gemv(a, x:slice(0, 2), { y = x:slice(2, 2) })
  assert_near(pg.product(a, x:slice(0, 2)):reshape(2), beside, 1e-15)
end

-- ---- LAPACK ----

TestLapack = needs(lapack)

function TestLapack.test_a_solution_leaves_nothing()
  local a, b = random({ 30, 30 }, 1), random({ 30, 4 }, 2)
  local before = a:copy()
  assert_near(b, product(a, lapack.solve(a, b)), 1e-12)
  lu.assertTrue(a:equal_bits(before))
  lu.assertEquals(lapack.solve(a, b:slice(0, 30)).shape, { 30 })
end

-- The inverse of the Hilbert matrix has whole numbers: that of 3 x 3 begins with 9, -36, 30.
function TestLapack.test_the_hilbert_matrix()
  local h = pg.array("f64", { 3, 3 })
  for i = 0, 2 do for j = 0, 2 do h:set(i, j, 1 / (i + j + 1)) end end
  local want = pg.from_list("f64", { 9, -36, 30, -36, 192, -180, 30, -180, 180 }, { 3, 3 })
  assert_near(want, lapack.solve(h, identity(3)), 1e-11)
  lu.assertAlmostEquals(lapack.condition(h), 748, 1e-8) -- 408 * 11 / 6
end

function TestLapack.test_lu_is_the_matrix_with_its_rows_exchanged()
  local a = random({ 6, 6 }, 3)
  local lu_, p, singular = lapack.lu(a)
  local l, u = identity(6), pg.array("f64", { 6, 6 })
  for i = 0, 5 do
    for j = 0, 5 do (j < i and l or u):set(i, j, lu_:get(i, j)) end
  end
  local rows = pg.array("f64", { 6, 6 })
  for i = 0, 5 do rows:slice(6 * i, 6):copy_from(a:slice(6 * p[i], 6)) end
  assert_near(rows, product(l, u), 1e-14)
  lu.assertFalse(singular)
  lu.assertTrue(select(3, lapack.lu(pg.array("f64", { 2, 2 }))))
end

function TestLapack.test_cholesky()
  local a = pg.from_list("f64", { 4, 2, 2, 10 }, { 2, 2 })
  lu.assertEquals(lapack.cholesky(a):totable(), { 2, 0, 1, 3 })
  lu.assertEquals(lapack.cholesky(a, { upper = true }):totable(), { 2, 1, 0, 3 })
end

function TestLapack.test_qr()
  local a = random({ 7, 4 }, 4)
  local q, r = lapack.qr(a)
  assert_near(a, product(q, r), 1e-14)
  assert_near(identity(4), product(q, q, { a_transposed = true }), 1e-14)
  for i = 1, 3 do for j = 0, i - 1 do lu.assertEquals(r:get(i, j), 0) end end
end

-- The line through (0, 1), (1, 3), (2, 4): slope 3/2, 7/6 at 0.
function TestLapack.test_least_squares()
  local a = pg.from_list("f64", { 1, 0, 1, 1, 1, 2 }, { 3, 2 })
  local x = lapack.least_squares(a, pg.from_list("f64", { 1, 3, 4 }, { 3, 1 }))
  assert_near(pg.from_list("f64", { 7 / 6, 3 / 2 }, { 2, 1 }), x, 1e-14)
  local smallest = lapack.least_squares(pg.from_list("f64", { 1, 1 }, { 1, 2 }),
    pg.from_list("f64", { 2 }, { 1, 1 }))
  assert_near(pg.from_list("f64", { 1, 1 }, { 2, 1 }), smallest, 1e-14)
end

-- The chain -1, 2, -1 of n has the eigenvalues 2 - 2 cos(k pi / (n + 1)).
function TestLapack.test_eigenvalues_of_a_chain()
  local n = 9
  local a = pg.array("f64", { n, n })
  for i = 0, n - 1 do
    a:set(i, i, 2)
    if i > 0 then
      a:set(i, i - 1, -1)
      a:set(i - 1, i, -1)
    end
  end
  local w, v = lapack.eigen(a)
  for k = 1, n do
    lu.assertAlmostEquals(w[k - 1], 2 - 2 * math.cos(k * math.pi / (n + 1)), 1e-14)
  end
  local vw = v:copy()
  for i = 0, n * n - 1 do vw[i] = v[i] * w[i % n] end
  assert_near(a, product(vw, v, { b_transposed = true }), 1e-13)
end

function TestLapack.test_singular_values()
  for _, shape in ipairs { { 5, 3 }, { 3, 5 } } do
    local a = random(shape, 8)
    local s, u, vt = lapack.svd(a)
    local us = u:copy()
    for i = 0, us.count - 1 do us[i] = u[i] * s[i % 3] end
    assert_near(a, product(us, vt), 1e-14)
    lu.assertAlmostEquals((s * s):sum(), (a * a):sum(), 1e-13) -- the Frobenius norm
    lu.assertTrue(s[0] >= s[1] and s[1] >= s[2] and s[2] > 0)
  end
end

function TestLapack.test_results_that_do_not_exist_are_told()
  local zero = pg.array("f64", { 2, 2 })
  local code, e = code_of(lapack.solve, zero, random({ 2, 1 }, 1))
  lu.assertEquals(code, "range")
  lu.assertStrContains(e.message, "singular: pivot 0 is 0")
  lu.assertEquals(lapack.condition(zero), math.huge)
  lu.assertErrorMsgContains("not positive definite: column 1", lapack.cholesky,
    pg.from_list("f64", { 1, 2, 2, 1 }, { 2, 2 }))
  lu.assertErrorMsgContains("argument 4 is wrong, or has a NaN", lapack.solve,
    pg.array("f64", { 2, 2 }, 0 / 0), random({ 2, 1 }, 1))
  lu.assertErrorMsgContains("expected shape { 2, 2 }, got { 2, 3 }", lapack.eigen,
    random({ 2, 3 }, 1))
  lu.assertErrorMsgContains("expected 2 extents, got { 4 }", lapack.svd, random({ 4 }, 1))
  lu.assertErrorMsgContains("got one of f32", lapack.svd, random({ 2, 2 }, 1, "f32"))
end

-- ---- FFTW ----

TestFft = needs(fft)

-- The sum of the definition.
local function definition(x, sign)
  local n = x.shape[1]
  local y = pg.array("f64", { n, 2 })
  for k = 0, n - 1 do
    for j = 0, n - 1 do
      local angle = sign * 2 * math.pi * (j * k % n) / n
      local c, s = math.cos(angle), math.sin(angle)
      y[2 * k] = y[2 * k] + x[2 * j] * c - x[2 * j + 1] * s
      y[2 * k + 1] = y[2 * k + 1] + x[2 * j] * s + x[2 * j + 1] * c
    end
  end
  return y
end

function TestFft.test_forward_is_the_sum_of_its_definition()
  for _, n in ipairs { 1, 2, 7, 12, 64 } do
    local x = random({ n, 2 }, n)
    assert_near(definition(x, -1), fft.forward(x), 1e-13)
    assert_near(((1 / n) * definition(x, 1)):reshape { n, 2 }, fft.inverse(x), 1e-13)
  end
end

function TestFft.test_each_row_of_a_batch_is_a_transform()
  local x = random({ 3, 10, 2 }, 1)
  local y = fft.forward(x)
  for i = 0, 2 do
    assert_near(fft.forward(x:slice(20 * i, 20):reshape { 10, 2 }), y:slice(20 * i, 20)
      :reshape { 10, 2 }, 1e-14)
  end
  assert_near(x, fft.inverse(y), 1e-15)
end

-- In two extents: rows, then columns.
function TestFft.test_two_extents()
  local x = random({ 4, 6, 2 }, 2)
  local want = fft.forward(x)
  for j = 0, 5 do
    local column = pg.array("f64", { 4, 2 })
    for i = 0, 7 do column[i] = want[(i // 2 * 6 + j) * 2 + i % 2] end
    column = fft.forward(column)
    for i = 0, 7 do want[(i // 2 * 6 + j) * 2 + i % 2] = column[i] end
  end
  assert_near(want, fft.forward(x, { dims = 2 }), 1e-14)
  assert_near(x, fft.inverse(want, { dims = 2 }), 1e-15)
end

function TestFft.test_real_numbers_give_half_of_their_transform()
  for _, n in ipairs { 1, 8, 9 } do
    local x = random({ 2, n }, n)
    local z = pg.array("f64", { 2, n, 2 })
    for i = 0, 2 * n - 1 do z[2 * i] = x[i] end
    local whole, half = fft.forward(z), fft.real(x)
    lu.assertEquals(half.shape, { 2, n // 2 + 1, 2 })
    for row = 0, 1 do
      for k = 0, 2 * (n // 2 + 1) - 1 do
        lu.assertAlmostEquals(half[row * 2 * (n // 2 + 1) + k], whole[row * 2 * n + k], 1e-14)
      end
    end
  end
end

function TestFft.test_empty_arrays_and_mistakes()
  lu.assertEquals(fft.forward(pg.array("f64", { 0, 4, 2 })).count, 0)
  lu.assertErrorMsgContains("the last extent of complex numbers is 2", fft.forward,
    pg.array("f64", { 4, 3 }))
  lu.assertErrorMsgContains("got one of f32", fft.forward, pg.array("f32", { 4, 2 }))
  lu.assertErrorMsgContains("dims = 2, expected 1 to 1", fft.forward, pg.array("f64", { 4, 2 }),
    { dims = 2 })
end

-- FFTW against the transforms that task fft/c2c uses where there is none, to the longest and at the
-- length that is timed.
function TestFft.test_the_task_has_the_same_without_it()
  local own = require "fft.reference"
  for _, log2n in ipairs { 0, 1, 5, 8, 12, 13 } do
    local x = random({ 30, 2 << log2n }, log2n, "f32")
    local want = fft.forward(x:cast("f64"):reshape { 30, 1 << log2n, 2 })
    local apart = 2.0 ^ -50 * (log2n + 1) * math.sqrt(1 << log2n)
    assert_near(want, own.forward(x, 1 << log2n):reshape { 30, 1 << log2n, 2 }, apart)
  end
end

-- ---- GSL ----

TestGsl = needs(gsl)

function TestGsl.test_closed_forms_and_known_constants()
  local gamma = 0.57721566490153286
  for name, want in pairs { zeta = math.pi ^ 2 / 6, gamma = 1, erf = 0.99532226501895273,
    expint_E1 = 0.04890051070806112, lambert_W0 = 0.85260550201372549,
    dilog = 2.4674011002723397 } do
    lu.assertAlmostEquals(gsl[name](2), want, 1e-14, name)
  end
  lu.assertAlmostEquals(gsl.psi(1), -gamma, 1e-15)
  lu.assertAlmostEquals(gsl.gamma(0.5), math.sqrt(math.pi), 1e-15)
  lu.assertAlmostEquals(gsl.bessel_J0(2.4048255576957728), 0, 1e-15) -- its first zero
  lu.assertAlmostEquals(gsl.bessel_Jn(1, 1), 0.44005058574493352, 1e-15)
  lu.assertAlmostEquals(gsl.beta(2, 3), 1 / 12, 1e-15)
  lu.assertAlmostEquals(gsl.beta_inc(2, 2, 0.5), 0.5, 1e-15)
  lu.assertAlmostEquals(gsl.legendre_Pl(2, 0.5), -0.125, 1e-15)
  lu.assertAlmostEquals(gsl.hyperg_2F1(1, 1, 2, 0.5), 2 * math.log(2), 1e-14)
end

function TestGsl.test_an_error_bound_comes_with_the_value()
  local value, bound = gsl.erf(0.5)
  lu.assertTrue(bound > 0 and bound < 1e-14)
  lu.assertTrue(math.abs(value - 0.52049987781304654) <= bound)
end

function TestGsl.test_every_name_is_a_function_of_the_library()
  for _, name in ipairs(gsl.names()) do lu.assertEquals(type(gsl[name]), "function") end
  lu.assertTrue(#gsl.names() > 70)
end

function TestGsl.test_map_goes_over_an_array()
  local x = pg.from_list("f32", { 0, 0.5, 1, -1 }, { 2, 2 })
  local y = gsl.map("erf", x)
  lu.assertEquals(y.shape, { 2, 2 })
  for i = 0, 3 do lu.assertEquals(y[i], (gsl.erf(x[i]))) end
  lu.assertEquals(gsl.map("bessel_Jn", x, 1)[2], (gsl.bessel_Jn(1, 1)))
end

function TestGsl.test_domain_range_and_names()
  local code, e = code_of(gsl.lngamma, 0)
  lu.assertEquals(code, "range")
  lu.assertStrContains(e.message, "lngamma(0): outside its domain")
  lu.assertErrorMsgContains("gamma(1000): overflow", gsl.gamma, 1000)
  lu.assertEquals((gsl.erfc(1000)), 0) -- too small
  local _, unknown = code_of(function() return gsl.gama end)
  lu.assertEquals(unknown.code, "not_found")
  lu.assertStrContains(unknown.hint, "gamma")
  lu.assertErrorMsgContains("beta: expected 2 arguments, got 1", gsl.beta, 1)
  lu.assertErrorMsgContains("argument 1: expected number, got nil", gsl.erf, nil)
  lu.assertErrorMsgContains("expected an array of numbers, got number", gsl.map, "erf", 1)
end

-- C would cut them: the value of another order.
function TestGsl.test_an_order_is_an_integer()
  for _, order in ipairs { 1.5, 2 ^ 40, -2 ^ 31 - 1, 0 / 0, 1 / 0 } do
    local code, e = code_of(gsl.bessel_Jn, order, 2)
    lu.assertEquals(code, "range")
    lu.assertStrContains(e.message, "bessel_Jn: argument 1: expected an integer of 32 bits")
  end
  lu.assertEquals((gsl.bessel_Jn(2.0, 2)), (gsl.bessel_Jn(2, 2)))
  lu.assertErrorMsgContains("argument 1: expected an integer of 32 bits, got 1.5", gsl.map,
    "bessel_Jn", pg.array("f64", 2), 1.5)
end

os.exit(lu.LuaUnit.run())
