/* Folders for what is not to stay. Each is locked as long as its maker lives, whatever process
 * namespace that is in; so those of makers that were killed are known, and removed by the next. */
#include "../judge/remove.h"
#include "bind.h"
#include "value.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "perigee-run-"

enum { YOUNG_S = 60, SWEEP_MOST = 16 }; /* its maker may be about to lock it; folders at a time */

/* The folder, locked; -1 when another holds it or it cannot be. */
static int hold(const char *path) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

static bool is_old_and_ours(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         time(NULL) - info.st_mtime > YOUNG_S;
}

/* Remove what those left that were killed. */
static void sweep(const char *top) {
  DIR *stream = opendir(top);
  int removed = 0;
  for (struct dirent *entry; stream && removed < SWEEP_MOST && (entry = readdir(stream));) {
    char path[PATH_MAX];
    if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0) continue;
    if (snprintf(path, sizeof path, "%s/%s", top, entry->d_name) >= (int)sizeof path) continue;
    int fd = is_old_and_ours(path) ? hold(path) : -1;
    if (fd < 0) continue;
    removed += pg_remove_folder(path);
    close(fd);
  }
  if (stream) closedir(stream);
}

static int close_holder(lua_State *L) {
  int *fd = lua_touserdata(L, 1);
  if (*fd >= 0) close(*fd);
  *fd = -1;
  return 0;
}

static int *push_holder(lua_State *L) {
  int *fd = lua_newuserdatauv(L, sizeof *fd, 0);
  *fd = -1;
  pg_lua_closed_by(L, close_holder);
  return fd;
}

/* core.temporary_folder([folder]): the path of a new folder in `folder`, else in $TMPDIR or /tmp,
 * and what is to be kept as long as it; or nil and an error. No other process or thread has the
 * name. */
int pg_lua_temporary_folder(lua_State *L) {
  const char *given = getenv("TMPDIR"), *top = given && *given ? given : "/tmp";
  if (!lua_isnoneornil(L, 1)) top = pg_lua_check_path(L, 1);
  char path[PATH_MAX];
  sweep(top);
  if (snprintf(path, sizeof path, "%s/" PREFIX "XXXXXX", top) >= (int)sizeof path) {
    errno = ENAMETOOLONG;
    return pg_lua_cannot(L, "make a folder in", top);
  }
  if (!mkdtemp(path)) return pg_lua_cannot(L, "make a folder in", top);
  lua_pushstring(L, path);
  int *fd = push_holder(L);
  *fd = hold(path);
  return 2;
}
