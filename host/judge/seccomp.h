/* A filter of system calls for this thread and what it starts: nothing that reaches other
 * processes, the network, or the kernel's own state. Owns nothing. */
#ifndef PG_SECCOMP_H
#define PG_SECCOMP_H

#include <stdbool.h>

typedef enum pg_seccomp_kind {
  PG_SECCOMP_ALONE,   /* starts no process and no program: the simulator, NVRTC */
  PG_SECCOMP_DRIVER,  /* the same with a GPU's driver, which listens on a local socket */
  PG_SECCOMP_PROGRAMS /* may start programs: rustc, Python */
} pg_seccomp_kind;

/* From now on what is denied fails with EPERM; needs no_new_privs. `signals`: Landlock keeps
 * signals inside, so kill(2) needs no rule of its own. False when the kernel has no seccomp
 * filters. */
bool pg_seccomp_enforce(pg_seccomp_kind kind, bool signals);

#endif
