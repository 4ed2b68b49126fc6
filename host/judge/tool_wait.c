/* The worker watches its own program, as the judge may be waiting for another worker. Files are
 * counted where the program may write; what it hides there (an open file without a name) shows in
 * the free space of the disk. */
#include "tool_wait.h"

#include <errno.h>
#include <fts.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "watch.h"

enum { ENTRIES_MOST = 10000, LEVELS_MOST = 64, POLL_NS = 2000000, POLLS_A_LOOK = 50 };
static const double files_most = 0x1p30;
static const double hidden_most = 0x1p32; /* the disk is not this program's alone */
static const double disk_reserve = 0x1p28;

/* Times that the kernel ended a process for want of memory, since it started. */
static long shortages_so_far(void) {
  char line[128];
  long count = 0;
  FILE *file = fopen("/proc/vmstat", "re");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "oom_kill %ld", &count) == 1) break;
  if (file) fclose(file);
  return count;
}

long pg_tool_prepare(void) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return shortages_so_far();
}

/* ---- the disk ---- */

static double free_bytes(const char *folder) {
  struct statvfs info;
  return statvfs(folder, &info) < 0 ? 0 : (double)info.f_bavail * (double)info.f_frsize;
}

/* Bytes of files below a folder; more than any limit when they are too many to count, or lie deeper
 * than one sees. */
static double bytes_below(const char *folder) {
  char *roots[] = {(char *)(uintptr_t)folder, NULL};
  FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  double bytes = 0;
  int count = 0;
  for (FTSENT *entry; walk && (entry = fts_read(walk));) {
    if (entry->fts_info == FTS_F) bytes += 512.0 * (double)entry->fts_statp->st_blocks;
    if (++count > ENTRIES_MOST || entry->fts_level > LEVELS_MOST) {
      bytes = files_most + 1;
      break;
    }
  }
  if (walk) fts_close(walk);
  return bytes;
}

/* ---- limits ---- */

typedef struct limits {
  const char *folder;
  pg_allowance memory;
  double disk_least; /* bytes that must stay free */
} limits;

static limits limits_of(const char *folder) {
  double room = free_bytes(folder);
  double reserve = room / 2 < disk_reserve ? room / 2 : disk_reserve;
  return (limits){folder, pg_allowance_of(true, 0),
                  room - hidden_most > reserve ? room - hidden_most : reserve};
}

static pg_code too_much_memory(const limits *l, size_t held, pg_error *error) {
  pg_fail(error, l->memory.scarce ? PG_ENVIRONMENT : PG_COMPILE,
          "the compiler was ended: it used %.3g GiB of memory, and may have %.3g GiB",
          (double)held / 0x1p30, (double)l->memory.memory / 0x1p30);
  return l->memory.scarce ? pg_hint(error, "this machine has no more to give: end other programs")
                          : error->code;
}

static pg_code look(const limits *l, pg_error *error) {
  pg_usage used = pg_usage_of(getpid());
  size_t held = used.memory + used.shared;
  if (held > l->memory.memory) return too_much_memory(l, held, error);
  if (used.processes > PG_PROCESSES_MOST)
    return pg_fail(error, PG_COMPILE,
                   "the compiler was ended: it had started more than %d processes",
                   PG_PROCESSES_MOST);
  if (bytes_below(l->folder) > files_most)
    return pg_fail(error, PG_COMPILE,
                   "the compiler was ended: it had written more than %g GiB or %d files, or more "
                   "than %d folders deep",
                   files_most / 0x1p30, ENTRIES_MOST, LEVELS_MOST);
  if (free_bytes(l->folder) >= l->disk_least) return PG_OK;
  pg_fail(error, PG_ENVIRONMENT, "the compiler was ended: the disk of its folder was filling up");
  pg_where(error, "%s", l->folder);
  return pg_hint(error, "free space there, or set TMPDIR to another folder");
}

/* ---- the end ---- */

static void pause_a_moment(void) {
  nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* A program that failed while memory ran out is not to blame. */
static pg_code failed_for_memory(int status, long shortages, pg_error *error) {
  bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  if (!failed || shortages_so_far() == shortages) return PG_OK;
  pg_fail(error, PG_ENVIRONMENT, "the compiler failed while this machine ran out of memory");
  return pg_hint(error, "the kernel ended a process to have some: end other programs");
}

pg_code pg_tool_wait(pid_t pid, const char *folder, long shortages, int *status, pg_error *error) {
  limits l = limits_of(folder);
  pg_code code = PG_OK;
  for (int i = 1;; i++) {
    pid_t ended = waitpid(pid, status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR)
      return pg_fail(error, PG_IO, "cannot wait for the compiler: %s", strerror(errno));
    if (i % POLLS_A_LOOK == 0) code = look(&l, error);
    if (code) break;
    pause_a_moment();
  }
  pg_family_end();
  return code ? code : failed_for_memory(*status, shortages, error);
}
