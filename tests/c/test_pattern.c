/* Patterns of marked elements, relations of values, marks and scales of a comparison,
 * transposition: each against the plainest loop over random data. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "pattern.h"
#include "rng.h"

enum { MOST = 4096 };

static bool is_marked(const uint64_t *marks, size_t i) {
  return marks[i / 64] >> i % 64 & 1;
}

/* A random subset; every other trial one that is made of whole rows or residues. */
static void make_marks(uint64_t *marks, size_t count, size_t columns, uint64_t trial) {
  memset(marks, 0, MOST / 8);
  size_t period = 1 + pg_rng_below(trial, 0, 0, columns), keep = pg_rng_below(trial, 0, 1, period);
  for (size_t i = 0; i < count; i++) {
    bool marked = trial % 2 ? i % period == keep : pg_rng_below(trial, 1, i, 4) == 0;
    marks[i / 64] |= (uint64_t)marked << i % 64;
  }
}

static size_t plain_gcd(size_t a, size_t b) {
  return b ? plain_gcd(b, a % b) : a;
}

static void check_axis(const pg_axis *axis, const uint64_t *marks, size_t count, size_t below) {
  int64_t touched = 0, first = -1, last = -1;
  size_t stride = 0;
  for (int64_t c = 0; c < axis->extent; c++) {
    bool any = false;
    for (size_t i = 0; i < count; i++)
      any |= is_marked(marks, i) && (int64_t)(i / below % (size_t)axis->extent) == c;
    if (!any) continue;
    if (touched++ == 0) first = c;
    stride = plain_gcd((size_t)(c - first), stride);
    last = c;
  }
  assert_int_equal(axis->touched, touched);
  if (touched == 0) return;
  assert_int_equal(axis->first, first);
  assert_int_equal(axis->last, last);
  assert_int_equal(axis->stride, stride);
}

static void check_flat(const pg_pattern *p, const uint64_t *marks, size_t count) {
  size_t bad = 0, first = 0, last = 0, stride = 0;
  for (size_t i = 0; i < count; i++) {
    if (!is_marked(marks, i)) continue;
    if (bad++ == 0) first = i;
    stride = plain_gcd(i - first, stride);
    last = i;
  }
  assert_int_equal(p->bad, bad);
  assert_int_equal(p->first, first);
  assert_int_equal(p->last, last);
  assert_int_equal(p->stride, stride);
}

/* The smallest power of two whose residues tell marked elements from others. */
static size_t plain_modulus(const uint64_t *marks, size_t count) {
  for (size_t m = 2; m <= 1024 && m <= count / 2; m *= 2) {
    size_t touched = 0, mixed = 0;
    for (size_t r = 0; r < m; r++) {
      size_t yes = 0, no = 0;
      for (size_t i = r; i < count; i += m) is_marked(marks, i) ? yes++ : no++;
      touched += yes > 0, mixed += yes > 0 && no > 0;
    }
    if (!mixed && touched < m) return m;
  }
  return 0;
}

static void patterns_are_those_of_a_plain_loop(void **state) {
  (void)state;
  uint64_t marks[MOST / 64];
  for (uint64_t trial = 0; trial < 200; trial++) {
    int64_t shape[3];
    for (int d = 0; d < 3; d++) shape[d] = 1 + (int64_t)pg_rng_below(trial, 7, (uint64_t)d, 12);
    int ndim = 1 + (int)(trial % 3);
    size_t count = 1;
    for (int d = 0; d < ndim; d++) count *= (size_t)shape[d];
    make_marks(marks, count, (size_t)shape[ndim - 1], trial);
    pg_pattern p;
    assert_int_equal(pg_find_pattern(marks, ndim, shape, &p, NULL), PG_OK);
    check_flat(&p, marks, count);
    assert_int_equal(p.modulus, plain_modulus(marks, count));
    size_t below = 1, box = 1;
    for (int d = ndim - 1; ndim > 1 && d >= 0; below *= (size_t)shape[d--])
      check_axis(&p.axis[d], marks, count, below), box *= (size_t)p.axis[d].touched;
    if (ndim > 1) assert_int_equal(p.box, p.bad > 0 && box == p.bad);
  }
}

static void sides_of_the_diagonal(void **state) {
  (void)state;
  const uint64_t marks[1] = {0x1ff}; /* 3 x 3, all */
  const int64_t shape[2] = {3, 3};
  pg_pattern p;
  assert_int_equal(pg_find_pattern(marks, 2, shape, &p, NULL), PG_OK);
  assert_int_equal(p.diagonal, 3);
  assert_int_equal(p.above, 3);
  assert_int_equal(p.below, 3);
}

static pg_array view(pg_scalar scalar, size_t count, const void *data) {
  pg_array a;
  pg_dtype dtype = pg_dtype_of(scalar);
  pg_array_view(&a, &dtype, count, (void *)(uintptr_t)data);
  return a;
}

/* More than one part (65536 elements each), so that the threads write words beside each other. */
static void marks_are_the_bad_elements(void **state) {
  (void)state;
  enum { N = 200001 };
  float *want = calloc(N, sizeof *want), *got = calloc(N, sizeof *got);
  uint64_t *marks = calloc((N + 63) / 64, sizeof *marks);
  for (size_t i = 0; i < N; i++) got[i] = pg_rng_below(1, 0, i, 7) ? 0 : 1;
  pg_array w = view(PG_F32, N, want), g = view(PG_F32, N, got);
  pg_comparison c;
  assert_int_equal(pg_compare_marked(&w, &g, &(pg_tolerance){0}, marks, &c, NULL), PG_OK);
  size_t marked = 0;
  for (size_t i = 0; i < N; i++) {
    assert_int_equal(is_marked(marks, i), got[i] == 1);
    marked += is_marked(marks, i);
  }
  assert_int_equal(marked, c.bad);
  free(want), free(got), free(marks);
}

static void scales_multiply_the_absolute_tolerance(void **state) {
  (void)state;
  const double want[6] = {0}, got[6] = {1, 1, 1, 1, 1, 1}, each[6] = {1, 0.5, 2, 1, 0, NAN};
  const double rows[2] = {1, 0.5};
  pg_array w = view(PG_F64, 6, want), g = view(PG_F64, 6, got);
  pg_comparison c;
  pg_tolerance t = {.atol = 1, .scale = each, .scale_repeat = 1};
  uint64_t marks[1] = {0};
  assert_int_equal(pg_compare_marked(&w, &g, &t, marks, &c, NULL), PG_OK);
  assert_int_equal(marks[0], 0x32); /* 0.5, 0 and NaN */
  t = (pg_tolerance){.atol = 1, .scale = rows, .scale_repeat = 3};
  marks[0] = 0;
  assert_int_equal(pg_compare_marked(&w, &g, &t, marks, &c, NULL), PG_OK);
  assert_int_equal(marks[0], 0x38);
}

static bool overflows(pg_scalar scalar, double want, double got) {
  uint64_t bits = 0;
  pg_store_f64(scalar, &bits, got);
  pg_array w = view(PG_F64, 1, &want), g = view(scalar, 1, &bits);
  pg_comparison c;
  assert_int_equal(pg_compare(&w, &g, &(pg_tolerance){.overflow = true}, &c, NULL), PG_OK);
  return c.bad == 0;
}

static void beyond_a_format_what_rounding_gives_passes(void **state) {
  (void)state;
  assert_true(overflows(PG_F16, 65520, INFINITY)); /* half-way: to even, which is beyond */
  assert_false(overflows(PG_F16, 65519, INFINITY));
  assert_false(overflows(PG_F16, -70000, INFINITY));
  assert_false(overflows(PG_F16, 70000, 65504));
  assert_false(overflows(PG_F16, NAN, INFINITY));
  assert_true(overflows(PG_F32, -1e39, -INFINITY));
  assert_false(overflows(PG_F64, 1.7e308, INFINITY));
  assert_true(overflows(PG_F8E4M3, 1000, 448));
  assert_true(overflows(PG_F8E4M3, INFINITY, 448));
  assert_false(overflows(PG_F8E4M3, 400, 448));
  assert_true(overflows(PG_F8E5M2, -1e6, -57344));
}

static void row_norms(void **state) {
  (void)state;
  const float values[] = {1, -3, NAN, 2, INFINITY, -1, 5};
  double out[3];
  pg_array a = view(PG_F32, 7, values);
  assert_int_equal(pg_row_norms(&a, 3, out, NULL), PG_OK);
  assert_true(out[0] == 3 && out[1] == 2 && out[2] == 5);
  assert_int_equal(pg_row_norms(&a, 0, out, NULL), PG_RANGE);
}

static void relations(void **state) {
  (void)state;
  const double want[] = {1, 2, 0, 4, 5}, got[] = {2, 4, 3, 0, NAN};
  const uint64_t marks[1] = {0x1b};
  pg_array w = view(PG_F64, 5, want), g = view(PG_F64, 5, got);
  pg_relation r;
  assert_int_equal(pg_find_relation(&w, &g, NULL, &r, NULL), PG_OK);
  assert_int_equal(r.pairs, 4);
  assert_int_equal(r.ratios, 3);
  assert_int_equal(r.zeros, 1);
  assert_int_equal(r.nans, 1);
  assert_true(r.ratio_min == 0 && r.ratio_max == 2);
  assert_true(r.difference_min == -4 && r.difference_max == 3);
  assert_int_equal(pg_find_relation(&w, &g, marks, &r, NULL), PG_OK);
  assert_int_equal(r.pairs, 3); /* without the third and the NaN */
  assert_true(r.difference_max == 2);
}

static void transposition_reverses_all_dimensions(void **state) {
  (void)state;
  const int64_t shape[3] = {3, 4, 5}, turned[3] = {5, 4, 3};
  pg_dtype dtype = pg_dtype_of(PG_U16);
  pg_array from, to;
  assert_int_equal(pg_array_new(&from, &dtype, 3, shape, NULL), PG_OK);
  assert_int_equal(pg_array_new(&to, &dtype, 3, turned, NULL), PG_OK);
  for (size_t i = 0; i < 60; i++) ((uint16_t *)from.data)[i] = (uint16_t)i;
  assert_int_equal(pg_array_transpose(&from, &to, NULL), PG_OK);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 4; j++)
      for (int k = 0; k < 5; k++)
        assert_int_equal(((uint16_t *)to.data)[(k * 4 + j) * 3 + i], (i * 4 + j) * 5 + k);
  assert_int_equal(pg_array_transpose(&from, &from, NULL), PG_INVALID);
  pg_array_free(&from);
  pg_array_free(&to);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(patterns_are_those_of_a_plain_loop),
      cmocka_unit_test(sides_of_the_diagonal),
      cmocka_unit_test(marks_are_the_bad_elements),
      cmocka_unit_test(scales_multiply_the_absolute_tolerance),
      cmocka_unit_test(beyond_a_format_what_rounding_gives_passes),
      cmocka_unit_test(row_norms),
      cmocka_unit_test(relations),
      cmocka_unit_test(transposition_reverses_all_dimensions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
