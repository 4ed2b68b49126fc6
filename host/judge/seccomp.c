/* The filter is a list of what is denied: a GPU's driver may use what no allow-list foresees. Calls
 * that take a pointer cannot be judged by it, so clone3 "does not exist": the C library then uses
 * clone, whose flags are in a register. */
#include "seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

/* Newer than some headers; the numbers are those of every architecture. */
enum {
  NR_PIDFD_SEND_SIGNAL = 424,
  NR_IO_URING_SETUP,
  NR_IO_URING_ENTER,
  NR_IO_URING_REGISTER,
  NR_OPEN_TREE,
  NR_MOVE_MOUNT,
  NR_FSOPEN,
  NR_FSCONFIG,
  NR_FSMOUNT,
  NR_FSPICK,
  NR_PIDFD_OPEN,
  NR_CLONE3,
  NR_PIDFD_GETFD = 438,
  NR_PROCESS_MADVISE = 440,
  NR_MOUNT_SETATTR = 442,
  NR_QUOTACTL_FD = 443,
  NR_PROCESS_MRELEASE = 448,
  NR_FCHMODAT2 = 452
};

static const unsigned short denied[] = {
    /* the network; what comes by the inherited socket needs none of these */
    __NR_socket,
    __NR_connect,
    __NR_bind,
    __NR_listen,
    __NR_accept,
    __NR_accept4,
    NR_IO_URING_SETUP,
    NR_IO_URING_ENTER,
    NR_IO_URING_REGISTER,
/* other processes */
#ifndef __SANITIZE_ADDRESS__ /* whose search for leaks needs a tracer */
    __NR_ptrace,
#endif
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_kcmp,
    NR_PROCESS_MADVISE,
    NR_PROCESS_MRELEASE,
    NR_PIDFD_OPEN,
    NR_PIDFD_GETFD,
    NR_PIDFD_SEND_SIGNAL,
    __NR_tkill,
    __NR_rt_sigqueueinfo,
    __NR_rt_tgsigqueueinfo,
    __NR_migrate_pages,
    /* leaving what holds this process: its group, its identity, its namespaces */
    __NR_setpgid,
    __NR_setsid,
    __NR_setuid,
    __NR_setgid,
    __NR_setreuid,
    __NR_setregid,
    __NR_setresuid,
    __NR_setresgid,
    __NR_setfsuid,
    __NR_setfsgid,
    __NR_setgroups,
    __NR_capset,
    __NR_personality,
    __NR_unshare,
    __NR_setns,
    __NR_chroot,
    __NR_pivot_root,
    /* memory that outlives a process and that the next candidate could read */
    __NR_shmget,
    __NR_shmat,
    __NR_msgget,
    __NR_semget,
    __NR_mq_open,
    __NR_add_key,
    __NR_request_key,
    __NR_keyctl,
    /* files beyond the reach of Landlock */
    __NR_fchmod,
    __NR_fchmodat,
    NR_FCHMODAT2,
    __NR_fchown,
    __NR_fchownat,
    __NR_setxattr,
    __NR_lsetxattr,
    __NR_fsetxattr,
    __NR_removexattr,
    __NR_lremovexattr,
    __NR_fremovexattr,
    __NR_name_to_handle_at,
    __NR_open_by_handle_at,
    __NR_fanotify_init,
    __NR_quotactl,
    NR_QUOTACTL_FD,
    __NR_mount,
    __NR_umount2,
    NR_OPEN_TREE,
    NR_MOVE_MOUNT,
    NR_FSOPEN,
    NR_FSCONFIG,
    NR_FSMOUNT,
    NR_FSPICK,
    NR_MOUNT_SETATTR,
    __NR_swapon,
    __NR_swapoff,
    __NR_acct,
    /* the kernel */
    __NR_bpf,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_kexec_load,
    __NR_reboot,
    __NR_syslog,
    __NR_settimeofday,
    __NR_clock_settime,
    __NR_adjtimex,
    __NR_clock_adjtime,
    __NR_sethostname,
    __NR_setdomainname,
    __NR_vhangup,
#ifdef __x86_64__
    __NR_chmod,
    __NR_chown,
    __NR_lchown,
    __NR_setrlimit,
    __NR_iopl,
    __NR_ioperm,
    __NR_modify_ldt,
    __NR_kexec_file_load,
#endif
};

static const unsigned short programs[] = {
    __NR_execve,
    __NR_execveat,
#ifdef __x86_64__
    __NR_fork,
    __NR_vfork,
#endif
};

enum {
  COUNT = sizeof denied / sizeof *denied + sizeof programs / sizeof *programs,
  ROOM = 2 * COUNT + 64,
  NAMESPACES = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
               CLONE_NEWUTS | CLONE_NEWCGROUP
};

typedef struct filter {
  struct sock_filter code[ROOM];
  unsigned short used;
} filter;

/* ---- writing it ---- */

static void add(filter *f, unsigned code, uint32_t k, unsigned yes, unsigned no) {
  f->code[f->used++] = (struct sock_filter){(uint16_t)code, (uint8_t)yes, (uint8_t)no, k};
}

static void load(filter *f, size_t offset) {
  add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void give(filter *f, uint32_t verdict) {
  add(f, BPF_RET | BPF_K, verdict, 0, 0);
}

static void deny(filter *f, uint32_t number, uint32_t verdict) {
  add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
  give(f, verdict);
}

/* The low half of an argument: all that int and pid_t fill. */
static size_t argument(int i) {
  return offsetof(struct seccomp_data, args) + sizeof(uint64_t) * (size_t)i;
}

/* `number` is allowed when its first argument passes `test` against k, else denied. */
static void allow_if(filter *f, uint32_t number, int index, unsigned test, uint32_t k) {
  add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
  load(f, argument(index));
  add(f, BPF_JMP | test | BPF_K, k, 1, 0);
  give(f, SECCOMP_RET_ERRNO | EPERM);
  give(f, SECCOMP_RET_ALLOW);
}

static void deny_if(filter *f, uint32_t number, int index, unsigned test, uint32_t k) {
  add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
  load(f, argument(index));
  add(f, BPF_JMP | test | BPF_K, k, 0, 1);
  give(f, SECCOMP_RET_ERRNO | EPERM);
  give(f, SECCOMP_RET_ALLOW);
}

/* The same for a pointer that must be NULL, both halves of it. */
static void allow_if_null(filter *f, uint32_t number, int index) {
  add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 6);
  load(f, argument(index));
  add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2);
  load(f, argument(index) + sizeof(uint32_t));
  add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
  give(f, SECCOMP_RET_ERRNO | EPERM);
  give(f, SECCOMP_RET_ALLOW);
}

/* Calls made for another architecture have other numbers. */
static void add_head(filter *f) {
  load(f, offsetof(struct seccomp_data, arch));
  add(f, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
  give(f, SECCOMP_RET_KILL_PROCESS);
  load(f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
  enum { X32 = 0x40000000 };
  add(f, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
  give(f, SECCOMP_RET_ERRNO | ENOSYS);
#endif
}

/* Signals to itself only: abort() needs that. In a program that starts others "itself" has no
 * number to compare with; there signals stay inside by Landlock's scope or are not sent at all. */
static void add_signals(filter *f, pg_seccomp_kind kind, bool scoped) {
  if (kind == PG_SECCOMP_ALONE) {
    allow_if(f, __NR_kill, 0, BPF_JEQ, (uint32_t)getpid());
    allow_if(f, __NR_tgkill, 0, BPF_JEQ, (uint32_t)getpid());
  } else if (!scoped) {
    deny(f, __NR_kill, SECCOMP_RET_ERRNO | EPERM);
  }
}

/* Threads are made, and, where programs may be started, processes in the same namespaces. */
static void add_clone(filter *f, pg_seccomp_kind kind) {
  deny(f, NR_CLONE3, SECCOMP_RET_ERRNO | ENOSYS);
#ifdef __SANITIZE_ADDRESS__
  kind = PG_SECCOMP_PROGRAMS;
#endif
  if (kind == PG_SECCOMP_ALONE)
    allow_if(f, __NR_clone, 0, BPF_JSET, CLONE_THREAD);
  else
    deny_if(f, __NR_clone, 0, BPF_JSET, NAMESPACES);
}

static void write_filter(filter *f, pg_seccomp_kind kind, bool signals) {
  add_head(f);
  for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
    deny(f, denied[i], SECCOMP_RET_ERRNO | EPERM);
  for (size_t i = 0; kind == PG_SECCOMP_ALONE && i < sizeof programs / sizeof *programs; i++)
    deny(f, programs[i], SECCOMP_RET_ERRNO | EPERM);
  add_clone(f, kind);
  deny_if(f, __NR_prctl, 0, BPF_JEQ, PR_SET_PDEATHSIG);
  allow_if_null(f, __NR_prlimit64, 2); /* limits may be read */
  add_signals(f, kind, signals);
  give(f, SECCOMP_RET_ALLOW);
}

bool pg_seccomp_enforce(pg_seccomp_kind kind, bool signals) {
  filter f = {.used = 0};
  if (ARCHITECTURE == 0) return false;
  write_filter(&f, kind, signals);
  const struct sock_fprog program = {f.used, f.code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
