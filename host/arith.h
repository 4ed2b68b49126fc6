/* Arithmetic of whole arrays in binary64, for references that are written in Lua. Every operand is
 * converted once, every operation rounds once. Owns nothing. */
#ifndef PG_ARITH_H
#define PG_ARITH_H

#include "array.h"

typedef enum pg_arith_op { PG_ADD, PG_SUB, PG_MUL, PG_DIV } pg_arith_op;

typedef struct pg_operand {
  const pg_array *array; /* NULL: the number, for every element */
  double number;
} pg_operand;

/* out[i] = a[i] op b[i]. out: f64 with as many elements as the arrays among a and b, which hold
 * scalars; it may be one of them. PG_INVALID: structs, or counts that differ. */
pg_code pg_arith(pg_array *out, pg_arith_op op, pg_operand a, pg_operand b, pg_error *error);

#endif
