/* Statistics: known values, exact binomial intervals, and coverage by seeded simulation. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "rng.h"
#include "stats.h"

static pg_summary summarize(const double *samples, size_t count) {
  pg_summary s;
  assert_int_equal(pg_summarize(samples, count, &s, NULL), PG_OK);
  return s;
}

static void assert_near(double got, double want, double error) {
  if (!(fabs(got - want) <= error))
    fail_msg("expected %.17g within %g, got %.17g", want, error, got);
}

/* ---- quantiles and moments ---- */

/* R: quantile(1:10, c(0, .2, .25, .5, .8, 1)) */
static void quantiles_are_those_of_r(void **state) {
  (void)state;
  const double x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const double q[] = {0, 0.2, 0.25, 0.5, 0.8, 1}, want[] = {1, 2.8, 3.25, 5.5, 8.2, 10};
  for (int i = 0; i < 6; i++) assert_near(pg_quantile(x, 10, q[i]), want[i], 1e-14);
  assert_true(pg_quantile(x, 1, 0.7) == 1);
  assert_true(isnan(pg_quantile(x, 0, 0.5)));
  assert_true(isnan(pg_quantile(x, 10, 1.5)));
  assert_true(isnan(pg_quantile(x, 10, NAN)));
}

static void quantiles_of_huge_values_do_not_overflow(void **state) {
  (void)state;
  const double x[] = {-DBL_MAX, DBL_MAX};
  assert_true(pg_quantile(x, 2, 0.5) == 0);
  assert_true(pg_quantile(x, 2, 1) == DBL_MAX);
}

static void a_summary_of_known_numbers(void **state) {
  (void)state;
  const double x[] = {9, 2, 4, 4, 5, 4, 7, 5}; /* unsorted; mean 5, squares about it 32 */
  pg_summary s = summarize(x, 8);
  assert_int_equal(s.samples, 8);
  assert_true(s.min == 2 && s.max == 9);
  assert_near(s.mean, 5, 1e-14);
  assert_near(s.stddev, sqrt(32.0 / 7), 1e-14);
  assert_near(s.median, 4.5, 1e-14);
  assert_near(s.p20, 4, 1e-14);
  assert_near(s.p80, 6.2, 1e-14);
  assert_true(s.ci95[0] == 2 && s.ci95[1] == 9); /* n = 8: the extremes */
  assert_near(s.relative_half, 3.5 / 4.5, 1e-14);
  assert_true(x[0] == 9); /* the caller's samples stay as they are */
}

static void moments_do_not_cancel(void **state) {
  (void)state;
  const double x[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
  pg_summary s = summarize(x, 4);
  assert_true(s.mean == 1e9 + 10);
  assert_near(s.stddev, sqrt(30), 1e-12);
}

static void one_sample_is_its_own_summary(void **state) {
  (void)state;
  const double x[] = {3};
  pg_summary s = summarize(x, 1);
  assert_true(s.median == 3 && s.ci95[0] == 3 && s.ci95[1] == 3);
  assert_true(s.stddev == 0 && s.relative_half == 0);
}

/* ---- the interval of the median ---- */

/* Rank from the interval of samples 1..n. */
static int rank_of(int n) {
  double x[2000];
  for (int i = 0; i < n; i++) x[i] = i + 1;
  pg_summary s = summarize(x, (size_t)n);
  assert_true(s.ci95[0] + s.ci95[1] == n + 1); /* symmetric */
  return (int)s.ci95[0];
}

/* Published tables of the sign test: 95% intervals of the median. */
static void ranks_are_those_of_published_tables(void **state) {
  (void)state;
  static const int table[][2] = {{6, 1},  {8, 1},  {9, 2},  {10, 2},  {11, 2},  {12, 3},  {15, 4},
                                 {17, 5}, {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (rank_of(table[i][0]) != table[i][1])
      fail_msg("n = %d: expected rank %d, got %d", table[i][0], table[i][1], rank_of(table[i][0]));
}

/* P(B < r) for B ~ Binomial(n, 1/2), counted in integers by Pascal's triangle: exact for n <= 120.
 */
static double tail(int n, int r) {
  unsigned __int128 row[130] = {1}, sum = 0;
  for (int i = 1; i <= n; i++)
    for (int k = i; k > 0; k--) row[k] += row[k - 1];
  for (int k = 0; k < r; k++) sum += row[k];
  return ldexp((double)sum, -n);
}

static void ranks_are_the_tightest_that_cover(void **state) {
  (void)state;
  for (int n = 6; n <= 120; n++) {
    int r = rank_of(n);
    assert_true(1 - 2 * tail(n, r) >= 0.95);
    assert_true(1 - 2 * tail(n, r + 1) < 0.95);
  }
}

/* Far beyond where 2^-n underflows; the normal approximation with continuity is good to a rank
 * there. */
static void ranks_of_many_samples(void **state) {
  (void)state;
  for (int n = 1000; n <= 2000; n += 100)
    assert_near(rank_of(n), n / 2.0 - 1.959964 * sqrt(n) / 2 + 0.5, 1);
}

/* Exponential samples: skewed, median log 2. Exact coverage is known from the binomial. */
static void the_interval_covers_as_often_as_it_says(void **state) {
  (void)state;
  enum { N = 15, TRIALS = 20000 };
  int covered = 0;
  for (uint64_t trial = 0; trial < TRIALS; trial++) {
    double x[N];
    for (uint64_t i = 0; i < N; i++) x[i] = -log1p(-pg_rng_f64(1, trial, i));
    pg_summary s = summarize(x, N);
    covered += s.ci95[0] <= log(2) && log(2) <= s.ci95[1];
  }
  double exact = 1 - 2 * tail(N, 4); /* 0.9648 */
  assert_near((double)covered / TRIALS, exact, 3.3 * sqrt(exact * (1 - exact) / TRIALS));
}

/* ---- ratios ---- */

static pg_samples flat(const double *values, size_t count) {
  return (pg_samples){.values = values, .count = count};
}

/* The middle halves by hand: of five, three quarters of the second, the third, three quarters of
 * the fourth; of four, the two in the middle. */
static void a_ratio_of_known_midmeans(void **state) {
  (void)state;
  const double a[] = {10, 14, 11, 30, 9}, b[] = {5, 5.5, 5.2, 5.6};
  double ratio, ci[2];
  assert_int_equal(pg_ratio(flat(a, 5), flat(b, 4), 1, 500, &ratio, ci, NULL), PG_OK);
  assert_near(ratio, (0.75 * 10 + 11 + 0.75 * 14) / 2.5 / ((5.2 + 5.5) / 2), 1e-14);
  assert_true(ci[0] <= ratio && ratio <= ci[1]);
  assert_true(ci[0] >= 9 / 5.6 && ci[1] <= 30 / 5.0);
}

/* A clock that steps by 0.032: two kernels 0.008 apart are the same to a median, not to this. */
static void a_ratio_sees_less_than_a_step_of_the_clock(void **state) {
  (void)state;
  enum { N = 400 };
  const double step = 0.032;
  double a[N], b[N], ratio, ci[2];
  for (uint64_t i = 0; i < N; i++) {
    a[i] = step * floor((20.008 + 0.03 * pg_rng_normal(7, 0, i)) / step + 0.5);
    b[i] = step * floor((20 + 0.03 * pg_rng_normal(7, 1, i)) / step + 0.5);
  }
  assert_true(summarize(a, N).median == summarize(b, N).median);
  assert_int_equal(pg_ratio(flat(a, N), flat(b, N), 1, 1000, &ratio, ci, NULL), PG_OK);
  assert_near(ratio, 20.008 / 20, 0.0002);
  assert_true(ci[0] > 1);
}

static void equal_samples_have_ratio_one(void **state) {
  (void)state;
  const double a[] = {7, 7, 7, 7};
  double ratio, ci[2];
  assert_int_equal(pg_ratio(flat(a, 4), flat(a, 4), 1, 100, &ratio, ci, NULL), PG_OK);
  assert_true(ratio == 1 && ci[0] == 1 && ci[1] == 1);
  double steps[49]; /* nor is there rounding that would make one of them the faster */
  for (int i = 0; i < 49; i++) steps[i] = 20.1;
  assert_int_equal(pg_ratio(flat(steps, 49), flat(steps, 37), 1, 100, &ratio, ci, NULL), PG_OK);
  assert_true(ratio == 1 && ci[0] == 1 && ci[1] == 1);
}

static void a_seed_gives_the_same_interval_again(void **state) {
  (void)state;
  double a[40], b[40], r1, r2, ci1[2], ci2[2], ci3[2];
  for (uint64_t i = 0; i < 40; i++) a[i] = 5 + pg_rng_f64(1, 0, i), b[i] = 4 + pg_rng_f64(1, 1, i);
  pg_ratio(flat(a, 40), flat(b, 40), 9, 300, &r1, ci1, NULL);
  pg_ratio(flat(a, 40), flat(b, 40), 9, 300, &r2, ci2, NULL);
  pg_ratio(flat(a, 40), flat(b, 40), 10, 300, &r2, ci3, NULL);
  assert_memory_equal(ci1, ci2, sizeof ci1);
  assert_true(ci1[0] != ci3[0] || ci1[1] != ci3[1]);
  double third[40];
  for (int i = 0; i < 40; i++) third[i] = 3 * a[i]; /* the ratio scales, its interval too */
  pg_ratio(flat(third, 40), flat(b, 40), 9, 300, &r2, ci2, NULL);
  assert_near(ci2[0], 3 * ci1[0], 1e-12);
  assert_near(ci2[1], 3 * ci1[1], 1e-12);
}

/* A resampled midmean written the plain way: draw, sort, take each four times, average the middle
 * half. */
static double plain_midmean(const double *x, int n, uint64_t stream) {
  double drawn[16], sum = 0;
  for (int i = 0; i < n; i++) {
    double v = x[pg_rng_below(3, stream, (uint64_t)i, (uint64_t)n)];
    int k = i;
    for (; k > 0 && drawn[k - 1] > v; k--) drawn[k] = drawn[k - 1];
    drawn[k] = v;
  }
  for (int i = n; i < 3 * n; i++) sum += drawn[i / 4];
  return sum / (2 * n);
}

/* One round's two quantiles are that round's ratio: compare it with the plain way, odd and even
 * counts. */
static void a_round_is_a_ratio_of_resampled_midmeans(void **state) {
  (void)state;
  const double a[] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144}, b[] = {2, 3, 5, 7, 11, 13, 17, 19};
  for (int na = 1; na <= 11; na++) {
    for (int nb = 1; nb <= 8; nb++) {
      double ratio, ci[2];
      pg_ratio(flat(a, (size_t)na), flat(b, (size_t)nb), 3, 1, &ratio, ci, NULL);
      assert_near(ci[0], plain_midmean(a, na, 0) / plain_midmean(b, nb, 1), 1e-13);
      assert_true(ci[0] == ci[1]);
    }
  }
}

/* 81 rounds: the quantiles 0.025 and 0.975 are the third smallest and the third largest ratio. */
static void the_interval_holds_95_percent_of_the_rounds(void **state) {
  (void)state;
  const double a[] = {1, 2, 3, 5, 8, 13, 21, 34, 55}, b[] = {2, 3, 5, 7, 11, 13, 17, 19};
  double ratio, ci[2];
  int below = 0, above = 0, ends = 0;
  pg_ratio(flat(a, 9), flat(b, 8), 3, 81, &ratio, ci, NULL);
  for (uint64_t i = 0; i < 81; i++) {
    double r = plain_midmean(a, 9, 2 * i) / plain_midmean(b, 8, 2 * i + 1);
    bool end = fabs(r - ci[0]) < 1e-12 || fabs(r - ci[1]) < 1e-12;
    ends += end;
    below += !end && r < ci[0];
    above += !end && r > ci[1];
  }
  assert_true(below <= 2 && above <= 2 && below + above + ends >= 6);
}

/* How often the interval of the same kernel's ratio to itself has 1, where each slice has an offset
 * of its own that is `spread` times as wide as the samples of a slice are. */
static double covered_by(size_t slices, double spread, bool told) {
  enum { SIZE = 40, SLICES_MOST = 12, TRIALS = 300, ROUNDS = 300 };
  static const size_t sizes[SLICES_MOST] = {8,    SIZE, SIZE, SIZE, SIZE, SIZE,
                                            SIZE, SIZE, SIZE, SIZE, SIZE, SIZE};
  int covered = 0;
  for (uint64_t trial = 0; trial < TRIALS; trial++) {
    double values[2][SLICES_MOST * SIZE], ratio, ci[2];
    size_t count = 0;
    for (uint64_t i = 0; i < slices; i++) {
      for (size_t k = 0; k < sizes[i]; k++, count++) {
        for (uint64_t arm = 0; arm < 2; arm++) {
          double offset = spread * pg_rng_normal(11, 4 * trial + arm, i);
          double own = pg_rng_normal(11, 4 * trial + 2 + arm, count);
          values[arm][count] = 100 + 0.5 * (offset + own);
        }
      }
    }
    pg_samples a = flat(values[0], count), b = flat(values[1], count);
    if (told) a.sizes = b.sizes = sizes, a.slices = b.slices = slices;
    assert_int_equal(pg_ratio(a, b, trial, ROUNDS, &ratio, ci, NULL), PG_OK);
    covered += ci[0] <= 1 && 1 <= ci[1];
  }
  return (double)covered / TRIALS;
}

/* Samples of a slice are alike: taken one by one they say that a kernel differs from itself. */
static void an_interval_of_slices_covers_what_differs_between_them(void **state) {
  (void)state;
  for (size_t slices = 3; slices <= 12; slices += 3) {
    assert_true(covered_by(slices, 1, true) >= 0.92);
    assert_true(covered_by(slices, 1, false) < 0.5);
  }
  assert_true(covered_by(9, 0, true) >= 0.92 && covered_by(9, 0, true) <= 0.99);
}

static void slices_are_checked_and_one_is_none(void **state) {
  (void)state;
  const double a[] = {5, 6, 7, 8, 9}, b[] = {4, 4.5, 5, 5.5};
  const size_t whole[] = {5}, two[] = {2, 3}, few[] = {2, 2}, many[] = {2, 4}, empty[] = {5, 0};
  double ratio, ci[2], alone[2];
  pg_error e;
  pg_samples s = flat(a, 5);
  assert_int_equal(pg_ratio(s, flat(b, 4), 1, 200, &ratio, alone, NULL), PG_OK);
  s.sizes = whole, s.slices = 1;
  assert_int_equal(pg_ratio(s, flat(b, 4), 1, 200, &ratio, ci, NULL), PG_OK);
  assert_memory_equal(ci, alone, sizeof ci);
  s.sizes = two, s.slices = 2;
  assert_int_equal(pg_ratio(s, flat(b, 4), 1, 200, &ratio, ci, NULL), PG_OK);
  assert_near(ratio, 7 / 4.75, 1e-14);
  assert_true(ci[0] < alone[0] && ci[1] > alone[1]);
  const size_t *const bad[] = {few, many, empty};
  for (int i = 0; i < 3; i++) {
    s.sizes = bad[i];
    assert_int_equal(pg_ratio(s, flat(b, 4), 1, 200, &ratio, ci, &e), PG_INVALID);
    assert_non_null(strstr(e.message, "slice"));
  }
}

/* Two lognormal timing sets, one 1.25 times the other. */
static void the_bootstrap_covers_near_95_percent(void **state) {
  (void)state;
  enum { N = 50, TRIALS = 400, ROUNDS = 400 };
  int covered = 0;
  for (uint64_t trial = 0; trial < TRIALS; trial++) {
    double a[N], b[N], ratio, ci[2];
    for (uint64_t i = 0; i < N; i++) {
      a[i] = 1.25 * exp(0.1 * pg_rng_normal(5, 2 * trial, i));
      b[i] = exp(0.1 * pg_rng_normal(5, 2 * trial + 1, i));
    }
    assert_int_equal(pg_ratio(flat(a, N), flat(b, N), trial, ROUNDS, &ratio, ci, NULL), PG_OK);
    covered += ci[0] <= 1.25 && 1.25 <= ci[1];
  }
  /* Percentile bootstrap of a midmean is a little wide or narrow at n = 50; 3 standard errors
   * are 3.3%. */
  assert_near((double)covered / TRIALS, 0.95, 0.035);
}

/* ---- bad input ---- */

static void bad_samples_are_refused(void **state) {
  (void)state;
  pg_summary s;
  pg_error e;
  double ratio, ci[2];
  const double good[] = {1, 2}, nan[] = {1, NAN}, inf[] = {INFINITY, 1}, zero[] = {0, 1};
  assert_int_equal(pg_summarize(good, 0, &s, &e), PG_INVALID);
  assert_int_equal(pg_summarize(nan, 2, &s, &e), PG_INVALID);
  assert_non_null(strstr(e.message, "sample 1"));
  assert_int_equal(pg_summarize(inf, 2, &s, &e), PG_INVALID);
  assert_int_equal(pg_ratio(flat(nan, 2), flat(good, 2), 1, 10, &ratio, ci, &e), PG_INVALID);
  assert_int_equal(pg_ratio(flat(good, 2), flat(nan, 2), 1, 10, &ratio, ci, &e), PG_INVALID);
  assert_int_equal(pg_ratio(flat(good, 2), flat(good, 0), 1, 10, &ratio, ci, &e), PG_INVALID);
  assert_int_equal(pg_ratio(flat(good, 2), flat(zero, 2), 1, 10, &ratio, ci, &e), PG_RANGE);
  assert_int_equal(pg_ratio(flat(good, 2), flat(good, 2), 1, 0, &ratio, ci, &e), PG_RANGE);
  assert_int_equal(pg_ratio(flat(zero, 2), flat(good, 2), 1, 10, &ratio, ci, &e), PG_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_are_those_of_r),
      cmocka_unit_test(quantiles_of_huge_values_do_not_overflow),
      cmocka_unit_test(a_summary_of_known_numbers),
      cmocka_unit_test(moments_do_not_cancel),
      cmocka_unit_test(one_sample_is_its_own_summary),
      cmocka_unit_test(ranks_are_those_of_published_tables),
      cmocka_unit_test(ranks_are_the_tightest_that_cover),
      cmocka_unit_test(ranks_of_many_samples),
      cmocka_unit_test(the_interval_covers_as_often_as_it_says),
      cmocka_unit_test(a_ratio_of_known_midmeans),
      cmocka_unit_test(a_ratio_sees_less_than_a_step_of_the_clock),
      cmocka_unit_test(equal_samples_have_ratio_one),
      cmocka_unit_test(a_seed_gives_the_same_interval_again),
      cmocka_unit_test(a_round_is_a_ratio_of_resampled_midmeans),
      cmocka_unit_test(the_interval_holds_95_percent_of_the_rounds),
      cmocka_unit_test(the_bootstrap_covers_near_95_percent),
      cmocka_unit_test(an_interval_of_slices_covers_what_differs_between_them),
      cmocka_unit_test(slices_are_checked_and_one_is_none),
      cmocka_unit_test(bad_samples_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
