-- The timing protocol. The simulator stands in for a device with a clock: what is tested is the
-- judge's own part, which samples it takes, when it stops and what it catches, not the times.
local lu = require "luaunit"
local core = require "perigee.core"
local pg = require "perigee"
local impl = require "perigee.impl"
local judge = require "perigee.judge"
local timing = require "perigee.timing"
local versions = require "perigee.versions"

local path

local function task(fields)
  local t = {
    name = "t/add", params = { n = { default = 256 } },
      kernel = "void add(const int* x, int* y, int n)",
    inputs = function(p, rng) return { x = rng:array("i32", p.n, { dist = "bits" }) } end,
    outputs = function(p) return { y = pg.spec("i32", p.n) } end,
    launch = function(p) return { grid = p.n // 128, block = 128 } end,
    reference = function(p, io)
      local y = io.x:copy()
      for i = 0, p.n - 1 do y[i] = y[i] ~ 1 end
      return { y = y }
    end,
    validate = "exact", work = function(p) return { bytes = 8 * p.n } end,
  }
  for name, value in pairs(fields or {}) do t[name] = value end
  return pg.task(t)
end

local function candidate(before, statement)
  assert(core.write_file(path, before .. [[
    extern "C" __global__ void add(const int* x, int* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) ]] .. statement .. "\n}\n"))
  return impl.candidate(path)
end

local now = core.now

-- Whatever a runner has timed by the computer's clock took 10 us: that computer may be busy.
local ask = timing.ask
function timing.ask(arm, asked)
  local reply, failure = ask(arm, asked)
  for i = 1, reply and arm.runner.worker and #reply.us or 0 do reply.us[i] = 10 + i % 3 / 10 end
  return reply, failure
end

local function session_with_clock(options)
  options.device = "sim"
  local session = judge.session(options)
  session:device().gpu_clock = true
  return session
end

local function check(before, statement, fields, dump)
  local session <close> = session_with_clock { budget = 0.3, dump = dump }
  return session:check(task(fields), candidate(before, statement), {})
end

TestTiming = {}

function TestTiming:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  path = os.tmpname() .. ".cu"
end

function TestTiming:tearDown()
  core.now = now
  if path then
    os.remove(path)
    os.remove((path:gsub("%.cu$", "")))
  end
end

function TestTiming:test_a_right_candidate_gets_a_median_with_its_interval()
  local rec = check("", "y[i] = x[i] ^ 1;")
  lu.assertEquals(rec.verdict, "passed", rec.reason)
  lu.assertEquals(rec.time.method, "cold")
  lu.assertTrue(rec.time.samples >= 20)
  lu.assertTrue(rec.time.ci95_us[1] <= rec.time.median_us
    and rec.time.median_us <= rec.time.ci95_us[2])
  lu.assertTrue(rec.time.min_us <= rec.time.p20_us and rec.time.p20_us <= rec.time.p80_us)
  lu.assertAlmostEquals(rec.efficiency.bandwidth, rec.work.bytes / rec.time.median_us * 1e-3, 1e-9)
end

function TestTiming:test_methods()
  for _, method in ipairs { "cold", "hot", "batch" } do
    local rec = check("", "y[i] = x[i] ^ 1;", { time = { method = method, batch = 4 } })
    lu.assertEquals(rec.verdict, "passed", rec.reason)
    lu.assertEquals(rec.time.method, method)
    lu.assertEquals(rec.time.batch, method == "batch" and 4 or nil)
  end
end

-- A launch in sixty-four leaves out a warp: too few for the checks before, but every sample
-- is looked at, and what the first of these left is what is judged and dumped.
function TestTiming:test_a_sample_that_did_nothing_is_found_among_many()
  local folder = os.tmpname()
  os.remove(folder)
  local rec
  for _ = 1, 100 do
    rec = check("", [[{
      unsigned long long t;
      asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
      if (i >= 32 || (t >> 10) % 64 != 0) y[i] = x[i] ^ 1;
    }]], {}, folder)
    if rec.reason and rec.reason:find "a timed sample" then break end
  end
  lu.assertEquals(rec.verdict, "unwritten_output")
  lu.assertStrContains(rec.reason, "a timed sample was wrong though the checked run was right")
  lu.assertNil(rec.time)
  local y, want = pg.npy.load(rec.dumped .. "/output_y.npy"),
    pg.npy.load(rec.dumped .. "/expected_y.npy")
  lu.assertEquals(pg.compare(want, y).bad, 32)
  os.execute("rm -rf " .. folder)
end

-- Right in other bits at every launch: samples are chosen and judged by the validators.
function TestTiming:test_results_whose_bits_differ_are_judged_by_chosen_samples()
  local rec = check("", [[{
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    y[i] = (int)t;
  }]], { validate = function(ctx) return ctx:pass("y", tostring(ctx:array("y").count)) end })
  lu.assertEquals(rec.verdict, "passed", rec.reason)
  lu.assertEquals(rec.time.outputs, "chosen")
  lu.assertTrue(rec.time.outputs_checked >= 20)
  rec = check("", "y[i] = x[i] ^ 1;")
  lu.assertEquals(rec.time.outputs, "all")
  lu.assertTrue(rec.time.outputs_checked >= rec.time.samples)
end

-- A task's own arms: one version of the inputs where that is asked for, and one sample looked at in
-- each timing after the first.
function TestTiming:test_own_arms_may_have_one_version_and_one_look_a_pass()
  candidate("", [[{
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    y[i] = (int)t;
  }]])
  local own = task { impls = { { name = "cuda", "cuda", path } },
    validate = function(ctx) return ctx:pass("y", tostring(ctx:array("y").count)) end }
  local session <close> = session_with_clock { budget = 0.1, inputs = 1 }
  local seen
  local function looks(passes)
    local checked = {}
    seen = 0
    session:run(own, { passes = passes, wants = function(_, pass)
      seen = seen + 1
      return pass < 4
    end }, function(rec)
      lu.assertEquals(rec.verdict, "passed", rec.reason)
      lu.assertEquals(rec.time.inputs, 1)
      lu.assertEquals(rec.time.unseen, "one version was asked for")
      checked[#checked + 1] = rec.time.outputs_checked
    end)
    return checked
  end
  lu.assertEquals(looks(1), { 4 })
  lu.assertEquals(looks(2), { 2, 1 })
  lu.assertEquals(looks(5), { 1, 1, 1 })
  lu.assertEquals(seen, 4) -- once for the cell, once for each pass after the first
end

-- While a launch runs, no other output holds the answer to its inputs.
function TestTiming:test_each_version_has_one_set()
  local rec = check("", "y[i] = x[i] ^ 1;")
  lu.assertEquals(rec.verdict, "passed", rec.reason)
  lu.assertEquals(rec.time.inputs, 3)
  lu.assertTrue(rec.time.unseen_us > 0)
  lu.assertNil(rec.time.unseen)
  local session <close> = session_with_clock { seed = 1 }
  local one, arms = task {}, {}
  local timed = session:complete(session:timed_case(one))
  -- and there are one for inputs that are held back and one for a sample that is kept
  lu.assertEquals(session:sets_for(timed, arms), 5)
end

function TestTiming:test_each_version_comes_once_in_a_sample()
  local arm = { case = { task = task { time = { method = "batch" } }, p = { n = 1 },
    versions = { 1, 2, 3 } } }
  timing.choose(arm)
  lu.assertEquals({ arm.method, arm.batch }, { "batch", 3 })
  local sets = timing.choose_sets(arm, 40, "batch")
  lu.assertEquals(#sets, 120)
  for i = 1, 120, 3 do
    lu.assertEquals(({ 1, 2, 4 })[sets[i] + 1] + ({ 1, 2, 4 })[sets[i + 1] + 1]
      + ({ 1, 2, 4 })[sets[i + 2] + 1], 7)
  end
  -- of three and one that is held back: sets 3 and 7 are not for samples
  arm.case.held_back = { {} }
  arm.case.task.time = { method = "batch", batch = 8, distinct = true }
  timing.choose(arm)
  lu.assertEquals({ arm.method, arm.batch }, { "batch", 8 })
  sets = timing.choose_sets(arm, 1, "batch")
  table.sort(sets)
  lu.assertEquals(sets, { 0, 1, 2, 4, 5, 6, 8, 9 })
  lu.assertEquals(versions.set_count(arm.case, 8), 11)
  for i, set in ipairs(sets) do
    lu.assertEquals(versions.of_set(arm.case, set), (i - 1) % 3 + 1)
  end
  arm.case.held_back, arm.case.task.time.distinct = nil, nil
  arm.case.versions = nil -- the one that there is may not come twice
  timing.choose(arm)
  lu.assertEquals({ arm.method, arm.batch }, { "hot", 1 })
end

function TestTiming:test_a_wrong_arm_loses_its_time_and_the_others_keep_theirs()
  candidate("__device__ int launches;",
    "{ y[i] = x[i] ^ (atomicAdd(&launches, 1) < n ? 1 : 2); }")
  local right = path:gsub("%.cu$", "_right.cu")
  assert(core.write_file(right, 'extern "C" __global__ void add(const int* x, int* y, int n) {\n'
    .. "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i] ^ 1;\n}\n"))
  local one = task { impls = {
    { name = "right", "cuda", right }, { name = "cheat", "cuda", path },
      { name = "again", "cuda", right },
  } }
  local session <close> = session_with_clock { budget = 0.2 }
  local records = {}
  session:run(one, {}, function(rec) records[rec.impl] = rec end)
  os.remove(right)
  lu.assertEquals(records.right.verdict, "passed", records.right.reason)
  lu.assertEquals(records.cheat.verdict, "wrong_result")
  lu.assertNil(records.cheat.time)
  lu.assertNil(records.cheat.speedup)
  lu.assertNotNil(records.right.time)
  lu.assertNil(records.right.speedup)
  lu.assertTrue(records.again.speedup.right > 0)
  lu.assertTrue(records.again.speedup_ci95[1] <= records.again.speedup_ci95[2])
end

-- Works in the first twelve launches after loading only: more than are checked. In timing every
-- launch finds the variable as the module has it, and so does its work.
function TestTiming:test_variables_are_put_back_before_every_sample()
  for _, how in ipairs { "", "static " } do
    local rec = check(how .. "__device__ int launches;",
      "if (atomicAdd(&launches, 1) < 12 * n) y[i] = x[i] ^ 1;")
    lu.assertEquals(rec.verdict, "passed", rec.reason)
    lu.assertEquals(rec.time.variables_reset, 1)
  end
end

function TestTiming:test_ptx_that_may_keep_something()
  local any = require("perigee.globals").any
  for _, ptx in ipairs { ".global .u32 a;", "}.global .u32 a;", "\n.visible .global\t.u32 a;",
    "/* */.global/* */.u32 a;" } do
    lu.assertTrue(any(ptx .. " st.global.u32 [a], %r1;"), ptx)
  end
  lu.assertFalse(any "ld.global.u32 %r1, [%rd1]; cvta.to.global.u64 %rd1, %rd1; .globals")
end

-- Nothing is timed whose variables cannot be put back.
function TestTiming:test_variables_that_cannot_be_put_back()
  local rec = check("__device__ int v1, v2;", "{ y[i] = x[i] ^ 1; v1 = v2 = 1; }")
  lu.assertEquals(rec.verdict, "passed", rec.reason)
  lu.assertEquals(rec.time.variables_reset, 2)
  local globals, many = require "perigee.globals", {}
  for i = 1, 4097 do many[i] = "v" .. i end
  lu.assertEquals(globals.unkept(many, {}).verdict, "unsupported")
  lu.assertStrContains(globals.unkept(many, {}).reason, "4097 variables")
  lu.assertStrContains(globals.unkept({ "a" }, { "a" }).reason, "timed sample: a")
  lu.assertNil(globals.unkept({ "a" }, {}))
end

-- 12 bytes for each element, a third of them written, of which L2 may keep some.
function TestTiming:test_a_time_that_memory_does_not_allow()
  local plausible, case = require "perigee.plausible", require "perigee.case"
  local saxpy = pg.catalogue.find("vector/saxpy")[1]
  local one = case.make(saxpy, saxpy:resolve { set = { n = 1 << 16 } }, 1)
  local l2, known = 100000, { copy = 4000, read = 3900 }
  local bytes, writes = plausible.least_bytes(one, l2)
  lu.assertEquals({ bytes, writes }, { 12 * 65536 - l2, false })
  local function judged(us, method, how, speed)
    return plausible.judge(one, { method = method or "cold", median_us = us }, how or known,
      { l2_bytes = l2, memory_gbs = speed })
  end
  local edge = bytes / (4000 * 1.05) * 1e-3
  lu.assertNil(judged(edge * 1.001))
  lu.assertEquals(judged(edge * 0.999).verdict, "cheat")
  lu.assertStrContains(judged(edge * 0.5).reason, "impossible: 686 kB from memory in")
  lu.assertEquals({ judged(edge * 0.5, "hot") }, { nil, "not judged: caches are warm" })
  -- nobody measured: the clock and the width of the memory, if they are known
  lu.assertStrContains(select(2, judged(edge * 0.5, "cold", {})), "not judged: no ceilings")
  lu.assertStrContains(select(2, judged(edge * 0.5, "cold", {}, 8401)), "8400 of 8401 GB/s (clock")
  lu.assertEquals(judged(edge * 0.5, "cold", {}, 8399).verdict, "cheat")
end

function TestTiming:test_hidden_variables_get_names()
  local globals = require "perigee.globals"
  local ptx = "\n.global .align 4 .u32 a;\n.global .align 4 .b8 bb[16];\n"
    .. ".visible .global .u32 c = 3;\n.global .u32 d = 4;\n.global .align 1 .b8 $str[2] = {1, 0};"
  lu.assertEquals(globals.exposed(ptx, { "a", "bb", "c", "d" }),
    (ptx:gsub("\n%.global (.align 4 )", "\n.visible .global %1")
      :gsub("\n%.global .u32 d", "\n.visible .global .u32 d")))
  lu.assertEquals(globals.exposed(ptx, {}), ptx)
end

-- Slices at a lower clock than the usual do not count.
function TestTiming:test_slices_at_a_low_clock_are_dropped_and_counted()
  local slices = 0
  local arm = {
    impl = { name = "a" }, batch = 1, method = "cold", steps = {}, case = {}, ptx = "",
    runner = {
      load = function() return {} end, read = function() return {} end,
      time = function(_, how)
        slices = slices + 1
        local slow, us = slices == 2, {}
        for i = 1, #how.sets do us[i] = (slow and 20 or 10) + i % 3 end
        return { us = us, differ = {}, health = {}, late = { 0 },
          clock_mhz = { 1980, slow and 1500 or 1975 } }
      end,
    },
  }
  timing.run({ arm }, { budget = 0.01, progress = function() end })
  lu.assertNil(arm.failure)
  lu.assertTrue(arm.time.median_us < 13)
  lu.assertEquals(arm.time.clock_mhz, 1975)
  lu.assertEquals(arm.time.late, slices - 1) -- without the one at the end, for damage
  lu.assertTrue(arm.time.discarded >= slices)
  for _, us in ipairs(arm.samples) do lu.assertTrue(us < 20) end
end

-- Keeps what it wrote and writes it again: right for one input, and every set has other inputs.
local REPLAY = [[{
  if (!kept[i]) kept[i] = x[i] ^ 1;
  y[i] = kept[i];
}]]

function TestTiming:test_inputs_rotate_so_that_an_old_answer_is_wrong()
  local rec = check("__device__ int kept[256];", REPLAY)
  lu.assertEquals(rec.verdict, "wrong_result")
  lu.assertNil(rec.time)
end

function TestTiming:test_a_case_has_versions_where_its_inputs_depend_on_the_seed()
  local case = require "perigee.case"
  local one = case.make(task(), { n = 256 }, 5)
  versions.add(one, function(number) return 10 + number end)
  local list = versions.of(one)
  lu.assertEquals(#list, 3)
  for i, other in ipairs(list) do
    lu.assertEquals(other.seed, ({ 5, 12, 13 })[i])
    lu.assertEquals(other:expected().y[7], other.io.x[7] ~ 1)
    lu.assertTrue(i == 1 or not other.io.x:equal_bits(one.io.x))
    lu.assertIs(versions.of_set(one, 3 * 4 + i - 1), other)
  end
  lu.assertFalse(versions.unseen(one, 1).io.x:equal_bits(versions.unseen(one, 2).io.x))
  lu.assertEquals(versions.unseen(one, 1).seed, 10 + 1024 + 1)
  lu.assertIs(versions.unseen(one, 2), versions.unseen(one, 2))
  versions.fit(one, 2, 4 * 4 * 2 * 1024, 0) -- of 1024 bytes each, and one that is held back
  lu.assertEquals(#versions.of(one), 3)
  versions.fit(one, 2, 4 * 4 * 2 * 1024 - 4, 0)
  lu.assertEquals(#versions.of(one), 2)
  lu.assertEquals(versions.set_count(one), 4)
  versions.fit(one, 2, 1 << 20, (1 << 20) // 2 // 2 // 4 + 1)
  lu.assertEquals(#versions.of(one), 1)
  lu.assertEquals(versions.set_count(one), 3)
  versions.fit(one, 100, 1 << 10, 0)
  lu.assertEquals(#versions.of(one), 1)
  lu.assertEquals(versions.set_count(one), 1)
  local fixed = case.make(task { inputs = function(p)
    return { x = pg.array("i32", p.n) }
  end }, { n = 256 }, 5)
  versions.add(fixed, function(number) return number end)
  lu.assertEquals(#versions.of(fixed), 1)
  local none, why = versions.unseen(fixed, 1)
  lu.assertNil(none)
  lu.assertEquals(why, "the inputs do not depend on the seed")
  versions.add(one, function(number) return 10 + number end, 8)
  lu.assertEquals(#versions.of(one), 8) -- for so many launches of a sample
end

-- Where sizes follow from the inputs, the task says which others have the same.
function TestTiming:test_inputs_of_the_same_sizes()
  local case = require "perigee.case"
  local grown = task {
    inputs = function(p, rng)
      local count = rng:integer(10, 1000)
      return { x = rng:array("i32", p.n, { dist = "bits" }), more = rng:array("i32", count) }
    end,
    kernel = "void add(const int* x, const int* more, int* y, int n)",
    renew = function(p, io, rng)
      lu.assertEquals(io.x.count, p.n)
      return { x = rng:array("i32", p.n, { dist = "bits" }) }
    end,
  }
  local one = case.make(grown, { n = 256 }, 5)
  versions.add(one, function(number) return number end)
  lu.assertEquals(#versions.of(one), 3)
  for _, other in ipairs { versions.of(one)[2], versions.of(one)[3], versions.unseen(one, 1) } do
    lu.assertFalse(other.io.x:equal_bits(one.io.x))
    lu.assertTrue(other.io.more:equal_bits(one.io.more))
    lu.assertEquals(other:expected().y[7], other.io.x[7] ~ 1)
  end
end

function TestTiming:test_what_is_renewed_is_an_input()
  local mistaken = task { renew = function() return { z = pg.array("i32", 4) } end }
  local one = require("perigee.case").make(mistaken, mistaken:resolve { purpose = "sim" }, 5)
  local ok, e = pcall(versions.add, one, function(number) return number end)
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "renew: 'z' is no input")
end

-- Inputs that are published have none of another seed, but the task may say what is like them.
function TestTiming:test_unseen_inputs_of_other_parameters()
  local case = require "perigee.case"
  local published = task {
    params = { n = { default = 256 }, jitter = { default = 0 } }, also = { { jitter = 1 } },
    derive = function(p)
      p.moved = p.jitter > 0
      return p
    end,
    inputs = function(p, rng)
      if p.jitter == 0 then return { x = pg.array("i32", p.n) } end
      return { x = rng:array("i32", p.n, { dist = "bits" }) }
    end,
  }
  local function made(own)
    local one = case.make(published, published:resolve { purpose = "default" }, 5)
    versions.add(one, function(number) return number end, 3, own)
    return one
  end
  local one = made(false)
  lu.assertEquals(#versions.of(one), 1)
  lu.assertEquals(versions.unseen(one, 1).p, { n = 256, jitter = 1, moved = true })
  lu.assertTrue(versions.unseen(one, 1).elsewhere)
  lu.assertFalse(versions.unseen(one, 1).io.x:equal_bits(versions.unseen(one, 2).io.x))
  lu.assertNil(versions.unseen(made(true), 1)) -- a task's own have nothing to hide
end

local function made_up_case(number)
  return { task = { validate = { "right" } }, list = {}, number = number }
end

-- An arm as the judge has it, whose runner answers with made-up times: `us_of` set -> time. Set 2
-- stands for whichever has unseen inputs.
local function made_up(us_of, method, batch)
  local arm = {
    impl = { name = "a", foreign = true }, batch = batch or 1, method = method or "cold",
    steps = {}, ptx = "", digests = { 7, 8 }, kept_set = 3, fresh_set = 2, renewed = 0,
    case = { versions = { made_up_case(1), made_up_case(2) }, held_back = {} },
  }
  for i = 1, 10 do arm.case.held_back[i] = made_up_case(i) end
  local unseen_at
  arm.runner = {
    load = function() return {} end,
    read = function() return {} end,
    time = function(_, how)
      local us, seen, unseen = {}, 0, arm.case.held_back[arm.renewed + 1]
      local comes = how.renew and unseen and how.renew.list == unseen.list
      how.comes = comes
      if how.renew then -- right before the last sample
        lu.assertTrue(how.renew.version == 0 or how.renew.version == 1)
        lu.assertEquals(how.renew.sample, #how.sets // how.batch - 1)
        how.again = arm.renewed > 0 and how.renew.list == arm.case.held_back[arm.renewed].list
        lu.assertTrue(comes or how.again
          or how.renew.list == arm.case.versions[how.renew.version + 1].list)
        if comes then arm.renewed = arm.renewed + 1
        elseif not how.again then unseen_at = nil end
      end
      for i = 1, #how.sets, how.batch do
        local sum = 0
        if comes and i + how.batch > #how.sets then unseen_at, seen = how.renew.version, 0 end
        for j = i, i + how.batch - 1 do
          local fresh = how.sets[j] == unseen_at and (not comes or i + how.batch > #how.sets)
          sum = sum + us_of(fresh and 2 or how.sets[j], how)
          seen = seen + (fresh and 1 or 0)
        end
        us[#us + 1] = sum / how.batch
      end
      if comes then lu.assertEquals(seen, 1) end
      if comes then lu.assertTrue(how.warmup < how.samples) end
      return { us = us, health = {}, late = {}, differ = {} }
    end,
  }
  return arm
end

local function time_made_up(arm, quick, budget)
  local validate = require "perigee.validate"
  local run = validate.run
  validate.run = function() return { ok = true } end
  local ok, e = pcall(timing.run, { arm }, { budget = budget or 0.01,
    progress = function() end, quick = quick })
  validate.run = run
  lu.assertTrue(ok, e)
  return arm
end

-- Where buffers are makes a difference that no number of samples shows.
function TestTiming:test_each_slice_has_its_buffers_elsewhere()
  for _, how in ipairs { { "cold" }, { "cold", quick = true }, { "hot" } } do
    local arm, moves, first = made_up(function() return 10 end, how[1]), 0
    local answer = arm.runner.time
    arm.runner.time = function(_, asked)
      if first == nil then first = asked.move end
      moves = moves + (asked.move and 1 or 0)
      return answer(_, asked)
    end
    time_made_up(arm, how.quick)
    lu.assertIs(first, false)
    lu.assertTrue(arm.slices >= 3)
    local is_moved = how[1] == "cold" and not how.quick
    lu.assertEquals(moves, is_moved and arm.slices - 1 or 0)
    first = nil
    time_made_up(arm, how.quick) -- in another pass
    lu.assertIs(first, is_moved)
  end
end

-- Slices are the units of comparisons: their interval is narrow only if no slice has most of the
-- samples, by whatever method, and however long a sample takes.
function TestTiming:test_samples_are_shared_out_among_slices()
  local clock = 0
  core.now = function() return clock end
  for _, method in ipairs { "cold", "hot", "batch", "graph" } do
    for _, seconds in ipairs { 1e-5, 2e-3, 6e-2 } do
      local batch = (method == "batch" or method == "graph") and 2 or 1
      local arm = made_up(function() return 10 + math.random() end, method, batch)
      local answer = arm.runner.time
      arm.runner.time = function(_, asked)
        clock = clock + 0.002 + seconds * asked.samples
        return answer(_, asked)
      end
      time_made_up(arm, false, 0.3)
      local sum, squares = 0, 0
      for _, size in ipairs(arm.time.slices) do sum, squares = sum + size, squares + size * size end
      lu.assertEquals(sum, #arm.samples)
      local equal, quick = sum * sum / squares, seconds < 1e-3
      lu.assertTrue(equal >= (quick and 6 or 3), ("%s, %g s: as good as %.1f of %d"):format(method,
        seconds, equal, #arm.time.slices))
    end
  end
end

-- What a request takes beside its samples does not keep slices small.
function TestTiming:test_slices_grow_where_requests_take_long()
  local clock, arm = 0, made_up(function() return 10 + math.random() end)
  core.now = function() return clock end
  local answer = arm.runner.time
  arm.runner.time = function(_, asked)
    clock = clock + 0.03 + 0.002 * asked.samples
    return answer(_, asked)
  end
  time_made_up(arm, false, 0.5)
  lu.assertTrue(#arm.samples >= 40, ("%d samples"):format(#arm.samples))
end

-- What is slower each time that inputs are new has kept answers; once may be chance.
function TestTiming:test_a_sample_on_inputs_that_were_never_seen()
  for _, method in ipairs { "cold", "hot", "batch", "graph" } do
    local batch = (method == "batch" or method == "graph") and 2 or 1
    local arm = time_made_up(made_up(function() return 10 end, method, batch))
    lu.assertNil(arm.failure)
    lu.assertEquals(arm.time.unseen_us, 10)
    lu.assertEquals(arm.renewed, 1)
    lu.assertEquals(time_made_up(arm).time.unseen_us, 10) -- another pass needs no others
    lu.assertEquals(arm.renewed, 1)
    arm = time_made_up(made_up(function(set) return set == 2 and 15 or 10 end, method, batch))
    lu.assertEquals(arm.failure.verdict, "cheat", method)
    lu.assertStrContains(arm.failure.reason, "on inputs that it had not seen, 10.00 us on others")
    lu.assertEquals(arm.failure.findings[1].kind, "kept_answers")
    lu.assertEquals(arm.renewed, 10)
    arm = time_made_up(made_up(function(set, how)
      return set == 2 and how.comes and 10.9 or 10 -- a little faster when they come again
    end, method, batch))
    lu.assertEquals(arm.failure.verdict, "cheat", method)
    lu.assertEquals(arm.renewed, 10)
    arm = time_made_up(made_up(function(set) return set == 2 and 11.9 or 10 end, method, batch))
    lu.assertNil(arm.failure) -- these take longer, and again
    arm = made_up(function(set) return set == 2 and 19 or 10 end, method, batch)
    arm.impl.foreign = nil -- nor has a task's own implementation any reason
    lu.assertNil(time_made_up(arm).failure)
    arm = made_up(function(set) return set == 2 and 12.9 or 10 end, method, batch)
    for i = 1, 10 do arm.case.held_back[i].elsewhere = true end
    lu.assertNil(time_made_up(arm).failure) -- as those of other parameters may
    arm = made_up(function(set) return set == 2 and 13.1 or 10 end, method, batch)
    for i = 1, 10 do arm.case.held_back[i].elsewhere = true end
    lu.assertEquals(time_made_up(arm).failure.verdict, "cheat")
    local once
    once = made_up(function(set) return set == 2 and once.renewed == 1 and 90 or 10 end, method,
      batch)
    lu.assertNil(time_made_up(once).failure)
    lu.assertEquals(once.renewed, 2)
    lu.assertEquals(once.time.unseen_us, 10)
    lu.assertNil(once.time.again_us) -- which is of the same try
    if method ~= "graph" then -- from the first on all inputs are slow
      local turned
      turned = made_up(function(set, how)
        return (turned.renewed > 1 or set == 2 and how.comes) and 15 or 10
      end, method, batch)
      lu.assertEquals(time_made_up(turned).failure.verdict, "cheat", method)
      turned = made_up(function() return turned.renewed > 0 and 15 or 10 end, method, batch)
      lu.assertEquals(time_made_up(turned).failure.verdict, "environment", method)
      lu.assertStrContains(turned.failure.reason, "10.00 us when it was timed, 15.00 us since then")
    end
  end
end

-- The clock was low, or the host late: what the same inputs take again is not known.
function TestTiming:test_what_is_not_known_acquits_nobody()
  local arm, asked = made_up(function(set, how) return set == 2 and how.comes and 10.9 or 10 end), 0
  local answer = arm.runner.time
  arm.runner.time = function(_, how)
    local reply = answer(_, how)
    if not how.again then return reply end
    asked = asked + 1
    if asked == 1 then
      for i = 1, #reply.us do reply.late[i], reply.us[i] = i - 1, nil end
    end
    return reply
  end
  lu.assertEquals(time_made_up(arm).failure.verdict, "cheat")
  lu.assertTrue(asked > 1)
end

-- A kernel can tell by the clock that it is in a graph, where no unseen inputs come.
function TestTiming:test_a_graph_is_no_quicker_than_starts_explain()
  local function timed_as(batch_us)
    local arm = made_up(function(_, how) return how.method == "graph" and 10 or batch_us end,
      "graph", 2)
    arm.steps = { {}, {} }
    return time_made_up(arm).failure
  end
  lu.assertNil(timed_as(17.9)) -- two launches, and the half of what is around them
  lu.assertEquals(timed_as(18.2).verdict, "cheat")
  lu.assertStrContains(timed_as(18.2).reason, "18.20 us a launch in a batch, 10.00 us in a graph")
end

function TestTiming:test_why_there_is_no_unseen_sample_is_said()
  local arm = made_up(function() return 10 end)
  arm.case.held_back = { why = "the inputs do not depend on the seed" }
  lu.assertEquals(time_made_up(arm).time.unseen, "the inputs do not depend on the seed")
  lu.assertNil(arm.time.unseen_us)
  arm = made_up(function() return 10 end)
  arm.runner.time = function(_, how)
    local us, late = {}, {}
    for i = 1, #how.sets do us[i] = 10 end
    if how.renew then us[#us], late[1] = nil, #how.sets - 1 end
    return { us = us, health = {}, late = late, differ = {} }
  end
  lu.assertEquals(time_made_up(arm).time.unseen,
    "the host was late for each sample, or the clock low")
  arm = made_up(function(set) return set == 2 and 90 or 10 end)
  local answer = arm.runner.time
  arm.runner.time = function(_, how)
    local reply = answer(_, how)
    reply.clock_mhz = { 1980, how.renew and 1200 or 1980 }
    return reply
  end
  lu.assertNil(time_made_up(arm).failure)
  lu.assertEquals(arm.time.unseen, "the host was late for each sample, or the clock low")
end

-- Runs everything but the clock: medians by name, and how often each arm was timed.
local function run_with_times(us, starts, batch)
  local right, timed, real = candidate("", "y[i] = x[i] ^ 1;").path, {}, timing.run
  local session <close> = session_with_clock {}
  timing.run = function(arms)
    for _, arm in ipairs(arms) do
      local name = arm.impl.name
      timed[name] = (timed[name] or 0) + 1
      arm.samples = { us[name], us[name], us[name] }
      arm.time = { method = "cold", median_us = us[name] }
      arm.starts, arm.batch = starts and starts[name], batch or 1
    end
  end
  local records = {}
  local ok, e = pcall(session.run, session, task { impls = { { name = "naive", "cuda", right },
    { name = "expert", "cuda", right } } }, {}, function(rec) records[rec.impl] = rec end)
  timing.run = real
  lu.assertTrue(ok, e)
  return records, timed
end

function TestTiming:test_what_is_far_faster_than_the_expert_is_measured_again()
  local records, timed = run_with_times { naive = 4, expert = 50 }
  lu.assertEquals(timed, { naive = 2, expert = 1 })
  lu.assertEquals(records.expert.findings, {})
  lu.assertEquals(records.naive.findings[1].kind, "far_from_expert")
  lu.assertEquals(records.naive.findings[1].text, "12.5 times as fast as expert: 4.000 us, and "
    .. "4.000 us when it was measured again in a new process")
  lu.assertAlmostEquals(records.expert.speedup.naive, 0.08, 1e-9)
  records, timed = run_with_times { naive = 6, expert = 50 }
  lu.assertEquals(timed, { naive = 1, expert = 1 })
  lu.assertEquals(records.naive.findings, {})
end

-- What a kernel that does nothing takes longer in one process is no slowness of the other kernel.
function TestTiming:test_comparisons_take_off_what_a_start_takes_longer()
  local early, late, slow, noisy = {}, {}, {}, {}
  for i = 1, 40 do
    early[i], late[i] = 5 + i % 3 * 0.03, 5.25 + i % 3 * 0.03
    slow[i] = early[i] + 4
    noisy[i] = 3 + i % 5
  end
  local us = { naive = 25, expert = 25.25 }
  local function ratio(starts) return run_with_times(us, starts).expert.speedup.naive end
  lu.assertAlmostEquals(ratio(nil), 25 / 25.25, 1e-9)
  lu.assertAlmostEquals(ratio { naive = early, expert = late }, 1, 1e-9)
  lu.assertAlmostEquals(ratio { naive = late, expert = early }, 25 / 25.5, 1e-9)
  -- nothing starts so much later unless somebody wants it to
  lu.assertAlmostEquals(ratio { naive = early, expert = slow }, 25 / 24.75, 1e-9)
  -- a clock that counts work has no starts
  local none = { 0, 0, 0 }
  lu.assertAlmostEquals(ratio { naive = none, expert = late }, 25 / 25.25, 1e-9)
  -- a batch has one, and its time is divided by its launches
  lu.assertAlmostEquals(run_with_times({ naive = 25, expert = 25.125 }, { naive = early,
    expert = late }, 2).expert.speedup.naive, 1, 1e-9)
  -- what chance explains is no difference
  lu.assertAlmostEquals(ratio { naive = early, expert = noisy }, 25 / 25.25, 1e-9)
end

function TestTiming:test_an_unknown_method_is_an_error_of_the_task()
  local ok, e = pcall(timing.method_of, task { time = { method = "warm" } }, {})
  lu.assertFalse(ok)
  lu.assertStrContains(e.message, "unknown timing method 'warm'")
end

-- An arm whose samples take about 10 us, and how often its module was loaded.
local function stand_in(ptx, throttle)
  local arm = { impl = { name = "a" }, batch = 1, method = "cold", steps = {}, case = {}, ptx = ptx,
    loaded = 0 }
  arm.runner = {
    read = function() return {} end,
    load = function()
      arm.loaded = arm.loaded + 1
      return {}
    end,
    time = function(_, how)
      local us = {}
      for i = 1, #how.sets do us[i] = 10 + i % 3 end
      return { us = us, differ = {}, health = { throttle_reasons = throttle } }
    end,
  }
  return arm
end

local function timed_for(arm)
  timing.run({ arm }, { budget = 0.01, progress = function() end })
  return arm
end

function TestTiming:test_throttled_samples_are_dropped_and_counted()
  local arm = timed_for(stand_in("", 0x40))
  lu.assertEquals(arm.failure.verdict, "environment")
  lu.assertStrContains(arm.failure.reason, "no sample was accepted")
  lu.assertTrue(arm.discarded > 0)
end

function TestTiming:test_a_module_with_variables_is_loaded_again_before_and_within_timing()
  local one = ".global .u32 a;\nst.global.u32 [a], %r1;"
  lu.assertEquals(timed_for(stand_in(one, 0)).loaded, 2)
  local none = timed_for(stand_in("", 0))
  lu.assertEquals(none.loaded, 0)
  lu.assertAlmostEquals(none.time.median_us, 11, 1)
end

-- Each has its turn in every round; that two rounds of eight have the same order is not to be
-- expected in 40,000.
function TestTiming:test_arms_take_turns_in_random_order()
  local arms, calls = {}, {}
  for i = 1, 8 do
    local arm = stand_in("", 0)
    arms[i], arm.time_it = arm, arm.runner.time
    arm.runner.time = function(...)
      calls[#calls + 1] = i
      return arm.time_it(...)
    end
  end
  timing.run(arms, { budget = 0.01, progress = function() end })
  local rounds = { table.concat(calls, "", 1, 8), table.concat(calls, "", 9, 16) }
  lu.assertNotEquals(rounds[1], rounds[2])
  for _, round in ipairs(rounds) do
    for i = 1, 8 do lu.assertStrContains(round, tostring(i)) end
  end
end

-- A variable matters when something names it: constants of C++ that nobody names do not, nor do
-- parameters that point to global memory.
function TestTiming.test_variables_that_a_module_may_keep_something_in()
  local any = require("perigee.globals").any
  for text, expected in pairs {
    [".global .u32 x;\nst.global.u32 [x], %r1;"] = true,
    [".visible .global .align 4 .b8 buffer[64];"] = true,
    [".global .u64 p = generic(q);\n.global .u32 q;"] = true,
    [".global .u32 a, b;"] = true,
    [".global\n.u32 x;\nmov.u64 %rd1, x;"] = true,
    [".global .u32 a = 1; .global .u32 b = 2;\nmov.u64 %rd1, b;"] = true,
    [".global .align 8 .u64 kEmpty = -1;\nst.global.u32 [%rd1], %r1;"] = false,
    [".param .u64 .ptr .global .align 1 f_param_0\ncvta.to.global.u64 %rd1, %rd2;"] = false,
  } do
    lu.assertEquals(any(text), expected, text)
  end
end

os.exit(lu.LuaUnit.run())
