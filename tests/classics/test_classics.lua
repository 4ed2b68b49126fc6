-- Twelve classic kernels (*.cu here) against references that are computed on the host in another
-- way: on sim:check under several schedules, where correct programs must give no finding but the
-- weak reads named here; with PERIGEE_TEST_DEVICE=cuda:0 on a GPU, larger.
local lu = require "luaunit"
local core = require "perigee.core"
local files = require "perigee.files"

local bench = dofile(files.join(core.home, "tests/classics/bench.lua"))
local size, blocks, zeros, integers, reals = bench.size, bench.blocks, bench.zeros, bench.integers,
  bench.reals
local equal, near = bench.equal, bench.near

-- The kernels of one file on every device. The findings must be exactly `weak`.
local function on_each(file, weak, body)
  bench.on_each("tests/classics/" .. file .. ".ptx", weak, body)
end

local EPS = 2 ^ -24 -- half a unit of the last place of binary32, relative

local TestClassics = {}

-- ---- reduction ----

function TestClassics:test_reduction()
  local n, grid = size(20001, 1 << 20), size(40, 128)
  local x, sum, large = reals(n, 1), 0.0, 0.0
  for i = 0, n - 1 do sum, large = sum + x[i], large + math.abs(x[i]) end
  -- No element goes through more additions than there are rounds, levels and blocks.
  local depth = blocks(n, grid * 128) + blocks(grid, 32) + 20
  local function judge(got, what)
    near(got:download(), { sum }, function() return depth * EPS * large end, what)
  end
  on_each("reduction", {}, function(b)
    local dx, partial = b:put("x", x), b:put("partial", zeros("f32", grid))
    local out = b:put("sum", zeros("f32", 1))
    b:launch("reduce_last", { grid = grid, block = 128,
      args = { dx, partial, b:put("ticket", zeros("u32", 1)), out, n } })
    judge(out, "reduce_last")
    out:fill(0)
    b:launch("reduce_grid", { grid = grid, block = 128, cooperative = true,
      args = { dx, partial, out, n } })
    judge(out, "reduce_grid")
  end)
end

-- ---- scan ----

function TestClassics:test_scan()
  local n = size(20400, (1 << 21) + 77)
  local tiles = blocks(n, 512)
  local x, want, sum = integers("i32", n, 2, -50, 60), {}, 0
  for i = 0, n - 1 do
    sum = sum + x[i]
    want[i + 1] = sum
  end
  on_each("scan", {}, function(b)
    local dx, dy = b:put("x", x), b:put("y", zeros("i32", n))
    local function words(name, count) return b:put(name, zeros("i32", count)) end
    b:launch("scan_lookback", { grid = tiles, block = 128, args = { dx, dy, n, words("next", 1),
      words("flag", tiles), words("aggregate", tiles), words("prefix", tiles) } })
    equal(dy:download(), want, "scan_lookback")
    dy:fill(0)
    local states = b.dev:alloc((tiles + 32) * 8, "states")
    b:launch("scan_cub_init", { grid = blocks(tiles, 128), block = 128, args = { states, tiles } })
    b:launch("scan_cub", { grid = tiles, block = 128, args = { dx, dy, n, states } })
    equal(dy:download(), want, "scan_cub")
  end)
end

-- ---- histogram ----

function TestClassics:test_histogram()
  local n = size(16384, 1 << 20)
  local x, want = core.array("u8", n), {}
  local u = reals(n, 3)
  for b = 1, 256 do want[b] = 0 end
  for i = 0, n - 1 do -- small numbers are more frequent; the last are not there at all
    x[i] = math.floor(u[i] * u[i] * 240)
    want[x[i] + 1] = want[x[i] + 1] + 1
  end
  on_each("histogram", {}, function(b)
    local dx, bins = b:put("x", x), b:put("bins", zeros("u32", 256))
    b:launch("histogram_atomic", { grid = 5, block = 96, args = { dx, bins, n } })
    equal(bins:download(), want, "histogram_atomic")
    bins:fill(0)
    b:launch("histogram_sort", { grid = n // 512, block = 128, args = { dx, bins } })
    equal(bins:download(), want, "histogram_sort")
  end)
end

-- ---- sorts ----

-- Indices in the order of a stable sort of keys.
local function stable_order(keys)
  local order = {}
  for i = 1, keys.count do order[i] = i - 1 end
  table.sort(order, function(a, b)
    if keys[a] ~= keys[b] then return keys[a] < keys[b] end
    return a < b
  end)
  return order
end

function TestClassics:test_radix_sort()
  local n = size(3000, 1 << 18)
  local grid, keys, values = blocks(n, 512), integers("u32", n, 4, 0, (1 << 32) - 1), {}
  for i = 0, n - 1, 3 do keys[i] = keys[i] & 0xff0000ff end -- equal digits, equal keys
  for i = 5, n - 1, 7 do keys[i] = keys[5] end
  for i = 0, n - 1 do values[i + 1] = i end
  local order, sorted = stable_order(keys), {}
  for i, at in ipairs(order) do sorted[i] = keys[at] end
  on_each("radix_sort", {}, function(b)
    local k = { b:put("keys", keys), b:put("keys 2", zeros("u32", n)) }
    local v = { b:put("values", core.from_list("u32", values)), b:put("values 2", zeros("u32", n)) }
    local counts = b:put("counts", zeros("u32", grid * 256))
    for shift = 0, 24, 8 do
      b:launch("radix_count", { grid = grid, block = 128, args = { k[1], counts, n, shift } })
      b:launch("radix_scan", { grid = 1, block = 128, args = { counts, grid * 256 } })
      b:launch("radix_scatter", { grid = grid, block = 128,
        args = { k[1], v[1], k[2], v[2], counts, n, shift } })
      k[1], k[2], v[1], v[2] = k[2], k[1], v[2], v[1]
    end
    equal(k[1]:download(), sorted, "keys")
    equal(v[1]:download(), order, "values")
  end)
end

function TestClassics:test_bitonic_sort()
  local n, chunk = size(4096, 1 << 17), 512
  local x = reals(n, 5)
  x[7], x[8], x[9] = x[100], -math.huge, math.huge
  local want = x:totable()
  table.sort(want)
  on_each("bitonic_sort", {}, function(b)
    local dx = b:put("x", x)
    b:launch("bitonic_chunks", { grid = n // chunk, block = chunk // 2, args = { dx } })
    local run = 2 * chunk
    while run <= n do
      local stride = run // 2
      while stride >= chunk do
        b:launch("bitonic_step", { grid = n // 256, block = 128, args = { dx, run, stride } })
        stride = stride // 2
      end
      b:launch("bitonic_merge", { grid = n // chunk, block = chunk // 2, args = { dx, run } })
      run = 2 * run
    end
    equal(dx:download(), want, "x")
  end)
end

-- ---- planes ----

function TestClassics:test_transpose()
  local rows, columns = size(130, 1000), size(75, 777)
  local x, want = reals(rows * columns, 6):cast "f64", {}
  for i = 0, rows * columns - 1 do
    want[i % columns * rows + i // columns + 1] = x[i]
  end
  on_each("transpose", {}, function(b)
    local dy = b:put("y", zeros("f64", rows * columns))
    b:launch("transpose", { grid = { blocks(columns, 32), blocks(rows, 32) }, block = { 32, 8 },
      args = { b:put("x", x), dy, rows, columns } })
    equal(dy:download(), want, "y")
  end)
end

local function heat_step(from, width, height)
  local to = {}
  for j = 0, height - 1 do
    for i = 0, width - 1 do
      local at = j * width + i + 1
      local border = i == 0 or j == 0 or i == width - 1 or j == height - 1
      to[at] = border and from[at] or 0.5 * from[at] + 0.125 * (from[at - 1] + from[at + 1]
        + from[at - width] + from[at + width])
    end
  end
  return to
end

function TestClassics:test_stencil()
  local width, height, steps = size(70, 300), size(45, 120), 4
  local x = reals(width * height, 8)
  local want = x:totable()
  for _ = 1, steps do want = heat_step(want, width, height) end
  on_each("stencil", {}, function(b)
    local a, other = b:put("a", x), b:put("b", zeros("f32", width * height))
    b:launch("stencil", { grid = { blocks(width, 16), blocks(height, 8) }, block = { 16, 8 },
      cooperative = true, args = { a, other, width, height, steps } })
    -- values stay within 1; a step makes at most six roundings
    near(a:download(), want, function() return 6 * steps * EPS end, "plane")
  end)
end

-- ---- irregular ----

-- Rows of 0 to `most` elements.
local function random_rows(rows, most, columns, stream)
  local start = zeros("i32", rows + 1)
  local length = integers("i32", rows, stream, 0, most)
  for r = 0, rows - 1 do start[r + 1] = start[r] + (r % 5 == 0 and 0 or length[r]) end
  return start, integers("i32", start[rows], stream + 1, 0, columns - 1)
end

function TestClassics:test_spmv()
  local rows, columns = size(300, 5000), size(200, 4000)
  local start, column = random_rows(rows, 80, columns, 10)
  local value, x, want, large = reals(column.count, 12), reals(columns, 13), {}, {}
  for r = 0, rows - 1 do
    local sum, all = 0.0, 0.0
    for k = start[r], start[r + 1] - 1 do
      local term = value[k] * x[column[k]]
      sum, all = sum + term, all + math.abs(term)
    end
    want[r + 1], large[r + 1] = sum, all
  end
  local function bound(i) return 20 * EPS * large[i] end -- ten terms a lane, then five levels
  on_each("spmv", {}, function(b)
    local y = b:put("y", zeros("f32", rows))
    local args = { b:put("start", start), b:put("column", column), b:put("value", value),
      b:put("x", x), y, rows }
    b:launch("spmv_warp", { grid = blocks(rows, 4), block = 128, args = args })
    near(y:download(), want, bound, "spmv_warp")
    y:fill(0)
    b:launch("spmv_tile", { grid = blocks(rows, 16), block = 128, args = args })
    near(y:download(), want, bound, "spmv_tile")
  end)
end

-- By a queue, as in the textbook. -> level of each vertex, -1 unreached
local function levels_of(first, edges, n, source)
  local level, queue = {}, { source }
  for v = 1, n do level[v] = -1 end
  level[source + 1] = 0
  for _, v in ipairs(queue) do
    for e = first[v], first[v + 1] - 1 do
      local to = edges[e]
      if level[to + 1] < 0 then
        level[to + 1] = level[v + 1] + 1
        queue[#queue + 1] = to
      end
    end
  end
  return level
end

function TestClassics:test_breadth_first_search()
  local n, source = size(3000, 200000), 1
  local first, edges = random_rows(n, 7, n, 20)
  while first[source + 1] - first[source] < 7 do source = source + 1 end
  local want = levels_of(first, edges, n, source)
  lu.assertTrue(math.max(table.unpack(want, 1, 1000)) >= 5) -- a search that goes somewhere
  on_each("bfs", { "weak_read of level" }, function(b)
    local level = core.array("i32", n):fill(-1)
    level[source] = 0
    local dl = b:put("level", level)
    local now, later = b:put("queue 1", zeros("i32", n)), b:put("queue 2", zeros("i32", n))
    local tail, graph = b:put("tail", zeros("i32", 1)), { b:put("first", first),
      b:put("edges", edges) }
    local queued, depth = core.from_list("i32", { source }), 1
    b:launch("bfs_level", { grid = 1, block = 128, args = { graph[1], graph[2], dl,
      b:put("source", queued), 1, now, tail, depth } })
    local count = tail:download()[0]
    while count > 0 do
      depth = depth + 1
      tail:fill(0)
      b:launch("bfs_level", { grid = blocks(count, 128), block = 128,
        args = { graph[1], graph[2], dl, now, count, later, tail, depth } })
      count = tail:download()[0]
      now, later = later, now
    end
    equal(dl:download(), want, "level")
  end)
end

function TestClassics:test_hash_table()
  local n, distinct, slots = size(6000, 1 << 18), size(2800, 1 << 17), size(4096, 1 << 18)
  local pool = core.array("u64", 2 * distinct):random { seed = 7, stream = 30, dist = "bits" }
  local which, keys = integers("i32", n, 31, 0, distinct - 1), core.array("u64", n)
  local count, want = {}, {}
  for i = 0, n - 1 do
    keys[i] = pool[which[i]]
    count[keys[i]] = (count[keys[i]] or 0) + 1
  end
  for i = 0, 2 * distinct - 1 do want[i + 1] = count[pool[i]] or 0 end -- half never inserted
  on_each("hash_table", { "weak_read of slots" }, function(b)
    local table_ = b.dev:alloc(slots * 8, "slots"):fill(255)
    local counts = b:put("counts", zeros("u32", slots))
    local found = b:put("found", zeros("u32", 2 * distinct))
    b:launch("hash_insert", { grid = blocks(n, 128), block = 128,
      args = { b:put("keys", keys), n, table_, counts, slots - 1 } })
    b:launch("hash_find", { grid = blocks(2 * distinct, 128), block = 128,
      args = { b:put("queries", pool), found, 2 * distinct, table_, counts, slots - 1 } })
    equal(found:download(), want, "found")
  end)
end

-- ---- n-body ----

-- One step in binary64; body and speed are lists of {x, y, z, mass}.
local function move(body, speed, dt)
  local moved = {}
  for i, me in ipairs(body) do
    local a = { 0.0, 0.0, 0.0 }
    for _, other in ipairs(body) do
      local d = { other[1] - me[1], other[2] - me[2], other[3] - me[3] }
      local square = d[1] * d[1] + d[2] * d[2] + d[3] * d[3] + 0.01
      for k = 1, 3 do a[k] = a[k] + other[4] * d[k] / (square * math.sqrt(square)) end
    end
    moved[i] = { 0, 0, 0, me[4] }
    for k = 1, 3 do
      speed[i][k] = speed[i][k] + a[k] * dt
      moved[i][k] = me[k] + speed[i][k] * dt
    end
  end
  return moved
end

function TestClassics:test_nbody()
  local n, steps, dt = size(128, 512), 2, 1 / 1024
  local x, body, speed, want = reals(4 * n, 40), {}, {}, {}
  for i = 0, n - 1 do
    x[4 * i + 3] = math.abs(x[4 * i + 3])
    body[i + 1] = { x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3] }
    speed[i + 1] = { 0.0, 0.0, 0.0 }
  end
  for _ = 1, steps do body = move(body, speed, dt) end
  for i = 1, n do table.move(body[i], 1, 4, #want + 1, want) end
  on_each("nbody", {}, function(b)
    local now, later = b:put("body", x), b:put("moved", zeros("f32", 4 * n))
    local v = b:put("speed", zeros("f32", 3 * n))
    for _ = 1, steps do
      b:launch("nbody_step", { grid = n // 64, block = 64, args = { now, later, v, n, dt } })
      now, later = later, now
    end
    -- forces are below 5e4 n: their errors, times dt squared, stay below those of the positions
    near(now:download(), want, function() return 4e-6 end, "body")
  end)
end

-- ---- matrix product on tensor cores ----

-- Values that the type holds exactly; binary32 of a binary16 is a tf32.
local function matrix(kind, n, stream)
  if kind == "s8" then return integers("i8", n, stream, -128, 127) end
  if kind == "tf32" then return reals(n, stream):cast("f16"):cast "f32" end
  return reals(n, stream):cast(kind == "bf16" and "bf16" or "f16")
end

-- Sums of products in binary64 and of their absolute values, b transposed.
local function product(a, b, m, n, k)
  local want, large = {}, {}
  a, b = a:cast("f64"):totable(), b:cast("f64"):totable()
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local sum, all = 0.0, 0.0
      for l = 1, k do
        local term = a[i * k + l] * b[j * k + l]
        sum, all = sum + term, all + math.abs(term)
      end
      want[#want + 1], large[#large + 1] = sum, all
    end
  end
  return want, large
end

local function check_product(b, kernel, data)
  local m, n, k = data.m, data.n, data.k
  local c = b:put("c", zeros(data.kind == "s8" and "i32" or "f32", m * n))
  b:launch(kernel, { grid = { blocks(n, 64), blocks(m, 64) }, block = 128,
    args = { b:put("a", data.a), b:put("b", data.b), c, m, n, data.a.nbytes // m } })
  near(c:download(), data.want, function(i)
    return data.kind == "s8" and 0 or 2 * k * EPS * data.large[i]
  end, kernel)
end

local function operands(kind, m, n, k)
  local data = { kind = kind, m = m, n = n, k = k }
  data.a, data.b = matrix(kind, m * k, 50), matrix(kind, n * k, 51)
  data.want, data.large = product(data.a, data.b, m, n, k)
  return data
end

local function test_matmul(kind, k)
  local data = operands(kind, size(70, 200), size(72, 136), size(k, 4 * k))
  on_each("matmul", {}, function(b)
    check_product(b, "matmul_" .. kind, data)
    if kind ~= "f16" then return end
    local rows = core.array("f16", data.b.count) -- b as it is, k rows
    for j = 0, data.n - 1 do
      for l = 0, data.k - 1 do rows[l * data.n + j] = data.b[j * data.k + l] end
    end
    local other = setmetatable({ b = rows }, { __index = data })
    check_product(b, "matmul_f16_rows", other)
  end)
end

function TestClassics:test_matmul_f16() test_matmul("f16", 96) end
function TestClassics:test_matmul_bf16() test_matmul("bf16", 96) end
function TestClassics:test_matmul_tf32() test_matmul("tf32", 48) end
function TestClassics:test_matmul_s8() test_matmul("s8", 192) end

os.exit(lu.LuaUnit.new():runSuiteByInstances { { "TestClassics", TestClassics } })
