/* Arithmetic of whole arrays, a block of elements at a time so that the conversions stay in the
 * cache. */
#include "arith.h"

enum { BLOCK = 512 };

static void load_block(double *to, pg_operand from, size_t first, size_t count) {
  if (!from.array) {
    for (size_t i = 0; i < count; i++) to[i] = from.number;
    return;
  }
  const pg_array *a = from.array;
  if (a->dtype.scalar == PG_F32) {
    const float *values = (const float *)a->data + first;
    for (size_t i = 0; i < count; i++) to[i] = (double)values[i];
  } else if (a->dtype.scalar == PG_F64) {
    const double *values = (const double *)a->data + first;
    for (size_t i = 0; i < count; i++) to[i] = values[i];
  } else {
    const char *at = (const char *)a->data + first * a->dtype.size;
    for (size_t i = 0; i < count; i++) to[i] = pg_load_f64(a->dtype.scalar, at + i * a->dtype.size);
  }
}

static void apply(pg_arith_op op, double *out, const double *a, const double *b, size_t count) {
  switch (op) {
  case PG_ADD:
    for (size_t i = 0; i < count; i++) out[i] = a[i] + b[i];
    break;
  case PG_SUB:
    for (size_t i = 0; i < count; i++) out[i] = a[i] - b[i];
    break;
  case PG_MUL:
    for (size_t i = 0; i < count; i++) out[i] = a[i] * b[i];
    break;
  case PG_DIV:
    for (size_t i = 0; i < count; i++) out[i] = a[i] / b[i];
    break;
  }
}

static pg_code check(const pg_array *out, pg_operand operand, pg_error *error) {
  const pg_array *a = operand.array;
  if (!a) return PG_OK;
  if (a->dtype.scalar == PG_STRUCT) {
    pg_fail(error, PG_INVALID, "no arithmetic on structs %s", a->dtype.name);
    return pg_hint(error, "take one field: a:field(\"name\")");
  }
  if (a->count == out->count) return PG_OK;
  return pg_fail(error, PG_INVALID, "arrays of %zu and %zu elements", a->count, out->count);
}

pg_code pg_arith(pg_array *out, pg_arith_op op, pg_operand a, pg_operand b, pg_error *error) {
  double left[BLOCK], right[BLOCK];
  if (out->dtype.scalar != PG_F64)
    return pg_fail(error, PG_INVALID, "the result is f64, not %s", out->dtype.name);
  pg_code code = check(out, a, error);
  if (!code) code = check(out, b, error);
  if (code) return code;
  for (size_t first = 0; first < out->count; first += BLOCK) {
    size_t count = out->count - first < BLOCK ? out->count - first : BLOCK;
    load_block(left, a, first, count);
    load_block(right, b, first, count);
    apply(op, (double *)out->data + first, left, right, count);
  }
  return PG_OK;
}
