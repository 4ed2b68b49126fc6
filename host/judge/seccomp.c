/* The filter, made by libseccomp, is a list of what is denied: a GPU's driver may use what no
 * allow-list foresees. Calls that take a pointer cannot be judged by it, so clone3 "does not
 * exist": the C library then uses clone, whose flags are in a register. */
#include "seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Newer than the oldest libseccomp; the numbers are those of every architecture. */
enum {
  MEMFD_SECRET = 447,
  FCHMODAT2 = 452,
  SETXATTRAT = 463,
  REMOVEXATTRAT = 466,
  FILE_SETATTR = 469
};
enum { ONE_PROCESS = 1 }; /* what ioprio_set(2) calls IOPRIO_WHO_PROCESS and no header has */

static const int denied[] = {
    /* connections; what comes by the inherited socket needs none of these */
    SCMP_SYS(connect), SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
/* other processes */
#ifndef __SANITIZE_ADDRESS__ /* whose search for leaks needs a tracer */
    SCMP_SYS(ptrace),
#endif
    SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise),
    SCMP_SYS(process_mrelease), SCMP_SYS(kcmp), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal), SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(migrate_pages),
    /* leaving what holds this process: its group, its identity, its namespaces */
    SCMP_SYS(setpgid), SCMP_SYS(setsid), SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid),
    SCMP_SYS(setregid), SCMP_SYS(setresuid), SCMP_SYS(setresgid), SCMP_SYS(setfsuid),
    SCMP_SYS(setfsgid), SCMP_SYS(setgroups), SCMP_SYS(capset), SCMP_SYS(personality),
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(chroot), SCMP_SYS(pivot_root), SCMP_SYS(setrlimit),
    /* memory that outlives a process and that the next candidate could read */
    SCMP_SYS(shmget), SCMP_SYS(shmat), SCMP_SYS(msgget), SCMP_SYS(semget), SCMP_SYS(mq_open),
    SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl),
    /* files beyond the reach of Landlock */
    SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), FCHMODAT2, SCMP_SYS(chown),
    SCMP_SYS(lchown), SCMP_SYS(fchown), SCMP_SYS(fchownat), SCMP_SYS(setxattr), SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr), SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(fremovexattr),
    SETXATTRAT, REMOVEXATTRAT, FILE_SETATTR, SCMP_SYS(utime), SCMP_SYS(utimes), SCMP_SYS(futimesat),
    SCMP_SYS(utimensat), SCMP_SYS(name_to_handle_at), SCMP_SYS(open_by_handle_at),
    SCMP_SYS(fanotify_init), SCMP_SYS(quotactl), SCMP_SYS(quotactl_fd), SCMP_SYS(mount),
    SCMP_SYS(umount2), SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
    SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct),
    /* the kernel */
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(init_module),
    SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(syslog), SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime), SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime), SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname), SCMP_SYS(vhangup), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(modify_ldt)};

static const int listening[] = {SCMP_SYS(bind), SCMP_SYS(listen)};

/* Memory that no mapping shows, so that a watch does not see it. */
static const int unmapped[] = {SCMP_SYS(memfd_create), MEMFD_SECRET};

/* Their first argument is a process, 0 this one. */
static const int by_process[] = {SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
                                 SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr),
                                 SCMP_SYS(move_pages)};

static const int programs[] = {SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork),
                               SCMP_SYS(vfork)};

static const int namespaces[] = {CLONE_NEWNS,  CLONE_NEWUSER, CLONE_NEWPID,   CLONE_NEWNET,
                                 CLONE_NEWIPC, CLONE_NEWUTS,  CLONE_NEWCGROUP};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* A call that this architecture lacks cannot be made, so a rule that is refused is no loss: its
 * number is negative then. */
static void deny(scmp_filter_ctx filter, const int *calls, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (calls[i] >= 0) seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
}

/* An int fills the low half of its argument; the rest of the register means nothing. */
static bool deny_when(scmp_filter_ctx filter, int call, struct scmp_arg_cmp test) {
  return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &test) == 0;
}

static bool deny_flag(scmp_filter_ctx filter, int call, uint64_t flag, bool set) {
  return deny_when(filter, call, SCMP_A0(SCMP_CMP_MASKED_EQ, flag, set ? flag : 0));
}

/* A driver makes a local socket that others could connect to, of a kind that sends nothing without
 * a connection, and accepts none. */
static bool limit_sockets(scmp_filter_ctx filter, pg_seccomp_kind kind) {
  enum { SOCKET_TYPE = 15 }; /* without its flags */
  if (kind == PG_SECCOMP_DRIVER)
    return deny_when(filter, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_NE, AF_UNIX)) &&
           deny_when(filter, SCMP_SYS(socket),
                     SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, SOCK_STREAM)) &&
           deny_when(filter, SCMP_SYS(socket),
                     SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, SOCK_DGRAM));
  return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 0) == 0;
}

/* Threads are made, and, where programs may be started, processes in the same namespaces. */
static bool limit_clone(scmp_filter_ctx filter, pg_seccomp_kind kind) {
  bool done = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
#ifdef __SANITIZE_ADDRESS__
  kind = PG_SECCOMP_PROGRAMS;
#endif
  if (kind != PG_SECCOMP_PROGRAMS)
    return done && deny_flag(filter, SCMP_SYS(clone), CLONE_THREAD, false);
  for (size_t i = 0; i < COUNT(namespaces); i++)
    done = done && deny_flag(filter, SCMP_SYS(clone), (uint64_t)namespaces[i], true);
  return done;
}

/* Signals to itself only: abort() needs that. In a program that starts others "itself" has no
 * number to compare with; there signals stay inside by Landlock's scope or are not sent at all. */
static bool limit_signals(scmp_filter_ctx filter, pg_seccomp_kind kind, bool scoped) {
  scmp_datum_t self = (scmp_datum_t)getpid();
  if (kind != PG_SECCOMP_PROGRAMS)
    return deny_when(filter, SCMP_SYS(kill), SCMP_A0(SCMP_CMP_NE, self)) &&
           deny_when(filter, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_NE, self));
  return scoped || (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kill), 0) == 0 &&
                    seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 0) == 0);
}

/* Where it runs and how urgent it is concerns the caller only: a judge that was pinned or put last
 * would hand that on to all later runners. */
static bool limit_scheduling(scmp_filter_ctx filter) {
  bool done = true;
  for (size_t i = 0; i < COUNT(by_process); i++)
    done = done && deny_when(filter, by_process[i], SCMP_A0(SCMP_CMP_NE, 0));
  return done && deny_when(filter, SCMP_SYS(setpriority), SCMP_A0(SCMP_CMP_NE, PRIO_PROCESS)) &&
         deny_when(filter, SCMP_SYS(setpriority), SCMP_A1(SCMP_CMP_NE, 0)) &&
         deny_when(filter, SCMP_SYS(ioprio_set), SCMP_A0(SCMP_CMP_NE, ONE_PROCESS)) &&
         deny_when(filter, SCMP_SYS(ioprio_set), SCMP_A1(SCMP_CMP_NE, 0));
}

/* Nobody is sent a signal when a descriptor has something to read. */
static bool limit_owners(scmp_filter_ctx filter) {
  static const uint64_t commands[] = {F_SETOWN, F_SETOWN_EX}, requests[] = {FIOSETOWN, SIOCSPGRP};
  bool done = true;
  for (size_t i = 0; i < COUNT(commands); i++)
    done =
        done &&
        deny_when(filter, SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, commands[i])) &&
        deny_when(filter, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]));
  return done;
}

/* What a program maps is counted by whoever watches it; of a driver nothing is known. */
static bool limit_memory(scmp_filter_ctx filter, pg_seccomp_kind kind) {
  const uint64_t shared = MAP_SHARED | MAP_ANONYMOUS;
  if (kind != PG_SECCOMP_PROGRAMS) return true;
  deny(filter, unmapped, COUNT(unmapped));
  return deny_when(filter, SCMP_SYS(mmap), SCMP_A3(SCMP_CMP_MASKED_EQ, shared, shared));
}

static bool add_rules(scmp_filter_ctx filter, pg_seccomp_kind kind, bool signals) {
  deny(filter, denied, COUNT(denied));
  if (kind != PG_SECCOMP_PROGRAMS) deny(filter, programs, COUNT(programs));
  if (kind != PG_SECCOMP_DRIVER) deny(filter, listening, COUNT(listening));
  return limit_sockets(filter, kind) && limit_clone(filter, kind) &&
         limit_signals(filter, kind, signals) && limit_scheduling(filter) && limit_owners(filter) &&
         limit_memory(filter, kind) &&
         deny_when(filter, SCMP_SYS(prctl),
                   SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, PR_SET_PDEATHSIG)) &&
         deny_when(filter, SCMP_SYS(prlimit64), SCMP_A2(SCMP_CMP_NE, 0)); /* they may be read */
}

bool pg_seccomp_enforce(pg_seccomp_kind kind, bool signals) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  bool held = filter &&
              seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
              add_rules(filter, kind, signals) && seccomp_load(filter) == 0;
  if (filter) seccomp_release(filter);
  return held;
}
