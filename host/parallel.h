/* Loops over independent parts on the machine's cores. Owns nothing; the body must not touch what
 * another part writes. */
#ifndef PG_PARALLEL_H
#define PG_PARALLEL_H

#include <stddef.h>

typedef void pg_body(void *context, size_t part);

/* Call body(context, 0) ... body(context, parts - 1), each once, in any order, on up to 16 threads;
 * returns when all have ended. Where threads cannot be had, the caller's does the work. */
void pg_parallel(size_t parts, pg_body *body, void *context);

/* memcpy; large ones on many cores. */
void pg_copy(void *to, const void *from, size_t bytes);

int pg_cores(void); /* cores this process may use, at least 1 */

#endif
