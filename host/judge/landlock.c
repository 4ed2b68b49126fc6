/* Landlock by its three system calls, from version 1 (files) to 6 (TCP since 4, ioctl since 5,
 * scopes since 6). The numbers are those of the kernel's ABI; headers of older systems lack most.
 */
#include "landlock.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 }; /* on every architecture */
enum { ASK_VERSION = 1, PATH_BENEATH = 1 };
enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_NETWORK = 4, ABI_IOCTL = 5, ABI_SCOPE = 6 };

enum {
  EXECUTE = 1 << 0,
  WRITE_FILE = 1 << 1,
  READ_FILE = 1 << 2,
  READ_DIR = 1 << 3,
  REMOVE_DIR = 1 << 4,
  REMOVE_FILE = 1 << 5,
  MAKE_DIR = 1 << 7,
  MAKE_REG = 1 << 8,
  MAKE_SOCK = 1 << 9,
  MAKE_FIFO = 1 << 10,
  MAKE_SYM = 1 << 12,
  OF_ABI_1 = (1 << 13) - 1, /* all of the first version */
  REFER = 1 << 13,
  TRUNCATE = 1 << 14,
  IOCTL_DEV = 1 << 15,
  OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
};

enum { BIND_TCP = 1, CONNECT_TCP = 2, ABSTRACT_SOCKET = 1, SIGNAL = 2 };

struct ruleset {
  uint64_t files, network, scoped;
};

struct __attribute__((packed)) beneath {
  uint64_t allowed;
  int32_t parent;
};

static uint64_t known_files(int abi) {
  return OF_ABI_1 | (abi >= ABI_REFER ? REFER : 0) | (abi >= ABI_TRUNCATE ? TRUNCATE : 0) |
         (abi >= ABI_IOCTL ? IOCTL_DEV : 0);
}

int pg_landlock_abi(void) {
  long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
  return version > 0 ? (int)version : 0;
}

static bool begin(pg_landlock *l, uint64_t network, uint64_t scoped) {
  *l = (pg_landlock){.ruleset = -1, .abi = pg_landlock_abi()};
  if (l->abi == 0) return false;
  const struct ruleset all = {known_files(l->abi), network, scoped};
  size_t bytes = l->abi >= ABI_SCOPE ? sizeof all : l->abi >= ABI_NETWORK ? 16 : 8;
  l->ruleset = (int)syscall(CREATE_RULESET, &all, bytes, 0); /* close-on-exec by itself */
  return l->ruleset >= 0;
}

bool pg_landlock_begin(pg_landlock *l) {
  return begin(l, BIND_TCP | CONNECT_TCP, ABSTRACT_SOCKET | SIGNAL);
}

bool pg_landlock_begin_files(pg_landlock *l) {
  return begin(l, 0, SIGNAL);
}

static uint64_t rights(unsigned access) {
  uint64_t all = 0;
  if (access & PG_MAY_READ) all |= READ_FILE | READ_DIR;
  if (access & PG_MAY_EXECUTE) all |= EXECUTE;
  if (access & PG_MAY_DRIVE) all |= READ_FILE | WRITE_FILE | IOCTL_DEV;
  if (access & PG_MAY_CHANGE) all |= READ_FILE | WRITE_FILE | TRUNCATE;
  if (access & PG_MAY_ADD)
    all |= READ_DIR | WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | REMOVE_FILE;
  if (access & PG_MAY_WRITE)
    all |=
        WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | MAKE_SYM | REMOVE_FILE | REMOVE_DIR | REFER;
  if (access & PG_MAY_LIST) all |= READ_DIR;
  if (access & PG_MAY_MEET) all |= MAKE_SOCK | MAKE_FIFO;
  return all;
}

void pg_landlock_allow(pg_landlock *l, const char *path, unsigned access) {
  struct stat status;
  if (l->ruleset < 0) return;
  int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  uint64_t allowed = rights(access) & known_files(l->abi);
  if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode)) allowed &= OF_FILES;
  const struct beneath rule = {allowed, fd};
  syscall(ADD_RULE, l->ruleset, PATH_BENEATH, &rule, 0); /* a failure allows less */
  close(fd);
}

static bool is_below(const char *path, const char *folder) {
  size_t n = strlen(folder);
  if (n > 0 && folder[n - 1] == '/') n--; /* the root */
  return strncmp(path, folder, n) == 0 && path[n] == '/';
}

static void allow_entries_but(pg_landlock *l, const char *folder, unsigned access,
                              const char *const *except) {
  char path[PATH_MAX];
  DIR *entries = opendir(folder);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    int n = snprintf(path, sizeof path, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    struct stat status; /* not every file system tells the kind of an entry in its list */
    if (n >= (int)sizeof path || lstat(path, &status) != 0 || S_ISLNK(status.st_mode)) continue;
    pg_landlock_allow_but(l, path, access, except);
  }
  if (entries) closedir(entries);
}

void pg_landlock_allow_but(pg_landlock *l, const char *path, unsigned access,
                           const char *const *except) {
  bool above = false;
  for (const char *const *one = except; *one; one++) {
    if (strcmp(path, *one) == 0 || is_below(path, *one)) return;
    above = above || is_below(*one, path);
  }
  if (above)
    allow_entries_but(l, path, access, except);
  else
    pg_landlock_allow(l, path, access);
}

void pg_landlock_allow_all(pg_landlock *l, const char *pattern, unsigned access) {
  glob_t found;
  if (l->ruleset < 0 || glob(pattern, GLOB_NOSORT, NULL, &found) != 0) return;
  for (size_t i = 0; i < found.gl_pathc; i++) pg_landlock_allow(l, found.gl_pathv[i], access);
  globfree(&found);
}

void pg_landlock_drop(pg_landlock *l) {
  if (l->ruleset >= 0) close(l->ruleset);
  l->ruleset = -1;
}

/* Without /proc nothing is known; then better no promise than a false one. */
static bool one_thread(void) {
  struct stat task;
  return stat("/proc/self/task", &task) == 0 && task.st_nlink == 3; /* ".", "..", the thread */
}

bool pg_landlock_enforce(pg_landlock *l, char names[PG_SANDBOX_MAX]) {
  bool held = l->ruleset >= 0 && one_thread() && syscall(RESTRICT_SELF, l->ruleset, 0) == 0;
  pg_landlock_drop(l);
  if (!held) return false;
  pg_sandbox_note(names, "landlock");
  if (l->abi >= ABI_NETWORK) pg_sandbox_note(names, "landlock-tcp");
  if (l->abi >= ABI_SCOPE) pg_sandbox_note(names, "landlock-scope");
  return true;
}
