/* A stranger's command under attendance: an agent that `perigee eval` asks. It may change little of
 * this machine, and nothing that it started outlives it. It owns nothing between calls; the process
 * that attends is one of its own, for signals and orphans come to it. */
#ifndef PG_ATTEND_H
#define PG_ATTEND_H

#include <stdbool.h>
#include <stddef.h>

#include "../error.h"

enum { PG_ATTEND_MOST = 64 }; /* texts in a list */

typedef struct pg_attend {
  const char *command; /* of /bin/sh */
  const char *input;   /* on its standard input */
  size_t input_bytes;
  double seconds;     /* that it may take */
  size_t output_most; /* bytes that it may write to its standard output */
  size_t memory_most; /* bytes that all that runs here may hold */
  const char *folder; /* its $TMPDIR, made anew and removed in the end; one of `writes` */
  /* Paths, ended by NULL: what it may change, though not `kept` nor `hidden` below them, and what
   * it may not even read. */
  const char *const *writes;
  const char *const *kept;
  const char *const *hidden;
  /* A socket to be made, or NULL, and the arguments of the `perigee` that answers whoever connects:
   * a process for each, outside of what binds the command. */
  const char *door;
  const char *const *server;
} pg_attend;

typedef enum pg_attend_end {
  PG_ENDED,        /* with a status */
  PG_ENDED_SIGNAL, /* by a signal */
  PG_ENDED_TIME,   /* these three: it was ended */
  PG_ENDED_OUTPUT,
  PG_ENDED_MEMORY
} pg_attend_end;

typedef struct pg_attended {
  char *output; /* malloc'ed; the caller's */
  size_t output_bytes;
  pg_attend_end end;
  int code; /* status or signal */
} pg_attended;

/* Whether this machine can bind a command as said (Landlock); PERIGEE_SANDBOX=off forbids it. */
bool pg_attend_binds(void);
/* Run the command to its end, then end all that it and `server` left running. When the parent of
 * this process dies, all of it is killed, this process included. PG_ENVIRONMENT when it cannot be
 * started. */
pg_code pg_attend_run(const pg_attend *how, pg_attended *out, pg_error *error);

#endif
