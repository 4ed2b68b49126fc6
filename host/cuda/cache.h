/* A cache of blobs on disk, addressed by the SHA-256 of what made them. Losing or damaging it costs
 * time only: nothing here is an error. */
#ifndef PG_CUDA_CACHE_H
#define PG_CUDA_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "../hash.h"

/* The entry (malloc'ed, zero-terminated) or NULL: absent, damaged, or no cache. PERIGEE_CACHE names
 * the folder, or is "off"; else $XDG_CACHE_HOME/perigee, else ~/.cache/perigee. */
char *pg_cache_read(const char key[PG_SHA_HEX], size_t *bytes);
/* The folder of all entries, made when it is not there; false when there is no cache. `out` has
 * PATH_MAX bytes. */
bool pg_cache_folder(char *out);
/* Atomic: readers see the whole entry or none. Now and then drops what was not used for longest, so
 * that the cache stays under half a GiB. */
void pg_cache_write(const char key[PG_SHA_HEX], const void *data, size_t bytes);

#endif
