/* The name that a misspelt one was probably meant to be. Owns nothing. */
#ifndef PG_NEAREST_H
#define PG_NEAREST_H

#include <stddef.h>

/* The closest of `names` in edits (insert, delete, replace, swap neighbours), capitals or not; NULL
 * when none is close: more than 2 edits away, 1 for names of up to four letters, a third of the
 * letters of long ones. */
const char *pg_nearest(const char *wanted, const char *const *names, size_t count);

#endif
