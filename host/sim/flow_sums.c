/* Sums in half precision: additions in f16 that go on from others, in a loop or one after the
 * other. A bias that is added to a rounded result is none. */
#include "flow.h"

#include <string.h>

enum {
  LONG = 3,  /* additions one after the other that are a sum */
  STEPS = 12 /* instructions that are followed back from one addition to the next */
};

typedef struct walk {
  const ptx_func *func;
  const flow_value *values;
} walk;

static bool is(const ptx_instr *i, const char *opcode) {
  return i->opcode && strcmp(i->opcode, opcode) == 0;
}

static bool adds_halves(const ptx_instr *i) {
  bool half = false;
  for (int k = 0; k < i->mod_count; k++)
    half |= !strcmp(i->mods[k], "f16") || !strcmp(i->mods[k], "f16x2");
  return half && (is(i, "add") || is(i, "sub") || is(i, "fma"));
}

/* The instruction that defines a register last: of a loop's, the one at its end. */
static const ptx_instr *definition_of(const walk *w, int reg) {
  return w->values[reg].definitions ? &w->func->body[w->values[reg].definition] : NULL;
}

static const ptx_operand *source_of(const ptx_instr *i, int k) {
  const ptx_operand *o = k < i->operand_count ? &i->operands[k] : NULL;
  return o && o->kind == PTX_OP_REG ? o : NULL;
}

/* The addition that an operand comes from, through copies and other lanes; NULL: from elsewhere.
 * `again`: on the way is a register that a loop gives new values. */
static const ptx_instr *addition_behind(const walk *w, const ptx_operand *o, bool *again) {
  for (int step = 0; o && step < STEPS; step++) {
    const ptx_instr *from = definition_of(w, o->reg);
    *again |= w->values[o->reg].definitions > 1;
    if (!from) return NULL;
    if (adds_halves(from)) return from;
    if (!is(from, "mov") && !is(from, "shfl")) return NULL;
    o = source_of(from, 1);
  }
  return NULL;
}

static bool goes_on(const walk *w, const ptx_instr *i, int left) {
  if (left == 0) return true;
  bool fma = is(i, "fma");
  for (int k = fma ? 3 : 1; k <= (fma ? 3 : 2); k++) {
    bool again = false;
    const ptx_instr *before = addition_behind(w, source_of(i, k), &again);
    if (before && (again || goes_on(w, before, left - 1))) return true;
  }
  return false;
}

bool flow_sums_halves(const ptx_func *func, const ptx_instr *instr, const flow_value *values) {
  const walk w = {func, values};
  return instr->opcode && adds_halves(instr) && goes_on(&w, instr, LONG - 1);
}
