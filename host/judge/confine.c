/* The paths of each role.
 * A GPU's driver is a black box: its list holds what drivers for servers, desktops, WSL and Jetson
 * open, with no folder where a user keeps files. */
#include "confine.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attend.h"
#include "seccomp.h"

/* Patterns of glob(7), ended by NULL. What the C library, threads and the look at free memory
 * need: */
static const char *const common_files[] = {
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/dev/urandom",
#ifdef __SANITIZE_ADDRESS__
    "/proc/self/exe", /* the names in a report */
#endif
    NULL,
};

static const char *const driver_nodes[] = {
    "/dev/nvidia*", "/dev/nvidia-caps*/*", "/dev/dxg",   /* WSL */
    "/dev/nvgpu*",  "/dev/nvhost*",        "/dev/nvmap", /* Jetson */
    NULL,
};

/* Of any program. */
static const char *const usual_nodes[] = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
    "/dev/tty",  "/dev/ptmx", "/dev/pts",  NULL,
};

static const char *const driver_files[] = {
    "/proc/driver/nvidia*",
    "/proc/devices",
    "/proc/modules",
    "/proc/version",
    "/proc/sys/vm",
    "/sys/devices",
    "/sys/bus/pci",
    "/sys/class",
    "/sys/module",
    "/sys/kernel/mm",
    "/etc/nvidia*",
    "/usr/share/nvidia*",
    NULL,
};

static const char *const libraries[] = {
    "/etc/ld.so.cache",
    "/lib*",
    "/usr/lib*",
    "/usr/local/lib*",
    "/usr/local/nvidia*",
    "/usr/local/cuda*/compat",
    "/usr/local/cuda*/lib64",
    "/run/opengl-driver*",
    "/nix/store",
    NULL,
};

static const char *const programs[] = {"/bin", "/sbin", "/lib*", "/usr", "/nix/store", NULL};

static const char *const program_files[] = {
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/python*", "/proc/stat", "/proc/version", NULL,
};

static void allow(pg_landlock *l, const char *const *patterns, unsigned access) {
  for (; *patterns; patterns++) pg_landlock_allow_all(l, *patterns, access);
}

static void allow_common(pg_landlock *l) {
  allow(l, common_files, PG_MAY_READ);
  pg_landlock_allow(l, "/dev/null", PG_MAY_DRIVE);
}

/* Folders of a list as in LD_LIBRARY_PATH. */
static void allow_listed(pg_landlock *l, const char *list, unsigned access) {
  char folder[PATH_MAX];
  while (list && *list) {
    size_t length = strcspn(list, ":");
    snprintf(folder, sizeof folder, "%.*s", (int)length, list);
    if (*folder == '/') pg_landlock_allow(l, folder, access);
    list += length + (list[length] == ':');
  }
}

/* The user can switch this off where a driver lies outside all of these places. */
bool pg_confine_wanted(void) {
  const char *given = getenv("PERIGEE_SANDBOX");
  return !given || strcmp(given, "off") != 0;
}

/* Even root's processes then have a user's rights. */
static bool drop_capabilities(void) {
  enum { VERSION_3 = 0x20080522 };
  struct {
    uint32_t version;
    int pid;
  } head = {VERSION_3, 0};
  const uint32_t none[6] = {0};
  return syscall(SYS_capset, &head, none) == 0;
}

/* The filter last: it takes away what the others need. */
static bool enforce(pg_landlock *l, pg_seccomp_kind kind, char names[PG_SANDBOX_MAX]) {
  pg_landlock_allow(l, "/proc/self", PG_MAY_READ); /* of the process that is confined: a child's */
  if (drop_capabilities()) pg_sandbox_note(names, "no-capabilities");
  bool files = pg_landlock_enforce(l, names);
  bool calls = pg_seccomp_enforce(kind, strstr(names, "landlock-scope") != NULL);
  if (calls) pg_sandbox_note(names, "seccomp");
  return files && calls;
}

void pg_confine_runner(bool simulator, char names[PG_SANDBOX_MAX]) {
  pg_landlock l;
  if (!pg_confine_wanted()) return;
  pg_landlock_begin(&l);
  allow_common(&l);
  if (!simulator) {
    allow(&l, driver_nodes, PG_MAY_DRIVE);
    allow(&l, driver_files, PG_MAY_READ);
    allow(&l, libraries, PG_MAY_READ);
    allow_listed(&l, getenv("LD_LIBRARY_PATH"), PG_MAY_READ);
    pg_landlock_allow(&l, "/proc/self/task", PG_MAY_CHANGE); /* the names of its threads */
  }
  enforce(&l, simulator ? PG_SECCOMP_ALONE : PG_SECCOMP_DRIVER, names);
}

void pg_confine_compiler(const pg_compile_reach *reach, char names[PG_SANDBOX_MAX]) {
  pg_landlock l;
  if (!pg_confine_wanted()) return;
  pg_landlock_begin(&l);
  allow_common(&l);
  for (int i = 0; i < reach->folder_count; i++)
    pg_landlock_allow(&l, reach->folders[i], PG_MAY_READ);
  if (reach->cache) pg_landlock_allow(&l, reach->cache, PG_MAY_ADD);
  enforce(&l, PG_SECCOMP_ALONE, names);
}

void pg_confine_prepare_program(const char *const *toolchain, const char *folder,
                                pg_landlock *out) {
  *out = (pg_landlock){.ruleset = -1};
  if (!pg_confine_wanted() || !pg_landlock_begin(out)) return;
  allow_common(out);
  allow(out, programs, PG_MAY_READ | PG_MAY_EXECUTE);
  allow(out, program_files, PG_MAY_READ);
  allow_listed(out, getenv("LD_LIBRARY_PATH"), PG_MAY_READ);
  for (const char *const *path = toolchain; *path; path++)
    pg_landlock_allow(out, *path, PG_MAY_READ | PG_MAY_EXECUTE);
  pg_landlock_allow(out, folder, PG_MAY_READ | PG_MAY_EXECUTE | PG_MAY_WRITE);
}

bool pg_confine_program(pg_landlock *prepared, char names[PG_SANDBOX_MAX]) {
  if (!pg_confine_wanted()) return false;
  return enforce(prepared, PG_SECCOMP_PROGRAMS, names);
}

enum { LISTED_MOST = 2 * PG_ATTEND_MOST };

bool pg_confine_agent(const char *const *writes, const char *const *kept,
                      const char *const *hidden) {
  char names[PG_SANDBOX_MAX] = "";
  const char *except[LISTED_MOST + 1];
  int count = 0;
  pg_landlock l;
  for (; *hidden && count < LISTED_MOST; hidden++) except[count++] = *hidden;
  except[count] = NULL;
  if (!pg_landlock_begin_files(&l)) return false;
  pg_landlock_allow(&l, "/", PG_MAY_LIST);
  pg_landlock_allow_but(&l, "/", PG_MAY_READ | PG_MAY_EXECUTE, except);
  for (; *kept && count < LISTED_MOST; kept++) except[count++] = *kept;
  except[count] = NULL;
  for (; *writes; writes++)
    pg_landlock_allow_but(&l, *writes, PG_MAY_WRITE | PG_MAY_CHANGE | PG_MAY_MEET, except);
  allow(&l, usual_nodes, PG_MAY_DRIVE);
  allow(&l, driver_nodes, PG_MAY_DRIVE);
  pg_landlock_allow(&l, "/dev/shm", PG_MAY_READ | PG_MAY_WRITE);
  drop_capabilities();
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && pg_landlock_enforce(&l, names);
}
