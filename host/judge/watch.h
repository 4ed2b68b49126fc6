/* What a process and all that it has started hold: the limit of workers where the kernel's own
 * limits do not fit, since a GPU's driver reserves terabytes of addresses, and limits of addresses
 * or of a user's processes count something else. Owns nothing. */
#ifndef PG_WATCH_H
#define PG_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PG_PROCESSES_MOST = 256 }; /* of one worker; counting stops above */

typedef struct pg_usage {
  size_t memory; /* bytes of anonymous memory */
  size_t
      shared; /* bytes of memory with a descriptor or several owners; a runner's is the judge's */
  int processes;
} pg_usage;

/* All zero when /proc does not tell. */
pg_usage pg_usage_of(pid_t pid);

/* The process and its descendants, at most PG_PROCESSES_MOST + 1; returns how many. An orphan is
 * its own or that of an ancestor that is a subreaper. */
int pg_family_of(pid_t pid, pid_t family[PG_PROCESSES_MOST + 1]);

/* End all descendants of this process, which is their subreaper, and reap them. What forks faster
 * than that is left to whoever ends the group. */
void pg_family_end(void);

typedef struct pg_allowance {
  size_t memory; /* bytes */
  bool scarce;   /* it is what this machine can give, and less than what is due */
} pg_allowance;

/* What a worker that holds `held` bytes by now may have. No compilation of one kernel needs more
 * than 3 GiB; whatever else runs leaves a quarter of what is free to the machine. */
pg_allowance pg_allowance_of(bool compiler, size_t held);

#endif
