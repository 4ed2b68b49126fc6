/* Element types: conversions against an independent formulation, layouts against the compiler's
 * own. The reference never looks at binary64's bits: it searches a table of all values of the
 * narrow format. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dtype.h"
#include "rng.h"

/* ---- the reference: definition of the formats in real numbers ---- */

typedef struct format {
  const char *name;
  int bits, mantissa, bias;
  bool infinity, saturates;
  uint32_t largest; /* encoding of the largest finite number */
  uint32_t (*encode)(double);
  double (*decode)(uint32_t);
} format;

static uint32_t encode_f16(double v) {
  return pg_f64_to_f16(v);
}
static uint32_t encode_bf16(double v) {
  return pg_f64_to_bf16(v);
}
static uint32_t encode_e4m3(double v) {
  return pg_f64_to_f8e4m3(v);
}
static uint32_t encode_e5m2(double v) {
  return pg_f64_to_f8e5m2(v);
}
static double decode_f16(uint32_t b) {
  return pg_f16_to_f64((uint16_t)b);
}
static double decode_bf16(uint32_t b) {
  return pg_bf16_to_f64((uint16_t)b);
}
static double decode_e4m3(uint32_t b) {
  return pg_f8e4m3_to_f64((uint8_t)b);
}
static double decode_e5m2(uint32_t b) {
  return pg_f8e5m2_to_f64((uint8_t)b);
}

static const format formats[] = {
    {"f16", 16, 10, 15, true, false, 0x7bff, encode_f16, decode_f16},
    {"bf16", 16, 7, 127, true, false, 0x7f7f, encode_bf16, decode_bf16},
    {"f8e4m3", 8, 3, 7, false, true, 0x7e, encode_e4m3, decode_e4m3},
    {"f8e5m2", 8, 2, 15, true, true, 0x7b, encode_e5m2, decode_e5m2},
};

/* Value of an encoding from its definition: (-1)^s 2^(e - bias) (1 + m / 2^M), or 2^(1 - bias) m /
 * 2^M when e = 0. */
static double define(const format *f, uint32_t bits) {
  uint32_t magnitude = bits & ((1u << (f->bits - 1)) - 1);
  int e = (int)(magnitude >> f->mantissa);
  double m = magnitude & ((1u << f->mantissa) - 1), unit = pow(2, f->mantissa);
  int top = (1 << (f->bits - 1 - f->mantissa)) - 1;
  double value;
  if (f->infinity && e == top)
    value = m == 0 ? INFINITY : NAN;
  else if (e == top && m == unit - 1)
    value = NAN;
  else
    value = e ? pow(2, e - f->bias) * (1 + m / unit) : pow(2, 1 - f->bias) * (m / unit);
  return bits >> (f->bits - 1) ? -value : value;
}

/* All values of a format by encoding; made once, for pow is slow. */
static const double *values_of(const format *f) {
  static double tables[4][1 << 16];
  static bool made[4];
  size_t i = (size_t)(f - formats);
  for (uint32_t b = 0; !made[i] && b < 1u << f->bits; b++) tables[i][b] = define(f, b);
  made[i] = true;
  return tables[i];
}

static double value_of(const format *f, uint32_t bits) {
  return values_of(f)[bits];
}

/* Nearest encoding: search the ordered magnitudes, decide by the exact midpoint, ties to the even
 * one. */
static uint32_t nearest(const format *f, double value) {
  const double *values = values_of(f);
  double a = fabs(value);
  uint32_t sign = signbit(value) ? 1u << (f->bits - 1) : 0, low = 0, max = f->largest, high = max;
  if (a >= values[max]) {
    /* The next number, were the exponent not used up, decides what still rounds down. */
    double midpoint = values[max] + (values[max] - values[max - 1]) / 2;
    return sign | (f->saturates || a < midpoint ? max : max + 1);
  }
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (values[middle] <= a)
      low = middle;
    else
      high = middle;
  }
  double midpoint = (values[low] + values[high]) / 2;
  if (a == midpoint) return sign | (low % 2 == 0 ? low : high);
  return sign | (a < midpoint ? low : high);
}

static void check_encode(const format *f, double value) {
  uint32_t got = f->encode(value), want = nearest(f, value);
  if (got != want)
    fail_msg("%s(%.17g = %a): expected 0x%04x, got 0x%04x", f->name, value, value, want, got);
}

/* ---- narrow formats ---- */

static void every_encoding_decodes_to_its_definition(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    const format *f = &formats[i];
    for (uint32_t bits = 0; bits < 1u << f->bits; bits++) {
      double want = value_of(f, bits), got = f->decode(bits);
      assert_int_equal(isnan(want) != 0, isnan(got) != 0);
      if (isnan(want)) continue;
      if (memcmp(&want, &got, sizeof want) != 0) /* the sign of zero too */
        fail_msg("%s 0x%04x: expected %.17g, got %.17g", f->name, bits, want, got);
    }
  }
}

static void every_number_survives_the_way_there_and_back(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    const format *f = &formats[i];
    for (uint32_t bits = 0; bits < 1u << f->bits; bits++) {
      double value = f->decode(bits);
      if (isnan(value))
        assert_true(isnan(f->decode(f->encode(value))));
      else if (isfinite(value) || !f->saturates)
        assert_int_equal(f->encode(value), bits);
    }
  }
}

/* Midpoints of all neighbours, and the binary64 numbers right beside them: what a rounding through
 * binary32 gets wrong. */
static void ties_go_to_even_and_their_neighbours_do_not(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    const format *f = &formats[i];
    int through_f32_differs = 0;
    for (uint32_t bits = 0; bits < f->largest; bits++) {
      double middle = (value_of(f, bits) + value_of(f, bits + 1)) / 2;
      double beside[] = {middle, nextafter(middle, 0), nextafter(middle, INFINITY)};
      for (int k = 0; k < 3; k++) {
        check_encode(f, beside[k]);
        check_encode(f, -beside[k]);
        through_f32_differs += nearest(f, beside[k]) != nearest(f, (float)beside[k]);
      }
    }
    assert_true(through_f32_differs > 10); /* the cases do tell one rounding from two */
  }
}

static void values_of_every_size_round_to_nearest(void **state) {
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    for (uint64_t k = 0; k < 100000; k++) {
      double scale = 180 * (pg_rng_f64(1, i, 2 * k) - 0.5);
      double value = ldexp(1 + pg_rng_f64(1, i, 2 * k + 1), (int)scale);
      check_encode(&formats[i], k % 2 ? -value : value);
    }
  }
}

static void ends_of_the_range(void **state) {
  (void)state;
  assert_int_equal(pg_f64_to_f16(65504), 0x7bff);
  assert_int_equal(pg_f64_to_f16(nextafter(65520, 0)), 0x7bff);
  assert_int_equal(pg_f64_to_f16(65520), 0x7c00); /* the tie goes to infinity */
  assert_int_equal(pg_f64_to_f16(-INFINITY), 0xfc00);
  assert_int_equal(pg_f64_to_f16(0x1p-25), 0); /* tie between 0 and the smallest */
  assert_int_equal(pg_f64_to_f16(nextafter(0x1p-25, 1)), 1);
  assert_int_equal(pg_f64_to_f16(-0.0), 0x8000);
  assert_int_equal(pg_f64_to_bf16(DBL_MAX), 0x7f80);
  assert_int_equal(pg_f64_to_bf16(FLT_MAX), 0x7f80);
  assert_int_equal(pg_f64_to_bf16(1 + 0x1p-8), 0x3f80);
  assert_int_equal(pg_f64_to_bf16(DBL_TRUE_MIN), 0);
  assert_int_equal(pg_f64_to_f8e4m3(1e300), 0x7e);
  assert_int_equal(pg_f64_to_f8e4m3(-INFINITY), 0xfe);
  assert_int_equal(pg_f64_to_f8e5m2(INFINITY), 0x7b);
  assert_int_equal(pg_f64_to_f8e5m2(57345), 0x7b);
}

static void nan_becomes_the_gpus_nan(void **state) {
  (void)state;
  assert_int_equal(pg_f64_to_f16(NAN), 0x7fff);
  assert_int_equal(pg_f64_to_bf16(-NAN), 0x7fff);
  assert_int_equal(pg_f64_to_f8e4m3(NAN), 0x7f);
  assert_int_equal(pg_f64_to_f8e5m2(NAN), 0x7f);
}

/* ---- scalars at any address ---- */

static void floats_are_loaded_as_stored_at_odd_addresses(void **state) {
  (void)state;
  char memory[16];
  for (int s = 0; s < PG_SCALAR_COUNT; s++) {
    for (int value = 0; value <= 1; value++) {
      pg_store_f64((pg_scalar)s, memory + 1, value);
      assert_true(pg_load_f64((pg_scalar)s, memory + 1) == value);
      pg_store_i64((pg_scalar)s, memory + 3, value);
      assert_int_equal(pg_load_i64((pg_scalar)s, memory + 3), value);
    }
  }
}

static void scalars_take_no_more_than_their_bytes(void **state) {
  (void)state;
  for (int s = 0; s < PG_SCALAR_COUNT; s++) {
    unsigned char memory[10];
    memset(memory, 0xaa, sizeof memory);
    pg_store_i64((pg_scalar)s, memory + 1, 1);
    assert_int_equal(memory[0], 0xaa);
    assert_int_equal(memory[1 + pg_scalar_size((pg_scalar)s)], 0xaa);
  }
}

static int64_t stored_i64(pg_scalar scalar, int64_t value) {
  char memory[8];
  pg_store_i64(scalar, memory, value);
  return pg_load_i64(scalar, memory);
}

static double stored_f64(pg_scalar scalar, double value) {
  char memory[8];
  pg_store_f64(scalar, memory, value);
  return pg_load_f64(scalar, memory);
}

static void integers_wrap(void **state) {
  (void)state;
  assert_int_equal(stored_i64(PG_U8, 300), 44);
  assert_int_equal(stored_i64(PG_I8, 200), -56);
  assert_int_equal(stored_i64(PG_U32, -1), 0xffffffffu);
  assert_int_equal(stored_i64(PG_I16, 0x12345), 0x2345);
  assert_true(stored_i64(PG_U64, -1) == -1);
  assert_true(stored_i64(PG_I64, INT64_MIN) == INT64_MIN);
  assert_int_equal(stored_i64(PG_BOOL, 256), 1);
}

static void numbers_become_integers_towards_zero_and_wrap(void **state) {
  (void)state;
  assert_true(stored_f64(PG_I32, -1.9) == -1);
  assert_true(stored_f64(PG_U8, 257.5) == 1);
  assert_true(stored_f64(PG_I32, 0x1p32 + 5) == 5);
  assert_true(stored_f64(PG_U64, 0x1p63) == 0x1p63);
  assert_true(stored_f64(PG_U64, 0x1p64 - 2048) == 0x1p64 - 2048);
  assert_true(stored_f64(PG_U64, -1) == 0x1p64); /* 2^64 - 1 as binary64 */
  assert_true(stored_f64(PG_I64, 0x1p63) == -0x1p63);
  assert_true(stored_f64(PG_I64, -0x1p63 - 2048) == 0x1p63 - 2048);
  assert_true(stored_f64(PG_I64, 0x1p200) == 0);
  assert_true(stored_f64(PG_I32, NAN) == 0);
  assert_true(stored_f64(PG_U64, -INFINITY) == 0);
  assert_true(stored_f64(PG_BOOL, 0.5) == 1);
  assert_true(stored_f64(PG_BOOL, -0.0) == 0);
  char memory[8];
  pg_store_f64(PG_F32, memory, -3.7);
  assert_int_equal(pg_load_i64(PG_F32, memory), -3);
}

static void u64_is_read_as_a_number_above_2_63(void **state) {
  (void)state;
  uint64_t value = UINT64_MAX;
  assert_true(pg_load_f64(PG_U64, &value) == 0x1p64);
  assert_true(pg_load_i64(PG_U64, &value) == -1);
}

/* 2^60 + 2^52 is a tie of bf16; one more decides it, but binary64 cannot hold that one. */
static void integers_are_rounded_once(void **state) {
  (void)state;
  char memory[8];
  int64_t tie = (INT64_C(1) << 60) + (INT64_C(1) << 52);
  pg_store_i64(PG_BF16, memory, tie);
  assert_true(pg_load_f64(PG_BF16, memory) == 0x1p60);
  pg_store_i64(PG_BF16, memory, tie + 1);
  assert_true(pg_load_f64(PG_BF16, memory) == 0x1p60 + 0x1p53);
  pg_store_i64(PG_BF16, memory, -tie - 1);
  assert_true(pg_load_f64(PG_BF16, memory) == -0x1p60 - 0x1p53);
  pg_store_i64(PG_BF16, memory, tie - 1);
  assert_true(pg_load_f64(PG_BF16, memory) == 0x1p60);
  for (uint64_t i = 0; i < 100000; i++) { /* the compiler's own cast is the reference */
    int64_t value = (int64_t)(pg_rng_u64(2, 0, i) >> pg_rng_u32(2, 1, i) % 64);
    float got;
    pg_store_i64(PG_F32, &got, value);
    assert_true(got == (float)value);
  }
}

static void many_at_once_equal_one_at_a_time(void **state) {
  (void)state;
  double values[37], back[37];
  int64_t integers[37], integers_back[37];
  char memory[37 * 8 + 1];
  for (int i = 0; i < 37; i++) values[i] = i * 1.25 - 20, integers[i] = i * 7 - 100;
  for (int k = 0; k < PG_SCALAR_COUNT; k++) {
    pg_scalar s = (pg_scalar)k;
    uint32_t size = pg_scalar_size(s);
    pg_store_f64s(s, memory + 1, 37, values);
    pg_load_f64s(s, memory + 1, 37, back);
    for (int i = 0; i < 37; i++) assert_true(back[i] == stored_f64(s, values[i]));
    pg_store_i64s(s, memory + 1, 37, integers);
    pg_load_i64s(s, memory + 1, 37, integers_back);
    for (int i = 0; i < 37; i++) {
      assert_int_equal(integers_back[i], stored_i64(s, integers[i]));
      assert_int_equal(integers_back[i], pg_load_i64(s, memory + 1 + (uint32_t)i * size));
    }
  }
}

static void every_half_is_loaded_as_it_decodes(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
    const uint16_t half = (uint16_t)bits;
    const double want = pg_f16_to_f64(half);
    double got;
    pg_load_f64s(PG_F16, &half, 1, &got);
    assert_memory_equal(&got, &want, sizeof got);
  }
}

/* ---- names and structs ---- */

static void float_formats_agree_with_the_conversions(void **state) {
  (void)state;
  for (int s = PG_F64; s <= PG_F8E5M2; s++) {
    const pg_float_format *f = pg_scalar_format((pg_scalar)s);
    assert_true(stored_f64((pg_scalar)s, f->max) == f->max);
    double one_ulp = ldexp(1, -f->mantissa_bits);
    assert_true(stored_f64((pg_scalar)s, 1 + one_ulp) == 1 + one_ulp);
    assert_true(stored_f64((pg_scalar)s, 1 + one_ulp / 2) == 1);
    double smallest = ldexp(1, f->min_exponent - f->mantissa_bits);
    assert_true(stored_f64((pg_scalar)s, smallest) == smallest);
    assert_true(stored_f64((pg_scalar)s, smallest / 2) == 0);
  }
  assert_null(pg_scalar_format(PG_I32));
  assert_null(pg_scalar_format(PG_STRUCT));
}

static void names_parse_and_unknown_ones_get_a_suggestion(void **state) {
  (void)state;
  pg_dtype d;
  pg_error e;
  for (int s = 0; s < PG_SCALAR_COUNT; s++) {
    assert_int_equal(pg_dtype_parse(pg_scalar_name((pg_scalar)s), &d, &e), PG_OK);
    assert_int_equal(d.scalar, s);
    assert_int_equal(d.size, pg_scalar_size((pg_scalar)s));
  }
  assert_int_equal(pg_dtype_parse("float", &d, &e), PG_NOT_FOUND);
  static const char *const meant[][2] = {
      {"float", "f32"}, {"size_t", "u64"}, {"f23", "f32"}, {"bf1", "bf16"}, {"f8e4m", "f8e4m3"}};
  for (size_t i = 0; i < sizeof meant / sizeof *meant; i++) {
    char hint[64];
    snprintf(hint, sizeof hint, "did you mean '%s'? The dtypes are f64", meant[i][1]);
    assert_int_equal(pg_dtype_parse(meant[i][0], &d, &e), PG_NOT_FOUND);
    if (strstr(e.hint, hint) != e.hint) fail_msg("%s: %s", meant[i][0], e.hint);
  }
  static const char *const strange[] = {"", "complex number"};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(pg_dtype_parse(strange[i], &d, &e), PG_NOT_FOUND);
    assert_non_null(strstr(e.hint, "the dtypes are f64"));
    for (int s = 0; s < PG_SCALAR_COUNT; s++)
      assert_non_null(strstr(e.hint, pg_scalar_name((pg_scalar)s)));
  }
  assert_int_equal(pg_dtype_parse("float", &d, NULL), PG_NOT_FOUND);
  assert_int_equal(pg_scalar_class(PG_STRUCT), 's');
  assert_int_equal(pg_scalar_size(PG_STRUCT), 0);
}

struct entry {
  int64_t key;
  int32_t block;
  int32_t pos[3];
};

struct mixed {
  uint8_t a;
  double b;
  uint16_t c[3];
  bool d;
};

static void structs_have_the_compilers_layout(void **state) {
  (void)state;
  pg_dtype d;
  pg_dtype_struct(&d, "Entry");
  pg_dtype_add(&d, "key", PG_I64, 1, NULL);
  pg_dtype_add(&d, "block", PG_I32, 1, NULL);
  pg_dtype_add(&d, "pos", PG_I32, 3, NULL);
  pg_dtype_finish(&d);
  assert_int_equal(d.size, sizeof(struct entry));
  assert_int_equal(d.fields[2].offset, offsetof(struct entry, pos));
  pg_dtype_struct(&d, "Mixed");
  pg_dtype_add(&d, "a", PG_U8, 1, NULL);
  pg_dtype_add(&d, "b", PG_F64, 1, NULL);
  pg_dtype_add(&d, "c", PG_U16, 3, NULL);
  pg_dtype_add(&d, "d", PG_BOOL, 1, NULL);
  pg_dtype_finish(&d);
  assert_int_equal(d.size, sizeof(struct mixed));
  assert_int_equal(d.align, _Alignof(struct mixed));
  assert_int_equal(d.fields[1].offset, offsetof(struct mixed, b));
  assert_int_equal(d.fields[2].offset, offsetof(struct mixed, c));
  assert_int_equal(d.fields[3].offset, offsetof(struct mixed, d));
}

static void bad_fields_are_refused(void **state) {
  (void)state;
  pg_dtype d;
  pg_error e;
  pg_dtype_struct(&d, "T");
  assert_int_equal(pg_dtype_add(&d, "x", PG_F32, 1, &e), PG_OK);
  assert_int_equal(pg_dtype_add(&d, "x", PG_F32, 1, &e), PG_INVALID);
  assert_string_equal(e.message, "struct T: two fields are named 'x'");
  assert_int_equal(pg_dtype_add(&d, "y", PG_F32, 0, &e), PG_RANGE);
  assert_int_equal(pg_dtype_add(&d, "", PG_F32, 1, &e), PG_RANGE);
  assert_int_equal(pg_dtype_add(&d, "z", PG_STRUCT, 1, &e), PG_INVALID);
  assert_int_equal(pg_dtype_add(&d, "big", PG_F64, 1u << 30, &e), PG_RANGE);
  char name[PG_NAME_MAX + 1];
  memset(name, 'n', PG_NAME_MAX);
  name[PG_NAME_MAX] = '\0';
  assert_int_equal(pg_dtype_add(&d, name, PG_F32, 1, &e), PG_RANGE);
  for (int i = 1; i < PG_FIELD_MAX; i++) {
    snprintf(name, sizeof name, "f%d", i);
    assert_int_equal(pg_dtype_add(&d, name, PG_U8, 1, &e), PG_OK);
  }
  assert_int_equal(pg_dtype_add(&d, "one_more", PG_U8, 1, &e), PG_RANGE);
}

static void dtypes_are_equal_by_layout(void **state) {
  (void)state;
  pg_dtype a, b;
  pg_dtype_struct(&a, "A");
  pg_dtype_struct(&b, "B");
  pg_dtype_add(&a, "x", PG_F32, 2, NULL);
  pg_dtype_add(&b, "x", PG_F32, 2, NULL);
  pg_dtype_finish(&a);
  pg_dtype_finish(&b);
  assert_true(pg_dtype_equal(&a, &b));
  b.fields[0].scalar = PG_I32;
  assert_false(pg_dtype_equal(&a, &b));
  pg_dtype f = pg_dtype_of(PG_F32), i = pg_dtype_of(PG_I32);
  assert_false(pg_dtype_equal(&f, &i));
  assert_true(pg_dtype_equal(&f, &f));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_encoding_decodes_to_its_definition),
      cmocka_unit_test(every_number_survives_the_way_there_and_back),
      cmocka_unit_test(ties_go_to_even_and_their_neighbours_do_not),
      cmocka_unit_test(values_of_every_size_round_to_nearest),
      cmocka_unit_test(ends_of_the_range),
      cmocka_unit_test(nan_becomes_the_gpus_nan),
      cmocka_unit_test(floats_are_loaded_as_stored_at_odd_addresses),
      cmocka_unit_test(scalars_take_no_more_than_their_bytes),
      cmocka_unit_test(integers_wrap),
      cmocka_unit_test(numbers_become_integers_towards_zero_and_wrap),
      cmocka_unit_test(u64_is_read_as_a_number_above_2_63),
      cmocka_unit_test(integers_are_rounded_once),
      cmocka_unit_test(many_at_once_equal_one_at_a_time),
      cmocka_unit_test(every_half_is_loaded_as_it_decodes),
      cmocka_unit_test(float_formats_agree_with_the_conversions),
      cmocka_unit_test(names_parse_and_unknown_ones_get_a_suggestion),
      cmocka_unit_test(structs_have_the_compilers_layout),
      cmocka_unit_test(bad_fields_are_refused),
      cmocka_unit_test(dtypes_are_equal_by_layout),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
