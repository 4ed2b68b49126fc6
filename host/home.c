/* Finds the command, and the folder that holds perigee's Lua library, kernels, tasks and
 * validators. Relative to the file that this code is in, so that a folder that was moved still
 * works. */
#include "home.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Resolved path of the shared library that this code is in; false: it is part of a program. */
static bool own_library(char path[PATH_MAX]) {
  static const char anchor = 0;
  Dl_info info;
  struct link_map *map = NULL;
  if (!dladdr1(&anchor, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
  return *map->l_name && realpath(map->l_name, path); /* a program's name is empty */
}

static pg_code own_file(char path[PATH_MAX], pg_error *error) {
  if (own_library(path)) return PG_OK;
  ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (length <= 0)
    return pg_fail(error, PG_ENVIRONMENT, "cannot read /proc/self/exe: %s", strerror(errno));
  path[length] = '\0';
  return PG_OK;
}

pg_code pg_own_folder(char folder[PG_PATH_MAX], pg_error *error) {
  char path[PATH_MAX];
  pg_code code = own_file(path, error);
  if (code) return code;
  *strrchr(path, '/') = '\0';
  snprintf(folder, PG_PATH_MAX, "%s", path);
  return PG_OK;
}

static bool is_program(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Beside a library in build/, and where `make install` puts it relative to lib/ and lib/lua/5.4/.
 */
static pg_code beside_library(const char *library, char path[PG_PATH_MAX], pg_error *error) {
  static const char *const places[] = {"", "/../bin", "/../../../bin"};
  int folder = (int)(strrchr(library, '/') - library);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char candidate[PATH_MAX + 32], resolved[PATH_MAX];
    snprintf(candidate, sizeof candidate, "%.*s%s/perigee", folder, library, places[i]);
    if (!is_program(candidate) || !realpath(candidate, resolved)) continue;
    snprintf(path, PG_PATH_MAX, "%s", resolved);
    return PG_OK;
  }
  pg_fail(error, PG_ENVIRONMENT,
          "the command 'perigee', whose processes compile and judge, is not "
          "beside %s nor in ../bin",
          library);
  return pg_hint(error, "set PERIGEE_BIN to the path of the command");
}

pg_code pg_binary(char path[PG_PATH_MAX], pg_error *error) {
  char library[PATH_MAX];
  if (!own_library(library)) {
    strcpy(path, "/proc/self/exe"); /* true even after the file was moved */
    return PG_OK;
  }
  const char *given = getenv("PERIGEE_BIN");
  if (!given || !*given) return beside_library(library, path, error);
  if (is_program(given) && strlen(given) < PG_PATH_MAX) {
    strcpy(path, given);
    return PG_OK;
  }
  pg_fail(error, PG_ENVIRONMENT, "PERIGEE_BIN is '%s', which is no program", given);
  return pg_hint(error, "set it to the path of the command 'perigee', or unset it");
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
  pg_code code = pg_own_folder(folder, error);
  if (code) return code;
  static const char *const above[] = {"", "/..", "/../..", "/../share/perigee",
                                      "/../../../share/perigee"};
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
