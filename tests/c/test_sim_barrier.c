/* Barriers in shared memory (tests/ptx/sim_barrier.cu), with no finding of sim:check; what nvcc
 * does not emit for them, and elect, by hand. */
#include "sim_tests.h"

static int open_plain(void **state) {
  (void)state;
  sim_open(PG_SIM_PLAIN, 2, "tests/ptx/sim_barrier.ptx");
  return 0;
}
static int open_check(void **state) {
  (void)state;
  sim_open(PG_SIM_CHECK, 1, "tests/ptx/sim_barrier.ptx");
  return 0;
}
static int open_empty_check(void **state) {
  (void)state;
  sim_open(PG_SIM_CHECK, 1, NULL);
  return 0;
}

static void hand_over(void **state) {
  (void)state;
  enum { ROUNDS = 9 };
  int in[ROUNDS * 32], out[32];
  for (int i = 0; i < ROUNDS * 32; i++) in[i] = i * 7 % 101;
  pg_ptr di = put(in, sizeof in, "in"), dy = put(NULL, sizeof out, "out");
  ok(launch("hand_over", 1, 64, 0, and_int(with(2, di, dy), ROUNDS)));
  get(out, dy, sizeof out);
  for (int lane = 0; lane < 32; lane++) {
    int want = 0;
    for (int i = 0; i < ROUNDS; i++) want += in[i * 32 + 31 - lane] * (i + 1);
    assert_int_equal(out[lane], want);
  }
}

static void copies(void **state) {
  (void)state;
  int in[128], out[128];
  for (int i = 0; i < 128; i++) in[i] = i * i;
  pg_ptr di = put(in, sizeof in, "in"), dy = put(NULL, sizeof out, "out");
  ok(launch("copies", 1, 128, 0, with(2, di, dy)));
  get(out, dy, sizeof out);
  for (int i = 0; i < 128; i++) assert_int_equal(out[i], in[127 - i]);
}

/* Bytes that are expected hold a phase up; parity tells phases apart; one lane is elected. */
static void transactions(void **state) {
  (void)state;
  sim_load(
      ".entry k(.param .u64 out) {\n"
      ".shared .align 8 .b64 b; .reg .u64 %o, %s; .reg .u32 %t, %e, %r<8>; .reg .pred %p, %q;\n"
      "mov.u32 %t, %tid.x; ld.param.u64 %o, [out];\n"
      "setp.lo.u32 %p, %t, 4; @%p bra DONE;\n"
      "elect.sync %e|%q, 0xfffffff0;\n"
      "@!%q bra DONE;\n"
      "mbarrier.init.shared.b64 [b], 2;\n"
      "mbarrier.expect_tx.relaxed.cta.shared.b64 [b], 48;\n"
      "mbarrier.arrive.shared.b64 %s, [b]; mbarrier.pending_count.b64 %r0, %s;\n"
      "mbarrier.arrive.expect_tx.shared.b64 %s, [b], 16; mbarrier.pending_count.b64 %r1, %s;\n"
      "mbarrier.test_wait.shared.b64 %p, [b], %s; selp.u32 %r2, 1, 0, %p;\n"
      "mbarrier.complete_tx.relaxed.cta.shared.b64 [b], 60;\n"
      "mbarrier.try_wait.parity.shared.b64 %p, [b], 0; selp.u32 %r3, 1, 0, %p;\n"
      "mbarrier.complete_tx.relaxed.cta.shared.b64 [b], 4;\n"
      "mbarrier.try_wait.parity.shared.b64 %p, [b], 0; selp.u32 %r4, 1, 0, %p;\n"
      "mbarrier.test_wait.parity.shared.b64 %p, [b], 1; selp.u32 %r5, 1, 0, %p;\n"
      "mbarrier.arrive_drop.shared.b64 _, [b]; mbarrier.arrive.shared.b64 _, [b];\n"
      "mbarrier.test_wait.parity.shared.b64 %p, [b], 1; selp.u32 %r6, 1, 0, %p;\n"
      "mbarrier.inval.shared.b64 [b];\n"
      "st.global.v4.u32 [%o], {%r0, %r1, %r2, %r3}; st.global.v4.u32 [%o+16], {%r4, %r5, %r6, "
      "%e};\n"
      "DONE: ret; }\n");
  uint32_t got[8], want[8] = {2, 1, 0, 0, 1, 0, 1, 4};
  pg_ptr out = put(NULL, sizeof got, "out");
  ok(launch("k", 1, 32, 0, with(1, out)));
  get(got, out, sizeof got);
  for (int i = 0; i < 8; i++) assert_int_equal(got[i], want[i]);
}

static void too_many_arrivals(void **state) {
  (void)state;
  sim_load(".entry k() { .shared .align 8 .b64 b; .reg .u32 %t; .reg .pred %p;\n"
           "mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [b], 2; "
           "bar.sync 0;\n"
           "mbarrier.arrive.shared.b64 _, [b], 3; ret; }\n");
  assert_int_equal(launch("k", 1, 32, 0, with(0)), PG_LAUNCH);
  assert_non_null(strstr(fault().text, "more arrivals at an mbarrier"));
}

/* A 128-bit ticket: every thread swaps in its successor of what it found; none is lost. */
static void wide_compare_and_swap(void **state) {
  (void)state;
  sim_load(
      ".entry k(.param .u64 at) {\n"
      ".reg .b128 %old, %new, %seen; .reg .b64 %a, %lo, %hi, %l2, %h2, %x, %y; .reg .pred %p;\n"
      "ld.param.u64 %a, [at]; ld.global.b128 %seen, [%a];\n"
      "L: mov.b128 %old, %seen; mov.b128 {%lo, %hi}, %old; add.u64 %l2, %lo, 1; sub.u64 %h2, %hi, "
      "3;\n"
      "mov.b128 %new, {%l2, %h2}; atom.global.cas.b128 %seen, [%a], %old, %new;\n"
      "mov.b128 {%x, %y}, %seen; setp.ne.u64 %p, %x, %lo; @%p bra L; ret; }\n");
  uint64_t pair[2] = {100, 7};
  pg_ptr at = put(pair, sizeof pair, "pair");
  ok(launch("k", 6, 96, 0, with(1, at)));
  get(pair, at, sizeof pair);
  assert_int_equal(pair[0], 100 + 6 * 96);
  assert_true(pair[1] == (uint64_t)7 - 3 * 6 * 96);
}

/* The number of a barrier may be in a register, as inline assembly has it: pairs of warps meet at
 * barriers 3 and 4, and each reads what its partner wrote, which is ordered by that alone. */
static void numbers_in_registers(void **state) {
  (void)state;
  sim_load(".entry k(.param .u64 out) {\n"
           ".reg .u32 %t, %n, %c, %at, %v; .reg .u64 %o, %a; .shared .align 4 .u32 x[128];\n"
           "mov.u32 %t, %tid.x; shl.b32 %at, %t, 2; mov.u32 %v, x; add.u32 %v, %v, %at;\n"
           "st.shared.u32 [%v], %t; mov.u32 %c, 64;\n"
           "shr.u32 %n, %t, 6; add.u32 %n, %n, 3; bar.sync %n, %c;\n"
           "xor.b32 %at, %at, 128; mov.u32 %v, x; add.u32 %v, %v, %at; ld.shared.u32 %v, [%v];\n"
           "ld.param.u64 %o, [out]; mul.wide.u32 %a, %t, 4; add.u64 %o, %o, %a;\n"
           "st.global.u32 [%o], %v; ret; }\n");
  uint32_t out[128];
  pg_ptr at = put(NULL, sizeof out, "out");
  ok(launch("k", 1, 128, 0, with(1, at)));
  get(out, at, sizeof out);
  for (uint32_t i = 0; i < 128; i++) assert_int_equal(out[i], i ^ 32);
}

#define LANES_APART(opcode)                                                             \
  ".entry k() { .reg .u32 %n, %c; mov.u32 %n, %laneid; and.b32 %n, %n, 1; mov.u32 %c, " \
  "32;\n" opcode " %n, %c; ret; }\n"

/* Lanes of one warp at two barriers: each has half of two warps; not for bar, which whole warps
 * must execute. */
static void lanes_at_two_barriers(void **state) {
  (void)state;
  sim_load(LANES_APART("barrier.sync"));
  ok(launch("k", 1, 64, 0, with(0)));
  sim_load(LANES_APART("bar.sync"));
  assert_int_equal(launch("k", 1, 64, 0, with(0)), PG_LAUNCH);
  assert_int_equal(fault().kind, PG_FAULT_DIVERGENCE);
}

static void barrier_sixteen(void **state) {
  (void)state;
  sim_load(".entry k() { .reg .u32 %n; mov.u32 %n, 16; bar.sync %n; ret; }\n");
  assert_int_equal(launch("k", 1, 32, 0, with(0)), PG_LAUNCH);
  assert_non_null(strstr(fault().text, "barrier 16: they are numbered from 0 to 15"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name, open) cmocka_unit_test_setup_teardown(name, open, sim_close)
      TEST(numbers_in_registers, open_empty_check),
      TEST(lanes_at_two_barriers, open_empty_check),
      TEST(barrier_sixteen, open_empty_check),
      TEST(hand_over, open_plain),
      TEST(copies, open_plain),
      TEST(hand_over, open_check),
      TEST(copies, open_check),
      TEST(transactions, sim_open_empty),
      TEST(transactions, open_empty_check),
      TEST(too_many_arrivals, sim_open_empty),
      TEST(wide_compare_and_swap, open_plain),
      TEST(wide_compare_and_swap, sim_open_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
