/* Memory for what sim:check remembers of global memory: blocks of 2^11 to 2^18 bytes, cut from
 * slabs that the system may back with large pages, because they are accessed as scattered as a
 * kernel's memory is. Owns its slabs, and so every block; counted against a limit. */
#ifndef PG_SIM_SLAB_H
#define PG_SIM_SLAB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_SLAB_LEAST = 11, SIM_SLAB_MOST = 18 };

typedef struct sim_slabs {
  pthread_mutex_t lock;
  uint64_t held, limit;
  uint8_t *at; /* what is left of the newest slab */
  size_t left, next_bytes;
  struct sim_slab *slabs;
  void *spare[SIM_SLAB_MOST + 1]; /* blocks that were given back, by the logarithm of their size */
} sim_slabs;

void sim_slabs_init(sim_slabs *s, uint64_t limit);
void sim_slabs_clear(sim_slabs *s);
/* A zeroed block of a power of two of bytes; NULL: no memory, or past the limit. */
void *sim_slabs_take(sim_slabs *s, size_t bytes);
void sim_slabs_give(sim_slabs *s, void *block, size_t bytes); /* NULL is left alone */

#endif
