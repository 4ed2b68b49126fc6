/* Lowering of atom and red; the elements of a vector are atomic one by one. */
#include <stdio.h>
#include <string.h>

#include "lower.h"

#define OPERATIONS "add and or xor min max inc dec exch cas noftz "

static const char *atomic_operation(const ptx_instr *instr) {
  static const char *const names[] = {"add", "and", "or",  "xor",  "min",
                                      "max", "inc", "dec", "exch", "cas"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (lower_has(instr, names[i])) return names[i];
  }
  return "?";
}

static const sim_entry *atomic_entry(const ptx_instr *instr, ptx_type type) {
  char key[40];
  const char *operation = atomic_operation(instr);
  snprintf(key, sizeof key, "atom_%s_%s", operation, ptx_type_name(type));
  const sim_entry *e = sim_find_entry(key);
  /* Packed floats have no entry of their own size's integers: b32 would add wrongly. */
  if (e || type == PTX_F16X2 || type == PTX_BF16X2) return e;
  snprintf(key, sizeof key, "atom_%s_b%u", operation, ptx_type_bytes(type) * 8);
  return sim_find_entry(key);
}

/* Slots of one element of an atomic. */
typedef struct slots {
  uint32_t d, wide, b, c;
} slots;

static slots element_slots(lowering *l, const ptx_instr *instr, const char *shape, int count,
                           int i) {
  bool has_result = strcmp(instr->opcode, "atom") == 0;
  const ptx_operand *values = instr->operands + (has_result ? 2 : 1);
  slots s = {0};
  const ptx_operand *b = lower_element(l, &values[0], count, i), *d = NULL;
  if (has_result && instr->operands[0].kind != PTX_OP_SINK)
    d = lower_element(l, &instr->operands[0], count, i);
  if (l->code) return s;
  if (d && d->kind != PTX_OP_SINK) s.d = lower_dest(l, d, shape[0], &s.wide);
  s.b = lower_source(l, b, shape[1]);
  if (shape[2]) s.c = lower_source(l, &values[1], shape[2]);
  return s;
}

/* atom.cas.b128 and atom.exch.b128. */
static bool lower_atomic_128(lowering *l, const ptx_instr *instr) {
  bool cas = lower_has(instr, "cas");
  if ((!cas && !lower_has(instr, "exch")) || strcmp(instr->opcode, "atom") != 0)
    return lower_unsupported(l, NULL);
  if (!lower_operands(l, 3 + cas, 3 + cas)) return false;
  uint32_t wide, d = 0, b = lower_source(l, &instr->operands[2], 'x');
  uint32_t c = cas ? lower_source(l, &instr->operands[3], 'x') : 0;
  if (instr->operands[0].kind != PTX_OP_SINK) d = lower_dest(l, &instr->operands[0], 'x', &wide);
  if (lower_orders(instr, "release")) lower_emit(l, sim_op_fence);
  lower_watch(l);
  sim_op *op = lower_emit(l, sim_op_atomic_128);
  op->d = d;
  op->b = b;
  op->c = c;
  op->e = 1;
  lower_describe(l, op, PTX_B128, 1, true);
  if (!lower_address(l, op, &instr->operands[1], lower_space(instr))) return false;
  lower_watched(l);
  if (lower_orders(instr, "acquire")) lower_acquired(l, instr);
  return !l->code;
}

/* atom d, [a], b{, c} and red [a], b. */
static bool lower_atomic(lowering *l, const ptx_instr *instr) {
  if (lower_has(instr, "async")) return lower_unsupported(l, "asynchronous reductions of clusters");
  if (!lower_known(l, LOWER_SPACES LOWER_ORDERS LOWER_CACHES LOWER_VECTORS OPERATIONS))
    return false;
  ptx_type type = lower_type(instr);
  if (type == PTX_B128) return lower_atomic_128(l, instr);
  const sim_entry *entry = atomic_entry(instr, type);
  if (!entry) return lower_unsupported(l, NULL);
  int first = strcmp(instr->opcode, "atom") == 0, n = (int)strlen(entry->shape) - 1;
  if (!lower_operands(l, first + 1 + n, first + 1 + n)) return false;
  int count = lower_vector(instr);
  slots s[8];
  for (int i = 0; i < count; i++) s[i] = element_slots(l, instr, entry->shape, count, i);
  if (l->code) return false;
  if (lower_orders(instr, "release")) lower_emit(l, sim_op_fence);
  for (int i = 0; i < count; i++) {
    lower_watch(l);
    sim_op *op = lower_emit(l, entry->fn);
    op->d = s[i].d;
    op->b = s[i].b;
    op->c = s[i].c;
    op->e = i ? SIM_COUNTED : (uint32_t)count; /* for the counters: one request of the vector */
    lower_describe(l, op, type, 1, true);
    if (!lower_address(l, op, &instr->operands[first], lower_space(instr))) return false;
    op->imm += (uint64_t)i * ptx_type_bytes(type);
    lower_watched(l);
  }
  for (int i = 0; i < count; i++) lower_widen(l, s[i].wide, s[i].d, false);
  if (lower_orders(instr, "acquire")) lower_acquired(l, instr);
  return !l->code;
}

const lower_entry lower_atomic_rules[] = {
    {"atom", lower_atomic, false}, {"red", lower_atomic, false}, {NULL, NULL, false}};
