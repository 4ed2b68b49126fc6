/* /proc/PID/status of a process and its descendants, which /proc/PID/task/TID/children tells. */
#include "watch.h"

#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../available.h"

typedef struct family {
  pid_t *members;
  int count;
} family;

/* What one thread has started. */
static void add_children(family *f, const char *list) {
  int child;
  FILE *file = fopen(list, "re");
  while (file && f->count <= PG_PROCESSES_MOST && fscanf(file, "%d", &child) == 1)
    f->members[f->count++] = child;
  if (file) fclose(file);
}

static void add_children_of(family *f, pid_t pid) {
  char pattern[64];
  glob_t threads;
  snprintf(pattern, sizeof pattern, "/proc/%d/task/*/children", (int)pid);
  if (glob(pattern, GLOB_NOSORT, NULL, &threads) != 0) return;
  for (size_t i = 0; i < threads.gl_pathc; i++) add_children(f, threads.gl_pathv[i]);
  globfree(&threads);
}

int pg_family_of(pid_t pid, pid_t members[PG_PROCESSES_MOST + 1]) {
  family f = {members, 1};
  members[0] = pid;
  for (int i = 0; i < f.count; i++) add_children_of(&f, members[i]);
  return f.count;
}

static void add_usage(pg_usage *sum, pid_t pid) {
  char path[64], line[256];
  unsigned long long kilobytes;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *file = fopen(path, "re");
  if (!file) return;
  sum->processes++;
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "RssAnon: %llu", &kilobytes) == 1) sum->memory += (size_t)kilobytes << 10;
    if (sscanf(line, "RssShmem: %llu", &kilobytes) == 1) sum->shared += (size_t)kilobytes << 10;
  }
  fclose(file);
}

pg_usage pg_usage_of(pid_t pid) {
  pg_usage sum = {0, 0, 0};
  pid_t members[PG_PROCESSES_MOST + 1];
  int count = pg_family_of(pid, members);
  for (int i = 0; i < count; i++) add_usage(&sum, members[i]);
  return sum;
}

void pg_family_end(void) {
  enum { ROUNDS = 100, PAUSE_NS = 2000000 };
  pid_t members[PG_PROCESSES_MOST + 1];
  for (int round = 0; round < ROUNDS && waitpid(-1, NULL, WNOHANG) >= 0; round++) {
    int count = pg_family_of(getpid(), members);
    for (int i = 1; i < count; i++) kill(members[i], SIGKILL);
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  }
}

pg_allowance pg_allowance_of(bool compiler, size_t held) {
  const size_t due = (size_t)3 << 30;
  size_t spare = pg_available_memory() / 4 * 3;
  if (compiler && held + spare >= due) return (pg_allowance){due, false};
  return (pg_allowance){held + spare, true};
}
