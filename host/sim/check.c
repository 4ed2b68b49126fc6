/* The micro-ops of sim:check in front of and behind a memory micro-op, and the state they work on:
 * bytes that were never written, races, what atomics publish. Bounds are the memory micro-op's own
 * business; an address that will fault there is left alone here. See check.h. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "control.h"

#define FOR_LANES(i, m)                                                           \
  for (uint32_t rest_ = (m), i; rest_ && (i = (uint32_t)__builtin_ctz(rest_), 1); \
       rest_ &= rest_ - 1)

/* ---- state of a launch and of a block ---- */

pg_code sim_check_new(sim_launch *l, sim_shadow *shadow, uint32_t run, sim_check **out,
                      pg_error *error) {
  sim_check *c = calloc(1, sizeof *c);
  if (!c) return pg_fail(error, PG_MEMORY, "no memory for the simulator's checks");
  c->shadow = shadow;
  c->run = run;
  c->top = sim_clock_top(l->block_count);
  c->bytewise = l->func->program->bytewise;
  pthread_mutex_init(&c->lock, NULL);
  /* Thread numbers have 32 bits. */
  if (l->block_count > UINT32_MAX >> 10) atomic_store(&c->lost, true);
  *out = c;
  return PG_OK;
}

void sim_check_free(sim_check *c) {
  if (!c) return;
  sim_channel_free(c->syncs);
  pthread_mutex_destroy(&c->lock);
  free(c);
}

static uint64_t words(uint64_t bits) {
  return bits / 64 + 1;
}

sim_block_check *sim_check_block_new(const sim_launch *l) {
  uint32_t warps = (l->threads + SIM_LANES - 1) / SIM_LANES;
  sim_block_check *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->shift = l->check->bytewise ? 0 : 2;
  c->shared_words = words(l->shared_bytes);
  c->local_words = words((uint64_t)warps * SIM_LANES * l->func->stack_bytes);
  c->shared_bits = malloc(c->shared_words * 8);
  c->local_bits = malloc(c->local_words * 8);
  c->cells = calloc((l->shared_bytes >> c->shift) + 8, sizeof *c->cells);
  c->sync = calloc(l->shared_bytes / 4 + 1, sizeof(sim_channel *));
  c->warps = calloc(warps, sizeof *c->warps);
  if (c->shared_bits && c->local_bits && c->cells && c->sync && c->warps) return c;
  free(c->shared_bits);
  free(c->local_bits);
  free(c->cells);
  free(c->sync);
  free(c->warps);
  free(c);
  return NULL;
}

void sim_check_block_start(sim_block *b) {
  sim_block_check *c = b->check;
  sim_order_reset(b);
  memset(c->shared_bits, 0, c->shared_words * 8);
  memset(c->local_bits, 0, c->local_words * 8);
  c->run++;
}

void sim_check_block_free(sim_block *b) {
  sim_block_check *c = b->check;
  if (!c) return;
  sim_order_reset(b);
  free(c->shared_bits);
  free(c->local_bits);
  free(c->cells);
  free(c->sync);
  free(c->warps);
  free(c);
}

/* ---- cells of global memory ---- */

/* More cells, each of fewer bytes, with the records they had. */
static sim_cell *split(sim_check *c, sim_page *page, uint8_t shift) {
  uint32_t count = SIM_PAGE_BYTES >> shift, bytes = count * (uint32_t)sizeof(sim_cell);
  if (atomic_load_explicit(&c->lost, memory_order_relaxed)) return NULL;
  sim_cell *cells = sim_shadow_take(c->shadow, bytes) ? calloc(count, sizeof *cells) : NULL;
  if (!cells) {
    atomic_store(&c->lost, true);
    return NULL;
  }
  for (uint32_t i = 0; page->cells && i < count; i++)
    cells[i] = page->cells[i >> (page->shift - shift)];
  free(page->cells);
  page->cells = cells;
  page->shift = shift;
  page->held += bytes;
  return cells;
}

static sim_cell *cells_of(sim_check *c, sim_page *page, uint32_t offset, uint32_t unit) {
  uint8_t shift = unit < 4 ? 0 : unit < 8 ? 2 : 3;
  if (shift > page->shift) shift = page->shift;
  if (!page->cells || shift < page->shift) {
    if (!split(c, page, shift)) return NULL;
  }
  return page->cells + (offset >> page->shift);
}

/* ---- one lane ---- */

static void never_written(const sim_access *a) {
  sim_find(a->w, a->op, (int)a->lane, a->address, PG_FAULT_UNINITIALIZED, NULL,
           "read of %u bytes that were never written", (uint32_t)a->op->bytes * a->op->count);
}

static bool reads(const sim_access *a) {
  return !(a->flags & SIM_STORE) || (a->flags & SIM_RMW);
}

static bool writes(const sim_access *a) {
  return a->flags & (SIM_STORE | SIM_RMW);
}

/* Shared and local memory belong to the block, which runs on one worker. */
static void check_bits(const sim_access *a, uint64_t *bits, uint64_t offset) {
  uint32_t bytes = (uint32_t)a->op->bytes * a->op->count;
  if (reads(a) && !sim_bits_any(bits, offset, bytes)) never_written(a);
  sim_bits_set(bits, offset, bytes, true); /* one report is enough */
}

static void check_shared(const sim_access *a) {
  sim_block_check *c = a->w->block->check;
  uint64_t offset = a->address - SIM_SHARED_WINDOW;
  uint32_t bytes = (uint32_t)a->op->bytes * a->op->count, count = bytes >> c->shift;
  check_bits(a, c->shared_bits, offset);
  sim_race(a, c->cells + (offset >> c->shift), count ? count : 1, c->run);
  if ((a->flags & SIM_STRONG) && writes(a))
    sim_order_publish(a, &c->sync[offset / 4], &c->syncs, !(a->flags & SIM_RMW));
}

static void check_local(const sim_access *a) {
  const sim_warp *w = a->w;
  uint64_t offset = (w->index * SIM_LANES + a->lane) * w->func->stack_bytes;
  check_bits(a, w->block->check->local_bits, offset + (a->address - SIM_LOCAL_WINDOW));
}

void sim_check_passed(const sim_warp *w, uint32_t lane, uint64_t offset, uint32_t bytes) {
  uint64_t base = (w->index * SIM_LANES + lane) * w->func->stack_bytes;
  sim_bits_set(w->block->check->local_bits, base + offset, bytes, true);
}

/* The lists of words that atomics publish through are the launch's. */
static void publish_global(const sim_access *a, sim_page *page, uint32_t offset) {
  sim_check *c = a->w->launch->check;
  const sim_order *o = &a->w->block->check->warps[a->w->index];
  bool something = (a->flags & SIM_RELEASE) || o->fenced_block[a->lane] || o->fenced_all[a->lane];
  if (!page->sync && something) {
    uint32_t bytes = SIM_PAGE_BYTES / 4 * sizeof(sim_channel *);
    page->sync = calloc(1, bytes);
  }
  if (!page->sync) return;
  bool replace = !(a->flags & SIM_RMW) && a->w->launch->single;
  pthread_mutex_lock(&c->lock);
  sim_order_publish(a, &page->sync[offset / 4], &c->syncs, replace);
  pthread_mutex_unlock(&c->lock);
}

static void check_global(const sim_access *a, sim_page *page) {
  sim_check *c = a->w->launch->check;
  uint32_t offset = (uint32_t)(a->address & (SIM_PAGE_BYTES - 1));
  uint32_t bytes = (uint32_t)a->op->bytes * a->op->count;
  if (reads(a) && !sim_page_any(page, offset, bytes)) {
    never_written(a);
    sim_page_mark(page, offset, bytes); /* one report is enough */
  }
  if (writes(a)) sim_page_mark(page, offset, bytes);
  sim_cell *cells = cells_of(c, page, offset, a->op->bytes);
  if (cells) sim_race(a, cells, bytes >> page->shift, c->run);
  if ((a->flags & SIM_STRONG) && writes(a)) publish_global(a, page, offset);
}

/* ---- a warp ---- */

static uint64_t lane_address(const sim_warp *w, const sim_op *op, uint32_t i) {
  uint64_t base = op->narrow == 2   ? 0
                  : op->narrow == 1 ? ((const uint32_t *)(const void *)(w->regs + op->a))[i]
                                    : ((const uint64_t *)(const void *)(w->regs + op->a))[i];
  return base + op->imm;
}

/* Lanes whose access is sound; the others will fault, or are of no interest (parameters). */
static const sim_range *sound(const sim_warp *w, const sim_op *op, uint64_t address,
                              const sim_range *last) {
  uint32_t bytes = (uint32_t)op->bytes * op->count;
  if (address & (bytes - 1)) return NULL;
  if (last && address - last->base < last->bytes && last->bytes - (address - last->base) >= bytes)
    return last;
  return sim_ranges_find(w->launch->ranges, address, bytes);
}

static void check_lane(const sim_access *a, const sim_range *range, sim_page **held) {
  sim_page *page = NULL;
  if (range->class == SIM_GLOBAL) {
    page = sim_shadow_page(a->w->launch->check->shadow, a->address);
    if (page == *held || !page) {
      if (page) check_global(a, page);
      return;
    }
  }
  if (*held) sim_page_unlock(*held);
  *held = page;
  if (page) {
    sim_page_lock(page);
    check_global(a, page);
  } else if (range->class == SIM_SHARED) {
    check_shared(a);
  } else if (range->class == SIM_LOCAL) {
    check_local(a);
  }
}

/* With a seed, groups of lanes and warps switch at random accesses too. */
static bool switches(sim_warp *w, const sim_op *op) {
  sim_worker *worker = w->worker;
  sim_block_check *c = w->block->check;
  if (!w->launch->seed || (op->imm & SIM_GUARDED)) return false;
  if (c->yields > 0) {
    c->yields--;
    return false;
  }
  worker->rng = worker->rng * 6364136223846793005ull + 1442695040888963407ull;
  c->yields = (uint32_t)(worker->rng >> 33) % 61 + 3;
  return true;
}

/* What the lanes are judged by may lie far apart: all of it is fetched at once, instead of one miss
 * after the other. Only hints: pages are read without their locks. */
static void fetch(const sim_warp *w, const uint64_t address[SIM_LANES]) {
  const sim_page *page[SIM_LANES];
  FOR_LANES(i, w->mask) {
    page[i] = sim_shadow_look(w->launch->check->shadow, address[i]);
    if (page[i]) __builtin_prefetch(page[i], 1);
  }
  FOR_LANES(i, w->mask) {
    const sim_cell *cells = page[i] ? page[i]->cells : NULL;
    uint64_t offset = address[i] & (SIM_PAGE_BYTES - 1);
    if (!cells) continue;
    cells += offset >> page[i]->shift;
    __builtin_prefetch(cells, 1);
    __builtin_prefetch((const uint8_t *)(cells + 1) - 1, 1);
  }
}

const sim_op *sim_op_check(sim_warp *w, const sim_op *op) {
  if (switches(w, op)) return sim_quantum(w, op);
  sim_order *o = &w->block->check->warps[w->index];
  const sim_range *range = NULL;
  sim_page *held = NULL;
  sim_access a = {.w = w, .op = op + 1, .flags = (uint32_t)op->imm};
  o->valid = 0;
  FOR_LANES(i, w->mask) o->address[i] = lane_address(w, op + 1, i);
  fetch(w, o->address);
  FOR_LANES(i, w->mask) {
    const sim_range *r = sound(w, op + 1, o->address[i], range);
    if (!r) continue;
    range = r;
    a.lane = i;
    a.address = o->address[i];
    o->valid |= 1u << i;
    check_lane(&a, range, &held);
  }
  if (held) sim_page_unlock(held);
  return op + 1;
}

/* ---- behind a strong read ---- */

static void observe_global(const sim_access *a) {
  sim_page *page = sim_shadow_page(a->w->launch->check->shadow, a->address);
  if (!page) return;
  sim_page_lock(page);
  uint32_t offset = (uint32_t)(a->address & (SIM_PAGE_BYTES - 1));
  sim_channel *s = page->sync ? page->sync[offset / 4] : NULL;
  if (s) sim_order_observe(a, s);
  sim_page_unlock(page);
}

const sim_op *sim_op_checked(sim_warp *w, const sim_op *op) {
  sim_block_check *c = w->block->check;
  sim_order *o = &c->warps[w->index];
  sim_access a = {.w = w, .op = op, .flags = (uint32_t)op->imm};
  FOR_LANES(i, w->mask & o->valid) {
    a.lane = i;
    a.address = o->address[i];
    if (a.address < SIM_SHARED_WINDOW) {
      observe_global(&a);
    } else if (a.address < SIM_LOCAL_WINDOW) {
      const sim_channel *s = c->sync[(a.address - SIM_SHARED_WINDOW) / 4];
      if (s) sim_order_observe(&a, s);
    }
  }
  return op + 1;
}

const sim_op *sim_op_check_fence(sim_warp *w, const sim_op *op) {
  sim_order_fence(w, op->imm);
  atomic_thread_fence(memory_order_seq_cst);
  return op + 1;
}
