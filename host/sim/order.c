/* The order of accesses: what barriers, .sync instructions, fences and atomics let the threads of a
 * launch know of each other. A block has one time that rises at each of them; knowing a thread up
 * to time t means that its accesses until then have happened before. See check.h. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define FOR_LANES(i, m)                                                           \
  for (uint32_t rest_ = (m), i; rest_ && (i = (uint32_t)__builtin_ctz(rest_), 1); \
       rest_ &= rest_ - 1)

/* The clocks of a lane, for what treats them alike. */
#define CLOCKS(X) X(known) X(fenced_all) X(fenced_block) X(seen_all) X(seen_block)

static sim_order *order_of(const sim_warp *w) {
  return &w->block->check->warps[w->index];
}

static uint32_t later(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

bool sim_knows_more(const sim_warp *w, uint32_t lane, uint32_t thread, uint32_t time) {
  const sim_order *o = order_of(w);
  if (thread >> 10 == (uint32_t)w->block->index) {
    if (time <= o->block[lane]) return true;
    uint32_t j = thread & 31;
    if ((thread >> 5 & 31) == w->index) {
      if (j == lane || time <= o->warp) return true;
      if (o->pairs && time <= o->lane[lane][j]) return true;
    }
  }
  return o->known[lane] && sim_clock_time(o->known[lane], thread) >= time;
}

/* ---- clocks of one lane ---- */

static void lanes_known(const sim_order *o, uint32_t lane, uint32_t out[SIM_LANES]) {
  for (uint32_t j = 0; j < SIM_LANES; j++)
    out[j] = o->pairs ? later(o->warp, o->lane[lane][j]) : o->warp;
}

/* All that a lane knows at this time, itself included. */
static sim_clock *snapshot(const sim_warp *w, uint32_t lane) {
  const sim_order *o = order_of(w);
  uint32_t times[SIM_LANES];
  lanes_known(o, lane, times);
  times[lane] = w->block->check->time;
  sim_clock *own = sim_clock_new(w->launch->check->top, (uint32_t)w->block->index, o->block[lane],
                                 w->index, times);
  sim_clock *all = sim_clock_join(own, o->known[lane]);
  sim_clock_drop(own);
  return all;
}

static void drop_clocks(sim_order *o) {
  if (!o->clocks) return;
  for (int i = 0; i < SIM_LANES; i++) {
#define X(name)               \
  sim_clock_drop(o->name[i]); \
  o->name[i] = NULL;
    CLOCKS(X)
#undef X
  }
  o->clocks = false;
}

void sim_channel_free(sim_channel *list) {
  while (list) {
    sim_channel *next = list->next;
    *list->home = NULL;
    sim_clock_drop(list->all);
    sim_clock_drop(list->block);
    free(list);
    list = next;
  }
}

void sim_order_reset(sim_block *block) {
  sim_block_check *c = block->check;
  for (uint32_t i = 0; i < block->warp_count; i++) {
    sim_order *o = &c->warps[i];
    drop_clocks(o);
    if (o->pairs) memset(o->lane, 0, sizeof o->lane);
    memset(o->block, 0, sizeof o->block);
    o->warp = o->floor = 0;
    o->pairs = false;
  }
  for (int i = 0; i < SIM_BARRIERS; i++) {
    sim_clock_drop(c->arrivals[i]);
    c->arrivals[i] = NULL;
  }
  memset(c->arrived, 0, sizeof c->arrived);
  sim_channel_free(c->syncs);
  sim_copies_reset(block);
  c->syncs = NULL;
  c->time = 1;
}

/* ---- lanes that meet ---- */

/* Every lane of `mask` gets the join of their clocks. */
static void share_clocks(sim_order *o, uint32_t mask) {
  if (!o->clocks) return;
#define X(name)                                         \
  {                                                     \
    sim_clock *all = NULL;                              \
    FOR_LANES(i, mask) sim_clock_add(&all, o->name[i]); \
    FOR_LANES(i, mask) {                                \
      sim_clock *old = o->name[i];                      \
      o->name[i] = sim_clock_keep(all);                 \
      sim_clock_drop(old);                              \
    }                                                   \
    sim_clock_drop(all);                                \
  }
  CLOCKS(X)
#undef X
}

/* Lanes beyond the block's threads know nobody and are known by all. */
void sim_order_warp(sim_warp *w, uint32_t mask) {
  sim_order *o = order_of(w);
  uint32_t time = w->block->check->time++, floor = 0;
  FOR_LANES(i, mask) floor = later(floor, o->block[i]);
  FOR_LANES(i, mask) o->block[i] = floor;
  share_clocks(o, mask);
  if (mask == SIM_ALL) {
    o->warp = time;
    return;
  }
  uint32_t row[SIM_LANES] = {0};
  o->pairs = true;
  FOR_LANES(i, mask) {
    for (int j = 0; j < SIM_LANES; j++) row[j] = later(row[j], o->lane[i][j]);
  }
  FOR_LANES(j, mask) row[j] = time;
  FOR_LANES(i, mask) memcpy(o->lane[i], row, sizeof row);
}

/* ---- barriers ---- */

void sim_order_arrive(sim_warp *w, uint32_t barrier, bool wait) {
  sim_block_check *c = w->block->check;
  c->arrived[barrier][w->index] |= w->mask;
  if (wait) return;
  FOR_LANES(i, w->mask) {
    sim_clock *now = snapshot(w, i);
    sim_clock_add(&c->arrivals[barrier], now);
    sim_clock_drop(now);
  }
  c->time++;
}

/* Lanes of a warp that wait at a barrier. */
static uint32_t waiting(const sim_warp *w, uint32_t barrier, const sim_group **first,
                        const sim_group **other) {
  uint32_t mask = 0;
  for (int j = 0; j < w->group_count; j++) {
    const sim_group *g = &w->groups[j];
    if (g->state != SIM_AT_BARRIER || g->barrier != barrier) continue;
    mask |= g->mask;
    if (!*first)
      *first = g;
    else if (g->waits != (*first)->waits)
      *other = g;
  }
  return mask;
}

/* bar.sync and barrier.sync.aligned want whole warps at one instruction. */
static bool converged(sim_warp *w, uint32_t barrier, uint32_t *mask) {
  const sim_group *first = NULL, *other = NULL;
  *mask = waiting(w, barrier, &first, &other);
  if (!first || !first->waits->narrow) return true;
  uint32_t arrived = w->block->check->arrived[barrier][w->index];
  if (!other && !(w->live & ~arrived)) return true;
  w->frame = first->frame; /* for the report: this warp need not be the one that runs */
  if (other) {
    const ptx_instr *at = &other->frame->func->source->body[other->waits->source];
    sim_fault(
        w, first->waits, PG_FAULT_DIVERGENCE, __builtin_ctz(first->mask), 0,
        "barrier in divergent code: lanes 0x%08x wait here, 0x%08x of the same warp at line %d",
        first->mask, other->mask, at->file ? at->file_line : at->line);
  } else {
    sim_fault(w, first->waits, PG_FAULT_DIVERGENCE, __builtin_ctz(first->mask), 0,
              "barrier in divergent code: lanes 0x%08x of the warp wait, 0x%08x have not arrived",
              *mask, w->live & ~arrived);
  }
  return false;
}

/* Everything that those at the barrier know, for the general case. */
static sim_clock *barrier_clock(sim_block *b, uint32_t barrier, const uint32_t masks[SIM_LANES]) {
  sim_clock *all = sim_clock_keep(b->check->arrivals[barrier]);
  for (uint32_t i = 0; i < b->warp_count; i++) {
    FOR_LANES(lane, masks[i]) {
      sim_clock *now = snapshot(&b->warps[i], lane);
      sim_clock_add(&all, now);
      sim_clock_drop(now);
    }
  }
  return all;
}

static void give(sim_clock **to, sim_clock *value) {
  sim_clock *old = *to;
  *to = sim_clock_keep(value);
  sim_clock_drop(old);
}

/* Join the clocks of all who wait and give each the result. */
static void share_in_block(sim_block *b, const uint32_t masks[SIM_LANES], sim_clock *known) {
  bool any = known != NULL;
  for (uint32_t i = 0; i < b->warp_count; i++) any |= masks[i] && b->check->warps[i].clocks;
  if (!any) return;
#define X(name)                                                                     \
  {                                                                                 \
    sim_clock *all = NULL;                                                          \
    for (uint32_t i = 0; i < b->warp_count; i++) {                                  \
      FOR_LANES(lane, masks[i]) sim_clock_add(&all, b->check->warps[i].name[lane]); \
    }                                                                               \
    for (uint32_t i = 0; i < b->warp_count; i++) {                                  \
      FOR_LANES(lane, masks[i]) give(&b->check->warps[i].name[lane], all);          \
      if (all && masks[i]) b->check->warps[i].clocks = true;                        \
    }                                                                               \
    sim_clock_drop(all);                                                            \
  }
  CLOCKS(X)
#undef X
  if (!known) return;
  for (uint32_t i = 0; i < b->warp_count; i++) {
    FOR_LANES(lane, masks[i]) sim_clock_add(&b->check->warps[i].known[lane], known);
    b->check->warps[i].clocks = true;
  }
}

bool sim_order_barrier(sim_block *b, uint32_t barrier) {
  sim_block_check *c = b->check;
  uint32_t masks[SIM_LANES] = {0}, count = 0;
  for (uint32_t i = 0; i < b->warp_count; i++) {
    if (!converged(&b->warps[i], barrier, &masks[i])) return false;
    count += (uint32_t)__builtin_popcount(masks[i]);
  }
  sim_clock *known = NULL;
  if (count < b->live || c->arrivals[barrier]) {
    known = barrier_clock(b, barrier, masks);
  } else {
    for (uint32_t i = 0; i < b->warp_count; i++) {
      for (int lane = 0; lane < SIM_LANES; lane++) c->warps[i].block[lane] = c->time;
      c->warps[i].floor = c->time;
    }
  }
  c->time++;
  share_in_block(b, masks, known);
  sim_clock_drop(known);
  sim_clock_drop(c->arrivals[barrier]);
  c->arrivals[barrier] = NULL;
  memset(c->arrived[barrier], 0, sizeof c->arrived[barrier]);
  return true;
}

/* ---- fences and atomics ---- */

static void acquire(sim_clock **known, sim_clock **seen) {
  sim_clock_add(known, *seen);
  sim_clock_drop(*seen);
  *seen = NULL;
}

void sim_order_fence(sim_warp *w, bool block_only) {
  sim_order *o = order_of(w);
  FOR_LANES(i, w->mask) {
    acquire(&o->known[i], &o->seen_block[i]);
    if (!block_only) acquire(&o->known[i], &o->seen_all[i]);
    sim_clock *now = snapshot(w, i);
    give(&o->fenced_block[i], now);
    if (!block_only) give(&o->fenced_all[i], now);
    sim_clock_drop(now);
  }
  o->clocks = true;
  w->block->check->time++;
}

static sim_channel *enter_sync(sim_channel **home, sim_channel **list) {
  if (*home) return *home;
  sim_channel *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  *s = (sim_channel){.next = *list, .home = home};
  *home = *list = s;
  return s;
}

static void put(sim_clock **to, sim_clock *value, bool replace) {
  if (replace)
    give(to, value);
  else
    sim_clock_add(to, value);
}

void sim_order_publish(const sim_access *a, sim_channel **home, sim_channel **list, bool replace) {
  sim_order *o = order_of(a->w);
  bool release = a->flags & SIM_RELEASE, block_only = a->flags & SIM_CTA;
  sim_clock *now = release ? snapshot(a->w, a->lane) : NULL;
  sim_clock *block = release ? now : o->fenced_block[a->lane];
  sim_clock *all = block_only ? NULL : release ? now : o->fenced_all[a->lane];
  if (*home || block || all) {
    sim_channel *s = enter_sync(home, list);
    uint32_t index = (uint32_t)a->w->block->index;
    if (s) {
      put(&s->all, all, replace);
      put(&s->block, block, replace || s->block_index != index);
      s->block_index = index;
    }
  }
  sim_clock_drop(now);
  if (release) a->w->block->check->time++;
}

void sim_order_complete(const sim_channel *from, sim_channel **to, sim_channel **list) {
  sim_channel *s = from ? enter_sync(to, list) : NULL;
  if (!s) return;
  sim_clock_add(&s->all, from->all);
  sim_clock_add(&s->block, from->block);
  s->block_index = from->block_index;
}

void sim_order_observe(const sim_access *a, const sim_channel *s) {
  sim_order *o = order_of(a->w);
  bool acquires = a->flags & SIM_ACQUIRE, block_only = a->flags & SIM_CTA;
  uint32_t i = a->lane;
  o->clocks = true;
  if (s->block_index == (uint32_t)a->w->block->index)
    sim_clock_add(acquires ? &o->known[i] : &o->seen_block[i], s->block);
  if (!block_only) sim_clock_add(acquires ? &o->known[i] : &o->seen_all[i], s->all);
}
