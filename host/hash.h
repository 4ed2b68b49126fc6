/* SHA-256 as lower-case hex: content addresses of sources, PTX and cache entries. Owns nothing. */
#ifndef PG_HASH_H
#define PG_HASH_H

#include <stddef.h>

enum { PG_SHA_HEX = 65 }; /* 64 digits and the terminating zero */

void pg_sha256(const void *data, size_t bytes, char hex[PG_SHA_HEX]);

#endif
