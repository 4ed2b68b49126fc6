/* Memory of the machine, from /proc/meminfo, and of the container, from its control groups.
 * What a container's limit counts and cannot drop is anonymous and shared memory; files it can. */
#include "available.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024, TEXT_BYTES = 8192 };

static bool read_text(const char *path, char text[TEXT_BYTES]) {
  FILE *file = fopen(path, "re");
  if (!file) return false;
  text[fread(text, 1, TEXT_BYTES - 1, file)] = '\0';
  fclose(file);
  return true;
}

/* The rest of the line that starts with `label`, NULL when there is none. */
static const char *line_of(const char *text, const char *label) {
  size_t n = strlen(label);
  while (text && strncmp(text, label, n) != 0) {
    text = strchr(text, '\n');
    text += text != NULL;
  }
  return text ? text + n : NULL;
}

/* The number after `label` in a small text file; `absent` when it is not there (or is "max"). */
static double number_in(const char *path, const char *label, double absent) {
  char text[TEXT_BYTES], *end;
  const char *at = read_text(path, text) ? line_of(text, label) : NULL;
  double value = at ? strtod(at, &end) : 0;
  return at && end > at ? value : absent;
}

/* ---- control groups ---- */

typedef struct limits {
  double total, available;
} limits;

static void narrow(limits *l, double limit, double used) {
  l->total = fmin(l->total, limit);
  l->available = fmin(l->available, limit - used);
}

/* The folder of a group; in a container its path may be one of the host's, then it is the root. */
static void folder_of(const char *root, const char *mount, const char *group,
                      char folder[PATH_BYTES]) {
  char probe[PATH_BYTES + 32];
  snprintf(folder, PATH_BYTES, "%s%s%.*s", root, mount, (int)strcspn(group, "\n"), group);
  snprintf(probe, sizeof probe, "%s/memory.stat", folder);
  FILE *file = fopen(probe, "re");
  if (file)
    fclose(file);
  else
    snprintf(folder, PATH_BYTES, "%s%s", root, mount);
}

/* Version 2: every group up to the root may have a limit. */
static void narrow_unified(limits *l, const char *root, const char *group) {
  char folder[PATH_BYTES], path[PATH_BYTES + 32];
  static const char mount[] = "/sys/fs/cgroup";
  folder_of(root, mount, group, folder);
  size_t top = strlen(root) + sizeof mount - 1;
  for (;;) {
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    double used = number_in(path, "anon ", 0) + number_in(path, "shmem ", 0);
    snprintf(path, sizeof path, "%s/memory.max", folder);
    narrow(l, number_in(path, "", INFINITY), used);
    char *slash = strrchr(folder, '/');
    if (strlen(folder) <= top || !slash) return;
    *slash = '\0';
  }
}

/* Version 1: a group's statistics tell the least limit of those above it. */
static void narrow_memory_controller(limits *l, const char *root, const char *group) {
  char folder[PATH_BYTES], path[PATH_BYTES + 32];
  folder_of(root, "/sys/fs/cgroup/memory", group, folder);
  snprintf(path, sizeof path, "%s/memory.stat", folder);
  double used = number_in(path, "total_rss ", 0) + number_in(path, "total_shmem ", 0);
  narrow(l, number_in(path, "hierarchical_memory_limit ", INFINITY), used);
}

/* Lines of proc/self/cgroup: "0::/group" of version 2, "4:memory:/group" of version 1. */
static void narrow_by_groups(limits *l, const char *root) {
  char path[PATH_BYTES], text[TEXT_BYTES];
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (!read_text(path, text)) return;
  const char *unified = line_of(text, "0::");
  narrow_unified(l, root, unified ? unified : "");
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    const char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
    if (!group) return;
    char list[128];
    snprintf(list, sizeof list, ",%.*s,", (int)(group - names - 1), names + 1);
    if (strstr(list, ",memory,")) narrow_memory_controller(l, root, group + 1);
  }
}

/* ---- all ---- */

static size_t bytes_of(double value) {
  return value < 0x1p63 ? (size_t)fmax(0, value) : SIZE_MAX;
}

pg_memory pg_memory_below(const char *root) {
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s/proc/meminfo", root);
  limits l = {.total = 1024 * number_in(path, "MemTotal:", INFINITY),
              .available = 1024 * number_in(path, "MemAvailable:", INFINITY)};
  narrow_by_groups(&l, root);
  return (pg_memory){bytes_of(l.total), bytes_of(l.available)};
}

size_t pg_available_memory(void) {
  return pg_memory_below("").available;
}

size_t pg_total_memory(void) {
  return pg_memory_below("").total;
}
