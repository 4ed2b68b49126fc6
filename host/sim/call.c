/* Calls: frames of functions, arguments and results, returns. Arguments travel through the local
 * memory of each thread, which is a stack: a frame's part starts where its caller's ends. */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "check.h"
#include "control.h"

enum { DEPTH_MAX = 4096 };
/* Registers of all frames of a worker; one that needs more recurses without end. */
static const uint64_t FRAMES_MAX = 1ull << 29;

#define FOR_LANES(i, m)                                                           \
  for (uint32_t rest_ = (m), i; rest_ && (i = (uint32_t)__builtin_ctz(rest_), 1); \
       rest_ &= rest_ - 1)

/* ---- frames ---- */

static size_t up64(size_t value) {
  return (value + 63) / 64 * 64;
}

static sim_frame *new_frame(sim_worker *worker, const sim_func *func) {
  size_t head = up64(sizeof(sim_frame)), bytes = head + up64(func->frame_bytes);
  if (worker->frame_bytes + bytes > FRAMES_MAX) return NULL;
  sim_frame *frame = aligned_alloc(64, bytes);
  if (!frame) return NULL;
  memset(frame, 0, bytes);
  frame->func = func;
  frame->regs = (uint8_t *)frame + head;
  worker->frame_bytes += bytes;
  return frame;
}

static sim_frame *take_frame(sim_warp *w, const sim_func *func) {
  sim_frame **spare = &w->worker->spare_frames[func->index], *frame = *spare;
  bool fresh = !frame;
  if (fresh)
    frame = new_frame(w->worker, func);
  else
    *spare = frame->next;
  if (!frame) return NULL;
  const sim_func *caller = w->frame->func;
  uint64_t end = w->frame->local_base + caller->local_bytes, align = func->local_align;
  frame->caller = w->frame;
  frame->local_base = (end + align - 1) / align * align;
  frame->depth = w->frame->depth + 1;
  frame->mask = 0;
  frame->next = w->frames;
  w->frames = frame;
  sim_fill_presets(w, frame, fresh);
  return frame;
}

/* The frame of `func` that lanes of the running group enter: one that others of its caller are in,
 * or a new one. NULL: too deep. */
static sim_frame *enter_frame(sim_warp *w, const sim_func *func) {
  for (sim_frame *f = w->frames; f; f = f->next) {
    if (f->func == func && f->caller == w->frame) return f;
  }
  uint64_t end = w->frame->local_base + w->frame->func->local_bytes;
  if (w->frame->depth >= DEPTH_MAX) return NULL;
  if (end + func->local_align + func->local_bytes > w->func->stack_bytes) return NULL;
  return take_frame(w, func);
}

static void drop_frame(sim_warp *w, sim_frame *frame) {
  sim_frame **at = &w->frames;
  while (*at != frame) at = &(*at)->next;
  *at = frame->next;
  sim_frame **spare = &w->worker->spare_frames[frame->func->index];
  frame->next = *spare;
  *spare = frame;
}

void sim_leave_frames(sim_warp *w, sim_frame *frame, uint32_t lanes, bool all) {
  while (frame->caller) {
    sim_frame *caller = frame->caller;
    frame->mask &= ~lanes;
    if (!frame->mask) drop_frame(w, frame);
    if (!all) break;
    frame = caller;
  }
}

void sim_free_frames(sim_frame *list) {
  while (list) {
    sim_frame *next = list->next;
    free(list);
    list = next;
  }
}

/* ---- arguments and results ---- */

uint8_t *sim_frame_local(const sim_warp *w, const sim_frame *frame, uint32_t lane) {
  uint64_t thread = (uint64_t)w->index * SIM_LANES + lane;
  return w->block->local + thread * w->func->stack_bytes + frame->local_base;
}

static void copy_params(const sim_warp *w, uint32_t lanes, const sim_frame *to,
                        const sim_param *into, const sim_frame *from, const sim_param *of,
                        uint32_t count) {
  FOR_LANES(lane, lanes) {
    uint8_t *target = sim_frame_local(w, to, lane);
    const uint8_t *source = sim_frame_local(w, from, lane);
    for (uint32_t i = 0; i < count; i++)
      memcpy(target + into[i].offset, source + of[i].offset, into[i].bytes);
    for (uint32_t i = 0; w->block->check && i < count; i++)
      sim_check_passed(w, lane, to->local_base + into[i].offset, into[i].bytes);
  }
}

static bool agree(const sim_param *a, const sim_param *b, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (a[i].bytes != b[i].bytes) return false;
  }
  return true;
}

bool sim_call_fits(const sim_call *call, const sim_func *func) {
  const ptx_func *f = func->source;
  return call->arg_count == (uint32_t)f->param_count && call->ret_count <= (uint32_t)f->ret_count &&
         agree(call->args, func->args, call->arg_count) &&
         agree(call->rets, func->rets, call->ret_count);
}

/* ---- the micro-ops ---- */

/* The function at an address, for lane; NULL after a fault. */
static const sim_func *function_at(sim_warp *w, const sim_op *op, uint64_t address, uint32_t lane) {
  const sim_program *p = w->func->program;
  uint64_t index = (address - SIM_CODE_WINDOW) / SIM_CODE_STEP;
  bool exists = address >= SIM_CODE_WINDOW && address % SIM_CODE_STEP == 0 &&
                index < (uint64_t)p->source->func_count;
  const sim_func *f = exists ? p->by_index[index] : NULL;
  if (!f) {
    sim_fault(w, op, PG_FAULT_OTHER, (int)lane, 0,
              "call through a pointer (0x%llx) that is no function", (unsigned long long)address);
  }
  return f;
}

static const sim_op *enter(sim_warp *w, const sim_op *op, const sim_func *func, uint32_t lanes) {
  const sim_call *call = (const sim_call *)(uintptr_t)op->imm;
  sim_frame *frame = enter_frame(w, func);
  if (!frame) {
    return sim_fault(w, op, PG_FAULT_OTHER, __builtin_ctz(lanes), 0,
                     "stack overflow, %u calls deep", w->frame->depth + 1);
  }
  copy_params(w, lanes, frame, func->args, w->frame, call->args, call->arg_count);
  frame->mask |= lanes;
  FOR_LANES(lane, lanes) frame->back[lane] = op;
  sim_group *g = &w->groups[w->current];
  if (lanes != w->mask) {
    w->groups[w->group_count++] =
        (sim_group){.pc = op, .frame = w->frame, .mask = w->mask & ~lanes};
  }
  g->mask = lanes;
  g->frame = frame;
  return sim_rejoin(w, func->ops);
}

const sim_op *sim_op_call(sim_warp *w, const sim_op *op) {
  return enter(w, op, ((const sim_call *)(uintptr_t)op->imm)->func, w->mask);
}

/* Lanes that call the first one's function; the others come back to this micro-op. */
const sim_op *sim_op_call_pointer(sim_warp *w, const sim_op *op) {
  const uint64_t *address = (const uint64_t *)(const void *)(w->regs + op->a);
  uint32_t first = (uint32_t)__builtin_ctz(w->mask), same = 0;
  FOR_LANES(lane, w->mask) same |= (uint32_t)(address[lane] == address[first]) << lane;
  const sim_func *func = function_at(w, op, address[first], first);
  if (!func) return NULL;
  if (!sim_call_fits((const sim_call *)(uintptr_t)op->imm, func)) {
    return sim_fault(w, op, PG_FAULT_OTHER, (int)first, 0,
                     "call of %s with other arguments than it takes", func->source->name);
  }
  return enter(w, op, func, same);
}

/* The lanes of one call site after the other go back to their caller. */
const sim_op *sim_op_return(sim_warp *w, const sim_op *op) {
  (void)op;
  sim_frame *frame = w->frame;
  const sim_op *back = frame->back[__builtin_ctz(w->mask)];
  const sim_call *call = (const sim_call *)(uintptr_t)back->imm;
  uint32_t lanes = 0;
  FOR_LANES(lane, w->mask) lanes |= (uint32_t)(frame->back[lane] == back) << lane;
  copy_params(w, lanes, frame->caller, call->rets, frame, frame->func->rets, call->ret_count);
  sim_group *g = &w->groups[w->current];
  if (lanes != w->mask)
    w->groups[w->group_count++] = (sim_group){.pc = op, .frame = frame, .mask = w->mask & ~lanes};
  g->mask = lanes;
  g->frame = frame->caller;
  sim_leave_frames(w, frame, lanes, false);
  return sim_rejoin(w, back + 1);
}
