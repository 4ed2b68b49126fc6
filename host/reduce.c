/* Whole-array operations: conversion, transposition, sum, extremes, equality of bits.
 * Elements pass through binary64 or int64 a chunk at a time. */
#include "array.h"
#include "parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 512, PART = 1 << 16 };

static size_t chunk_at(const pg_array *array, size_t first) {
  return array->count - first < CHUNK ? array->count - first : CHUNK;
}

static char *element(const pg_array *array, size_t index) {
  return (char *)array->data + index * array->dtype.size;
}

static pg_code need_scalar(const pg_array *array, const char *what, pg_error *error) {
  if (array->dtype.scalar != PG_STRUCT) return PG_OK;
  pg_fail(error, PG_INVALID, "%s needs a scalar dtype, got struct %s", what, array->dtype.name);
  return pg_hint(error, "take one field of it first: a:field(name)");
}

/* u64 to the nearest binary64, or, when that is rounded again to a narrower format, with the lost
 * bits kept in the last one (see i64_to_odd in dtype.c). */
static void widen_u64(const int64_t *from, size_t count, bool again, double *out) {
  for (size_t i = 0; i < count; i++) {
    uint64_t v = (uint64_t)from[i];
    if (again && v >> 53) v = (v >> 11 | ((v & 0x7ff) != 0)) << 11;
    out[i] = (double)v;
  }
}

static void convert_chunk(pg_scalar from, const void *source, pg_scalar to, void *target,
                          size_t count) {
  double f[CHUNK];
  int64_t i[CHUNK];
  if (pg_scalar_class(from) == 'f') {
    pg_load_f64s(from, source, count, f);
    pg_store_f64s(to, target, count, f);
    return;
  }
  pg_load_i64s(from, source, count, i);
  if (from == PG_U64 && pg_scalar_class(to) == 'f') {
    widen_u64(i, count, to != PG_F64, f);
    pg_store_f64s(to, target, count, f);
  } else {
    pg_store_i64s(to, target, count, i);
  }
}

typedef struct conversion {
  const pg_array *from;
  pg_array *to;
} conversion;

static size_t part_end(const pg_array *array, size_t part) {
  size_t end = (part + 1) * PART;
  return end < array->count ? end : array->count;
}

static void convert_part(void *context, size_t part) {
  const conversion *c = context;
  for (size_t first = part * PART; first < part_end(c->from, part); first += CHUNK)
    convert_chunk(c->from->dtype.scalar, element(c->from, first), c->to->dtype.scalar,
                  element(c->to, first), chunk_at(c->from, first));
}

pg_code pg_array_convert(const pg_array *from, pg_array *to, pg_error *error) {
  pg_code code = need_scalar(from, "a conversion", error);
  if (!code) code = need_scalar(to, "a conversion", error);
  if (code) return code;
  if (from->count != to->count)
    return pg_fail(error, PG_INVALID, "cannot convert %zu elements into %zu", from->count,
                   to->count);
  conversion c = {from, to};
  pg_parallel((from->count + PART - 1) / PART, convert_part, &c);
  return PG_OK;
}

/* ---- transposition ---- */

static bool is_reversed(const pg_array *from, const pg_array *to) {
  if (from->ndim != to->ndim || !pg_dtype_equal(&from->dtype, &to->dtype)) return false;
  for (int d = 0; d < from->ndim; d++)
    if (from->shape[d] != to->shape[from->ndim - 1 - d]) return false;
  return true;
}

/* Where the next element of `from` (after coordinates `at`) goes: the first dimension of `from` is
 * the fastest of `to`. */
static size_t step(const pg_array *from, int64_t *at, const size_t *stride, size_t place) {
  for (int d = from->ndim - 1; d >= 0; d--) {
    place += stride[d];
    if (++at[d] < from->shape[d]) return place;
    place -= (size_t)from->shape[d] * stride[d];
    at[d] = 0;
  }
  return place;
}

pg_code pg_array_transpose(const pg_array *from, pg_array *to, pg_error *error) {
  if (!is_reversed(from, to)) return pg_fail(error, PG_INVALID, "not a transposed shape");
  size_t stride[PG_DIM_MAX] = {1}, size = from->dtype.size, place = 0;
  int64_t at[PG_DIM_MAX] = {0};
  for (int d = 1; d < from->ndim; d++) stride[d] = stride[d - 1] * (size_t)from->shape[d - 1];
  for (size_t i = 0; i < from->count; i++) {
    memcpy(element(to, place), element(from, i), size);
    place = step(from, at, stride, place);
  }
  return PG_OK;
}

/* Neumaier's sum: the rounding error of every addition is kept aside. */
typedef struct neumaier {
  double sum, lost;
} neumaier;

static void add(neumaier *n, double value) {
  double sum = n->sum + value;
  n->lost += fabs(n->sum) >= fabs(value) ? (n->sum - sum) + value : (value - sum) + n->sum;
  n->sum = sum;
}

/* The first NaN wins: no comparison with it holds, and it is never replaced. */
static void take_least(pg_reduction *out, double v, size_t index) {
  if (v < out->min || (v != v && out->min == out->min)) out->min = v, out->min_index = index;
}

static void take_largest(pg_reduction *out, double v, size_t index) {
  if (v > out->max || (v != v && out->max == out->max)) out->max = v, out->max_index = index;
}

/* Of one part, whose size no number of threads changes: so neither is the sum. */
typedef struct partial {
  pg_reduction extremes;
  neumaier sum;
  double plain;
} partial;

typedef struct reduction {
  const pg_array *array;
  partial *parts;
} reduction;

static void reduce_part(void *context, size_t part) {
  const reduction *r = context;
  partial p = {.extremes = {.min = INFINITY, .max = -INFINITY}};
  for (size_t first = part * PART; first < part_end(r->array, part); first += CHUNK) {
    double values[CHUNK];
    size_t count = chunk_at(r->array, first);
    pg_load_f64s(r->array->dtype.scalar, element(r->array, first), count, values);
    for (size_t i = 0; i < count; i++) {
      add(&p.sum, values[i]), p.plain += values[i];
      take_least(&p.extremes, values[i], first + i);
      take_largest(&p.extremes, values[i], first + i);
    }
  }
  r->parts[part] = p;
}

/* Like the above for integers that binary64 cannot tell apart. */
static void reduce_wide(const pg_array *array, pg_reduction *out) {
  pg_scalar scalar = array->dtype.scalar;
  uint64_t flip = scalar == PG_I64 ? UINT64_C(1) << 63 : 0; /* signed order as unsigned order */
  uint64_t low = 0, high = 0;
  for (size_t i = 0; i < array->count; i++) {
    uint64_t v = (uint64_t)pg_load_i64(scalar, element(array, i)) ^ flip;
    if (i == 0 || v < low) low = v, out->min_index = i;
    if (i == 0 || v > high) high = v, out->max_index = i;
  }
  out->min = pg_load_f64(scalar, element(array, out->min_index));
  out->max = pg_load_f64(scalar, element(array, out->max_index));
}

pg_code pg_array_reduce(const pg_array *array, pg_reduction *out, pg_error *error) {
  pg_code code = need_scalar(array, "a reduction", error);
  if (code) return code;
  *out = (pg_reduction){.min = INFINITY, .max = -INFINITY};
  neumaier n = {0, 0};
  double plain = 0;
  size_t parts = (array->count + PART - 1) / PART;
  reduction r = {array, calloc(parts + 1, sizeof *r.parts)};
  if (!r.parts) return pg_fail(error, PG_MEMORY, "no memory for %zu parts", parts);
  pg_parallel(parts, reduce_part, &r);
  for (size_t i = 0; i < parts; i++) {
    const partial *p = &r.parts[i];
    add(&n, p->sum.sum), n.lost += p->sum.lost, plain += p->plain;
    take_least(out, p->extremes.min, p->extremes.min_index);
    take_largest(out, p->extremes.max, p->extremes.max_index);
  }
  free(r.parts);
  bool wide = array->dtype.scalar == PG_I64 || array->dtype.scalar == PG_U64;
  if (wide && array->count) reduce_wide(array, out);
  /* With infinities or overflow the kept-aside error is NaN; the plain sum is right then. */
  out->sum = isfinite(n.sum) ? n.sum + n.lost : plain;
  return PG_OK;
}

static bool element_equal(const pg_dtype *dtype, const char *a, const char *b) {
  for (uint32_t i = 0; i < dtype->field_count; i++) {
    const pg_field *f = &dtype->fields[i];
    if (memcmp(a + f->offset, b + f->offset, (size_t)f->count * pg_scalar_size(f->scalar)) != 0)
      return false;
  }
  return dtype->field_count > 0 || memcmp(a, b, dtype->size) == 0;
}

pg_code pg_array_equal_bits(const pg_array *a, const pg_array *b, size_t *index, pg_error *error) {
  if (!pg_dtype_equal(&a->dtype, &b->dtype) || a->count != b->count)
    return pg_fail(error, PG_INVALID, "cannot compare the bits of %zu x %s with %zu x %s", a->count,
                   a->dtype.name, b->count, b->dtype.name);
  *index = a->count;
  if (a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0) return PG_OK;
  *index = 0;
  while (*index < a->count && element_equal(&a->dtype, element(a, *index), element(b, *index)))
    ++*index;
  return PG_OK;
}
