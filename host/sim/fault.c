/* Reports of faults: who, where in the source, and what was missed by how much. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

/* NULL before the first instruction: of an empty function, or a block that has no thread left. */
static const ptx_instr *source_of(const sim_func *func, const sim_op *op) {
  const ptx_func *f = func->source;
  return op->source < (uint32_t)f->instr_count ? &f->body[op->source] : NULL;
}

/* Where the code of a header ended up: the outermost place, which is the user's own. */
static void add_inlined(text *t, const ptx_place *place) {
  const ptx_place *outer = place;
  while (outer && outer->inlined_at) outer = outer->inlined_at;
  if (outer && outer != place && outer->file)
    add(t, " (inlined at %s:%d)", outer->file, outer->line);
}

/* "file.cu:12" or "PTX line 40". */
static void add_place(text *t, const ptx_instr *instr) {
  if (instr && instr->file) {
    add(t, "%s:%d", instr->file, instr->file_line);
    add_inlined(t, instr->place);
  } else if (instr) {
    add(t, "PTX line %d", instr->line);
  } else {
    add(t, "an unknown place");
  }
}

static void copy(char *to, size_t bytes, const char *from) {
  snprintf(to, bytes, "%s", from ? from : "");
}

static void locate(pg_fault *f, const sim_launch *launch, const sim_func *func, const sim_op *op) {
  const ptx_instr *instr = source_of(func, op);
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

/* A static variable of a function, _ZZ...E1s: the name at its end; else all of it. */
static const char *variable_name(const char *name) {
  if (!name || strncmp(name, "_ZZ", 3) != 0) return name;
  for (const char *at = name + strlen(name); --at > name;) {
    char *end;
    if (*at < '0' || *at > '9' || at[-1] != 'E') continue;
    size_t n = strtoul(at, &end, 10);
    return n > 0 && n == strlen(end) ? end : name;
  }
  return name;
}

/* The nearest range of the same space, and how far outside it the access begins or ends. */
static void measure(pg_fault *f, const sim_launch *launch) {
  const sim_range *r = sim_ranges_nearest(launch->ranges, f->address);
  copy(f->space, sizeof f->space, space_name(f->address));
  if (!r || strcmp(space_name(r->base), f->space) != 0) return;
  copy(f->allocation, sizeof f->allocation, variable_name(r->name));
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
  if (f->address < 4096) {
    add(t, "\n  a null pointer");
    return;
  }
  if (!f->allocation_base && !strcmp(f->space, "shared")) {
    add(t, "\n  the kernel declares no shared memory, and the launch gives it none");
  } else if (!f->allocation_base) {
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
  if (sim_memory_ghost(launch->memory, f->address, ghost, sizeof ghost))
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

/* The function, and where its callers of the last few levels stand. */
static void add_callers(text *t, const sim_warp *w, int lane) {
  enum { MOST = 4 };
  const sim_frame *frame = w->frame;
  if (!frame->caller) return;
  add(t, " (function %s", frame->func->source->name);
  for (int i = 0; frame->caller && i < MOST; i++, frame = frame->caller) {
    add(t, ", called at ");
    add_place(t, source_of(frame->caller->func, frame->back[lane]));
  }
  add(t, frame->caller ? ", ...)" : ")");
}

const sim_op *sim_fault(sim_warp *w, const sim_op *op, pg_fault_kind kind, int lane,
                        uint64_t address, const char *format, ...) {
  sim_launch *launch = w->launch;
  w->why = SIM_FAULTED;
  pthread_mutex_lock(&launch->fault_lock);
  pg_fault *f = &launch->fault;
  if (f->kind == PG_FAULT_NONE) {
    char what[480];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    f->kind = kind;
    locate(f, launch, w->frame->func, op);
    identify_thread(f, w, lane);
    text t = {f->text, sizeof f->text};
    add(&t, "%s in kernel %s at ", what, f->kernel);
    add_place(&t, source_of(w->frame->func, op));
    add_callers(&t, w, lane);
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

/* ---- findings: noted, one a cause ---- */

bool sim_fails(pg_fault_kind kind) {
  return kind != PG_FAULT_NONE && kind != PG_FAULT_WEAK_READ && kind != PG_FAULT_WEAK_WRITE &&
         kind != PG_FAULT_EDGE_READ && kind != PG_FAULT_INACTIVE_LANE &&
         kind != PG_FAULT_INCOMPLETE;
}

static bool has(const ptx_instr *instr, const char *modifier) {
  for (int i = 0; i < instr->mod_count; i++) {
    if (!strcmp(instr->mods[i], modifier)) return true;
  }
  return false;
}

/* What an instruction does to memory; cp.async reads global memory and writes shared memory. */
static const char *verb_of(const ptx_instr *instr, uint64_t address) {
  const char *op = instr->opcode;
  bool barrier = !strcmp(op, "mbarrier");
  bool waits = barrier && (has(instr, "test_wait") || has(instr, "try_wait"));
  if (op[0] == 's' || (barrier && has(instr, "init"))) return "write";
  if (!strcmp(op, "cp") && !has(instr, "mbarrier"))
    return address < SIM_SHARED_WINDOW ? "read" : "write";
  return op[0] == 'l' || waits ? "read" : "atomic";
}

static bool same_place(const pg_fault *f, const char *kernel, int a, int b) {
  return strcmp(f->kernel, kernel) == 0 && ((f->ptx_line == a && f->other_ptx_line == b) ||
                                            (f->ptx_line == b && f->other_ptx_line == a));
}

/* A read at an edge is nothing beside one of further elements by the same instruction. */
static bool beats(pg_fault_kind kind, pg_fault_kind other) {
  return kind == PG_FAULT_UNINITIALIZED && other == PG_FAULT_EDGE_READ;
}

/* Where the finding goes; NULL when it is known (its index is in *known) or there is no room. What
 * is no verdict makes room for what is. */
static pg_fault *claim(sim_launch *l, pg_fault_kind kind, int a, int b, int *known) {
  sim_findings *list = l->findings;
  *known = -1;
  for (int i = 0; i < list->count; i++) {
    pg_fault *f = &list->list[i];
    bool is_known = f->kind == kind || beats(f->kind, kind);
    if (!same_place(f, l->func->source->name, a, b) || (!is_known && !beats(kind, f->kind)))
      continue;
    *known = i;
    if (!is_known) return f;
    f->times++;
    return NULL;
  }
  if (list->count < PG_FINDING_MAX) {
    *known = list->count++;
    return &list->list[*known];
  }
  for (int i = 0; sim_fails(kind) && i < list->count; i++) {
    if (sim_fails(list->list[i].kind)) continue;
    *known = i;
    return &list->list[i];
  }
  return NULL;
}

static void add_times(sim_launch *l, const sim_told *t) {
  if (!t->times) return;
  pthread_mutex_lock(&l->fault_lock);
  for (int i = 0; i < l->findings->count; i++) {
    pg_fault *f = &l->findings->list[i];
    if (f->kind == t->kind && same_place(f, l->func->source->name, t->line, t->other_line))
      f->times += t->times;
  }
  pthread_mutex_unlock(&l->fault_lock);
}

static void describe_other(pg_fault *f, text *t, const sim_launch *l, const sim_other *other,
                           uint64_t address) {
  uint32_t block = other->thread >> 10, thread = other->thread & 1023;
  copy(f->other_file, sizeof f->other_file, other->instr->file);
  f->other_line = other->instr->file_line;
  copy(f->other_instruction, sizeof f->other_instruction, other->instr->text);
  f->other_block[0] = block % l->grid[0];
  f->other_block[1] = block / l->grid[0] % l->grid[1];
  f->other_block[2] = block / l->grid[0] / l->grid[1];
  f->other_thread[0] = thread % l->block[0];
  f->other_thread[1] = thread / l->block[0] % l->block[1];
  f->other_thread[2] = thread / l->block[0] / l->block[1];
  add(t, "\n  the other: %s at ", verb_of(other->instr, address));
  add_place(t, other->instr);
  add(t, " by block (%u, %u, %u), thread (%u, %u, %u)", f->other_block[0], f->other_block[1],
      f->other_block[2], f->other_thread[0], f->other_thread[1], f->other_thread[2]);
}

static void describe(pg_fault *f, sim_warp *w, const sim_op *op, int lane, uint64_t address,
                     const sim_other *other, const char *what) {
  const sim_launch *launch = w->launch;
  locate(f, launch, w->frame->func, op);
  identify_thread(f, w, lane);
  text t = {f->text, sizeof f->text};
  add(&t, "%s in kernel %s at ", what, f->kernel);
  add_place(&t, source_of(w->frame->func, op));
  add_callers(&t, w, lane);
  add(&t, "\n  block (%u, %u, %u), thread (%u, %u, %u)", f->block[0], f->block[1], f->block[2],
      f->thread[0], f->thread[1], f->thread[2]);
  if (other) describe_other(f, &t, launch, other, address);
  if (op->bytes) {
    f->address = address;
    f->access_bytes = (uint32_t)op->bytes * op->count;
    measure(f, launch);
    add(&t, "\n  %s address 0x%llx", f->space, (unsigned long long)address);
    add_allocation(&t, f, launch);
  }
  add(&t, "\n  instruction: %s (PTX line %d)", f->instruction, f->ptx_line);
}

/* Counts a finding that the worker remembers; else remembers it. */
static bool told_before(sim_worker *worker, pg_fault_kind kind, int line, int other_line) {
  for (int i = 0; i < SIM_TOLD; i++) {
    sim_told *t = &worker->told[i];
    if (t->kind != kind || t->line != line || t->other_line != other_line) continue;
    t->times++;
    return true;
  }
  sim_told *t = &worker->told[worker->told_next++ % SIM_TOLD];
  add_times(worker->launch, t);
  *t = (sim_told){kind, line, other_line, 0};
  return false;
}

void sim_find_end(const sim_worker *worker) {
  for (int i = 0; i < SIM_TOLD; i++) add_times(worker->launch, &worker->told[i]);
}

void sim_find(sim_warp *w, const sim_op *op, int lane, uint64_t address, pg_fault_kind kind,
              const sim_other *other, const char *format, ...) {
  sim_launch *launch = w->launch;
  const ptx_instr *instr = source_of(w->frame->func, op);
  int line = instr ? instr->line : 0, other_line = other ? other->instr->line : 0, index;
  if (told_before(w->worker, kind, line, other_line)) return;
  pthread_mutex_lock(&launch->fault_lock);
  pg_fault *f = claim(launch, kind, line, other_line, &index);
  if (f) {
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    *f = (pg_fault){.kind = kind, .times = 1, .other_ptx_line = other_line};
    describe(f, w, op, lane, address, other, what);
  }
  if (sim_fails(kind) && !launch->failed) launch->failed = index >= 0 ? index + 1 : 1;
  pthread_mutex_unlock(&launch->fault_lock);
}

void sim_find_note(sim_launch *launch, pg_fault_kind kind, const char *what) {
  int index;
  pthread_mutex_lock(&launch->fault_lock);
  pg_fault *f = claim(launch, kind, 0, 0, &index);
  if (f) {
    *f = (pg_fault){.kind = kind, .times = 1};
    copy(f->kernel, sizeof f->kernel, launch->func->source->name);
    snprintf(f->text, sizeof f->text, "%s in kernel %s", what, f->kernel);
  }
  pthread_mutex_unlock(&launch->fault_lock);
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
      add_place(t, source_of(g->frame->func, op));
    }
  }
  if (more) add(t, "\n  and %d more groups of lanes", more);
  for (uint32_t i = 0; i < SIM_BARRIERS; i++) {
    const sim_barrier *bar = &b->barriers[i];
    if (!bar->arrived) continue;
    add(t, "\n  barrier %u: %u of %u threads have come", i, bar->arrived,
        bar->expected ? bar->expected : b->live);
  }
}

void sim_fault_block(sim_block *b, pg_fault_kind kind, const char *what) {
  sim_launch *launch = b->launch;
  pthread_mutex_lock(&launch->fault_lock);
  pg_fault *f = &launch->fault;
  if (f->kind == PG_FAULT_NONE) {
    f->kind = kind;
    const sim_func *func = launch->func;
    const sim_op *op = func->ops;
    for (uint32_t i = 0; i < b->warp_count; i++) {
      const sim_group *g = &b->warps[i].groups[0];
      if (!b->warps[i].group_count) continue;
      op = g->state == SIM_AT_BARRIER ? g->waits : g->pc;
      func = g->frame->func;
      break;
    }
    locate(f, launch, func, op);
    memcpy(f->block, b->id, sizeof f->block);
    text t = {f->text, sizeof f->text};
    add(&t, "%s in kernel %s, block (%u, %u, %u)", what, f->kernel, b->id[0], b->id[1], b->id[2]);
    add_positions(&t, b);
  }
  pthread_mutex_unlock(&launch->fault_lock);
  atomic_store(&launch->stop, SIM_STOP_FAULT);
}
