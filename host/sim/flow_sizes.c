/* Comparisons of sizes with constants, and whether one outcome leaves out every store: a kernel
 * that knows the size it is timed at looks like this; a check of bounds compares what varies from
 * thread to thread and does not. */
#include <stdlib.h>
#include <string.h>

#include "flow_walk.h"
#include "lower.h"

/* ---- what hangs on a comparison ---- */

typedef struct slice {
  const uint8_t *member; /* predicates that depend on it */
  bool reads, changed;
  uint8_t *into;
} slice;

static void note_read(void *context, int reg, bool write) {
  slice *s = context;
  if (!write) s->reads |= s->member[reg];
}

static void note_write(void *context, int reg, bool write) {
  slice *s = context;
  if (!write || s->into[reg]) return;
  s->into[reg] = 1;
  s->changed = true;
}

static bool makes_predicate(const ptx_func *func, const ptx_instr *i) {
  const ptx_operand *to = i->operand_count ? &i->operands[0] : NULL;
  if (to && to->kind == PTX_OP_PAIR) to = &to->items[0];
  return to && to->kind == PTX_OP_REG && func->regs[to->reg].type == PTX_PRED;
}

/* Mark in `member` the predicates computed from those of `test`. */
static void follow(flow_walk *w, const ptx_instr *test, uint8_t *member) {
  const ptx_func *func = w->func;
  slice s = {.member = member, .into = member};
  lower_registers(test, note_write, &s);
  for (int round = 0; round < 4 && flow_pay(w); round++) {
    s.changed = false;
    for (int k = 0; k < func->instr_count; k++) {
      const ptx_instr *i = &func->body[k];
      if (!i->opcode || i == test || !makes_predicate(func, i)) continue;
      s.reads = false;
      lower_registers(i, note_read, &s);
      if (s.reads) lower_registers(i, note_write, &s);
    }
    if (!s.changed) return;
  }
}

/* Whether this guarded instruction stores in one case and nothing does in the other. */
static bool skips_at(flow_walk *w, int at) {
  const ptx_instr *i = &w->func->body[at];
  bool branch = flow_is(i, "bra") && i->operand_count == 1 && i->operands[0].kind == PTX_OP_LABEL;
  if (flow_stores(i)) return true;
  if (!branch && !flow_returns(i)) return false;
  flow_outcome behind = flow_from(w, (uint64_t)at + 1), there = {.ends = true};
  if (branch) there = flow_from(w, i->operands[0].bits);
  return (behind.stores && !there.stores && there.ends) ||
         (there.stores && !behind.stores && behind.ends);
}

static bool skips(flow_walk *w, const uint8_t *reached, const ptx_instr *test, uint8_t *member) {
  if (!flow_pay(w)) return false;
  memset(member, 0, (size_t)w->func->reg_count);
  follow(w, test, member);
  for (int k = 0; k < w->func->instr_count; k++) {
    const ptx_instr *i = &w->func->body[k];
    if (reached[k] && i->opcode && i->guard >= 0 && member[i->guard] && skips_at(w, k)) return true;
  }
  return false;
}

/* ---- finding comparisons ---- */

/* The value of an integer operand, or of a float that is one. */
static bool constant_of(const ptx_operand *o, const flow_value *values, int64_t *out) {
  if (o->kind == PTX_OP_REG && values[o->reg].is_constant && values[o->reg].definitions == 1)
    return *out = values[o->reg].constant, true;
  if (o->kind == PTX_OP_INT) return *out = (int64_t)o->bits, true;
  double value = 0;
  if (o->kind == PTX_OP_F64) {
    memcpy(&value, &o->bits, sizeof value);
  } else if (o->kind == PTX_OP_F32) {
    uint32_t bits = (uint32_t)o->bits;
    float single;
    memcpy(&single, &bits, sizeof single);
    value = (double)single;
  }
  if (!(value >= -9e15 && value <= 9e15) || value != (double)(int64_t)value) return false;
  *out = (int64_t)value;
  return o->kind == PTX_OP_F64 || o->kind == PTX_OP_F32;
}

/* The first parameter or special register of an expression; NULL: it is a constant. */
static const char *named_in(const flow_test *test) {
  for (int k = 0; k < test->nodes; k++)
    if (test->node[k].name) return test->node[k].name;
  return NULL;
}

/* A value at an instruction that depends on sizes alone. A register that a compiler has given to
 * several values may still be known by the definitions that reach it. */
static bool size_at(flow_walk *w, const ptx_operand *o, const flow_value *values, int at,
                    flow_test *test) {
  if (o->kind != PTX_OP_REG || !(values[o->reg].depends & FLOW_SIZE)) return false;
  test->nodes = flow_expression(w, o, values, at, test->node);
  test->of = test->nodes ? named_in(test) : values[o->reg].of;
  return test->of && (test->nodes || values[o->reg].depends == FLOW_SIZE);
}

static const char *mirrored(const char *comparison) {
  static const char *const pairs[][2] = {{"lt", "gt"}, {"le", "ge"}, {"lo", "hi"}, {"ls", "hs"}};
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    if (strcmp(comparison, pairs[k][0]) == 0) return pairs[k][1];
    if (strcmp(comparison, pairs[k][1]) == 0) return pairs[k][0];
  }
  return comparison;
}

static bool is_large(const ptx_operand *o, const flow_value *values, int64_t *out) {
  return constant_of(o, values, out) && (*out >= FLOW_LARGE || *out <= -FLOW_LARGE);
}

static bool test_of(flow_walk *w, int at, const flow_value *values, flow_test *test) {
  const ptx_instr *i = &w->func->body[at];
  bool compares = flow_is(i, "setp") || flow_is(i, "set");
  if (!compares && !flow_is(i, "min") && !flow_is(i, "max")) return false;
  if (i->operand_count < 3 || (compares && i->mod_count < 1)) return false;
  bool left = is_large(&i->operands[2], values, &test->constant);
  if (!left && !is_large(&i->operands[1], values, &test->constant)) return false;
  if (!size_at(w, &i->operands[left ? 1 : 2], values, at, test)) return false;
  test->instr = i;
  test->comparison = compares ? i->mods[0] : i->opcode;
  if (!left) test->comparison = mirrored(test->comparison);
  return true;
}

int flow_tests(const ptx_func *func, const flow_value *values, const uint8_t *reached,
               flow_test *tests, int64_t *budget) {
  flow_walk w;
  int count = 0;
  uint8_t *member = calloc((size_t)func->reg_count + 1, 1);
  bool ready = flow_start(&w, func) && member;
  w.budget = budget;
  for (int k = 0; ready && *budget >= 0 && k < func->instr_count; k++) {
    flow_test test = {0};
    if (!reached[k] || !func->body[k].opcode || !test_of(&w, k, values, &test)) continue;
    if (count < FLOW_TESTS_MAX) {
      test.skips = skips(&w, reached, test.instr, member);
      tests[count] = test;
    }
    count++;
  }
  flow_end(&w);
  free(member);
  return ready ? count : -1;
}
