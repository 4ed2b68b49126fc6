/* Blocks and workers: each worker thread takes blocks in the order of their index, or with a seed
 * in another, runs one until it ends, and sets it aside when it waits for memory to change, so that
 * resident blocks all make progress. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../now.h"
#include "check.h"

/* ---- blocks ---- */

static uint64_t special_value(const sim_warp *w, const sim_frame *frame, uint32_t lane,
                              sim_special which) {
  const sim_launch *l = w->launch;
  const sim_block *b = w->block;
  uint32_t linear = w->index * SIM_LANES + lane;
  switch (which) {
  case SIM_TID_X: return linear % l->block[0];
  case SIM_TID_Y: return linear / l->block[0] % l->block[1];
  case SIM_TID_Z: return linear / l->block[0] / l->block[1];
  case SIM_NTID_X:
  case SIM_NTID_Y:
  case SIM_NTID_Z: return l->block[which - SIM_NTID_X];
  case SIM_CTAID_X:
  case SIM_CTAID_Y:
  case SIM_CTAID_Z: return b->id[which - SIM_CTAID_X];
  case SIM_NCTAID_X:
  case SIM_NCTAID_Y:
  case SIM_NCTAID_Z: return l->grid[which - SIM_NCTAID_X];
  case SIM_LANEID: return lane;
  case SIM_WARPID: return w->index;
  case SIM_NWARPID: return 64;
  case SIM_SMID: return b->index % SIM_MULTIPROCESSORS;
  case SIM_NSMID: return SIM_MULTIPROCESSORS;
  case SIM_LANEMASK_EQ: return 1u << lane;
  case SIM_LANEMASK_LT: return (1u << lane) - 1;
  case SIM_LANEMASK_LE: return (2u << lane) - 1;
  case SIM_LANEMASK_GT: return ~((2u << lane) - 1);
  case SIM_LANEMASK_GE: return ~((1u << lane) - 1);
  case SIM_DYNAMIC_SMEM: return l->dynamic_bytes;
  case SIM_TOTAL_SMEM: return l->shared_bytes;
  case SIM_ONE: return 1;
  case SIM_ENVREG_1: return l->workspace >> 32;
  case SIM_ENVREG_2: return (uint32_t)l->workspace;
  case SIM_FRAME_BASE: return frame->local_base;
  default: return 0;
  }
}

/* The kernel's frame stays with its warp, those of functions go from warp to warp. */
static bool changes(sim_special which, bool in_function) {
  return in_function || (which >= SIM_CTAID_X && which <= SIM_CTAID_Z) || which == SIM_SMID;
}

static bool differs_by_lane(const sim_preset *p) {
  return p->special && !(p->value >= SIM_NTID_X && p->value <= SIM_NCTAID_Z);
}

static void fill_preset(const sim_warp *w, const sim_frame *frame, const sim_preset *p) {
  uint64_t *wide = (uint64_t *)(void *)(frame->regs + p->slot), value = p->value;
  uint32_t *narrow = (uint32_t *)(void *)(frame->regs + p->slot);
  sim_special which = (sim_special)p->value;
  if (p->special) value = special_value(w, frame, 0, which);
  for (uint32_t i = 0; p->wide && i < SIM_LANES; i++) wide[i] = value;
  for (uint32_t i = 0; !p->wide && i < SIM_LANES; i++) narrow[i] = (uint32_t)value;
  for (uint32_t i = 1; differs_by_lane(p) && i < SIM_LANES; i++) {
    value = special_value(w, frame, i, which);
    if (p->wide)
      wide[i] = value;
    else
      narrow[i] = (uint32_t)value;
  }
}

void sim_fill_presets(const sim_warp *w, const sim_frame *frame, bool all) {
  const sim_func *f = frame->func;
  for (size_t i = 0; i < f->preset_count; i++) {
    const sim_preset *p = &f->presets[i];
    if (all || (p->special && changes((sim_special)p->value, frame->caller)))
      fill_preset(w, frame, p);
  }
}

static size_t up64(size_t value) {
  return (value + 63) / 64 * 64;
}

static void set_deltas(sim_warp *w) {
  w->delta[SIM_GLOBAL] = 0;
  w->delta[SIM_SHARED] = (uint64_t)(uintptr_t)w->block->shared - SIM_SHARED_WINDOW;
  w->delta[SIM_PARAM] = (uint64_t)(uintptr_t)w->launch->params - SIM_PARAM_WINDOW;
  w->delta[SIM_LOCAL] = (uint64_t)(uintptr_t)w->block->local - SIM_LOCAL_WINDOW +
                        (uint64_t)w->index * SIM_LANES * w->func->stack_bytes;
}

/* One allocation holds block, warps, frames, shared and local memory. */
static sim_block *new_block(sim_worker *worker) {
  sim_launch *l = worker->launch;
  const sim_func *f = l->func;
  uint32_t warps = (l->threads + SIM_LANES - 1) / SIM_LANES;
  size_t frame = up64(f->frame_bytes), head = up64(sizeof(sim_block));
  size_t warp_bytes = up64(warps * sizeof(sim_warp)), frames = warps * frame;
  size_t shared = up64(l->shared_bytes + 1),
         local = up64((size_t)warps * SIM_LANES * f->stack_bytes + 1);
  uint8_t *at = aligned_alloc(64, head + warp_bytes + frames + shared + local);
  if (!at) return NULL;
  memset(at, 0, head + warp_bytes + frames);
  sim_block *b = (sim_block *)(void *)at;
  *b = (sim_block){.launch = l, .warp_count = warps, .threads = l->threads};
  b->warps = (sim_warp *)(void *)(at + head);
  b->frames = at + head + warp_bytes;
  b->shared = b->frames + frames;
  b->local = b->shared + shared;
  for (uint32_t i = 0; i < warps; i++) {
    sim_warp *w = &b->warps[i];
    *w = (sim_warp){.regs = b->frames + i * frame,
                    .block = b,
                    .worker = worker,
                    .launch = l,
                    .func = f,
                    .index = i};
    w->frame = &w->root;
    w->root = (sim_frame){.func = f, .regs = w->regs};
    set_deltas(w);
    sim_fill_presets(w, &w->root, true);
  }
  if (l->check && !(b->check = sim_check_block_new(l))) {
    free(b);
    return NULL;
  }
  return b;
}

static void start_warp(sim_warp *w, uint32_t threads) {
  uint32_t first = w->index * SIM_LANES, n = threads - first;
  w->live = n >= SIM_LANES ? SIM_ALL : (1u << n) - 1;
  w->group_count = 1;
  w->current = -1;
  w->tick = 0;
  w->why = SIM_SWITCH;
  w->root.mask = w->live;
  w->groups[0] = (sim_group){.pc = w->func->ops, .frame = &w->root, .mask = w->live};
}

/* Shared memory starts as NaNs and -1, so that what a kernel reads before it writes shows; or, with
 * some seeds, as large or small numbers, which a largest or smallest would show. */
static const uint8_t garbage[] = {0xff, 0x7e, 0xfe};

static sim_block *start_block(sim_worker *worker, uint64_t index) {
  sim_launch *l = worker->launch;
  sim_block *b = worker->spare;
  if (b)
    worker->spare = b->next;
  else
    b = new_block(worker);
  if (!b) return NULL;
  b->index = index;
  if (b->check) sim_check_block_start(b);
  b->id[0] = (uint32_t)(index % l->grid[0]);
  b->id[1] = (uint32_t)(index / l->grid[0] % l->grid[1]);
  b->id[2] = (uint32_t)(index / l->grid[0] / l->grid[1]);
  b->live = b->threads;
  b->slices = 0;
  b->next_warp = 0;
  b->open = 0;
  memset(b->barriers, 0, sizeof b->barriers);
  memset(b->shared, garbage[l->seed % sizeof garbage], l->shared_bytes);
  for (uint32_t i = 0; i < b->warp_count; i++) {
    start_warp(&b->warps[i], b->threads);
    sim_fill_presets(&b->warps[i], &b->warps[i].root, false);
  }
  return b;
}

static uint32_t random_below(sim_worker *worker, uint32_t bound) {
  worker->rng = worker->rng * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)((worker->rng >> 32) * bound >> 32);
}

static bool is_ready(const sim_warp *w) {
  for (int i = 0; i < w->group_count; i++) {
    if (w->groups[i].state == SIM_READY) return true;
  }
  return false;
}

typedef enum block_state { BLOCK_DONE, BLOCK_SPINS, BLOCK_INTERRUPTED, BLOCK_FAULTED } block_state;

/* One round over the block's warps. */
static block_state run_round(sim_worker *worker, sim_block *b) {
  bool ran = false, spins = true;
  uint32_t start = worker->launch->seed ? random_below(worker, b->warp_count) : 0;
  for (uint32_t i = 0; i < b->warp_count; i++) {
    sim_warp *w = &b->warps[(start + i) % b->warp_count];
    if (!w->group_count || !is_ready(w)) continue;
    sim_exit why = sim_run_warp(w);
    if (why == SIM_FAULTED) return BLOCK_FAULTED;
    ran = true;
    if (why != SIM_SPIN) spins = false;
  }
  if (b->live == 0) return BLOCK_DONE;
  if (ran) return spins ? BLOCK_SPINS : BLOCK_INTERRUPTED;
  sim_fault_block(b, PG_FAULT_DEADLOCK, "deadlock: no thread can go on");
  return BLOCK_FAULTED;
}

static bool out_of_time(sim_launch *l, sim_block *b) {
  if (atomic_load_explicit(&l->stop, memory_order_relaxed)) return true;
  if (l->deadline <= 0 || pg_now() < l->deadline) return false;
  sim_fault_block(b, PG_FAULT_TIMEOUT, "time limit reached");
  return true;
}

/* Until the block ends, waits for others, or has had its turn. */
static block_state run_block(sim_worker *worker, sim_block *b) {
  enum { ROUNDS = 256 };
  int rounds = worker->launch->caches ? 1 : ROUNDS;
  for (int i = 0; i < rounds; i++) {
    block_state state = run_round(worker, b);
    if (state != BLOCK_INTERRUPTED) return state;
    if (out_of_time(worker->launch, b)) return BLOCK_FAULTED;
  }
  return BLOCK_INTERRUPTED;
}

/* ---- workers ---- */

static void enqueue(sim_worker *worker, sim_block *b) {
  b->next = NULL;
  if (worker->last)
    worker->last->next = b;
  else
    worker->resident = b;
  worker->last = b;
  worker->resident_count++;
}

static sim_block *dequeue(sim_worker *worker) {
  sim_block *b = worker->resident;
  worker->resident = b->next;
  if (!worker->resident) worker->last = NULL;
  worker->resident_count--;
  return b;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* With a seed, blocks start in another order: in each stretch of as many as can be resident
 * together index i becomes (factor * i + offset) mod their number. A block that waits for blocks of
 * lower index, as look-back scans do, still gets them all: those of its stretch come to be resident
 * with it, and the stretches before it end first. */
static uint64_t shuffled(const sim_launch *l, uint64_t index) {
  uint64_t most = (uint64_t)l->max_resident * (uint64_t)l->worker_count;
  uint64_t first = index / most * most, n = l->block_count - first;
  if (n > most) n = most;
  if (!l->seed || n < 2) return index;
  uint64_t mixed = (l->seed + first) * 0x9e3779b97f4a7c15ull;
  mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9ull; /* SplitMix64 */
  mixed ^= mixed >> 32;
  uint64_t factor = mixed % n, offset = (mixed >> 32) % n;
  while (common_divisor(factor, n) != 1) factor++;
  return first + (factor * (index - first) + offset) % n;
}

/* Take the next block of the grid; false when there is none or no memory for it. */
static bool admit(sim_worker *worker) {
  sim_launch *l = worker->launch;
  if (atomic_load_explicit(&l->next_block, memory_order_relaxed) >= l->block_count) return false;
  uint64_t index = atomic_fetch_add(&l->next_block, 1);
  if (index >= l->block_count) return false;
  sim_block *b = start_block(worker, shuffled(l, index));
  if (b) {
    enqueue(worker, b);
    return true;
  }
  pthread_mutex_lock(&l->fault_lock);
  if (l->fault.kind == PG_FAULT_NONE) {
    l->fault.kind = PG_FAULT_OTHER;
    strcpy(l->fault.text, "no host memory for another thread block");
  }
  pthread_mutex_unlock(&l->fault_lock);
  atomic_store(&l->stop, SIM_STOP_FAULT);
  return false;
}

/* sim:profile: as many blocks at once as let warps meet as they do on a GPU, as few as leave their
 * registers in the host's cache. When one waits for others they may be all that a GPU would hold.
 */
static bool has_room(const sim_worker *worker, bool waits) {
  enum { BLOCKS = SIM_MULTIPROCESSORS, WARPS = 2048 };
  const sim_launch *l = worker->launch;
  uint32_t few = WARPS * SIM_LANES / l->threads;
  if (few < BLOCKS) few = BLOCKS;
  if (l->caches && !waits && worker->resident_count >= few) return false;
  return worker->resident_count < l->max_resident;
}

static void *work(void *argument) {
  enum { LONG = 1024 }; /* turns after which a block may wait without being known to spin */
  sim_worker *worker = argument;
  sim_launch *l = worker->launch;
  while (l->caches && has_room(worker, false) && admit(worker)) continue;
  while (!atomic_load_explicit(&l->stop, memory_order_relaxed)) {
    if (!worker->resident && !admit(worker)) break;
    sim_block *b = dequeue(worker);
    block_state state = run_block(worker, b);
    if (state == BLOCK_DONE) {
      b->next = worker->spare;
      worker->spare = b;
      if (out_of_time(l, b)) break; /* a grid of very many short blocks must end as well */
      continue;
    }
    enqueue(worker, b);
    if (state == BLOCK_FAULTED) break;
    /* It waits for somebody: let more blocks in, or other workers run. */
    bool waits = state == BLOCK_SPINS || b->slices++ > LONG;
    bool more = has_room(worker, waits) && admit(worker);
    if (!more && out_of_time(l, b)) break;
    if (!more && state == BLOCK_SPINS) sched_yield();
  }
  return NULL;
}

static void free_list(sim_block *b) {
  while (b) {
    sim_block *next = b->next;
    for (uint32_t i = 0; i < b->warp_count; i++) sim_free_frames(b->warps[i].frames);
    sim_check_block_free(b);
    free(b);
    b = next;
  }
}

static bool start_workers(sim_launch *l) {
  for (int i = 0; i < l->worker_count; i++) {
    sim_worker *w = &l->workers[i];
    w->launch = l;
    w->rng = l->seed + (uint64_t)i;
    w->cache = calloc(l->func->program->cache_count + 1, sizeof *w->cache);
    w->spare_frames = calloc(l->func->program->callee_count + 1, sizeof(sim_frame *));
    if (!w->cache || !w->spare_frames) return false;
    if (!l->caches) continue;
    w->sites = calloc((size_t)l->func->program->instr_count + 1, sizeof *w->sites);
    if (!w->sites) return false;
  }
  for (int i = 1; i < l->worker_count; i++) {
    sim_worker *w = &l->workers[i];
    w->started = pthread_create(&w->thread, NULL, work, w) == 0; /* fewer threads do as well */
  }
  return true;
}

pg_code sim_run(sim_launch *l, pg_error *error) {
  l->workers = aligned_alloc(64, up64((size_t)l->worker_count * sizeof *l->workers));
  if (!l->workers) return pg_fail(error, PG_MEMORY, "no memory for the simulator's workers");
  memset(l->workers, 0, (size_t)l->worker_count * sizeof *l->workers);
  pthread_mutex_init(&l->fault_lock, NULL);
  pg_code code = PG_OK;
  if (start_workers(l))
    work(&l->workers[0]);
  else
    code = pg_fail(error, PG_MEMORY, "no memory for the simulator's workers");
  for (int i = 0; i < l->worker_count; i++) {
    sim_worker *w = &l->workers[i];
    if (w->started) pthread_join(w->thread, NULL);
    sim_find_end(w);
    free_list(w->resident);
    free_list(w->spare);
    for (size_t k = 0; w->spare_frames && k < l->func->program->callee_count; k++)
      sim_free_frames(w->spare_frames[k]);
    free(w->spare_frames);
    free(w->cache);
  }
  pthread_mutex_destroy(&l->fault_lock);
  return code;
}
