/* Helper processes of the judge: a freshly exec'ed `perigee --worker` that compiles or runs a candidate and
 * can be killed. The worker owns its process, socket and shared memory; freeing it kills the process group. */
#ifndef PG_WORKER_H
#define PG_WORKER_H

#include <stddef.h>

#include "../error.h"

typedef struct pg_worker pg_worker;

/* role: "runner" or "compiler". */
pg_code pg_worker_spawn(const char *role, pg_worker **out, pg_error *error);
/* Send one request (JSON), wait for its reply (JSON, malloc'ed, the caller frees). PG_TIMEOUT: the deadline
 * passed and the worker was killed; PG_CRASHED: it died (the message says by which signal or status). */
pg_code pg_worker_call(pg_worker *worker, const char *request, double deadline_s, char **reply,
                       pg_error *error);
/* Memory that both processes see, passed as a descriptor; replaces the former one. */
pg_code pg_worker_share(pg_worker *worker, size_t bytes, pg_error *error);
void *pg_worker_memory(pg_worker *worker, size_t *bytes);
int pg_worker_pid(const pg_worker *worker);
/* Restrictions that the process obtained, as a list separated by spaces: "own-group no-new-privs ...". */
const char *pg_worker_sandbox(const pg_worker *worker);
void pg_worker_free(pg_worker *worker);

/* The child's main: never returns to the caller's main loop; its value is the exit status. */
int pg_worker_main(int argc, char **argv);

#endif
