-- Facts of PTX by name: what its instructions say of kernels, and variables that outlive a launch.
package.path = "tests/lua/?.lua;" .. package.path
local lu = require "luaunit"
local core = require "perigee.core"
local facts = require "perigee.facts"
local ptx_text = require "ptx_text"

local HEAD, REGS, module = ptx_text.HEAD, ptx_text.REGS, ptx_text.module

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
  { "fma.rn.f16 %h1, %h2, %h3, %h4;", "f16_arithmetic fma" },
  { "red.global.add.noftz.f16x2 [%o], %r1;", "f16_accumulate float_atomic global_atomic" },
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

-- Bodies with additions in f16, and whether they are sums. %h1 comes from elsewhere.
local SUMS = {
  { "add.f16 %h2, %h1, %h1;", false }, -- a bias on a rounded result
  { "add.f16 %h2, %h1, %h1; add.f16 %h3, %h2, %h1;", false }, -- and another
  { "add.f16 %h2, %h1, %h1; fma.rn.f16 %h3, %h1, %h1, %h2; sub.f16 %h4, %h3, %h1;", true },
  { "fma.rn.f16 %h2, %h1, %h1, %h1; fma.rn.f16 %h3, %h2, %h1, %h1; fma.rn.f16 %h4, %h3, %h1, %h1;"
    .. "fma.rn.f16 %h5, %h4, %h1, %h1;", false }, -- a polynomial goes on in its factors
  { "$l: fma.rn.f16 %h2, %h1, %h1, %h2; @%p1 bra $l;", true },
  { "$l: fma.rn.f16x2 %r3, %r1, %r1, %r2; mov.b32 %r2, %r3; @%p1 bra $l;", true },
  { "mov.b32 %r2, 0; $l: fma.rn.f16x2 %r3, %r1, %r1, %r2; mov.b32 %r2, %r3; @%p1 bra $l;", true },
  { "$l: mul.f16 %h2, %h1, %h1; add.f16 %h3, %h2, %h1; @%p1 bra $l;", false },
  { "add.f16x2 %r2, %r1, %r1; shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; add.f16x2 %r4, %r3, %r2;"
    .. "shfl.sync.bfly.b32 %r5, %r4, 2, 31, -1; add.f16x2 %r6, %r5, %r4;", true },
  { "add.bf16 %h2, %h1, %h1; add.bf16 %h3, %h2, %h1; add.bf16 %h4, %h3, %h1;", false },
}

function TestFacts:test_sums_in_half_precision()
  for _, case in ipairs(SUMS) do
    lu.assertEquals(of(case[1]).facts.f16_accumulate ~= nil, case[2], case[1])
  end
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

os.exit(lu.LuaUnit.run())
