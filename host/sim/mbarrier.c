/* Barriers in shared memory (mbarrier) and 128-bit atomics. A block runs on one worker, so what
 * lies in its shared memory needs no lock. */
#include <string.h>

#include "access.h"
#include "check.h"
#include "control.h"

#define FOR_LANES(i, m)                                                           \
  for (uint32_t rest_ = (m), i; rest_ && (i = (uint32_t)__builtin_ctz(rest_), 1); \
       rest_ &= rest_ - 1)

static uint32_t *slot32(const sim_warp *w, uint32_t slot) {
  return (uint32_t *)(void *)(w->regs + slot);
}
static uint64_t *slot64(const sim_warp *w, uint32_t slot) {
  return (uint64_t *)(void *)(w->regs + slot);
}

static uint64_t address_of(const sim_warp *w, const sim_op *op, uint32_t lane) {
  uint64_t base = op->narrow == 2   ? 0
                  : op->narrow == 1 ? slot32(w, op->a)[lane]
                                    : slot64(w, op->a)[lane];
  return base + op->imm;
}

/* ---- mbarrier ---- */

/* The 64 bits that PTX calls opaque. */
typedef struct barrier {
  uint32_t phase, expected; /* arrivals of a phase: 20 bits */
  uint32_t pending;         /* arrivals that are missing: 20 bits */
  int32_t bytes;            /* of transactions: expected less completed; 22 bits */
} barrier;

static uint64_t pack(barrier b) {
  return (uint64_t)b.phase << 63 | (uint64_t)b.expected << 43 | (uint64_t)b.pending << 23 |
         ((uint64_t)(uint32_t)b.bytes & 0x3fffff);
}

static barrier unpack(uint64_t x) {
  return (barrier){.phase = (uint32_t)(x >> 63),
                   .expected = x >> 43 & 0xfffff,
                   .pending = x >> 23 & 0xfffff,
                   .bytes = (int32_t)((uint32_t)x << 10) >> 10};
}

static void settle(barrier *b) {
  if (b->pending || b->bytes) return;
  b->phase ^= 1;
  b->pending = b->expected;
}

/* What one lane does; n: arrivals or bytes. False: more arrivals than the phase waits for. */
static bool act(uint64_t kind, barrier *b, uint32_t n) {
  switch (kind) {
  case SIM_MBARRIER_INIT:
    *b = (barrier){.expected = n & 0xfffff, .pending = n & 0xfffff};
    return true;
  case SIM_MBARRIER_EXPECT: b->bytes += (int32_t)n; return true;
  case SIM_MBARRIER_COMPLETE: b->bytes -= (int32_t)n; break;
  case SIM_MBARRIER_EXPECT_ARRIVE: b->bytes += (int32_t)n; n = 1; /* fall through */
  default:
    if (n > b->pending) return false;
    if (kind == SIM_MBARRIER_DROP) b->expected -= n;
    b->pending -= n;
  }
  settle(b);
  return true;
}

/* init, arrive and the like: e is the kind, b the count or 0 for one, d the state before or 0. */
const sim_op *sim_op_mbarrier(sim_warp *w, const sim_op *op) {
  FOR_LANES(lane, w->mask) {
    uint8_t *at = sim_lane_target(w, op, (int)lane, address_of(w, op, lane), 8);
    if (!at) return NULL;
    uint64_t bits;
    memcpy(&bits, at, 8);
    barrier b = unpack(bits);
    uint32_t n = op->b ? slot32(w, op->b)[lane] : 1; /* read before d, which may be its slot */
    if (op->d) slot64(w, op->d)[lane] = bits;
    if (!act(op->e, &b, n)) {
      return sim_fault(w, op, PG_FAULT_OTHER, (int)lane, address_of(w, op, lane),
                       "more arrivals at an mbarrier than it was initialised for");
    }
    bool ended = b.phase != unpack(bits).phase && op->e != SIM_MBARRIER_INIT;
    if (ended && w->block->check) sim_check_completed(w, address_of(w, op, lane));
    bits = pack(b);
    memcpy(at, &bits, 8);
  }
  return op + 1;
}

/* test_wait, try_wait: d predicate, b state or (e) parity of the phase that is waited for; negated:
 * .relaxed. Where it has not ended, others get the processor. */
const sim_op *sim_op_mbarrier_wait(sim_warp *w, const sim_op *op) {
  uint32_t done = 0;
  FOR_LANES(lane, w->mask) {
    uint64_t bits;
    const uint8_t *at = sim_lane_pointer(w, op, (int)lane, address_of(w, op, lane), 8);
    if (!at) return NULL;
    memcpy(&bits, at, 8);
    uint64_t phase = op->e ? slot32(w, op->b)[lane] & 1 : slot64(w, op->b)[lane] >> 63;
    done |= (uint32_t)(bits >> 63 != phase) << lane;
  }
  uint32_t *d = slot32(w, op->d);
  *d = (*d & ~w->mask) | done;
  if (w->block->check && done) sim_check_waited(w, op, done, op->negated);
  return done == w->mask ? op + 1 : sim_spin(w, op + 1);
}

const sim_op *sim_op_pending_count(sim_warp *w, const sim_op *op) {
  uint32_t count[SIM_LANES];
  FOR_LANES(lane, w->mask) count[lane] = unpack(slot64(w, op->a)[lane]).pending;
  FOR_LANES(to, w->mask) slot32(w, op->d)[to] = count[to];
  return op + 1;
}

/* ---- atom.cas.b128, atom.exch.b128 ---- */

typedef unsigned __int128 wide;

#ifdef __x86_64__
static __attribute__((target("cx16"), noinline)) bool swap(wide *at, wide *old, wide desired) {
  wide seen = __sync_val_compare_and_swap(at, *old, desired);
  bool done = seen == *old;
  *old = seen;
  return done;
}
#else
static bool swap(wide *at, wide *old, wide desired) {
  return __atomic_compare_exchange_n(at, old, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#endif

static wide value_of(const sim_warp *w, uint32_t slot, uint32_t lane) {
  return (wide)slot64(w, slot + SIM_UPPER_HALF)[lane] << 64 | slot64(w, slot)[lane];
}

/* d, b, c: slots of 128 bits; c is 0 for an exchange. */
const sim_op *sim_op_atomic_128(sim_warp *w, const sim_op *op) {
  FOR_LANES(lane, w->mask) {
    uint64_t address = address_of(w, op, lane);
    wide *at = (wide *)(void *)sim_lane_target(w, op, (int)lane, address, 16);
    if (!at) return NULL;
    wide b = value_of(w, op->b, lane), old = b;
    if (op->c) {
      swap(at, &old, value_of(w, op->c, lane));
    } else {
      while (!swap(at, &old, b)) {
      }
    }
    if (!op->d) continue;
    slot64(w, op->d)[lane] = (uint64_t)old;
    slot64(w, op->d + SIM_UPPER_HALF)[lane] = (uint64_t)(old >> 64);
  }
  return op + 1;
}
