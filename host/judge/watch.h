/* How much memory a process and what it has started hold: the limit of workers that the kernel's
 * own limits do not fit, since a GPU's driver reserves terabytes of addresses. Owns nothing. */
#ifndef PG_WATCH_H
#define PG_WATCH_H

#include <stddef.h>
#include <sys/types.h>

/* Bytes of anonymous memory; 0 when /proc does not tell. Memory shared with the judge is not its
 * own. */
size_t pg_memory_of(pid_t pid);

#endif
