-- The audit: findings that a reader should know, what a task requires and forbids, and where both
-- stand in records and reports. test_facts has the facts of PTX.
package.path = "tests/lua/?.lua;" .. package.path
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local files = require "perigee.files"
local audit = require "perigee.audit"
local facts = require "perigee.facts"
local judge = require "perigee.judge"
local ptx_text = require "ptx_text"

local REGS, module = ptx_text.REGS, ptx_text.module

-- ---- findings ----

TestFindings = {}

-- Findings of a body; n is timed at 4096, in a grid of 512 blocks.
local function findings(body)
  local read = module(".entry k(.param .u64 k_param_0, .param .u32 k_param_1) {\n" .. REGS
    .. "ld.param.u32 %n0, [k_param_1]; ld.param.u64 %o, [k_param_0];\n" .. body .. "\nret; }")
  lu.assertNil(read.unreadable)
  return audit.findings(facts.of(read, { "k" }), { { k_param_1 = 9 },
    { k_param_1 = 4096, ["%nctaid.x"] = 512 } }, { k_param_1 = "n", ["%nctaid.x"] = "gridDim.x" })
end

local function one(body)
  local list = findings(body)
  lu.assertEquals(#list, 1, body)
  return list[1]
end

function TestFindings:test_a_skip_at_the_timed_size()
  local found = one("setp.eq.s32 %p0, %n0, 4096; @%p0 ret; st.global.u32 [%o], 1;")
  lu.assertEquals(found.kind, "size_branch")
  lu.assertEquals(found.severity, "suspicious")
  lu.assertEquals(found.text,
    "branches on n == 4096, the timed size: one way from there nothing is stored")
  lu.assertStrContains(found.where, "t.ptx:")
end

function TestFindings:test_another_path_at_the_timed_size()
  local found = one("setp.gt.s32 %p0, %n0, 4095; selp.b32 %n1, 1, 2, %p0; st.global.u32 [%o], %n1;")
  lu.assertEquals(found.text, "branches on n > 4095, the timed size")
end

-- A body that ends where a comparison holds, and what is said of it.
local SKIPS = {
  ["mul.lo.s32 %n1, %n0, 3; setp.eq.s32 %p0, %n1, 999;"] = "n * 3 == 999:",
  ["mul.lo.s32 %n1, %n0, 3; setp.eq.s32 %p0, %n1, 12288;"] = "n * 3 == 12288, the timed size:",
  ["xor.b32 %n1, %n0, 21845; setp.eq.s32 %p0, %n1, 17749;"] = "n ^ 21845 == 17749, the timed size:",
  ["add.s32 %n1, %n0, -1; shr.s32 %n2, %n1, 2; setp.gt.s32 %p0, %n2, 1022;"] =
    "(n + -1) >> 2 > 1022, the timed size:",
  ["cvt.u64.u32 %d1, %n0; mad.lo.s64 %d2, %d1, 4, 64; setp.ge.u64 %p0, %d2, 16448;"] =
    "n * 4 + 64 >= 16448, the timed size:",
  ["mul.wide.s32 %d1, %n0, 4; setp.eq.s64 %p0, %d1, 16384;"] = "n * 4 == 16384, the timed size:",
  ["not.b32 %n1, %n0; setp.eq.s32 %p0, %n1, -4097;"] = "~n == -4097, the timed size:",
  ["rem.u32 %n1, %n0, 5000; setp.eq.u32 %p0, %n1, 4096;"] = "n % 5000 == 4096, the timed size:",
  ["div.s32 %n1, %n0, -8; setp.eq.s32 %p0, %n1, -512;"] = "n / -8 == -512, the timed size:",
  ["mov.u32 %n1, %nctaid.x; setp.eq.u32 %p0, %n1, 512;"] = "gridDim.x == 512, the timed size:",
  ["popc.b32 %n1, %n0; mul.lo.s32 %n2, %n1, 999; setp.eq.s32 %p0, %n2, 999;"] =
    "a value computed from n == 999:",
  ["ld.param.f32 %f0, [k_param_1+0]; setp.gt.f32 %p0, %f0, 0f49742400;"] = "n > 1000000:",
}

function TestFindings:test_skips()
  for body, want in pairs(SKIPS) do
    local text = one(body .. " @%p0 ret; st.global.u32 [%o], 1;").text
    lu.assertEquals(text, ("branches on %s one way from there nothing is stored"):format(want))
  end
end

function TestFindings:test_an_equality_with_a_neighbour_is_none()
  local rest = " selp.b32 %n1, 1, 2, %p0; st.global.u32 [%o], %n1;"
  lu.assertEquals(findings("setp.eq.s32 %p0, %n0, 4095;" .. rest), {})
  lu.assertEquals(#findings("setp.eq.s32 %p0, %n0, 4096;" .. rest), 1)
  lu.assertEquals(#findings("min.s32 %n1, %n0, 4095; st.global.u32 [%o], %n1;"), 1)
end

function TestFindings:test_a_path_for_large_sizes_is_none()
  lu.assertEquals(findings("setp.gt.s32 %p0, %n0, 2000; selp.b32 %n1, 1, 2, %p0; "
    .. "st.global.u32 [%o], %n1;"), {})
end

function TestFindings:test_more_comparisons_than_are_looked_at()
  local list = findings(("setp.eq.s32 %p0, %n0, 999;\n"):rep(70))
  lu.assertEquals(list[1].text, "compares sizes with constants in 70 places or more")
end

function TestFindings:test_state_that_outlives_a_launch()
  local found = one("ld.global.u32 %n1, [memo]; st.global.u32 [memo], %n1;")
  lu.assertEquals(found.kind, "global_state")
  lu.assertEquals(found.text, "writes memo (256 bytes), which outlives a launch")
end

function TestFindings:test_what_is_suspicious_and_what_is_a_note()
  for body, want in pairs {
    ["mov.u64 %d1, %clock64;"] = "suspicious clock",
    ["discard.global.L2 [%o], 128;"] = "suspicious cache_policy",
    ["pmevent 1;"] = "suspicious event_counter",
    ["mov.u32 %n1, %smid;"] = "note placement",
    ["{ .param .b64 f; .param .b64 r; call.uni (r), malloc, (f); }"] = "suspicious allocate",
  } do
    local found = one(body)
    lu.assertEquals(found.severity .. " " .. found.kind, want)
  end
  lu.assertEquals(findings("bar.sync 0; shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1; "
    .. "ld.const.u32 %n1, [small]; fence.acq_rel.gpu; @%p1 trap;"), {})
end

function TestFindings:test_a_large_table_is_noted()
  local function table_of(words)
    local read = module((".global .u32 lut[%d] = {7};\n.entry k() {\n"):format(words) .. REGS
      .. "mov.u64 %d1, lut; ld.global.u32 %n1, [%d1+4]; ret; }")
    return audit.findings(facts.of(read, { "k" }), {}, {})
  end
  lu.assertEquals(table_of(1023), {})
  lu.assertEquals(table_of(1024)[1].severity, "note")
  lu.assertEquals(table_of(1024)[1].text, "reads a table of 4.10 kB, lut")
end

-- ---- through the judge ----

TestJudged = {}

local SAXPY = pg.catalogue.find("vector/saxpy")[1]
local KERNEL = [[
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  %s
  if (i < n) z[i] = a * x[i] + y[i];
}]]

local function check(line, options)
  local how = { device = "sim" }
  for name, value in pairs(options or {}) do how[name] = value end
  return pg.check(SAXPY, { source = KERNEL:format(line) }, how)
end

function TestJudged:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

function TestJudged:test_a_record_has_the_facts()
  local rec = check("__syncwarp();")
  lu.assertEquals(rec.verdict, "passed")
  lu.assertEquals(rec.findings, {})
  lu.assertEquals(rec.audit.entries, 1)
  lu.assertEquals(rec.audit.launches, 1)
  lu.assertEquals(rec.audit.facts.fma.where, "candidate.cu:4")
  lu.assertEquals(rec.audit.globals, {})
end

function TestJudged:test_the_size_that_a_gpu_would_time_is_known_on_the_simulator()
  local lines = {}
  local rec = check(("if (n == %d) return;"):format(SAXPY.params.n.default),
    { out = function(line) lines[#lines + 1] = line end })
  lu.assertEquals(rec.verdict, "passed") -- findings never change a verdict
  lu.assertEquals(rec.findings[1].kind, "size_branch")
  lu.assertEquals(lines[2], ("  suspicious: branches on n == %d, the timed size: one way from "
    .. "there nothing is stored (candidate.cu:3)"):format(SAXPY.params.n.default))
end

function TestJudged:test_a_report_says_how_a_kernel_is_made()
  local lines = {}
  local function out(line) lines[#lines + 1] = line end
  check("__shared__ float s[256]; s[threadIdx.x] = a; __syncthreads(); "
    .. "a = __shfl_sync(~0u, s[threadIdx.x], 0);", { out = out })
  lu.assertStrContains(table.concat(lines, "\n"), "\n  uses       shared memory, shuffle\n")
end

function TestJudged:test_what_is_computed_from_the_size_is_worked_out()
  local size = SAXPY.params.n.default
  lu.assertEquals(check(("if (n * 3 == %d) n /= 2;"):format(size * 3)).findings[1].text,
    ("branches on n * 3 == %d, the timed size"):format(size * 3))
  lu.assertEquals(check(("if (n * 3 == %d) n /= 2;"):format(size * 3 + 3)).findings, {})
end

-- The grid is in no contract: what the plan says of it counts.
function TestJudged:test_the_grid_that_is_timed()
  local rec = check("")
  local grid = rec.plan[1].grid[1]
  local found = check(("if (gridDim.x == %d) n /= 2;"):format(grid)).findings
  lu.assertEquals(found[1].text, ("branches on %%nctaid.x == %d, the timed size"):format(grid))
end

-- Where the plan compares, no kernel does.
function TestJudged:test_a_plan_that_tells_the_timed_size()
  local folder = files.temporary()
  files.write(folder .. "/saxpy.cu", KERNEL:format(""))
  local function found(argument)
    files.write(folder .. "/plan.lua", ("return { launch = { grid = 'ceil_div(n, 256)', "
      .. "block = 256, args = { 'x', 'y', 'z', 'a', '%s' } } }"):format(argument))
    return pg.check(SAXPY, folder, { device = "sim" }).findings
  end
  local size = SAXPY.params.n.default
  local text = ("n - (n == %d) * 0"):format(size)
  lu.assertEquals(found("n"), {})
  lu.assertEquals(found(text)[1].kind, "size_branch")
  lu.assertStrContains(found(text)[1].text, ("tells n = %d, the timed size"):format(size))
  lu.assertEquals(found(("n - (n >= %d) * 0"):format(size)), {})
end

function TestJudged:test_a_candidate_that_fails_has_findings_too()
  local rec = check("if (n > 300) return;")
  lu.assertEquals(rec.verdict, "unwritten_output")
  lu.assertEquals(rec.findings[1].text,
    "branches on n > 300: one way from there nothing is stored")
end

function TestJudged:test_a_kernel_that_is_not_launched_does_not_count()
  local rec = pg.check(SAXPY, { source = KERNEL:format("") .. [[

__device__ int memo;
extern "C" __global__ void other() { memo = 1; }]] }, { device = "sim" })
  lu.assertEquals(rec.audit.entries, 2)
  lu.assertNil(rec.audit.facts.global_state)
end

function TestJudged:test_a_run_has_them_too()
  local session <close> = judge.session { device = "sim" }
  session:run(SAXPY, { impls = { "naive" } }, function(rec)
    lu.assertNotNil(rec.audit.facts.fma)
  end)
end

-- ---- required and forbidden facts ----

TestContract = {}

local function task_with(fields)
  local declared = {
    name = "test/sums", params = { n = { default = 512, check = { 64 }, sim = 64 } },
    inputs = function(p, rng)
      return { x = rng:array("u32", p.n, { dist = "integer", first = 0, last = 127 }) }
    end,
    outputs = function(p) return { y = pg.spec("i32", p.n) } end,
    kernel = "void sums(const unsigned* x, int* y, int n)",
    launch = { grid = "ceil_div(n, 64)", block = 64 },
    reference = function(_, io) return { y = io.x } end, validate = "exact",
  }
  for name, value in pairs(fields) do declared[name] = value end
  return pg.task(declared)
end

local DP4A = [[
extern "C" __global__ void sums(const unsigned* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __dp4a((int)x[i], 0x01010101, 0);
}]]
local MASKS = [[
extern "C" __global__ void sums(const unsigned* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0;
  for (int k = 0; k < 4; k++) s += x[i] >> 8 * k & 255;
  y[i] = s;
}]]

local function verdict_of(fields, source, lang)
  return pg.check(task_with(fields), { source = source, lang = lang }, { device = "sim" })
end

function TestContract:setUp()
  if not core.compiler_info() then lu.skip("no NVRTC on this machine") end
end

function TestContract:test_what_is_required()
  lu.assertEquals(verdict_of({ require = { "dp4a" } }, DP4A).verdict, "passed")
  local rec = verdict_of({ require = { "dp4a" } }, MASKS)
  lu.assertEquals(rec.verdict, "forbidden")
  lu.assertEquals(rec.reason, "the task requires dp4a (dot products of four 8-bit integers): no "
    .. "kernel that is launched has it")
  lu.assertEquals(rec.findings[1].kind, "forbidden")
  lu.assertEquals(rec.findings[1].fact, "dp4a")
  lu.assertNil(rec.time)
end

function TestContract:test_alternatives()
  lu.assertEquals(verdict_of({ require = { "mma_s8 | dp4a" } }, DP4A).verdict, "passed")
  local rec = verdict_of({ require = { "dp4a|mma_s8" } }, MASKS)
  lu.assertStrContains(rec.reason, "dp4a (dot products of four 8-bit integers) or mma_s8 (")
end

function TestContract:test_what_is_forbidden_has_its_line()
  lu.assertEquals(verdict_of({ forbid = { "dp4a" } }, MASKS).verdict, "passed")
  local rec = verdict_of({ forbid = { "mma_s8 | dp4a" } }, DP4A)
  lu.assertEquals(rec.verdict, "forbidden")
  lu.assertEquals(rec.reason, "the task forbids dp4a (dot products of four 8-bit integers): "
    .. "dp4a.s32.s32 in candidate.cu:3")
  lu.assertEquals(rec.findings[1].where, "candidate.cu:3")
end

function TestContract:test_it_holds_for_implementations_too()
  local rec = pg.run(task_with { forbid = { "dp4a" },
    impls = { naive = { "cuda", source = DP4A } } }, { device = "sim" })[1]
  lu.assertEquals(rec.verdict, "forbidden")
end

function TestContract:test_it_may_depend_on_parameters()
  local varied = task_with { require = function(p) return p.n > 100 and { "dp4a" } or {} end }
  lu.assertEquals(varied:facts_of("require", { n = 1 }), {})
  lu.assertEquals(varied:facts_of("require", { n = 512 }), { "dp4a" })
  local wrong = task_with { forbid = function() return { "dp4" } end }
  local ok, e = pcall(wrong.facts_of, wrong, "forbid", {})
  lu.assertFalse(ok)
  lu.assertEquals(e.hint, "did you mean 'dp4a'?")
end

function TestContract:test_a_misspelt_fact_is_an_error_of_the_task()
  for text, message in pairs { dp4 = "require: no fact is called 'dp4'",
    ["dp4a | x"] = "require: no fact is called 'x'", ["|"] = "require: '|' names no fact" } do
    local ok, e = pcall(task_with, { require = { text } })
    lu.assertFalse(ok)
    lu.assertStrContains(e.message, message)
    lu.assertStrContains(e.where, "test_audit.lua:")
  end
end

function TestContract:test_describe_says_it()
  local lines = {}
  require("perigee.describe_text").print(task_with { require = { "dp4a | mma_s8" },
    forbid = { "f64_arithmetic" } }, function(line) lines[#lines + 1] = line end)
  local text = table.concat(lines, "\n")
  lu.assertStrContains(text, "its PTX must have dp4a (dot products of four 8-bit integers) or mma_")
  lu.assertStrContains(text, "its PTX must not have f64_arithmetic (scalar f64 arithmetic)")
end

-- The simulator refuses it when it is loaded, so this asks the audit alone.
function TestContract:test_memory_that_kernels_allocate_is_not_supported()
  local function failure(body)
    local arm = { case = { task = task_with {}, signatures = {} }, p = { n = 64 }, steps = {},
      built = {}, impl = { shown = "x.ptx" }, kernel_names = { "sums" }, key = body,
      ptx = ".version 8.0 .target sm_80 .address_size 64 .extern .func (.param .b64 r) malloc "
        .. "(.param .b64 n); .visible .entry sums() { " .. body .. " ret; }" }
    return audit.arm(arm)
  end
  lu.assertNil(failure "")
  local refused = failure "{ .param .b64 f; .param .b64 r; call.uni (r), malloc, (f); }"
  lu.assertEquals(refused.verdict, "unsupported")
  lu.assertStrContains(refused.reason, "keeps what is in it from launch to launch")
end

-- A driver may accept what the audit does not know, and the simulator refuses it anyway; so this
-- asks the audit alone.
function TestContract:test_what_cannot_be_read_cannot_keep_a_contract()
  local function failure(fields, foreign)
    local arm = { case = { task = task_with(fields), signatures = {} }, p = { n = 64 }, steps = {},
      built = {}, ptx = ".version 99.9 .new_directive",
      impl = { shown = "x.ptx", foreign = foreign }, kernel_names = { "sums" }, key = "k" }
    return audit.arm(arm), arm.audit
  end
  local broken = failure { require = { "dp4a" } }
  lu.assertEquals(broken.verdict, "forbidden")
  lu.assertStrContains(broken.reason, "the audit cannot read this PTX")
  local none, seen = failure {}
  lu.assertNil(none)
  lu.assertEquals(seen.findings[1].severity, "suspicious")
  local strange = failure({}, true)
  lu.assertEquals(strange.verdict, "unsupported")
  lu.assertStrContains(strange.reason, "the audit cannot read this PTX")
end

os.exit(lu.LuaUnit.run())
