/* Races: two accesses to a word from different threads, one of them a write that is not atomic,
 * of which neither is known to have happened before the other. A cell remembers the last write, the
 * last strong write and two readers of a word. See check.h. */
#include "check.h"

#include <sched.h>
#include <string.h>

/* Each in the scope of the other. */
static bool in_scope(const sim_record *r, const sim_record *now) {
  return sim_same_block(r->thread, now->thread) ||
         !((r->site | now->site) >> SIM_SITE_BITS & SIM_CTA);
}

static bool both_strong(const sim_record *r, const sim_record *now) {
  return sim_both_strong(r->site, now->site, sim_same_block(r->thread, now->thread));
}

/* A copy that its thread has not waited for. */
static bool is_pending(const sim_access *a, const sim_record *r) {
  return (r->time & SIM_COPYING) && !sim_copied(a->w->block, r->thread, r->time);
}

/* Whether `r` is of another thread and not known to have happened before. */
static bool unordered(const sim_access *a, const sim_record *r, const sim_record *now) {
  uint32_t time = r->time;
  if (time & SIM_COPYING) {
    time = sim_copied(a->w->block, r->thread, time);
    if (!time) return true; /* whoever it is */
  }
  return time && r->thread != now->thread && !sim_knows(a->w, a->lane, r->thread, time);
}

static void report(const sim_access *a, const sim_record *r, bool weak) {
  const sim_program *program = a->w->func->program;
  const char *verb = a->flags & SIM_RMW ? "atomic" : a->flags & SIM_STORE ? "write" : "read";
  const char *with = is_pending(a, r) ? "a copy that was not waited for"
                     : !weak          ? "another access"
                     : *verb == 'r'   ? "atomic writes"
                                      : "a plain read";
  sim_other other = {.instr = program->sites[r->site & SIM_SITE_MASK], .thread = r->thread};
  sim_find(a->w, a->op, (int)a->lane, a->address, weak ? PG_FAULT_WEAK_READ : PG_FAULT_RACE, &other,
           "%s: %s, unordered with %s", weak ? "weak read" : "race", verb, with);
}

static void judge_read(const sim_access *a, const sim_cell *cell, const sim_record *now) {
  if (unordered(a, &cell->write, now)) report(a, &cell->write, false);
  if (!cell->strong.time || both_strong(&cell->strong, now)) return;
  if (!unordered(a, &cell->strong, now)) return;
  /* Strong accesses out of each other's scope race; a plain read of atomic writes is weak. */
  report(a, &cell->strong, in_scope(&cell->strong, now));
}

static uint64_t stored(const sim_access *a, uint32_t lane) {
  const uint8_t *slot = a->w->regs + a->op->b;
  uint64_t value = 0;
  if (a->op->bytes == 8) return ((const uint64_t *)(const void *)slot)[lane];
  memcpy(&value, (const uint32_t *)(const void *)slot + lane, a->op->bytes);
  return value;
}

/* Lanes that write one word by one instruction: one of the writes is performed, so the same value
 * from all of them is no race. Lanes before this one have entered their records just now. */
static bool same_store(const sim_access *a, const sim_record *r, const sim_record *now) {
  const sim_order *o = &a->w->block->check->warps[a->w->index];
  uint32_t other = r->thread & (SIM_LANES - 1);
  bool together = r->thread / SIM_LANES == now->thread / SIM_LANES && other < a->lane &&
                  r->time == now->time && r->site == now->site &&
                  (a->w->mask & o->valid) >> other & 1 && o->address[other] == a->address;
  bool plain = !(a->flags & SIM_RMW) && a->op->count == 1 && a->op->bytes <= 8;
  return together && plain && stored(a, other) == stored(a, a->lane);
}

static void judge_write(const sim_access *a, const sim_cell *cell, const sim_record *now) {
  bool strong = a->flags & SIM_STRONG;
  if (unordered(a, &cell->write, now)) {
    if (same_store(a, &cell->write, now)) return;
    report(a, &cell->write, false);
    return;
  }
  if (!both_strong(&cell->strong, now) && unordered(a, &cell->strong, now))
    report(a, &cell->strong, false);
  for (int i = 0; i < 2; i++) {
    const sim_record *r = &cell->read[i];
    if (!r->time || both_strong(r, now) || !unordered(a, r, now)) continue;
    report(a, r, strong && in_scope(r, now));
  }
}

/* Two readers are remembered: of those that are ordered before this one, or are it, none is needed;
 * among others those of different blocks say most. */
static void enter_read(const sim_access *a, sim_cell *cell, const sim_record *now) {
  for (int i = 0; i < 2; i++) {
    if (cell->read[i].thread == now->thread || !cell->read[i].time) {
      cell->read[i] = *now;
      return;
    }
  }
  for (int i = 0; i < 2; i++) {
    if (sim_knows(a->w, a->lane, cell->read[i].thread, cell->read[i].time)) {
      cell->read[i] = *now;
      return;
    }
  }
  bool keep_second = sim_same_block(cell->read[0].thread, now->thread) &&
                     !sim_same_block(cell->read[1].thread, now->thread);
  cell->read[keep_second ? 0 : 1] = *now;
}

static void clear(sim_cell *cell, uint32_t run) {
  cell->run = run;
  memset(&cell->write, 0, sizeof *cell - offsetof(sim_cell, write));
}

static void enter_write(const sim_access *a, sim_cell *cell, const sim_record *now) {
  if (a->flags & SIM_STRONG) {
    cell->strong = *now;
    return;
  }
  clear(cell, cell->run);
  cell->write = *now;
}

/* The first access of a run has nobody to meet. */
static void first_in_cell(const sim_access *a, sim_cell *cell) {
  clear(cell, a->run);
  *(!sim_writes(a)            ? &cell->read[0]
    : (a->flags & SIM_STRONG) ? &cell->strong
                              : &cell->write) = a->now;
}

static void one_cell(const sim_access *a, sim_cell *cell) {
  if (cell->run != a->run) {
    first_in_cell(a, cell);
  } else if (sim_writes(a)) {
    judge_write(a, cell, &a->now);
    enter_write(a, cell, &a->now);
  } else {
    judge_read(a, cell, &a->now);
    enter_read(a, cell, &a->now);
  }
}

static void lock(sim_cell *cell) {
  for (int spins = 0; atomic_flag_test_and_set_explicit(&cell->lock, memory_order_acquire);) {
    if (++spins > 200) sched_yield();
  }
}

void sim_race(const sim_access *a, sim_cells cells) {
  for (uint32_t i = 0; i < cells.count; i++) {
    sim_cell *cell = &cells.first[i];
    if (a->locks) lock(cell);
    one_cell(a, cell);
    if (a->locks) atomic_flag_clear_explicit(&cell->lock, memory_order_release);
  }
}

/* ---- lanes that read one place ---- */

/* Nothing to object against the record, whichever lane reads. */
static bool settled(const sim_access *a, const sim_record *r) {
  return !r->time || (!(r->time & SIM_COPYING) && sim_all_know(a->w, r->thread, r->time));
}

static bool read_by_all(const sim_access *a, sim_cell *cell, uint32_t last) {
  if (cell->run != a->run) clear(cell, a->run);
  const sim_record *strong = &cell->strong;
  if (!settled(a, &cell->write)) return false;
  if (!settled(a, strong) && !both_strong(strong, &a->now)) return false;
  sim_access end = *a;
  end.lane += last;
  end.now.thread += last;
  enter_read(a, cell, &a->now);
  enter_read(&end, cell, &end.now);
  return true;
}

bool sim_race_same(const sim_access *a, sim_cells cells, uint32_t count) {
  bool all = true;
  for (uint32_t i = 0; i < cells.count && all; i++) {
    sim_cell *cell = &cells.first[i];
    if (a->locks) lock(cell);
    all = read_by_all(a, cell, count - 1);
    if (a->locks) atomic_flag_clear_explicit(&cell->lock, memory_order_release);
  }
  return all;
}
