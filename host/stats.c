/* Statistics of timing samples: quantiles, an exact interval of the median, a bootstrap of a ratio
 * of midmeans. Samples must be finite; they are copied and sorted. */
#include "stats.h"
#include "rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static pg_code sorted_copy(const double *samples, size_t count, double **out, pg_error *error) {
  *out = NULL;
  if (count == 0) return pg_fail(error, PG_INVALID, "statistics need at least one sample");
  for (size_t i = 0; i < count; i++)
    if (!isfinite(samples[i]))
      return pg_fail(error, PG_INVALID, "sample %zu is %g, expected a finite number", i,
                     samples[i]);
  double *copy = malloc(count * sizeof *copy);
  if (!copy) return pg_fail(error, PG_MEMORY, "no memory for %zu samples", count);
  memcpy(copy, samples, count * sizeof *copy);
  qsort(copy, count, sizeof *copy, by_value);
  *out = copy;
  return PG_OK;
}

double pg_quantile(const double *sorted, size_t count, double q) {
  if (count == 0 || !(q >= 0 && q <= 1)) return NAN;
  double at = (double)(count - 1) * q;
  size_t below = (size_t)at;
  if (below + 1 >= count) return sorted[count - 1];
  double part = at - (double)below;
  double step = sorted[below + 1] - sorted[below];
  if (isfinite(step)) return sorted[below] + step * part;
  return sorted[below] * (1 - part) + sorted[below + 1] * part;
}

/* Largest r >= 0 with 2 P(B < r) <= 0.05 for B ~ Binomial(n, 1/2): the interval from the r-th
 * smallest to the r-th largest sample covers the median with probability 1 - 2 P(B < r). 0: n is
 * too small. */
static size_t median_rank(size_t n) {
  /* Below this the terms are under 1e-20 altogether (Hoeffding), and 2^-n alone may underflow. */
  double start = floor((double)n / 2 - 5 * sqrt((double)n));
  size_t k = start > 0 ? (size_t)start : 0;
  int sign;
  double log_term = lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
                    lgamma_r((double)(n - k) + 1, &sign) - (double)n * 0.693147180559945309;
  double term = exp(log_term), below = 0;
  while (2 * (below + term) <= 0.05) {
    below += term;
    term *= (double)(n - k) / (double)(k + 1);
    k++;
  }
  return k;
}

static void median_interval(const double *sorted, size_t count, double ci95[2]) {
  size_t rank = median_rank(count);
  if (rank == 0) rank = 1; /* fewer than 6 samples: all there is */
  ci95[0] = sorted[rank - 1];
  ci95[1] = sorted[count - rank];
}

/* Welford's update: no cancellation whatever the mean. */
static void moments(const double *samples, size_t count, double *mean, double *stddev) {
  double m = 0, squares = 0;
  for (size_t i = 0; i < count; i++) {
    double d = samples[i] - m;
    m += d / (double)(i + 1);
    squares += d * (samples[i] - m);
  }
  *mean = m;
  *stddev = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

pg_code pg_summarize(const double *samples, size_t count, pg_summary *out, pg_error *error) {
  double *sorted;
  *out = (pg_summary){0};
  pg_code code = sorted_copy(samples, count, &sorted, error);
  if (code) return code;
  out->samples = count;
  out->min = sorted[0];
  out->max = sorted[count - 1];
  moments(sorted, count, &out->mean, &out->stddev);
  out->median = pg_quantile(sorted, count, 0.5);
  out->p20 = pg_quantile(sorted, count, 0.2);
  out->p80 = pg_quantile(sorted, count, 0.8);
  median_interval(sorted, count, out->ci95);
  double half = (out->ci95[1] - out->ci95[0]) / 2;
  out->relative_half = half == 0 ? 0 : half / fabs(out->median);
  free(sorted);
  return PG_OK;
}

/* ---- the ratio of two sets ---- */

/* A set is drawn again by its units: slices, or samples where there is one slice at most. */
typedef struct sample_set {
  double *sorted;
  uint32_t *unit;      /* of each of sorted */
  uint32_t *drawn;     /* how often, each unit */
  const size_t *sizes; /* of the units; NULL: 1 */
  size_t count, units;
  double midmean;
  double squares; /* sum over the rounds: how far theirs are from it, as a part of it */
} sample_set;

/* The mean of the middle half of sorted samples, of which there are `total` with each taken as
 * often as its unit was drawn, or once where `drawn` is NULL: the quarters at the ends may take a
 * part of a sample. */
static double midmean(const sample_set *s, const uint32_t *drawn, size_t total) {
  double low = (double)total / 4, high = (double)total - low, seen = 0, above = 0;
  /* differences from one of them: samples that are equal have no rounding */
  double from = s->sorted[s->count / 2];
  for (size_t i = 0; i < s->count && seen < high; i++) {
    double next = seen + (drawn ? drawn[s->unit[i]] : 1);
    double share = fmin(next, high) - fmax(seen, low);
    if (share > 0) above += share / (high - low) * (s->sorted[i] - from);
    seen = next;
  }
  return from + above;
}

/* The midmean of one resample. Counting how often units are drawn needs no sort. */
static double resampled_midmean(sample_set *s, uint64_t seed, uint64_t stream) {
  size_t total = 0;
  memset(s->drawn, 0, s->units * sizeof *s->drawn);
  for (size_t i = 0; i < s->units; i++) {
    size_t unit = pg_rng_below(seed, stream, i, s->units);
    s->drawn[unit]++;
    total += s->sizes ? s->sizes[unit] : 1;
  }
  double mean = midmean(s, s->drawn, total);
  s->squares += pow(mean / s->midmean - 1, 2);
  return mean;
}

typedef struct ranked {
  double value;
  uint32_t slice;
} ranked;

static int by_rank(const void *a, const void *b) {
  return by_value(&((const ranked *)a)->value, &((const ranked *)b)->value);
}

/* Values and their slices, sorted together. */
static pg_code sort_slices(sample_set *s, const double *values, pg_error *error) {
  ranked *list = malloc(s->count * sizeof *list);
  if (!list) return pg_fail(error, PG_MEMORY, "no memory for %zu samples", s->count);
  for (size_t slice = 0, i = 0; slice < s->units; slice++)
    for (size_t k = 0; k < s->sizes[slice]; k++, i++)
      list[i] = (ranked){values[i], (uint32_t)slice};
  qsort(list, s->count, sizeof *list, by_rank);
  for (size_t i = 0; i < s->count; i++) s->unit[i] = list[i].slice;
  free(list);
  return PG_OK;
}

static pg_code check_slices(const pg_samples *given, pg_error *error) {
  size_t sum = 0;
  for (size_t i = 0; i < given->slices; i++) {
    if (given->sizes[i] == 0 || given->sizes[i] > given->count - sum)
      return pg_fail(error, PG_INVALID, "slice %zu has %zu of %zu samples left", i, given->sizes[i],
                     given->count - sum);
    sum += given->sizes[i];
  }
  if (given->slices && sum < given->count)
    return pg_fail(error, PG_INVALID, "%zu slices have %zu of %zu samples", given->slices, sum,
                   given->count);
  return PG_OK;
}

static pg_code sample_set_new(sample_set *s, const pg_samples *given, pg_error *error) {
  bool sliced = given->slices > 1;
  *s = (sample_set){.count = given->count,
                    .units = sliced ? given->slices : given->count,
                    .sizes = sliced ? given->sizes : NULL};
  pg_code code = check_slices(given, error);
  if (!code) code = sorted_copy(given->values, s->count, &s->sorted, error);
  if (code) return code;
  s->unit = malloc(s->count * sizeof *s->unit);
  s->drawn = malloc(s->units * sizeof *s->drawn);
  if (!s->unit || !s->drawn)
    return pg_fail(error, PG_MEMORY, "no memory for %zu samples", s->count);
  s->midmean = midmean(s, NULL, s->count);
  if (sliced) return sort_slices(s, given->values, error);
  for (size_t i = 0; i < s->count; i++) s->unit[i] = (uint32_t)i;
  return PG_OK;
}

static void sample_set_free(sample_set *s) {
  free(s->sorted);
  free(s->unit);
  free(s->drawn);
}

/* As many slices of equal size tell as much: little above 1 where one has nearly all samples. */
static double equal_slices(const sample_set *s) {
  double squares = 0, count = (double)s->count;
  for (size_t i = 0; i < s->units; i++) squares += (double)s->sizes[i] * (double)s->sizes[i];
  return fmax(count * count / squares, 2);
}

/* Quantile 0.975 of Student's t over that of the normal distribution: Fisher's expansion in
 * 1 / freedom (Abramowitz and Stegun 26.7.5), at 1 11% low, from 2 on less than 1%. */
static double t_over_normal(double freedom) {
  double x = 1 / freedom;
  return 1 + x * (1.2104 + x * (1.4401 + x * (1.3039 + x * 0.8110)));
}

/* How much wider than the rounds say an interval is to be. Of k slices drawn with replacement, the
 * variance is (k - 1) / k of the true one, and of few slices that is little known itself: Student's
 * t, with Welch's degrees of freedom. */
static double widening(const sample_set *sets) {
  double drawn = 0, truly = 0, unsure = 0;
  for (int i = 0; i < 2; i++) {
    double k = sets[i].sizes ? equal_slices(&sets[i]) : INFINITY;
    double own = sets[i].squares / (1 - 1 / k);
    drawn += sets[i].squares;
    truly += own;
    unsure += own * own / (k - 1);
  }
  return unsure > 0 ? sqrt(truly / drawn) * t_over_normal(truly * truly / unsure) : 1;
}

static pg_code check_ratio(const sample_set *a, const sample_set *b, int rounds, pg_error *error) {
  if (rounds < 1)
    return pg_fail(error, PG_RANGE, "expected at least 1 bootstrap round, got %d", rounds);
  if (b->sorted[0] <= 0)
    return pg_fail(error, PG_RANGE, "a ratio needs positive samples below the line, got %g",
                   b->sorted[0]);
  if ((a->sizes || b->sizes) && a->sorted[0] <= 0)
    return pg_fail(error, PG_RANGE, "a ratio of slices needs positive samples, got %g",
                   a->sorted[0]);
  return PG_OK;
}

pg_code pg_ratio(pg_samples a, pg_samples b, uint64_t seed, int rounds, double *ratio,
                 double ci95[2], pg_error *error) {
  sample_set sets[2] = {0};
  double *ratios = NULL;
  pg_code code = sample_set_new(&sets[0], &a, error);
  if (!code) code = sample_set_new(&sets[1], &b, error);
  if (!code) code = check_ratio(&sets[0], &sets[1], rounds, error);
  if (code) goto out;
  ratios = malloc((size_t)rounds * sizeof *ratios);
  if (!ratios) {
    code = pg_fail(error, PG_MEMORY, "no memory for %d bootstrap rounds", rounds);
    goto out;
  }
  *ratio = sets[0].midmean / sets[1].midmean;
  for (int i = 0; i < rounds; i++) { /* streams 2 i and 2 i + 1: a and b are drawn independently */
    uint64_t stream = 2 * (uint64_t)i;
    ratios[i] =
        resampled_midmean(&sets[0], seed, stream) / resampled_midmean(&sets[1], seed, stream + 1);
  }
  qsort(ratios, (size_t)rounds, sizeof *ratios, by_value);
  double wider = widening(sets);
  for (int i = 0; i < 2; i++) {
    ci95[i] = pg_quantile(ratios, (size_t)rounds, i ? 0.975 : 0.025);
    if (wider != 1) ci95[i] = *ratio * pow(ci95[i] / *ratio, wider);
  }
out:
  free(ratios);
  sample_set_free(&sets[0]);
  sample_set_free(&sets[1]);
  return code;
}
