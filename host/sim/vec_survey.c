/* What sim:check wants to know of the addresses of a warp, all lanes at once. */
#include "check.h"
#include "vec_lanes.h"

static sim_survey survey(const sim_warp *w, const sim_op *op, u64 *address) {
  const u64 bytes = (u64)op->bytes * op->count;
  const sim_hit *h = &w->worker->cache[op->cache];
  lane_addresses(w, op, address);
  return (sim_survey){.inside = ~lanes_outside(address, h->low, h->size, bytes - 1),
                      .row = lanes_followed(address, bytes),
                      .same = lanes_followed(address, 0)};
}

const sim_surveyor ISA_NAME(sim_survey) = survey;
