/* Races: two accesses to a word from different threads, one of them a write that is not atomic,
 * of which neither is known to have happened before the other. A cell remembers the last write, the
 * last strong write and two readers of a word. Weak are races of which every outcome is a value
 * that somebody stored: writes of one value, and, in kernels without any order, reads beside a
 * write of a word of global memory that had a value before. See check.h. */
#include "access.h"
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

static const ptx_instr *instr_of(const sim_access *a, const sim_record *r) {
  return a->w->func->program->sites[r->site & SIM_SITE_MASK];
}

static const char *partner_of(const sim_access *a, const ptx_instr *other, pg_fault_kind kind) {
  bool write = sim_writes(a), both = write && !strcmp(other->opcode, "st");
  if (kind == PG_FAULT_WEAK_READ) return write ? "a plain read" : "atomic writes";
  if (kind == PG_FAULT_WEAK_WRITE)
    return both ? "a write of the same value" : write ? "a read" : "a write";
  return "another access";
}

static void report(const sim_access *a, const sim_record *r, pg_fault_kind kind) {
  const char *name = kind == PG_FAULT_WEAK_READ    ? "weak read"
                     : kind == PG_FAULT_WEAK_WRITE ? "weak write"
                                                   : "race";
  const char *verb = a->flags & SIM_RMW ? "atomic" : a->flags & SIM_STORE ? "write" : "read";
  sim_other other = {.instr = instr_of(a, r), .thread = r->thread};
  const char *with =
      is_pending(a, r) ? "a copy that was not waited for" : partner_of(a, other.instr, kind);
  sim_find(a->w, a->op, (int)a->lane, a->address, kind, &other, "%s: %s, unordered with %s", name,
           verb, with);
}

static bool has(const ptx_instr *instr, const char *const *list) {
  for (; *list; list++) {
    if (!strcmp(instr->opcode, *list)) return true;
    for (int i = 0; i < instr->mod_count; i++) {
      if (!strcmp(instr->mods[i], *list)) return true;
    }
  }
  return false;
}

bool sim_orders(const ptx_func *func) {
  static const char *const ordering[] = {"bar",     "barrier",  "membar",  "fence",    "atom",
                                         "red",     "mbarrier", "cp",      "shfl",     "vote",
                                         "match",   "redux",    "sync",    "volatile", "relaxed",
                                         "acquire", "release",  "acq_rel", "mmio",     NULL};
  for (int i = 0; i < func->instr_count; i++) {
    if (func->body[i].opcode && has(&func->body[i], ordering)) return true;
  }
  return false;
}

/* Of a read and a plain write that are unordered. A kernel that orders nothing cannot rely on
 * either outcome: the read gets what was there, where somebody had written that, or what the write
 * stores, if it is one word. */
static pg_fault_kind kind_beside(const sim_access *a, const sim_record *write) {
  static const char *const vectors[] = {"v2", "v4", "v8", NULL};
  const sim_func *func = a->w->launch->func;
  bool whole = !(write->site >> SIM_SITE_BITS & SIM_FIRST) && !has(instr_of(a, write), vectors);
  bool orders = func->orders || func->program->callees_order;
  return whole && !orders && a->address < SIM_SHARED_WINDOW ? PG_FAULT_WEAK_WRITE : PG_FAULT_RACE;
}

static void judge_read(const sim_access *a, const sim_cell *cell, const sim_record *now) {
  if (unordered(a, &cell->write, now)) report(a, &cell->write, kind_beside(a, &cell->write));
  if (!cell->strong.time || both_strong(&cell->strong, now)) return;
  if (!unordered(a, &cell->strong, now)) return;
  /* Strong accesses out of each other's scope race; a plain read of atomic writes is weak. */
  report(a, &cell->strong, in_scope(&cell->strong, now) ? PG_FAULT_WEAK_READ : PG_FAULT_RACE);
}

static uint64_t stored(const sim_access *a, uint32_t lane) {
  const uint8_t *slot = a->w->regs + a->op->b;
  uint64_t value = 0;
  if (a->op->bytes == 8) return ((const uint64_t *)(const void *)slot)[lane];
  memcpy(&value, (const uint32_t *)(const void *)slot + lane, a->op->bytes);
  return value;
}

static bool stores_value(const sim_access *a) {
  return (a->flags & SIM_STORE) && !(a->flags & (SIM_RMW | SIM_COPY)) && a->op->count == 1 &&
         a->op->bytes <= 8;
}

/* Lanes that write one word by one instruction: one of the writes is performed, so the same value
 * from all of them is no race. Lanes before this one have entered their records just now. */
static bool same_store(const sim_access *a, const sim_record *r, const sim_record *now) {
  const sim_order *o = &a->w->block->check->warps[a->w->index];
  uint32_t other = r->thread & (SIM_LANES - 1);
  bool together = r->thread / SIM_LANES == now->thread / SIM_LANES && other < a->lane &&
                  r->time == now->time && r->site == now->site &&
                  (a->w->mask & o->valid) >> other & 1 && o->address[other] == a->address;
  return together && stores_value(a) && stored(a, other) == stored(a, a->lane);
}

/* What a plain store of one word writes to a cell that it covers. */
typedef struct part {
  bool known;
  uint32_t offset, bytes; /* of the cell in the access */
  uint64_t value;
} part;

static part part_of(const sim_access *a, uint32_t cell, uint32_t cells) {
  part p = {.known = stores_value(a) && !(a->flags & SIM_STRONG), .bytes = a->bytes / cells};
  p.offset = cell * p.bytes;
  if (!p.known) return p;
  p.value = stored(a, a->lane) >> 8 * p.offset;
  if (p.bytes < 8) p.value &= (1ull << 8 * p.bytes) - 1;
  return p;
}

/* Whether the word holds just this: as its cell remembers, or else as it is in memory. */
static bool holds(const sim_access *a, const sim_cell *cell, const part *p) {
  uint64_t value = cell->value;
  if (!p->known) return false;
  if (!cell->valued) {
    const uint8_t *at =
        sim_lane_pointer(a->w, a->op, (int)a->lane, a->address + p->offset, p->bytes);
    value = 0;
    if (at) memcpy(&value, at, p->bytes);
  }
  return value == p->value;
}

static void judge_write(const sim_access *a, const sim_cell *cell, const sim_record *now,
                        const part *p) {
  bool strong = a->flags & SIM_STRONG;
  if (unordered(a, &cell->write, now)) {
    if (same_store(a, &cell->write, now)) return;
    bool same = holds(a, cell, p) && !(cell->write.time & SIM_COPYING);
    report(a, &cell->write, same ? PG_FAULT_WEAK_WRITE : PG_FAULT_RACE);
    return;
  }
  if (!both_strong(&cell->strong, now) && unordered(a, &cell->strong, now))
    report(a, &cell->strong, PG_FAULT_RACE);
  for (int i = 0; i < 2; i++) {
    const sim_record *r = &cell->read[i];
    if (!r->time || both_strong(r, now) || !unordered(a, r, now)) continue;
    report(a, r,
           !strong            ? kind_beside(a, now)
           : in_scope(r, now) ? PG_FAULT_WEAK_READ
                              : PG_FAULT_RACE);
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
  cell->valued = false;
  memset(&cell->write, 0, sizeof *cell - offsetof(sim_cell, write));
}

static void keep_value(sim_cell *cell, const part *p) {
  cell->valued = p->known;
  cell->value = p->value;
}

static void enter_write(const sim_access *a, sim_cell *cell, const sim_record *now, const part *p) {
  if (a->flags & SIM_STRONG) {
    cell->strong = *now;
    cell->valued = false;
    return;
  }
  clear(cell, cell->run);
  cell->write = *now;
  keep_value(cell, p);
}

/* The first access of a run has nobody to meet. */
static void first_in_cell(const sim_access *a, sim_cell *cell, const part *p) {
  clear(cell, a->run);
  keep_value(cell, p);
  *(!sim_writes(a)            ? &cell->read[0]
    : (a->flags & SIM_STRONG) ? &cell->strong
                              : &cell->write) = a->now;
}

static void one_cell(const sim_access *a, sim_cell *cell, part p) {
  if (cell->run != a->run) {
    first_in_cell(a, cell, &p);
  } else if (sim_writes(a)) {
    judge_write(a, cell, &a->now, &p);
    enter_write(a, cell, &a->now, &p);
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
    one_cell(a, cell, part_of(a, i, cells.count));
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
