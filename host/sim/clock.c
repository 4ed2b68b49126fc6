/* Clocks: persistent trees of 32 branches, joined by the larger time. See clock.h. */
#include "clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct sim_clock {
  atomic_uint count;
  int level;
  uint32_t floor; /* every thread below this node, at least */
  union {
    sim_clock *child[32];
    uint32_t time[32]; /* level SIM_CLOCK_LANES */
  };
};

int sim_clock_top(uint64_t block_count) {
  int top = SIM_CLOCK_WARPS;
  for (uint64_t parts = block_count; parts > 1; parts = (parts + 31) / 32) top++;
  return top;
}

sim_clock *sim_clock_keep(sim_clock *c) {
  if (c) atomic_fetch_add_explicit(&c->count, 1, memory_order_relaxed);
  return c;
}

void sim_clock_drop(sim_clock *c) {
  if (!c || atomic_fetch_sub_explicit(&c->count, 1, memory_order_acq_rel) != 1) return;
  for (int i = 0; c->level != SIM_CLOCK_LANES && i < 32; i++) sim_clock_drop(c->child[i]);
  free(c);
}

static sim_clock *new_node(int level, uint32_t floor) {
  sim_clock *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  atomic_init(&c->count, 1);
  c->level = level;
  c->floor = floor;
  return c;
}

uint32_t sim_clock_time(const sim_clock *c, uint32_t thread) {
  uint32_t time = 0;
  while (c) {
    if (c->floor > time) time = c->floor;
    uint32_t index = thread >> (5 * c->level) & 31;
    if (c->level == SIM_CLOCK_LANES) return c->time[index] > time ? c->time[index] : time;
    c = c->child[index];
  }
  return time;
}

static uint32_t later(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

/* The two parts of a join, equal in level. Without memory the join is a: knowing less would accuse
 * the innocent, but a process without memory ends anyway. */
static sim_clock *join_lanes(sim_clock *a, sim_clock *b) {
  uint32_t floor = later(a->floor, b->floor), time[32];
  bool is_a = floor == a->floor, is_b = floor == b->floor;
  for (int i = 0; i < 32; i++) {
    time[i] = later(a->time[i], b->time[i]);
    is_a &= time[i] == a->time[i];
    is_b &= time[i] == b->time[i];
  }
  if (is_a || is_b) return sim_clock_keep(is_a ? a : b);
  sim_clock *c = new_node(a->level, floor);
  if (!c) return sim_clock_keep(a);
  memcpy(c->time, time, sizeof time);
  return c;
}

static sim_clock *join_inner(sim_clock *a, sim_clock *b) {
  uint32_t floor = later(a->floor, b->floor);
  sim_clock *child[32];
  bool is_a = floor == a->floor, is_b = floor == b->floor;
  for (int i = 0; i < 32; i++) {
    child[i] = sim_clock_join(a->child[i], b->child[i]);
    is_a &= child[i] == a->child[i];
    is_b &= child[i] == b->child[i];
  }
  sim_clock *c = is_a || is_b ? NULL : new_node(a->level, floor);
  if (c) {
    memcpy(c->child, child, sizeof child);
    return c;
  }
  for (int i = 0; i < 32; i++) sim_clock_drop(child[i]);
  return sim_clock_keep(is_b && !is_a ? b : a);
}

sim_clock *sim_clock_join(sim_clock *a, sim_clock *b) {
  if (a == b || !b) return sim_clock_keep(a);
  if (!a) return sim_clock_keep(b);
  return a->level == SIM_CLOCK_LANES ? join_lanes(a, b) : join_inner(a, b);
}

void sim_clock_add(sim_clock **to, sim_clock *b) {
  if (*to == b || !b) return;
  sim_clock *joined = sim_clock_join(*to, b);
  sim_clock_drop(*to);
  *to = joined;
}

sim_clock *sim_clock_new(int top, uint32_t block, uint32_t floor, uint32_t warp,
                         const uint32_t lanes[32]) {
  sim_clock *c = new_node(SIM_CLOCK_LANES, 0);
  if (!c) return NULL;
  memcpy(c->time, lanes, sizeof c->time);
  for (int level = SIM_CLOCK_WARPS; level <= top; level++) {
    sim_clock *above = new_node(level, level == SIM_CLOCK_WARPS ? floor : 0);
    if (!above) {
      sim_clock_drop(c);
      return NULL;
    }
    uint32_t index = level == SIM_CLOCK_WARPS ? warp : block >> (5 * (level - SIM_CLOCK_BLOCKS));
    above->child[index & 31] = c;
    c = above;
  }
  return c;
}
