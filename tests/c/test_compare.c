/* Comparison: what passes and what does not in every combination of special values, exact integers,
 * ulps, unwritten elements, and the metrics. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "compare.h"

static pg_array view(pg_scalar scalar, size_t count, const void *data) {
  pg_array a;
  pg_dtype dtype = pg_dtype_of(scalar);
  pg_array_view(&a, &dtype, count, (void *)(uintptr_t)data);
  return a;
}

static pg_comparison compare(pg_scalar ws, const void *want, pg_scalar gs, const void *got,
                             size_t n, pg_tolerance t) {
  pg_array w = view(ws, n, want), g = view(gs, n, got);
  pg_comparison c;
  assert_int_equal(pg_compare(&w, &g, &t, &c, NULL), PG_OK);
  assert_int_equal(c.count, n);
  return c;
}

static bool passes(double want, double got, pg_tolerance t) {
  return compare(PG_F64, &want, PG_F64, &got, 1, t).bad == 0;
}

/* ---- special values ---- */

/* The rule, said once more in the plainest way. */
static bool should_pass(double want, double got, pg_tolerance t) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) && t.nan_equal;
  if (isinf(want) || isinf(got)) return isinf(want) && isinf(got) && signbit(want) == signbit(got);
  if (want == got) return true;
  return fabsl((long double)got - want) <= t.atol + (long double)t.rtol * fabs(want);
}

static void every_pair_of_special_values(void **state) {
  (void)state;
  const double values[] = {0.0,       -0.0,     1,       -1,           1 + 1e-9,
                           DBL_MAX,   -DBL_MAX, DBL_MIN, DBL_TRUE_MIN, INFINITY,
                           -INFINITY, NAN,      -NAN,    1e300,        1e-300};
  const pg_tolerance tolerances[] = {{0},
                                     {.nan_equal = true},
                                     {.rtol = 1e-6},
                                     {.atol = 1e-6, .nan_equal = true},
                                     {.rtol = 10},
                                     {.rtol = 1e300, .atol = 1e300},
                                     {.rtol = 1e300, .atol = DBL_MAX, .nan_equal = true}};
  const size_t n = sizeof values / sizeof *values;
  for (size_t t = 0; t < sizeof tolerances / sizeof *tolerances; t++)
    for (size_t w = 0; w < n; w++)
      for (size_t g = 0; g < n; g++)
        if (passes(values[w], values[g], tolerances[t]) !=
            should_pass(values[w], values[g], tolerances[t]))
          fail_msg("tolerance %zu: want %g, got %g", t, values[w], values[g]);
}

static void ulps_never_let_a_special_value_pass(void **state) {
  (void)state;
  const pg_tolerance t = {.ulp = 1e300, .rtol = 1e-6};
  const double values[] = {0, 1, DBL_MAX, INFINITY, -INFINITY, NAN};
  for (int w = 0; w < 6; w++)
    for (int g = 0; g < 6; g++)
      if (!isfinite(values[w]) || !isfinite(values[g]))
        assert_int_equal(passes(values[w], values[g], t), should_pass(values[w], values[g], t));
}

static void f32_nan_fails_against_an_f64_reference(void **state) {
  (void)state;
  double want[] = {1, 2, 3};
  float got[] = {1, NAN, 3};
  pg_comparison c = compare(PG_F64, want, PG_F32, got, 3, (pg_tolerance){.rtol = 1e9, .atol = 1e9});
  assert_int_equal(c.bad, 1);
  assert_int_equal(c.nan_got, 1);
  assert_int_equal(c.nan_want, 0);
  assert_int_equal(c.first_bad, 1);
  assert_int_equal(c.worst, 1);
  assert_true(isnan(c.mismatch[0].got) && c.mismatch[0].want == 2);
}

static void the_limit_itself_passes(void **state) {
  (void)state;
  assert_true(passes(8, 9, (pg_tolerance){.rtol = 0.125}));
  assert_false(passes(8, nextafter(9, 10), (pg_tolerance){.rtol = 0.125}));
  assert_true(passes(8, 9.5, (pg_tolerance){.rtol = 0.125, .atol = 0.5}));
  assert_true(passes(-8, -9, (pg_tolerance){.rtol = 0.125}));
  assert_false(passes(0, 1e-300, (pg_tolerance){.rtol = 0.5}));
}

/* ---- integers ---- */

static void integers_are_exact_beyond_2_53(void **state) {
  (void)state;
  int64_t want[] = {(INT64_C(1) << 53), INT64_MAX, INT64_MIN, -1};
  int64_t got[] = {(INT64_C(1) << 53) + 1, INT64_MAX - 1, INT64_MIN, -1};
  pg_comparison c = compare(PG_I64, want, PG_I64, got, 4, (pg_tolerance){0});
  assert_int_equal(c.bad, 2);
  assert_int_equal(c.last_bad, 1);
  assert_true(c.max_abs == 1);
  c = compare(PG_I64, want, PG_I64, got, 4, (pg_tolerance){.atol = 1});
  assert_int_equal(c.bad, 0);
  c = compare(PG_I64, want, PG_I64, got, 4, (pg_tolerance){.ulp = 0.5});
  assert_int_equal(c.bad, 2);
}

static void signed_and_unsigned_are_compared_by_value(void **state) {
  (void)state;
  int64_t want[] = {-1, 5, INT64_MAX};
  uint64_t got[] = {UINT64_MAX, 5, INT64_MAX};
  pg_comparison c = compare(PG_I64, want, PG_U64, got, 3, (pg_tolerance){0});
  assert_int_equal(c.bad, 1);
  assert_int_equal(c.first_bad, 0);
  assert_true(c.max_abs == 0x1p64);
  uint8_t small[] = {255, 5, 0};
  uint64_t large[] = {255, 5, 256};
  assert_int_equal(compare(PG_U64, large, PG_U8, small, 3, (pg_tolerance){0}).first_bad, 2);
}

static void any_set_byte_is_true(void **state) {
  (void)state;
  uint8_t want[] = {1, 0, 1}, got[] = {2, 0, 0};
  pg_comparison c = compare(PG_BOOL, want, PG_BOOL, got, 3, (pg_tolerance){0});
  assert_int_equal(c.bad, 1);
  assert_int_equal(c.first_bad, 2);
}

/* ---- ulps ---- */

static void ulp_distance_counts_neighbours(void **state) {
  (void)state;
  const double starts[] = {1, 1.5, 3, 1000, 1e-30, 0x1p-1022, 0x1p-1074, 1e300};
  for (int i = 0; i < 8; i++) {
    double next = nextafter(starts[i], INFINITY);
    assert_true(pg_ulp_distance(PG_F64, starts[i], next) == 1);
    assert_true(pg_ulp_distance(PG_F64, starts[i], starts[i]) == 0);
  }
  assert_true(pg_ulp_distance(PG_F32, 1, nextafterf(nextafterf(1, 2), 2)) == 2);
  assert_true(pg_ulp_distance(PG_F32, FLT_TRUE_MIN, 3 * FLT_TRUE_MIN) == 2);
  assert_true(pg_ulp_distance(PG_F16, 1, 1 + 0x1p-10) == 1);
  assert_true(pg_ulp_distance(PG_F16, 0, 0x1p-24) == 1);
  assert_true(pg_ulp_distance(PG_BF16, -2, -2 - 0x1p-6) == 1);
  assert_true(pg_ulp_distance(PG_F8E4M3, 1, 1.125) == 1);
  assert_true(pg_ulp_distance(PG_F8E5M2, 4, 5) == 1);
  assert_true(pg_ulp_distance(PG_I32, 4, 7) == 3);
}

static void ulp_distance_of_special_values(void **state) {
  (void)state;
  assert_true(pg_ulp_distance(PG_F32, NAN, 1) == INFINITY);
  assert_true(pg_ulp_distance(PG_F32, 1, NAN) == INFINITY);
  assert_true(pg_ulp_distance(PG_F32, NAN, NAN) == INFINITY);
  assert_true(pg_ulp_distance(PG_F32, INFINITY, 1) == INFINITY);
  assert_true(pg_ulp_distance(PG_F32, INFINITY, INFINITY) == 0);
  assert_true(pg_ulp_distance(PG_F32, 0.0, -0.0) == 0);
}

/* A binary64 reference seldom is an f32: distance is in f32 ulps, and fractions count. */
static void ulps_are_of_the_format_that_was_got(void **state) {
  (void)state;
  double want = 1 + 0x1p-25;
  float got = 1 + 0x1p-23f;
  pg_comparison c = compare(PG_F64, &want, PG_F32, &got, 1, (pg_tolerance){.ulp = 0.75});
  assert_int_equal(c.bad, 0);
  assert_true(c.max_ulp == 0.75);
  assert_int_equal(compare(PG_F64, &want, PG_F32, &got, 1, (pg_tolerance){.ulp = 0.74}).bad, 1);
}

/* ---- unwritten elements ---- */

static void poison_is_found_in_every_size_and_phase(void **state) {
  (void)state;
  const uint64_t pattern = 0x8877665544332211;
  for (int s = 0; s < PG_SCALAR_COUNT; s++) {
    uint64_t memory[8], zeros[8] = {0};
    size_t size = pg_scalar_size((pg_scalar)s), n = sizeof memory / size;
    for (int i = 0; i < 8; i++) memory[i] = pattern;
    pg_tolerance t = {.has_poison = true, .poison = pattern};
    pg_comparison c = compare((pg_scalar)s, zeros, (pg_scalar)s, memory, n, t);
    assert_int_equal(c.unwritten, n);
    ((char *)memory)[5 * size % sizeof memory] ^= 0x40; /* one element was written */
    c = compare((pg_scalar)s, zeros, (pg_scalar)s, memory, n, t);
    assert_int_equal(c.unwritten, n - 1);
    t.has_poison = false;
    assert_int_equal(compare((pg_scalar)s, zeros, (pg_scalar)s, memory, n, t).unwritten, 0);
  }
}

static void a_right_element_is_not_unwritten(void **state) {
  (void)state;
  uint8_t want[] = {0xab, 0}, got[] = {0xab, 0xab};
  pg_tolerance t = {.has_poison = true, .poison = 0xabababababababab};
  pg_comparison c = compare(PG_U8, want, PG_U8, got, 2, t);
  assert_int_equal(c.bad, 1);
  assert_int_equal(c.unwritten, 1);
}

/* ---- metrics ---- */

static void metrics_of_a_known_case(void **state) {
  (void)state;
  double want[] = {3, 4, 0, 100, INFINITY, NAN, 0};
  double got[] = {3.5, 4, 0.25, 90, INFINITY, 1, 0};
  pg_comparison c = compare(PG_F64, want, PG_F64, got, 7, (pg_tolerance){.rtol = 0.12});
  assert_int_equal(c.bad, 3); /* 3.5, 0.25, NaN */
  assert_int_equal(c.first_bad, 0);
  assert_int_equal(c.last_bad, 5);
  assert_int_equal(c.worst, 5);
  assert_int_equal(c.mismatch_count, 3);
  assert_int_equal(c.mismatch[1].index, 2);
  assert_int_equal(c.nan_want, 1);
  assert_int_equal(c.inf_got, 1);
  assert_int_equal(c.want_zeros, 2);
  assert_int_equal(c.got_zeros, 1);
  assert_true(c.max_abs == 10);
  assert_true(c.max_rel == 0.5 / 3);
  double error = 0.25 + 0.0625 + 100, square = 9 + 16 + 10000;
  assert_true(fabs(c.rms_rel - sqrt(error / square)) < 1e-15);
}

static void worst_is_the_largest_excess_not_the_largest_error(void **state) {
  (void)state;
  double want[] = {1000, 1, 1}, got[] = {1050, 3, 1.05};
  pg_comparison c = compare(PG_F64, want, PG_F64, got, 3, (pg_tolerance){.rtol = 0.1});
  assert_int_equal(c.worst, 1);
  assert_true(c.max_abs == 50);
  assert_int_equal(c.bad, 1);
}

static void only_the_first_mismatches_are_kept(void **state) {
  (void)state;
  enum { N = 3000 };
  static float want[N], got[N];
  for (int i = 1000; i < N; i++) got[i] = 1;
  pg_comparison c = compare(PG_F32, want, PG_F32, got, N, (pg_tolerance){0});
  assert_int_equal(c.bad, 2000);
  assert_int_equal(c.mismatch_count, PG_MISMATCH_MAX);
  for (int i = 0; i < PG_MISMATCH_MAX; i++) assert_int_equal(c.mismatch[i].index, 1000 + i);
  assert_int_equal(c.first_bad, 1000);
  assert_int_equal(c.last_bad, N - 1);
  assert_true(c.rms_rel == INFINITY); /* the norm of what was wanted is 0 */
}

/* Long arrays are compared in parts by several threads: what comes out is that of one pass in
 * order. */
static void long_arrays_are_judged_as_one(void **state) {
  (void)state;
  enum { N = 300001 };
  static float want[N], got[N];
  static const size_t bad[] = {5, 70000, 140000, 299999};
  double squares = 0;
  for (int i = 0; i < N; i++) {
    want[i] = got[i] = (float)(i % 97);
    squares += (double)want[i] * want[i];
  }
  for (int i = 0; i < 4; i++) got[bad[i]] += (float)(i + 1);
  pg_comparison c = compare(PG_F32, want, PG_F32, got, N, (pg_tolerance){.atol = 0.5});
  assert_int_equal(c.bad, 4);
  assert_int_equal(c.first_bad, 5);
  assert_int_equal(c.last_bad, 299999);
  assert_int_equal(c.worst, 299999);
  assert_int_equal(c.mismatch_count, 4);
  for (int i = 0; i < 4; i++) assert_int_equal(c.mismatch[i].index, bad[i]);
  assert_true(c.max_abs == 4);
  assert_true(fabs(c.rms_rel - sqrt(30 / squares)) < 1e-12);
}

static void huge_values_do_not_overflow_the_norm(void **state) {
  (void)state;
  double want[] = {1e200, 2e200}, got[] = {1e200, 2.2e200};
  pg_comparison c = compare(PG_F64, want, PG_F64, got, 2, (pg_tolerance){.rtol = 1});
  assert_true(fabs(c.rms_rel - 0.2 / sqrt(5)) < 1e-12);
}

static void nothing_equals_nothing(void **state) {
  (void)state;
  pg_comparison c = compare(PG_F64, NULL, PG_F32, NULL, 0, (pg_tolerance){0});
  assert_int_equal(c.bad, 0);
  assert_true(c.rms_rel == 0);
}

/* ---- bad calls ---- */

static void bad_calls_are_refused(void **state) {
  (void)state;
  double x[2] = {0};
  pg_error e;
  pg_comparison c;
  pg_array two = view(PG_F64, 2, x), one = view(PG_F64, 1, x), record = two;
  record.dtype.scalar = PG_STRUCT;
  pg_tolerance none = {0};
  assert_int_equal(pg_compare(&two, &one, &none, &c, &e), PG_INVALID);
  assert_string_equal(e.message, "expected 2 elements, got 1");
  assert_int_equal(pg_compare(&record, &two, &none, &c, &e), PG_INVALID);
  assert_int_equal(pg_compare(&two, &record, &none, &c, &e), PG_INVALID);
  const double bad[] = {-1, NAN, INFINITY};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pg_compare(&two, &two, &(pg_tolerance){.rtol = bad[i]}, &c, &e), PG_RANGE);
    assert_int_equal(pg_compare(&two, &two, &(pg_tolerance){.atol = bad[i]}, &c, &e), PG_RANGE);
    assert_int_equal(pg_compare(&two, &two, &(pg_tolerance){.ulp = bad[i]}, &c, &e), PG_RANGE);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pair_of_special_values),
      cmocka_unit_test(ulps_never_let_a_special_value_pass),
      cmocka_unit_test(f32_nan_fails_against_an_f64_reference),
      cmocka_unit_test(the_limit_itself_passes),
      cmocka_unit_test(integers_are_exact_beyond_2_53),
      cmocka_unit_test(signed_and_unsigned_are_compared_by_value),
      cmocka_unit_test(any_set_byte_is_true),
      cmocka_unit_test(ulp_distance_counts_neighbours),
      cmocka_unit_test(ulp_distance_of_special_values),
      cmocka_unit_test(ulps_are_of_the_format_that_was_got),
      cmocka_unit_test(poison_is_found_in_every_size_and_phase),
      cmocka_unit_test(a_right_element_is_not_unwritten),
      cmocka_unit_test(metrics_of_a_known_case),
      cmocka_unit_test(worst_is_the_largest_excess_not_the_largest_error),
      cmocka_unit_test(only_the_first_mismatches_are_kept),
      cmocka_unit_test(long_arrays_are_judged_as_one),
      cmocka_unit_test(huge_values_do_not_overflow_the_norm),
      cmocka_unit_test(nothing_equals_nothing),
      cmocka_unit_test(bad_calls_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
