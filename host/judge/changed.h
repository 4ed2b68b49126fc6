/* Reading back large states of which a run touches little: a pool of blocks, a table. A kernel
 * finds the chunks that differ from what the state started as, and only these are transferred. Owns
 * its module, its memory on the device and what it knows of the destinations. */
#ifndef PG_CHANGED_H
#define PG_CHANGED_H

#include "buffers.h"

enum { PG_CHANGED_CHUNK = 1 << 16, PG_CHANGED_LEAST = 8 << 20 }; /* bytes */

typedef struct pg_changed {
  pg_device *device; /* NULL until it is first needed; borrowed */
  pg_module *module;
  pg_kernel *kernel; /* NULL: this device cannot; everything is transferred */
  pg_ptr flags;      /* a byte a chunk */
  size_t room;
  uint8_t *found; /* the same on the host */
  size_t chunks;  /* that the last read looked at; 0: it transferred everything */
  bool fresh;     /* destinations were zero when the buffers were made */
  /* Of each buffer, by chunk: whether the destination holds the fill there. NULL: nothing known. */
  struct {
    uint8_t *filled;
    const void *to;
  } known[PG_BUFFER_MAX];
} pg_changed;

/* Load the kernel, once. A device that cannot has none: no error. */
void pg_changed_need(pg_changed *changed, pg_device *device);
/* New buffers: nothing is known of where they will be read to but that it is zero, if `fresh`. */
void pg_changed_reset(pg_changed *changed, bool fresh);
void pg_changed_free(pg_changed *changed); /* safe on a zeroed struct */

/* Download one buffer of a set to `to`, which nobody else writes between two reads. */
pg_code pg_changed_read(pg_changed *changed, pg_buffers *buffers, int index, int set, void *to,
                        pg_error *error);

/* What the last read transferred, as a list of first and end bytes of ranges in order; the rest is
 * as it started. NULL: everything, or more ranges than are worth a list. */
json_t *pg_changed_ranges(const pg_changed *changed, size_t bytes);

#endif
