/* Rows of several columns as elements of sets: equality in any order, order, permutations. Row i is
 * element i of each column; -0 equals 0, and every NaN equals every other. Owns nothing. */
#ifndef PG_ROWS_H
#define PG_ROWS_H

#include "array.h"

enum { PG_COLUMN_MAX = 8 };

typedef struct pg_rows {
  int columns; /* 1 to PG_COLUMN_MAX */
  const pg_array *column[PG_COLUMN_MAX];
  size_t count; /* rows: the first `count` elements of every column */
} pg_rows;

/* What is in one collection of rows and not in the other. */
typedef struct pg_rows_difference {
  size_t missing, extra;       /* rows of want that got lacks; rows of got that want lacks */
  size_t missing_at, extra_at; /* the first row of each kind, in want and in got */
} pg_rows_difference;

/* Compare as multisets or, with `set`, as sets, in which a row counts once. Rows of one scalar of
 * at most 8 bytes are compared exactly. Others by a hash of 64 bits with `key`, which whoever made
 * the rows must not know: two different rows are taken for one with probability 2^-64. Equal
 * multisets are recognised, without sorting, by two sums of such hashes (an error: 2^-64). Errors:
 * PG_INVALID when columns do not fit each other, PG_MEMORY. */
pg_code pg_rows_compare(const pg_rows *want, const pg_rows *got, bool set, uint64_t key,
                        pg_rows_difference *out, pg_error *error);

/* Rows that equal an earlier one; *at: the first of them. PG_MEMORY. */
pg_code pg_rows_duplicates(const pg_rows *rows, uint64_t key, size_t *duplicates, size_t *at,
                           pg_error *error);

/* The first row that may not stand behind the one before it, by the columns' values in turn; count
 * when all may. strict: equal rows may not either. A NaN is in order nowhere but in a single row.
 */
size_t pg_rows_unsorted(const pg_rows *rows, bool descending, bool strict);

/* Whether integers are base ... base + count - 1, each once. */
typedef struct pg_permutation {
  size_t outside, outside_at;      /* elements that are none of these; the first one's index */
  size_t duplicates, duplicate_at; /* elements that an earlier one equals */
  int64_t missing;                 /* the smallest that is not there, when there is one */
} pg_permutation;

/* PG_INVALID: no integers; PG_MEMORY. */
pg_code pg_check_permutation(const pg_array *array, size_t count, int64_t base, pg_permutation *out,
                             pg_error *error);

/* out[i] = from[index[i] - base]; equal dtypes of from and out, as many elements in out as in
 * index. PG_RANGE with the place when an index is outside. */
pg_code pg_gather(const pg_array *from, const pg_array *index, int64_t base, pg_array *out,
                  pg_error *error);

#endif
