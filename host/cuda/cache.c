/* One file an entry: a line of magic, a line with the SHA-256 of the rest, the rest. A file that
 * does not fit its checksum counts as absent and is overwritten by the next write. */
#include "cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../now.h"

static const char magic[] = "perigee cache 1\n";
enum {
  HEAD = sizeof magic - 1 + PG_SHA_HEX, /* the checksum's zero is a newline in the file */
  ENTRY_MAX = 256 << 20,
  CACHE_MAX = 512 << 20
};

static bool name_folder(char out[PATH_MAX]) {
  const char *named = getenv("PERIGEE_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
  const char *home = getenv("HOME");
  int length = -1;
  if (named && named[0]) {
    if (!strcmp(named, "off") || !strcmp(named, "0")) return false;
    length = snprintf(out, PATH_MAX, "%s/ptx", named);
  } else if (xdg && xdg[0] == '/') {
    length = snprintf(out, PATH_MAX, "%s/perigee/ptx", xdg);
  } else if (home && home[0] == '/') {
    length = snprintf(out, PATH_MAX, "%s/.cache/perigee/ptx", home);
  }
  return length > 0 && length < PATH_MAX - 128;
}

/* FOLDER/ab/cdef... of key "abcdef..." */
static bool entry_path(const char *key, char out[PATH_MAX]) {
  char folder[PATH_MAX];
  return name_folder(folder) &&
         snprintf(out, PATH_MAX, "%s/%.2s/%s", folder, key, key + 2) < PATH_MAX;
}

static char *read_whole(int file, size_t *bytes) {
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > ENTRY_MAX)
    return NULL;
  size_t size = (size_t)status.st_size, done = 0;
  char *data = malloc(size + 1);
  while (data && done < size) {
    ssize_t part = read(file, data + done, size - done);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) break;
    done += (size_t)part;
  }
  if (data) data[done] = '\0';
  *bytes = done;
  return data;
}

char *pg_cache_read(const char key[PG_SHA_HEX], size_t *bytes) {
  char path[PATH_MAX], hex[PG_SHA_HEX];
  if (!entry_path(key, path)) return NULL;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe there must not make us wait */
  if (file < 0) return NULL;
  size_t size = 0;
  char *data = read_whole(file, &size);
  if (data && size >= HEAD && !memcmp(data, magic, sizeof magic - 1)) {
    pg_sha256(data + HEAD, size - HEAD, hex);
    if (!memcmp(hex, data + sizeof magic - 1, PG_SHA_HEX - 1)) {
      futimens(file, NULL); /* used just now; trimming drops the oldest */
      close(file);
      *bytes = size - HEAD;
      memmove(data, data + HEAD, *bytes + 1);
      return data;
    }
  }
  close(file);
  free(data);
  return NULL;
}

static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0777);
    *slash = '/';
  }
}

bool pg_cache_folder(char *out) {
  if (!name_folder(out)) return false;
  size_t length = strlen(out);
  strcat(out, "/"); /* name_folder leaves room */
  make_folders(out);
  out[length] = '\0';
  return true;
}

static bool write_all(int file, const void *data, size_t bytes) {
  const char *at = data;
  while (bytes) {
    ssize_t part = write(file, at, bytes);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    at += part;
    bytes -= (size_t)part;
  }
  return true;
}

/* ---- trimming ---- */

typedef struct entry {
  char name[PG_SHA_HEX + 8];
  time_t used;
  off_t bytes;
} entry;

static int older(const void *a, const void *b) {
  time_t x = ((const entry *)a)->used, y = ((const entry *)b)->used;
  return x < y ? -1 : x > y;
}

static entry *list_entries(int folder, size_t *count) {
  DIR *open_folder = fdopendir(folder);
  entry *entries = NULL;
  size_t room = 0;
  *count = 0;
  for (struct dirent *d; open_folder && (d = readdir(open_folder));) {
    struct stat status;
    size_t length = strlen(d->d_name);
    if (d->d_name[0] == '.' || length >= sizeof entries->name) continue;
    if (fstatat(dirfd(open_folder), d->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (*count == room) {
      room = room ? 2 * room : 64;
      entry *grown = realloc(entries, room * sizeof *grown);
      if (!grown) break;
      entries = grown;
    }
    entry *e = &entries[(*count)++];
    memcpy(e->name, d->d_name, length + 1);
    e->used = status.st_mtime;
    e->bytes = status.st_size;
  }
  if (open_folder)
    closedir(open_folder);
  else if (folder >= 0)
    close(folder);
  return entries;
}

/* Keys are uniform, so each of the 256 sub-folders gets its share of the limit: trimming looks into
 * one. */
static void trim(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  size_t count;
  off_t total = 0;
  int listed = dup(folder);
  entry *entries = list_entries(listed, &count);
  for (size_t i = 0; i < count; i++) total += entries[i].bytes;
  if (count) qsort(entries, count, sizeof *entries, older);
  for (size_t i = 0; i + 1 < count && total > CACHE_MAX / 256; i++) {
    if (unlinkat(folder, entries[i].name, 0) == 0) total -= entries[i].bytes;
  }
  free(entries);
  close(folder);
}

void pg_cache_write(const char key[PG_SHA_HEX], const void *data, size_t bytes) {
  char path[PATH_MAX], temporary[PATH_MAX], hex[PG_SHA_HEX];
  if (bytes > ENTRY_MAX - HEAD || !entry_path(key, path)) return;
  char *name = strrchr(path, '/');
  if (snprintf(temporary, sizeof temporary, "%.*s/new.%d.%.0f", (int)(name - path), path,
               (int)getpid(), 1e9 * pg_now()) >= PATH_MAX)
    return;
  make_folders(path);
  /* For writing only: a compiler that is confined may add to the cache and read none of it. */
  int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  pg_sha256(data, bytes, hex);
  hex[PG_SHA_HEX - 1] = '\n';
  bool whole = write_all(file, magic, sizeof magic - 1) && write_all(file, hex, sizeof hex) &&
               write_all(file, data, bytes);
  if (close(file) != 0 || !whole || rename(temporary, path) != 0) unlink(temporary);
  *name = '\0';
  trim(path);
}
