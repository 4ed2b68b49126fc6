/* Facts about a function without running it: values that follow from parameters, tests of sizes
 * and what they skip, variables that are written. */
#include "ptx_tests.h"

#include "sim/flow.h"

static const char *const HEAD =
    ".global .u32 memo[64]; .global .u32 other;\n"
    ".entry k(.param .u64 out, .param .u32 n, .param .f32 a) {\n"
    ".reg .u64 %o, %d<4>; .reg .u32 %n<5>; .reg .f32 %f<3>; .reg .pred %p<6>;\n"
    "ld.param.u64 %o, [out]; ld.param.u32 %n0, [n]; mov.u32 %n1, %tid.x;\n";

static const ptx_func *function(ptx_module **module, const char *body) {
  size_t bytes = strlen(HEAD) + strlen(body) + 8;
  char *text = malloc(bytes);
  assert_non_null(text);
  snprintf(text, bytes, "%s%s\n}\n", HEAD, body);
  *module = parse_after_header(text);
  free(text);
  return ptx_find(*module, "k");
}

/* 0 for an expression that is not known, 1 for the parameter itself, more for what is computed. */
static int count_operations(const flow_test *test) {
  int count = test->nodes > 0;
  for (int k = 0; k < test->nodes; k++)
    count += !test->node[k].name && strcmp(test->node[k].op, "copy") &&
             strcmp(test->node[k].op, "constant");
  return count;
}

/* The tests of a kernel of this body; how many. */
static int tests_of(const char *body, flow_test out[FLOW_TESTS_MAX]) {
  ptx_module *module;
  const ptx_func *func = function(&module, body);
  flow_value *values = flow_values(func);
  uint8_t *reached = flow_reached(func);
  assert_non_null(values);
  assert_non_null(reached);
  int64_t budget = FLOW_BUDGET;
  int count = flow_tests(func, values, reached, out, &budget);
  for (int k = 0; k < count && k < FLOW_TESTS_MAX; k++) { /* strings go with the module */
    out[k].instr = NULL;
    out[k].nodes = count_operations(&out[k]);
    out[k].of = out[k].of && strcmp(out[k].of, "n") == 0           ? "n"
                : out[k].of && strcmp(out[k].of, "%nctaid.x") == 0 ? "%nctaid.x"
                                                                   : "another";
    out[k].comparison = strcmp(out[k].comparison, "eq") == 0   ? "eq"
                        : strcmp(out[k].comparison, "gt") == 0 ? "gt"
                                                               : "another";
  }
  free(values);
  free(reached);
  ptx_free(module);
  return count;
}

/* One test of `of` with `constant`, which skips the stores or not. */
static void expect(const char *body, const char *of, int64_t constant, bool exact, bool skips) {
  flow_test tests[FLOW_TESTS_MAX];
  int count = tests_of(body, tests);
  if (count != 1) fail_msg("%d tests in: %s", count, body);
  assert_string_equal(tests[0].of, of);
  assert_int_equal(tests[0].constant, constant);
  if ((tests[0].nodes == 1) != exact) fail_msg("%d operations in: %s", tests[0].nodes, body);
  if (tests[0].skips != skips) fail_msg("skips is %d in: %s", tests[0].skips, body);
}

static void a_branch_past_all_stores_skips(void **state) {
  (void)state;
  expect("setp.eq.s32 %p0, %n0, 4096; @%p0 bra $end; st.global.u32 [%o], 1; $end: ret;", "n", 4096,
         true, true);
  expect("setp.eq.s32 %p0, %n0, 4096; @%p0 ret; st.global.u32 [%o], 1; ret;", "n", 4096, true,
         true);
  expect("setp.eq.s32 %p0, %n0, 4096; @!%p0 st.global.u32 [%o], 1; ret;", "n", 4096, true, true);
  expect("setp.eq.s32 %p0, %n0, 4096; @%p0 bra $end; red.global.add.u32 [%o], 1; $end: ret;", "n",
         4096, true, true);
}

static void stores_on_both_sides_are_no_skip(void **state) {
  (void)state;
  expect("setp.eq.s32 %p0, %n0, 4096; @%p0 bra $b; st.global.u32 [%o], 1; ret;"
         "$b: st.global.u32 [%o], 2; ret;",
         "n", 4096, true, false);
  expect("setp.eq.s32 %p0, %n0, 4096; @%p0 bra $b; st.shared.u32 [%n1], 1; $b:"
         "st.global.u32 [%o], 2; ret;",
         "n", 4096, true, false);
  expect("setp.gt.s32 %p0, %n0, 4096; selp.b32 %n2, 1, %n0, %p0; st.global.u32 [%o], %n2; ret;",
         "n", 4096, true, false);
}

static void predicates_are_followed(void **state) {
  (void)state;
  expect("setp.eq.s32 %p0, %n0, 4096; setp.lt.s32 %p1, %n1, %n0; and.pred %p2, %p0, %p1;"
         "not.pred %p3, %p2; @%p3 bra $end; st.global.u32 [%o], 1; $end: ret;",
         "n", 4096, true, true);
}

static void copies_and_computed_values(void **state) {
  (void)state;
  const char *end = "@%p0 ret; st.global.u32 [%o], 1; ret;";
  static const struct {
    const char *text;
    int64_t constant;
    bool exact;
  } cases[] = {
      {"cvt.u64.u32 %d0, %n0; setp.eq.s64 %p0, %d0, 4096;", 4096, true},
      {"mov.u32 %n2, %n0; mov.u32 %n3, 4096; setp.eq.s32 %p0, %n2, %n3;", 4096, true},
      {"setp.eq.s32 %p0, 4096, %n0;", 4096, true},
      {"cvt.rn.f32.u32 %f0, %n0; setp.eq.f32 %p0, %f0, 0f45800000;", 4096, true},
      {"mul.lo.s32 %n2, %n0, 3; setp.eq.s32 %p0, %n2, 12288;", 12288, false},
      {"popc.b32 %n2, %n0; mul.lo.s32 %n2, %n2, 999; setp.eq.s32 %p0, %n0, 999;", 999, true},
      {"mov.u32 %n2, %nctaid.x; mad.lo.s32 %n2, %n0, 3, 1; setp.eq.s32 %p0, %n0, 4096;", 4096,
       true},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char body[512];
    snprintf(body, sizeof body, "%s %s", cases[k].text, end);
    expect(body, "n", cases[k].constant, cases[k].exact, true);
  }
}

static void a_mirrored_comparison_has_the_value_on_the_left(void **state) {
  (void)state;
  flow_test tests[FLOW_TESTS_MAX];
  assert_int_equal(tests_of("setp.lt.s32 %p0, 4096, %n0; @%p0 ret; ret;", tests), 1);
  assert_string_equal(tests[0].comparison, "gt");
}

/* Compilers give one register to several values. */
static void the_definition_that_reaches_counts(void **state) {
  (void)state;
  const char *end = "shr.u32 %n0, %n0, 1; $l: setp.ge.s32 %p2, %n1, %n0; @%p2 ret;"
                    "st.global.u32 [%o], 1; ret;";
  char body[512];
  snprintf(body, sizeof body, "setp.ne.s32 %%p0, %%n0, 4096; @%%p0 bra $l; %s", end);
  expect(body, "n", 4096, true, false);
  snprintf(body, sizeof body,
           "cvt.s64.s32 %%d0, %%n0; setp.ne.s64 %%p0, %%d0, 4096; @%%p0 bra $l; %s", end);
  expect(body, "n", 4096, true, false);
  flow_test tests[FLOW_TESTS_MAX];
  snprintf(body, sizeof body,
           "@%%p1 mov.u32 %%n0, %%n1; setp.ne.s32 %%p0, %%n0, 4096; @%%p0 bra $l; %s", end);
  assert_int_equal(tests_of(body, tests), 0);
}

static void a_failed_assertion_is_no_skip(void **state) {
  (void)state;
  expect("setp.gt.s32 %p0, %n0, 4096; @%p0 bra $bad; st.global.u32 [%o], 1; ret; $bad: trap;", "n",
         4096, true, false);
  expect("setp.gt.s32 %p0, %n0, 4096; @%p0 bra $bad; st.global.u32 [%o], 1; ret; $bad:"
         "@%p1 trap; ret;",
         "n", 4096, true, true);
}

static void text_made_to_take_long_is_said_to(void **state) {
  (void)state;
  ptx_module *module;
  const ptx_func *func = function(&module, "setp.eq.s32 %p0, %n0, 4096; ret;");
  flow_value *values = flow_values(func);
  uint8_t *reached = flow_reached(func);
  flow_test tests[FLOW_TESTS_MAX];
  int64_t budget = 1;
  assert_in_range(flow_tests(func, values, reached, tests, &budget), 0, 1);
  assert_true(budget < 0);
  free(values);
  free(reached);
  ptx_free(module);
}

static void the_grid_is_a_size(void **state) {
  (void)state;
  expect("mov.u32 %n2, %nctaid.x; setp.eq.u32 %p0, %n2, 65536; @%p0 ret; st.global.u32 [%o], 1;",
         "%nctaid.x", 65536, true, true);
}

/* Checks of bounds, loops, data and small constants are what kernels are made of. */
static void honest_comparisons_are_none(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "setp.ge.s32 %p0, %n1, %n0; @%p0 ret; st.global.u32 [%o], 1; ret;",
      "setp.gt.s32 %p0, %n1, 4096; @%p0 ret; st.global.u32 [%o], 1; ret;",
      "setp.lt.s32 %p0, %n0, 4; @%p0 ret; st.global.u32 [%o], 1; ret;",
      "ld.global.u32 %n2, [%o]; setp.eq.s32 %p0, %n2, 4096; @%p0 ret; st.global.u32 [%o], 1; ret;",
      "mov.u32 %n2, %n0; $l: add.s32 %n2, %n2, -4; st.global.u32 [%o], 1;"
      "setp.gt.s32 %p0, %n2, 4096; @%p0 bra $l; ret;",
      "add.s32 %n2, %n0, %n1; setp.eq.s32 %p0, %n2, 4096; @%p0 ret; st.global.u32 [%o], 1; ret;",
      "ret; setp.eq.s32 %p0, %n0, 4096; @%p0 ret; st.global.u32 [%o], 1;",
      "setp.eq.s32 %p0, %n0, 255; @%p0 ret; st.global.u32 [%o], 1; ret;",
      "ld.param.f32 %f0, [a]; setp.eq.f32 %p0, %f0, 0f7F800000; @%p0 ret; ret;",
  };
  flow_test tests[FLOW_TESTS_MAX];
  for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++)
    if (tests_of(bodies[k], tests) != 0) fail_msg("a test in: %s", bodies[k]);
}

static void more_tests_than_fit_are_counted(void **state) {
  (void)state;
  enum { MANY = FLOW_TESTS_MAX + 7 };
  char body[MANY * 48] = "";
  flow_test tests[FLOW_TESTS_MAX];
  for (int k = 0; k < MANY; k++) strcat(body, "setp.eq.s32 %p0, %n0, 4096;\n");
  assert_int_equal(tests_of(body, tests), MANY);
}

static void what_control_cannot_come_to_is_not_reached(void **state) {
  (void)state;
  ptx_module *module;
  const ptx_func *func = function(&module, "bra $end; st.global.u32 [%o], 1; $end: ret; ret;");
  uint8_t *reached = flow_reached(func);
  int count = 0, dead = 0;
  for (int k = 0; k < func->instr_count; k++) {
    count += func->body[k].opcode && reached[k];
    dead += func->body[k].opcode && !reached[k];
  }
  assert_int_equal(count, 5); /* three of the head, bra, ret */
  assert_int_equal(dead, 2);
  free(reached);
  ptx_free(module);
}

/* The variable that the last store of a body writes. */
static void expect_target(const char *body, const char *target) {
  ptx_module *module;
  const ptx_func *func = function(&module, body);
  flow_value *values = flow_values(func);
  const ptx_instr *store = NULL;
  for (int k = 0; k < func->instr_count; k++)
    if (flow_stores(&func->body[k])) store = &func->body[k];
  assert_non_null(store);
  const char *found = flow_target(store, values);
  if (target == FLOW_ANY)
    assert_ptr_equal(found, FLOW_ANY);
  else if (target)
    assert_string_equal(found, target);
  else
    assert_null(found);
  free(values);
  ptx_free(module);
}

static void a_store_names_its_variable(void **state) {
  (void)state;
  expect_target("st.global.u32 [memo+4], 1;", "memo");
  expect_target("mov.u64 %d0, memo; mul.wide.u32 %d1, %n1, 4; add.s64 %d2, %d0, %d1;"
                "st.global.u32 [%d2], 1;",
                "memo");
  expect_target("cvta.global.u64 %d0, memo; atom.add.u32 %n2, [%d0+8], 1;", "memo");
  expect_target("mov.u64 %d0, memo; mov.u64 %d1, other; selp.b64 %d2, %d0, %d1, %p0;"
                "st.global.u32 [%d2], 1;",
                FLOW_ANY);
  expect_target("ld.global.u32 %n2, [memo]; mad.wide.u32 %d0, %n2, 4, %o; st.global.u32 [%d0], 1;",
                NULL);
}

static void what_outlives_a_block_is_a_store(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool stores;
  } cases[] = {
      {"st.global.u32 [%o], 1;", true},
      {"st.u32 [%o], 1;", true},
      {"st.shared.u32 [%n1], 1;", false},
      {"st.local.u32 [%n1], 1;", false},
      {"red.add.u32 [%o], 1;", true},
      {"atom.shared.add.u32 %n2, [%n1], 1;", false},
      {"ld.global.u32 %n2, [%o];", false},
      {"cp.async.ca.shared.global [%n1], [%o], 4;", false},
      {"cp.async.bulk.global.shared::cta.bulk_group [%o], [%n1], 16;", true},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ptx_module *module;
    const ptx_func *func = function(&module, cases[k].text);
    bool stores = flow_stores(&func->body[func->instr_count - 1]);
    if (stores != cases[k].stores) fail_msg("%s", cases[k].text);
    ptx_free(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_branch_past_all_stores_skips),
      cmocka_unit_test(stores_on_both_sides_are_no_skip),
      cmocka_unit_test(predicates_are_followed),
      cmocka_unit_test(copies_and_computed_values),
      cmocka_unit_test(a_mirrored_comparison_has_the_value_on_the_left),
      cmocka_unit_test(the_definition_that_reaches_counts),
      cmocka_unit_test(a_failed_assertion_is_no_skip),
      cmocka_unit_test(text_made_to_take_long_is_said_to),
      cmocka_unit_test(the_grid_is_a_size),
      cmocka_unit_test(honest_comparisons_are_none),
      cmocka_unit_test(more_tests_than_fit_are_counted),
      cmocka_unit_test(what_control_cannot_come_to_is_not_reached),
      cmocka_unit_test(a_store_names_its_variable),
      cmocka_unit_test(what_outlives_a_block_is_a_store),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
