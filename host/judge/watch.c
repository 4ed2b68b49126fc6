/* /proc/PID/statm, and the same of its children: a compiler that is a program starts others. */
#include "watch.h"

#include <glob.h>
#include <stdio.h>
#include <unistd.h>

enum { DEPTH_MOST = 16 };

static void add_process(pg_usage *sum, pid_t pid, int depth);

static void add_own(pg_usage *sum, pid_t pid) {
  char path[64];
  unsigned long long resident = 0, shared = 0;
  snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
  FILE *file = fopen(path, "re");
  if (!file) return;
  if (fscanf(file, "%*s %llu %llu", &resident, &shared) == 2 && shared <= resident) {
    sum->memory += (size_t)(resident - shared) * (size_t)sysconf(_SC_PAGESIZE);
    sum->processes++;
  }
  fclose(file);
}

/* What one thread has started. */
static void add_children(pg_usage *sum, const char *list, int depth) {
  int child;
  FILE *file = fopen(list, "re");
  while (file && sum->processes <= PG_PROCESSES_MOST && fscanf(file, "%d", &child) == 1)
    add_process(sum, child, depth + 1);
  if (file) fclose(file);
}

static void add_process(pg_usage *sum, pid_t pid, int depth) {
  char pattern[64];
  glob_t found;
  add_own(sum, pid);
  snprintf(pattern, sizeof pattern, "/proc/%d/task/*/children", (int)pid);
  if (depth == DEPTH_MOST || glob(pattern, GLOB_NOSORT, NULL, &found) != 0) return;
  for (size_t i = 0; i < found.gl_pathc; i++) add_children(sum, found.gl_pathv[i], depth);
  globfree(&found);
}

pg_usage pg_usage_of(pid_t pid) {
  pg_usage sum = {0, 0};
  add_process(&sum, pid, 0);
  return sum;
}
