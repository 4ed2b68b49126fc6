/* Address resolution, the slow path. See access.h. */
#include "access.h"

#include "control.h"

static uint64_t host_delta(const sim_warp *w, const sim_range *range, uint32_t lane) {
  return w->delta[range->class] + (range->class == SIM_LOCAL ? lane * w->func->stack_bytes : 0);
}

static bool check_lane(sim_warp *w, const sim_op *op, int lane, uint64_t address, uint32_t bytes,
                       const sim_range *range) {
  if (!range) {
    sim_fault(w, op, PG_FAULT_OUT_OF_BOUNDS, lane, address, "%s of %u bytes out of bounds",
              op->store ? "write" : "read", bytes);
  } else if (address & (bytes - 1)) {
    sim_fault(w, op, PG_FAULT_MISALIGNED, lane, address, "address is not a multiple of %u", bytes);
  } else if (op->store && range->read_only) {
    sim_fault(w, op, PG_FAULT_READ_ONLY, lane, address, "write to a read-only buffer");
  } else {
    return true;
  }
  return false;
}

sim_where sim_resolve(sim_warp *w, const sim_op *op, uint64_t address[SIM_LANES]) {
  const sim_range *last = NULL;
  uint32_t bytes = (uint32_t)op->bytes * op->count, global = 0, lanes = 0;
  for (uint32_t i = 0; i < SIM_LANES; i++) {
    if (!(w->mask >> i & 1)) continue;
    if (!last || address[i] - last->base > last->bytes - bytes) {
      last = sim_ranges_find(w->launch->ranges, address[i], bytes);
    }
    if (!check_lane(w, op, (int)i, address[i], bytes, last)) return SIM_NOWHERE;
    address[i] += host_delta(w, last, i);
    global += last->class == SIM_GLOBAL;
    lanes++;
  }
  if (last)
    w->worker->cache[op->cache] = (sim_hit){last->base, last->bytes - bytes + 1, last->class};
  return global == lanes ? SIM_ALL_GLOBAL : global ? SIM_MIXED : SIM_BLOCK_PRIVATE;
}

static uint8_t *lane_address(sim_warp *w, const sim_op *op, int lane, uint64_t address,
                             uint32_t bytes, bool store) {
  const sim_range *range = sim_ranges_find(w->launch->ranges, address, bytes);
  sim_op access = *op; /* the report is that of such an access */
  access.bytes = (uint8_t)bytes;
  access.count = 1;
  access.store = store;
  if (!check_lane(w, &access, lane, address, bytes, range)) return NULL;
  return (uint8_t *)(uintptr_t)(address + host_delta(w, range, (uint32_t)lane));
}

const uint8_t *sim_lane_pointer(sim_warp *w, const sim_op *op, int lane, uint64_t address,
                                uint32_t bytes) {
  return lane_address(w, op, lane, address, bytes, false);
}

uint8_t *sim_lane_target(sim_warp *w, const sim_op *op, int lane, uint64_t address,
                         uint32_t bytes) {
  return lane_address(w, op, lane, address, bytes, true);
}
