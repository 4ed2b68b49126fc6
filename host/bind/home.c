/* Finds the folder that holds perigee's Lua library, kernels, tasks and validators.
 * Relative to the binary, so that a folder that was moved still works. */
#include "home.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

pg_code pg_binary_folder(char folder[PG_PATH_MAX], pg_error *error) {
  ssize_t length = readlink("/proc/self/exe", folder, PG_PATH_MAX - 1);
  if (length <= 0)
    return pg_fail(error, PG_ENVIRONMENT, "cannot read /proc/self/exe: %s", strerror(errno));
  folder[length] = '\0';
  *strrchr(folder, '/') = '\0';
  return PG_OK;
}

static int is_home(const char *folder) {
  char library[PG_PATH_MAX + 64];
  struct stat info;
  snprintf(library, sizeof library, "%s/lua/perigee", folder);
  return stat(library, &info) == 0 && S_ISDIR(info.st_mode);
}

static pg_code from_environment(const char *given, char home[PG_PATH_MAX], pg_error *error) {
  char resolved[PATH_MAX];
  if (realpath(given, resolved) && strlen(resolved) < PG_PATH_MAX && is_home(resolved)) {
    strcpy(home, resolved);
    return PG_OK;
  }
  pg_fail(error, PG_ENVIRONMENT, "PERIGEE_HOME is '%s', which holds no lua/perigee", given);
  return pg_hint(error, "set it to the folder that holds lua/, kernels/, tasks/, or unset it");
}

pg_code pg_home(char home[PG_PATH_MAX], pg_error *error) {
  const char *given = getenv("PERIGEE_HOME");
  if (given && *given) return from_environment(given, home, error);
  char folder[PG_PATH_MAX];
  pg_code code = pg_binary_folder(folder, error);
  if (code) return code;
  static const char *const above[] = {"", "/..", "/../..", "/../share/perigee"};
  for (size_t i = 0; i < sizeof above / sizeof *above; i++) {
    char candidate[PG_PATH_MAX + 32], resolved[PATH_MAX];
    snprintf(candidate, sizeof candidate, "%s%s", folder, above[i]);
    if (!is_home(candidate) || !realpath(candidate, resolved)) continue;
    snprintf(home, PG_PATH_MAX, "%s", resolved);
    return PG_OK;
  }
  pg_fail(error, PG_ENVIRONMENT, "no folder with lua/perigee beside or above %s", folder);
  return pg_hint(error, "set PERIGEE_HOME to the folder that holds lua/, kernels/, tasks/");
}
