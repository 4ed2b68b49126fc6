/* Reports of faults: who, where in the source, and what was missed by how much. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "exec.h"

typedef struct text {
  char *at;
  size_t left;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(t->at, t->left, format, args);
  va_end(args);
  if (n < 0) return;
  size_t used = (size_t)n < t->left ? (size_t)n : t->left ? t->left - 1 : 0;
  t->at += used;
  t->left -= used;
}

static const ptx_instr *source_of(const sim_launch *launch, const sim_op *op) {
  const ptx_func *f = launch->func->source;
  return f->instr_count ? &f->body[op->source] : NULL;
}

/* "file.cu:12" or "PTX line 40". */
static void add_place(text *t, const ptx_instr *instr) {
  if (instr && instr->file)
    add(t, "%s:%d", instr->file, instr->file_line);
  else if (instr)
    add(t, "PTX line %d", instr->line);
  else
    add(t, "an unknown place");
}

static void copy(char *to, size_t bytes, const char *from) {
  snprintf(to, bytes, "%s", from ? from : "");
}

static void locate(pg_fault *f, const sim_launch *launch, const sim_op *op) {
  const ptx_instr *instr = source_of(launch, op);
  copy(f->kernel, sizeof f->kernel, launch->func->source->name);
  if (!instr) return;
  f->located = true;
  copy(f->file, sizeof f->file, instr->file);
  f->line = instr->file_line;
  f->ptx_line = instr->line;
  copy(f->instruction, sizeof f->instruction, instr->text);
}

static const char *space_name(uint64_t address) {
  return address < SIM_SHARED_WINDOW                     ? "global"
         : address < SIM_LOCAL_WINDOW                    ? "shared"
         : address < SIM_PARAM_WINDOW                    ? "local"
         : address < SIM_PARAM_WINDOW + SIM_WINDOW_BYTES ? "param"
                                                         : "global";
}

/* The nearest range of the same space, and how far outside it the access begins or ends. */
static void measure(pg_fault *f, const sim_launch *launch) {
  const sim_range *r = sim_ranges_nearest(launch->ranges, f->address);
  copy(f->space, sizeof f->space, space_name(f->address));
  if (!r || strcmp(space_name(r->base), f->space) != 0) return;
  copy(f->allocation, sizeof f->allocation, r->name);
  f->allocation_base = r->base;
  f->allocation_bytes = r->bytes;
  uint64_t end = r->base + r->bytes;
  if (f->address < r->base)
    f->distance = -(int64_t)(r->base - f->address);
  else if (f->address >= end)
    f->distance = (int64_t)(f->address - end);
  else if (f->address + f->access_bytes > end)
    f->distance = (int64_t)(f->address + f->access_bytes - end);
}

static void add_allocation(text *t, const pg_fault *f, const sim_launch *launch) {
  char ghost[96];
  const char *name = f->allocation[0] ? f->allocation : "an unnamed allocation";
  if (!f->allocation_base) {
    add(t, "\n  there is no allocation near it");
  } else if (f->distance < 0) {
    add(t, "\n  %lld bytes before the start of %s (%llu bytes)", (long long)-f->distance, name,
        (unsigned long long)f->allocation_bytes);
  } else if (f->address >= f->allocation_base + f->allocation_bytes) {
    add(t, "\n  %lld bytes past the end of %s (%llu bytes)", (long long)f->distance, name,
        (unsigned long long)f->allocation_bytes);
  } else {
    add(t, "\n  inside %s (%llu bytes), byte %llu", name, (unsigned long long)f->allocation_bytes,
        (unsigned long long)(f->address - f->allocation_base));
    if (f->distance > 0) add(t, ", and %lld bytes past its end", (long long)f->distance);
  }
  if (f->address < 4096)
    add(t, "\n  a null pointer");
  else if (sim_memory_ghost(launch->memory, f->address, ghost, sizeof ghost))
    add(t, "\n  inside %s", ghost);
}

static void identify_thread(pg_fault *f, const sim_warp *w, int lane) {
  const sim_launch *launch = w->launch;
  uint32_t linear = w->index * SIM_LANES + (uint32_t)lane;
  memcpy(f->block, w->block->id, sizeof f->block);
  f->thread[0] = linear % launch->block[0];
  f->thread[1] = linear / launch->block[0] % launch->block[1];
  f->thread[2] = linear / launch->block[0] / launch->block[1];
}

const sim_op *sim_fault(sim_warp *w, const sim_op *op, pg_fault_kind kind, int lane,
                        uint64_t address, const char *format, ...) {
  sim_launch *launch = w->launch;
  w->why = SIM_FAULTED;
  pthread_mutex_lock(&launch->fault_lock);
  pg_fault *f = &launch->fault;
  if (f->kind == PG_FAULT_NONE) {
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    f->kind = kind;
    locate(f, launch, op);
    identify_thread(f, w, lane);
    text t = {f->text, sizeof f->text};
    add(&t, "%s in kernel %s at ", what, f->kernel);
    add_place(&t, source_of(launch, op));
    add(&t, "\n  block (%u, %u, %u), thread (%u, %u, %u)", f->block[0], f->block[1], f->block[2],
        f->thread[0], f->thread[1], f->thread[2]);
    if (op->bytes) { /* a memory access */
      f->address = address;
      f->access_bytes = (uint32_t)op->bytes * op->count;
      measure(f, launch);
      add(&t, "\n  %s address 0x%llx", f->space, (unsigned long long)address);
      add_allocation(&t, f, launch);
    }
    add(&t, "\n  instruction: %s (PTX line %d)", f->instruction, f->ptx_line);
  }
  pthread_mutex_unlock(&launch->fault_lock);
  atomic_store(&launch->stop, SIM_STOP_FAULT);
  return NULL;
}

static const char *state_text(const sim_group *g) {
  return g->state == SIM_AT_BARRIER   ? "waits at a barrier"
         : g->state == SIM_CONVERGING ? "waits for lanes named in its member mask"
         : g->spun                    ? "spins"
                                      : "runs";
}

/* One line for each of the first few places where groups of lanes stand. */
static void add_positions(text *t, const sim_block *b) {
  enum { MOST = 6 };
  int shown = 0, more = 0;
  for (uint32_t i = 0; i < b->warp_count; i++) {
    const sim_warp *w = &b->warps[i];
    for (int j = 0; j < w->group_count; j++) {
      const sim_group *g = &w->groups[j];
      if (shown++ >= MOST) {
        more++;
        continue;
      }
      add(t, "\n  warp %u, %d lanes (mask 0x%08x): %s at ", i, __builtin_popcount(g->mask), g->mask,
          state_text(g));
      const sim_op *op = g->state == SIM_AT_BARRIER ? g->waits : g->pc;
      add_place(t, source_of(b->launch, op));
    }
  }
  if (more) add(t, "\n  and %d more groups of lanes", more);
}

void sim_fault_block(sim_block *b, pg_fault_kind kind, const char *what) {
  sim_launch *launch = b->launch;
  pthread_mutex_lock(&launch->fault_lock);
  pg_fault *f = &launch->fault;
  if (f->kind == PG_FAULT_NONE) {
    f->kind = kind;
    const sim_op *op = launch->func->ops;
    for (uint32_t i = 0; i < b->warp_count; i++) {
      const sim_warp *w = &b->warps[i];
      if (w->group_count)
        op = w->groups[0].state == SIM_AT_BARRIER ? w->groups[0].waits : w->groups[0].pc;
      if (w->group_count) break;
    }
    locate(f, launch, op);
    memcpy(f->block, b->id, sizeof f->block);
    text t = {f->text, sizeof f->text};
    add(&t, "%s in kernel %s, block (%u, %u, %u)", what, f->kernel, b->id[0], b->id[1], b->id[2]);
    add_positions(&t, b);
  }
  pthread_mutex_unlock(&launch->fault_lock);
  atomic_store(&launch->stop, SIM_STOP_FAULT);
}
