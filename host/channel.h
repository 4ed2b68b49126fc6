/* Lines in both directions without waiting: this process's own standard streams, a child that runs
 * this very program, or a socket. The channel owns its descriptors and its child; freeing it kills
 * the child's process group. A child dies with the thread that started it. */
#ifndef PG_CHANNEL_H
#define PG_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"

typedef struct pg_channel pg_channel;

/* What pg_channel_poll is asked and says, as bits. */
enum {
  PG_CHANNEL_READ = 1,  /* there is something to read, or the end */
  PG_CHANNEL_WRITE = 2, /* there is room to write; asked for where there is something to write */
  PG_CHANNEL_GONE = 4   /* nobody will read what is written */
};

/* Standard input and output, taken away from everybody else: from now on input is empty, and what
 * any part of this process prints goes to standard error. Writing to a peer that has gone no longer
 * ends the process. */
pg_code pg_channel_standard(pg_channel **out, pg_error *error);
/* A fresh `perigee ARGUMENTS`, whose standard input and output are this channel. `arguments` ends
 * with NULL. PG_ENVIRONMENT when it cannot be started. */
pg_code pg_channel_start(const char *const *arguments, pg_channel **out, pg_error *error);
/* What listens at a socket with a name. PG_ENVIRONMENT when nobody does. */
pg_code pg_channel_connect(const char *path, pg_channel **out, pg_error *error);
/* A descriptor that listens at a new socket with a name, or -1 and errno. */
int pg_channel_listen(const char *path);
/* Nothing more is written: the peer reads the end. */
void pg_channel_finish(pg_channel *channel);
/* Bytes that are there, at most `size`, into `bytes`; 0 when none are there by now, -1 at the end.
 */
long pg_channel_read(pg_channel *channel, void *bytes, size_t size);
/* How many of `size` bytes were taken, which may be 0; -1 when the peer has gone. */
long pg_channel_write(pg_channel *channel, const void *bytes, size_t size);
/* Wait until one of `count` channels is ready for what `bits` asks of it, or for so many seconds
 * (below 0: for ever), or until a signal comes. `bits` then says what each is ready for. */
pg_code pg_channel_poll(pg_channel *const *list, int *bits, size_t count, double seconds,
                        pg_error *error);
/* Process id of the child; 0 when it has been reaped, or there is none. */
int pg_channel_pid(const pg_channel *channel);
/* Kill the child's process group and reap it. Safe to call twice. */
void pg_channel_kill(pg_channel *channel);
void pg_channel_free(pg_channel *channel);

#endif
