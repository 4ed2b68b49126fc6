/* Arithmetic of whole arrays, a block of elements at a time so that the conversions stay in the
 * cache. */
#include "arith.h"
#include "parallel.h"

enum { BLOCK = 512, PART = 1 << 16 };

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
    pg_load_f64s(a->dtype.scalar, (const char *)a->data + first * a->dtype.size, count, to);
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

typedef struct job {
  pg_array *out;
  pg_arith_op op;
  pg_operand a, b;
} job;

static void part_of(void *context, size_t part) {
  const job *j = context;
  double left[BLOCK], right[BLOCK];
  size_t first = part * PART, end = first + PART < j->out->count ? first + PART : j->out->count;
  for (; first < end; first += BLOCK) {
    size_t count = end - first < BLOCK ? end - first : BLOCK;
    load_block(left, j->a, first, count);
    load_block(right, j->b, first, count);
    apply(j->op, (double *)j->out->data + first, left, right, count);
  }
}

pg_code pg_arith(pg_array *out, pg_arith_op op, pg_operand a, pg_operand b, pg_error *error) {
  if (out->dtype.scalar != PG_F64)
    return pg_fail(error, PG_INVALID, "the result is f64, not %s", out->dtype.name);
  pg_code code = check(out, a, error);
  if (!code) code = check(out, b, error);
  if (code) return code;
  job j = {out, op, a, b};
  pg_parallel((out->count + PART - 1) / PART, part_of, &j);
  return PG_OK;
}
