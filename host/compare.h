/* Element-wise comparison and error metrics, NaN-safe: an element passes only when its error is at
 * most the tolerance, so a NaN anywhere fails it, unless both are NaN and the caller allows that.
 * Owns nothing. */
#ifndef PG_COMPARE_H
#define PG_COMPARE_H

#include "array.h"

enum { PG_MISMATCH_MAX = 16 };

typedef struct pg_tolerance {
  double rtol, atol; /* pass when |got - want| <= atol + rtol * |want| */
  double ulp;        /* > 0: also pass when within that many ulps of got's own format */
  bool nan_equal;    /* NaN where NaN is expected passes */
  uint64_t poison;   /* with has_poison: elements of `got` with this repeated 8-byte bit pattern */
  bool has_poison;   /* are counted as unwritten */
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

/* Distance in units of the last place of `scalar` at `want` (infinite when either is NaN). */
double pg_ulp_distance(pg_scalar scalar, double want, double got);

#endif
