/* The name that a misspelt one was probably meant to be. Owns nothing. */
#ifndef PG_NEAREST_H
#define PG_NEAREST_H

#include <stddef.h>

/* The closest of `names` in edits (insert, delete, replace, swap neighbours); NULL when none is
 * close: more than a third of the letters, or than 2 for short names, differ. */
const char *pg_nearest(const char *wanted, const char *const *names, size_t count);

#endif
