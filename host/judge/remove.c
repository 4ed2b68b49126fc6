/* Nothing is named by a path: that of a folder in a folder in a folder can be longer than any
 * call takes. Instead each folder that holds others hands them up to the top, and is removed. */
#include "remove.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder `name` in `at` as a stream, NULL when it is none. Who made it may have forbidden to
 * read it. */
static DIR *open_folder(int at, const char *name) {
  struct stat info;
  if (fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(info.st_mode)) return NULL;
  fchmodat(at, name, 0700, 0);
  int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *stream = fd < 0 ? NULL : fdopendir(fd);
  if (fd >= 0 && !stream) close(fd);
  return stream;
}

static const char *next_name(DIR *stream) {
  struct dirent *entry;
  do entry = readdir(stream);
  while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
  return entry ? entry->d_name : NULL;
}

/* Empty a folder of `top`: what is no folder goes, folders that hold something move up. */
static void hand_up(int top, DIR *folder, unsigned *moved) {
  char to[32];
  for (const char *name; (name = next_name(folder));) {
    int at = dirfd(folder);
    if (unlinkat(at, name, 0) == 0 || unlinkat(at, name, AT_REMOVEDIR) == 0) continue;
    fchmodat(at, name, 0700, 0); /* to move a folder is to write its ".." */
    do snprintf(to, sizeof to, "moved-%u", (*moved)++);
    while (faccessat(top, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    renameat(at, name, top, to);
  }
}

/* One pass over the top; false when it was empty. */
static bool pass(DIR *top, unsigned *moved) {
  bool some = false;
  rewinddir(top);
  for (const char *name; (name = next_name(top)); some = true) {
    if (unlinkat(dirfd(top), name, 0) == 0) continue;
    DIR *folder = open_folder(dirfd(top), name);
    if (folder) hand_up(dirfd(top), folder, moved);
    if (folder) closedir(folder);
    unlinkat(dirfd(top), name, AT_REMOVEDIR);
  }
  return some;
}

bool pg_remove_folder(const char *path) {
  enum { PASSES_MOST = 100000 }; /* one a level; should nothing go any more, this ends */
  unsigned moved = 0;
  DIR *top = open_folder(AT_FDCWD, path);
  if (!top) return false;
  for (int i = 0; i < PASSES_MOST && pass(top, &moved); i++) continue;
  closedir(top);
  return rmdir(path) == 0;
}
