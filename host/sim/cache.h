/* sim:profile's model of the caches of one GPU: an L1 for each multiprocessor, one L2, lines of 128
 * bytes in sectors of 32. Cold when a launch starts. Not thread-safe: a profiled launch has one
 * worker. */
#ifndef PG_SIM_CACHE_H
#define PG_SIM_CACHE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_caches sim_caches;

/* For a launch of blocks with so many threads and bytes of shared memory; NULL: no memory. */
sim_caches *sim_caches_new(uint32_t threads, uint64_t shared_bytes);
void sim_caches_free(sim_caches *c);
/* One sector (address / 32). Whether it was there; a load brings it in, a store does not. */
bool sim_l1_load(sim_caches *c, uint32_t multiprocessor, uint64_t sector);
bool sim_l1_store(sim_caches *c, uint32_t multiprocessor, uint64_t sector);
void sim_l1_drop(sim_caches *c, uint32_t multiprocessor, uint64_t sector); /* an atomic's */
/* A store needs no data from memory: it hits always, and the sector is there afterwards. */
bool sim_l2_access(sim_caches *c, uint64_t sector, bool store);

#endif
