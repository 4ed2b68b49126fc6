/* Comparisons of sizes with constants, and whether one outcome leaves out every store: a kernel
 * that knows the size it is timed at looks like this; a check of bounds compares what varies from
 * thread to thread and does not. */
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "lower.h"

/* ---- where control may go ---- */

static bool is(const ptx_instr *i, const char *opcode) {
  return i->opcode && strcmp(i->opcode, opcode) == 0;
}

static bool returns(const ptx_instr *i) {
  return is(i, "ret") || is(i, "exit");
}

typedef struct walk {
  const ptx_func *func;
  uint8_t *seen; /* by instruction */
  int *stack;
  int depth;
  int barrier;     /* a register: control is not followed past its definitions; -1 none */
  bool ended;      /* came to the end of the function, not by a failure */
  int64_t *budget; /* instructions that may still be looked at */
} walk;

/* Pay for one look at every instruction. False when nothing is left: what is asked is not known. */
static bool pay(walk *w) {
  *w->budget -= w->func->instr_count;
  return *w->budget >= 0;
}

static bool start_walk(walk *w, const ptx_func *func) {
  size_t n = (size_t)func->instr_count + 1;
  *w = (walk){.func = func, .barrier = -1};
  w->seen = calloc(n, 1);
  w->stack = calloc(n, sizeof *w->stack);
  return w->seen && w->stack;
}

static void end_walk(walk *w) {
  free(w->seen);
  free(w->stack);
}

static void go(walk *w, uint64_t at) {
  if (at >= (uint64_t)w->func->instr_count) w->ended = true;
  if (at >= (uint64_t)w->func->instr_count || w->seen[at]) return;
  w->seen[at] = 1;
  w->stack[w->depth++] = (int)at;
}

/* An indirect branch may go to any label. */
static void go_to_labels(walk *w) {
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
static bool follow_jump(walk *w, const ptx_instr *i, bool *indirect) {
  bool always = i->guard < 0;
  if (is(i, "bra") && i->operand_count == 1 && i->operands[0].kind == PTX_OP_LABEL) {
    go(w, i->operands[0].bits);
    return !always;
  }
  if (is(i, "brx")) {
    if (!*indirect) go_to_labels(w);
    *indirect = true;
    return !always;
  }
  if (returns(i)) w->ended = true;
  return !always || !(returns(i) || flow_fails(i));
}

static void walk_from(walk *w, int at) {
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
  walk w;
  if (!start_walk(&w, func)) return end_walk(&w), NULL;
  walk_from(&w, 0);
  free(w.stack);
  return w.seen;
}

/* What happens on some way from an instruction. */
typedef struct outcome {
  bool stores, ends;
} outcome;

static outcome from(walk *w, uint64_t at) {
  if (!pay(w)) return (outcome){0};
  memset(w->seen, 0, (size_t)w->func->instr_count);
  walk_from(w, (int)at);
  outcome out = {.ends = w->ended};
  for (int k = 0; !out.stores && k < w->func->instr_count; k++)
    out.stores = w->seen[k] && flow_stores(&w->func->body[k]);
  return out;
}

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
static void follow(const ptx_func *func, const ptx_instr *test, uint8_t *member) {
  slice s = {.member = member, .into = member};
  lower_registers(test, note_write, &s);
  for (int round = 0; round < 4; round++) {
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
static bool skips_at(walk *w, int at) {
  const ptx_instr *i = &w->func->body[at];
  bool branch = is(i, "bra") && i->operand_count == 1 && i->operands[0].kind == PTX_OP_LABEL;
  if (flow_stores(i)) return true;
  if (!branch && !returns(i)) return false;
  outcome behind = from(w, (uint64_t)at + 1), there = {.ends = true};
  if (branch) there = from(w, i->operands[0].bits);
  return (behind.stores && !there.stores && there.ends) ||
         (there.stores && !behind.stores && behind.ends);
}

static bool skips(walk *w, const uint8_t *reached, const ptx_instr *test, uint8_t *member) {
  if (!pay(w)) return false;
  memset(member, 0, (size_t)w->func->reg_count);
  follow(w->func, test, member);
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

/* The only definition of the register that control can carry to instruction `at`; -1 when there is
 * none, or more than one. */
static int reaching(walk *w, int reg, int at) {
  int found = -1;
  w->barrier = reg;
  for (int k = 0; k < w->func->instr_count; k++) {
    const ptx_instr *i = &w->func->body[k];
    defines d = {.reg = reg};
    if (i->opcode) lower_registers(i, note_definition, &d);
    if (!d.found) continue;
    if (!pay(w)) break;
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

enum { COPIES_MAX = 4 };

static bool is_copy_of_register(const ptx_instr *i) {
  return (is(i, "mov") || is(i, "cvt")) && i->operand_count == 2 && i->guard < 0 &&
         i->operands[1].kind == PTX_OP_REG;
}

/* A value at an instruction that depends on sizes alone. A register that a compiler has given to
 * several values is resolved by the definition that reaches it. */
static bool size_at(walk *w, const ptx_operand *o, const flow_value *values, int at,
                    flow_value *out) {
  if (o->kind != PTX_OP_REG) return false;
  int reg = o->reg;
  for (int k = 0; k < COPIES_MAX; k++) {
    *out = values[reg];
    if (out->depends == FLOW_SIZE) return true;
    if (out->depends != (FLOW_SIZE | FLOW_SEVERAL)) return false;
    at = out->definitions == 1 ? out->definition : reaching(w, reg, at);
    if (at < 0) return false;
    const ptx_instr *i = &w->func->body[at];
    *out = flow_of(w->func, i, values);
    if (out->depends == FLOW_SIZE) return i->guard < 0;
    if (!is_copy_of_register(i)) return false;
    reg = i->operands[1].reg;
  }
  return false;
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

static bool test_of(walk *w, int at, const flow_value *values, flow_test *test) {
  const ptx_instr *i = &w->func->body[at];
  bool compares = is(i, "setp") || is(i, "set");
  if (!compares && !is(i, "min") && !is(i, "max")) return false;
  if (i->operand_count < 3 || (compares && i->mod_count < 1)) return false;
  bool left = is_large(&i->operands[2], values, &test->constant);
  if (!left && !is_large(&i->operands[1], values, &test->constant)) return false;
  flow_value value;
  if (!size_at(w, &i->operands[left ? 1 : 2], values, at, &value)) return false;
  test->instr = i;
  test->of = value.of;
  test->exact = value.exact;
  test->comparison = compares ? i->mods[0] : i->opcode;
  if (!left) test->comparison = mirrored(test->comparison);
  return true;
}

int flow_tests(const ptx_func *func, const flow_value *values, const uint8_t *reached,
               flow_test *tests, int64_t *budget) {
  walk w;
  int count = 0;
  uint8_t *member = calloc((size_t)func->reg_count + 1, 1);
  bool ready = start_walk(&w, func) && member;
  w.budget = budget;
  for (int k = 0; ready && k < func->instr_count; k++) {
    flow_test test = {0};
    if (!reached[k] || !func->body[k].opcode || !test_of(&w, k, values, &test)) continue;
    if (count < FLOW_TESTS_MAX) {
      test.skips = skips(&w, reached, test.instr, member);
      tests[count] = test;
    }
    count++;
  }
  end_walk(&w);
  free(member);
  if (ready && *budget < 0 && count <= FLOW_TESTS_MAX) count = FLOW_TESTS_MAX + 1;
  return ready ? count : -1;
}
