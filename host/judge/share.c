/* Sealed shared memory.
 * memfd pages are not accounted when made, so what the machine has available is checked first. */
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../available.h"

static const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

static pg_code map(int descriptor, size_t bytes, pg_shared **out, pg_error *error) {
  pg_shared *s = malloc(sizeof *s);
  if (!s) return pg_fail(error, PG_MEMORY, "no memory to describe shared memory");
  void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) {
    free(s);
    return pg_fail(error, PG_MEMORY, "cannot map %zu bytes of shared memory: %s", bytes,
                   strerror(errno));
  }
  *s = (pg_shared){.data = data, .bytes = bytes, .users = 1};
  *out = s;
  return PG_OK;
}

pg_code pg_shared_new(size_t bytes, pg_shared **out, int *descriptor, pg_error *error) {
  *out = NULL;
  *descriptor = -1;
  if (bytes == 0 || bytes > INT64_MAX)
    return pg_fail(error, PG_RANGE, "shared memory must have 1 byte or more, got %zu", bytes);
  size_t free_bytes = pg_available_memory();
  if (bytes > free_bytes) {
    pg_fail(error, PG_MEMORY, "%zu bytes of shared memory were asked for, %zu are available", bytes,
            free_bytes);
    return pg_hint(error, "use smaller sizes, or fewer arrays at a time");
  }
  int fd = memfd_create("perigee", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return pg_fail(error, PG_ENVIRONMENT, "memfd_create: %s", strerror(errno));
  pg_code code = PG_OK;
  if (ftruncate(fd, (off_t)bytes) < 0 || fcntl(fd, F_ADD_SEALS, seals) < 0)
    code = pg_fail(error, PG_MEMORY, "cannot make %zu bytes of shared memory: %s", bytes,
                   strerror(errno));
  else
    code = map(fd, bytes, out, error);
  if (code)
    close(fd);
  else
    *descriptor = fd;
  return code;
}

pg_code pg_shared_map(int descriptor, size_t bytes, pg_shared **out, pg_error *error) {
  struct stat s;
  *out = NULL;
  if (fstat(descriptor, &s) < 0 || !S_ISREG(s.st_mode))
    return pg_fail(error, PG_INVALID, "the descriptor passed is no memory");
  if (bytes == 0 || s.st_size < 0 || (uint64_t)s.st_size < bytes)
    return pg_fail(error, PG_INVALID, "the memory passed has %lld bytes, the request says %zu",
                   (long long)s.st_size, bytes);
  int have = fcntl(descriptor, F_GET_SEALS);
  if (have < 0 || !(have & F_SEAL_SHRINK))
    return pg_fail(error, PG_INVALID, "the memory passed is not sealed against shrinking");
  return map(descriptor, bytes, out, error);
}

pg_shared *pg_shared_retain(pg_shared *shared) {
  shared->users++;
  return shared;
}

void pg_shared_release(pg_shared *shared) {
  if (!shared || --shared->users > 0) return;
  munmap(shared->data, shared->bytes);
  free(shared);
}
