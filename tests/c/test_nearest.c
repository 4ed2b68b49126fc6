/* The nearest of several names: edits, capitals, limits, names of any length. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nearest.h"

static const char *nearest(const char *wanted, const char *a, const char *b) {
  const char *names[] = {a, b};
  return pg_nearest(wanted, names, 2);
}

static void each_kind_of_edit_counts_one(void **state) {
  (void)state;
  assert_string_equal(nearest("blok", "block", "grid"), "block");
  assert_string_equal(nearest("blocck", "block", "grid"), "block");
  assert_string_equal(nearest("bleck", "block", "grid"), "block");
  assert_string_equal(nearest("blcok", "block", "grid"), "block");
  assert_string_equal(nearest("GRID", "block", "grid"), "grid");
}

static void the_nearer_of_two_is_taken_and_the_first_of_equals(void **state) {
  (void)state;
  assert_string_equal(nearest("radios", "ratio", "radius"), "radius");
  assert_string_equal(nearest("cat", "bat", "hat"), "bat");
}

static void what_is_far_is_not_near(void **state) {
  (void)state;
  assert_null(nearest("x", "y", "z"));
  assert_null(nearest("abc", "xyc", "xbz"));
  assert_null(nearest("", "a", "bc"));
  assert_null(nearest("reduction", "vector", "matmul"));
  assert_null(pg_nearest("x", NULL, 0));
  assert_string_equal(nearest("nn", "n", "matrix"), "n");
}

static void long_names_are_compared_by_their_first_letters(void **state) {
  (void)state;
  char a[300], b[300];
  memset(a, 'a', sizeof a - 1);
  memset(b, 'a', sizeof b - 1);
  a[299] = b[299] = '\0';
  b[200] = 'b';
  assert_string_equal(nearest(a, "short", b), b);
  b[0] = 'b';
  assert_string_equal(nearest(a, "short", b), b);
  memset(b, 'c', sizeof b - 1);
  assert_null(nearest(a, "short", b));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_kind_of_edit_counts_one),
      cmocka_unit_test(the_nearer_of_two_is_taken_and_the_first_of_equals),
      cmocka_unit_test(what_is_far_is_not_near),
      cmocka_unit_test(long_names_are_compared_by_their_first_letters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
