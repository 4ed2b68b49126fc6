/* What may run out on the simulator: device memory, its address space, memory for race checks. */
#include <sys/resource.h>

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

static size_t memory_bytes(void) {
  pg_device_info info;
  ok(ops()->info(sim.device, &info, &sim.error));
  return info.memory_bytes;
}

static pg_ptr take(size_t bytes) {
  pg_ptr at;
  ok(ops()->alloc(sim.device, bytes, &at, &sim.error));
  return at;
}

static void release(pg_ptr at) {
  ok(ops()->free(sim.device, at, &sim.error));
}

static void more_than_there_is(void **state) {
  (void)state;
  pg_ptr at = take(memory_bytes() - 1000), other;
  assert_int_equal(ops()->alloc(sim.device, 1001, &other, &sim.error), PG_MEMORY);
  assert_non_null(strstr(sim.error.message, "1001 bytes of device memory asked, 1000 of "));
  release(take(1000));
  release(at);
  release(take(memory_bytes()));
}

/* Many times the terabyte of address space, around an allocation that must stay as it is. */
static void addresses_come_round(void **state) {
  (void)state;
  enum { KEPT = 5000 };
  uint8_t want[KEPT], got[KEPT];
  memset(want, 0xA5, KEPT);
  size_t large = memory_bytes() / 8 * 7;
  release(take(large));
  pg_ptr kept = put(want, KEPT, "kept"), first = 0;
  bool again = false;
  for (double sum = 0; sum < 0x1p42; sum += (double)large) {
    pg_ptr at = take(large);
    assert_true(at + large <= kept || kept + KEPT <= at);
    again |= first && at <= first;
    first = first ? first : at;
    memset((void *)(uintptr_t)(at + large - 1), 1, 1); /* it is really there */
    release(at);
  }
  assert_true(again);
  get(got, kept, KEPT);
  assert_memory_equal(got, want, KEPT);
}

/* More than a process may have mappings; freed ones must not count. */
static void many_allocations(void **state) {
  (void)state;
  for (int i = 0; i < 70000; i++) release(take(1 + (size_t)i % 9000));
}

static const char TOUCH[] = ".entry touch(.param .u64 a) { .reg .u64 %a; .reg .u32 %v;\n"
                            "ld.param.u64 %a, [a]; ld.global.u32 %v, [%a]; ret; }\n";

static void a_stale_pointer_is_told(void **state) {
  (void)state;
  sim_load(TOUCH);
  pg_ptr at = put(NULL, 5000, "gone");
  release(at);
  for (int i = 0; i < 4000; i++) release(take(64));
  assert_int_equal(launch("touch", 1, 1, 0, with(1, at)), PG_LAUNCH);
  assert_non_null(strstr(fault().text, "a freed allocation of 5000 bytes"));
}

#ifndef __SANITIZE_ADDRESS__ /* which needs all the address space there is */
static void little_address_space(void **state) {
  (void)state;
  struct rlimit old, little = {.rlim_cur = 700 << 20};
  assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
  little.rlim_max = old.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
  sim_open(PG_SIM_PLAIN, 1, NULL);
  pg_code code = PG_OK;
  pg_ptr at, last = 0;
  for (int i = 0; !code && i < 1000; i++) {
    code = ops()->alloc(sim.device, 100000, &at, &sim.error);
    if (!code) last = at;
  }
  assert_int_equal(code, PG_MEMORY);
  assert_non_null(strstr(sim.error.message, "no room for 100000 bytes in the "));
  assert_non_null(strstr(sim.error.hint, "1 MiB more"));
  release(last);
  assert_true(take(100000) == last);
  setrlimit(RLIMIT_AS, &old);
}
#endif

/* ---- races ---- */

/* Every thread writes a word of its own, and one that the next block also writes. */
static const char STRIPES[] =
    ".entry stripes(.param .u64 a) { .reg .u64 %a, %o; .reg .u32 %t, %b, %n;\n"
    "ld.param.u64 %a, [a]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;\n"
    "mad.lo.u32 %n, %b, %n, %t; mul.wide.u32 %o, %n, 4; add.u64 %a, %a, %o;\n"
    "st.global.u32 [%a], %t; st.global.u32 [%a+128], %t; ret; }\n";

static int findings(pg_fault_kind kind, char *text, size_t bytes) {
  static pg_fault list[PG_FINDING_MAX];
  int n = ops()->findings(sim.device, list, PG_FINDING_MAX, true), count = 0;
  for (int i = 0; i < n; i++) {
    if (list[i].kind != kind) continue;
    count++;
    if (text) snprintf(text, bytes, "%s", list[i].text);
  }
  return count;
}

/* Without memory for races they are missed, and that is said; never a verdict. */
static void no_memory_for_races(void **state) {
  (void)state;
  char text[1024];
  for (int enough = 0; enough < 2; enough++) {
    pg_sim_options options = {
        .mode = PG_SIM_CHECK, .workers = 1, .race_bytes = enough ? 64 << 20 : 1 << 10};
    ok(pg_sim_open(&options, &sim.device, &sim.error));
    sim_load(STRIPES);
    pg_ptr a = put(NULL, 1 << 16, "a");
    pg_code code = launch("stripes", 100, 32, 0, with(1, a));
    assert_int_equal(code, enough ? PG_LAUNCH : PG_OK);
    assert_int_equal(findings(PG_FAULT_INCOMPLETE, text, sizeof text), !enough);
    if (!enough) {
      assert_non_null(strstr(text, "too large to look for races everywhere"));
      assert_int_equal(findings(PG_FAULT_RACE, NULL, 0), 0);
    }
    sim_close(NULL);
  }
}

/* What is out of bounds is still told. */
static void other_checks_go_on(void **state) {
  (void)state;
  pg_sim_options options = {.mode = PG_SIM_CHECK, .workers = 1, .race_bytes = 1};
  ok(pg_sim_open(&options, &sim.device, &sim.error));
  sim_load(STRIPES);
  pg_ptr a = put(NULL, 1 << 12, "a");
  assert_int_equal(launch("stripes", 100, 32, 0, with(1, a)), PG_LAUNCH);
  assert_int_equal(fault().kind, PG_FAULT_OUT_OF_BOUNDS);
}

static void too_many_blocks_to_number(void **state) {
  (void)state;
  sim_load(".entry nothing() { ret; }\n");
  ok(launch("nothing", (1 << 22) - 1, 1, 0, with(0)));
  assert_int_equal(findings(PG_FAULT_INCOMPLETE, NULL, 0), 0);
  ok(launch("nothing", (1 << 22) + 1, 1, 0, with(0)));
  assert_int_equal(findings(PG_FAULT_INCOMPLETE, NULL, 0), 1);
}

int main(void) {
#define PLAIN(name) cmocka_unit_test_setup_teardown(name, open_plain, sim_close)
  const struct CMUnitTest tests[] = {
      PLAIN(more_than_there_is),
      PLAIN(addresses_come_round),
      PLAIN(many_allocations),
      PLAIN(a_stale_pointer_is_told),
#ifndef __SANITIZE_ADDRESS__
      cmocka_unit_test_teardown(little_address_space, sim_close),
#endif
      cmocka_unit_test_teardown(no_memory_for_races, sim_close),
      cmocka_unit_test_teardown(other_checks_go_on, sim_close),
      cmocka_unit_test_setup_teardown(too_many_blocks_to_number, open_check, sim_close),
  };
  return cmocka_run_group_tests_name("simulator, limits", tests, NULL, NULL);
}
