/* Guards of a candidate's buffers: canary bytes in the red zones, keyed hashes of what must not
 * change. Works on pg_buffers and owns nothing; the functions that others call are declared in
 * buffers.h. */
#ifndef PG_GUARD_H
#define PG_GUARD_H

#include "buffers.h"

enum { PG_BOUNCE = 4 << 20 }; /* bytes of the buffer through which device memory is hashed */

/* A fresh random key. */
pg_code pg_guard_key(uint64_t key[2], pg_error *error);
/* Hash of `bytes` bytes of device memory: by the buffers' digest, or read through the bounce
 * buffer. Waits for the stream. */
pg_code pg_guard_hash(pg_buffers *buffers, pg_ptr from, size_t bytes, uint64_t *hash,
                      pg_error *error);

#endif
