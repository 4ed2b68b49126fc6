/* Landlock: what of the file system, of TCP, of other processes' signals and sockets this thread
 * and its children may still reach. A pg_landlock owns its descriptor until it is enforced; where
 * the kernel lacks Landlock nothing is enforced and nothing fails. */
#ifndef PG_LANDLOCK_H
#define PG_LANDLOCK_H

#include <stdbool.h>

#include "sandbox.h"

enum {
  PG_MAY_READ = 1,    /* files and lists of folders */
  PG_MAY_EXECUTE = 2, /* programs */
  PG_MAY_WRITE = 4,   /* change, make, remove and rename */
  PG_MAY_DRIVE = 8,   /* device nodes: read, write, ioctl */
  PG_MAY_ADD = 16,    /* make, write, list and remove files, but read none */
  PG_MAY_CHANGE = 32, /* what is there: read, write, empty */
  PG_MAY_MEET = 64,   /* make sockets and pipes with names */
  PG_MAY_LIST = 128   /* what names a folder has */
};

typedef struct pg_landlock {
  int ruleset; /* -1: this kernel has none */
  int abi;
} pg_landlock;

/* Version of the kernel's Landlock, 0 without. */
int pg_landlock_abi(void);
/* Begin with nothing allowed. False when the kernel has no Landlock. */
bool pg_landlock_begin(pg_landlock *landlock);
/* The same for files and signals alone: TCP and sockets stay free. */
bool pg_landlock_begin_files(pg_landlock *landlock);
/* Allow `access` to a file, or to a folder and what is below. A path that does not exist allows
 * nothing. */
void pg_landlock_allow(pg_landlock *landlock, const char *path, unsigned access);
/* Allow it to a folder and what is below, but for the paths `except` (absolute, without links,
 * ended by NULL): beside those, only what is there by now. */
void pg_landlock_allow_but(pg_landlock *landlock, const char *path, unsigned access,
                           const char *const *except);
/* pg_landlock_allow for every path that a pattern of glob(7) matches. */
void pg_landlock_allow_all(pg_landlock *landlock, const char *pattern, unsigned access);
/* From now on only what was allowed; needs no_new_privs. Append the names of what holds to `names`:
 * "landlock", "landlock-tcp", "landlock-scope". False when nothing holds: then this process has
 * several threads, which Landlock would not bind, or the kernel refused. */
bool pg_landlock_enforce(pg_landlock *landlock, char names[PG_SANDBOX_MAX]);
void pg_landlock_drop(pg_landlock *landlock);

#endif
