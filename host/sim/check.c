/* The micro-ops of sim:check in front of and behind a memory micro-op, and the state they work on:
 * bytes that were never written, races, what atomics publish. Bounds are the memory micro-op's own
 * business; an address that will fault there is left alone here. See check.h. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "isa.h"

#define FOR_LANES(i, m)                                                           \
  for (uint32_t rest_ = (m), i; rest_ && (i = (uint32_t)__builtin_ctz(rest_), 1); \
       rest_ &= rest_ - 1)

/* ---- state of a launch and of a block ---- */

pg_code sim_check_new(sim_launch *l, sim_shadow *shadow, uint32_t run, sim_check **out,
                      pg_error *error) {
  sim_check *c = calloc(1, sizeof *c);
  if (!c) return pg_fail(error, PG_MEMORY, "no memory for the simulator's checks");
  c->shadow = shadow;
  c->survey = sim_find_survey();
  c->run = run;
  c->top = sim_clock_top(l->block_count);
  pthread_mutex_init(&c->lock, NULL);
  /* Thread numbers have 32 bits. */
  if (l->block_count > UINT32_MAX >> 10) atomic_store(&c->lost, true);
  *out = c;
  return PG_OK;
}

void sim_check_free(sim_check *c) {
  if (!c) return;
  sim_channel_free(c->syncs);
  sim_retire(c);
  pthread_mutex_destroy(&c->lock);
  free(c);
}

static void free_parts(sim_block_check *c) {
  for (uint32_t i = 0; c->shared && i < c->shared_count; i++) sim_page_clear(&c->shared[i], NULL);
  free(c->shared);
  free(c->local_bits);
  for (uint32_t i = 0; c->warps && i < c->warp_count; i++) free(c->warps[i].copied);
  free(c->warps);
  free(c);
}

sim_block_check *sim_check_block_new(const sim_launch *l) {
  uint32_t warps = (l->threads + SIM_LANES - 1) / SIM_LANES;
  sim_block_check *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->shared_count = (uint32_t)(l->shared_bytes / SIM_PAGE_BYTES) + 1;
  c->local_words = (uint64_t)warps * SIM_LANES * l->func->stack_bytes / 64 + 1;
  c->shared = aligned_alloc(_Alignof(sim_page), c->shared_count * sizeof *c->shared);
  c->local_bits = malloc(c->local_words * 8);
  c->warps = aligned_alloc(_Alignof(sim_order), warps * sizeof *c->warps);
  for (uint32_t i = 0; c->shared && i < c->shared_count; i++) sim_page_init(&c->shared[i]);
  c->warp_count = warps;
  if (c->warps) memset(c->warps, 0, warps * sizeof *c->warps);
  if (c->shared && c->local_bits && c->warps) return c;
  free_parts(c);
  return NULL;
}

void sim_check_block_start(sim_block *b) {
  sim_block_check *c = b->check;
  sim_order_reset(b);
  for (uint32_t i = 0; i < c->shared_count; i++)
    atomic_store_explicit(&c->shared[i].written, SIM_NEVER, memory_order_relaxed);
  uint32_t reserved = b->launch->func->reserved_shared; /* the system's own: no garbage */
  if (reserved) sim_page_mark(&c->shared[0], 0, reserved);
  memset(c->local_bits, 0, c->local_words * 8);
  c->run++;
}

void sim_check_block_free(sim_block *b) {
  if (!b->check) return;
  sim_order_reset(b);
  free_parts(b->check);
}

/* ---- bytes that were never written ---- */

static void never_written(const sim_access *a) {
  sim_find(a->w, a->op, (int)a->lane, a->address, PG_FAULT_UNINITIALIZED, NULL,
           "read of %u bytes that were never written", a->bytes);
}

/* The page an address lies in; NULL: none. */
static sim_page *page_of(const sim_warp *w, uint64_t address) {
  const sim_block_check *c = w->block->check;
  if (address < SIM_SHARED_WINDOW) return sim_shadow_page(w->launch->check->shadow, address);
  return address < SIM_LOCAL_WINDOW ? &c->shared[(address - SIM_SHARED_WINDOW) / SIM_PAGE_BYTES]
                                    : NULL;
}

/* A load of the one element behind those that the block wrote: merges read ahead of the end so, and
 * drop what they got. What they got is garbage of another kind in every launch with a seed. */
static bool is_edge(const sim_access *a) {
  uint64_t before = a->address - a->bytes;
  bool load = !sim_writes(a) && a->op->count == 1;
  if (!load || before < SIM_SHARED_WINDOW || before >= SIM_LOCAL_WINDOW) return false;
  return sim_page_all(page_of(a->w, before), (uint32_t)(before & (SIM_PAGE_BYTES - 1)), a->bytes);
}

/* One report is enough: what was read counts as written, but for the element at an edge, lest the
 * next one be at an edge, too. */
static void written(sim_access *a, sim_page *page) {
  uint32_t offset = (uint32_t)(a->address & (SIM_PAGE_BYTES - 1)), bytes = a->bytes;
  if (sim_reads(a) && !sim_page_any(page, offset, bytes) && is_edge(a)) {
    sim_find(a->w, a->op, (int)a->lane, a->address, PG_FAULT_EDGE_READ, NULL,
             "edge read: %u bytes behind the last that were written", bytes);
    return;
  }
  if (sim_reads(a) && !sim_page_any(page, offset, bytes))
    never_written(a);
  else if (!sim_writes(a) || sim_page_all(page, offset, bytes))
    return;
  a->now.site |= SIM_FIRST << SIM_SITE_BITS; /* and of all lanes that follow: rather too often */
  if (a->locks) sim_page_lock(page);
  sim_page_mark(page, offset, bytes);
  if (a->locks) sim_page_unlock(page);
}

static void check_local(const sim_access *a) {
  const sim_warp *w = a->w;
  uint64_t *bits = w->block->check->local_bits;
  uint64_t offset = (w->index * SIM_LANES + a->lane) * w->func->stack_bytes;
  offset += a->address - SIM_LOCAL_WINDOW;
  if (sim_reads(a) && !sim_bits_any(bits, offset, a->bytes)) never_written(a);
  sim_bits_set(bits, offset, a->bytes);
}

void sim_check_passed(const sim_warp *w, uint32_t lane, uint64_t offset, uint32_t bytes) {
  uint64_t base = (w->index * SIM_LANES + lane) * w->func->stack_bytes;
  sim_bits_set(w->block->check->local_bits, base + offset, bytes);
}

/* ---- where lanes are ---- */

static bool is_global(uint64_t address) {
  return address < SIM_SHARED_WINDOW;
}

static uint32_t lanes_of(const sim_span *s) {
  return (s->count >= SIM_LANES ? SIM_ALL : (1u << s->count) - 1) << s->first;
}

/* Lanes among `lanes` whose accesses are sound; others will fault. */
static uint32_t sound(const sim_access *a, const uint64_t *address, uint32_t lanes) {
  uint32_t good = 0, bytes = a->bytes;
  FOR_LANES(i, lanes) {
    if (address[i] & (bytes - 1)) continue;
    good |= (uint32_t)(sim_ranges_find(a->w->launch->ranges, address[i], bytes) != NULL) << i;
  }
  return good;
}

/* The lanes of `rest` from its first on that access memory in a row, or all one place, inside one
 * page. */
static sim_span span_from(const sim_access *a, const sim_survey *at, const uint64_t *address,
                          uint32_t rest) {
  sim_span s = {(uint32_t)__builtin_ctz(rest), 1, false};
  uint32_t linked = rest & rest >> 1;
  s.same = (linked & at->same) >> s.first & 1;
  uint32_t chain = (linked & (s.same ? at->same : at->row)) >> s.first;
  s.count = 1 + (uint32_t)__builtin_ctz(~chain); /* lane 31 has no next */
  if (s.same || s.count == 1) return s;
  uint32_t offset = (uint32_t)(address[s.first] & (SIM_PAGE_BYTES - 1));
  uint32_t room = (SIM_PAGE_BYTES - offset) / a->bytes;
  if (s.count > room) s.count = room;
  return s;
}

/* What follows is of the block's own memory, or of global memory. */
static void turn_to(sim_access *a, bool global) {
  a->locks = global && !a->w->launch->single;
  a->run = global ? a->w->launch->check->run : a->w->block->check->run;
}

static void aim(sim_access *a, const uint64_t *address, uint32_t lane) {
  a->now.thread += lane - a->lane;
  if (a->flags & SIM_COPY)
    a->now.time = SIM_COPYING | a->w->block->check->warps[a->w->index].batch[lane];
  a->lane = lane;
  a->address = address[lane];
}

/* ---- lanes one by one ---- */

static inline void check_lane(sim_access *a, sim_page *page, sim_cells cells) {
  if (atomic_load_explicit(&page->written, memory_order_relaxed) != SIM_WHOLLY) written(a, page);
  if (!cells.first) cells = sim_row_open(a, page);
  if (cells.first) sim_race(a, cells);
}

/* What lanes are judged by may lie far apart: all of it is fetched at once, instead of one miss
 * after the other. */
static void check_global(sim_access *a, const uint64_t *address, uint32_t lanes) {
  sim_page *page[SIM_LANES];
  sim_cells cells[SIM_LANES];
  sim_shadow *shadow = a->w->launch->check->shadow;
  turn_to(a, true);
  FOR_LANES(i, lanes) {
    page[i] = sim_shadow_look(shadow, address[i]);
    if (!page[i]) page[i] = sim_shadow_page(shadow, address[i]);
    __builtin_prefetch(page[i]);
    __builtin_prefetch((const void *)(uintptr_t)address[i]);
  }
  FOR_LANES(i, lanes) {
    if (!page[i]) continue;
    cells[i] = sim_row_look(a, page[i], address[i]);
    __builtin_prefetch(cells[i].first, 1);
  }
  FOR_LANES(i, lanes) {
    aim(a, address, i);
    if (page[i]) check_lane(a, page[i], cells[i]);
  }
}

static void check_private(sim_access *a, const uint64_t *address, uint32_t lanes) {
  turn_to(a, false);
  FOR_LANES(i, lanes) {
    aim(a, address, i);
    sim_page *page = page_of(a->w, a->address);
    if (page)
      check_lane(a, page, sim_row_look(a, page, a->address));
    else if (a->address - SIM_LOCAL_WINDOW < SIM_WINDOW_BYTES)
      check_local(a);
  }
}

static void check_alone(sim_access *a, const uint64_t *address, uint32_t lanes) {
  uint32_t global = 0;
  FOR_LANES(i, lanes) global |= (uint32_t)is_global(address[i]) << i;
  if (global) check_global(a, address, global);
  if (lanes & ~global) check_private(a, address, lanes & ~global);
}

/* ---- lanes together ---- */

/* The same for what lanes have read and written, as far as that needs no report. */
static bool all_written(sim_access *a, sim_page *page, const sim_span *s) {
  uint32_t offset = (uint32_t)(a->address & (SIM_PAGE_BYTES - 1));
  uint32_t bytes = a->bytes * (s->same ? 1 : s->count);
  if (sim_page_all(page, offset, bytes)) return true;
  if (sim_reads(a)) return false;
  sim_page_mark(page, offset, bytes);
  a->now.site |= SIM_FIRST << SIM_SITE_BITS;
  return true;
}

/* Lanes that are left to be judged one by one. */
static uint32_t check_together(sim_access *a, const uint64_t *address, const sim_span *s) {
  uint32_t lanes = lanes_of(s);
  sim_page *page = page_of(a->w, address[s->first]);
  if (!page) return lanes;
  turn_to(a, is_global(address[s->first]));
  aim(a, address, s->first);
  if (a->locks) sim_page_lock(page);
  if (all_written(a, page, s)) lanes = sim_row_span(a, page, s);
  if (a->locks) sim_page_unlock(page);
  return lanes;
}

/* ---- what strong writes publish ---- */

static bool publishes(const sim_access *a) {
  const sim_order *o = &a->w->block->check->warps[a->w->index];
  return (a->flags & SIM_RELEASE) || o->fenced_block[a->lane] || o->fenced_all[a->lane];
}

/* The lists of words that something was published through are the launch's and the block's. */
static void publish(const sim_access *a, sim_page *page) {
  sim_check *c = a->w->launch->check;
  bool replace = !(a->flags & SIM_RMW);
  uint32_t word = (uint32_t)(a->address & (SIM_PAGE_BYTES - 1)) / 4;
  if (!page->sync && publishes(a)) page->sync = calloc(SIM_PAGE_BYTES / 4, sizeof(sim_channel *));
  if (!page->sync) return;
  if (a->address >= SIM_SHARED_WINDOW) {
    sim_order_publish(a, &page->sync[word], &a->w->block->check->syncs, replace);
    return;
  }
  pthread_mutex_lock(&c->lock);
  atomic_store(&c->channels, true);
  sim_order_publish(a, &page->sync[word], &c->syncs, replace && a->w->launch->single);
  pthread_mutex_unlock(&c->lock);
}

/* Whether there is anything to publish, or to replace. */
static bool may_publish(const sim_warp *w, uint32_t flags) {
  const sim_block_check *c = w->block->check;
  if (!(flags & SIM_STRONG) || !(flags & (SIM_STORE | SIM_RMW))) return false;
  return (flags & SIM_RELEASE) || c->warps[w->index].clocks || c->syncs ||
         atomic_load(&w->launch->check->channels);
}

static void publish_lanes(sim_access *a, uint32_t mask) {
  const sim_order *o = &a->w->block->check->warps[a->w->index];
  FOR_LANES(i, mask) {
    a->lane = i;
    a->address = o->address[i];
    sim_page *page = page_of(a->w, a->address);
    if (!page || (!page->sync && !publishes(a))) continue;
    sim_page_lock(page);
    publish(a, page);
    sim_page_unlock(page);
  }
}

/* ---- in front of an access ---- */

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

static sim_access access_of(sim_warp *w, const sim_op *op) {
  uint32_t flags = (uint32_t)op->imm;
  sim_record now = {.thread = sim_thread_number(w, 0),
                    .time = w->block->check->time,
                    .site = op[1].cache | (flags & (SIM_STRONG | SIM_CTA)) << SIM_SITE_BITS};
  return (sim_access){.w = w,
                      .op = op + 1,
                      .flags = flags,
                      .now = now,
                      .shift = op[1].bytes < 4   ? 0
                               : op[1].bytes < 8 ? 2
                                                 : 3,
                      .bytes = (uint32_t)op[1].bytes * op[1].count};
}

/* Fewer lanes, of several that access memory here and there, are not worth a row. */
enum { WORTH_A_ROW = 4 };

static bool same_batch(const sim_access *a, uint32_t lanes) {
  const uint32_t *batch = a->w->block->check->warps[a->w->index].batch;
  uint32_t first = batch[__builtin_ctz(lanes)], others = 0;
  FOR_LANES(i, lanes) others |= batch[i] ^ first;
  return !others;
}

/* Judge the lanes together as far as they access memory in a row; the rest is returned. */
static uint32_t check_spans(sim_access *a, const sim_survey *at, const uint64_t *address,
                            uint32_t lanes) {
  uint32_t alone = 0;
  for (uint32_t rest = lanes; rest;) {
    sim_span s = span_from(a, at, address, rest);
    uint32_t those = lanes_of(&s);
    rest &= ~those;
    bool together = s.count >= WORTH_A_ROW || those == a->w->mask;
    together &= !(a->flags & SIM_COPY) || same_batch(a, those);
    alone |= together ? check_together(a, address, &s) : those;
  }
  return alone;
}

const sim_op *sim_op_check(sim_warp *w, const sim_op *op) {
  if (switches(w, op)) return sim_quantum(w, op);
  sim_order *o = &w->block->check->warps[w->index];
  sim_access a = access_of(w, op);
  const sim_survey at = w->launch->check->survey(w, a.op, o->address);
  uint32_t outside = w->mask & ~at.inside;
  o->valid = (w->mask & at.inside) | (outside ? sound(&a, o->address, outside) : 0);
  uint32_t links = o->valid & o->valid >> 1 & (at.row | at.same), alone = o->valid;
  if (links || !(alone & (alone - 1))) alone = check_spans(&a, &at, o->address, alone);
  if (alone) check_alone(&a, o->address, alone);
  if (may_publish(w, a.flags)) publish_lanes(&a, o->valid);
  return op + 1;
}

/* ---- behind a strong read ---- */

static void observe(const sim_access *a, sim_page *page) {
  uint32_t word = (uint32_t)(a->address & (SIM_PAGE_BYTES - 1)) / 4;
  sim_page_lock(page);
  const sim_channel *s = page->sync[word];
  if (s) sim_order_observe(a, s);
  sim_page_unlock(page);
}

const sim_op *sim_op_checked(sim_warp *w, const sim_op *op) {
  sim_block_check *c = w->block->check;
  sim_order *o = &c->warps[w->index];
  sim_access a = {.w = w, .op = op, .flags = (uint32_t)op->imm};
  if (!c->syncs && !atomic_load(&w->launch->check->channels)) return op + 1;
  FOR_LANES(i, w->mask & o->valid) {
    a.lane = i;
    a.address = o->address[i];
    sim_page *page = page_of(w, a.address);
    if (page && page->sync) observe(&a, page);
  }
  return op + 1;
}

const sim_op *sim_op_check_fence(sim_warp *w, const sim_op *op) {
  sim_order_fence(w, op->imm);
  atomic_thread_fence(memory_order_seq_cst);
  return op + 1;
}

/* ---- mbarrier ---- */

/* Arrivals publish through its first word; what of that was published when a phase ended moves on
 * to the second one, for those who wait. */
void sim_check_completed(sim_warp *w, uint64_t address) {
  const sim_page *page = page_of(w, address);
  uint32_t word = (uint32_t)(address & (SIM_PAGE_BYTES - 1)) / 4;
  if (page && page->sync)
    sim_order_complete(page->sync[word], &page->sync[word + 1], &w->block->check->syncs);
}

void sim_check_waited(sim_warp *w, const sim_op *op, uint32_t lanes, bool relaxed) {
  const sim_order *o = &w->block->check->warps[w->index];
  sim_access a = {.w = w, .op = op, .flags = SIM_CTA | (relaxed ? 0 : SIM_ACQUIRE)};
  FOR_LANES(i, lanes & o->valid) {
    a.lane = i;
    a.address = o->address[i] + 4;
    sim_page *page = page_of(w, a.address);
    if (page && page->sync) observe(&a, page);
  }
}
