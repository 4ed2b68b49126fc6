/* SHA-256 as lower-case hex, by libmd.
 * A file of its own so that the library can be changed in one place. */
#include "hash.h"

#include <stdint.h>
#include <sys/types.h>
#include <sha2.h>

void pg_sha256(const void *data, size_t bytes, char hex[PG_SHA_HEX]) {
  SHA2_CTX context;
  SHA256Init(&context);
  if (bytes) SHA256Update(&context, data, bytes);
  SHA256End(&context, hex);
}
