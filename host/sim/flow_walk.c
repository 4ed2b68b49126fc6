/* Following control through a function: what is reached, what is stored on the way, which
 * definition of a register comes through. */
#include "flow_walk.h"

#include <stdlib.h>
#include <string.h>

#include "lower.h"

bool flow_is(const ptx_instr *i, const char *opcode) {
  return i->opcode && strcmp(i->opcode, opcode) == 0;
}

bool flow_returns(const ptx_instr *i) {
  return flow_is(i, "ret") || flow_is(i, "exit");
}

bool flow_pay(flow_walk *w) {
  *w->budget -= w->func->instr_count;
  return *w->budget >= 0;
}

bool flow_start(flow_walk *w, const ptx_func *func) {
  size_t n = (size_t)func->instr_count + 1;
  *w = (flow_walk){.func = func, .barrier = -1};
  w->seen = calloc(n, 1);
  w->stack = calloc(n, sizeof *w->stack);
  return w->seen && w->stack;
}

void flow_end(flow_walk *w) {
  free(w->seen);
  free(w->stack);
}

static void go(flow_walk *w, uint64_t at) {
  if (at >= (uint64_t)w->func->instr_count) w->ended = true;
  if (at >= (uint64_t)w->func->instr_count || w->seen[at]) return;
  w->seen[at] = 1;
  w->stack[w->depth++] = (int)at;
}

/* An indirect branch may go to any label. */
static void go_to_labels(flow_walk *w) {
  for (int k = 0; k < w->func->instr_count; k++)
    if (!w->func->body[k].opcode) go(w, (uint64_t)k);
}

typedef struct defines {
  int reg;
  bool found;
} defines;

static void note_definition(void *context, int reg, bool write) {
  defines *d = context;
  d->found |= write && reg == d->reg;
}

/* Whether an instruction surely gives the register another value. */
static bool redefines(const ptx_instr *i, int reg) {
  defines d = {.reg = reg};
  if (reg >= 0 && i->opcode && i->guard < 0) lower_registers(i, note_definition, &d);
  return d.found;
}

/* Where control goes from instruction k, but for falling through; whether it may fall through. */
static bool follow_jump(flow_walk *w, const ptx_instr *i, bool *indirect) {
  bool always = i->guard < 0;
  if (flow_is(i, "bra") && i->operand_count == 1 && i->operands[0].kind == PTX_OP_LABEL) {
    go(w, i->operands[0].bits);
    return !always;
  }
  if (flow_is(i, "brx")) {
    if (!*indirect) go_to_labels(w);
    *indirect = true;
    return !always;
  }
  if (flow_returns(i)) w->ended = true;
  return !always || !(flow_returns(i) || flow_fails(i));
}

static void walk_from(flow_walk *w, int at) {
  bool indirect = false;
  w->ended = false;
  go(w, (uint64_t)at);
  while (w->depth > 0) {
    int k = w->stack[--w->depth];
    const ptx_instr *i = &w->func->body[k];
    if (redefines(i, w->barrier)) continue;
    if (follow_jump(w, i, &indirect)) go(w, (uint64_t)k + 1);
  }
}

uint8_t *flow_reached(const ptx_func *func) {
  flow_walk w;
  if (!flow_start(&w, func)) return flow_end(&w), NULL;
  walk_from(&w, 0);
  free(w.stack);
  return w.seen;
}

flow_outcome flow_from(flow_walk *w, uint64_t at) {
  if (!flow_pay(w)) return (flow_outcome){0};
  memset(w->seen, 0, (size_t)w->func->instr_count);
  walk_from(w, (int)at);
  flow_outcome out = {.ends = w->ended};
  for (int k = 0; !out.stores && k < w->func->instr_count; k++)
    out.stores = w->seen[k] && flow_stores(&w->func->body[k]);
  return out;
}

int flow_definition(flow_walk *w, int reg, int at) {
  int found = -1;
  w->barrier = reg;
  for (int k = 0; k < w->func->instr_count; k++) {
    const ptx_instr *i = &w->func->body[k];
    defines d = {.reg = reg};
    if (i->opcode) lower_registers(i, note_definition, &d);
    if (!d.found) continue;
    if (!flow_pay(w)) break;
    memset(w->seen, 0, (size_t)w->func->instr_count);
    walk_from(w, k + 1);
    if (!w->seen[at]) continue;
    if (found >= 0) {
      found = -1;
      break;
    }
    found = k;
  }
  w->barrier = -1;
  return found;
}
