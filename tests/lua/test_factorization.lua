-- The validator factorization: factors made by textbook algorithms in Lua, in float64, rounded to
-- the output's format, pass; damaged ones, wrong structure and wrong order fail.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local case = require "perigee.case"
local damage = require "perigee.damage"
local validate = require "perigee.validate"

local function spec(outputs)
  local declared = {}
  for name, array in pairs(outputs) do declared[name] = pg.spec(array.dtype, array.shape) end
  return declared
end

-- A task whose input is `a` and whose right outputs are `outputs`.
local function make_case(options, a, outputs)
  options[1] = "factorization"
  local params = {}
  for name in pairs(outputs) do params[#params + 1] = "void* " .. name end
  table.sort(params)
  local task = pg.task {
    name = "t/factor", params = { n = { default = 1 } },
    kernel = "void k(const float* a, " .. table.concat(params, ", ") .. ")",
    inputs = function() return { a = a } end, outputs = function() return spec(outputs) end,
    launch = function() return { grid = 1, block = 1 } end,
    reference = function() return {} end, validate = options,
  }
  return case.make(task, task:resolve { purpose = "default" }, 11)
end

local function judge(one, arrays) return validate.run(one, arrays, damage.POISON) end

local function passes(options, a, outputs)
  local result = judge(make_case(options, a, outputs), outputs)
  lu.assertTrue(result.ok, result.reason)
end

local function fails(options, a, outputs, words)
  local result = judge(make_case(options, a, outputs), outputs)
  lu.assertFalse(result.ok)
  lu.assertStrContains(result.reason, words)
end

local function proves(options, a, outputs, except)
  local proof = damage.prove(make_case(options, a, outputs), outputs, except)
  lu.assertTrue(proof.right.ok, proof.right.reason)
  lu.assertEquals(proof.accepted, {})
  lu.assertTrue(proof.tried >= 10, "only " .. proof.tried .. " kinds of damage applied")
end

-- ---- matrices and algorithms in float64 ----

local function matrix(rows, columns, f)
  local m = pg.array("f64", { rows, columns })
  for i = 0, rows - 1 do for j = 0, columns - 1 do m:set(i, j, f(i, j)) end end
  return m
end

local function random_matrix(rows, columns, seed)
  return matrix(rows, columns, function(i, j)
    return core.random_normal(seed, 0, i * columns + j) end)
end

local function product(a, b)
  return matrix(a.shape[1], b.shape[2], function(i, j)
    local sum = 0.0
    for k = 0, a.shape[2] - 1 do sum = sum + a:get(i, k) * b:get(k, j) end
    return sum
  end)
end

local function spd(n, seed)
  local b = random_matrix(n, n, seed)
  local a = product(b, b:transposed())
  for i = 0, n - 1 do a:set(i, i, a:get(i, i) + n) end
  return a:cast("f32")
end

local function cholesky(a)
  local n = a.shape[1]
  local l = pg.array("f64", { n, n })
  for j = 0, n - 1 do
    for i = j, n - 1 do
      local sum = a:get(i, j)
      for k = 0, j - 1 do sum = sum - l:get(i, k) * l:get(j, k) end
      l:set(i, j, i == j and math.sqrt(sum) or sum / l:get(j, j))
    end
  end
  return l
end

-- With partial pivoting: the packed factors and the order of the rows.
local function lu_factors(a)
  local n, m, p = a.shape[1], a:cast("f64"), {}
  for i = 0, n - 1 do p[i + 1] = i end
  for k = 0, n - 1 do
    local best = k
    for i = k, n - 1 do if math.abs(m:get(i, k)) > math.abs(m:get(best, k)) then best = i end end
    for j = 0, n - 1 do
      local x, y = m:get(k, j), m:get(best, j)
      m:set(k, j, y)
      m:set(best, j, x)
    end
    p[k + 1], p[best + 1] = p[best + 1], p[k + 1]
    for i = k + 1, n - 1 do
      m:set(i, k, m:get(i, k) / m:get(k, k))
      for j = k + 1, n - 1 do m:set(i, j, m:get(i, j) - m:get(i, k) * m:get(k, j)) end
    end
  end
  return m, pg.from_list("i32", p)
end

-- Modified Gram-Schmidt, twice.
local function orthogonalized(a)
  local m, n = a.shape[1], a.shape[2]
  local q = a:cast("f64")
  for _ = 1, 2 do
    for j = 0, n - 1 do
      for k = 0, j - 1 do
        local dot = 0.0
        for i = 0, m - 1 do dot = dot + q:get(i, k) * q:get(i, j) end
        for i = 0, m - 1 do q:set(i, j, q:get(i, j) - dot * q:get(i, k)) end
      end
      local norm = 0.0
      for i = 0, m - 1 do norm = norm + q:get(i, j) ^ 2 end
      for i = 0, m - 1 do q:set(i, j, q:get(i, j) / math.sqrt(norm)) end
    end
  end
  return q
end

local function f32(m) return m:cast("f32") end

-- ---- tests ----

TestCholesky = {}

function TestCholesky:test_right_and_damaged()
  for _, n in ipairs { 1, 2, 17, 40 } do
    local a = spd(n, n)
    local l = f32(cholesky(a))
    passes({ kind = "cholesky" }, a, { l = l })
    passes({ kind = "cholesky", upper = "u" }, a, { u = l:transposed() })
    if n == 17 then
      proves({ kind = "cholesky" }, a, { l = l })
      proves({ kind = "cholesky", upper = "u" }, a, { u = l:transposed() })
    end
  end
end

function TestCholesky:test_every_single_wrong_element_is_found()
  local n = 20
  local a = spd(n, 5)
  local l = f32(cholesky(a))
  local one = make_case({ kind = "cholesky" }, a, { l = l })
  for i = 0, n * n - 1 do
    local wrong = l:copy()
    wrong[i] = wrong[i] == 0 and 0.01 or wrong[i] * 1.01
    lu.assertFalse(judge(one, { l = wrong }).ok, "element " .. i)
  end
end

function TestCholesky:test_structure()
  local a = spd(10, 1)
  local l = f32(cholesky(a))
  local full = l:copy()
  full:set(2, 7, 3)
  fails({ kind = "cholesky" }, a, { l = full },
    "l is not triangular: l[2, 7]: expected 0, got 3; 1 of 100 elements wrong")
  passes({ kind = "cholesky", triangle = "any" }, a, { l = full })
  fails({ kind = "cholesky" }, a, { l = f32(-l) }, "the diagonal of l[0]")
  fails({ kind = "cholesky" }, a, { l = l:transposed() }, "l is not triangular")
  fails({ kind = "cholesky" }, a, { l = f32(2 * l) }, "off by a constant factor 4")
end

function TestCholesky:test_batches()
  local n, batch = 6, 5
  local a, l = pg.array("f32", { batch, n, n }), pg.array("f32", { batch, n, n })
  for b = 0, batch - 1 do
    local one = spd(n, b + 1)
    a:slice(b * n * n, n * n):copy_from(one)
    l:slice(b * n * n, n * n):copy_from(f32(cholesky(one)))
  end
  proves({ kind = "cholesky" }, a, { l = l })
  l[3 * n * n] = l[3 * n * n] * 1.01
  fails({ kind = "cholesky" }, a, { l = l }, "matrix 3 of the batch: l l^T[0, 0]: expected")
end

-- So large that products are replaced by vectors of random signs: a diagonal matrix and one wrong
-- element.
function TestCholesky:test_large_matrices_are_tested_by_vectors()
  local n = 2048
  local a, l = pg.array("f32", { n, n }), pg.array("f32", { n, n })
  for i = 0, n - 1 do a[i * n + i], l[i * n + i] = 4, 2 end
  passes({ kind = "cholesky" }, a, { l = l })
  l[1000 * n + 999] = 0.1
  fails({ kind = "cholesky" }, a, { l = l }, "l l^T, times random signs[")
end

TestLu = {}

function TestLu:test_packed_and_separate_with_pivots()
  local n = 24
  local a = f32(random_matrix(n, n, 3))
  local packed, p = lu_factors(a)
  packed = f32(packed)
  proves({ kind = "lu", pivots = "p" }, a, { lu = packed, p = p })
  local l = matrix(n, n, function(i, j)
    return i == j and 1 or i > j and packed:get(i, j) or 0 end)
  local u = matrix(n, n, function(i, j) return i <= j and packed:get(i, j) or 0 end)
  proves({ kind = "lu", l = "l", u = "u", pivots = "p" }, a, { l = f32(l), u = f32(u), p = p })
  fails({ kind = "lu" }, a, { lu = packed }, "l u[")
  p[3] = p[4]
  fails({ kind = "lu", pivots = "p" }, a, { lu = packed, p = p }, "p is no permutation of 0 to 23")
end

TestQr = {}

function TestQr:test_square_and_tall_with_free_signs()
  for _, shape in ipairs { { 16, 16 }, { 30, 12 } } do
    local a = f32(random_matrix(shape[1], shape[2], 7))
    local q = orthogonalized(a)
    local r = product(q:transposed(), a)
    r = matrix(shape[2], shape[2], function(i, j) return i <= j and r:get(i, j) or 0 end)
    proves({ kind = "qr" }, a, { q = f32(q), r = f32(r) })
    passes({ kind = "qr" }, a, { q = f32(-q), r = f32(-r) })
    fails({ kind = "qr" }, a, { q = f32(2 * q), r = f32(r / 2) }, "q^T q[0, 0]: expected 1, got ")
  end
end

TestEigen = {}

function TestEigen:test_values_in_order_with_free_signs()
  local n = 20
  local v = orthogonalized(random_matrix(n, n, 9))
  local w = pg.array("f64", n)
  for i = 0, n - 1 do w[i] = (i - 5) * 1.5 + 0.25 end
  local vw = matrix(n, n, function(i, j) return v:get(i, j) * w[j] end)
  local a = product(vw, v:transposed()):cast("f32")
  proves({ kind = "eigen" }, a, { v = f32(v), w = f32(w) })
  local flipped = matrix(n, n, function(i, j) return v:get(i, j) * (j % 3 == 0 and -1 or 1) end)
  passes({ kind = "eigen" }, a, { v = f32(flipped), w = f32(w) })
  local turned = matrix(n, n, function(i, j) return v:get(i, n - 1 - j) end)
  local down = pg.array("f32", n)
  for i = 0, n - 1 do down[i] = w[n - 1 - i] end
  fails({ kind = "eigen" }, a, { v = f32(turned), w = down }, "w: not ascending")
  passes({ kind = "eigen", order = "descending" }, a, { v = f32(turned), w = down })
  fails({ kind = "eigen", order = "any" }, a, { v = f32(turned), w = f32(w) }, "v diag(w) v^T[")
end

TestSvd = {}

function TestSvd:test_tall_and_wide()
  for _, shape in ipairs { { 24, 10 }, { 10, 24 } } do
    local m, n = shape[1], shape[2]
    local k = math.min(m, n)
    local u, v = orthogonalized(random_matrix(m, k, 2)), orthogonalized(random_matrix(n, k, 3))
    local s = pg.array("f64", k)
    for i = 0, k - 1 do s[i] = 3.0 * (k - i) end
    local us = matrix(m, k, function(i, j) return u:get(i, j) * s[j] end)
    local a = product(us, v:transposed()):cast("f32")
    proves({ kind = "svd" }, a, { u = f32(u), s = f32(s), v = f32(v) })
    passes({ kind = "svd", vt = "vt" }, a, { u = f32(u), s = f32(s), vt = f32(v):transposed() })
    fails({ kind = "svd" }, a, { u = f32(-u), s = f32(-s), v = f32(v) }, "s[0] = ")
  end
end

-- Factors computed in f32, each operation rounded, sums in sequence: no right kernel is refused.
TestSinglePrecision = {}

local function single(x) return (("<f"):unpack(("<f"):pack(x))) end

local function single_rows(m)
  local rows = {}
  for i = 0, m.shape[1] - 1 do
    rows[i] = {}
    for j = 0, m.shape[2] - 1 do rows[i][j] = single(m:get(i, j)) end
  end
  return rows
end

local function from_rows(rows, n, m)
  return matrix(n, m or n, function(i, j) return rows[i][j] or 0 end):cast("f32")
end

-- Little is left of the diagonal when the columns before are taken away.
local function nearly_singular(n)
  local b = random_matrix(n, n, 4)
  local a = product(b, b:transposed())
  for i = 0, n - 1 do a:set(i, i, a:get(i, i) * (1 + 1e-4)) end
  return a:cast("f32")
end

function TestSinglePrecision:test_cholesky()
  for _, n in ipairs { 5, 30, 70 } do
    for _, a in ipairs { spd(n, n), nearly_singular(n) } do
      local m, l = single_rows(a), {}
      for i = 0, n - 1 do l[i] = {} end
      for j = 0, n - 1 do
        for i = j, n - 1 do
          local sum = m[i][j]
          for k = 0, j - 1 do sum = single(sum - single(l[i][k] * l[j][k])) end
          l[i][j] = i == j and single(math.sqrt(sum)) or single(sum / l[j][j])
        end
      end
      passes({ kind = "cholesky" }, a, { l = from_rows(l, n) })
    end
  end
end

function TestSinglePrecision:test_lu_without_pivots()
  local n = 80
  local a = spd(n, 3)
  local m = single_rows(a)
  for k = 0, n - 1 do
    for i = k + 1, n - 1 do
      m[i][k] = single(m[i][k] / m[k][k])
      for j = k + 1, n - 1 do m[i][j] = single(m[i][j] - single(m[i][k] * m[k][j])) end
    end
  end
  passes({ kind = "lu" }, a, { lu = from_rows(m, n) })
end

-- Householder's reflections, on a and on the identity beside it.
function TestSinglePrecision:test_householder()
  local n = 48
  local a = f32(random_matrix(n, n, 12))
  local m = single_rows(a)
  for i = 0, n - 1 do for j = 0, n - 1 do m[i][n + j] = i == j and 1.0 or 0.0 end end
  for k = 0, n - 2 do
    local norm = 0.0
    for i = k, n - 1 do norm = single(norm + single(m[i][k] * m[i][k])) end
    local alpha = m[k][k] > 0 and -single(math.sqrt(norm)) or single(math.sqrt(norm))
    local v, size = {}, 0.0
    for i = k, n - 1 do
      v[i] = i == k and single(m[i][k] - alpha) or m[i][k]
      size = single(size + single(v[i] * v[i]))
    end
    for j = k, 2 * n - 1 do
      local dot = 0.0
      for i = k, n - 1 do dot = single(dot + single(v[i] * m[i][j])) end
      local factor = single(single(2 * dot) / size)
      for i = k, n - 1 do m[i][j] = single(m[i][j] - single(factor * v[i])) end
    end
  end
  local q = matrix(n, n, function(i, j) return m[j][n + i] end)
  local r = matrix(n, n, function(i, j) return i <= j and m[i][j] or 0 end)
  passes({ kind = "qr" }, a, { q = f32(q), r = f32(r) })
end

-- Jacobi's rotations.
function TestSinglePrecision:test_jacobi()
  local n = 24
  local b = random_matrix(n, n, 8)
  local a = f32(b + b:transposed())
  local unit = matrix(n, n, function(i, j) return i == j and 1 or 0 end)
  local m, v = single_rows(a), single_rows(unit)
  local function rotate(x, y, c, s)
    return single(single(c * x) - single(s * y)), single(single(s * x) + single(c * y))
  end
  for _ = 1, 10 do
    for p = 0, n - 2 do
      for q = p + 1, n - 1 do
        if m[p][q] ~= 0 then
          local theta = single((m[q][q] - m[p][p]) / (2 * m[p][q]))
          local t = single((theta < 0 and -1 or 1) / (math.abs(theta) + math.sqrt(theta ^ 2 + 1)))
          local c = single(1 / math.sqrt(t * t + 1))
          local s = single(t * c)
          for i = 0, n - 1 do m[i][p], m[i][q] = rotate(m[i][p], m[i][q], c, s) end
          for j = 0, n - 1 do m[p][j], m[q][j] = rotate(m[p][j], m[q][j], c, s) end
          for i = 0, n - 1 do v[i][p], v[i][q] = rotate(v[i][p], v[i][q], c, s) end
        end
      end
    end
  end
  local order = {}
  for i = 0, n - 1 do order[i + 1] = i end
  table.sort(order, function(x, y) return m[x][x] < m[y][y] end)
  local w = pg.array("f32", n)
  for i = 0, n - 1 do w[i] = m[order[i + 1]][order[i + 1]] end
  local columns = matrix(n, n, function(i, j) return v[i][order[j + 1]] end)
  passes({ kind = "eigen" }, a, { v = f32(columns), w = w })
end

TestMistakes = {}

function TestMistakes:test_of_the_task()
  local a = spd(4, 1)
  local function refuses(options, outputs, words)
    local ok, e = pcall(judge, make_case(options, a, outputs), outputs)
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, words)
  end
  refuses({}, { l = f32(a) }, "which factorization?")
  refuses({ kind = "choleksy" }, { l = f32(a) }, "unknown value 'choleksy'")
  refuses({ kind = "cholesky", l = "m" }, { l = f32(a) }, "'m' is no output or state")
  refuses({ kind = "cholesky" }, { l = f32(a):reshape(16) }, "'l' has 1 extents, expected 2")
  refuses({ kind = "cholesky", a = "b" }, { l = f32(a) }, "'b' is no input")
end

os.exit(lu.LuaUnit.run())
