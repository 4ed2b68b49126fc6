/* Clocks and sleep on the simulator: they go forward, agree with the host's, and who sleeps lets
 * others run. */
#include <time.h>

#include "sim_tests.h"

static int open_plain(void **state) {
  (void)state;
  sim_open(PG_SIM_PLAIN, 1, NULL);
  return 0;
}

static int open_check(void **state) {
  (void)state;
  sim_open(PG_SIM_CHECK, 1, NULL);
  return 0;
}

static uint64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int findings(void) {
  static pg_fault list[PG_FINDING_MAX];
  return ops()->findings(sim.device, list, PG_FINDING_MAX, true);
}

static const char READ[] =
    ".entry k(.param .u64 out) { .reg .u64 %o, %c<4>; .reg .u32 %t, %n<2>;\n"
    "ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 48, %o;\n"
    "mov.u64 %c0, %globaltimer; mov.u64 %c1, %clock64; mov.u32 %n0, %clock;\n"
    "nanosleep.u32 1000;\n"
    "mov.u32 %n1, %clock; mov.u64 %c2, %clock64; mov.u64 %c3, %globaltimer;\n"
    "st.global.u64 [%o], %c0; st.global.u64 [%o+8], %c1; st.global.u64 [%o+16], %c2;\n"
    "st.global.u64 [%o+24], %c3; st.global.u32 [%o+32], %n0; st.global.u32 [%o+36], %n1; ret; }\n";

static void they_go_forward(void **state) {
  (void)state;
  enum { N = 96 };
  struct {
    uint64_t timer0, clock0, clock1, timer1;
    uint32_t low0, low1, unused[2];
  } got[N];
  sim_load(READ);
  pg_ptr out = put(NULL, sizeof got, "out");
  uint64_t before = now(CLOCK_REALTIME);
  ok(launch("k", 1, N, 0, with(1, out)));
  uint64_t after = now(CLOCK_REALTIME);
  get(got, out, sizeof got);
  for (int i = 0; i < N; i++) {
    assert_true(before <= got[i].timer0 && got[i].timer0 <= got[i].timer1 &&
                got[i].timer1 <= after);
    assert_true(got[i].clock0 < got[i].clock1);
    assert_true(got[i].clock1 - got[i].clock0 <= 2 * (after - before));
    /* the short clock is the low half of the long one, read between its two readings */
    assert_true(got[i].low0 - (uint32_t)got[i].clock0 <= got[i].clock1 - got[i].clock0);
    assert_true(got[i].low1 - got[i].low0 <= got[i].clock1 - got[i].clock0);
  }
  assert_int_equal(findings(), 0);
}

static const char WAIT[] = ".entry k(.param .u64 ns) { .reg .u64 %d, %a, %b; .reg .pred %p;\n"
                           "ld.param.u64 %d, [ns]; mov.u64 %a, %globaltimer;\n"
                           "AGAIN: mov.u64 %b, %globaltimer; sub.u64 %b, %b, %a;\n"
                           "setp.lo.u64 %p, %b, %d; @%p bra AGAIN; ret; }\n";

static void waiting_takes_its_time(void **state) {
  (void)state;
  sim_load(WAIT);
  uint64_t ns = 3000000, before = now(CLOCK_MONOTONIC);
  args a = {.used = 0};
  ok(launch("k", 2, 64, 0, and_bytes(a, &ns, 8)));
  assert_true(now(CLOCK_MONOTONIC) - before >= ns);
  ns = 3600000000000; /* and a limit ends it */
  ops()->limit(sim.device, 0.05);
  assert_int_equal(launch("k", 1, 32, 0, and_bytes(a, &ns, 8)), PG_TIMEOUT);
}

/* Thread 0 of block 0 waits, with sleeps, for the last thread of the last block; a lane of the
 * publisher's warp waits, too. With one worker this takes a sleeper that lets others run. */
static const char PUBLISH[] =
    ".entry k(.param .u64 flag, .param .u64 data) {\n"
    ".reg .u64 %f, %d; .reg .u32 %t, %b, %n, %v, %s; .reg .pred %p, %q;\n"
    "ld.param.u64 %f, [flag]; ld.param.u64 %d, [data];\n"
    "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x; sub.u32 %n, %n, 1;\n"
    "setp.eq.u32 %p, %b, %n; setp.eq.and.u32 %p, %t, 63, %p; @%p bra WRITE;\n"
    "mov.u32 %s, 20;\n"
    "AGAIN: ld.acquire.gpu.global.u32 %v, [%f]; setp.ne.u32 %q, %v, 0; @%q bra READ;\n"
    "nanosleep.u32 %s; shl.b32 %s, %s, 1; min.u32 %s, %s, 1000; bra AGAIN;\n"
    "WRITE: st.global.u32 [%d], 77; st.release.gpu.global.u32 [%f], 1; bra DONE;\n"
    "READ: ld.global.u32 %v, [%d]; setp.ne.u32 %q, %v, 77; @%q trap;\n"
    "DONE: ret; }\n";

static void sleepers_let_others_run(void **state) {
  (void)state;
  sim_load(PUBLISH);
  pg_ptr flag = put(NULL, 4, "flag"), data = put(NULL, 4, "data");
  ok(launch("k", 40, 64, 0, with(2, flag, data)));
  assert_int_equal(findings(), 0);
}

static void both(void **state) { /* the same with several threads */
  sim_close(state);
  sim_open(PG_SIM_CHECK, 3, NULL);
  sleepers_let_others_run(state);
}

int main(void) {
#define IN(open, name) cmocka_unit_test_setup_teardown(name, open, sim_close)
  const struct CMUnitTest tests[] = {
      IN(open_plain, they_go_forward),
      IN(open_check, they_go_forward),
      IN(open_plain, waiting_takes_its_time),
      IN(open_check, waiting_takes_its_time),
      IN(open_plain, sleepers_let_others_run),
      IN(open_check, sleepers_let_others_run),
      IN(open_check, both),
  };
  return cmocka_run_group_tests_name("simulator, clocks", tests, NULL, NULL);
}
