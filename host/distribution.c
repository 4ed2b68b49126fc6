/* Statistics of draws: one parallel pass makes u of every element and counts, short ones follow. */
#include "distribution.h"
#include "parallel.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  CHUNK = 512,
  BINS = 1 << 16,
  PARTS_MOST = 16,
  BIT_SAMPLES = 1 << 20,
  BLOCK_MOST = 4096,
  ALIGN = 64
};

const int pg_lags[PG_LAGS] = {1, 2, 3, 4, 8, 16, 31, 32, 64, 128, 256, 1024};

/* ---- u of an element ---- */

/* The finalizer of SplitMix64. */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* u and 1 - u, each without cancellation. */
typedef struct draw {
  double u, rest;
} draw;

static draw draw_normal(double z) {
  double tail = erfc(fabs(z) * M_SQRT1_2) / 2;
  return z < 0 ? (draw){tail, 1 - tail} : (draw){1 - tail, tail};
}

static draw draw_real(const pg_distribution *d, double x) {
  switch (d->law) {
  case PG_LAW_NORMAL: return draw_normal((x - d->a) / d->b);
  case PG_LAW_LOGNORMAL: return draw_normal((log(x) - d->a) / d->b);
  case PG_LAW_EXPONENTIAL: return (draw){-expm1(-d->a * x), exp(-d->a * x)};
  default: return (draw){(x - d->a) / (d->b - d->a), (d->b - x) / (d->b - d->a)};
  }
}

static bool in_support(const pg_distribution *d, double x) {
  if (!isfinite(x)) return false;
  if (d->law == PG_LAW_UNIFORM) return x >= d->a && x <= d->b;
  if (d->law == PG_LAW_LOGNORMAL) return x > 0;
  return d->law == PG_LAW_NORMAL || x >= 0;
}

/* An integer becomes a random point of its step, so that u is uniform to the last digit. */
static draw draw_integer(const pg_distribution *d, uint64_t step, size_t index) {
  double fraction = (double)(mix(d->seed + index) >> 11) * 0x1p-53;
  double span = d->span ? (double)d->span : 0x1p64;
  double u = ((double)step + fraction) / span;
  return (draw){u, 1 - u};
}

/* ---- one pass over a part ---- */

typedef struct tally {
  size_t outside, outside_at;
  double power[PG_MOMENTS]; /* sums of (2u - 1)^1 ... (2u - 1)^6 */
  double least, largest;    /* of all elements */
  uint32_t bins[BINS];
} tally;

typedef struct pass {
  const pg_array *array;
  const pg_distribution *d;
  size_t count; /* elements looked at, in blocks of `block` */
  size_t block, parts;
  float *u;
  tally *tally;
} pass;

static void add_powers(tally *p, double u) {
  double x = 2 * u - 1, power = x;
  for (int k = 0; k < PG_MOMENTS; k++, power *= x) p->power[k] += power;
}

/* sqrt(2k + 1) P_k(2u - 1) is orthonormal on [0, 1]. sum[k]: of (2u - 1)^(k + 1) over n draws. */
static void find_moments(const double *sum, double n, double moment[PG_MOMENTS]) {
  const double legendre[PG_MOMENTS] = {
      sum[0],
      (3 * sum[1] - n) / 2,
      (5 * sum[2] - 3 * sum[0]) / 2,
      (35 * sum[3] - 30 * sum[1] + 3 * n) / 8,
      (63 * sum[4] - 70 * sum[2] + 15 * sum[0]) / 8,
      (231 * sum[5] - 315 * sum[3] + 105 * sum[1] - 5 * n) / 16,
  };
  for (int k = 0; k < PG_MOMENTS; k++) moment[k] = sqrt(2.0 * (k + 1) + 1) * legendre[k] / sqrt(n);
}

static void count_draw(pass *s, tally *p, size_t i, draw at) {
  double u = at.u < 0 ? 0 : at.u < 1 ? at.u : 1;
  size_t bin = (size_t)(u * BINS);
  p->bins[bin < BINS ? bin : BINS - 1]++;
  add_powers(p, u);
  s->u[i] = (float)u;
}

/* Element of the array that is sample i: samples lie in blocks, one at random in each of as many
 * equal parts, so that neighbours are looked at as neighbours and nobody knows which. */
static size_t place_of(const pass *s, size_t i) {
  if (s->count == s->array->count) return i;
  size_t block = i / s->block, blocks = (s->count + s->block - 1) / s->block;
  size_t part = s->array->count / blocks, room = s->array->count - s->block;
  size_t free = part > s->block + ALIGN ? part - s->block - ALIGN : 0;
  size_t first = block * part + mix(s->d->seed ^ mix(block + 1)) % (free + 1);
  return (first < room ? first : room) / ALIGN * ALIGN + i % s->block; /* pairs stay pairs */
}

static const char *element(const pg_array *a, size_t i) {
  return (const char *)a->data + i * a->dtype.size;
}

static void visit_real(pass *s, tally *p, size_t i) {
  double x = pg_load_f64(s->array->dtype.scalar, element(s->array, place_of(s, i)));
  if (in_support(s->d, x)) count_draw(s, p, i, draw_real(s->d, x));
}

static void visit_integer(pass *s, tally *p, size_t i) {
  int64_t x = pg_load_i64(s->array->dtype.scalar, element(s->array, place_of(s, i)));
  uint64_t step = (uint64_t)x - s->d->first;
  if (s->d->span == 0 || step < s->d->span) count_draw(s, p, i, draw_integer(s->d, step, i));
}

static void note_outside(tally *p, size_t index) {
  if (p->outside++ == 0) p->outside_at = index;
}

static void scan_reals(const pass *s, tally *p, size_t first, size_t count) {
  double x[CHUNK];
  pg_load_f64s(s->array->dtype.scalar, element(s->array, first), count, x);
  for (size_t i = 0; i < count; i++) {
    if (!in_support(s->d, x[i])) note_outside(p, first + i);
    if (x[i] < p->least) p->least = x[i];
    if (x[i] > p->largest) p->largest = x[i];
  }
}

static void scan_integers(const pass *s, tally *p, size_t first, size_t count) {
  int64_t x[CHUNK];
  if (s->d->span == 0) return;
  pg_load_i64s(s->array->dtype.scalar, element(s->array, first), count, x);
  for (size_t i = 0; i < count; i++)
    if ((uint64_t)x[i] - s->d->first >= s->d->span) note_outside(p, first + i);
}

/* The support and the extremes: all elements, not only samples. */
static void scan(const pass *s, tally *p, size_t first, size_t end) {
  for (; first < end; first += CHUNK) {
    size_t count = end - first < CHUNK ? end - first : CHUNK;
    s->d->law == PG_LAW_INTEGER ? scan_integers(s, p, first, count)
                                : scan_reals(s, p, first, count);
  }
}

static size_t bound(size_t count, size_t part, size_t parts) {
  return (size_t)((unsigned __int128)count * part / parts);
}

static void visit_part(void *context, size_t number) {
  pass *s = context;
  tally *p = &s->tally[number];
  bool integer = s->d->law == PG_LAW_INTEGER;
  p->least = INFINITY, p->largest = -INFINITY;
  size_t end = bound(s->count, number + 1, s->parts);
  for (size_t i = bound(s->count, number, s->parts); i < end; i++)
    integer ? visit_integer(s, p, i) : visit_real(s, p, i);
  scan(s, p, bound(s->array->count, number, s->parts),
       bound(s->array->count, number + 1, s->parts));
}

/* ---- statistics ---- */

static void join_parts(const pass *s, uint64_t *bins, pg_draws *out) {
  double power[PG_MOMENTS] = {0}, n = 0;
  double least = INFINITY, largest = -INFINITY;
  for (size_t i = 0; i < s->parts; i++) {
    const tally *p = &s->tally[i];
    if (p->outside && !out->outside) out->outside_at = p->outside_at;
    out->outside += p->outside;
    for (int k = 0; k < PG_MOMENTS; k++) power[k] += p->power[k];
    if (p->least < least) least = p->least;
    if (p->largest > largest) largest = p->largest;
    for (size_t b = 0; b < BINS; b++) bins[b] += p->bins[b];
  }
  for (size_t b = 0; b < BINS; b++) n += (double)bins[b];
  find_moments(power, n > 0 ? n : 1, out->moment);
  out->lowest = draw_real(s->d, least).u;
  out->highest = draw_real(s->d, largest).rest;
}

static double chi2_of(const uint64_t *cells, size_t count, double expected) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    double off = (double)cells[i] - expected;
    sum += off * off / expected;
  }
  return sum;
}

static void judge_bins(const uint64_t *bins, pg_draws *out) {
  double n = (double)out->count, below = 0, largest = 0;
  uint64_t cells[PG_CELLS] = {0};
  for (size_t b = 0; b < BINS; b++) {
    below += (double)bins[b];
    cells[b / (BINS / PG_CELLS)] += bins[b];
    double off = fabs(below / n - (double)(b + 1) / BINS);
    if (off > largest) largest = off;
  }
  out->ks = largest * sqrt(n);
  out->chi2 = chi2_of(cells, PG_CELLS, n / PG_CELLS);
}

static void judge_pairs(const float *u, pg_draws *out) {
  uint64_t cells[PG_PAIR_CELLS] = {0};
  for (size_t i = 0; i + 1 < out->count; i += 2) {
    int a = (int)(u[i] * 8), b = (int)(u[i + 1] * 8);
    cells[(a < 8 ? a : 7) * 8 + (b < 8 ? b : 7)]++;
  }
  out->pairs_chi2 = chi2_of(cells, PG_PAIR_CELLS, (double)(out->count / 2) / PG_PAIR_CELLS);
}

typedef struct serial_work {
  const float *u;
  pg_draws *out;
} serial_work;

static void judge_lag(void *context, size_t lag_index) {
  serial_work *w = context;
  size_t lag = (size_t)pg_lags[lag_index];
  if (lag >= w->out->count) return;
  size_t pairs = w->out->count - lag;
  double sum = 0;
  for (size_t first = 0; first < pairs; first += CHUNK) {
    size_t end = pairs - first < CHUNK ? pairs : first + CHUNK;
    double some = 0;
    for (size_t i = first; i < end; i++)
      some += (double)((w->u[i] - 0.5f) * (w->u[i + lag] - 0.5f));
    sum += some;
  }
  w->out->serial[lag_index] = 12 * sum / sqrt((double)pairs);
}

static void count_neighbours(const pg_array *a, pg_draws *out) {
  size_t size = a->dtype.size, equal = 0;
  if (size == 4) { /* the usual case, for the vectorizer */
    const uint32_t *x = a->data;
    for (size_t i = 1; i < a->count; i++) equal += x[i] == x[i - 1];
  } else {
    for (size_t i = 1; i < a->count; i++)
      equal += memcmp(element(a, i), element(a, i - 1), size) == 0;
  }
  out->equal_neighbours = equal;
}

/* How far `found` of `count` fair coins is from one half, in standard deviations. */
static double coin(size_t found, size_t count) {
  return (2 * (double)found - (double)count) / sqrt((double)count);
}

static void judge_bits(const pg_array *a, const pg_distribution *d, pg_draws *out) {
  size_t count = a->count < BIT_SAMPLES ? a->count : BIT_SAMPLES;
  size_t ones[PG_WORD_BITS] = {0}, changes[PG_WORD_BITS] = {0};
  uint64_t before = 0;
  if (d->span & (d->span - 1) || count < 2) return;
  out->bits = d->span ? __builtin_ctzll(d->span) : 64;
  for (size_t i = 0; i < count; i++) {
    const char *at = (const char *)a->data + i * a->dtype.size;
    uint64_t x = (uint64_t)pg_load_i64(a->dtype.scalar, at) - d->first, change = x ^ before;
    for (int b = 0; b < out->bits; b++) ones[b] += x >> b & 1;
    for (int b = 0; i > 0 && b < out->bits; b++) changes[b] += change >> b & 1;
    before = x;
  }
  for (int b = 0; b < out->bits; b++) {
    double one = coin(ones[b], count), change = coin(changes[b], count - 1);
    if (fabs(one) > fabs(out->ones)) out->ones = one, out->worst_bit = b;
    if (fabs(change) > fabs(out->changes)) out->changes = change, out->worst_change_bit = b;
  }
}

/* ---- the whole ---- */

static pg_code check(const pg_array *a, const pg_distribution *d, pg_error *error) {
  if (a->dtype.scalar == PG_STRUCT) return pg_fail(error, PG_INVALID, "no distribution of structs");
  bool floating = pg_scalar_class(a->dtype.scalar) == 'f';
  if (floating != (d->law != PG_LAW_INTEGER))
    return pg_fail(error, PG_INVALID, "%s values do not follow this distribution", a->dtype.name);
  if (a->count < 2)
    return pg_fail(error, PG_INVALID, "%zu elements have no distribution", a->count);
  bool spread = d->law == PG_LAW_UNIFORM       ? d->b > d->a
                : d->law == PG_LAW_EXPONENTIAL ? d->a > 0
                                               : d->law == PG_LAW_INTEGER || d->b > 0;
  if (!spread || !isfinite(d->a) || !isfinite(d->b))
    return pg_fail(error, PG_RANGE, "parameters %g and %g of the distribution", d->a, d->b);
  return PG_OK;
}

pg_code pg_test_draws(const pg_array *array, const pg_distribution *d, pg_draws *out,
                      pg_error *error) {
  pg_code code = check(array, d, error);
  if (code) return code;
  size_t count = d->samples && d->samples < array->count ? d->samples : array->count;
  *out = (pg_draws){.count = count};
  pass s = {.array = array, .d = d, .count = count};
  s.block = count / 32 < BLOCK_MOST ? (count / 32 + 2) / 2 * 2 : BLOCK_MOST;
  s.parts = array->count / BINS + 1 < PARTS_MOST ? array->count / BINS + 1 : PARTS_MOST;
  s.u = calloc(count, sizeof *s.u);
  s.tally = calloc(s.parts, sizeof *s.tally);
  uint64_t *bins = calloc(BINS, sizeof *bins);
  if (s.u && s.tally && bins) {
    pg_parallel(s.parts, visit_part, &s);
    join_parts(&s, bins, out);
    judge_bins(bins, out);
    judge_pairs(s.u, out);
    pg_parallel(PG_LAGS, judge_lag, &(serial_work){s.u, out});
    count_neighbours(array, out);
    if (d->law == PG_LAW_INTEGER) judge_bits(array, d, out);
  } else {
    code = pg_fail(error, PG_MEMORY, "no memory to look at %zu draws", count);
  }
  free(s.u);
  free(s.tally);
  free(bins);
  return code;
}

/* A window's bytes, eight at a time. */
static uint64_t hash_bytes(const char *at, size_t bytes, uint64_t key) {
  uint64_t hash = mix(key + bytes);
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = 0;
    memcpy(&word, at + i, bytes - i < 8 ? bytes - i : 8);
    hash = mix(hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
  }
  return hash;
}

/* Of an element, whatever its sign. */
static uint64_t hash_element(const pg_array *array, size_t i, bool floats, uint64_t key) {
  const size_t size = array->dtype.size;
  const char *at = (const char *)array->data + i * size;
  uint64_t word = 0;
  switch (size) {
  case 1: memcpy(&word, at, 1); break;
  case 2: memcpy(&word, at, 2); break;
  case 4: memcpy(&word, at, 4); break;
  case 8: memcpy(&word, at, 8); break;
  default: return hash_bytes(at, size, key);
  }
  return mix((floats ? word & ~(UINT64_C(1) << (8 * size - 1)) : word) ^ key);
}

/* The last `width` elements as two polynomials in ROOT, one of them read backwards. */
typedef struct window {
  uint64_t forward, backward, inverse, power; /* 1 / ROOT; ROOT^(width - 1) */
} window;

#define ROOT UINT64_C(0x9e3779b97f4a7c15) /* odd, so that it has an inverse */

static window window_of(size_t width) {
  window w = {.inverse = ROOT, .power = 1};
  for (int k = 0; k < 5; k++) w.inverse *= 2 - ROOT * w.inverse; /* doubles the bits that hold */
  for (size_t k = 1; k < width; k++) w.power *= ROOT;
  return w;
}

/* Equal for a window and its mirror image. */
static uint64_t slide(window *w, uint64_t in, uint64_t out) {
  w->forward = (w->forward - out) * w->inverse + in * w->power;
  w->backward = (w->backward - out * w->power) * ROOT + in;
  return mix(w->forward) + mix(w->backward);
}

enum { STRETCHES = 1 << 18 }; /* so that two are equal by chance once in 10^8 arrays */

/* The hashes and starts of windows: one in `every` is chosen by its place, one by its hash, so that
 * copies of it are chosen, too. `ring` has room for width hashes. */
static size_t choose_windows(const pg_array *array, size_t width, uint64_t key, uint64_t *ring,
                             uint64_t *hashes, size_t *starts, size_t most) {
  const size_t every = array->count / STRETCHES > width ? array->count / STRETCHES : width;
  const bool floats = pg_scalar_class(array->dtype.scalar) == 'f';
  window w = window_of(width);
  size_t chosen = 0, slot = 0, next = width - 1; /* the end of the next one chosen by its place */
  for (size_t i = 0; i < array->count && chosen < most; i++) {
    const uint64_t in = hash_element(array, i, floats, key), hash = slide(&w, in, ring[slot]);
    ring[slot] = in;
    slot = slot + 1 == width ? 0 : slot + 1;
    if (i + 1 < width || (i != next && hash > UINT64_MAX / every)) continue;
    if (i == next) next += every;
    hashes[chosen] = hash;
    starts[chosen++] = i + 1 - width;
  }
  return chosen;
}

pg_code pg_repeated_windows(const pg_array *array, size_t width, uint64_t key, size_t *repeats,
                            size_t *at, pg_error *error) {
  if (width == 0) return pg_fail(error, PG_RANGE, "a window of 0 elements");
  *repeats = *at = 0;
  if (width > array->count) return PG_OK;
  const size_t most = 64 + 3 * (array->count / width);
  const int64_t shape[1] = {(int64_t)most};
  pg_dtype u64 = pg_dtype_of(PG_U64);
  pg_array hashes;
  pg_code code = pg_array_new(&hashes, &u64, 1, shape, error);
  if (code) return code;
  uint64_t *ring = calloc(width, sizeof *ring);
  size_t *starts = calloc(most, sizeof *starts);
  if (ring && starts) {
    size_t chosen = choose_windows(array, width, key, ring, hashes.data, starts, most);
    pg_rows rows = {.columns = 1, .column = {&hashes}, .count = chosen};
    code = pg_rows_duplicates(&rows, key, repeats, at, error);
    if (!code && *repeats > 0) *at = starts[*at];
  } else {
    code = pg_fail(error, PG_MEMORY, "no memory for windows of %zu elements", width);
  }
  free(ring);
  free(starts);
  pg_array_free(&hashes);
  return code;
}
