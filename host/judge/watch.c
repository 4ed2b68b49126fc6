/* /proc/PID/statm, and the same of its children: a compiler that is a program starts others. */
#include "watch.h"

#include <glob.h>
#include <stdio.h>
#include <unistd.h>

enum { DEPTH_MOST = 8, CHILDREN_MOST = 256 };

static size_t own_memory(pid_t pid) {
  char path[64];
  unsigned long long resident = 0, shared = 0;
  snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  int fields = fscanf(file, "%*s %llu %llu", &resident, &shared);
  fclose(file);
  if (fields != 2 || shared > resident) return 0;
  return (size_t)(resident - shared) * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t memory_of(pid_t pid, int depth);

/* What one thread has started. */
static size_t memory_of_children(const char *list, int depth) {
  size_t sum = 0;
  int child;
  FILE *file = fopen(list, "re");
  for (int i = 0; file && i < CHILDREN_MOST && fscanf(file, "%d", &child) == 1; i++)
    sum += memory_of(child, depth + 1);
  if (file) fclose(file);
  return sum;
}

static size_t memory_of(pid_t pid, int depth) {
  char pattern[64];
  glob_t found;
  size_t sum = own_memory(pid);
  if (depth == DEPTH_MOST) return sum;
  snprintf(pattern, sizeof pattern, "/proc/%d/task/*/children", (int)pid);
  if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) return sum;
  for (size_t i = 0; i < found.gl_pathc; i++) sum += memory_of_children(found.gl_pathv[i], depth);
  globfree(&found);
  return sum;
}

size_t pg_memory_of(pid_t pid) {
  return memory_of(pid, 0);
}
