/* Digests of device memory, computed on the device with a key that no candidate knows: what every
 * timed sample wrote, compared with what was right, and whether inputs are as they were. Only the
 * 8 bytes of each digest leave the device, and no right answer lies there for a kernel to find.
 * Owns its module and memory. */
#ifndef PG_DIGEST_H
#define PG_DIGEST_H

#include "../device.h"

typedef struct pg_digest {
  pg_device *device; /* NULL until it is first needed; borrowed */
  pg_module *module;
  pg_kernel *sum, *keep, *seal;
  pg_ptr slots;  /* digests; the slot that was kept; one for a digest alone; the seal */
  size_t count;  /* of slots; 0: this device runs no such kernels */
  size_t sealed; /* slots, the first ones */
  uint64_t key[2], seal_key[2];
} pg_digest;

/* Make room for `count` slots, with the first a key. A device that cannot load the kernels has no
 * digests: no error. */
pg_code pg_digest_need(pg_digest *digest, pg_device *device, size_t count, pg_error *error);
bool pg_digest_runs(const pg_digest *digest);
/* Enqueue: no slot holds anything, and none is kept. */
pg_code pg_digest_clear(pg_digest *digest, pg_stream *stream, pg_error *error);
/* Enqueue: add memory to a slot, as its `part`: the same bytes as another part count differently.
 */
pg_code pg_digest_add(pg_digest *digest, size_t slot, uint64_t part, pg_ptr from, size_t bytes,
                      pg_stream *stream, pg_error *error);
/* Enqueue: copy memory where the slot, which is complete, does not hold `right`, unless another
 * slot was kept before. */
pg_code pg_digest_keep(pg_digest *digest, size_t slot, uint64_t right, pg_ptr to, pg_ptr from,
                       size_t bytes, pg_stream *stream, pg_error *error);
/* Enqueue: the next slot is complete. A kernel that finds the digests could put a right one in the
 * place of its own afterwards: the seal, a keyed digest of all of them in turn, then is another. */
pg_code pg_digest_seal(pg_digest *digest, pg_stream *stream, pg_error *error);
/* The first `count` slots, the slot that was kept (SIZE_MAX when none was), and whether those that
 * were sealed are as they were then. Waits for the stream. */
pg_code pg_digest_read(pg_digest *digest, uint64_t *to, size_t count, size_t *kept, bool *whole,
                       pg_stream *stream, pg_error *error);
/* Enqueue: read memory, to have it in the cache as a kernel would. */
pg_code pg_digest_touch(pg_digest *digest, pg_ptr from, size_t bytes, pg_stream *stream,
                        pg_error *error);
/* One digest, alone: leaves the slots as they are. Waits for the stream. */
pg_code pg_digest_of(pg_digest *digest, pg_ptr from, size_t bytes, uint64_t *out, pg_stream *stream,
                     pg_error *error);
void pg_digest_free(pg_digest *digest); /* safe on a zeroed struct */

#endif
