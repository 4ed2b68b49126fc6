/* Element types: names, sizes, structs with C's layout, and one scalar at any address.
 * The narrow floating formats themselves are in narrow.c. */
#include "dtype.h"
#include "nearest.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  uint32_t bytes;
  char cls;
} scalars[] = {
#define PG_X(id, name, bytes, cls) {name, bytes, cls},
    PG_SCALARS(PG_X)
#undef PG_X
};

const char *pg_scalar_name(pg_scalar scalar) {
  return (unsigned)scalar < PG_SCALAR_COUNT ? scalars[scalar].name : "struct";
}

uint32_t pg_scalar_size(pg_scalar scalar) {
  return (unsigned)scalar < PG_SCALAR_COUNT ? scalars[scalar].bytes : 0;
}

char pg_scalar_class(pg_scalar scalar) {
  return (unsigned)scalar < PG_SCALAR_COUNT ? scalars[scalar].cls : 's';
}

const pg_float_format *pg_scalar_format(pg_scalar scalar) {
  static const pg_float_format formats[] = {
      [PG_F64] = {52, -1022, 0x1.fffffffffffffp1023},
      [PG_F32] = {23, -126, 0x1.fffffep127},
      [PG_F16] = {10, -14, 65504},
      [PG_BF16] = {7, -126, 0x1.fep127},
      [PG_F8E4M3] = {3, -6, 448},
      [PG_F8E5M2] = {2, -14, 57344},
  };
  return pg_scalar_class(scalar) == 'f' ? &formats[scalar] : NULL;
}

pg_dtype pg_dtype_of(pg_scalar scalar) {
  pg_dtype dtype = {.scalar = scalar};
  dtype.size = dtype.align = pg_scalar_size(scalar);
  snprintf(dtype.name, sizeof dtype.name, "%s", pg_scalar_name(scalar));
  return dtype;
}

/* What a type of this name elsewhere is called here, for the hint only. */
static const char *scalar_meant(const char *name) {
  static const char *const other[][2] = {
      {"float", "f32"},
      {"float32", "f32"},
      {"double", "f64"},
      {"float64", "f64"},
      {"half", "f16"},
      {"float16", "f16"},
      {"bfloat16", "bf16"},
      {"int", "i32"},
      {"int32", "i32"},
      {"int64", "i64"},
      {"long", "i64"},
      {"short", "i16"},
      {"int16", "i16"},
      {"char", "i8"},
      {"int8", "i8"},
      {"uchar", "u8"},
      {"uint8", "u8"},
      {"byte", "u8"},
      {"uint16", "u16"},
      {"ushort", "u16"},
      {"uint", "u32"},
      {"uint32", "u32"},
      {"unsigned", "u32"},
      {"uint64", "u64"},
      {"size_t", "u64"},
      {"boolean", "bool"},
      {"fp16", "f16"},
      {"fp32", "f32"},
      {"fp64", "f64"},
      {"f8", "f8e4m3"},
      {"fp8", "f8e4m3"},
      {"e4m3", "f8e4m3"},
      {"e5m2", "f8e5m2"},
      {"float8_e4m3", "f8e4m3"},
      {"float8_e5m2", "f8e5m2"},
  };
  for (size_t i = 0; i < sizeof other / sizeof *other; i++)
    if (strcmp(other[i][0], name) == 0) return other[i][1];
  const char *names[PG_SCALAR_COUNT];
  for (int i = 0; i < PG_SCALAR_COUNT; i++) names[i] = scalars[i].name;
  return pg_nearest(name, names, PG_SCALAR_COUNT);
}

static void unknown_dtype(const char *name, pg_error *error) {
#define PG_X(id, name, bytes, cls) " " name
  static const char all[] = PG_SCALARS(PG_X);
#undef PG_X
  pg_fail(error, PG_NOT_FOUND, "unknown dtype '%.40s'", name);
  const char *meant = scalar_meant(name);
  if (meant)
    pg_hint(error, "did you mean '%s'? The dtypes are%s", meant, all);
  else
    pg_hint(error, "the dtypes are%s", all);
}

pg_code pg_dtype_parse(const char *name, pg_dtype *out, pg_error *error) {
  for (int i = 0; i < PG_SCALAR_COUNT; i++) {
    if (strcmp(scalars[i].name, name) != 0) continue;
    *out = pg_dtype_of((pg_scalar)i);
    return PG_OK;
  }
  unknown_dtype(name, error);
  return PG_NOT_FOUND;
}

void pg_dtype_struct(pg_dtype *out, const char *name) {
  *out = (pg_dtype){.scalar = PG_STRUCT, .align = 1};
  snprintf(out->name, sizeof out->name, "%s", name);
}

static uint64_t round_up(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

static pg_code check_field(const pg_dtype *dtype, const char *name, uint32_t count,
                           pg_error *error) {
  if (!*name || strlen(name) >= PG_NAME_MAX)
    return pg_fail(error, PG_RANGE, "struct %s: a field name has 1 to %d characters, got '%.60s'",
                   dtype->name, PG_NAME_MAX - 1, name);
  for (uint32_t i = 0; i < dtype->field_count; i++)
    if (strcmp(dtype->fields[i].name, name) == 0)
      return pg_fail(error, PG_INVALID, "struct %s: two fields are named '%s'", dtype->name, name);
  if (dtype->field_count == PG_FIELD_MAX)
    return pg_fail(error, PG_RANGE, "struct %s: more than %d fields", dtype->name, PG_FIELD_MAX);
  if (count == 0)
    return pg_fail(error, PG_RANGE, "struct %s: field '%s' has a count of 0", dtype->name, name);
  return PG_OK;
}

pg_code pg_dtype_add(pg_dtype *out, const char *name, pg_scalar scalar, uint32_t count,
                     pg_error *error) {
  uint32_t bytes = pg_scalar_size(scalar);
  if (!bytes)
    return pg_fail(error, PG_INVALID, "struct %s: field '%.60s' must be a scalar", out->name, name);
  pg_code code = check_field(out, name, count, error);
  if (code) return code;
  uint64_t offset = round_up(out->size, bytes);
  uint64_t end = offset + (uint64_t)count * bytes;
  if (end > INT32_MAX)
    return pg_fail(error, PG_RANGE, "struct %s: over 2 GiB with field '%s'", out->name, name);
  pg_field *field = &out->fields[out->field_count++];
  *field = (pg_field){.scalar = scalar, .count = count, .offset = (uint32_t)offset};
  snprintf(field->name, sizeof field->name, "%s", name);
  out->size = (uint32_t)end;
  if (bytes > out->align) out->align = bytes;
  return PG_OK;
}

void pg_dtype_finish(pg_dtype *out) {
  out->size = (uint32_t)round_up(out->size, out->align);
}

static bool field_equal(const pg_field *a, const pg_field *b) {
  return a->scalar == b->scalar && a->count == b->count && a->offset == b->offset &&
         strcmp(a->name, b->name) == 0;
}

/* The struct's own name does not matter: layout and field names do. */
bool pg_dtype_equal(const pg_dtype *a, const pg_dtype *b) {
  if (a->scalar != b->scalar || a->size != b->size || a->field_count != b->field_count)
    return false;
  for (uint32_t i = 0; i < a->field_count; i++)
    if (!field_equal(&a->fields[i], &b->fields[i])) return false;
  return true;
}

/* Towards zero, then modulo 2^64; NaN and infinity give 0. */
static int64_t wrap_to_i64(double value) {
  if (value >= -0x1p63 && value < 0x1p63) return (int64_t)value;
  if (!isfinite(value)) return 0;
  double rest = fmod(trunc(value), 0x1p64); /* exact */
  if (rest < 0) rest += 0x1p64;             /* exact: a multiple of 2^11 and below 2^64 */
  return (int64_t)(uint64_t)rest;
}

/* To binary64 with the lost bits OR-ed into the last one ("round to odd"): rounding that again to a
 * format of at most 51 bits gives what one rounding of the integer would. */
static double i64_to_odd(int64_t value) {
  uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
  if (magnitude >> 53) magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
  return value < 0 ? -(double)magnitude : (double)magnitude;
}

/* One case of a switch over scalars: a loop over `count` elements of `type` at any alignment. */
#define LOAD(id, type, expression)               \
  case id:                                       \
    for (size_t i = 0; i < count; i++) {         \
      type v;                                    \
      memcpy(&v, from + i * sizeof v, sizeof v); \
      out[i] = expression;                       \
    }                                            \
    return;
#define STORE(id, type, expression)            \
  case id:                                     \
    for (size_t i = 0; i < count; i++) {       \
      type v = (type)(expression);             \
      memcpy(to + i * sizeof v, &v, sizeof v); \
    }                                          \
    return;

/* f16 by way of binary32, whose exponent has a larger bias: exact, also below the normal range. */
static double f16_value(uint16_t bits) {
  const uint32_t wide = (uint32_t)(bits & 0x8000) << 16 | (uint32_t)(bits & 0x7fff) << 13;
  float value;
  memcpy(&value, &wide, sizeof value);
  if ((bits & 0x7c00) == 0x7c00) return pg_f16_to_f64(bits); /* infinity, NaN */
  return (double)value * 0x1p112;
}

void pg_load_f64s(pg_scalar scalar, const void *at, size_t count, double *out) {
  const char *from = at;
  switch (scalar) {
    LOAD(PG_F64, double, v)
    LOAD(PG_F32, float, v)
    LOAD(PG_F16, uint16_t, f16_value(v))
    LOAD(PG_BF16, uint16_t, pg_bf16_to_f64(v))
    LOAD(PG_F8E4M3, uint8_t, pg_f8e4m3_to_f64(v))
    LOAD(PG_F8E5M2, uint8_t, pg_f8e5m2_to_f64(v))
    LOAD(PG_I8, int8_t, v)
    LOAD(PG_I16, int16_t, v)
    LOAD(PG_I32, int32_t, v)
    LOAD(PG_I64, int64_t, (double)v)
    LOAD(PG_U8, uint8_t, v)
    LOAD(PG_U16, uint16_t, v)
    LOAD(PG_U32, uint32_t, v)
    LOAD(PG_U64, uint64_t, (double)v)
    LOAD(PG_BOOL, uint8_t, v != 0)
  case PG_STRUCT: memset(out, 0, count * sizeof *out);
  }
}

void pg_load_i64s(pg_scalar scalar, const void *at, size_t count, int64_t *out) {
  const char *from = at;
  switch (scalar) {
    LOAD(PG_I8, int8_t, v)
    LOAD(PG_I16, int16_t, v)
    LOAD(PG_I32, int32_t, v)
    LOAD(PG_I64, int64_t, v)
    LOAD(PG_U8, uint8_t, v)
    LOAD(PG_U16, uint16_t, v)
    LOAD(PG_U32, uint32_t, v)
    LOAD(PG_U64, uint64_t, (int64_t)v)
    LOAD(PG_BOOL, uint8_t, v != 0)
  default: /* floating */
    for (size_t i = 0; i < count; i++)
      out[i] = wrap_to_i64(pg_load_f64(scalar, from + i * pg_scalar_size(scalar)));
  }
}

void pg_store_f64s(pg_scalar scalar, void *at, size_t count, const double *values) {
  char *to = at;
  switch (scalar) {
    STORE(PG_F64, double, values[i])
    STORE(PG_F32, float, values[i])
    STORE(PG_F16, uint16_t, pg_f64_to_f16(values[i]))
    STORE(PG_BF16, uint16_t, pg_f64_to_bf16(values[i]))
    STORE(PG_F8E4M3, uint8_t, pg_f64_to_f8e4m3(values[i]))
    STORE(PG_F8E5M2, uint8_t, pg_f64_to_f8e5m2(values[i]))
    STORE(PG_BOOL, uint8_t, values[i] != 0)
  default: /* integers */
    for (size_t i = 0; i < count; i++)
      pg_store_i64(scalar, to + i * pg_scalar_size(scalar), wrap_to_i64(values[i]));
  }
}

void pg_store_i64s(pg_scalar scalar, void *at, size_t count, const int64_t *values) {
  char *to = at;
  switch (scalar) {
    STORE(PG_I8, int8_t, values[i])
    STORE(PG_I16, int16_t, values[i])
    STORE(PG_I32, int32_t, values[i])
    STORE(PG_I64, int64_t, values[i])
    STORE(PG_U8, uint8_t, values[i])
    STORE(PG_U16, uint16_t, values[i])
    STORE(PG_U32, uint32_t, values[i])
    STORE(PG_U64, uint64_t, values[i])
    STORE(PG_BOOL, uint8_t, values[i] != 0)
    STORE(PG_F64, double, values[i])
  default: /* the narrower floating formats */
    for (size_t i = 0; i < count; i++)
      pg_store_f64(scalar, to + i * pg_scalar_size(scalar), i64_to_odd(values[i]));
  }
}

double pg_load_f64(pg_scalar scalar, const void *at) {
  double value;
  pg_load_f64s(scalar, at, 1, &value);
  return value;
}

int64_t pg_load_i64(pg_scalar scalar, const void *at) {
  int64_t value;
  pg_load_i64s(scalar, at, 1, &value);
  return value;
}

void pg_store_f64(pg_scalar scalar, void *at, double value) {
  pg_store_f64s(scalar, at, 1, &value);
}

void pg_store_i64(pg_scalar scalar, void *at, int64_t value) {
  pg_store_i64s(scalar, at, 1, &value);
}
