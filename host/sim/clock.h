/* What a thread knows of the others: up to which time of each thread its accesses have happened
 * before. A clock is an immutable tree over thread numbers (block * 1024 + thread) whose parts are
 * shared; it is counted, and what a function returns belongs to the caller. NULL knows nothing. */
#ifndef PG_SIM_CLOCK_H
#define PG_SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_clock sim_clock;

/* Levels of 32: lanes of a warp, warps of a block, and as many as the grid's blocks need. */
enum { SIM_CLOCK_LANES, SIM_CLOCK_WARPS, SIM_CLOCK_BLOCKS };
int sim_clock_top(uint64_t block_count); /* level of the trees of a launch */

sim_clock *sim_clock_keep(sim_clock *clock);
void sim_clock_drop(sim_clock *clock);
uint32_t sim_clock_time(const sim_clock *clock, uint32_t thread);
sim_clock *sim_clock_join(sim_clock *a, sim_clock *b);
/* *to becomes the join of itself and b. */
void sim_clock_add(sim_clock **to, sim_clock *b);
/* Of a block: every thread up to `floor`, the lanes of one warp up to lanes[]. */
sim_clock *sim_clock_new(int top, uint32_t block, uint32_t floor, uint32_t warp,
                         const uint32_t lanes[32]);

#endif
