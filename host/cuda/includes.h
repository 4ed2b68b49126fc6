/* Which files a CUDA C++ source pulls in, and what they hold: the part of a compile cache's key
 * that changes when a header does. The caller owns (and frees) the text of a pg_manifest. */
#ifndef PG_CUDA_INCLUDES_H
#define PG_CUDA_INCLUDES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pg_manifest { /* a growing text: one line a fact */
  char *text;
  size_t bytes, room;
  bool failed; /* out of memory; nothing more is added */
} pg_manifest;

void pg_manifest_add(pg_manifest *manifest, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pg_manifest_free(pg_manifest *manifest);

typedef struct pg_include_path {
  const char *const *folders; /* searched in this order, after the including file's own folder */
  int count;
  int system; /* folders from this index on are the toolkit's */
} pg_include_path;

/* Add a line for every header that `source` (a file called `name`) or `first` (headers included
 * before it) may reach: its path and SHA-256, or that it does not exist. Every #include counts,
 * also one inside #if 0: more lines than needed cost a miss, fewer would cost a wrong hit. False
 * when the text cannot tell: an #include of a macro, or __DATE__ and the like. */
bool pg_includes_scan(const char *source, const char *name, const char *const *first,
                      int first_count, const pg_include_path *path, pg_manifest *manifest);

#endif
