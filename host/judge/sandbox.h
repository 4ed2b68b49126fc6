/* What a worker may not do: the environment it starts with (made by the parent) and the
 * restrictions it puts on itself before it reads its first request. Owns nothing but the
 * environment block it returns. */
#ifndef PG_SANDBOX_H
#define PG_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "../error.h"

enum { PG_WORKER_FD = 3, PG_SANDBOX_MAX = 512 };

/* The environment of a worker: what the driver or the compiler needs from the caller's environment,
 * and nothing else (a seed or an answer must never be readable there). NULL without memory. */
char **pg_sandbox_environment(bool compiler);
void pg_sandbox_environment_free(char **environment);

/* In the child, with one thread and nothing opened: take every restriction this machine offers and
 * write their names, separated by spaces, to `names`. PG_CRASHED when the parent is gone already.
 */
pg_code pg_sandbox_enter(bool compiler, char names[PG_SANDBOX_MAX], pg_error *error);

#endif
