/* Statistics of timing samples (microseconds, any order). Owns nothing; sorts a copy. */
#ifndef PG_STATS_H
#define PG_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

typedef struct pg_summary {
  size_t samples;
  double min, max, mean, stddev;
  double median, p20, p80;
  double ci95[2]; /* of the median: order statistics (binomial), exact in coverage for n >= 6 */
  double relative_half; /* half width of ci95 over the median */
} pg_summary;

/* Quantile q in [0, 1] of sorted samples, linear interpolation (type 7). */
double pg_quantile(const double *sorted, size_t count, double q);
pg_code pg_summarize(const double *samples, size_t count, pg_summary *out, pg_error *error);
/* Samples that were taken in slices, one after the other, of `sizes` samples (none empty): what is
 * the same for all of a slice, such as where its buffers lie, makes them alike. No slices: each
 * sample is on its own. */
typedef struct pg_samples {
  const double *values;
  size_t count;
  const size_t *sizes; /* their sum is count */
  size_t slices;
} pg_samples;

/* Ratio midmean(a) / midmean(b), the means of the middle halves, with a 95% percentile-bootstrap
 * interval (seeded, `rounds` resamples). A clock that steps moves a median by half a step or by
 * none; the midmean is as robust against what is far off, and sees less than a step. Of two slices
 * or more, whole slices are drawn, and the interval is widened as Student's t is for few: so it
 * covers what differs from slice to slice. */
pg_code pg_ratio(pg_samples a, pg_samples b, uint64_t seed, int rounds, double *ratio,
                 double ci95[2], pg_error *error);

#endif
