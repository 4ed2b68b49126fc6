/* What wrong elements have in common: their places (strides, residues, rows and columns) and their
 * values (a factor, a difference). Places are bits, as pg_compare_marked sets them. Owns nothing.
 */
#ifndef PG_PATTERN_H
#define PG_PATTERN_H

#include "array.h"

enum { PG_RESIDUES = 1024 };

/* The coordinates that marked elements have along one dimension. */
typedef struct pg_axis {
  int64_t extent;
  int64_t touched; /* how many different coordinates */
  int64_t first, last;
  int64_t stride; /* greatest common divisor of their distances; 0: only one */
} pg_axis;

typedef struct pg_pattern {
  size_t bad, first, last; /* marked elements; flat indices of the first and the last */
  size_t stride;           /* greatest common divisor of their distances; 0: only one */
  /* The smallest power of two, at most 1024 and half the count, such that an element is marked if
   * and only if its index modulo `modulus` is a residue with a count above 0; 0: there is none. */
  size_t modulus;
  size_t
      residues[PG_RESIDUES]; /* marked elements by index % 1024, or by % modulus if that is > 0 */
  int ndim;
  pg_axis axis[PG_DIM_MAX];
  bool box; /* they are all combinations of the coordinates above */
  /* Over the last two dimensions, row and column being equal, less, greater. 0 where ndim is 1. */
  size_t diagonal, above, below;
} pg_pattern;

/* Errors: PG_MEMORY. ndim 1 to PG_DIM_MAX, shape of the elements that `marks` stands for. */
pg_code pg_find_pattern(const uint64_t *marks, int ndim, const int64_t *shape, pg_pattern *out,
                        pg_error *error);

/* got against want, over marked elements where both are finite. */
typedef struct pg_relation {
  size_t pairs, ratios;                  /* ratios: pairs where want is not 0 */
  double ratio_min, ratio_max;           /* got / want */
  double difference_min, difference_max; /* got - want */
  size_t zeros;                          /* got is 0 where want is not */
  size_t nans;                           /* got is NaN */
  double got_min, got_max;
} pg_relation;

/* marks NULL: all elements. Errors: PG_INVALID for structs and different counts. */
pg_code pg_find_relation(const pg_array *want, const pg_array *got, const uint64_t *marks,
                         pg_relation *out, pg_error *error);

#endif
