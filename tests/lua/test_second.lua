-- The second opinion on sim:check of what is right on another device, here the simulator without
-- these checks; and whose fault it is when there is not enough memory.
local lu = require "luaunit"
local core = require "perigee.core"
local pg = require "perigee"
local judge = require "perigee.judge"
local scratch = require "perigee.scratch"
local second = require "perigee.second"

local HEAD = 'extern "C" __global__ void add(const int* x, int* y, int n) {\n'
  .. "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"

local function task(sizes)
  return pg.task {
    name = "t/add", params = { n = { default = 256, check = sizes, sim = 64, min = 1 } },
    kernel = "void add(const int* x, int* y, int n)",
    inputs = function(p, rng) return { x = rng:array("i32", p.n, { dist = "integer", first = 1,
      last = 9 }) } end,
    outputs = function(p) return { y = pg.spec("i32", p.n) } end,
    launch = { grid = 1, block = 64 },
    reference = function(_, io) return { y = io.x + 1 } end,
    validate = "exact",
  }
end

local function built(session, one, body, launch)
  local arm = { cases = 0, kind = "check", p = one:resolve { purpose = "sim" },
    impl = { name = "add", lang = "cuda", path = "./add", shown = "add.cu", launch = launch,
      source = HEAD .. body .. "}\n" } }
  session:build { arm }
  lu.assertNil(arm.failure)
  return arm
end

-- The opinion on a kernel: failure, where, and the arm.
local function ask(body, sizes, launch)
  local one = task(sizes or { 1, 64 })
  local session <close> = judge.session { device = "sim", seed = 3 }
  local arm = built(session, one, body, launch)
  local failure, where = second.ask(session, arm, one, nil)
  return failure, where, arm
end

-- What a failure is told to be, when the case with 32 elements has failed so.
local function located(verdict, body)
  local one = task { 1, 32 }
  local session <close> = judge.session { device = "sim", seed = 3 }
  local arm = built(session, one, body)
  arm.failure = { verdict = verdict, reason = "as the GPU says", findings = {} }
  arm.failed_entry = { index = 2, number = 1 }
  second.locate(session, arm, one, nil)
  lu.assertEquals({ arm.failure.verdict, arm.failure.reason }, { verdict, "as the GPU says" })
  return arm.failure.findings, arm.checked_by
end

TestSecond = {}

function TestSecond:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

function TestSecond:test_what_is_right_everywhere_was_checked_by_both()
  local failure, _, arm = ask "if (i < n) y[i] = x[i] + 1;"
  lu.assertNil(failure)
  lu.assertEquals(arm.checked_by, { "sim", "sim:check" })
  lu.assertNil(arm.unseen)
end

function TestSecond:test_a_fault_is_a_failure_with_its_place()
  local failure, where = ask "volatile const int* v = x; int a = v[i]; if (i < n) y[i] = a + 1;"
  lu.assertEquals(failure.verdict, "out_of_bounds")
  lu.assertStrContains(where, "n = 1")
  lu.assertStrContains(where, "on sim:check")
end

function TestSecond:test_memory_that_nobody_wrote_is_a_failure()
  local failure = ask "__shared__ volatile int s; if (i < n) y[i] = x[i] + 1 + 0 * s;"
  lu.assertEquals(failure.verdict, "uninitialized_read")
end

function TestSecond:test_what_the_simulator_lacks_is_a_finding()
  local failure, _, arm = ask("if (i < n) y[i] = x[i] + 1;", nil,
    { grid = 2, block = 64, cluster = 2 })
  lu.assertNil(failure)
  lu.assertNil(arm.checked_by)
  lu.assertEquals(arm.unseen.kind, "unchecked")
  lu.assertStrContains(arm.unseen.text, "no clusters of blocks")
end

function TestSecond:test_values_are_for_the_other_device_to_judge()
  lu.assertNil((ask "if (i < n) y[i] = x[i] + 2;"))
end

function TestSecond:test_what_a_gpu_saw_gets_its_place()
  local found, by = located("out_of_bounds", "if (i <= n) y[i] = 1;")
  lu.assertEquals({ #found, found[1].line, found[1].thread }, { 1, 3, { 32, 0, 0 } })
  lu.assertStrContains(found[1].text, "on sim:check: write of 4 bytes out of bounds")
  lu.assertEquals(by, { "sim", "sim:check" })
end

function TestSecond:test_a_wrong_result_gets_the_fault_that_may_explain_it()
  local found = located("wrong_result",
    "__shared__ int s[64]; s[i] = i; if (i < n) y[i] = s[63 - i];")
  lu.assertEquals(found[1].line, 3)
  lu.assertStrContains(found[1].text, "race")
end

function TestSecond:test_where_the_simulator_sees_nothing_nothing_is_added()
  for _, body in ipairs { "if (i < n) y[i] = x[i] + 1;", "if (i < n) y[i] = 7;" } do
    local found, by = located("wrong_result", body)
    lu.assertEquals({ #found, by }, { 0, nil })
  end
end

TestBlame = {}

local function blamed(own, task_bytes, memory, word)
  local list = { { bytes = task_bytes }, { bytes = own, scratch = true } }
  return scratch.to_blame(list, memory, { verdict = word or "environment", reason = "" }).verdict
end

function TestBlame:test_scratch_larger_than_the_device_is_the_candidates_fault()
  lu.assertEquals(blamed(200, 10, 100), "launch_error")
  lu.assertEquals(blamed(95, 10, 100), "launch_error") -- as large as leaves no room for the task's
  lu.assertEquals(blamed(85, 10, 100), "launch_error") -- or for the driver's
  lu.assertEquals(blamed(0, 95, 100), "environment")
  lu.assertEquals(blamed(50, 10, 100), "environment")
  lu.assertEquals(blamed(200, 110, 100), "environment") -- the task's own do not fit either
  lu.assertEquals(blamed(200, 10, 0), "environment") -- who knows how much there is
  lu.assertEquals(blamed(200, 10, 100, "timeout"), "timeout")
end

-- What a launch on the simulator finds when each of 32 threads reads this word of 64 in shared
-- memory, of which 32 were written.
local function found(index)
  local dev <close> = pg.device "sim:check"
  local y, kinds = dev:upload(core.array("i32", 32)), {}
  local mod = dev:compile { name = "edge.cu", source = [[
    extern "C" __global__ void edge(int* y) {
      __shared__ int s[64];
      s[threadIdx.x] = 1;
      __syncthreads();
      y[threadIdx.x] = s[]] .. index .. [[];
    }]] }
  pcall(function() mod:kernel("edge"):launch { grid = 1, block = 32, args = { y } } end)
  for i, finding in ipairs(dev:findings()) do kinds[i] = finding.kind end
  return table.concat(kinds, ", ")
end

-- The element behind the last that was written is read ahead; with further ones, in whichever
-- order, it is one of those.
function TestSecond:test_a_read_at_an_edge_is_nothing_beside_one_of_further_elements()
  lu.assertEquals(found "threadIdx.x + 1", "edge_read")
  lu.assertEquals(found "threadIdx.x + 32", "uninitialized_read")
  lu.assertEquals(found "63 - threadIdx.x", "uninitialized_read")
end

os.exit(lu.LuaUnit.run())
