/* What a process and all that it has started hold: the limit of workers where the kernel's own
 * limits do not fit, since a GPU's driver reserves terabytes of addresses, and limits of addresses
 * or of a user's processes count something else. Owns nothing. */
#ifndef PG_WATCH_H
#define PG_WATCH_H

#include <stddef.h>
#include <sys/types.h>

enum { PG_PROCESSES_MOST = 256 }; /* of one worker; counting stops above */

typedef struct pg_usage {
  size_t memory; /* bytes of anonymous memory; what is shared with the judge is not its own */
  int processes;
} pg_usage;

/* All zero when /proc does not tell. */
pg_usage pg_usage_of(pid_t pid);

#endif
