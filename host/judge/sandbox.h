/* What a worker may not do: the environment it starts with (made by the parent) and the
 * restrictions it puts on itself before it reads its first request. Owns nothing but the
 * environment block it returns. */
#ifndef PG_SANDBOX_H
#define PG_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "../error.h"

enum { PG_WORKER_FD = 3, PG_SANDBOX_MAX = 512 };

/* Add the name of a restriction to a list separated by spaces; one that has no room is left out. */
void pg_sandbox_note(char names[PG_SANDBOX_MAX], const char *name);

/* A simulator is a runner that opens no other device; an unconfined one is for a driver that does
 * not start under Landlock and seccomp; a trusted one calls libraries for a task's own expert, and
 * no candidate. */
typedef enum pg_worker_kind {
  PG_KIND_RUNNER,
  PG_KIND_SIMULATOR,
  PG_KIND_UNCONFINED,
  PG_KIND_TRUSTED,
  PG_KIND_COMPILER,
  PG_KINDS
} pg_worker_kind;

/* PG_KINDS when there is none of that name: "runner", "simulator", "unconfined",
 * "trusted", "compiler". */
pg_worker_kind pg_worker_kind_of(const char *name);

/* The environment of a worker: what the driver or the compiler needs from the caller's environment,
 * and nothing else (a seed or an answer must never be readable there). NULL without memory. */
char **pg_sandbox_environment(pg_worker_kind role);
void pg_sandbox_environment_free(char **environment);

/* In the child, with one thread and nothing opened: take every restriction this machine offers and
 * write their names, separated by spaces, to `names`. A compiler takes Landlock and seccomp later,
 * see confine.h. PG_CRASHED when the parent is gone already. */
pg_code pg_sandbox_enter(pg_worker_kind role, char names[PG_SANDBOX_MAX], pg_error *error);

#endif
