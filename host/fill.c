/* Random contents of arrays: element i depends on seed, stream and i only, whatever the array's
 * length. Made a chunk at a time, so that the loops are plain and quick. */
#include "array.h"
#include "parallel.h"
#include "rng.h"

#include <math.h>
#include <string.h>

/* Elements; multiples of 4, so that chunks begin at a block of words. A part is one thread's. */
enum { CHUNK = 256, PART = 256 * CHUNK };

typedef union scratch {
  double f[CHUNK];
  int64_t i[CHUNK];
} scratch;

/* What to make: the request and what follows from it and the dtype. */
typedef struct plan {
  pg_scalar scalar;
  const pg_random *request;
  double floor, ceiling; /* uniform: smallest and largest value of the dtype inside [low, high) */
  uint64_t bound;        /* integer: last - first + 1; 0 means 2^64 */
} plan;

typedef void (*maker)(const plan *, uint64_t first, size_t count, scratch *out);

static uint64_t join(const uint32_t *pair) {
  return pair[0] | (uint64_t)pair[1] << 32;
}

/* `count` 64-bit words from word `first`, an even number. */
static void words64(const pg_random *r, uint64_t first, size_t count, uint32_t *out) {
  pg_rng_blocks(r->seed, r->stream, first / 2, (count + 1) / 2, out);
}

static void words32(const pg_random *r, uint64_t first, size_t count, uint32_t *out) {
  pg_rng_blocks(r->seed, r->stream, first / 4, (count + 3) / 4, out);
}

static void make_bits(const plan *p, uint64_t first, size_t count, scratch *out) {
  uint32_t w[2 * CHUNK];
  if (pg_scalar_size(p->scalar) == 8) {
    words64(p->request, first, count, w);
    for (size_t i = 0; i < count; i++) out->i[i] = (int64_t)join(w + 2 * i);
  } else {
    words32(p->request, first, count, w);
    uint32_t mask = p->scalar == PG_BOOL ? 1 : UINT32_MAX;
    for (size_t i = 0; i < count; i++) out->i[i] = w[i] & mask;
  }
}

static void make_integer(const plan *p, uint64_t first, size_t count, scratch *out) {
  const pg_random *r = p->request;
  uint32_t w[2 * CHUNK];
  words64(r, first, count, w);
  for (size_t i = 0; i < count; i++) {
    uint64_t word = join(w + 2 * i);
    unsigned __int128 product = (unsigned __int128)word * p->bound;
    uint64_t value = (uint64_t)(product >> 64);
    if (p->bound == 0)
      value = word;
    else if ((uint64_t)product < p->bound) /* perhaps a rejection, see pg_rng_below */
      value = pg_rng_below(r->seed, r->stream, first + i, p->bound);
    out->i[i] = (int64_t)((uint64_t)r->first + value);
  }
}

static void make_uniform(const plan *p, uint64_t first, size_t count, scratch *out) {
  double low = p->request->low, width = p->request->high - low;
  uint32_t w[2 * CHUNK];
  if (p->scalar == PG_F64) {
    words64(p->request, first, count, w);
    for (size_t i = 0; i < count; i++) out->f[i] = (double)(join(w + 2 * i) >> 11) * 0x1p-53;
  } else {
    words32(p->request, first, count, w);
    for (size_t i = 0; i < count; i++) out->f[i] = (double)(w[i] >> 8) * 0x1p-24;
  }
  for (size_t i = 0; i < count; i++) {
    double value = low + width * out->f[i];
    if (value > p->ceiling) value = p->ceiling;
    out->f[i] = value < p->floor ? p->floor : value;
  }
}

static void make_normal(const plan *p, uint64_t first, size_t count, scratch *out) {
  const pg_random *r = p->request;
  for (size_t i = 0; i < count; i++)
    out->f[i] = r->mean + r->stddev * pg_rng_normal(r->seed, r->stream, first + i);
}

/* ---- what a request needs ---- */

/* The dtype's next smaller number; encodings of floats are ordered like sign and magnitude. */
static double step_down(pg_scalar scalar, double value) {
  uint64_t bits = 0, sign = UINT64_C(1) << (8 * pg_scalar_size(scalar) - 1);
  pg_store_f64(scalar, &bits, value);
  if ((bits & ~sign) == 0)
    bits = sign | 1;
  else
    bits = bits & sign ? bits + 1 : bits - 1;
  return pg_load_f64(scalar, &bits);
}

static double rounded(pg_scalar scalar, double value) {
  uint64_t bits = 0;
  pg_store_f64(scalar, &bits, value);
  return pg_load_f64(scalar, &bits);
}

static pg_code need_float(const plan *p, const char *dist, pg_error *error) {
  if (pg_scalar_class(p->scalar) == 'f') return PG_OK;
  pg_fail(error, PG_INVALID, "a %s distribution needs a floating dtype, got %s", dist,
          pg_scalar_name(p->scalar));
  return pg_hint(error, "use dist \"integer\" with first and last, or \"bits\"");
}

static pg_code plan_uniform(plan *p, pg_error *error) {
  pg_code code = need_float(p, "uniform", error);
  if (code) return code;
  double low = p->request->low, high = p->request->high;
  double max = pg_scalar_format(p->scalar)->max;
  if (!(low < high))
    return pg_fail(error, PG_RANGE, "uniform: low %g is not below high %g", low, high);
  if (!(low >= -max && high <= max && high - low <= 0x1.fffffffffffffp1023))
    return pg_fail(error, PG_RANGE, "uniform: [%g, %g) exceeds what %s holds (up to %g)", low, high,
                   pg_scalar_name(p->scalar), max);
  p->ceiling = rounded(p->scalar, high);
  if (p->ceiling >= high) p->ceiling = step_down(p->scalar, p->ceiling);
  p->floor = rounded(p->scalar, low);
  if (p->floor < low) p->floor = -step_down(p->scalar, -p->floor);
  if (p->floor <= p->ceiling) return PG_OK;
  return pg_fail(error, PG_RANGE, "uniform: no %s lies in [%.17g, %.17g)",
                 pg_scalar_name(p->scalar), low, high);
}

static pg_code plan_normal(plan *p, pg_error *error) {
  pg_code code = need_float(p, "normal", error);
  if (code) return code;
  if (isfinite(p->request->mean) && isfinite(p->request->stddev) && p->request->stddev >= 0)
    return PG_OK;
  return pg_fail(error, PG_RANGE, "normal: expected a finite mean and a stddev >= 0, got %g and %g",
                 p->request->mean, p->request->stddev);
}

/* Whether the scalar holds an integer and gives it back. */
static bool holds(pg_scalar scalar, int64_t value) {
  uint64_t bits = 0;
  const pg_float_format *format = pg_scalar_format(scalar);
  if (format) { /* all integers up to 2^(mantissa_bits + 1), and none is rounded on the way */
    int64_t limit = INT64_C(1) << (format->mantissa_bits + 1);
    return value >= -limit && value <= limit && (double)value <= format->max;
  }
  pg_store_i64(scalar, &bits, value);
  return pg_load_i64(scalar, &bits) == value;
}

static pg_code plan_integer(plan *p, pg_error *error) {
  int64_t first = p->request->first, last = p->request->last;
  bool is_unsigned = p->scalar == PG_U64;
  if (is_unsigned ? (uint64_t)first > (uint64_t)last : first > last)
    return pg_fail(error, PG_RANGE, "integer: first %lld is above last %lld", (long long)first,
                   (long long)last);
  if (!holds(p->scalar, first) || !holds(p->scalar, last))
    return pg_fail(error, PG_RANGE, "integer: %s does not hold every integer in %lld..%lld",
                   pg_scalar_name(p->scalar), (long long)first, (long long)last);
  p->bound = (uint64_t)last - (uint64_t)first + 1;
  return PG_OK;
}

static pg_code plan_bits(plan *p, pg_error *error) {
  (void)p, (void)error;
  return PG_OK;
}

/* Raw bits are stored through an unsigned scalar of the same size. */
static pg_scalar unsigned_of(pg_scalar scalar) {
  static const pg_scalar by_size[] = {[1] = PG_U8, [2] = PG_U16, [4] = PG_U32, [8] = PG_U64};
  return by_size[pg_scalar_size(scalar)];
}

static const struct {
  pg_code (*plan)(plan *, pg_error *);
  maker make;
  bool floating; /* makes scratch.f, else scratch.i */
} dists[] = {
    [PG_DIST_UNIFORM] = {plan_uniform, make_uniform, true},
    [PG_DIST_NORMAL] = {plan_normal, make_normal, true},
    [PG_DIST_INTEGER] = {plan_integer, make_integer, false},
    [PG_DIST_BITS] = {plan_bits, make_bits, false},
};

typedef struct filling {
  const pg_array *array;
  const plan *plan;
  pg_scalar as; /* how values are stored */
} filling;

static void fill_part(void *context, size_t part) {
  const filling *f = context;
  const pg_array *array = f->array;
  pg_dist dist = f->plan->request->dist;
  size_t end = array->count - part * PART < PART ? array->count : (part + 1) * PART;
  for (size_t first = part * PART; first < end; first += CHUNK) {
    size_t count = end - first < CHUNK ? end - first : CHUNK;
    char *at = (char *)array->data + first * array->dtype.size;
    scratch values;
    dists[dist].make(f->plan, first, count, &values);
    if (dists[dist].floating)
      pg_store_f64s(f->as, at, count, values.f);
    else
      pg_store_i64s(f->as, at, count, values.i);
  }
}

pg_code pg_array_random(pg_array *array, const pg_random *random, pg_error *error) {
  if (array->dtype.scalar == PG_STRUCT)
    return pg_fail(error, PG_INVALID, "random fills scalars, not structs (%s)", array->dtype.name);
  if ((unsigned)random->dist > PG_DIST_BITS)
    return pg_fail(error, PG_INVALID, "unknown distribution %d", (int)random->dist);
  plan p = {.scalar = array->dtype.scalar, .request = random};
  pg_code code = dists[random->dist].plan(&p, error);
  if (code) return code;
  filling f = {.array = array,
               .plan = &p,
               .as = random->dist == PG_DIST_BITS ? unsigned_of(p.scalar) : p.scalar};
  pg_parallel((array->count + PART - 1) / PART, fill_part, &f);
  return PG_OK;
}
