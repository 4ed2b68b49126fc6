/* Element comparison and error metrics. A NaN never passes by accident: every test is written so
 * that it holds only when a comparison of numbers is true. */
#include "compare.h"
#include "parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 512, PART = 128 * CHUNK }; /* elements; a part is one thread's */

/* One element of each array. */
typedef struct pair {
  double want, got;
  double error; /* |got - want|; 0 when equal (infinities too), NaN when a NaN takes part */
  double atol;  /* for this element */
} pair;

/* 2^exponent for an exponent of a normal binary64. */
static double power_of_two(int exponent) {
  uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Unit in the last place of `format` at a finite value. */
static double unit_at(const pg_float_format *format, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  if (exponent < format->min_exponent) exponent = format->min_exponent;
  exponent -= format->mantissa_bits;
  return exponent < -1022 ? ldexp(1, exponent) : power_of_two(exponent);
}

static double ulps(const pg_float_format *format, const pair *p) {
  if (p->error == 0) return 0;
  if (!isfinite(p->want) || !isfinite(p->got)) return INFINITY;
  return format ? p->error / unit_at(format, p->want) : p->error;
}

static pair make_pair(double want, double got) {
  return (pair){want, got, want == got ? 0 : fabs(got - want), 0};
}

double pg_ulp_distance(pg_scalar scalar, double want, double got) {
  pair p = make_pair(want, got);
  return ulps(pg_scalar_format(scalar), &p);
}

/* Whether an element still holds the 8-byte pattern that its memory was filled with. */
static bool is_poison(const pg_array *got, size_t index, uint64_t pattern) {
  if (got->dtype.size == 4) { /* most arrays; the loop over them is a vector loop then */
    uint32_t bits;
    memcpy(&bits, (const char *)got->data + index * 4, 4);
    return bits == (uint32_t)(index % 2 ? pattern >> 32 : pattern);
  }
  size_t size = got->dtype.size, phase = index * size % 8;
  uint64_t rotated = phase ? pattern >> 8 * phase | pattern << (64 - 8 * phase) : pattern;
  return memcmp((const char *)got->data + index * size, &rotated, size) == 0;
}

size_t pg_count_poison(const pg_array *array, uint64_t pattern) {
  size_t found = 0;
  for (size_t i = 0; i < array->count; i++) found += is_poison(array, i, pattern);
  return found;
}

/* Both the distance and the tolerance overflow binary64. */
static double excess_of_giants(const pair *p, const pg_tolerance *t) {
  long double error = fabsl((long double)p->got - p->want);
  return error <= p->atol + (long double)t->rtol * fabs(p->want) ? 0 : INFINITY;
}

/* Whether want rounds to what got is because the format ends there. */
static bool overflowed(const pair *p, const pg_tolerance *t, const pg_float_format *format) {
  if (!t->overflow || !format || signbit(p->want) != signbit(p->got)) return false;
  double edge = format->max + unit_at(format, format->max) / 2;
  if (!(fabs(p->want) * (1 + t->rtol) + p->atol >= edge)) return false;
  bool saturates = format->mantissa_bits <= 3;
  return (isinf(p->got) && isfinite(p->want)) || (saturates && fabs(p->got) == format->max);
}

/* How far an element lies over its tolerance: it passes when that is <= 0, so a NaN fails. */
static double excess(const pair *p, const pg_tolerance *t, const pg_float_format *format) {
  if (p->error == 0) return isfinite(p->want) ? -(p->atol + t->rtol * fabs(p->want)) : 0;
  if (overflowed(p, t, format)) return 0;
  if (isnan(p->want) && isnan(p->got)) return t->nan_equal ? 0 : INFINITY;
  if (!isfinite(p->want) || !isfinite(p->got)) return INFINITY;
  double over = p->error - (p->atol + t->rtol * fabs(p->want));
  if (isnan(over)) over = excess_of_giants(p, t);
  if (over <= 0) return over;
  if (t->ulp > 0 && ulps(format, p) <= t->ulp) return 0;
  return over;
}

/* What one comparison carries along. */
typedef struct comparison {
  const pg_array *want, *got;
  const pg_tolerance *tolerance;
  const pg_float_format *format; /* of got; NULL for integers */
  bool exact; /* both are integers: distances come from them, not from binary64 */
  double worst;
  long double error_squares, want_squares; /* the wide exponent keeps 1e200 from overflowing */
  uint64_t *marks;                         /* NULL, or a bit for each element */
  pg_comparison *out;
} comparison;

static void count_special(pg_comparison *out, const pair *p) {
  out->nan_got += isnan(p->got) != 0;
  out->nan_want += isnan(p->want) != 0;
  out->inf_got += isinf(p->got) != 0;
  out->got_zeros += p->got == 0;
  out->want_zeros += p->want == 0;
}

static void raise_to(double *max, double value) {
  if (value > *max) *max = value;
}

static void measure_finite(comparison *c, const pair *p) {
  if (!isfinite(p->want) || !isfinite(p->got)) return;
  c->error_squares += (long double)p->error * p->error;
  c->want_squares += (long double)p->want * p->want;
  if (p->error == 0) return;
  raise_to(&c->out->max_abs, p->error);
  if (p->want != 0) raise_to(&c->out->max_rel, p->error / fabs(p->want));
  raise_to(&c->out->max_ulp, ulps(c->format, p));
}

static void note_bad(comparison *c, size_t index, const pair *p) {
  pg_comparison *out = c->out;
  if (out->bad++ == 0) out->first_bad = index;
  out->last_bad = index;
  if (c->marks) c->marks[index / 64] |= UINT64_C(1) << index % 64; /* a part has whole words */
  if (c->tolerance->has_poison && is_poison(c->got, index, c->tolerance->poison)) out->unwritten++;
  if (out->mismatch_count < PG_MISMATCH_MAX)
    out->mismatch[out->mismatch_count++] = (pg_mismatch){index, p->want, p->got};
}

static void judge(comparison *c, size_t index, const pair *p) {
  count_special(c->out, p);
  measure_finite(c, p);
  double over = excess(p, c->tolerance, c->format);
  if (over > c->worst) c->worst = over, c->out->worst = index;
  if (!(over <= 0)) note_bad(c, index, p);
}

static const void *element(const pg_array *array, size_t index) {
  return (const char *)array->data + index * array->dtype.size;
}

static __int128 widen(pg_scalar scalar, int64_t bits) {
  return scalar == PG_U64 ? (__int128)(uint64_t)bits : (__int128)bits;
}

/* Distances of integers beyond 2^53, which binary64 cannot tell apart. */
static void set_exact_errors(const comparison *c, size_t first, size_t count, double *error) {
  int64_t want[CHUNK], got[CHUNK];
  pg_load_i64s(c->want->dtype.scalar, element(c->want, first), count, want);
  pg_load_i64s(c->got->dtype.scalar, element(c->got, first), count, got);
  for (size_t i = 0; i < count; i++) {
    __int128 d = widen(c->got->dtype.scalar, got[i]) - widen(c->want->dtype.scalar, want[i]);
    error[i] = (double)(d < 0 ? -d : d);
  }
}

/* The absolute tolerance of element `index`. */
static double atol_at(const pg_tolerance *t, size_t index) {
  if (!t->scale) return t->atol;
  return t->atol * t->scale[t->scale_repeat > 1 ? index / t->scale_repeat : index];
}

static void compare_chunk(comparison *c, size_t first, size_t count) {
  double want[CHUNK], got[CHUNK], error[CHUNK];
  pg_load_f64s(c->want->dtype.scalar, element(c->want, first), count, want);
  pg_load_f64s(c->got->dtype.scalar, element(c->got, first), count, got);
  if (c->exact) set_exact_errors(c, first, count, error);
  for (size_t i = 0; i < count; i++) {
    pair p = make_pair(want[i], got[i]);
    if (c->exact) p.error = error[i];
    p.atol = atol_at(c->tolerance, first + i);
    judge(c, first + i, &p);
  }
}

static pg_code check_tolerance(const pg_tolerance *t, pg_error *error) {
  if (!(t->rtol >= 0 && t->rtol < INFINITY))
    return pg_fail(error, PG_RANGE, "rtol must be a number >= 0, got %g", t->rtol);
  if (!(t->atol >= 0 && t->atol < INFINITY))
    return pg_fail(error, PG_RANGE, "atol must be a number >= 0, got %g", t->atol);
  if (!(t->ulp >= 0 && t->ulp < INFINITY))
    return pg_fail(error, PG_RANGE, "ulp must be a number >= 0, got %g", t->ulp);
  return PG_OK;
}

static pg_code check_arrays(const pg_array *want, const pg_array *got, pg_error *error) {
  const pg_array *odd = want->dtype.scalar == PG_STRUCT ? want : got;
  if (odd->dtype.scalar == PG_STRUCT) {
    pg_fail(error, PG_INVALID, "cannot compare elements of struct %s", odd->dtype.name);
    return pg_hint(error, "compare its fields: a:field(name)");
  }
  if (want->count != got->count)
    return pg_fail(error, PG_INVALID, "expected %zu elements, got %zu", want->count, got->count);
  return PG_OK;
}

static double root_ratio(long double error, long double want) {
  if (error == 0) return 0;
  return want == 0 ? INFINITY : (double)sqrtl(error / want);
}

/* ---- parts, compared side by side and put together in order ---- */

static void compare_part(void *context, size_t part) {
  comparison *c = &((comparison *)context)[part];
  size_t all = c->got->count, end = all - part * PART < PART ? all : (part + 1) * PART;
  c->worst = -INFINITY;
  for (size_t first = part * PART; first < end; first += CHUNK)
    compare_chunk(c, first, end - first < CHUNK ? end - first : CHUNK);
}

static void add_counts(pg_comparison *to, const pg_comparison *from) {
  to->bad += from->bad;
  to->unwritten += from->unwritten;
  to->nan_got += from->nan_got;
  to->nan_want += from->nan_want;
  to->inf_got += from->inf_got;
  to->got_zeros += from->got_zeros;
  to->want_zeros += from->want_zeros;
}

/* The next part joins what came before it. */
static void join(comparison *to, const comparison *from) {
  pg_comparison *a = to->out;
  const pg_comparison *b = from->out;
  if (b->bad && !a->bad) a->first_bad = b->first_bad;
  if (b->bad) a->last_bad = b->last_bad;
  if (from->worst > to->worst) to->worst = from->worst, a->worst = b->worst;
  add_counts(a, b);
  raise_to(&a->max_abs, b->max_abs);
  raise_to(&a->max_rel, b->max_rel);
  raise_to(&a->max_ulp, b->max_ulp);
  for (int i = 0; i < b->mismatch_count && a->mismatch_count < PG_MISMATCH_MAX; i++)
    a->mismatch[a->mismatch_count++] = b->mismatch[i];
  to->error_squares += from->error_squares;
  to->want_squares += from->want_squares;
}

pg_code pg_compare(const pg_array *want, const pg_array *got, const pg_tolerance *tolerance,
                   pg_comparison *out, pg_error *error) {
  return pg_compare_marked(want, got, tolerance, NULL, out, error);
}

pg_code pg_compare_marked(const pg_array *want, const pg_array *got, const pg_tolerance *tolerance,
                          uint64_t *marks, pg_comparison *out, pg_error *error) {
  *out = (pg_comparison){.count = got->count};
  pg_code code = check_arrays(want, got, error);
  if (!code) code = check_tolerance(tolerance, error);
  if (code) return code;
  comparison total = {
      .want = want, .got = got, .tolerance = tolerance, .worst = -INFINITY, .out = out};
  total.marks = marks;
  total.format = pg_scalar_format(got->dtype.scalar);
  total.exact = !total.format && !pg_scalar_format(want->dtype.scalar);
  size_t parts = (got->count + PART - 1) / PART;
  comparison *c = calloc(parts + 1, sizeof *c);
  pg_comparison *outs = calloc(parts + 1, sizeof *outs);
  if (c && outs) {
    for (size_t i = 0; i < parts; i++) c[i] = total, c[i].out = &outs[i];
    pg_parallel(parts, compare_part, c);
    for (size_t i = 0; i < parts; i++) join(&total, &c[i]);
    out->rms_rel = root_ratio(total.error_squares, total.want_squares);
    out->want_norm = (double)sqrtl(total.want_squares);
  } else {
    code = pg_fail(error, PG_MEMORY, "no memory to compare %zu elements", got->count);
  }
  free(c);
  free(outs);
  return code;
}

/* ---- scales ---- */

static double row_norm(const pg_array *array, size_t first, size_t count) {
  double largest = 0, values[CHUNK];
  for (size_t done = 0; done < count; done += CHUNK) {
    size_t n = count - done < CHUNK ? count - done : CHUNK;
    pg_load_f64s(array->dtype.scalar, element(array, first + done), n, values);
    for (size_t i = 0; i < n; i++)
      if (isfinite(values[i])) raise_to(&largest, fabs(values[i]));
  }
  return largest;
}

pg_code pg_row_norms(const pg_array *array, size_t columns, double *out, pg_error *error) {
  pg_code code = check_arrays(array, array, error);
  if (code) return code;
  if (columns == 0) return pg_fail(error, PG_RANGE, "rows of 0 elements");
  for (size_t first = 0, row = 0; first < array->count; first += columns, row++)
    out[row] =
        row_norm(array, first, array->count - first < columns ? array->count - first : columns);
  return PG_OK;
}
