/* Slabs of memory for sim:check. See slab.h. */
#include "slab.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Small kernels shall not pay for a large page: slabs grow up to its size. */
enum { SLAB_FIRST = 1 << 18, SLAB_LARGE = 1 << 21 };

struct sim_slab {
  void *memory;
  struct sim_slab *next;
};

void sim_slabs_init(sim_slabs *s, uint64_t limit) {
  *s = (sim_slabs){.limit = limit, .next_bytes = SLAB_FIRST};
  pthread_mutex_init(&s->lock, NULL);
}

void sim_slabs_clear(sim_slabs *s) {
  while (s->slabs) {
    struct sim_slab *next = s->slabs->next;
    free(s->slabs->memory);
    free(s->slabs);
    s->slabs = next;
  }
  pthread_mutex_destroy(&s->lock);
}

static bool add_slab(sim_slabs *s) {
  struct sim_slab *slab = malloc(sizeof *slab);
  void *memory = slab ? aligned_alloc(s->next_bytes, s->next_bytes) : NULL;
  if (!memory) {
    free(slab);
    return false;
  }
  if (s->next_bytes == SLAB_LARGE) madvise(memory, s->next_bytes, MADV_HUGEPAGE);
  *slab = (struct sim_slab){memory, s->slabs};
  s->slabs = slab;
  s->at = memory;
  s->left = s->next_bytes;
  if (s->next_bytes < SLAB_LARGE) s->next_bytes *= 2;
  return true;
}

static void *cut(sim_slabs *s, size_t bytes) {
  if (s->left < bytes && !add_slab(s)) return NULL;
  void *block = s->at;
  s->at += bytes;
  s->left -= bytes;
  return block;
}

void *sim_slabs_take(sim_slabs *s, size_t bytes) {
  int size = __builtin_ctzll(bytes);
  assert(size >= SIM_SLAB_LEAST && size <= SIM_SLAB_MOST && bytes == (size_t)1 << size);
  pthread_mutex_lock(&s->lock);
  void *block = NULL;
  if (s->held + bytes > s->limit) {
    /* none */
  } else if (s->spare[size]) {
    block = s->spare[size];
    memcpy(&s->spare[size], block, sizeof(void *));
  } else {
    block = cut(s, bytes);
  }
  if (block) s->held += bytes;
  pthread_mutex_unlock(&s->lock);
  return block ? memset(block, 0, bytes) : NULL;
}

void sim_slabs_give(sim_slabs *s, void *block, size_t bytes) {
  if (!block) return;
  int size = __builtin_ctzll(bytes);
  pthread_mutex_lock(&s->lock);
  memcpy(block, &s->spare[size], sizeof(void *));
  s->spare[size] = block;
  s->held -= bytes;
  pthread_mutex_unlock(&s->lock);
}
