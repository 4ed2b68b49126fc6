/* Products of matrices in binary64, for references and for validators that test a product without
 * computing it. Owns nothing. */
#ifndef PG_PRODUCT_H
#define PG_PRODUCT_H

#include "array.h"

typedef struct pg_factor {
  const pg_array *array; /* any scalar dtype; a vector is a matrix of one column */
  bool transposed;       /* take it with rows and columns exchanged */
} pg_factor;

/* Rows and columns of a factor as it is taken. PG_INVALID: more than two dimensions, structs. */
pg_code pg_factor_shape(pg_factor factor, int64_t shape[2], pg_error *error);

/* out = a b. out: f64, [rows of a][columns of b]; it must be none of the factors. Each factor is
 * converted to binary64 once; sums are in binary64, in an order that depends on the shape only.
 * PG_INVALID: shapes that do not fit; PG_MEMORY. */
pg_code pg_product(pg_array *out, pg_factor a, pg_factor b, pg_error *error);

#endif
