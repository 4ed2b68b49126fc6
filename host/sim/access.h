/* Address resolution, the slow path: which range does each lane's address lie in. */
#ifndef PG_SIM_ACCESS_H
#define PG_SIM_ACCESS_H

#include "exec.h"

typedef enum sim_where { SIM_NOWHERE, SIM_MIXED, SIM_ALL_GLOBAL, SIM_BLOCK_PRIVATE } sim_where;

/* Check the active lanes' addresses one by one and turn them into host addresses; remember the last
 * range. SIM_NOWHERE: a fault was recorded. */
sim_where sim_resolve(sim_warp *w, const sim_op *op, uint64_t address[SIM_LANES]);
/* Host address of what one lane reads at a device address; NULL: a fault was recorded. For what
 * reads memory without a memory micro-op's fields. */
const uint8_t *sim_lane_pointer(sim_warp *w, const sim_op *op, int lane, uint64_t address,
                                uint32_t bytes);
/* The same where it writes. */
uint8_t *sim_lane_target(sim_warp *w, const sim_op *op, int lane, uint64_t address, uint32_t bytes);

#endif
