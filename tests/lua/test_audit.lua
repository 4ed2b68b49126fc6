-- The audit: facts of PTX by name, findings that a reader should know, and where both stand in
-- records and reports.
local lu = require "luaunit"
local pg = require "perigee"
local core = require "perigee.core"
local audit = require "perigee.audit"
local facts = require "perigee.facts"
local judge = require "perigee.judge"

local HEAD = [[
.version 9.0
.target sm_90a
.address_size 64
.global .u32 memo[64];
.const .u32 small[2] = {1, 2};
.global .u32 table[4] = {1, 2, 3, 4};
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 b, .param .b64 s);
]]
local REGS = [[
.reg .u64 %o, %d<4>; .reg .u32 %n<9>; .reg .f32 %f<40>; .reg .f64 %g<4>; .reg .b16 %h<9>;
.reg .pred %p<6>; .reg .b32 %r<64>; .reg .s32 %s<9>; .shared .align 16 .b8 sh[1024];
]]

local function module(text)
  return facts.read(HEAD .. text, "t.ptx")
end

-- Facts of a kernel of this body.
local function of(body)
  local read = module(".entry k(.param .u64 out, .param .u32 n) {\n" .. REGS .. body .. "\nret; }")
  lu.assertNil(read.unreadable)
  return facts.of(read, { "k" })
end

local function names(body)
  local list = {}
  for name in pairs(of(body).facts) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, " ")
end

TestFacts = {}

-- One or two instructions and all the facts that are in them.
local CASES = {
  { "fma.rn.f32 %f1, %f2, %f3, %f4;", "f32_arithmetic fma" },
  { "fma.rn.ftz.f32 %f1, %f2, %f3, %f4;", "f32_arithmetic flush_to_zero fma" },
  { "add.f64 %g1, %g2, %g3;", "f64_arithmetic" },
  { "fma.rn.f16 %h1, %h2, %h3, %h4;", "f16_accumulate f16_arithmetic fma" },
  { "mul.f16x2 %r1, %r2, %r3;", "f16_arithmetic" },
  { "fma.rn.bf16x2 %r1, %r2, %r3, %r4;", "bf16_arithmetic fma" },
  { "add.s32 %s1, %s2, %s3;", "" },
  { "dp4a.s32.s32 %s1, %s2, %s3, %s4;", "dp4a" },
  { "dp2a.lo.s32.s32 %s1, %s2, %s3, %s4;", "dp2a" },
  { "ex2.approx.ftz.f32 %f1, %f2;", "approximate f32_arithmetic flush_to_zero" },
  { "div.full.f32 %f1, %f2, %f3;", "approximate f32_arithmetic" },
  { "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
    .. "{%r4,%r5}, {%f0,%f1,%f2,%f3};", "mma_f16 tensor_core" },
  { "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r8,%r9}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
    .. "{%r8,%r9};", "f16_accumulate mma_f16 tensor_core" },
  { "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, "
    .. "{%r4,%r5}, {%f0,%f1,%f2,%f3};", "mma_tf32 tensor_core" },
  { "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r8,%r9,%r10,%r11}, {%r0,%r1,%r2,%r3}, "
    .. "{%r4,%r5}, {%r8,%r9,%r10,%r11};", "mma_s8 tensor_core" },
  { "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, %d1, %d2, 1, 1, 1, 0, "
    .. "0;", "mma_bf16 tensor_core" },
  { "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e5m2 {%r0,%r1}, %d1, %d2, 1, 1, 1;",
    "f16_accumulate mma_f8 tensor_core" },
  { "wgmma.fence.sync.aligned; wgmma.wait_group.sync.aligned 0;", "" },
  { "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
    .. "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, {%r8,%r9,%r10,%r11,%r12,%r13,%r14,%r15}, "
    .. "{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};", "mma_f16 tensor_core" },
  { "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%o];", "" },
  { "ld.global.v4.f32 {%f0,%f1,%f2,%f3}, [%o];", "vector_access" },
  { "ld.global.nc.f32 %f0, [%o];", "read_only_load" },
  { "ld.shared.v2.f32 {%f0,%f1}, [sh];", "shared_memory" },
  { "st.volatile.global.f32 [%o], %f0;", "volatile_access" },
  { "cp.async.ca.shared.global [sh], [%o], 16;", "async_copy shared_memory" },
  { "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sh], [%o], 16, [sh+64];",
    "bulk_copy cluster shared_memory" },
  { "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [sh], [%o, {%s1,%s2}],"
    .. " [sh+64];", "bulk_copy shared_memory tensor_map" },
  { "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [sh];", "ldmatrix shared_memory" },
  { "atom.global.add.u32 %n1, [%o], 1;", "global_atomic" },
  { "red.add.f32 [%o], %f1;", "float_atomic global_atomic" },
  { "atom.shared.cas.b32 %r1, [sh], 1, 2;", "shared_atomic shared_memory" },
  { "atom.global.sys.acq_rel.add.u32 %n1, [%o], 1;", "global_atomic ordered_access system_scope" },
  { "ld.acquire.gpu.global.u32 %n1, [%o];", "ordered_access" },
  { "fence.acq_rel.gpu;", "fence ordered_access" },
  { "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", "shuffle" },
  { "vote.sync.ballot.b32 %r1, %p1, -1;", "vote" },
  { "redux.sync.add.s32 %s1, %s2, -1;", "redux" },
  { "bar.sync 0;", "block_barrier" },
  { "bar.warp.sync -1;", "" },
  { "barrier.cluster.arrive; barrier.cluster.wait;", "cluster" },
  { "mbarrier.init.shared.b64 [sh], 1;", "mbarrier shared_memory" },
  { "prefetch.global.L2 [%o];", "prefetch" },
  { "cp.async.bulk.prefetch.L2.global [%o], 64;", "bulk_copy prefetch" },
  { "ld.global.cs.f32 %f0, [%o];", "cache_hint" },
  { "ld.global.L2::evict_last.f32 %f0, [%o];", "cache_policy" },
  { "createpolicy.fractional.L2::evict_last.b64 %d1, 1.0;", "cache_policy" },
  { "createpolicy.fractional.L2::evict_first.b64 %d1, 1.0;", "cache_hint" },
  { "discard.global.L2 [%o], 128;", "cache_policy" },
  { "applypriority.global.L2::evict_normal [%o], 128;", "cache_policy" },
  { "mov.u64 %d1, %clock64;", "clock" },
  { "mov.u64 %d1, %globaltimer;", "clock" },
  { "mov.u32 %n1, %smid; mov.u32 %n2, %laneid;", "placement" },
  { "nanosleep.u32 100;", "sleep" },
  { "griddepcontrol.wait;", "dependent_launch" },
  { "@%p1 trap;", "trap" },
  { "{ .param .b64 f; .param .b64 a; .param .b32 r; call.uni (r), vprintf, (f, a); }", "print" },
  { "{ .param .b64 f; .param .b64 r; call.uni (r), malloc, (f); }", "allocate" },
  { "{ .param .b64 f; .param .b64 a; .param .b32 r; call.uni (r), cudaLaunchDeviceV2, (f, a); }",
    "child_launch" },
  { "st.global.u32 [memo], 1;", "global_state" },
  { "ld.global.u32 %n1, [memo];", "" },
  { "ld.const.u32 %n1, [small];", "constant_table" },
  { "mov.u64 %d1, table; ld.global.u32 %n1, [%d1+4];", "constant_table" },
  { "ld.param.u32 %n1, [n]; setp.eq.u32 %p1, %n1, 4096;", "size_branch" },
  { "bra $e; bar.sync 0; $e:", "" },
}

function TestFacts:test_each_instruction()
  for _, case in ipairs(CASES) do lu.assertEquals(names(case[1]), case[2], case[1]) end
end

function TestFacts:test_every_name_is_found_somewhere()
  local seen = {}
  for _, case in ipairs(CASES) do
    for name in case[2]:gmatch("%S+") do seen[name] = true end
  end
  local missing = {}
  for _, name in ipairs(facts.NAMES) do
    if not seen[name] then missing[#missing + 1] = name end
    lu.assertNotNil(facts.doc(name), name)
  end
  -- These are in the test below.
  lu.assertEquals(table.concat(missing, " "),
    "mma_f64 mma_s4 mma_b1 local_memory event_counter assert indirect_call")
end

function TestFacts:test_the_rest_of_the_names()
  lu.assertEquals(names("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g0,%g1}, {%g2}, {%g3}, "
    .. "{%g0,%g1};"), "mma_f64 tensor_core")
  lu.assertEquals(names("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%s0,%s1}, {%r2}, {%r3}, "
    .. "{%s0,%s1};"), "mma_s4 tensor_core")
  lu.assertEquals(names("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%s0,%s1}, "
    .. "{%r2}, {%r3}, {%s0,%s1};"), "mma_b1 tensor_core")
  lu.assertEquals(names(".local .b32 spill[4]; st.local.u32 [spill], 1;"), "local_memory")
  lu.assertEquals(names("pmevent 1;"), "event_counter")
  lu.assertEquals(names("mov.u32 %n1, %pm0;"), "event_counter")
  lu.assertEquals(names("{ proto: .callprototype ()_(); call %d1, (), proto; }"), "indirect_call")
  local read = facts.read(HEAD
    .. ".extern .func __assertfail();\n.entry k() { call __assertfail; }", "t.ptx")
  lu.assertNotNil(facts.of(read, { "k" }).facts.assert)
end

function TestFacts:test_a_fact_counts_and_has_the_first_place()
  local found = of("add.f64 %g1, %g2, %g3;\nmul.f64 %g1, %g2, %g3;\nmul.f64 %g1, %g1, %g3;").facts
  local line = select(2, (HEAD .. REGS):gsub("\n", "")) + 2
  lu.assertEquals(found.f64_arithmetic, { count = 3, text = "add.f64", where = "t.ptx:" .. line })
end

function TestFacts:test_the_place_is_the_sources_where_the_ptx_says_it()
  local found = of('.loc 1 17 3\nadd.f64 %g1, %g2, %g3;').facts
  lu.assertEquals(found.f64_arithmetic.where:match("^t%.ptx:"), "t.ptx:") -- no .file gave a name
  local read = facts.read(HEAD .. '.file 1 "mine.cu"\n.entry k() {' .. REGS
    .. ".loc 1 17 3\nadd.f64 %g1, %g2, %g3;\nret; }", "t.ptx")
  lu.assertEquals(facts.of(read, { "k" }).facts.f64_arithmetic.where, "mine.cu:17")
end

function TestFacts:test_kernels_and_what_they_call()
  local read = module([[
.func helper() { .reg .f64 %g<2>; add.f64 %g0, %g1, %g1; ret; }
.func through() { call helper; ret; }
.entry a() { call through; ret; }
.entry b() { bar.sync 0; ret; }
.entry c() { .reg .u64 %d; call %d, (), proto; proto: .callprototype ()_(); ret; }
]])
  lu.assertNil(read.unreadable)
  local function has(kernel, name) return facts.of(read, { kernel }).facts[name] ~= nil end
  lu.assertTrue(has("a", "f64_arithmetic"))
  lu.assertFalse(has("a", "block_barrier"))
  lu.assertFalse(has("b", "f64_arithmetic"))
  lu.assertTrue(has("c", "f64_arithmetic")) -- a call by address may go there
  lu.assertFalse(has("c", "block_barrier")) -- but not to another kernel
  local both = facts.of(read, { "a", "b" }).facts
  lu.assertNotNil(both.f64_arithmetic)
  lu.assertNotNil(both.block_barrier)
end

-- Ways to write a variable of the module: the names that are said to be written.
local WRITES = {
  { "st.global.u32 [memo+4], 1;", "memo" },
  { "mov.u64 %d1, memo; add.s64 %d2, %d1, %o; atom.exch.b32 %r1, [%d2], 1;", "memo" },
  { "mov.u64 %d1, memo; st.global.u64 [%o], %d1;", "memo" }, -- for another launch to follow
  { "mov.u64 %d1, memo; st.shared.u64 [sh], %d1;", "memo" },
  { "mov.u64 %d1, memo; mov.b64 {%r1, %r2}, %d1; shfl.sync.idx.b32 %r3, %r1, 0, 31, -1; "
    .. "mov.b64 %d2, {%r3, %r2}; st.u32 [%d2], 1;", "memo" },
  { "mov.u64 %d1, memo; { .param .b64 p; st.param.b64 [p], %d1; call put, (p); }", "memo" },
  { "mov.u64 %d1, memo; mov.u64 %d2, table; selp.b64 %d3, %d1, %d2, %p1; st.u32 [%d3], 1;", "*" },
  { "ld.global.u64 %d1, [pointer]; st.global.u32 [%d1], 1;", "memo" },
  { "mov.u64 %d1, memo; ld.global.u32 %n1, [%d1]; st.global.u32 [%o], %n1;", "" },
  { "mov.u64 %d1, sh; st.shared.u64 [sh], %d1;", "" },
  { "mov.u64 %d1, $str; { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d1; "
    .. "call.uni (r), vprintf, (f, a); }", "" },
}

function TestFacts:test_variables_of_the_module_that_are_written()
  for _, case in ipairs(WRITES) do
    local read = module(".global .u64 pointer = generic(memo);\n.global .b8 $str[4] = {37, 100};\n"
      .. ".func put(.param .b64 p) { .reg .u64 %d; ld.param.u64 %d, [p]; st.u32 [%d], 1; ret; }\n"
      .. ".entry k(.param .u64 out, .param .u32 n) {\n" .. REGS .. case[1] .. "\nret; }")
    lu.assertNil(read.unreadable)
    local found, list = facts.of(read, { "k" }), {}
    for name in pairs(found.state) do list[#list + 1] = name end
    lu.assertEquals(table.concat(list, " "), case[2], case[1])
    lu.assertEquals(found.facts.global_state ~= nil, case[2] ~= "", case[1])
    -- From one variable an index leads to the next: all are given back their values.
    lu.assertEquals(found.globals, case[2] == "" and {} or { memo = 256, table = 16, pointer = 8,
      ["$str"] = 4 }, case[1])
  end
end

function TestFacts:test_functions_that_call_each_other_end()
  local read = module([[
.func second();
.func first() { call second; ret; }
.func second() { call first; ret; }
.entry k() { call first; ret; }
]])
  lu.assertNotNil(facts.of(read, { "k" }).facts)
end

function TestFacts:test_text_that_is_no_ptx()
  local read = facts.read("no PTX at all", "bad.ptx")
  lu.assertStrContains(read.unreadable, "bad.ptx:1")
  for _, wrong in ipairs { {}, { 1 }, { "x", 2 } } do
    lu.assertFalse((pcall(core.ptx_facts, table.unpack(wrong))))
  end
end

-- What cannot be read may write whatever it declares.
function TestFacts:test_variables_of_text_that_cannot_be_read()
  local read = facts.read(".version 99.0 new\n.visible .global .align 4 .u32 a[2] = {1, 2};\n"
    .. ".global .b8 b;\n.const .u32 c[2];\n.weak .global .align 8 .b8 d$1[1][2];", "t.ptx")
  lu.assertNotNil(read.unreadable)
  lu.assertEquals(read.globals, { a = 0, b = 0, ["d$1"] = 0 })
end

local function repeated(n, line)
  local lines = {}
  for i = 1, n do lines[i] = line:format(i) end
  return facts.read(HEAD .. ".entry k(.param .u32 n) {\n" .. REGS .. "ld.param.u32 %n0, [n];\n"
    .. table.concat(lines, "\n") .. "\nret; }", "t.ptx")
end

function TestFacts:test_text_made_to_be_slow_or_large()
  local since = core.now()
  lu.assertStrContains(repeated(140000, "add.x%d %%n1, %%n1, %%n2;").unreadable, "so many kinds")
  lu.assertStrContains(repeated(1 << 17, "// " .. "%d" .. (" "):rep(130)).unreadable,
    "more than 16 MiB")
  local read = repeated(20000, "add.s32 %%n0, %%n0, 1; setp.eq.u32 %%p1, %%n0, 1000;")
  lu.assertTrue(facts.of(read, { "k" }).test_count > 64)
  lu.assertTrue(core.now() - since < 30)
end

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
  local how = { device = "sim", seed = 5 }
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
  local function failure(fields)
    local arm = { case = { task = task_with(fields), signatures = {} }, p = { n = 64 }, steps = {},
      built = {}, ptx = ".version 99.9 .new_directive", impl = { shown = "x.ptx" },
      kernel_names = { "sums" }, key = "k" }
    return audit.arm(arm), arm.audit
  end
  local broken = failure { require = { "dp4a" } }
  lu.assertEquals(broken.verdict, "forbidden")
  lu.assertStrContains(broken.reason, "the audit cannot read this PTX")
  local none, seen = failure {}
  lu.assertNil(none)
  lu.assertEquals(seen.findings[1].severity, "suspicious")
end

os.exit(lu.LuaUnit.run())
