/* Calls on the simulator: tests/ptx/sim_calls.cu against the same in C, and PTX written by hand
 * for what nvcc does not emit. */
#include "sim_tests.h"

#include <unistd.h>

static int open_calls(void **state) {
  (void)state;
  sim_open(PG_SIM_PLAIN, 2, "tests/ptx/sim_calls.ptx");
  return 0;
}
static int open_seeded(void **state) {
  (void)state;
  sim_open(PG_SIM_PROFILE, 1, "tests/ptx/sim_calls.ptx");
  return 0;
}

static int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void recursion(void **state) {
  (void)state;
  enum { N = 100 };
  int n[N], got[N];
  for (int i = 0; i < N; i++) n[i] = i * 7 % 13;
  pg_ptr dn = put(n, sizeof n, "n"), dy = put(NULL, sizeof got, "out");
  ok(launch("recurse", 2, 64, 0, and_int(with(2, dn, dy), N)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++) assert_int_equal(got[i], fibonacci(n[i]));
}

static void function_pointers(void **state) {
  (void)state;
  enum { N = 90 };
  int got[N];
  pg_ptr dy = put(NULL, sizeof got, "out");
  ok(launch("pointers", 3, 32, 0, and_int(with(1, dy), N)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++) {
    int first[] = {i + 7, i - 7, i * 7}, second[] = {3 + i, 3 - i, 3 * i};
    assert_int_equal(got[i], first[i % 3] + second[i / 3 % 3]);
  }
}

static void virtual_functions(void **state) {
  (void)state;
  enum { N = 64 };
  float got[N];
  pg_ptr dy = put(NULL, sizeof got, "out");
  ok(launch("virtuals", 1, N, 0, and_int(with(1, dy), N)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++)
    assert_true(got[i] == 2.0f * (float)i * (i % 5 < 2 ? (float)i : 3.0f));
}

struct pack {
  int values[6];
  double scale;
  short last;
};

static void structures(void **state) {
  (void)state;
  enum { N = 40 };
  double got[N];
  struct pack given = {{1, 2, 3, 4, 5, 6}, 100, 7};
  pg_ptr dy = put(NULL, sizeof got, "out");
  args a = with(1, dy);
  memcpy(a.bytes + a.used, &given, sizeof given);
  a.used += sizeof given;
  ok(launch("structures", 1, 64, 0, and_int(a, N)));
  get(got, dy, sizeof got);
  for (int i = 0; i < N; i++) {
    double half = i * 0.5, untouched = i * 10 + (i + 1) % 6, bumped = i * 10 + i % 6 + 1;
    double want = untouched * half - i + bumped * half - i + (i % 6 + 1) * 100.0 + 7;
    assert_true(got[i] == want);
  }
}

static void lanes_meet_in_functions(void **state) {
  (void)state;
  enum { BLOCK = 96 };
  int got[2 * BLOCK];
  pg_ptr dy = put(NULL, sizeof got, "out");
  ok(launch("meet", 2, BLOCK, 0, with(1, dy)));
  get(got, dy, sizeof got);
  for (int i = 0; i < 2 * BLOCK; i++) {
    int t = i % BLOCK, sum = 0;
    for (int k = t / 32 * 32; k < t / 32 * 32 + 32; k++) sum += k & 1 ? k : 2 * k;
    assert_int_equal(got[i], sum + BLOCK * (BLOCK - 1) / 2 + (t & 3));
  }
}

static void exits_inside(void **state) {
  (void)state;
  int got[64];
  pg_ptr dy = put(NULL, sizeof got, "out");
  ok(launch("leave", 1, 64, 0, with(1, dy)));
  get(got, dy, sizeof got);
  for (int i = 0; i < 64; i++) assert_int_equal(got[i], i % 3 ? i * 2 : 0);
}

/* What the kernel printed: standard output goes to a file for the while. */
static void printing(void **state) {
  (void)state;
  char text[1024] = "";
  pg_ptr name = put("Perigee", 8, "name");
  fflush(stdout);
  int saved = dup(1);
  FILE *file = tmpfile();
  dup2(fileno(file), 1);
  pg_code code = launch("say", 1, 32, 0, with(1, name));
  fflush(stdout);
  dup2(saved, 1);
  close(saved);
  ok(code);
  rewind(file);
  fread(text, 1, sizeof text - 1, file);
  fclose(file);
  assert_string_equal(text, "lane -3|   42|ff    |q|%|Perigee\n"
                            "1.500 1e+10 -1099511627776 ffffffffffffffff 0x10\n"
                            "plain\n");
}

static void failed_assertion(void **state) {
  (void)state;
  int x[32] = {0};
  x[20] = 10;
  pg_ptr dx = put(x, sizeof x, "x");
  assert_int_equal(launch("check", 1, 32, 0, with(1, dx)), PG_LAUNCH);
  pg_fault f = fault();
  assert_int_equal(f.kind, PG_FAULT_TRAP);
  assert_int_equal(f.thread[0], 20);
  assert_non_null(strstr(f.text, "tests/ptx/sim_calls.cu:"));
  assert_non_null(strstr(f.text, "assertion `x[threadIdx.x] < 10`"));
}

/* Compilers turn such recursion into loops, so this is written by hand. */
static void endless_recursion(void **state) {
  (void)state;
  sim_load(".func f(.param .u32 n) {\n"
           " .reg .u32 %n; ld.param.u32 %n, [n]; add.u32 %n, %n, 1;\n"
           " { .param .u32 p; st.param.u32 [p], %n; call f, (p); }\n"
           " ret; }\n"
           ".entry k() { .param .u32 p; st.param.u32 [p], 0; call f, (p); ret; }\n");
  assert_int_equal(launch("k", 1, 32, 0, with(0)), PG_LAUNCH);
  assert_non_null(strstr(fault().text, "stack overflow"));
  assert_non_null(strstr(fault().text, "called at PTX line 6"));
}

static void wild_pointer(void **state) {
  (void)state;
  pg_ptr dy = put(NULL, 128, "out");
  assert_int_equal(launch("wild", 1, 32, 0, with(2, dy, (pg_ptr)0)), PG_LAUNCH);
  assert_non_null(strstr(fault().text, "call through a pointer (0x0)"));
}

/* Parameters in registers, constants as arguments, results that are ignored, an address of an own
 * parameter, call targets. */
static void by_hand(void **state) {
  (void)state;
  sim_load(
      ".func (.reg .u32 r, .reg .f64 s) two(.reg .u32 a, .reg .f64 b) {\n"
      " add.u32 r, a, 1; add.f64 s, b, 0d3FF0000000000000; ret; }\n"
      ".func (.param .u32 r) pick(.param .align 4 .b8 p[12], .param .u32 i) {\n"
      " .reg .u32 %i, %v; .reg .u64 %a, %o;\n"
      " ld.param.u32 %i, [i]; mov.u64 %a, p; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;\n"
      " ld.param.u32 %v, [%a]; st.param.u32 [r], %v; ret; }\n"
      ".entry k(.param .u64 out) {\n"
      " .reg .u64 %o, %f; .reg .u32 %t, %v, %w; .reg .f64 %d;\n"
      " ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;\n"
      " call (%v, %d), two, (%t, 0d4000000000000000);\n"
      " { .param .align 4 .b8 p[12]; .param .u32 r;\n"
      "   st.param.u32 [p], 5; st.param.u32 [p+4], %v; st.param.u32 [p+8], 7;\n"
      "   mov.u64 %f, pick; proto: .callprototype (.param .u32 _) _ (.param .align 4 .b8 _[12], "
      ".param .u32 _);\n"
      "   rem.u32 %t, %t, 3; call (r), %f, (p, %t), proto; ld.param.u32 %w, [r]; }\n"
      " mov.u32 %t, %tid.x; mul.wide.u32 %f, %t, 16; add.u64 %o, %o, %f;\n"
      " st.global.u32 [%o], %v; st.global.u32 [%o+4], %w; st.global.f64 [%o+8], %d; ret; }\n");
  struct {
    uint32_t v, w;
    double d;
  } got[32];
  pg_ptr dy = put(NULL, sizeof got, "out");
  ok(launch("k", 1, 32, 0, with(1, dy)));
  get(got, dy, sizeof got);
  for (uint32_t i = 0; i < 32; i++) {
    uint32_t want[] = {5, i + 1, 7};
    assert_int_equal(got[i].v, i + 1);
    assert_int_equal(got[i].w, want[i % 3]);
    assert_true(got[i].d == 3.0);
  }
}

static void bad_calls(void **state) {
  (void)state;
  expect_load_error(".func f(.param .u32 a) { ret; }\n.entry k() { call f, (); ret; }\n",
                    "f takes 1 arguments");
  expect_load_error(".extern .func g();\n.entry k() { call g; ret; }\n", "never defined");
  expect_load_error(".extern .func (.param .u64 r) malloc(.param .u64 a);\n"
                    ".entry k() { .param .u64 a; .param .u64 r; call (r), malloc, (a); ret; }\n",
                    "no heap");
}

#define SETS(X)        \
  X(recursion)         \
  X(function_pointers) \
  X(virtual_functions) \
  X(structures)        \
  X(lanes_meet_in_functions) X(exits_inside) X(printing) X(failed_assertion) X(wild_pointer)

int main(void) {
  const struct CMUnitTest tests[] = {
#define X(name) cmocka_unit_test_setup_teardown(name, open_calls, sim_close),
      SETS(X)
#undef X
#define X(name) cmocka_unit_test_setup_teardown(name, open_seeded, sim_close),
          SETS(X)
#undef X
              cmocka_unit_test_setup_teardown(endless_recursion, sim_open_empty, sim_close),
      cmocka_unit_test_setup_teardown(by_hand, sim_open_empty, sim_close),
      cmocka_unit_test_setup_teardown(bad_calls, sim_open_empty, sim_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
