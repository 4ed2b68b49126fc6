/* The system as Lua needs it: files, folders, clocks, the terminal.
 * What can fail for reasons outside the program gives nil and an error table; wrong arguments
 * raise. */
#include "../available.h"
#include "../nearest.h"
#include "../now.h"
#include "../parallel.h"
#include "bind.h"
#include "value.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- files ---- */

/* Read at most `limit` bytes of `file` into `text`; the rest makes it PG_RANGE. */
static pg_code read_all(FILE *file, lua_Integer limit, luaL_Buffer *text) {
  lua_Integer total = 0;
  for (;;) {
    char *room = luaL_prepbuffsize(text, BUFSIZ);
    size_t got = fread(room, 1, BUFSIZ, file);
    total += (lua_Integer)got;
    if (total > limit) return PG_RANGE;
    luaL_addsize(text, got);
    if (got < BUFSIZ) return ferror(file) ? PG_IO : PG_OK;
  }
}

static int close_file(lua_State *L) {
  FILE **box = lua_touserdata(L, 1);
  if (*box) fclose(*box);
  *box = NULL;
  return 0;
}

/* A FILE in a box that closes it, whatever is raised meanwhile. */
static FILE **push_file(lua_State *L) {
  FILE **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  pg_lua_closed_by(L, close_file);
  return box;
}

/* sys.read_file(path [, limit]): its bytes, or nil and an error. */
static int sys_read_file(lua_State *L) {
  const char *path = pg_lua_check_path(L, 1);
  lua_Integer limit = lua_isnoneornil(L, 2) ? LUA_MAXINTEGER : pg_lua_check_integer(L, 2);
  FILE **file = push_file(L);
  *file = fopen(path, "re");
  if (!*file) return pg_lua_cannot(L, "read", path);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  pg_code code = read_all(*file, limit, &text);
  if (code == PG_IO) return pg_lua_cannot(L, "read", path);
  luaL_pushresult(&text);
  if (code == PG_OK) return 1;
  pg_error error;
  pg_fail(&error, PG_RANGE, "'%s' is longer than %lld bytes", path, (long long)limit);
  pg_where(&error, "%s", path);
  lua_pushnil(L);
  pg_lua_push_error(L, &error);
  return 2;
}

static int write_all(int fd, const char *bytes, size_t length) {
  while (length) {
    ssize_t done = write(fd, bytes, length);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return -1;
    bytes += done, length -= (size_t)done;
  }
  return 0;
}

/* A new file beside `path`, with the permissions that new files get: mkstemp's are private, and
 * umask, to mend them, is shared by all threads. A descriptor, or -1 and errno. */
static int create_beside(const char *path, char name[PATH_MAX]) {
  for (int n = 0;; n++) {
    if (snprintf(name, PATH_MAX, "%s.%d.%d", path, (int)getpid(), n) >= PATH_MAX) {
      errno = ENAMETOOLONG;
      return -1;
    }
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
}

/* Written beside it, then renamed. 0 or an errno. */
static int replace_file(const char *path, const char *bytes, size_t length) {
  char name[PATH_MAX];
  int fd = create_beside(path, name);
  if (fd < 0) return errno;
  int reason = write_all(fd, bytes, length) ? errno : 0;
  if (close(fd) && !reason) reason = errno;
  if (!reason && rename(name, path)) reason = errno;
  if (reason) unlink(name);
  return reason;
}

static int write_through(const char *path, const char *bytes, size_t length) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int reason = write_all(fd, bytes, length) ? errno : 0;
  return close(fd) && !reason ? errno : reason;
}

/* sys.write_file(path, bytes): true, or nil and an error. Others see the old file or the new one,
 * never a part; a link stays one. What is no file (/dev/null, a pipe) is written, not replaced. */
static int sys_write_file(lua_State *L) {
  const char *path = pg_lua_check_path(L, 1);
  size_t length;
  const char *bytes = pg_lua_check_string(L, 2, &length);
  char target[PATH_MAX];
  struct stat info;
  bool there = realpath(path, target) && stat(target, &info) == 0;
  int reason = there && !S_ISREG(info.st_mode) ? write_through(target, bytes, length)
                                               : replace_file(there ? target : path, bytes, length);
  if (reason) {
    errno = reason;
    return pg_lua_cannot(L, "write", path);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* sys.file_info(path): {type="file"|"dir"|"other", size, mtime} or nil and an error. */
static int sys_file_info(lua_State *L) {
  const char *path = pg_lua_check_path(L, 1);
  struct stat info;
  if (stat(path, &info)) return pg_lua_cannot(L, "find", path);
  const char *type = S_ISREG(info.st_mode) ? "file" : S_ISDIR(info.st_mode) ? "dir" : "other";
  lua_createtable(L, 0, 3);
  lua_pushstring(L, type), lua_setfield(L, -2, "type");
  lua_pushinteger(L, info.st_size), lua_setfield(L, -2, "size");
  lua_pushnumber(L, (double)info.st_mtim.tv_sec + (double)info.st_mtim.tv_nsec * 1e-9);
  lua_setfield(L, -2, "mtime");
  return 1;
}

/* ---- folders ---- */

static int not_dots(const struct dirent *entry) {
  return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

/* sys.list_dir(path): names in byte order without . and .., or nil and an error. */
static int sys_list_dir(lua_State *L) {
  const char *path = pg_lua_check_path(L, 1);
  struct dirent **entries;
  int count = scandir(path, &entries, not_dots, by_name);
  if (count < 0) return pg_lua_cannot(L, "list", path);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushstring(L, entries[i]->d_name);
    lua_rawseti(L, -2, i + 1);
    free(entries[i]);
  }
  free(entries);
  return 1;
}

/* sys.mkdir_all(path): true, or nil and an error. */
static int sys_mkdir_all(lua_State *L) {
  const char *path = pg_lua_check_path(L, 1);
  char part[PATH_MAX];
  struct stat info;
  if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) {
    errno = ENAMETOOLONG;
    return pg_lua_cannot(L, "make", path);
  }
  for (char *at = part + 1; *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    if (mkdir(part, 0777) && errno != EEXIST) return pg_lua_cannot(L, "make", part);
    *at = '/';
  }
  if (mkdir(part, 0777) && errno != EEXIST) return pg_lua_cannot(L, "make", path);
  if (stat(part, &info) == 0 && !S_ISDIR(info.st_mode)) {
    errno = ENOTDIR;
    return pg_lua_cannot(L, "make", path);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* sys.lock(path): a lock that other processes respect, as a file (its close gives it back); nil
 * when another process holds it; nil and an error. The file is made, and stays unless who holds the
 * lock removes it. */
static int sys_lock(lua_State *L) {
  const char *path = pg_lua_check_path(L, 1);
  FILE **file = push_file(L);
  struct stat info = {.st_nlink = 0};
  while (info.st_nlink == 0) { /* else who held it has just removed it */
    if (*file) fclose(*file);
    *file = fopen(path, "ae");
    if (!*file) return pg_lua_cannot(L, "lock", path);
    if (flock(fileno(*file), LOCK_EX | LOCK_NB)) break;
    if (fstat(fileno(*file), &info)) return pg_lua_cannot(L, "lock", path);
  }
  if (info.st_nlink > 0) return 1;
  if (errno != EWOULDBLOCK) return pg_lua_cannot(L, "lock", path);
  fclose(*file); /* whoever waits asks often */
  *file = NULL;
  lua_pushnil(L);
  return 1;
}

static int sys_realpath(lua_State *L) {
  const char *path = pg_lua_check_path(L, 1);
  char resolved[PATH_MAX];
  if (!realpath(path, resolved)) return pg_lua_cannot(L, "find", path);
  lua_pushstring(L, resolved);
  return 1;
}

/* ---- clocks, process, terminal ---- */

/* Seconds of a clock that never goes back. */
static int sys_now(lua_State *L) {
  lua_pushnumber(L, pg_now());
  return 1;
}

/* "2026-05-01T12:00:00Z" */
static int sys_utc(lua_State *L) {
  char text[32];
  struct tm parts;
  time_t now = time(NULL);
  gmtime_r(&now, &parts);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  lua_pushstring(L, text);
  return 1;
}

/* Set by the handler, which may do no more. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
  (void)number;
  interrupted = 1;
}

/* sys.catch_interrupt(): from now on the first SIGINT or SIGTERM is only noted; the second ends the
 * process as ever. */
static int sys_catch_interrupt(lua_State *L) {
  (void)L;
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  interrupted = 0;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  return 0;
}

/* sys.release_interrupt([ignore]): SIGTERM ends the process again, and so does SIGINT unless it is
 * to be ignored. */
static int sys_release_interrupt(lua_State *L) {
  signal(SIGINT, lua_toboolean(L, 1) ? SIG_IGN : SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  return 0;
}

/* sys.interrupted(): whether one was noted. */
static int sys_interrupted(lua_State *L) {
  lua_pushboolean(L, interrupted);
  return 1;
}

static int sys_isatty(lua_State *L) {
  lua_Integer fd = pg_lua_check_integer(L, 1);
  lua_pushboolean(L, fd >= 0 && fd <= INT_MAX && isatty((int)fd));
  return 1;
}

static int sys_cpu_count(lua_State *L) {
  lua_pushinteger(L, pg_cores());
  return 1;
}

/* sys.available_memory(): bytes that the kernel could give without swapping. */
static int sys_available_memory(lua_State *L) {
  size_t bytes = pg_available_memory();
  lua_pushinteger(L, bytes < LUA_MAXINTEGER ? (lua_Integer)bytes : LUA_MAXINTEGER);
  return 1;
}

static int sys_getpid(lua_State *L) {
  lua_pushinteger(L, getpid());
  return 1;
}

/* Width of the terminal on stdout or stderr; else $COLUMNS; else 80. */
static int sys_columns(lua_State *L) {
  struct winsize size = {0};
  const char *given = getenv("COLUMNS");
  int width = 0;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0)
    width = size.ws_col;
  if (width == 0 && given) width = (int)strtol(given, NULL, 10);
  lua_pushinteger(L, width > 0 ? width : 80);
  return 1;
}

/* ---- names ---- */

/* sys.nearest(name, names): the nearest of a list of strings, or nil when none is near. */
static int sys_nearest(lua_State *L) {
  size_t length;
  const char *wanted = pg_lua_check_string(L, 1, &length);
  if (!lua_istable(L, 2)) return pg_lua_argument(L, 2, "list of names");
  size_t count = lua_rawlen(L, 2);
  const char **names = lua_newuserdatauv(L, (count + 1) * sizeof *names, 0);
  for (size_t i = 0; i < count; i++) {
    if (lua_rawgeti(L, 2, (lua_Integer)i + 1) != LUA_TSTRING)
      return pg_lua_argument(L, 2, "list of names");
    names[i] = lua_tostring(L, -1); /* the list holds the string */
    lua_pop(L, 1);
  }
  lua_pushstring(L, pg_nearest(wanted, names, count));
  return 1;
}

void pg_bind_sys(lua_State *L) {
  static const luaL_Reg functions[] = {{"read_file", sys_read_file},
                                       {"write_file", sys_write_file},
                                       {"file_info", sys_file_info},
                                       {"list_dir", sys_list_dir},
                                       {"mkdir_all", sys_mkdir_all},
                                       {"lock", sys_lock},
                                       {"temporary_folder", pg_lua_temporary_folder},
                                       {"realpath", sys_realpath},
                                       {"now", sys_now},
                                       {"utc", sys_utc},
                                       {"catch_interrupt", sys_catch_interrupt},
                                       {"release_interrupt", sys_release_interrupt},
                                       {"interrupted", sys_interrupted},
                                       {"isatty", sys_isatty},
                                       {"cpu_count", sys_cpu_count},
                                       {"available_memory", sys_available_memory},
                                       {"getpid", sys_getpid},
                                       {"columns", sys_columns},
                                       {"nearest", sys_nearest},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
