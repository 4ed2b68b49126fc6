/* Statistics that tell whether numbers are independent draws of a distribution. Every number goes
 * through the distribution function first, so that all statistics are about u, uniform in [0, 1).
 * Thresholds are the caller's (validators/distribution.lua). Owns nothing. */
#ifndef PG_DISTRIBUTION_H
#define PG_DISTRIBUTION_H

#include "array.h"

typedef enum pg_law {
  PG_LAW_UNIFORM,     /* a: low, b: high */
  PG_LAW_NORMAL,      /* a: mean, b: standard deviation */
  PG_LAW_LOGNORMAL,   /* a, b: mean and standard deviation of the logarithm */
  PG_LAW_EXPONENTIAL, /* a: rate */
  PG_LAW_INTEGER      /* first .. first + span - 1; span 0: 2^64 */
} pg_law;

typedef struct pg_distribution {
  pg_law law;
  double a, b;
  uint64_t first, span;
  uint64_t seed;  /* integers are spread over [0, 1) by random fractions of their steps */
  size_t samples; /* how many elements, in evenly spaced blocks, are looked at; 0: all. The support,
                     the extremes and equal neighbours are always those of all */
} pg_distribution;

enum { PG_MOMENTS = 6, PG_CELLS = 32, PG_PAIR_CELLS = 64, PG_LAGS = 12, PG_WORD_BITS = 64 };

extern const int pg_lags[PG_LAGS];

typedef struct pg_draws {
  size_t count;               /* elements looked at */
  size_t outside, outside_at; /* NaN, infinite, or outside the distribution's support */
  /* Sums of the orthonormal shifted Legendre polynomials of degree 1 ... 6 in u over the square
   * root of count: each has mean 0 and variance 1 (Neyman's smooth test, 1937). A shift shows in
   * the first, a wrong spread in the second. */
  double moment[PG_MOMENTS];
  double ks;              /* Kolmogorov-Smirnov statistic, at 65536 steps of u, times sqrt(count) */
  double chi2;            /* of 32 equal cells: 31 degrees of freedom */
  double pairs_chi2;      /* of (u[2i], u[2i + 1]) in 8 x 8 cells: 63 degrees of freedom */
  double serial[PG_LAGS]; /* correlation of u[i] and u[i + lag]: mean 0, variance 1 */
  double lowest, highest; /* of all elements: the smallest u and 1 - u, without cancellation; */
                          /* meaningless for integers */
  size_t equal_neighbours;
  /* Integers of span 2^bits: how far ones, and changes from one to the next, of the worst bit are
   * from one half, in standard deviations; of at most 2^20 elements. */
  int bits, worst_bit, worst_change_bit;
  double ones, changes;
} pg_draws;

/* Errors: PG_INVALID (structs, fewer than 2 elements, a law that does not fit the dtype), PG_RANGE
 * (parameters that are none), PG_MEMORY. */
pg_code pg_test_draws(const pg_array *array, const pg_distribution *d, pg_draws *out,
                      pg_error *error);

/* Windows of `width` elements that are there before, wherever they lie, also backwards or with
 * other signs; *at: the first such window's first element. One window in every `width` is looked
 * for (one in each of 2^18 parts of the array where those are longer), so a copy shows when it is a
 * few times as long, and a sequence of any period up to count / width. PG_MEMORY, PG_RANGE (width
 * 0). */
pg_code pg_repeated_windows(const pg_array *array, size_t width, uint64_t key, size_t *repeats,
                            size_t *at, pg_error *error);

#endif
