/* The order in which a grid's blocks start: that of their index, and with a seed another one, in
 * which those who wait for lower blocks still get on. */
#include "sim_tests.h"

enum { BLOCKS = 100, MANY = 700 };

/* ticket: every block draws one. chain: every block waits for the one before it. */
static const char KERNELS[] =
    ".visible .entry ticket(.param .u64 p_next, .param .u64 p_out) {\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [p_next]; ld.param.u64 %rd2, [p_out]; mov.u32 %r1, %ctaid.x;\n"
    "atom.global.add.u32 %r2, [%rd1], 1;\n"
    "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd2, %rd3; st.global.u32 [%rd3], %r2;\nret;\n}\n"
    ".visible .entry chain(.param .u64 p_flags, .param .u64 p_out) {\n"
    ".reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<6>;\n"
    "ld.param.u64 %rd1, [p_flags]; ld.param.u64 %rd2, [p_out]; mov.u32 %r1, %ctaid.x;\n"
    "mov.u32 %r2, %tid.x; setp.ne.u32 %p1, %r2, 0; @%p1 ret;\n"
    "mul.wide.u32 %rd3, %r1, 4; add.u64 %rd4, %rd1, %rd3; mov.u32 %r3, 0;\n"
    "setp.eq.u32 %p2, %r1, 0; @%p2 bra MINE;\n"
    "WAIT: ld.acquire.gpu.global.u32 %r3, [%rd4+-4]; setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT;\n"
    "MINE: add.u32 %r3, %r3, %r1; add.u64 %rd5, %rd2, %rd3; st.global.u32 [%rd5], %r3;\n"
    "add.u32 %r3, %r3, 1; st.release.gpu.global.u32 [%rd4], %r3;\nret;\n}\n";

static void open_seeded(pg_sim_mode mode, int workers, uint64_t seed) {
  pg_sim_options options = {.mode = mode, .workers = workers, .seed = seed, .limit_s = 60};
  ok(pg_sim_open(&options, &sim.device, &sim.error));
  sim_load(KERNELS);
}

/* Which ticket each block drew. */
static void tickets(uint64_t seed, uint32_t out[BLOCKS]) {
  open_seeded(PG_SIM_CHECK, 1, seed);
  pg_ptr next = put(NULL, 4, "next"), to = put(NULL, 4 * BLOCKS, "out");
  ok(launch("ticket", BLOCKS, 1, 0, with(2, next, to)));
  get(out, to, 4 * BLOCKS);
  sim_close(NULL);
}

static void test_a_kernel_that_is_right_by_the_order_of_blocks_fails_with_a_seed(void **state) {
  (void)state;
  uint32_t out[BLOCKS], again[BLOCKS];
  int in_order = 0;
  tickets(0, out);
  for (uint32_t i = 0; i < BLOCKS; i++) assert_int_equal(out[i], i);
  for (uint64_t seed = 1; seed <= 8; seed++) {
    bool seen[BLOCKS] = {false}, ordered = true;
    tickets(seed, out);
    tickets(seed, again);
    assert_memory_equal(out, again, sizeof out); /* a seed repeats */
    for (uint32_t i = 0; i < BLOCKS; i++) {
      assert_true(out[i] < BLOCKS && !seen[out[i]]); /* every block runs once */
      seen[out[i]] = true;
      ordered &= out[i] == i;
    }
    in_order += ordered;
  }
  assert_int_equal(in_order, 0);
}

/* More blocks than can be resident: 264 of 1024 threads. */
static void test_blocks_that_wait_for_lower_ones_get_on(void **state) {
  (void)state;
  static uint32_t out[MANY];
  for (int workers = 1; workers <= 2; workers++) {
    open_seeded(PG_SIM_PLAIN, workers, 7);
    pg_ptr flags = put(NULL, 4 * MANY, "flags"), to = put(NULL, 4 * MANY, "out");
    ok(launch("chain", MANY, 1024, 0, with(2, flags, to)));
    get(out, to, sizeof out);
    for (uint32_t i = 0, sum = 0; i < MANY; i++) {
      sum += i;
      assert_int_equal(out[i], sum + i); /* one more a block on the way */
    }
    sim_close(NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_kernel_that_is_right_by_the_order_of_blocks_fails_with_a_seed),
      cmocka_unit_test(test_blocks_that_wait_for_lower_ones_get_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
