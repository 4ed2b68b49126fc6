/* The worker process: restrictions, then a loop of request and reply until the judge goes away. */
#ifndef PG_CHILD_H
#define PG_CHILD_H

#include "runner.h"

/* What pg_worker_main does, with the way to open devices as an argument: tests bring their own.
 * argv: "perigee" "--worker" role. The value is the exit status. `expert`: what a trusted runner
 * may call; NULL where there is none. */
int pg_child_main(int argc, char **argv, pg_open_fn *open, const pg_expert *expert);

#endif
