/* Waiting for a compiler that is a program, with an eye on what it takes: it may start others, and
 * a candidate's code may run in all of them. Owns nothing. */
#ifndef PG_TOOL_WAIT_H
#define PG_TOOL_WAIT_H

#include <sys/types.h>

#include "../error.h"

/* Before the program is started: what it leaves without a parent becomes this process's child, so
 * that it is found. Returns how often this machine ran out of memory so far. */
long pg_tool_prepare(void);

/* Wait for the end of `pid`, a child that works in `folder`, and end all that it has started. Over
 * 256 processes, 3 GiB of memory or 1 GiB of files it is ended: PG_COMPILE, or PG_ENVIRONMENT where
 * this machine has no more, be it memory or disk, for a program that was ended or has failed. */
pg_code pg_tool_wait(pid_t pid, const char *folder, long shortages, int *status, pg_error *error);

#endif
