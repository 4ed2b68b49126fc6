/* Available memory, from /proc/meminfo and the container's cgroup (version 2).
 * What a container's limit counts and cannot drop is anonymous and shared memory; files it can. */
#include "available.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number after `label` in a small text file; `absent` when it is not there (or is "max"). */
static double number_in(const char *path, const char *label, double absent) {
  char text[4096];
  FILE *file = fopen(path, "re");
  if (!file) return absent;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  const char *at = strstr(text, label);
  char *end;
  double value = at ? strtod(at + strlen(label), &end) : 0;
  return at && end > at + strlen(label) ? value : absent;
}

size_t pg_available_memory(void) {
  double machine = 1024 * number_in("/proc/meminfo", "MemAvailable:", INFINITY);
  double limit = number_in("/sys/fs/cgroup/memory.max", "", INFINITY);
  double used = number_in("/sys/fs/cgroup/memory.stat", "anon ", 0) +
                number_in("/sys/fs/cgroup/memory.stat", "shmem ", 0);
  double least = fmax(0, fmin(machine, limit - used));
  return least < 0x1p63 ? (size_t)least : SIZE_MAX;
}
