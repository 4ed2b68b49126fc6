/* Loops over independent parts: threads take the next part from a counter, the caller's thread
 * among them. */
#include "parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 16, COPY_PART = 4 << 20 };

typedef struct loop {
  pg_body *body;
  void *context;
  size_t parts;
  atomic_size_t next;
} loop;

static void *run(void *argument) {
  loop *l = argument;
  for (size_t part; (part = atomic_fetch_add(&l->next, 1)) < l->parts;) l->body(l->context, part);
  return NULL;
}

int pg_cores(void) {
  cpu_set_t set;
  long n =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  return n > 1 ? (int)n : 1;
}

void pg_parallel(size_t parts, pg_body *body, void *context) {
  loop l = {.body = body, .context = context, .parts = parts};
  pthread_t threads[MAX_THREADS];
  size_t wanted = parts > 1 ? (size_t)pg_cores() : 1, started = 0;
  if (wanted > parts) wanted = parts;
  if (wanted > MAX_THREADS) wanted = MAX_THREADS;
  while (started + 1 < wanted && pthread_create(&threads[started], NULL, run, &l) == 0) started++;
  run(&l);
  while (started > 0) pthread_join(threads[--started], NULL);
}

typedef struct copy {
  char *to;
  const char *from;
  size_t bytes;
} copy;

static void copy_part(void *context, size_t part) {
  const copy *c = context;
  size_t first = part * COPY_PART, left = c->bytes - first;
  memcpy(c->to + first, c->from + first, left < COPY_PART ? left : COPY_PART);
}

void pg_copy(void *to, const void *from, size_t bytes) {
  copy c = {to, from, bytes};
  if (bytes) pg_parallel((bytes + COPY_PART - 1) / COPY_PART, copy_part, &c);
}
