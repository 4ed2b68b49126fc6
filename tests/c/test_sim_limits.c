/* What may run out on the simulator: device memory, its address space, memory for race checks,
 * room for variables, time; and how that is told. */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

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
    "st.global.u32 [%a], %t; st.global.u32 [%a+128], %b; ret; }\n";

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

static void expect_where(const char *body, const char *message, const char *where) {
  expect_load_error(body, message);
  assert_string_equal(sim.error.where, where);
}

/* Declarations that no GPU has room for: named with their line. The text begins in line 4. */
static void too_much_for_a_thread(void **state) {
  (void)state;
  expect_where(".shared .b8 a[4];\n.shared .b8 s[1000000000];\n.entry k() { ret; }\n",
               "with s there are over 16 MiB", "t.ptx:5");
  expect_where(".entry k() {\n.shared .b8 s[1000000000]; ret; }\n", "with s there", "t.ptx:5");
  expect_where(".entry k() {\n .local .b8 a[4];\n .local .b8 d[1000000000]; ret; }\n",
               "k has over 512 KiB of local memory", "t.ptx:6");
  expect_where(".entry k(.param .u32 n,\n.param .b8 p[40000]) { ret; }\n",
               "k has over 32764 bytes of parameters", "t.ptx:5");
}

/* A load error names the line of the source that was compiled, or of the PTX when a file of it was
 * loaded; and what to write instead. */
static void errors_name_the_source(void **state) {
  (void)state;
  static const char text[] = ".version 9.0\n.target sm_90\n.address_size 64\n"
                             ".file 1 \"my.cu\"\n.entry k() { .reg .u64 %a;\n.loc 1 77 1\n"
                             "alloca.u64 %a, 16; ret; }\n";
  static const struct {
    const char *name, *message, *where;
  } cases[] = {{"my.cu", "'alloca.u64 %a, 16' (PTX line 7)", "my.cu:77"},
               {"my.ptx", "'alloca.u64 %a, 16'", "my.ptx:7"}};
  for (int i = 0; i < 2; i++) {
    pg_code code =
        ops()->load(sim.device, text, sizeof text - 1, cases[i].name, &sim.module, &sim.error);
    assert_int_equal(code, PG_UNSUPPORTED);
    assert_non_null(strstr(sim.error.message, cases[i].message));
    assert_string_equal(sim.error.where, cases[i].where);
    assert_non_null(strstr(sim.error.hint, "constant size"));
  }
  expect_where(".entry k() { barrier.cluster.arrive; ret; }\n", "barrier.cluster", "t.ptx:4");
  assert_non_null(strstr(sim.error.hint, "sm_80"));
}

/* An hour's worth of blocks that each end at once; as many as a grid can have. */
static void too_many_blocks_to_run(void **state) {
  (void)state;
  sim_load(".entry k() { ret; }\n");
  ops()->limit(sim.device, 0.05);
  pg_launch l = {.grid = {2147483647, 1, 1}, .block = {32, 1, 1}};
  ok(ops()->kernel(sim.device, sim.module, "k", &l.kernel, &sim.error));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(ops()->launch(sim.device, &l, NULL, &sim.error), PG_TIMEOUT);
    assert_non_null(strstr(fault().text, "time limit reached in kernel k"));
    l.grid[1] = l.grid[2] = 65535;
  }
}

/* Many texts between two backward branches: the time limit counts all the same. */
static void a_flood_of_texts(void **state) {
  (void)state;
  char body[8192] = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
                    ".global .b8 f[2] = {46, 0};\n"
                    ".entry k() { .reg .u64 %f; .reg .u32 %i; .reg .pred %p; mov.u32 %i, 0;\n"
                    "mov.u64 %f, f; cvta.global.u64 %f, %f;\nL:\n";
  static const char print[] = "{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %f;"
                              " st.param.b64 [b], 0; call (r), vprintf, (a, b); }\n";
  for (int i = 0; i < 40; i++) strcat(body, print);
  strcat(body, "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 4000; @%p bra L; ret; }\n");
  sim_load(body);
  ops()->limit(sim.device, 0.05);
  fflush(stdout);
  int saved = dup(1), none = open("/dev/null", O_WRONLY);
  dup2(none, 1);
  pg_code code = launch("k", 1, 32, 0, with(0));
  fflush(stdout);
  dup2(saved, 1);
  close(saved);
  close(none);
  assert_int_equal(code, PG_TIMEOUT);
}

int main(void) {
#define PLAIN(name) cmocka_unit_test_setup_teardown(name, open_plain, sim_close)
  const struct CMUnitTest tests[] = {
      PLAIN(more_than_there_is),
      PLAIN(addresses_come_round),
      PLAIN(many_allocations),
      PLAIN(a_stale_pointer_is_told),
      PLAIN(too_much_for_a_thread),
      PLAIN(errors_name_the_source),
      PLAIN(a_flood_of_texts),
      PLAIN(too_many_blocks_to_run),
      cmocka_unit_test_setup_teardown(too_many_blocks_to_run, open_check, sim_close),
#ifndef __SANITIZE_ADDRESS__
      cmocka_unit_test_teardown(little_address_space, sim_close),
#endif
      cmocka_unit_test_teardown(no_memory_for_races, sim_close),
      cmocka_unit_test_teardown(other_checks_go_on, sim_close),
      cmocka_unit_test_setup_teardown(too_many_blocks_to_number, open_check, sim_close),
  };
  return cmocka_run_group_tests_name("simulator, limits", tests, NULL, NULL);
}
