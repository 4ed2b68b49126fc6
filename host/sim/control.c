/* Micro-ops that move control or let lanes meet: branches, guards, exits, barriers, fences,
 * shuffles, votes. See control.h for the list and program.h for the meaning of an op's fields. */
#include "control.h"

#include "profile.h"

#include <string.h>
#include <time.h>

#include "check.h"

static uint32_t predicate(const sim_warp *w, uint32_t slot) {
  return *(const uint32_t *)(w->regs + slot);
}

static void set_predicate(sim_warp *w, uint32_t slot, uint32_t value) {
  uint32_t *p = (uint32_t *)(w->regs + slot);
  *p = (*p & ~w->mask) | (value & w->mask);
}

static uint32_t *slot32(const sim_warp *w, uint32_t slot) {
  return (uint32_t *)(w->regs + slot);
}

static uint64_t *slot64(const sim_warp *w, uint32_t slot) {
  return (uint64_t *)(w->regs + slot);
}

#define FOR_LANES(i, m)                                                           \
  for (uint32_t rest_ = (m), i; rest_ && (i = (uint32_t)__builtin_ctz(rest_), 1); \
       rest_ &= rest_ - 1)

/* ---- branches ---- */

/* A taken branch: backward ones use up the quantum, spinning ones let others run at once. */
static const sim_op *take(sim_warp *w, const sim_op *op, const sim_op *target) {
  if (op->spin) return sim_spin(w, target);
  if (target <= op && --w->budget < 0) return sim_quantum(w, target);
  return target;
}

const sim_op *sim_op_jump(sim_warp *w, const sim_op *op) {
  return take(w, op, op->target);
}

const sim_op *sim_op_branch(sim_warp *w, const sim_op *op) {
  uint32_t p = predicate(w, op->a);
  uint32_t taken = (op->negated ? ~p : p) & w->mask;
  if (w->func->program->profile) {
    pg_counters *c = sim_counters(w, op);
    c->branches++;
    c->divergent_branches += taken && taken != w->mask;
  }
  if (taken == w->mask) return take(w, op, op->target);
  if (!taken) return op + 1;
  return sim_diverge(w, taken, op->target, op + 1);
}

const sim_op *sim_op_branch_table(sim_warp *w, const sim_op *op) {
  const uint32_t *index = slot32(w, op->a);
  const sim_op *targets = op + 1;
  uint32_t rest = w->mask;
  while (rest) {
    uint32_t lane = (uint32_t)__builtin_ctz(rest), i = index[lane], same = 0;
    if (i >= op->imm) {
      return sim_fault(w, op, PG_FAULT_OTHER, (int)lane, 0,
                       "branch index %u of a table of %u targets", i, (unsigned)op->imm);
    }
    FOR_LANES(l, rest) same |= (uint32_t)(index[l] == i) << l;
    if (same == w->mask) return take(w, op, targets[i].target);
    if (same == rest) return sim_rejoin(w, targets[i].target);
    rest &= ~same;
    w->groups[w->current].mask = rest;
    w->groups[w->group_count++] =
        (sim_group){.pc = targets[i].target, .frame = w->frame, .mask = same};
  }
  return NULL;
}

const sim_op *sim_op_join(sim_warp *w, const sim_op *op) {
  if (w->other_min && op >= w->other_min) {
    /* The join itself must not run twice for the group that goes on. */
    const sim_op *next = sim_rejoin(w, op);
    return next == op ? op + 1 : next;
  }
  return op + 1;
}

const sim_op *sim_op_guard(sim_warp *w, const sim_op *op) {
  uint32_t p = predicate(w, op->a);
  uint32_t mask = (op->negated ? ~p : p) & w->mask;
  if (!mask) return op->target;
  w->guard_saved = w->mask;
  w->mask = mask;
  return op + 1;
}

const sim_op *sim_op_unguard(sim_warp *w, const sim_op *op) {
  w->mask = w->guard_saved;
  return op + 1;
}

const sim_op *sim_op_exit(sim_warp *w, const sim_op *op) {
  return sim_leave(w, w->mask, op + 1);
}

const sim_op *sim_op_trap(sim_warp *w, const sim_op *op) {
  return sim_fault(w, op, PG_FAULT_TRAP, __builtin_ctz(w->mask), 0, "the kernel executed a trap");
}

/* ---- meeting points ---- */

const sim_op *sim_op_barrier(sim_warp *w, const sim_op *op) {
  sim_counters(w, op)->barriers++;
  return sim_arrive_at(w, op, true);
}

const sim_op *sim_op_arrive(sim_warp *w, const sim_op *op) {
  return sim_arrive_at(w, op, false);
}

const sim_op *sim_op_fence(sim_warp *w, const sim_op *op) {
  (void)w;
  atomic_thread_fence(memory_order_seq_cst);
  return op + 1;
}

/* Whether a .sync instruction has the lanes that its member masks name; else *next is to run. */
static bool converged(sim_warp *w, const sim_op *op, const sim_op **next) {
  const uint32_t *members = slot32(w, op->e);
  if (w->block->check) {
    *next = NULL;
    FOR_LANES(i, w->mask) {
      if (!members[i] || members[i] >> i & 1) continue; /* no mask: not a .sync instruction */
      sim_fault(w, op, PG_FAULT_DIVERGENCE, (int)i, 0,
                "lane %u takes part with a member mask, 0x%08x, that does not name it", i,
                members[i]);
      return false;
    }
  }
  if (!sim_converged(w, op, members, next)) return false;
  if (w->block->check) sim_order_warp(w, w->mask);
  return true;
}

const sim_op *sim_op_warp_sync(sim_warp *w, const sim_op *op) {
  const sim_op *next;
  return converged(w, op, &next) ? op + 1 : next;
}

/* Source lane of `lane` (PTX ISA, shfl): c holds the clamp in bits 0-4 and the segment mask in bits
 * 8-12. */
static bool shuffle_source(uint64_t mode, uint32_t lane, uint32_t b, uint32_t c, uint32_t *source) {
  uint32_t segment = c >> 8 & 31, clamp = c & 31;
  uint32_t low = lane & segment, high = low | (clamp & ~segment);
  uint32_t j = 0;
  b &= 31;
  switch (mode) {
  case SIM_SHFL_UP: /* here the clamp is the lower bound */
    j = lane - b;
    *source = j & 31;
    return (int32_t)j >= (int32_t)high;
  case SIM_SHFL_DOWN: j = lane + b; break;
  case SIM_SHFL_BFLY: j = lane ^ b; break;
  default: j = low | (b & ~segment); break;
  }
  *source = j & 31;
  return j <= high;
}

const sim_op *sim_op_shuffle(sim_warp *w, const sim_op *op) {
  const sim_op *next;
  if (!converged(w, op, &next)) return next;
  uint32_t from[SIM_LANES], valid = 0;
  const uint32_t *b = slot32(w, op->b), *c = slot32(w, op->c);
  uint32_t *d = slot32(w, op->d);
  memcpy(from, slot32(w, op->a), sizeof from);
  FOR_LANES(i, w->mask) {
    uint32_t source;
    bool inside = shuffle_source(op->imm, i, b[i], c[i], &source);
    valid |= (uint32_t)inside << i;
    d[i] = from[inside ? source : i];
    if (w->block->check && inside && !(w->mask >> source & 1)) {
      sim_find(w, op, (int)i, 0, PG_FAULT_INACTIVE_LANE, NULL,
               "shuffle: lane %u reads lane %u, which takes no part", i, source);
    }
  }
  if (op->p) set_predicate(w, op->p, valid);
  return op + 1;
}

const sim_op *sim_op_vote(sim_warp *w, const sim_op *op) {
  const sim_op *next;
  if (op->e && !converged(w, op, &next)) return next;
  uint32_t first = (uint32_t)__builtin_ctz(w->mask);
  uint32_t member = op->e ? slot32(w, op->e)[first] & w->mask : w->mask;
  uint32_t p = predicate(w, op->a);
  uint32_t votes = (op->negated ? ~p : p) & member;
  if (op->imm == SIM_VOTE_BALLOT) {
    uint32_t *d = slot32(w, op->d);
    FOR_LANES(i, w->mask) d[i] = votes;
    return op + 1;
  }
  bool truth = op->imm == SIM_VOTE_ALL   ? votes == member
               : op->imm == SIM_VOTE_ANY ? votes != 0
                                         : votes == 0 || votes == member;
  set_predicate(w, op->d, truth ? SIM_ALL : 0);
  return op + 1;
}

static uint64_t lane_value(const sim_warp *w, const sim_op *op, bool wide, uint32_t lane) {
  return wide ? slot64(w, op->a)[lane] : slot32(w, op->a)[lane];
}

const sim_op *sim_op_match(sim_warp *w, const sim_op *op) {
  const sim_op *next;
  if (!converged(w, op, &next)) return next;
  bool wide = op->imm == SIM_MATCH_ANY_64 || op->imm == SIM_MATCH_ALL_64;
  bool all = op->imm == SIM_MATCH_ALL_32 || op->imm == SIM_MATCH_ALL_64;
  uint32_t result[SIM_LANES] = {0};
  FOR_LANES(i, w->mask) {
    uint64_t value = lane_value(w, op, wide, i);
    for (uint32_t j = 0; j < SIM_LANES; j++) {
      if (w->mask >> j & 1 && lane_value(w, op, wide, j) == value) result[i] |= 1u << j;
    }
  }
  uint32_t equal = 0;
  uint32_t *d = slot32(w, op->d);
  FOR_LANES(i, w->mask) {
    bool same = result[i] == w->mask;
    equal |= (uint32_t)same << i;
    d[i] = all && !same ? 0 : result[i];
  }
  if (op->p) set_predicate(w, op->p, equal);
  return op + 1;
}

static uint32_t reduce(uint64_t mode, uint32_t x, uint32_t y) {
  switch (mode) {
  case SIM_REDUX_ADD: return x + y;
  case SIM_REDUX_MIN_S: return (int32_t)x < (int32_t)y ? x : y;
  case SIM_REDUX_MAX_S: return (int32_t)x > (int32_t)y ? x : y;
  case SIM_REDUX_MIN_U: return x < y ? x : y;
  case SIM_REDUX_MAX_U: return x > y ? x : y;
  case SIM_REDUX_AND: return x & y;
  case SIM_REDUX_OR: return x | y;
  default: return x ^ y;
  }
}

const sim_op *sim_op_redux(sim_warp *w, const sim_op *op) {
  const sim_op *next;
  if (!converged(w, op, &next)) return next;
  uint32_t *d = slot32(w, op->d);
  const uint32_t *a = slot32(w, op->a);
  uint32_t first = (uint32_t)__builtin_ctz(w->mask), total = a[first];
  FOR_LANES(i, w->mask & ~(1u << first)) total = reduce(op->imm, total, a[i]);
  FOR_LANES(i, w->mask) d[i] = total;
  return op + 1;
}

const sim_op *sim_op_activemask(sim_warp *w, const sim_op *op) {
  uint32_t *d = slot32(w, op->d);
  FOR_LANES(i, w->mask) d[i] = w->mask;
  return op + 1;
}

const sim_op *sim_op_yield(sim_warp *w, const sim_op *op) {
  return sim_spin(w, op + 1);
}

const sim_op *sim_op_turn(sim_warp *w, const sim_op *op) {
  w->groups[w->current].pc = op + 1;
  w->why = SIM_TURN;
  return NULL;
}

const sim_op *sim_op_clock(sim_warp *w, const sim_op *op) {
  struct timespec t;
  clock_gettime(op->imm == SIM_CLOCK_GLOBAL ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
  uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
  FOR_LANES(i, w->mask) {
    if (op->imm == SIM_CLOCK_32)
      slot32(w, op->d)[i] = (uint32_t)now;
    else
      slot64(w, op->d)[i] = now;
  }
  return op + 1;
}
