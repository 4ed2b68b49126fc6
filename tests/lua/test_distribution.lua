-- The validator distribution: right generators pass (as often as its thresholds promise), each way
-- of being no sample fails and is named.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local case = require "perigee.case"
local damage = require "perigee.damage"
local validate = require "perigee.validate"

local N = 20000

local function make_case(options, dtype, n)
  options[1] = "distribution"
  local task = pg.task {
    name = "t/random", params = { n = { default = n or N } }, kernel = "void k(int seed, void* z)",
    inputs = function() return {} end,
    outputs = function(p) return { z = pg.spec(dtype or "f32", p.n) } end,
    args = function() return { seed = 1 } end,
    launch = function() return { grid = 1, block = 1 } end,
    reference = function() return {} end, validate = options,
  }
  return case.make(task, task:resolve { purpose = "default" }, 11)
end

local function judge(one, z) return validate.run(one, { z = z }, damage.POISON) end

-- Draws by Perigee's own generator, of each distribution; made in float64 by formulas.
local function uniform(i, seed, stream) return core.random_f64(seed, stream or 0, i) end
local function normal(i, seed) return core.random_normal(seed, 0, i) end
local function exponential(i, seed) return -math.log(1 - uniform(i, seed)) end

local function draws(dtype, n, f, seed)
  local z = pg.array(dtype, n)
  for i = 0, n - 1 do z[i] = f(i, seed or 1) end
  return z
end

TestRight = {}

function TestRight:test_right_generators_pass()
  for _, dtype in ipairs { "f64", "f32", "f16", "bf16" } do
    for seed = 1, 3 do
      local function passes(options, f)
        local result = judge(make_case(options, dtype), draws(dtype, N, f, seed))
        lu.assertTrue(result.ok, dtype .. ": " .. tostring(result.reason))
      end
      passes({ dist = "normal" }, normal)
      passes({ dist = "normal", mean = 5, stddev = 0.5 }, function(i, s)
        return 5 + 0.5 * normal(i, s) end)
      passes({ dist = "uniform" }, uniform)
      passes({ dist = "uniform", low = -3, high = 5 }, function(i, s)
        return -3 + 8 * uniform(i, s) end)
      passes({ dist = "exponential", rate = 2 }, function(i, s) return exponential(i, s) / 2 end)
      passes({ dist = "lognormal" }, function(i, s) return math.exp(normal(i, s)) end)
    end
  end
  for _, dtype in ipairs { "u8", "u16", "u32", "u64", "i32", "i64" } do
    local z = pg.array(dtype, N):random { seed = 4, dist = "bits" }
    lu.assertTrue(judge(make_case({ dist = "bits" }, dtype), z).ok)
  end
  for _, last in ipairs { 1, 5, 99, 1000003 } do
    local z = pg.array("i32", N):random { seed = 4, first = -3, last = last }
    lu.assertTrue(judge(make_case({ dist = "integer", first = -3, last = last }, "i32"), z).ok)
  end
end

function TestRight:test_few_elements()
  for n = 0, 40 do
    local z = draws("f32", n, normal, 3)
    local result = judge(make_case({ dist = "normal" }, "f32", n), z)
    lu.assertTrue(result.ok, result.reason)
  end
end

-- The statistics of 1500 right samples: their spread is what theory says, so that the thresholds
-- (far outside) are, too. Limits of the test: five standard deviations of the estimates.
function TestRight:test_statistics_are_distributed_as_theory_says()
  local rounds, n = 1500, 2000
  local squares, ks_above, chi_mean, pairs_mean = {}, 0, 0, 0
  local z = pg.array("f64", n)
  for seed = 1, rounds do
    z:random { seed = seed, dist = "normal" }
    local r = core.test_draws(z, { law = "normal" })
    for k = 1, 6 do squares[k] = (squares[k] or 0) + r.moment[k] ^ 2 end
    for k = 1, 12 do squares[6 + k] = (squares[6 + k] or 0) + r.serial[k] ^ 2 end
    ks_above = ks_above + (r.ks > 1.2238 and 1 or 0) -- 10% of samples, in the limit
    chi_mean, pairs_mean = chi_mean + r.chi2, pairs_mean + r.pairs_chi2
  end
  for k = 1, 18 do lu.assertAlmostEquals(squares[k] / rounds, 1, 5 * math.sqrt(2.3 / rounds)) end
  lu.assertAlmostEquals(ks_above / rounds, 0.1, 5 * math.sqrt(0.09 / rounds) + 0.01)
  lu.assertAlmostEquals(chi_mean / rounds, 31, 5 * math.sqrt(62 / rounds))
  lu.assertAlmostEquals(pairs_mean / rounds, 63, 5 * math.sqrt(126 / rounds))
end

TestWrong = {}

local function fails(options, z, words, dtype)
  local result = judge(make_case(options, dtype, z.count), z)
  lu.assertEquals(result.verdict, "wrong_result")
  lu.assertStrContains(result.reason, words)
end

function TestWrong:test_damage()
  -- A sample stays one when it is moved or loses an element that could be another.
  local allowed = { ["shifted by one"] = true, ["last element zero"] = true,
    ["first element wrong"] = true, ["middle element wrong"] = true,
    ["last element wrong"] = true }
  local proof = damage.prove(make_case { dist = "normal" }, { z = draws("f32", N, normal) },
    allowed)
  lu.assertTrue(proof.right.ok, proof.right.reason)
  lu.assertEquals(proof.accepted, {})
  lu.assertTrue(proof.tried >= 7)
  allowed["all bits set"] = nil
  proof = damage.prove(make_case({ dist = "bits" }, "u32"),
    { z = pg.array("u32", N):random { seed = 9, dist = "bits" } }, allowed)
  lu.assertTrue(proof.right.ok, proof.right.reason)
  lu.assertEquals(proof.accepted, {})
  lu.assertTrue(proof.tried >= 4)
end

function TestWrong:test_one_impossible_element()
  local z = draws("f32", N, normal)
  z[77] = 40
  fails({ dist = "normal" }, z, "the highest element is beyond belief")
  z = draws("f32", N, uniform)
  z[77] = 1.01
  fails({ dist = "uniform" }, z, "z[77] = 1.0099999904633 is no number that it can be")
  z = draws("f32", N, exponential)
  z[3] = -0.5
  fails({ dist = "exponential" }, z, "z[3] = -0.5 is no number that it can be")
end

function TestWrong:test_shape()
  fails({ dist = "normal" }, draws("f32", N, function(i, s) return normal(i, s) + 0.1 end),
    "shifted: moment 1 is off by")
  fails({ dist = "normal" }, draws("f32", N, function(i, s) return normal(i, s) * 1.1 end),
    "spread wrongly")
  fails({ dist = "normal" }, draws("f32", N, function(i, s)
    return (uniform(i, s) - 0.5) * math.sqrt(12) end), "moment")
  fails({ dist = "normal" }, draws("f32", N, function(i, s)
    return exponential(i, s) - 1 end), "moment")
  -- A normal tail that is cut off at three standard deviations, the rest as it should be.
  fails({ dist = "normal" }, draws("f32", 1 << 17, function(i, s)
    local x = normal(i, s)
    return math.abs(x) < 3.2 and x or normal(i, s + 1000) * 0.5
  end), "element is too moderate")
end

function TestWrong:test_too_regular()
  fails({ dist = "uniform" }, draws("f32", N, function(i) return (i * 7919 % N + 0.5) / N end),
    "too regular")
  fails({ dist = "uniform" }, draws("f32", N, function(i)
    return i * 0.6180339887498949 % 1 end), "too regular")
  fails({ dist = "uniform" }, draws("f32", N, function(i, s)
    return (i * 7919 % N + uniform(i, s)) / N end), "too regular") -- one in each of N steps
end

function TestWrong:test_dependence()
  fails({ dist = "normal" }, draws("f32", N, function(i, s) return normal(i // 2, s) end),
    "10000 elements equal the one before")
  fails({ dist = "normal" }, draws("f32", N, function(i, s) return normal(i % 256, s) end), "")
  fails({ dist = "normal" }, draws("f32", N, function(i, s)
    return (i % 2 == 0 and 1 or -1) * normal(i // 2, s) end), "neighbours (2i, 2i + 1) depend")
  fails({ dist = "normal" }, draws("f32", N, function(i, s) -- a long period that no lag meets
    return normal(i % 1001, s) end), "are there before, the first at index")
  -- The second half: the first again, its negatives, and these from its end. N // 2 is no multiple
  -- of the 13 elements that are compared.
  local half = N // 2 + (N // 2 % 13 == 0 and 1 or 0)
  for _, copy in ipairs {
    function(i, s) return normal(i % half, s) end,
    function(i, s) return i < half and normal(i, s) or -normal(i - half, s) end,
    function(i, s) return i < half and normal(i, s) or -normal(2 * half - i, s) end,
  } do
    fails({ dist = "normal" }, draws("f32", N, copy), "are there before, the first at index")
  end
  fails({ dist = "uniform" }, draws("f32", N, function(i, s)
    return (uniform(i, s) + uniform(i // 128, s, 1)) % 1 * 0.2 + uniform(i // 64, s, 2) * 0.8 end),
    "")
  -- Every third element again, two places behind.
  fails({ dist = "uniform" }, draws("f32", N, function(i, s)
    return uniform(i % 3 == 2 and i - 2 or i, s) end), "elements 2 apart depend on each other")
end

-- Of large outputs, blocks are looked at: they are as random as the whole, and show what it shows.
function TestWrong:test_samples_of_a_whole()
  local z = pg.array("f64", 1 << 17)
  local squares, pairs, rounds = 0, 0, 200
  for seed = 1, rounds do
    z:random { seed = seed, dist = "normal" }
    local r = core.test_draws(z, { law = "normal", samples = 1000 + seed })
    lu.assertEquals(r.count, 1000 + seed)
    squares, pairs = squares + r.moment[2] ^ 2, pairs + r.pairs_chi2
  end
  lu.assertAlmostEquals(squares / rounds, 1, 5 * math.sqrt(2 / rounds))
  lu.assertAlmostEquals(pairs / rounds, 63, 5 * math.sqrt(126 / rounds))
  for i = 1, z.count - 1, 2 do z[i] = -z[i - 1] end
  lu.assertTrue(core.test_draws(z, { law = "normal", samples = 2000 }).pairs_chi2 > 1000)
  z:random { seed = 1, dist = "normal" }
  z[77777] = 50 -- in no sample, but the extremes are those of all
  lu.assertEquals(core.test_draws(z, { law = "normal", samples = 100 }).highest, 0)
  z[77777] = 0 / 0
  lu.assertEquals(core.test_draws(z, { law = "normal", samples = 100 }).outside_at, 77777)
end

-- Normal numbers where evenly spaced blocks lie, and small ones elsewhere: which are looked at is
-- not to be known.
function TestWrong:test_samples_that_somebody_expects()
  local n, block, blocks = 1 << 20, 4096, 64
  local z = pg.array("f32", n):random { seed = 5, dist = "normal", stddev = 0.01 }
  for b = 0, blocks - 1 do
    z:slice(b * (n - block) // (blocks - 1) // 64 * 64, block):random { seed = 6, stream = b,
      dist = "normal" }
  end
  local seen = {}
  for seed = 1, 3 do
    seen[seed] = core.test_draws(z, { law = "normal", samples = block * blocks, seed = seed })
    lu.assertEquals(seen[seed].count, block * blocks)
    lu.assertTrue(seen[seed].moment[2] < -100, seen[seed].moment[2])
  end
  lu.assertTrue(seen[1].ks ~= seen[2].ks and seen[2].ks ~= seen[3].ks)
end

function TestWrong:test_bits()
  local z = pg.array("u32", N):random { seed = 1, dist = "bits" }
  for i = 0, N - 1 do z[i] = z[i] & ~(1 << 5) end
  fails({ dist = "bits" }, z, "bit 5 is zero too often", "u32")
  -- The lowest bit of a linear congruential generator of modulus 2^32 alternates.
  local x = 1
  for i = 0, N - 1 do
    x = (x * 1664525 + 1013904223) & 0xffffffff
    z[i] = x
  end
  fails({ dist = "bits" }, z, "bit 0 changes too often", "u32")
  fails({ dist = "integer", first = 0, last = 9 }, pg.array("i32", N):random { seed = 1, first = 0,
    last = 10 }, "is no number that it can be", "i32")
  fails({ dist = "integer", first = 0, last = 10 }, pg.array("i32", N):random { seed = 1,
    first = 0, last = 9 }, "moment 1", "i32")
end

function TestWrong:test_a_narrow_format_hides_no_mistake()
  for _, dtype in ipairs { "f16", "bf16" } do
    fails({ dist = "normal" }, draws(dtype, N, function(i, s) return normal(i, s) + 0.4 end),
      "shifted", dtype)
    fails({ dist = "uniform" }, draws(dtype, N, function() return 0.5 end), "", dtype)
  end
end

function TestWrong:test_mistakes_of_the_task()
  local function refuses(options, dtype, words)
    local ok, e = pcall(judge, make_case(options, dtype), pg.array(dtype, N))
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, words)
  end
  refuses({}, "f32", "which distribution?")
  refuses({ dist = "nromal" }, "f32", "unknown value 'nromal'")
  refuses({ dist = "integer" }, "i32", "which distribution?")
  refuses({ dist = "integer", last = 9 }, "f32", "f32 elements cannot show")
  refuses({ dist = "normal" }, "i32", "i32 elements cannot show")
  refuses({ dist = "normal" }, "f8e4m3", "f8e4m3 elements cannot show")
  refuses({ dist = "normal", stddev = 0 }, "f32", "parameters 0 and 0 of the distribution")
end

os.exit(lu.LuaUnit.run())
