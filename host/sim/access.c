/* Address resolution, the slow path, and the profile's memory counters. See access.h. */
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
  uint32_t bytes = (uint32_t)op->bytes * op->count;
  for (uint32_t i = 0; i < SIM_LANES; i++) {
    if (!(w->mask >> i & 1)) continue;
    if (!last || address[i] - last->base > last->bytes - bytes) {
      last = sim_ranges_find(w->launch->ranges, address[i], bytes);
    }
    if (!check_lane(w, op, (int)i, address[i], bytes, last)) return SIM_NOWHERE;
    address[i] += host_delta(w, last, i);
  }
  if (last)
    w->worker->cache[op->cache] = (sim_hit){last->base, last->bytes - bytes + 1, last->class};
  return SIM_MIXED;
}

const uint8_t *sim_lane_pointer(sim_warp *w, const sim_op *op, int lane, uint64_t address,
                                uint32_t bytes) {
  const sim_range *range = sim_ranges_find(w->launch->ranges, address, bytes);
  sim_op as_read = *op; /* the report is that of a read */
  as_read.bytes = (uint8_t)bytes;
  as_read.count = 1;
  as_read.store = 0;
  if (!check_lane(w, &as_read, lane, address, bytes, range)) return NULL;
  return (const uint8_t *)(uintptr_t)(address + host_delta(w, range, (uint32_t)lane));
}

/* ---- sim:profile ---- */

const sim_op *sim_op_count(sim_warp *w, const sim_op *op) {
  pg_counters *c = &w->worker->counters;
  c->warp_instructions += op->imm;
  c->thread_instructions += op->imm * (uint64_t)__builtin_popcount(w->mask);
  return op + 1;
}

static uint32_t gather(const sim_warp *w, const sim_op *op, uint64_t out[SIM_LANES]) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < SIM_LANES; i++) {
    if (!(w->mask >> i & 1)) continue;
    uint64_t base = op->narrow == 2   ? 0
                    : op->narrow == 1 ? ((const uint32_t *)(const void *)(w->regs + op->a))[i]
                                      : ((const uint64_t *)(const void *)(w->regs + op->a))[i];
    out[n++] = base + op->imm;
  }
  return n;
}

/* Distinct values of address / unit, an access of `bytes` covering several units. */
static uint32_t distinct(const uint64_t *address, uint32_t n, uint32_t bytes, uint32_t unit) {
  uint64_t seen[SIM_LANES * 2];
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++) {
    for (uint64_t s = address[i] / unit; s <= (address[i] + bytes - 1) / unit; s++) {
      uint32_t j = 0;
      while (j < count && seen[j] != s) j++;
      if (j == count && count < SIM_LANES * 2) seen[count++] = s;
    }
  }
  return count;
}

/* Passes over the 32 four-byte banks: the largest number of distinct words that fall into one bank.
 */
static uint32_t wavefronts(const uint64_t *address, uint32_t n, uint32_t bytes) {
  uint32_t words = bytes > 4 ? bytes / 4 : 1, per_pass = SIM_LANES / words, total = 0;
  for (uint32_t first = 0; first < n; first += per_pass) {
    uint32_t end = first + per_pass < n ? first + per_pass : n, most = 1;
    uint64_t seen[SIM_LANES];
    uint32_t count = 0, load[SIM_LANES] = {0};
    for (uint32_t i = first; i < end; i++) {
      for (uint32_t k = 0; k < words; k++) {
        uint64_t word = address[i] / 4 + k;
        uint32_t j = 0;
        while (j < count && seen[j] != word) j++;
        if (j < count) continue;
        seen[count++] = word;
        uint32_t hits = ++load[word & 31];
        if (hits > most) most = hits;
      }
    }
    total += most;
  }
  return total;
}

static void count_global(pg_counters *c, const sim_op *op, const uint64_t *address, uint32_t n) {
  uint32_t bytes = (uint32_t)op->bytes * op->count;
  uint32_t sectors = distinct(address, n, bytes, 32);
  if (op->e) { /* an atomic */
    c->global_atomic_requests++;
    c->global_atomic_sectors += sectors;
    c->global_atomic_lanes += n;
    c->global_atomic_collisions += n - distinct(address, n, 1, bytes);
  } else if (op->store) {
    c->global_store_requests++;
    c->global_store_sectors += sectors;
    c->global_store_bytes += (uint64_t)n * bytes;
  } else {
    c->global_load_requests++;
    c->global_load_sectors += sectors;
    c->global_load_bytes += (uint64_t)n * bytes;
  }
}

/* Counts for the memory micro-op that follows; its class is the one its first lane's address has.
 */
const sim_op *sim_op_count_memory(sim_warp *w, const sim_op *op) {
  uint64_t address[SIM_LANES];
  uint32_t n = gather(w, op + 1, address);
  pg_counters *c = &w->worker->counters;
  if (address[0] < SIM_SHARED_WINDOW) {
    count_global(c, op + 1, address, n);
  } else if (address[0] < SIM_LOCAL_WINDOW) {
    c->shared_requests++;
    c->shared_wavefronts += wavefronts(address, n, (uint32_t)op[1].bytes * op[1].count);
  }
  return op + 1;
}
