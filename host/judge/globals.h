/* Variables of a module that its kernels write: kept as they were when it was loaded, and put back
 * before every timed sample, so that nothing a launch left there is found by a later one. Owns the
 * copies. */
#ifndef PG_GLOBALS_H
#define PG_GLOBALS_H

#include <jansson.h>

#include "../device.h"
#include "digest.h"

enum { PG_GLOBAL_MAX = 4096 };

typedef struct pg_global {
  pg_ptr at, copy;
  size_t bytes;
  uint64_t hash; /* of the copy, where there are digests */
} pg_global;

typedef struct pg_globals {
  pg_device *device; /* borrowed, as are the stream and the digest */
  pg_stream *stream;
  pg_digest *digest;
  size_t count;
  pg_global *list;
} pg_globals;

/* Keep the variables that `names` lists (NULL: none). Names that the device does not find go to
 * `missing`. `out` must be empty; after an error it is again. */
pg_code pg_globals_keep(pg_globals *out, pg_device *device, pg_stream *stream, pg_digest *digest,
                        pg_module *module, const json_t *names, json_t *missing, pg_error *error);
pg_code pg_globals_reset(const pg_globals *globals, pg_error *error); /* enqueue */
/* Whether a copy is no longer what it was; never where there are no digests. */
pg_code pg_globals_changed(const pg_globals *globals, bool *changed, pg_error *error);
void pg_globals_free(pg_globals *globals); /* safe on a zeroed struct */

#endif
