/* Element-wise comparison and error metrics, NaN-safe: an element passes only when its error is at
 * most the tolerance, so a NaN anywhere fails it, unless both are NaN and the caller allows that.
 * Owns nothing. */
#ifndef PG_COMPARE_H
#define PG_COMPARE_H

#include "array.h"

enum { PG_MISMATCH_MAX = 16 };

typedef struct pg_tolerance {
  double rtol, atol;   /* pass when |got - want| <= atol + rtol * |want| */
  double ulp;          /* > 0: also pass when within that many ulps of got's own format */
  const double *scale; /* NULL, or what atol is a multiple of: atol * scale[i / scale_repeat] */
  size_t scale_repeat; /* elements in a row that share one (1: one each; columns: one a row) */
  bool nan_equal;      /* NaN where NaN is expected passes */
  bool overflow;       /* beyond the range of got's format, what rounding gives passes (infinity; */
                       /* the 8-bit formats saturate, so the largest number does, too) */
  uint64_t poison; /* with has_poison: elements of `got` with this repeated 8-byte bit pattern */
  bool has_poison; /* are counted as unwritten */
} pg_tolerance;

typedef struct pg_mismatch {
  size_t index;
  double want, got;
} pg_mismatch;

typedef struct pg_comparison {
  size_t count, bad, unwritten;
  size_t nan_got, nan_want, inf_got;
  size_t got_zeros, want_zeros;
  double max_abs, max_rel, max_ulp; /* over elements where both are finite */
  double rms_rel;                   /* ||got - want|| / ||want||, finite elements */
  double want_norm;                 /* ||want||, Frobenius, finite elements */
  size_t worst;                     /* index of the largest excess over the tolerance */
  size_t first_bad, last_bad;
  int mismatch_count;
  pg_mismatch mismatch[PG_MISMATCH_MAX]; /* the first bad elements */
} pg_comparison;

/* want: any scalar dtype (usually f64); got: any scalar dtype; equal counts.
 * Two integer or bool dtypes are compared exactly, as 64-bit integers (tolerances apply to the
 * exact difference); else both are taken as binary64. Equal infinities pass; no other infinity ever
 * does. max_rel leaves out elements where want is 0. unwritten counts bad elements only.
 *
 * Errors: PG_INVALID for structs or different counts, PG_RANGE for a negative or non-finite
 * tolerance. */
pg_code pg_compare(const pg_array *want, const pg_array *got, const pg_tolerance *tolerance,
                   pg_comparison *out, pg_error *error);
/* The same, and sets bit i % 64 of marks[i / 64] for every bad element i (others are left alone).
 * host/pattern.h says what their places have in common. */
pg_code pg_compare_marked(const pg_array *want, const pg_array *got, const pg_tolerance *tolerance,
                          uint64_t *marks, pg_comparison *out, pg_error *error);

/* out[r]: largest finite magnitude among elements r * columns ... (r + 1) * columns - 1 of a scalar
 * array; the last row may be shorter. */
pg_code pg_row_norms(const pg_array *array, size_t columns, double *out, pg_error *error);

/* Elements that still hold the repeated 8-byte pattern that their memory was filled with. */
size_t pg_count_poison(const pg_array *array, uint64_t pattern);

/* Distance in units of the last place of `scalar` at `want` (infinite when either is NaN). */
double pg_ulp_distance(pg_scalar scalar, double want, double got);

#endif
