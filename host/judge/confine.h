/* What each worker may still reach once it holds a candidate: Landlock and seccomp with the paths
 * of its role. Names of what this kernel could enforce are appended to `names`, separated by
 * spaces; where it can enforce nothing, nothing is added and nothing fails. Owns nothing. */
#ifndef PG_CONFINE_H
#define PG_CONFINE_H

#include <stdbool.h>

#include "../device.h"
#include "landlock.h"
#include "sandbox.h"

/* The device nodes and files of a GPU's driver, and nothing else; the simulator needs neither. */
void pg_confine_runner(bool simulator, char names[PG_SANDBOX_MAX]);
/* The compiler that is a library: its headers, and additions to the cache. */
void pg_confine_compiler(const pg_compile_reach *reach, char names[PG_SANDBOX_MAX]);

/* A compiler that is a program, in two halves: what needs memory before fork(), the rest in the
 * child. It reads the system's programs and libraries and `toolchain` (paths, ended by NULL), and
 * writes to `folder` only. */
void pg_confine_prepare_program(const char *const *toolchain, const char *folder, pg_landlock *out);
/* True when both Landlock and seccomp hold: then a stranger's host code may run here. */
bool pg_confine_program(pg_landlock *prepared, char names[PG_SANDBOX_MAX]);

/* False with PERIGEE_SANDBOX=off. */
bool pg_confine_wanted(void);
/* An agent, which is a user's program and runs programs: it reads all but `hidden`, changes only
 * `writes` without what of `kept` and `hidden` lies there, and signals nobody else. Paths are
 * absolute, without links, each list ended by NULL. */
bool pg_confine_agent(const char *const *writes, const char *const *kept,
                      const char *const *hidden);

#endif
