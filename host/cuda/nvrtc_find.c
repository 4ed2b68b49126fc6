/* Finding NVRTC without running anything: named folders, in order; the first that holds one wins,
 * and within a place the newest version. */
#include "nvrtc.h"

#include <dlfcn.h>
#include <glob.h>
#include <libgen.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../home.h"

/* libnvrtc.so.13 -> 1300, libnvrtc.so.11.2 -> 1102, libnvrtc.so.12.8.93 -> 1208, libnvrtc.so -> 1.
 */
static int version_of(const char *path) {
  const char *suffix = strstr(path, "libnvrtc.so");
  if (!suffix) return 0;
  int major = 0, minor = 0;
  if (sscanf(suffix, "libnvrtc.so.%d.%d", &major, &minor) < 1) return 1;
  return major >= 11 ? 100 * major + minor : 0;
}

static bool look_in(const char *folder, char best[PATH_MAX]) {
  char pattern[PATH_MAX];
  glob_t found;
  int version = best[0] ? version_of(best) : 0;
  if (snprintf(pattern, sizeof pattern, "%s/libnvrtc.so*", folder) >= (int)sizeof pattern)
    return false;
  if (glob(pattern, 0, NULL, &found) != 0) return best[0] != '\0';
  for (size_t i = 0; i < found.gl_pathc; i++) {
    if (version_of(found.gl_pathv[i]) <= version) continue;
    version = version_of(found.gl_pathv[i]);
    snprintf(best, PATH_MAX, "%s", found.gl_pathv[i]);
  }
  globfree(&found);
  return best[0] != '\0';
}

/* Folders that match a pattern; a pattern that starts with an unset part (empty) matches nothing.
 */
__attribute__((format(printf, 3, 4))) static bool look(char best[PATH_MAX], const char *root,
                                                       const char *format, ...) {
  char pattern[PATH_MAX], rest[256];
  glob_t found;
  if (!root || !root[0]) return false;
  va_list args;
  va_start(args, format);
  vsnprintf(rest, sizeof rest, format, args);
  va_end(args);
  if (snprintf(pattern, sizeof pattern, "%s%s", root, rest) >= (int)sizeof pattern) return false;
  if (glob(pattern, GLOB_ONLYDIR, NULL, &found) != 0) return false;
  for (size_t i = 0; i < found.gl_pathc; i++) look_in(found.gl_pathv[i], best);
  globfree(&found);
  return best[0] != '\0';
}

/* Where pip puts libraries under a site-packages folder: one folder a component, or one a CUDA
 * version. */
static bool look_site(char best[PATH_MAX], const char *root, const char *site) {
  return look(best, root, "%s/nvidia/cu1[1-9]/lib", site) ||
         look(best, root, "%s/nvidia/cuda_nvrtc/lib", site);
}

static bool look_prefix(char best[PATH_MAX], const char *prefix) {
  return look_site(best, prefix, "/lib/python3*/site-packages") || look(best, prefix, "/lib");
}

static bool look_toolkit(char best[PATH_MAX], const char *root) {
  return look(best, root, "/lib64") || look(best, root, "/lib") ||
         look(best, root, "/targets/*/lib");
}

/* The folder that the user named, then that of this program or library (a build folder, or the root
 * of a distribution) and around it. */
static bool look_beside(char best[PATH_MAX]) {
  const char *home = getenv("PERIGEE_HOME");
  if (look_prefix(best, home) || look_site(best, home, "/build/deps/nvrtc")) return true;
  char folder[PG_PATH_MAX];
  if (pg_own_folder(folder, NULL)) return false;
  return look(best, folder, "%s", "") || look(best, folder, "/lib") ||
         look_site(best, folder, "/deps/nvrtc") || look_site(best, folder, "/../deps/nvrtc");
}

static bool look_list(char best[PATH_MAX], const char *list) {
  char folder[PATH_MAX];
  while (list && *list) {
    size_t length = strcspn(list, ":");
    if (length && length < sizeof folder) {
      memcpy(folder, list, length);
      folder[length] = '\0';
      if (look_in(folder, best)) return true;
    }
    list += length + (list[length] == ':');
  }
  return false;
}

/* The environment of the python3 on PATH: its prefix is two folders up, with and without following
 * the link, which in a virtual environment leads to another prefix. */
static bool look_python(char best[PATH_MAX]) {
  char path[PATH_MAX], real[PATH_MAX];
  for (const char *list = getenv("PATH"); list && *list;) {
    size_t length = strcspn(list, ":");
    int written = snprintf(path, sizeof path, "%.*s/python3", (int)length, list);
    list += length + (list[length] == ':');
    if (written >= (int)sizeof path || access(path, X_OK) != 0) continue;
    if (!realpath(path, real)) return false;
    return look_prefix(best, dirname(dirname(path))) || look_prefix(best, dirname(dirname(real)));
  }
  return false;
}

static bool look_wheels(char best[PATH_MAX]) {
  const char *home = getenv("HOME");
  return look_prefix(best, getenv("VIRTUAL_ENV")) || look_prefix(best, getenv("CONDA_PREFIX")) ||
         look_python(best) || look_site(best, home, "/.local/lib/python3*/site-packages") ||
         look_site(best, "/usr/local/lib", "/python3*/*-packages") ||
         look_site(best, "/usr/lib", "/python3*/*-packages") ||
         look_site(best, "/opt", "/*/.venv/lib/python3*/site-packages") ||
         look_site(best, "/opt", "/*/lib/python3*/site-packages") ||
         look_site(best, home, "/.pyenv/versions/*/lib/python3*/site-packages");
}

static bool look_system(char best[PATH_MAX]) {
  return look_toolkit(best, "/usr/local/cuda") || look(best, "/usr/local", "/cuda-*/lib64") ||
         look(best, "/usr/local", "/cuda-*/targets/*/lib") || look_toolkit(best, "/opt/cuda") ||
         look(best, "/usr/lib", "/*-linux-gnu") || look(best, "/usr", "/lib64");
}

/* Last, whatever else the loader knows (ld.so.conf). */
static bool look_loader(char best[PATH_MAX]) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *library = dlopen(names[i], RTLD_LAZY);
    struct link_map *map = NULL;
    if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map) continue;
    snprintf(best, PATH_MAX, "%s", map->l_name);
    return true;
  }
  return false;
}

static pg_code find_named(const char *named, char path[PATH_MAX], pg_error *error) {
  struct stat status;
  if (stat(named, &status) == 0 && S_ISREG(status.st_mode) && realpath(named, path)) return PG_OK;
  if (look_in(named, path) || look_toolkit(path, named)) return PG_OK;
  pg_fail(error, PG_ENVIRONMENT, "PERIGEE_NVRTC=%s holds no libnvrtc.so", named);
  return pg_hint(error, "name the library or its folder, or unset PERIGEE_NVRTC");
}

pg_code pg_nvrtc_find(char path[PATH_MAX], pg_error *error) {
  const char *named = getenv("PERIGEE_NVRTC");
  path[0] = '\0';
  if (named && named[0]) return find_named(named, path, error);
  if (look_beside(path) || look_toolkit(path, getenv("CUDA_HOME")) ||
      look_toolkit(path, getenv("CUDA_PATH")) || look_list(path, getenv("LD_LIBRARY_PATH")) ||
      look_system(path) || look_wheels(path) || look_loader(path))
    return PG_OK;
  pg_fail(error, PG_ENVIRONMENT, "no NVRTC (libnvrtc.so), which compiles CUDA C++");
  return pg_hint(error,
                 "`make deps-nvrtc` or `pip install nvidia-cuda-nvrtc` gets one; looked beside "
                 "the program, in CUDA_HOME, CUDA_PATH, LD_LIBRARY_PATH, /usr/local/cuda*, "
                 "/usr/lib and Python's packages; PERIGEE_NVRTC names its folder");
}

static bool add_headers(const char *folder, const char *has, char option[PATH_MAX + 2]) {
  char file[PATH_MAX], real[PATH_MAX];
  if (snprintf(file, sizeof file, "%s/%s", folder, has) >= (int)sizeof file) return false;
  if (access(file, R_OK) != 0 || !realpath(folder, real)) return false;
  snprintf(option, PATH_MAX + 2, "-I%s", real);
  return true;
}

int pg_nvrtc_headers(const char *library, char options[2][PATH_MAX + 2]) {
  /* beside lib/ in a toolkit and in the newer wheels; in the older ones, beside the component's
   * folder */
  static const char *const places[] = {"../include", "../../include", "../../cuda_runtime/include",
                                       "../../cuda_cccl/include", "../include/cccl"};
  char real[PATH_MAX], folder[PATH_MAX];
  int count = 0;
  bool fp16 = false, cccl = false;
  if (!realpath(library, real)) return 0;
  const char *lib = dirname(real);
  for (size_t i = 0; i < sizeof places / sizeof *places && count < 2; i++) {
    if (snprintf(folder, sizeof folder, "%s/%s", lib, places[i]) >= (int)sizeof folder) break;
    if (!fp16 && add_headers(folder, "cuda_fp16.h", options[count])) {
      fp16 = true;
      count++;
    } else if (!cccl && add_headers(folder, "cuda/std/cstdint", options[count])) {
      cccl = true;
      count++;
    }
  }
  return count;
}
