/* Typed host arrays: row-major, 0-based, contiguous. An array owns its data unless it is a view of
 * memory that somebody else keeps alive (pg_array_view). */
#ifndef PG_ARRAY_H
#define PG_ARRAY_H

#include "dtype.h"

enum { PG_DIM_MAX = 8 };

typedef struct pg_array {
  pg_dtype dtype;
  int ndim; /* at least 1 */
  int64_t shape[PG_DIM_MAX];
  size_t count; /* elements */
  size_t bytes;
  void *data; /* 64-byte aligned; NULL only when bytes is 0 */
  bool owned;
} pg_array;

/* New array, zeroed. Errors: PG_RANGE (negative or overflowing shape), PG_MEMORY (says how many
 * bytes). */
pg_code pg_array_new(pg_array *out, const pg_dtype *dtype, int ndim, const int64_t *shape,
                     pg_error *error);
void pg_array_view(pg_array *out, const pg_dtype *dtype, size_t count, void *data);
void pg_array_free(pg_array *array); /* safe on a zeroed struct and twice */
pg_code pg_array_reshape(pg_array *array, int ndim, const int64_t *shape, pg_error *error);

typedef enum pg_dist { PG_DIST_UNIFORM, PG_DIST_NORMAL, PG_DIST_INTEGER, PG_DIST_BITS } pg_dist;

typedef struct pg_random {
  uint64_t seed;
  uint64_t stream; /* independent sequences of one seed */
  pg_dist dist;
  double low, high;    /* uniform: [low, high) */
  double mean, stddev; /* normal */
  int64_t first, last; /* integer: first..last, both included; unbiased */
} pg_random;

/* Fill with Philox: element i depends on seed, stream and i only. Structs: PG_INVALID.
 * - uniform: floats only; u has 53 bits (f64) or 24 bits (the others); low + (high - low) u in
 *   binary64, rounded to the dtype, and kept inside [low, high) where that rounding would leave it.
 * - normal: floats only, mean + stddev z.
 * - integer: any scalar that holds first..last exactly; for u64 both are bit patterns.
 * - bits: any scalar; the low bits of word i (of u64 word i for 8-byte scalars); bool: the lowest.
 */
pg_code pg_array_random(pg_array *array, const pg_random *random, pg_error *error);

/* Convert each scalar (see pg_load_f64): integers to integers wrap, everything else rounds once.
 * Equal counts; scalars only. */
pg_code pg_array_convert(const pg_array *from, pg_array *to, pg_error *error);

/* to[..., j, i] = from[i, j, ...]: all dimensions in reverse order. PG_INVALID when the dtypes
 * differ or to's shape is not from's reversed. */
pg_code pg_array_transpose(const pg_array *from, pg_array *to, pg_error *error);

/* Compensated sum, smallest and largest element in binary64; NaN when an element is NaN. */
typedef struct pg_reduction {
  double sum, min, max;
  size_t min_index, max_index; /* where they are, so that 64-bit integers can be read exactly */
} pg_reduction;
pg_code pg_array_reduce(const pg_array *array, pg_reduction *out, pg_error *error);

/* Whether all elements have equal bits (padding of structs aside); *index: the first one that
 * differs, else count. PG_INVALID when dtype or count differ. */
pg_code pg_array_equal_bits(const pg_array *a, const pg_array *b, size_t *index, pg_error *error);

#endif
