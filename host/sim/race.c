/* Races: two accesses to a word from different threads, one of them a write that is not atomic,
 * of which neither is known to have happened before the other. See check.h. */
#include "check.h"

enum { SITE_BITS = 24, SITE_MASK = (1 << SITE_BITS) - 1 };

static uint32_t flags_of(const sim_record *r) {
  return r->site >> SITE_BITS;
}

static bool same_block(uint32_t a, uint32_t b) {
  return a >> 10 == b >> 10;
}

/* Each in the scope of the other. */
static bool in_scope(const sim_record *r, const sim_record *now) {
  return same_block(r->thread, now->thread) || !((flags_of(r) | flags_of(now)) & SIM_CTA);
}

static bool both_strong(const sim_record *r, const sim_record *now) {
  return (flags_of(r) & flags_of(now) & SIM_STRONG) && in_scope(r, now);
}

/* Whether `r` is of another thread and not known to have happened before. */
static bool unordered(const sim_access *a, const sim_record *r, const sim_record *now) {
  return r->time && r->thread != now->thread && !sim_knows(a->w, a->lane, r->thread, r->time);
}

static void report(const sim_access *a, const sim_record *r, bool weak) {
  const sim_program *program = a->w->func->program;
  const char *verb = a->flags & SIM_RMW ? "atomic" : a->flags & SIM_STORE ? "write" : "read";
  const char *with = !weak ? "another access" : *verb == 'r' ? "atomic writes" : "a plain read";
  sim_other other = {.instr = program->sites[r->site & SITE_MASK], .thread = r->thread};
  sim_find(a->w, a->op, (int)a->lane, a->address, weak ? PG_FAULT_WEAK_READ : PG_FAULT_RACE, &other,
           "%s: %s, unordered with %s", weak ? "weak read" : "race", verb, with);
}

static void judge_read(const sim_access *a, const sim_cell *cell, const sim_record *now) {
  if (unordered(a, &cell->write, now)) report(a, &cell->write, false);
  if (!unordered(a, &cell->strong, now) || both_strong(&cell->strong, now)) return;
  /* Strong accesses out of each other's scope race; a plain read of atomic writes is weak. */
  report(a, &cell->strong, in_scope(&cell->strong, now));
}

static void judge_write(const sim_access *a, const sim_cell *cell, const sim_record *now) {
  bool strong = a->flags & SIM_STRONG;
  if (unordered(a, &cell->write, now)) {
    report(a, &cell->write, false);
    return;
  }
  if (unordered(a, &cell->strong, now) && !both_strong(&cell->strong, now))
    report(a, &cell->strong, false);
  for (int i = 0; i < 2; i++) {
    const sim_record *r = &cell->read[i];
    if (!unordered(a, r, now) || both_strong(r, now)) continue;
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
  bool keep_second = same_block(cell->read[0].thread, now->thread) &&
                     !same_block(cell->read[1].thread, now->thread);
  cell->read[keep_second ? 0 : 1] = *now;
}

static void enter_write(const sim_access *a, sim_cell *cell, const sim_record *now) {
  if (a->flags & SIM_STRONG) {
    cell->strong = *now;
    return;
  }
  *cell = (sim_cell){.run = cell->run, .write = *now};
}

void sim_race(const sim_access *a, sim_cell *cells, uint32_t count, uint32_t run) {
  const sim_record now = {.thread = sim_thread_number(a->w, a->lane),
                          .time = a->w->block->check->time,
                          .site = a->op->cache | (a->flags & (SIM_STRONG | SIM_CTA)) << SITE_BITS};
  for (uint32_t i = 0; i < count; i++) {
    sim_cell *cell = &cells[i];
    if (cell->run != run) *cell = (sim_cell){.run = run};
    if (a->flags & (SIM_STORE | SIM_RMW)) {
      judge_write(a, cell, &now);
      enter_write(a, cell, &now);
    } else {
      judge_read(a, cell, &now);
      enter_read(a, cell, &now);
    }
  }
}
