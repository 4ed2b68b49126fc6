-- The judge from declaration to record, on the simulator: plans of several kernels, state, scratch,
-- cells, templates, macros, and what happens when one of several implementations is wrong.
local lu = require "luaunit"
local core = require "perigee.core"
local pg = require "perigee"
local catalogue = require "perigee.catalogue"
local impl = require "perigee.impl"
local judge = require "perigee.judge"
local seeds = require "perigee.seeds"

local folder

local function write(name, text)
  local path = folder .. "/" .. name
  assert(core.write_file(path, text))
  return path
end

-- A task of the given fields whose files lie in the test's own folder.
local function task(fields)
  local t = {
    name = "t/count", params = { n = { default = 4096, check = { 1, 100 }, sim = 1000, min = 1 } },
    kernel = "void count(const int* x, int* bins, int n)",
    inputs = function(p, rng)
      return { x = rng:array("i32", p.n, { dist = "integer", first = 0, last = 7 }) }
    end,
    state = function() return { bins = pg.spec("i32", 8) } end,
    launch = function(p) return { grid = (p.n + 127) // 128, block = 128 } end,
    reference = function(p, io)
      local bins = pg.array("i32", 8)
      for i = 0, p.n - 1 do bins[io.x[i]] = bins[io.x[i]] + 1 end
      return { bins = bins }
    end,
    validate = "exact",
  }
  for name, value in pairs(fields or {}) do t[name] = value end
  local one = pg.task(t)
  one.root, one.folder = folder, folder
  return one
end

local COUNT = [[
extern "C" __global__ void count(const int* x, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(bins + x[i], 1);
}
]]

local function run(one, how)
  local session <close> = judge.session { device = "sim:check", timeout = 5, seed = 3 }
  local records = {}
  session:run(one, how or {}, function(rec) records[#records + 1] = rec end)
  return records
end

TestJudge = {}

function TestJudge:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
  folder = os.tmpname()
  os.remove(folder)
  assert(core.mkdir_all(folder))
end

function TestJudge:tearDown()
  if folder then os.execute("rm -rf " .. folder) end
end

function TestJudge:test_state_is_reset_and_compared()
  write("count.cu", COUNT)
  local records = run(task { impls = { naive = { "cuda", "count.cu" } } })
  lu.assertEquals(#records, 1)
  lu.assertEquals(records[1].verdict, "passed", records[1].reason)
  lu.assertEquals(records[1].params.n, 1000)
end

-- Right only when the first warp comes first. No data race: the order is an atomic's.
local FIRST = [[
extern "C" __global__ void first(int* ticket, int* out) {
  if (threadIdx.x % 32 == 0 && atomicAdd(ticket, 1) == 0) *out = threadIdx.x / 32;
}
]]

local function first_task()
  write("first.cu", FIRST)
  return task {
    kernel = "void first(int* ticket, int* out)", cells = { { name = "a", set = {} } },
    inputs = function() return {} end,
    state = function() return { ticket = pg.spec("i32", 1) } end,
    outputs = function() return { out = pg.spec("i32", 1) } end,
    launch = { grid = 1, block = 256 }, impls = { naive = { "cuda", "first.cu" } },
    reference = function() return { ticket = pg.array("i32", 1, 8), out = pg.array("i32", 1) } end,
  }
end

local function run_first(one, device, seed)
  local session <close> = judge.session { device = device, timeout = 5, seed = seed }
  local record
  session:run(one, {}, function(rec) record = rec end)
  return record
end

function TestJudge:test_a_seed_shuffles_what_would_pass_by_luck()
  local one, results, wrong = first_task(), {}, 0
  lu.assertEquals(run_first(one, "sim:profile", 1).verdict, "passed") -- no shuffling there
  for seed = 1, 6 do
    local rec = run_first(one, "sim:check", seed)
    results[seed] = rec
    wrong = wrong + (rec.verdict == "wrong_result" and 1 or 0)
    lu.assertEquals(rec.schedule.workers, 1)
    lu.assertTrue(rec.schedule.seed > 0)
  end
  lu.assertTrue(wrong >= 3, wrong) -- each is right with a chance of one in eight
  for seed = 1, 6 do -- the same seed, the same schedule, the same result
    local rec = run_first(one, "sim:check", seed)
    lu.assertEquals(rec.schedule, results[seed].schedule)
    lu.assertEquals({ rec.verdict, rec.reason }, { results[seed].verdict, results[seed].reason })
  end
  lu.assertNotEquals(results[1].schedule.seed, results[2].schedule.seed)
end

function TestJudge:test_who_decides_about_the_schedule()
  local one = first_task()
  lu.assertEquals(run_first(one, "sim:check", nil).schedule.workers, 0) -- all threads
  lu.assertNil(run_first(one, "sim:check,seed=5", 1).schedule)
  local again = run_first(one, "sim:check", 2)
  local same = run_first(one, ("sim:check,seed=%d"):format(again.schedule.seed), 77)
  lu.assertEquals({ same.verdict, same.reason }, { again.verdict, again.reason })
end

function TestJudge:test_every_case_of_a_check_has_a_schedule_of_its_own()
  local session <close> = judge.session { device = "sim:check", timeout = 5 }
  local one = first_task()
  local rec = session:check(one, impl.candidate(folder .. "/first.cu"), {})
  lu.assertEquals(rec.verdict, "wrong_result") -- six cases, each right once in eight times
  lu.assertEquals(rec.schedule.workers, 1)
end

function TestJudge:test_every_cell_gives_a_record_for_every_implementation()
  write("count.cu", COUNT)
  write("wrong.cu", (COUNT:gsub("i < n", "i < n - 1")))
  local one = task {
    cells = { { name = "small", set = { n = 100 } }, { name = "large", set = { n = 9999 },
      sim = { n = 500 } } },
    impls = { naive = { "cuda", "count.cu" }, off_by_one = { "cuda", "wrong.cu" } },
    facts = function(p) return { threads = p.n } end,
  }
  local records = run(one)
  local seen = {}
  for i, rec in ipairs(records) do seen[i] = ("%s %s %s %d"):format(rec.cell, rec.impl, rec.verdict,
    rec.params.n) end
  lu.assertEquals(seen, { "small naive passed 100", "small off_by_one wrong_result 100",
    "large naive passed 500", "large off_by_one wrong_result 500" })
  lu.assertEquals(records[1].facts.threads, 100)
  lu.assertEquals(#run(one, { cells = { "large" }, impls = { "naive" } }), 1)
end

function TestJudge:test_a_fault_of_one_implementation_does_not_harm_the_next_cell()
  write("trap.cu", (COUNT:gsub("if %(i < n%)", "if (n == 100) __trap(); if (i < n)")))
  local records = run(task {
    cells = { { name = "a", set = { n = 100 } }, { name = "b", set = { n = 200 } } },
    impls = { naive = { "cuda", "trap.cu" } },
  })
  lu.assertEquals(records[1].verdict, "launch_error")
  lu.assertEquals(records[2].verdict, "passed", records[2].reason)
end

function TestJudge:test_a_failing_cell_shows_nothing_of_the_cell_before()
  write("trap.cu", (COUNT:gsub("if %(i < n%)", "if (n == 200) __trap(); if (i < n)")))
  local records = run(task {
    cells = { { name = "a", set = { n = 100 } }, { name = "b", set = { n = 200 } } },
    impls = { naive = { "cuda", "trap.cu" } }, facts = function(p) return { threads = p.n } end,
  })
  lu.assertEquals(records[1].facts, { threads = 100 })
  lu.assertEquals(records[2].verdict, "launch_error")
  lu.assertEquals(records[2].facts, {})
  lu.assertEquals(#records[2].checks, 0)
  lu.assertEquals(records[2].cases, 1)
end

function TestJudge:test_a_plan_of_several_kernels_with_memset_copy_and_scratch()
  write("two.cu", [[
    extern "C" __global__ void partial(const int* x, int* mine, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) atomicAdd(mine + x[i], 1);
    }
    extern "C" __global__ void add(const int* mine,
      int* bins) { bins[threadIdx.x] += mine[threadIdx.x]; }
  ]])
  local records = run(task { impls = { naive = {
    "cuda", "two.cu", scratch = function() return { mine = pg.spec("i32", 8),
      spare = pg.spec("i32", 8) } end,
    launch = function(p)
      return {
        { memset = "mine", byte = 0 },
        { kernel = "partial", grid = (p.n + 63) // 64, block = 64, args = { "x", "mine", "n" } },
        { copy = { "spare", "mine" } },
        { kernel = "add", grid = 1, block = 8, args = { "spare", "bins" } },
      }
    end,
  } } })
  lu.assertEquals(records[1].verdict, "passed", records[1].reason)
end

function TestJudge:test_macros_and_templates()
  write("macro.cu", "#ifndef STEP\n#error STEP is missing\n#endif\n" .. COUNT:gsub("1%)", "STEP)"))
  write("template.cu", [[
    template <typename T, int STEP> __global__ void count(const T* x, T* bins, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) atomicAdd(bins + x[i], STEP);
    }
  ]])
  local records = run(task { impls = {
    { name = "macro", "cuda", "macro.cu", define = { STEP = 1 } },
    { name = "by_params", "cuda", "macro.cu",
      define = function(p) return { STEP = p.n // p.n } end },
    { name = "wrong", "cuda", "macro.cu", define = { STEP = 2 } },
    { name = "template", "cuda", "template.cu", kernel = "count<int, 1>" },
  } })
  local verdicts = {}
  for i, rec in ipairs(records) do verdicts[i] = rec.verdict end
  lu.assertEquals(verdicts, { "passed", "passed", "wrong_result", "passed" })
end

function TestJudge:test_includes_are_found_beside_the_source()
  write("step.h", "#define STEP 1\n")
  write("count.cu", '#include "step.h"\n' .. COUNT:gsub("1%)", "STEP)"))
  lu.assertEquals(run(task { impls = { naive = { "cuda", "count.cu" } } })[1].verdict, "passed")
end

-- However they come to be too large: nothing that a candidate asks for is the machine's fault.
function TestJudge:test_variables_without_room_are_the_modules_fault()
  local function many(count, declaration)
    local lines = { ".version 7.0", ".target sm_70", ".address_size 64" }
    for i = 1, count do lines[#lines + 1] = declaration:format(i) end
    return table.concat(lines, "\n") .. "\n.visible .entry count(.param .u64 x, .param .u64 b, "
      .. ".param .u32 n) { ret; }"
  end
  for _, ptx in ipairs {
    many(1, ".global .align 4 .b8 v%d[1000000000000];"), many(1000, ".global .b8 v%d[900000000];"),
    many(1000, ".global .b64 v%d[100000000];"),
    many(1000, ".visible .global .b8 v%d[30000][30000];"),
    many(1000, ".global /* */ .u32 v%d[0x10000000] = {1};"),
    many(1, ".global\n.b8 v%d\n[1000000000000]\n;"), many(200000, ".global .u32 v%d;"),
  } do
    local rec = run(task { impls = { it = { "ptx", source = ptx } } })[1]
    lu.assertEquals(rec.verdict, "launch_error", ptx:sub(1, 100))
    lu.assertStrContains(rec.reason, "its variables are too large: ")
  end
end

function TestJudge:test_an_input_that_is_changed_is_seen()
  write("count.cu",
    (COUNT:gsub("if %(i < n%)", "if (i == 0) const_cast<int*>(x)[0] = 5; if (i < n)")))
  for _, device in ipairs { "sim", "sim:check" } do
    local session <close> = judge.session { device = device, timeout = 5 }
    session:run(task { impls = { naive = { "cuda", "count.cu" } } }, {}, function(rec)
      lu.assertEquals(rec.verdict, "input_modified", rec.reason)
    end)
  end
end

function TestJudge:test_a_candidate_sees_every_check_size_with_three_seeds_then_the_timed_size()
  local session <close> = judge.session { device = "sim", timeout = 5 }
  local rec = session:check(task(), impl.candidate(write("mine.cu", COUNT)), {})
  lu.assertEquals(rec.verdict, "passed", rec.reason)
  lu.assertEquals(rec.cases, 2 * seeds.CHECK + 1)
  rec = session:check(task(), impl.candidate(write("half.cu",
    (COUNT:gsub("i < n", "i < n && n < 500")))), {})
  lu.assertEquals(rec.verdict, "unwritten_output")
  lu.assertStrContains(rec.failed_at, "n = 1000 (the timed size)")
end

function TestJudge:test_a_missing_source_is_an_error_with_the_implementation()
  local ok, e = pcall(run, task { impls = { naive = { "cuda", "nothing.cu" } } })
  lu.assertFalse(ok)
  lu.assertEquals(e.code, "not_found")
  lu.assertStrContains(e.where, "implementation naive")
end

function TestJudge:test_a_new_task_file_is_listed_and_runs()
  assert(core.mkdir_all(folder .. "/tasks/new"))
  write("count.cu", COUNT)
  write("tasks/new/task.lua", [[
    local pg = require "perigee"
    return pg.task {
      name = "new/task", kernel = "void count(const int* x, int* bins, int n)",
      params = { n = { default = 100 } },
      inputs = function(p) return { x = pg.array("i32", p.n) } end,
      state = function() return { bins = pg.spec("i32", 8) } end,
      launch = function() return { grid = 1, block = 128 } end,
      reference = function(p) return { bins = { p.n, 0, 0, 0, 0, 0, 0, 0 } } end,
      validate = "exact", impls = { naive = { "cuda", "count.cu" } },
    }]])
  local found = catalogue.load(folder .. "/tasks/new/task.lua")
  lu.assertEquals(found[1].name, "new/task")
  lu.assertEquals(run(found[1])[1].verdict, "passed")
end

-- On a device with a clock, which the simulator is taken for here.
function TestJudge:test_bits_that_were_judged_right_for_a_case_are_not_judged_again()
  local judged = 0
  local one = task { validate = function(ctx)
    judged = judged + 1
    local right = ctx.state.bins:equal_bits(ctx.expected.bins)
    return { ok = right, verdict = "wrong_result", reason = "wrong", checks = {} }
  end }
  require("perigee.validate").prepare(one)
  local session <close> = judge.session { device = "sim", seed = 3 }
  session.sim = false
  local case = require("perigee.case").make(one, one:resolve { purpose = "sim" }, 5)
  case.accepted = {}
  local function outcome(change)
    local arm, bins = { case = case, digests = {}, digest = 7 }, case:expected().bins:copy()
    if change then bins[3] = bins[3] + 1 end
    local failure = session:judge(arm, 1, { bins = bins }, 0)
    return failure and failure.verdict or "passed", arm
  end
  local verdict, first = outcome()
  lu.assertEquals({ verdict, judged }, { "passed", 1 })
  local again, second = outcome()
  lu.assertEquals({ again, judged }, { "passed", 1 })
  lu.assertEquals({ second.checks, second.digests }, { first.checks, { 7 } })
  lu.assertEquals({ outcome(true), judged }, { "wrong_result", 2 })
  lu.assertEquals({ outcome(true), judged }, { "wrong_result", 3 }) -- what is wrong is not kept
end

os.exit(lu.LuaUnit.run())
