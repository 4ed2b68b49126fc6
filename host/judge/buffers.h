/* The buffers of a candidate: inputs once a version, scratch once, state and outputs once a set,
 * each in an allocation of its own between two red zones. The struct owns its device memory until
 * pg_buffers_free. */
#ifndef PG_BUFFERS_H
#define PG_BUFFERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../device.h"
#include "digest.h"
#include "globals.h"

enum {
  PG_ZONE = 4096,
  PG_BUFFER_MAX = 64,
  PG_SET_MAX = 256,
  PG_VERSION_MAX = 17, /* of 16 launches in a sample, and one that is held back */
  PG_BUFFER_NAME_MAX = 64
};

/* Contents that come later, by pg_buffers_renew. */
#define PG_BLANK SIZE_MAX

/* Scratch is poisoned as outputs are, but all sets share one copy. */
typedef enum pg_role { PG_ROLE_INPUT, PG_ROLE_STATE, PG_ROLE_OUTPUT, PG_ROLE_SCRATCH } pg_role;

typedef struct pg_buffer {
  char name[PG_BUFFER_NAME_MAX];
  size_t bytes; /* may be 0 */
  pg_role role;
  bool has_fill; /* starts as `fill` in every byte, */
  uint8_t fill;
  bool judged;  /* what a launch leaves here is compared */
  int versions; /* else with different contents in different sets: set s has version s % versions,
                 */
  size_t at[PG_VERSION_MAX]; /* which lies at this offset of the shared memory; PG_BLANK: zeros */
  pg_ptr *base; /* allocations: one a set, one a version (inputs) or one (scratch); set s has number
                   s % copies; the data is at base + PG_ZONE */
  int copies;
  pg_ptr master[PG_VERSION_MAX]; /* pristine copies of a state with contents; 0: none */
  uint64_t hash[PG_VERSION_MAX]; /* of the versions of an input, or of the masters */
} pg_buffer;

typedef struct pg_buffers {
  pg_device *device; /* borrowed, as is the stream */
  pg_stream *stream;
  int set_count, count;
  pg_buffer list[PG_BUFFER_MAX];
  size_t zone_count; /* two for every copy of every buffer, in the order of `list` */
  pg_ptr bank;       /* room for the bytes of all zones, so that one transfer sets or reads them */
  uint8_t *want, *got; /* what the zones hold, and what was read from them */
  uint8_t *bounce;     /* PG_BOUNCE bytes */
  uint64_t key[2];     /* of the hash: a candidate cannot aim at a collision */
  pg_digest *digest;   /* borrowed; NULL: hashes are computed here */
} pg_buffers;

/* Make what the request's "sets" and "buffers" ask for; `shared` holds the initial contents.
 * `digest`, if given, computes hashes on the device.
 * PG_MEMORY says how much was needed; after an error nothing stays allocated. `out` must be empty.
 */
pg_code pg_buffers_make(pg_buffers *out, pg_device *device, pg_stream *stream, pg_digest *digest,
                        const json_t *request, const uint8_t *shared, size_t shared_bytes,
                        pg_error *error);
/* New contents for a version, as the request's "version" and "buffers" say. */
pg_code pg_buffers_renew(pg_buffers *buffers, const json_t *request, const uint8_t *shared,
                         size_t shared_bytes, pg_error *error);
/* To other memory, with all that is in them; zeros are left behind. They stay where they are if
 * they need more than `most` bytes, or there is no room for as many again. */
pg_code pg_buffers_move(pg_buffers *buffers, size_t most, pg_error *error);
void pg_buffers_free(pg_buffers *buffers); /* safe on a zeroed struct and twice */

/* Address of a buffer's data in a set. */
pg_ptr pg_buffers_at(const pg_buffers *buffers, int index, int set);
/* Where a version of what must not change is: of an input, or of the pristine copy of a state. 0
 * for other buffers and for empty ones. */
pg_ptr pg_buffers_constant(const pg_buffer *buffer, int version);

/* Enqueue: state of `set` as at the start, outputs and scratch full of the 4-byte pattern `poison`.
 */
pg_code pg_buffers_reset(pg_buffers *buffers, int set, uint32_t poison, pg_error *error);

/* Enqueue: the digest of all that is judged in `set`, into a slot. */
pg_code pg_buffers_digest(pg_buffers *buffers, pg_digest *digest, size_t slot, int set,
                          pg_error *error);
/* Enqueue: copy state and outputs of a set to another; with `digest` only where its slot does not
 * hold `right`, see pg_digest_keep. */
pg_code pg_buffers_keep(pg_buffers *buffers, int to, int set, pg_digest *digest, size_t slot,
                        uint64_t right, pg_error *error);
/* Enqueue: read the inputs of a set, so that the cache holds them: by a kernel, which leaves
 * nothing to be written back, or by a copy of at most `bytes` of each to memory of so many. */
pg_code pg_buffers_touch(pg_buffers *buffers, pg_digest *digest, int set, pg_ptr to, size_t bytes,
                         pg_error *error);

/* While candidates export, inputs hold garbage: fill them with `poison`, and later put back what
 * they held, which `shared` still has. */
pg_code pg_buffers_hide_inputs(pg_buffers *buffers, uint32_t poison, pg_error *error);
pg_code pg_buffers_show_inputs(pg_buffers *buffers, const uint8_t *shared, size_t shared_bytes,
                               pg_error *error);

/* Write fresh canary bytes, drawn from `seed`, into every red zone. */
pg_code pg_buffers_arm(pg_buffers *buffers, uint64_t seed, pg_error *error);
/* Read zones, inputs, masters and copies of variables back and compare. Adds to `reply`: "canary",
 * null or
 * {"buffer","set","side": "before"|"after"|"master","offset","text"}, and "inputs_changed", a list
 * of names. `offset` counts bytes from the buffer's nearest edge: 0 is the first byte past its end,
 * 1 the last before its start. */
pg_code pg_buffers_verify(pg_buffers *buffers, const pg_globals *globals, json_t *reply,
                          pg_error *error);
/* What is said of memory of the runner's own that was written to: a "canary". */
json_t *pg_others_memory(const char *name);

/* Download one buffer of a set to `to` (its bytes). */
pg_code pg_buffers_read(pg_buffers *buffers, int index, int set, void *to, pg_error *error);

#endif
