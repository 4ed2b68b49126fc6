/* Statistics of timing samples: quantiles, an exact interval of the median, a bootstrap of a ratio
 * of midmeans. Samples must be finite; they are copied and sorted. */
#include "stats.h"
#include "rng.h"

#include <math.h>
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

/* The mean of the middle half of sorted samples, each `times` over, or once where that is NULL: the
 * quarters at the ends may take a part of a sample. */
static double midmean(const double *sorted, size_t count, const uint32_t *times) {
  double low = (double)count / 4, high = (double)count - low, seen = 0, above = 0;
  double from =
      sorted[count / 2]; /* differences from it: samples that are equal have no rounding */
  for (size_t i = 0; i < count && seen < high; i++) {
    double next = seen + (times ? times[i] : 1);
    double share = fmin(next, high) - fmax(seen, low);
    if (share > 0) above += share / (high - low) * (sorted[i] - from);
    seen = next;
  }
  return from + above;
}

/* The midmean of one resample of sorted samples. Drawing ranks and counting them needs no sort. */
static double resampled_midmean(const double *sorted, size_t count, uint64_t seed, uint64_t stream,
                                uint32_t *drawn) {
  memset(drawn, 0, count * sizeof *drawn);
  for (size_t i = 0; i < count; i++) drawn[pg_rng_below(seed, stream, i, count)]++;
  return midmean(sorted, count, drawn);
}

typedef struct sample_set {
  double *sorted;
  size_t count;
  uint32_t *drawn;
} sample_set;

static pg_code sample_set_new(sample_set *s, const double *samples, size_t count, pg_error *error) {
  *s = (sample_set){.count = count};
  pg_code code = sorted_copy(samples, count, &s->sorted, error);
  if (code) return code;
  s->drawn = malloc(count * sizeof *s->drawn);
  return s->drawn ? PG_OK : pg_fail(error, PG_MEMORY, "no memory for %zu samples", count);
}

static void sample_set_free(sample_set *s) {
  free(s->sorted);
  free(s->drawn);
}

pg_code pg_ratio(const double *a, size_t na, const double *b, size_t nb, uint64_t seed, int rounds,
                 double *ratio, double ci95[2], pg_error *error) {
  if (rounds < 1)
    return pg_fail(error, PG_RANGE, "expected at least 1 bootstrap round, got %d", rounds);
  sample_set sa = {0}, sb = {0};
  double *ratios = NULL;
  pg_code code = sample_set_new(&sa, a, na, error);
  if (!code) code = sample_set_new(&sb, b, nb, error);
  if (code) goto out;
  if (sb.sorted[0] <= 0) {
    code = pg_fail(error, PG_RANGE, "a ratio needs positive samples below the line, got %g",
                   sb.sorted[0]);
    goto out;
  }
  ratios = malloc((size_t)rounds * sizeof *ratios);
  if (!ratios) {
    code = pg_fail(error, PG_MEMORY, "no memory for %d bootstrap rounds", rounds);
    goto out;
  }
  *ratio = midmean(sa.sorted, na, NULL) / midmean(sb.sorted, nb, NULL);
  for (int i = 0; i < rounds; i++) { /* streams 2 i and 2 i + 1: a and b are drawn independently */
    uint64_t stream = 2 * (uint64_t)i;
    ratios[i] = resampled_midmean(sa.sorted, na, seed, stream, sa.drawn) /
                resampled_midmean(sb.sorted, nb, seed, stream + 1, sb.drawn);
  }
  qsort(ratios, (size_t)rounds, sizeof *ratios, by_value);
  ci95[0] = pg_quantile(ratios, (size_t)rounds, 0.025);
  ci95[1] = pg_quantile(ratios, (size_t)rounds, 0.975);
out:
  free(ratios);
  sample_set_free(&sa);
  sample_set_free(&sb);
  return code;
}
