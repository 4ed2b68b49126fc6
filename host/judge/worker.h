/* Helper processes of the judge: a freshly exec'ed `perigee --worker` that compiles or runs a
 * candidate and can be killed. The worker owns its process, socket and shared memory; freeing it
 * kills the process group. A worker dies with the thread that spawned it, so spawn from the main
 * thread. */
#ifndef PG_WORKER_H
#define PG_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "../error.h"
#include "expert.h"
#include "share.h"

typedef struct pg_worker pg_worker;

/* role: "runner", "simulator" (a runner that opens no other device), "unconfined" (a runner without
 * Landlock and seccomp), "trusted" (one that calls a task's own host code, and never sees a
 * candidate) or "compiler". */
pg_code pg_worker_spawn(const char *role, pg_worker **out, pg_error *error);
/* Send one request (JSON), wait for its reply (JSON, malloc'ed, the caller frees). PG_TIMEOUT: the
 * deadline passed and the worker was killed; PG_CRASHED: it died (the message says by which signal
 * or status), now or before; PG_ENVIRONMENT: it died as this machine has no more memory, by the
 * kernel or by the limit below. PG_RANGE: a deadline that is no positive number, or a request that
 * is too long. */
pg_code pg_worker_call(pg_worker *worker, const char *request, double deadline_s, char **reply,
                       pg_error *error);
/* The two halves of a call, so that several workers work at a time: the deadline runs from the
 * post. One request may be under way (PG_INVALID). A post that failed is told again by the take
 * that belongs to it. */
pg_code pg_worker_post(pg_worker *worker, const char *request, double deadline_s, pg_error *error);
pg_code pg_worker_take(pg_worker *worker, char **reply, pg_error *error);
/* Memory that both processes see, passed as a descriptor; replaces the former one. */
pg_code pg_worker_share(pg_worker *worker, size_t bytes, pg_error *error);
void *pg_worker_memory(pg_worker *worker, size_t *bytes);
/* The same as a counted mapping, borrowed; NULL before pg_worker_share. Retain it to outlive the
 * worker or the next pg_worker_share. */
pg_shared *pg_worker_shared(pg_worker *worker);
/* Bytes that the process and what it starts may hold while a reply is waited for; above, it is
 * killed (PG_CRASHED says so). Without a call: 3 GiB for a compiler, for others three quarters of
 * what is available; where that is less than 3 GiB for a compiler, and always for others, the
 * machine is to blame. */
void pg_worker_limit_memory(pg_worker *worker, size_t bytes);
/* Process id; 0 once it has ended. */
int pg_worker_pid(const pg_worker *worker);
/* Whether it still runs, without waiting and without a request. */
bool pg_worker_alive(const pg_worker *worker);
/* Restrictions that the process obtained, as a list separated by spaces: "own-group no-new-privs
 * ...". */
const char *pg_worker_sandbox(const pg_worker *worker);
/* Kill the process group and do not wait: a process that holds a GPU takes a tenth of a second to
 * end. pg_worker_kill or pg_worker_free follows. */
void pg_worker_stop(pg_worker *worker);
/* Kill the process group and wait for its end; `why` is told by later calls. Safe to call twice. */
void pg_worker_kill(pg_worker *worker, const char *why);
void pg_worker_free(pg_worker *worker);

/* The child's main: never returns to the caller's main loop; its value is the exit status.
 * `expert`: what a trusted runner calls (expert.h); NULL: nothing. */
int pg_worker_main(int argc, char **argv, const pg_expert *expert);

#endif
