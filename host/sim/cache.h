/* sim:profile's model of the caches of one GPU: an L1 for each multiprocessor and an L2 of two
 * partitions, lines of 128 bytes in sectors of 32. Cold when a launch starts. Not thread-safe: a
 * profiled launch has one worker. README.md says on what measurements the rules rest. */
#ifndef PG_SIM_CACHE_H
#define PG_SIM_CACHE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_caches sim_caches;

/* For a launch of blocks with so many threads and bytes of shared memory; NULL: no memory. */
sim_caches *sim_caches_new(uint32_t threads, uint64_t shared_bytes);
void sim_caches_free(sim_caches *c);

/* A hint, ahead of what follows: these sectors will be looked up. */
void sim_caches_expect(const sim_caches *c, uint32_t multiprocessor, uint64_t sector);

/* One sector (address / 32) in the L1 of a multiprocessor; whether it was there. A load hits when
 * all of the sector is there, and brings it in. A store hits what a load or a store has brought,
 * and what it covers entirely is there for loads. */
bool sim_l1_load(sim_caches *c, uint32_t multiprocessor, uint64_t sector);
bool sim_l1_store(sim_caches *c, uint32_t multiprocessor, uint64_t sector, bool covered);
void sim_l1_drop(sim_caches *c, uint32_t multiprocessor, uint64_t sector); /* an atomic's */
void sim_l1_empty(sim_caches *c, uint32_t multiprocessor);                 /* by a fence */

typedef enum sim_ask { SIM_ASK_LOAD, SIM_ASK_STORE, SIM_ASK_ATOMIC } sim_ask;
/* A sector that a multiprocessor asks of L2: whether its half of L2 had it. */
bool sim_l2_access(sim_caches *c, uint32_t multiprocessor, uint64_t sector, sim_ask kind);
/* After a miss: memory is read 64 bytes at a time. Whether the other sector of these came along. */
bool sim_l2_more(sim_caches *c, uint32_t multiprocessor, uint64_t sector);

#endif
