/* Independent thread scheduling: the lanes of a warp form groups that share a program counter. The
 * group with the lowest pc runs, so that groups meet again where control flow joins; a group that
 * waits for memory to change, or that has used up its quantum, lets the others run. */
#include "check.h"

static void remove_group(sim_warp *w, int index) {
  w->groups[index] = w->groups[--w->group_count];
  if (w->current == w->group_count) w->current = index;
}

static void note_others(sim_warp *w) {
  w->other_min = NULL;
  w->others = false;
  for (int i = 0; i < w->group_count; i++) {
    const sim_group *g = &w->groups[i];
    if (i == w->current || g->state != SIM_READY) continue;
    w->others = true;
    if (g->frame != w->frame) continue;
    if (!w->other_min || g->pc < w->other_min) w->other_min = g->pc;
  }
}

/* Ready groups with equal pc and frame become one. */
static void merge(sim_warp *w) {
  for (int i = 0; i < w->group_count; i++) {
    for (int j = w->group_count - 1; j > i; j--) {
      sim_group *a = &w->groups[i], *b = &w->groups[j];
      if (a->state != SIM_READY || b->state != SIM_READY || a->pc != b->pc) continue;
      if (a->frame != b->frame) continue;
      a->mask |= b->mask;
      a->spun = a->spun && b->spun;
      if (b->last_run < a->last_run) a->last_run = b->last_run;
      if (w->current == j) w->current = i;
      remove_group(w, j);
    }
  }
}

static bool better(const sim_group *a, const sim_group *b, bool fair) {
  if (fair) return a->last_run < b->last_run;
  if (a->spun != b->spun) return b->spun;
  /* Deeper calls first: their lanes meet the others behind the call. */
  if (a->frame->depth != b->frame->depth) return a->frame->depth > b->frame->depth;
  return a->pc < b->pc;
}

const sim_op *sim_pick(sim_warp *w, bool fair) {
  int best = -1;
  for (int i = 0; i < w->group_count; i++) {
    const sim_group *g = &w->groups[i];
    if (g->state != SIM_READY) continue;
    if (best < 0 || better(g, &w->groups[best], fair)) best = i;
  }
  w->current = -1;
  if (best < 0)
    w->why = SIM_SWITCH;
  else if (w->groups[best].spun && !fair)
    w->why = SIM_SPIN;
  else if (--w->slice < 0)
    w->why = SIM_QUANTUM;
  else
    w->current = best;
  if (w->current < 0) return NULL;
  w->groups[best].spun = false;
  w->groups[best].last_run = ++w->tick;
  w->frame = w->groups[best].frame;
  w->regs = w->frame->regs;
  note_others(w);
  w->mask = w->groups[best].mask;
  w->budget = w->others ? SIM_QUANTUM_GROUP : SIM_QUANTUM_WARP;
  return w->groups[best].pc;
}

sim_exit sim_run_warp(sim_warp *w) {
  const sim_op *op;
  if (w->why == SIM_TURN) { /* as if it had not been interrupted, but for lanes that joined */
    op = w->groups[w->current].pc;
    w->mask = w->groups[w->current].mask;
    note_others(w);
  } else {
    for (int i = 0; i < w->group_count; i++) w->groups[i].spun = false;
    w->slice = SIM_SLICE;
    op = sim_pick(w, w->why == SIM_QUANTUM);
  }
  while (op) op = op->fn(w, op);
  if (w->why != SIM_TURN) w->current = -1;
  return w->why;
}

const sim_op *sim_quantum(sim_warp *w, const sim_op *pc) {
  w->groups[w->current].pc = pc;
  if (w->others) return sim_pick(w, true);
  w->why = SIM_QUANTUM;
  return NULL;
}

const sim_op *sim_spin(sim_warp *w, const sim_op *pc) {
  w->groups[w->current].pc = pc;
  w->groups[w->current].spun = true;
  return sim_pick(w, false);
}

/* Lanes wait at pc, with a ready group that stands there already or as one of their own. */
static void wait_at(sim_warp *w, const sim_op *pc, uint32_t mask) {
  for (int i = 0; i < w->group_count; i++) {
    sim_group *g = &w->groups[i];
    if (i == w->current || g->state != SIM_READY || g->pc != pc || g->frame != w->frame) continue;
    g->mask |= mask;
    g->spun = false;
    return;
  }
  w->groups[w->group_count++] = (sim_group){.pc = pc, .frame = w->frame, .mask = mask};
}

/* The usual case: the lanes on the lower side go on at once, being the lowest of all. */
static const sim_op *go_on_below(sim_warp *w, uint32_t mask, const sim_op *low,
                                 const sim_op *high) {
  wait_at(w, high, w->mask & ~mask);
  w->others = true;
  if (!w->other_min || high < w->other_min) w->other_min = high;
  if (w->budget > SIM_QUANTUM_GROUP) w->budget = SIM_QUANTUM_GROUP;
  w->groups[w->current].mask = w->mask = mask;
  return low;
}

const sim_op *sim_diverge(sim_warp *w, uint32_t mask, const sim_op *taken, const sim_op *next) {
  sim_group *g = &w->groups[w->current];
  const sim_op *low = taken < next ? taken : next;
  bool lowest = !w->others || (w->other_min && low < w->other_min);
  if (lowest && --w->budget >= 0) {
    return low == taken ? go_on_below(w, mask, taken, next)
                        : go_on_below(w, w->mask & ~mask, next, taken);
  }
  sim_group *other = &w->groups[w->group_count++];
  *other = (sim_group){.pc = taken, .frame = g->frame, .mask = mask};
  g->mask &= ~mask;
  g->pc = next;
  merge(w);
  return sim_pick(w, false);
}

/* The group that waits at pc, the lowest of the others, joins the running one. */
static void absorb(sim_warp *w, const sim_op *pc) {
  for (int i = w->group_count - 1; i >= 0; i--) {
    const sim_group *g = &w->groups[i];
    if (i == w->current || g->state != SIM_READY || g->pc != pc || g->frame != w->frame) continue;
    w->groups[w->current].mask |= g->mask;
    remove_group(w, i);
  }
  w->mask = w->groups[w->current].mask;
  note_others(w);
}

const sim_op *sim_rejoin(sim_warp *w, const sim_op *pc) {
  if (pc == w->other_min) {
    absorb(w, pc);
    return pc;
  }
  w->groups[w->current].pc = pc;
  merge(w);
  return sim_pick(w, false);
}

/* Groups that converge may have all they need once lanes have exited. */
static void wake_converging(sim_warp *w) {
  for (int i = 0; i < w->group_count; i++) {
    sim_group *g = &w->groups[i];
    if (g->state == SIM_CONVERGING && !(g->need & w->live & ~g->mask)) g->state = SIM_READY;
  }
}

/* sim:check: a barrier that was complete was at fault. */
static bool stopped(sim_warp *w) {
  if (!w->block->check || !atomic_load_explicit(&w->launch->stop, memory_order_relaxed))
    return false;
  w->why = SIM_FAULTED;
  return true;
}

const sim_op *sim_leave(sim_warp *w, uint32_t lanes, const sim_op *next) {
  sim_block *b = w->block;
  sim_group *g = &w->groups[w->current];
  w->live &= ~lanes;
  b->live -= (uint32_t)__builtin_popcount(lanes);
  sim_leave_frames(w, w->frame, lanes, true);
  g->mask &= ~lanes;
  g->pc = next;
  if (!g->mask) {
    remove_group(w, w->current);
    w->current = -1;
  }
  wake_converging(w);
  for (uint32_t open = b->open; open; open &= open - 1)
    sim_release_if_complete(b, (uint32_t)__builtin_ctz(open));
  if (stopped(w)) return NULL;
  return sim_pick(w, false);
}

/* Lanes of the running group whose value (members, a barrier's number) is that of its first one. */
static uint32_t same_value(const sim_warp *w, const uint32_t values[SIM_LANES]) {
  uint32_t first = values[__builtin_ctz(w->mask)], same = 0;
  for (int i = 0; i < SIM_LANES; i++) same |= (uint32_t)(values[i] == first) << i;
  return same & w->mask;
}

bool sim_converged(sim_warp *w, const sim_op *op, const uint32_t members[SIM_LANES],
                   const sim_op **next) {
  uint32_t member = members[__builtin_ctz(w->mask)], same = same_value(w, members);
  if (same == w->mask && !(member & w->live & ~w->mask)) return true;
  if (same != w->mask)
    w->groups[w->group_count++] = (sim_group){.pc = op, .frame = w->frame, .mask = w->mask & ~same};
  sim_group *g = &w->groups[w->current];
  g->mask = same;
  g->need = member;
  g->waits = op;
  for (int i = w->group_count - 1; i >= 0; i--) {
    sim_group *other = &w->groups[i];
    if (i == w->current || other->state != SIM_CONVERGING || other->pc != op) continue;
    if (other->need != member || other->frame != w->frame) continue;
    g->mask |= other->mask;
    remove_group(w, i);
    g = &w->groups[w->current];
  }
  g->pc = op;
  if (member & w->live & ~g->mask) g->state = SIM_CONVERGING;
  *next = sim_pick(w, false);
  return false;
}

/* ---- barriers ---- */

static void write_result(const sim_group *g, const sim_barrier *bar) {
  const sim_op *op = g->waits;
  if (!op->e) return; /* bar.sync has no result */
  uint32_t *d = (uint32_t *)(void *)(g->frame->regs + op->d);
  if (op->e == 'p') {
    for (int i = 0; i < SIM_LANES; i++) {
      if (g->mask >> i & 1) d[i] = bar->trues;
    }
    return;
  }
  bool truth = op->e == 'a' ? bar->trues == bar->arrived : bar->trues != 0;
  *d = truth ? *d | g->mask : *d & ~g->mask;
}

void sim_release_if_complete(sim_block *b, uint32_t id) {
  sim_barrier *bar = &b->barriers[id];
  uint32_t expected = bar->expected ? bar->expected : b->live;
  if (bar->arrived < expected) return;
  if (b->check && !sim_order_barrier(b, id)) return;
  for (uint32_t i = 0; i < b->warp_count; i++) {
    sim_warp *w = &b->warps[i];
    for (int j = 0; j < w->group_count; j++) {
      sim_group *g = &w->groups[j];
      if (g->state != SIM_AT_BARRIER || g->barrier != id) continue;
      write_result(g, bar);
      g->state = SIM_READY;
    }
    merge(w);
  }
  *bar = (sim_barrier){0};
  b->open &= ~(1u << id);
}

/* The barrier that the running group is at; lanes that name another one come back to `op` later.
 * SIM_BARRIERS when there is none of that number. */
static uint32_t barrier_of(sim_warp *w, const sim_op *op) {
  if (!op->a) return (uint32_t)op->imm;
  const uint32_t *numbers = (const uint32_t *)(w->regs + op->a);
  uint32_t first = (uint32_t)__builtin_ctz(w->mask), same = same_value(w, numbers);
  if (numbers[first] >= SIM_BARRIERS) {
    sim_fault(w, op, PG_FAULT_OTHER, (int)first, 0, "barrier %u: they are numbered from 0 to %d",
              numbers[first], SIM_BARRIERS - 1);
    return SIM_BARRIERS;
  }
  if (same != w->mask) {
    w->groups[w->group_count++] = (sim_group){.pc = op, .frame = w->frame, .mask = w->mask & ~same};
    w->groups[w->current].mask = w->mask = same;
  }
  return numbers[first];
}

/* Barriers count whole warps in `bar.sync a, b`; threads here, which is the same for legal
 * programs. */
const sim_op *sim_arrive_at(sim_warp *w, const sim_op *op, bool wait) {
  sim_block *b = w->block;
  uint32_t id = barrier_of(w, op);
  if (id == SIM_BARRIERS) return NULL;
  sim_group *g = &w->groups[w->current];
  sim_barrier *bar = &b->barriers[id];
  bar->arrived += (uint32_t)__builtin_popcount(w->mask);
  b->open |= 1u << id;
  if (op->b) {
    uint32_t p = *(const uint32_t *)(w->regs + op->b);
    bar->trues += (uint32_t)__builtin_popcount((op->negated ? ~p : p) & w->mask);
  }
  if (b->check) sim_order_arrive(w, id, wait);
  if (op->c) bar->expected = ((const uint32_t *)(w->regs + op->c))[__builtin_ctz(w->mask)];
  g->pc = op + 1;
  if (wait) {
    g->state = SIM_AT_BARRIER;
    g->barrier = (uint8_t)id;
    g->waits = op;
  }
  sim_release_if_complete(b, id);
  return stopped(w) ? NULL : sim_pick(w, false);
}
