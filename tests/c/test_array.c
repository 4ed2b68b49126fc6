/* Arrays: allocation and shapes, random contents, conversion, reduction, equality of bits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "rng.h"

static pg_array make(pg_scalar scalar, int64_t count) {
  pg_array a;
  pg_dtype dtype = pg_dtype_of(scalar);
  assert_int_equal(pg_array_new(&a, &dtype, 1, &count, NULL), PG_OK);
  return a;
}

static double at(const pg_array *a, size_t i) {
  return pg_load_f64(a->dtype.scalar, (char *)a->data + i * a->dtype.size);
}

/* ---- allocation ---- */

static void a_new_array_is_aligned_and_zero(void **state) {
  (void)state;
  pg_dtype dtype = pg_dtype_of(PG_F32);
  pg_array a;
  assert_int_equal(pg_array_new(&a, &dtype, 2, (int64_t[]){3, 5}, NULL), PG_OK);
  assert_int_equal(a.count, 15);
  assert_int_equal(a.bytes, 60);
  assert_int_equal((uintptr_t)a.data % 64, 0);
  assert_true(a.owned);
  for (size_t i = 0; i < 15; i++) assert_true(at(&a, i) == 0);
  pg_array_free(&a);
  pg_array_free(&a); /* twice is allowed */
  assert_null(a.data);
}

static void an_empty_array_has_no_data(void **state) {
  (void)state;
  pg_dtype dtype = pg_dtype_of(PG_F64);
  pg_array a;
  assert_int_equal(pg_array_new(&a, &dtype, 3, (int64_t[]){INT64_MAX, INT64_MAX, 0}, NULL), PG_OK);
  assert_int_equal(a.count, 0);
  assert_null(a.data);
  pg_array_free(&a);
}

static void impossible_shapes_are_refused(void **state) {
  (void)state;
  pg_dtype dtype = pg_dtype_of(PG_F64);
  pg_array a;
  pg_error e;
  assert_int_equal(pg_array_new(&a, &dtype, 1, (int64_t[]){-1}, &e), PG_RANGE);
  assert_non_null(strstr(e.message, "negative"));
  assert_int_equal(pg_array_new(&a, &dtype, 2, (int64_t[]){INT64_MAX, 2}, &e), PG_RANGE);
  const int64_t wraps_to_0[] = {INT64_C(1) << 32, INT64_C(1) << 32};
  assert_int_equal(pg_array_new(&a, &dtype, 2, wraps_to_0, &e), PG_RANGE);
  assert_int_equal(pg_array_new(&a, &dtype, 1, (int64_t[]){INT64_MAX}, &e), PG_RANGE);
  assert_int_equal(pg_array_new(&a, &dtype, 0, (int64_t[]){1}, &e), PG_RANGE);
  assert_int_equal(pg_array_new(&a, &dtype, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, &e),
                   PG_RANGE);
  assert_int_equal(pg_array_new(&a, &dtype, 1, (int64_t[]){INT64_C(1) << 45}, &e), PG_MEMORY);
  assert_non_null(strstr(e.message, "281474976710656 bytes"));
  assert_non_null(strstr(e.message, "256.0 TiB"));
  pg_array_free(&a); /* safe after a failure */
}

static void a_view_does_not_own(void **state) {
  (void)state;
  float data[6] = {0, 1, 2, 3, 4, 5};
  pg_dtype dtype = pg_dtype_of(PG_F32);
  pg_array a;
  pg_array_view(&a, &dtype, 6, data);
  assert_true(at(&a, 5) == 5);
  assert_int_equal(pg_array_reshape(&a, 2, (int64_t[]){2, 3}, NULL), PG_OK);
  assert_int_equal(a.shape[1], 3);
  pg_error e;
  assert_int_equal(pg_array_reshape(&a, 2, (int64_t[]){2, 2}, &e), PG_INVALID);
  assert_int_equal(a.shape[1], 3);
  pg_array_free(&a);
}

/* ---- random ---- */

static const pg_random defaults = {
    .seed = 7, .stream = 3, .low = 0, .high = 1, .stddev = 1, .last = 1};

/* Whether a longer array begins with the shorter one's elements. */
static void check_prefix(pg_scalar scalar, pg_dist dist) {
  pg_random r = defaults;
  r.dist = dist;
  pg_array longer = make(scalar, 1000), shorter = make(scalar, 261);
  assert_int_equal(pg_array_random(&longer, &r, NULL), PG_OK);
  assert_int_equal(pg_array_random(&shorter, &r, NULL), PG_OK);
  assert_memory_equal(longer.data, shorter.data, shorter.bytes);
  char *first = longer.data; /* and it is not all the same */
  assert_memory_not_equal(first, first + 500 * longer.dtype.size, 400 * longer.dtype.size);
  pg_array_free(&longer);
  pg_array_free(&shorter);
}

static void an_element_depends_on_its_index_only(void **state) {
  (void)state;
  for (int s = 0; s < PG_SCALAR_COUNT; s++) {
    check_prefix((pg_scalar)s, PG_DIST_BITS);
    check_prefix((pg_scalar)s, PG_DIST_INTEGER);
    if (pg_scalar_class((pg_scalar)s) != 'f') continue;
    check_prefix((pg_scalar)s, PG_DIST_UNIFORM);
    check_prefix((pg_scalar)s, PG_DIST_NORMAL);
  }
}

static void random_bools_are_0_or_1(void **state) {
  (void)state;
  pg_random r = defaults;
  r.dist = PG_DIST_BITS;
  pg_array a = make(PG_BOOL, 1000);
  pg_array_random(&a, &r, NULL);
  for (size_t i = 0; i < 1000; i++)
    assert_int_equal(((uint8_t *)a.data)[i], pg_rng_u32(7, 3, i) & 1);
  pg_array_free(&a);
}

static void elements_are_those_of_rng(void **state) {
  (void)state;
  pg_random r = defaults;
  pg_array f = make(PG_F32, 1000), d = make(PG_F64, 1000), u = make(PG_U32, 1000),
           b = make(PG_U8, 1000), w = make(PG_I64, 1000), n = make(PG_F64, 1000);
  r.dist = PG_DIST_UNIFORM;
  pg_array_random(&f, &r, NULL);
  pg_array_random(&d, &r, NULL);
  r.dist = PG_DIST_BITS;
  pg_array_random(&u, &r, NULL);
  pg_array_random(&b, &r, NULL);
  pg_array_random(&w, &r, NULL);
  r.dist = PG_DIST_NORMAL;
  pg_array_random(&n, &r, NULL);
  for (size_t i = 0; i < 1000; i++) {
    assert_true(at(&f, i) == pg_rng_f32(7, 3, i));
    assert_true(at(&d, i) == pg_rng_f64(7, 3, i));
    assert_true(at(&u, i) == pg_rng_u32(7, 3, i));
    assert_true(at(&b, i) == (pg_rng_u32(7, 3, i) & 0xff));
    assert_true(((uint64_t *)w.data)[i] == pg_rng_u64(7, 3, i));
    assert_true(at(&n, i) == pg_rng_normal(7, 3, i));
  }
  pg_array *all[] = {&f, &d, &u, &b, &w, &n};
  for (int i = 0; i < 6; i++) pg_array_free(all[i]);
}

/* 2^-12 below 1 rounds to 1 in f16: rounding must not leave the interval. */
static void uniform_stays_in_its_interval(void **state) {
  (void)state;
  static const double bounds[][2] = {{0, 1},   {-1, 1},     {0.1, 0.3},
                                     {-7, -2}, {1, 1.0625}, {-3e-3, 2e-3}};
  for (int s = PG_F64; s <= PG_F8E5M2; s++) {
    for (int k = 0; k < 6; k++) {
      pg_random r = defaults;
      r.low = bounds[k][0], r.high = bounds[k][1];
      pg_array a = make((pg_scalar)s, 20000);
      pg_error e;
      pg_code code = pg_array_random(&a, &r, &e);
      assert_int_equal(code, PG_OK);
      for (size_t i = 0; i < a.count; i++)
        if (!(at(&a, i) >= r.low && at(&a, i) < r.high))
          fail_msg("%s: %g is outside [%g, %g)", a.dtype.name, at(&a, i), r.low, r.high);
      pg_array_free(&a);
    }
  }
}

static void uniform_has_the_right_mean_and_variance(void **state) {
  (void)state;
  pg_random r = defaults;
  r.low = -2, r.high = 6;
  pg_array a = make(PG_F32, 100000);
  pg_array_random(&a, &r, NULL);
  double sum = 0, squares = 0, n = 100000;
  for (size_t i = 0; i < a.count; i++) sum += at(&a, i), squares += at(&a, i) * at(&a, i);
  double variance = 64.0 / 12;
  assert_true(fabs(sum / n - 2) < 3.3 * sqrt(variance / n));
  assert_true(fabs(squares / n - 4 - variance) < 0.1);
  pg_array_free(&a);
}

/* Long arrays are filled in parts by several threads. */
static void long_arrays_have_the_same_elements(void **state) {
  (void)state;
  enum { N = 200003 };
  pg_array a = make(PG_F64, N);
  pg_random r = {.seed = 9, .stream = 4, .dist = PG_DIST_NORMAL, .mean = 0, .stddev = 1};
  assert_int_equal(pg_array_random(&a, &r, NULL), PG_OK);
  for (uint64_t i = 0; i < N; i++)
    assert_true(((const double *)a.data)[i] == pg_rng_normal(9, 4, i));
  pg_array_free(&a);
}

static void normal_takes_mean_and_stddev(void **state) {
  (void)state;
  pg_random r = defaults;
  r.dist = PG_DIST_NORMAL, r.mean = 10, r.stddev = 0.5;
  pg_array a = make(PG_F64, 1000);
  pg_array_random(&a, &r, NULL);
  for (size_t i = 0; i < a.count; i++) assert_true(at(&a, i) == 10 + 0.5 * pg_rng_normal(7, 3, i));
  pg_array_free(&a);
}

static void integers_cover_both_ends(void **state) {
  (void)state;
  pg_random r = defaults;
  r.dist = PG_DIST_INTEGER, r.first = -3, r.last = 4;
  const pg_scalar scalars[] = {PG_I8, PG_I16, PG_I32, PG_I64, PG_F16, PG_F32, PG_F8E5M2};
  for (int s = 0; s < 7; s++) {
    int seen[8] = {0};
    pg_array a = make(scalars[s], 1000);
    assert_int_equal(pg_array_random(&a, &r, NULL), PG_OK);
    for (size_t i = 0; i < a.count; i++) {
      int v = (int)at(&a, i);
      assert_in_range(v + 3, 0, 7);
      assert_true(v == -3 + (int)pg_rng_below(7, 3, i, 8));
      seen[v + 3] = 1;
    }
    for (int i = 0; i < 8; i++) assert_true(seen[i]);
    pg_array_free(&a);
  }
}

static void integers_span_64_bits(void **state) {
  (void)state;
  pg_array i = make(PG_I64, 100), u = make(PG_U64, 100);
  pg_random r = defaults;
  r.dist = PG_DIST_INTEGER, r.first = INT64_MIN, r.last = INT64_MAX;
  assert_int_equal(pg_array_random(&i, &r, NULL), PG_OK);
  r.first = 0, r.last = -1; /* bit patterns for u64 */
  assert_int_equal(pg_array_random(&u, &r, NULL), PG_OK);
  for (size_t k = 0; k < 100; k++) {
    assert_true(((uint64_t *)u.data)[k] == pg_rng_u64(7, 3, k));
    assert_true(((uint64_t *)i.data)[k] == (pg_rng_u64(7, 3, k) ^ UINT64_C(1) << 63));
  }
  pg_array_free(&i);
  pg_array_free(&u);
}

static void check_refused(pg_scalar scalar, pg_random r, pg_code code) {
  pg_array a = make(scalar, 4);
  pg_error e;
  assert_int_equal(pg_array_random(&a, &r, &e), code);
  assert_true(strlen(e.message) > 10);
  pg_array_free(&a);
}

static void impossible_requests_are_refused(void **state) {
  (void)state;
  pg_random r = defaults;
  check_refused(PG_I32, r, PG_INVALID); /* uniform integers */
  r.low = 1, r.high = 1;
  check_refused(PG_F32, r, PG_RANGE);
  r.high = NAN;
  check_refused(PG_F32, r, PG_RANGE);
  r.low = 0, r.high = 1e6;
  check_refused(PG_F16, r, PG_RANGE);
  r.low = -DBL_MAX, r.high = DBL_MAX;
  check_refused(PG_F64, r, PG_RANGE);
  r.low = 1.01, r.high = 1.02; /* f8e4m3 has nothing between 1 and 1.125 */
  check_refused(PG_F8E4M3, r, PG_RANGE);
  r = defaults, r.dist = PG_DIST_NORMAL, r.stddev = -1;
  check_refused(PG_F32, r, PG_RANGE);
  r = defaults, r.dist = PG_DIST_INTEGER, r.first = 2;
  check_refused(PG_I32, r, PG_RANGE); /* first above last */
  r.first = 0, r.last = 256;
  check_refused(PG_U8, r, PG_RANGE);
  r.last = 2;
  check_refused(PG_BOOL, r, PG_RANGE);
  r.last = 2049;
  check_refused(PG_F16, r, PG_RANGE); /* 2049 is no f16 */
  r.last = 2048;
  pg_array a = make(PG_F16, 4);
  assert_int_equal(pg_array_random(&a, &r, NULL), PG_OK);
  pg_array_free(&a);
  pg_dtype dtype;
  pg_dtype_struct(&dtype, "T");
  pg_dtype_add(&dtype, "x", PG_F32, 1, NULL);
  pg_dtype_finish(&dtype);
  pg_array_new(&a, &dtype, 1, (int64_t[]){2}, NULL);
  assert_int_equal(pg_array_random(&a, &defaults, NULL), PG_INVALID);
  pg_array_free(&a);
}

/* ---- conversion ---- */

static void u64_becomes_float_in_one_rounding(void **state) {
  (void)state;
  pg_array u = make(PG_U64, 20000), f = make(PG_F32, 20000), d = make(PG_F64, 20000);
  pg_random r = defaults;
  r.dist = PG_DIST_BITS;
  pg_array_random(&u, &r, NULL);
  uint64_t *v = u.data;
  for (size_t i = 0; i < u.count; i++) v[i] >>= i % 64;
  v[0] = (UINT64_C(1) << 63) + (UINT64_C(1) << 39) + 1; /* a tie of f32 and one more */
  assert_int_equal(pg_array_convert(&u, &f, NULL), PG_OK);
  assert_int_equal(pg_array_convert(&u, &d, NULL), PG_OK);
  for (size_t i = 0; i < u.count; i++) {
    assert_true(((float *)f.data)[i] == (float)v[i]);
    assert_true(((double *)d.data)[i] == (double)v[i]);
  }
  assert_true(((float *)f.data)[0] != (float)(double)v[0]); /* the case does tell */
  pg_array_free(&u);
  pg_array_free(&f);
  pg_array_free(&d);
}

static void conversions_wrap_integers_and_round_floats(void **state) {
  (void)state;
  pg_array i = make(PG_I64, 3), b = make(PG_U8, 3), f = make(PG_F32, 3), h = make(PG_F16, 3);
  int64_t *v = i.data;
  v[0] = 257, v[1] = -1, v[2] = (INT64_C(1) << 53) + 1;
  assert_int_equal(pg_array_convert(&i, &b, NULL), PG_OK);
  assert_true(at(&b, 0) == 1 && at(&b, 1) == 255 && at(&b, 2) == 1);
  float *x = f.data;
  x[0] = 1 + 0x1p-11f, x[1] = 1e6f, x[2] = NAN;
  assert_int_equal(pg_array_convert(&f, &h, NULL), PG_OK);
  assert_true(at(&h, 0) == 1 && isinf(at(&h, 1)) && isnan(at(&h, 2)));
  pg_array small = make(PG_F32, 2);
  assert_int_equal(pg_array_convert(&f, &small, NULL), PG_INVALID);
  pg_array *all[] = {&i, &b, &f, &h, &small};
  for (int k = 0; k < 5; k++) pg_array_free(all[k]);
}

/* ---- reduction ---- */

static pg_reduction reduce(const pg_array *a) {
  pg_reduction r;
  assert_int_equal(pg_array_reduce(a, &r, NULL), PG_OK);
  return r;
}

static void sums_are_compensated(void **state) {
  (void)state;
  pg_array a = make(PG_F64, 100002);
  double *v = a.data;
  v[0] = 1e16, v[100001] = -1e16;
  for (size_t i = 1; i <= 100000; i++) v[i] = 1.5;
  assert_true(reduce(&a).sum == 150000);
  pg_array_free(&a);
}

static void sums_of_infinities_are_not_nan(void **state) {
  (void)state;
  pg_array a = make(PG_F64, 3);
  double *v = a.data;
  v[1] = INFINITY, v[2] = 1;
  pg_reduction r = reduce(&a);
  assert_true(r.sum == INFINITY && r.max == INFINITY && r.max_index == 1);
  v[0] = -INFINITY;
  assert_true(isnan(reduce(&a).sum));
  pg_array_free(&a);
}

static void extremes_are_the_first_of_equals_and_nan_wins(void **state) {
  (void)state;
  pg_array a = make(PG_F32, 2000);
  float *v = a.data;
  for (size_t i = 0; i < 2000; i++) v[i] = (float)(i % 7);
  pg_reduction r = reduce(&a);
  assert_true(r.min == 0 && r.min_index == 0 && r.max == 6 && r.max_index == 6);
  v[1500] = NAN;
  r = reduce(&a);
  assert_true(isnan(r.min) && isnan(r.max) && isnan(r.sum));
  assert_int_equal(r.min_index, 1500);
  assert_int_equal(r.max_index, 1500);
  pg_array_free(&a);
}

static void extremes_of_wide_integers_are_exact(void **state) {
  (void)state;
  pg_array i = make(PG_I64, 3), u = make(PG_U64, 3);
  int64_t *v = i.data;
  v[0] = (INT64_C(1) << 60) + 1, v[1] = (INT64_C(1) << 60) + 2, v[2] = (INT64_C(1) << 60);
  assert_int_equal(reduce(&i).max_index, 1);
  assert_int_equal(reduce(&i).min_index, 2);
  v[0] = -5;
  assert_int_equal(reduce(&i).min_index, 0);
  ((uint64_t *)u.data)[1] = UINT64_MAX;
  assert_int_equal(reduce(&u).max_index, 1);
  assert_true(reduce(&u).max == 0x1p64);
  pg_array_free(&i);
  pg_array_free(&u);
}

/* ---- equality ---- */

static void equality_looks_at_bits(void **state) {
  (void)state;
  pg_array a = make(PG_F32, 100), b = make(PG_F32, 100), c = make(PG_F32, 99),
           i = make(PG_I32, 100);
  float *x = a.data, *y = b.data;
  size_t index;
  x[3] = y[3] = NAN;
  assert_int_equal(pg_array_equal_bits(&a, &b, &index, NULL), PG_OK);
  assert_int_equal(index, 100);
  x[77] = -0.0f;
  assert_int_equal(pg_array_equal_bits(&a, &b, &index, NULL), PG_OK);
  assert_int_equal(index, 77);
  assert_int_equal(pg_array_equal_bits(&a, &c, &index, NULL), PG_INVALID);
  assert_int_equal(pg_array_equal_bits(&a, &i, &index, NULL), PG_INVALID);
  pg_array *all[] = {&a, &b, &c, &i};
  for (int k = 0; k < 4; k++) pg_array_free(all[k]);
}

static void padding_of_structs_does_not_count(void **state) {
  (void)state;
  pg_dtype dtype;
  pg_dtype_struct(&dtype, "T");
  pg_dtype_add(&dtype, "a", PG_U8, 1, NULL);
  pg_dtype_add(&dtype, "b", PG_F64, 1, NULL);
  pg_dtype_finish(&dtype);
  pg_array a, b;
  pg_array_new(&a, &dtype, 1, (int64_t[]){5}, NULL);
  pg_array_new(&b, &dtype, 1, (int64_t[]){5}, NULL);
  size_t index;
  ((char *)a.data)[16 + 3] = 1; /* padding of element 1 */
  assert_int_equal(pg_array_equal_bits(&a, &b, &index, NULL), PG_OK);
  assert_int_equal(index, 5);
  ((char *)a.data)[2 * 16 + 8] = 1; /* b of element 2 */
  assert_int_equal(pg_array_equal_bits(&a, &b, &index, NULL), PG_OK);
  assert_int_equal(index, 2);
  pg_array_free(&a);
  pg_array_free(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_array_is_aligned_and_zero),
      cmocka_unit_test(an_empty_array_has_no_data),
      cmocka_unit_test(impossible_shapes_are_refused),
      cmocka_unit_test(a_view_does_not_own),
      cmocka_unit_test(an_element_depends_on_its_index_only),
      cmocka_unit_test(random_bools_are_0_or_1),
      cmocka_unit_test(elements_are_those_of_rng),
      cmocka_unit_test(uniform_stays_in_its_interval),
      cmocka_unit_test(uniform_has_the_right_mean_and_variance),
      cmocka_unit_test(long_arrays_have_the_same_elements),
      cmocka_unit_test(normal_takes_mean_and_stddev),
      cmocka_unit_test(integers_cover_both_ends),
      cmocka_unit_test(integers_span_64_bits),
      cmocka_unit_test(impossible_requests_are_refused),
      cmocka_unit_test(u64_becomes_float_in_one_rounding),
      cmocka_unit_test(conversions_wrap_integers_and_round_floats),
      cmocka_unit_test(sums_are_compensated),
      cmocka_unit_test(sums_of_infinities_are_not_nan),
      cmocka_unit_test(extremes_are_the_first_of_equals_and_nan_wins),
      cmocka_unit_test(extremes_of_wide_integers_are_exact),
      cmocka_unit_test(equality_looks_at_bits),
      cmocka_unit_test(padding_of_structs_does_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
