/* Lowering of instructions that move control, let lanes meet, or write predicates in special ways.
 */
#include <stdio.h>
#include <string.h>

#include "lower.h"

/* ---- control ---- */

static bool lower_bra(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "uni")) return false;
  if (!lower_operands(l, 1, 1)) return false;
  const ptx_operand *label = &instr->operands[0];
  if (label->kind != PTX_OP_LABEL)
    return lower_fail(l, PG_SYNTAX, "'%s': no such label", instr->text);
  bool guarded = instr->guard >= 0;
  lower_target(l, l->op_count, true, label->bits);
  sim_op *op = lower_emit(l, guarded ? sim_op_branch : sim_op_jump);
  if (guarded) {
    op->a = l->slot[instr->guard];
    op->negated = instr->guard_negated;
  }
  op->spin = lower_is_spin(l->source, label->bits, l->at);
  return !l->code;
}

static const struct ptx_targets *find_targets(const ptx_func *f, const char *label) {
  for (int i = 0; i < f->targets_count; i++) {
    if (f->targets[i].label == label) return &f->targets[i];
  }
  return NULL;
}

static bool label_index(const ptx_func *f, const char *name, size_t *out) {
  for (int i = 0; i < f->instr_count; i++) {
    if (f->body[i].opcode || f->body[i].operands[0].name != name) continue;
    *out = (size_t)i;
    return true;
  }
  return false;
}

static bool lower_brx(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "idx uni")) return false;
  if (!lower_operands(l, 2, 2)) return false;
  const struct ptx_targets *t = find_targets(l->source, instr->operands[1].name);
  if (!t || t->count == 0)
    return lower_fail(l, PG_SYNTAX, "'%s': no such .branchtargets", instr->text);
  uint32_t a = lower_source(l, &instr->operands[0], '4');
  sim_op *op = lower_emit(l, sim_op_branch_table);
  op->a = a;
  op->imm = (uint64_t)t->count;
  for (int i = 0; i < t->count; i++) {
    size_t label;
    if (!label_index(l->source, t->names[i], &label)) {
      return lower_fail(l, PG_SYNTAX, "'%s': no label %s", instr->text, t->names[i]);
    }
    lower_target(l, l->op_count, true, label);
    lower_emit(l, sim_op_jump);
  }
  return !l->code;
}

static bool lower_exit(lowering *l, const ptx_instr *instr) {
  (void)instr;
  lower_emit(l, sim_op_exit);
  return !l->code;
}

static bool lower_trap(lowering *l, const ptx_instr *instr) {
  (void)instr;
  lower_emit(l, sim_op_trap);
  return !l->code;
}

static bool lower_nanosleep(lowering *l, const ptx_instr *instr) {
  (void)instr;
  lower_emit(l, sim_op_yield);
  return !l->code;
}

static bool lower_nothing(lowering *l, const ptx_instr *instr) {
  (void)instr;
  return !l->code;
}

/* ---- barriers ---- */

/* A number that is known now, or the slot of the register that holds it. */
static bool barrier_number(lowering *l, const ptx_operand *o, uint64_t *number, uint32_t *slot) {
  if (o->kind != PTX_OP_INT) {
    *slot = lower_source(l, o, '4');
    return !l->code;
  }
  *number = o->bits;
  return o->bits < 16 || lower_unsupported(l, "barriers are numbered from 0 to 15");
}

/* Whole warps must arrive together. */
static bool is_aligned(const ptx_instr *instr) {
  return strcmp(instr->opcode, "bar") == 0 || lower_has(instr, "aligned");
}

/* bar.red.popc d, a{, b}, {!}c and bar.red.and/or p, a{, b}, {!}c. */
static bool lower_bar_red(lowering *l, const ptx_instr *instr) {
  if (!lower_operands(l, 3, 4)) return false;
  bool popc = lower_has(instr, "popc");
  uint32_t wide, count = 0, slot = 0;
  uint64_t number = 0;
  if (!barrier_number(l, &instr->operands[1], &number, &slot)) return false;
  int last = instr->operand_count - 1;
  if (last == 3) count = lower_source(l, &instr->operands[2], '4');
  uint32_t p = lower_source(l, &instr->operands[last], 'p');
  uint32_t d = lower_dest(l, &instr->operands[0], popc ? '4' : 'p', &wide);
  sim_op *op = lower_emit(l, sim_op_barrier);
  op->d = d;
  op->narrow = is_aligned(instr);
  op->a = slot;
  op->b = p;
  op->c = count;
  op->imm = number;
  op->e = popc ? 'p' : lower_has(instr, "and") ? 'a' : 'o';
  return !l->code;
}

static bool lower_bar(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "sync red arrive warp cluster aligned popc and or cta")) return false;
  if (lower_has(instr, "red")) return lower_bar_red(l, instr);
  if (lower_has(instr, "warp")) {
    if (!lower_operands(l, 1, 1)) return false;
    uint32_t member = lower_source(l, &instr->operands[0], '4');
    lower_emit(l, sim_op_warp_sync)->e = member;
    return !l->code;
  }
  if (lower_has(instr, "cluster")) {
    lower_unsupported(l, "clusters");
    pg_hint(l->error, "compile for sm_80, where a block is on its own");
    return false;
  }
  if (!lower_operands(l, 1, 2)) return false;
  uint64_t number = 0;
  uint32_t slot = 0;
  if (!barrier_number(l, &instr->operands[0], &number, &slot)) return false;
  uint32_t count = instr->operand_count == 2 ? lower_source(l, &instr->operands[1], '4') : 0;
  sim_op *op = lower_emit(l, lower_has(instr, "arrive") ? sim_op_arrive : sim_op_barrier);
  op->a = slot;
  op->c = count;
  op->narrow = is_aligned(instr);
  op->imm = number;
  return !l->code;
}

/* ---- lanes of a warp ---- */

/* d or d|p. */
static bool lower_pair(lowering *l, const ptx_operand *o, uint32_t *d, uint32_t *p,
                       uint32_t *wide) {
  uint32_t unused;
  *p = 0;
  const ptx_operand *value = o->kind == PTX_OP_PAIR ? &o->items[0] : o;
  *d = lower_dest(l, value, '4', wide);
  if (o->kind == PTX_OP_PAIR) *p = lower_dest(l, &o->items[1], 'p', &unused);
  return !l->code;
}

static bool lower_shfl(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "sync up down bfly idx")) return false;
  bool sync = lower_has(instr, "sync");
  if (!lower_operands(l, sync ? 5 : 4, sync ? 5 : 4)) return false;
  uint32_t d, p, wide;
  uint32_t a = lower_source(l, &instr->operands[1], '4');
  uint32_t b = lower_source(l, &instr->operands[2], '4');
  uint32_t c = lower_source(l, &instr->operands[3], '4');
  uint32_t member = sync ? lower_source(l, &instr->operands[4], '4') : lower_constant(l, '4', 0);
  if (!lower_pair(l, &instr->operands[0], &d, &p, &wide)) return false;
  sim_op *op = lower_emit(l, sim_op_shuffle);
  op->d = d;
  op->p = p;
  op->a = a;
  op->b = b;
  op->c = c;
  op->e = member;
  op->imm = lower_has(instr, "up")     ? SIM_SHFL_UP
            : lower_has(instr, "down") ? SIM_SHFL_DOWN
            : lower_has(instr, "bfly") ? SIM_SHFL_BFLY
                                       : SIM_SHFL_IDX;
  lower_widen(l, wide, d, false);
  return !l->code;
}

static bool lower_vote(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "sync all any uni ballot")) return false;
  bool sync = lower_has(instr, "sync"), ballot = lower_has(instr, "ballot");
  if (!lower_operands(l, sync ? 3 : 2, sync ? 3 : 2)) return false;
  uint32_t wide;
  uint32_t a = lower_source(l, &instr->operands[1], 'p');
  uint32_t member = sync ? lower_source(l, &instr->operands[2], '4') : 0;
  uint32_t d = lower_dest(l, &instr->operands[0], ballot ? '4' : 'p', &wide);
  sim_op *op = lower_emit(l, sim_op_vote);
  op->d = d;
  op->a = a;
  op->e = member;
  op->imm = ballot                    ? SIM_VOTE_BALLOT
            : lower_has(instr, "all") ? SIM_VOTE_ALL
            : lower_has(instr, "any") ? SIM_VOTE_ANY
                                      : SIM_VOTE_UNI;
  lower_widen(l, wide, d, false);
  return !l->code;
}

static bool lower_match(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "any all sync")) return false;
  if (!lower_operands(l, 3, 3)) return false;
  bool wide_value = ptx_type_bytes(lower_type(instr)) == 8, all = lower_has(instr, "all");
  uint32_t d, p, wide;
  uint32_t a = lower_source(l, &instr->operands[1], wide_value ? '8' : '4');
  uint32_t member = lower_source(l, &instr->operands[2], '4');
  if (!lower_pair(l, &instr->operands[0], &d, &p, &wide)) return false;
  sim_op *op = lower_emit(l, sim_op_match);
  op->d = d;
  op->p = p;
  op->a = a;
  op->e = member;
  op->imm = all ? (wide_value ? SIM_MATCH_ALL_64 : SIM_MATCH_ALL_32)
                : (wide_value ? SIM_MATCH_ANY_64 : SIM_MATCH_ANY_32);
  lower_widen(l, wide, d, false);
  return !l->code;
}

static bool lower_redux(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "sync add min max and or xor")) return false;
  if (!lower_operands(l, 3, 3)) return false;
  ptx_type type = lower_type(instr);
  if (type == PTX_F32) return lower_unsupported(l, "float reductions");
  bool is_signed = type == PTX_S32;
  uint32_t wide;
  uint32_t a = lower_source(l, &instr->operands[1], '4');
  uint32_t member = lower_source(l, &instr->operands[2], '4');
  uint32_t d = lower_dest(l, &instr->operands[0], '4', &wide);
  sim_op *op = lower_emit(l, sim_op_redux);
  op->d = d;
  op->a = a;
  op->e = member;
  op->imm = lower_has(instr, "add")   ? SIM_REDUX_ADD
            : lower_has(instr, "min") ? (is_signed ? SIM_REDUX_MIN_S : SIM_REDUX_MIN_U)
            : lower_has(instr, "max") ? (is_signed ? SIM_REDUX_MAX_S : SIM_REDUX_MAX_U)
            : lower_has(instr, "and") ? SIM_REDUX_AND
            : lower_has(instr, "or")  ? SIM_REDUX_OR
                                      : SIM_REDUX_XOR;
  lower_widen(l, wide, d, is_signed);
  return !l->code;
}

static bool lower_activemask(lowering *l, const ptx_instr *instr) {
  if (!lower_operands(l, 1, 1)) return false;
  uint32_t wide, d = lower_dest(l, &instr->operands[0], '4', &wide);
  lower_emit(l, sim_op_activemask)->d = d;
  lower_widen(l, wide, d, false);
  return !l->code;
}

const lower_entry lower_special_rules[] = {{"bra", lower_bra, true},
                                           {"brx", lower_brx, true},
                                           {"exit", lower_exit, true},
                                           {"ret", lower_ret, true},
                                           {"call", lower_call, true},
                                           {"trap", lower_trap, true},
                                           {"brkpt", lower_trap, true},
                                           {"bar", lower_bar, true},
                                           {"barrier", lower_bar, true},
                                           {"shfl", lower_shfl, true},
                                           {"vote", lower_vote, true},
                                           {"match", lower_match, true},
                                           {"redux", lower_redux, true},
                                           {"nanosleep", lower_nanosleep, true},
                                           {"activemask", lower_activemask, false},
                                           {"griddepcontrol", lower_nothing, false},
                                           {NULL, NULL, false}};
