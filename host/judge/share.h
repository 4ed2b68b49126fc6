/* Memory that the judge and a worker both see: a memfd sealed so that neither side can shrink it
 * under the other. A mapping is counted: whoever holds a reference keeps it mapped, also after its
 * worker is gone. */
#ifndef PG_SHARE_H
#define PG_SHARE_H

#include <stddef.h>

#include "../error.h"

typedef struct pg_shared {
  void *data;
  size_t bytes;
  int users; /* references; one thread uses a mapping at a time */
} pg_shared;

/* New zeroed memory with one reference; *descriptor is the caller's to pass on and close.
 * PG_RANGE for 0 bytes, PG_MEMORY when the machine has less than that available. */
pg_code pg_shared_new(size_t bytes, pg_shared **out, int *descriptor, pg_error *error);
/* Map what the other side made. PG_INVALID unless it is memory of `bytes` at least that cannot
 * shrink. The descriptor stays the caller's. */
pg_code pg_shared_map(int descriptor, size_t bytes, pg_shared **out, pg_error *error);
pg_shared *pg_shared_retain(pg_shared *shared);
void pg_shared_release(pg_shared *shared); /* NULL is allowed */

#endif
