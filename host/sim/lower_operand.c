/* Operands of the lowering: scratch and constant slots, symbols, special registers, and what an
 * instruction's modifiers say. */
#include "lower.h"

#include <string.h>

#include "exec.h"

/* ---- slots ---- */

uint32_t lower_temp(lowering *l, char shape) {
  uint32_t *used = shape == 'p' ? &l->used_p : shape == '4' ? &l->used_4 : &l->used_8;
  uint32_t first = shape == 'p' ? l->temp_p : shape == '4' ? l->temp_4 : l->temp_8;
  uint32_t size = shape == 'p' ? BYTES_P : shape == '4' ? BYTES_4 : BYTES_8;
  if (*used == LOWER_TEMPS) {
    lower_fail(l, PG_INTERNAL, "'%s' needs too many scratch slots", lower_instr(l)->text);
    return first;
  }
  return first + (*used)++ * size;
}

static uint32_t constant_slot(lowering *l, char shape, uint64_t value, bool special) {
  for (size_t i = 0; i < l->constant_count; i++) {
    const constant *c = &l->constants[i];
    if (c->shape == shape && c->value == value && c->special == special) return c->slot;
  }
  void *constants =
      lower_grow(l, l->constants, l->constant_count, &l->constant_capacity, sizeof *l->constants);
  if (!constants) return 0;
  l->constants = constants;
  uint32_t slot = l->out->frame_bytes;
  l->out->frame_bytes += shape == '8' ? BYTES_8 : BYTES_4;
  l->constants[l->constant_count++] = (constant){shape, value, slot, special};
  return slot;
}

uint32_t lower_constant(lowering *l, char shape, uint64_t value) {
  return constant_slot(l, shape, shape == '8' ? value : (uint32_t)value, false);
}

uint32_t lower_special(lowering *l, sim_special which) {
  return constant_slot(l, '4', which, true);
}

uint32_t lower_wide_special(lowering *l, sim_special which) {
  return constant_slot(l, '8', which, true);
}

/* ---- symbols and special registers ---- */

static bool find_shared(const lowering *l, const char *name, uint64_t *value) {
  const sim_variable *v = l->out->shared;
  for (size_t i = 0; i < l->out->shared_count; i++) {
    if (v[i].name == name && (!v[i].owner || v[i].owner == l->source)) {
      *value = v[i].offset;
      return true;
    }
  }
  return false;
}

bool lower_symbol(lowering *l, const char *name, lower_place *out) {
  const ptx_func *f = l->source;
  *out = (lower_place){.space = PTX_PARAM};
  for (int i = 0; i < f->param_count && f->is_entry; i++) {
    if (f->params[i].name != name) continue;
    out->value = l->out->param_offset[i];
    return true;
  }
  if (lower_frame_symbol(l, name, out)) return true;
  out->space = PTX_SHARED;
  if (find_shared(l, name, &out->value)) return true;
  const ptx_module *m = l->program->source;
  for (int i = 0; i < m->var_count; i++) {
    if (m->vars[i].name != name || m->vars[i].space == PTX_SHARED) continue;
    out->value = l->program->var_address[i];
    out->space = m->vars[i].space;
    return true;
  }
  out->space = PTX_GENERIC;
  out->value = sim_code_address(m, name);
  return out->value != 0;
}

static uint32_t fit(lowering *l, uint32_t slot, char have, char want);

/* Its address in its own space. */
static uint32_t address_source(lowering *l, const ptx_operand *o, char shape) {
  lower_place at;
  if (!lower_symbol(l, o->name, &at)) {
    lower_fail(l, PG_UNSUPPORTED, "the simulator cannot take the address of '%s'", o->name);
    return 0;
  }
  uint32_t base = at.in_frame ? lower_frame_base(l) : 0;
  if (!base) return lower_constant(l, shape, at.value + o->bits);
  uint32_t sum = lower_temp(l, '8');
  lower_emit_key(l, "add_b64", sum, base, lower_constant(l, '8', at.value + o->bits));
  return fit(l, sum, '8', shape);
}

static const struct {
  const char *name;
  sim_special which;
} SPECIALS[] = {{"%tid.x", SIM_TID_X},
                {"%tid.y", SIM_TID_Y},
                {"%tid.z", SIM_TID_Z},
                {"%ntid.x", SIM_NTID_X},
                {"%ntid.y", SIM_NTID_Y},
                {"%ntid.z", SIM_NTID_Z},
                {"%ctaid.x", SIM_CTAID_X},
                {"%ctaid.y", SIM_CTAID_Y},
                {"%ctaid.z", SIM_CTAID_Z},
                {"%nctaid.x", SIM_NCTAID_X},
                {"%nctaid.y", SIM_NCTAID_Y},
                {"%nctaid.z", SIM_NCTAID_Z},
                {"%laneid", SIM_LANEID},
                {"%warpid", SIM_WARPID},
                {"%nwarpid", SIM_NWARPID},
                {"%smid", SIM_SMID},
                {"%nsmid", SIM_NSMID},
                {"%gridid", SIM_GRIDID},
                {"%lanemask_eq", SIM_LANEMASK_EQ},
                {"%lanemask_lt", SIM_LANEMASK_LT},
                {"%lanemask_le", SIM_LANEMASK_LE},
                {"%lanemask_gt", SIM_LANEMASK_GT},
                {"%lanemask_ge", SIM_LANEMASK_GE},
                {"%dynamic_smem_size", SIM_DYNAMIC_SMEM},
                {"%total_smem_size", SIM_TOTAL_SMEM},
                {"%aggr_smem_size", SIM_TOTAL_SMEM},
                {"%envreg1", SIM_ENVREG_1},
                {"%envreg2", SIM_ENVREG_2},
                /* every block is a cluster of its own */
                {"%clusterid.x", SIM_CTAID_X},
                {"%clusterid.y", SIM_CTAID_Y},
                {"%clusterid.z", SIM_CTAID_Z},
                {"%nclusterid.x", SIM_NCTAID_X},
                {"%nclusterid.y", SIM_NCTAID_Y},
                {"%nclusterid.z", SIM_NCTAID_Z},
                {"%cluster_ctaid.x", SIM_ZERO},
                {"%cluster_ctaid.y", SIM_ZERO},
                {"%cluster_ctaid.z", SIM_ZERO},
                {"%cluster_nctaid.x", SIM_ONE},
                {"%cluster_nctaid.y", SIM_ONE},
                {"%cluster_nctaid.z", SIM_ONE},
                {"%cluster_ctarank", SIM_ZERO},
                {"%cluster_nctarank", SIM_ONE}};

/* The memory that lay_out_shared sets apart; its second half is for cooperative groups. */
static uint32_t reserved_source(lowering *l, const char *which) {
  bool start = strcmp(which, "begin") == 0 || strcmp(which, "0") == 0;
  bool end = strcmp(which, "end") == 0 || strcmp(which, "cap") == 0;
  if (!start && !end && strcmp(which, "1") != 0) lower_unsupported(l, "this special register");
  uint32_t at = start ? 0 : end ? SIM_RESERVED_SHARED : SIM_RESERVED_SHARED / 2;
  return lower_constant(l, '4', at);
}

static uint32_t special_source(lowering *l, const char *name, char *shape) {
  static const char reserved[] = SIM_RESERVED_NAME "offset_";
  *shape = '4';
  if (strncmp(name, reserved, sizeof reserved - 1) == 0)
    return reserved_source(l, name + sizeof reserved - 1);
  for (size_t i = 0; i < sizeof SPECIALS / sizeof *SPECIALS; i++) {
    if (strcmp(SPECIALS[i].name, name) == 0) return lower_special(l, SPECIALS[i].which);
  }
  if (strncmp(name, "%envreg", 7) == 0) return lower_special(l, SIM_ZERO);
  if (strcmp(name, "WARP_SZ") == 0) return lower_constant(l, '4', SIM_LANES);
  int mode = strcmp(name, "%clock") == 0         ? SIM_CLOCK_32
             : strcmp(name, "%clock64") == 0     ? SIM_CLOCK_64
             : strcmp(name, "%globaltimer") == 0 ? SIM_CLOCK_GLOBAL
                                                 : -1;
  if (mode < 0) {
    lower_unsupported(l, "this special register");
    return 0;
  }
  *shape = mode == SIM_CLOCK_32 ? '4' : '8';
  uint32_t slot = lower_temp(l, *shape);
  sim_op *op = lower_emit(l, sim_op_clock);
  op->d = slot;
  op->imm = (uint64_t)mode;
  return slot;
}

/* ---- operands ---- */

static uint32_t fit(lowering *l, uint32_t slot, char have, char want) {
  if (have == want) return slot;
  if (have == 'p' || want == 'p') {
    lower_fail(l, PG_SYNTAX, "'%s': a predicate where a value is expected, or the reverse",
               lower_instr(l)->text);
    return slot;
  }
  if (have == 'x' || want == 'x') {
    lower_fail(l, PG_SYNTAX, "'%s': a 128-bit register where another is expected, or the reverse",
               lower_instr(l)->text);
    return slot;
  }
  uint32_t temp = lower_temp(l, want);
  lower_emit_key(l, want == '8' ? "zext_b32" : "low_b64", temp, slot, 0);
  return temp;
}

static uint32_t float_constant(lowering *l, const ptx_operand *o, char shape) {
  if ((o->kind == PTX_OP_F64) == (shape == '8')) return lower_constant(l, shape, o->bits);
  double d;
  float f;
  uint32_t bits = (uint32_t)o->bits;
  if (shape == '8') {
    memcpy(&f, &bits, 4);
    d = f;
    uint64_t wide;
    memcpy(&wide, &d, 8);
    return lower_constant(l, '8', wide);
  }
  memcpy(&d, &o->bits, 8);
  f = (float)d;
  memcpy(&bits, &f, 4);
  return lower_constant(l, '4', bits);
}

static uint32_t predicate_source(lowering *l, const ptx_operand *o) {
  if (o->kind == PTX_OP_INT) { /* an immediate predicate: (x == x) or its negation */
    uint32_t p = lower_temp(l, 'p'), zero = lower_constant(l, '4', 0);
    lower_emit_key(l, o->bits ? "setp_eq_b32" : "setp_ne_b32", p, zero, zero);
    return p;
  }
  uint32_t slot = fit(l, l->slot[o->reg], lower_shape(l->source->regs[o->reg].type), 'p');
  if (!o->negated) return slot;
  uint32_t temp = lower_temp(l, 'p');
  lower_emit_key(l, "not_pred", temp, slot, 0);
  return temp;
}

uint32_t lower_source(lowering *l, const ptx_operand *o, char shape) {
  char have;
  uint32_t slot;
  if (shape == 'p' && (o->kind == PTX_OP_REG || o->kind == PTX_OP_INT))
    return predicate_source(l, o);
  if (shape == 'x' && o->kind != PTX_OP_REG) {
    lower_unsupported(l, "expected a 128-bit register");
    return 0;
  }
  switch (o->kind) {
  case PTX_OP_REG: return fit(l, l->slot[o->reg], lower_shape(l->source->regs[o->reg].type), shape);
  case PTX_OP_INT: return lower_constant(l, shape, o->bits);
  case PTX_OP_F32:
  case PTX_OP_F64: return float_constant(l, o, shape);
  case PTX_OP_SPECIAL: slot = special_source(l, o->name, &have); return fit(l, slot, have, shape);
  case PTX_OP_SYMBOL: return address_source(l, o, shape);
  default:
    lower_fail(l, PG_SYNTAX, "'%s': an operand of this kind is not allowed here",
               lower_instr(l)->text);
    return 0;
  }
}

uint32_t lower_dest(lowering *l, const ptx_operand *o, char shape, uint32_t *wide) {
  *wide = 0;
  if (o->kind == PTX_OP_SINK) return lower_temp(l, shape);
  if (o->kind != PTX_OP_REG) {
    lower_fail(l, PG_SYNTAX, "'%s': the destination is not a register", lower_instr(l)->text);
    return 0;
  }
  char have = lower_shape(l->source->regs[o->reg].type);
  if (have == shape) return l->slot[o->reg];
  if (have == '8' && shape == '4') {
    *wide = l->slot[o->reg];
    return lower_temp(l, '4');
  }
  lower_fail(l, PG_SYNTAX, "'%s': the destination register is too narrow", lower_instr(l)->text);
  return 0;
}

void lower_widen(lowering *l, uint32_t wide, uint32_t narrow, bool is_signed) {
  if (wide) lower_emit_key(l, is_signed ? "cvt_s64_s32" : "zext_b32", wide, narrow, 0);
}

bool lower_has(const ptx_instr *instr, const char *mod) {
  for (int i = 0; i < instr->mod_count; i++) {
    if (strcmp(instr->mods[i], mod) == 0) return true;
  }
  return false;
}

static bool among(const char *word, const char *words) {
  size_t n = strlen(word);
  for (const char *at = strstr(words, word); at; at = strstr(at + 1, word)) {
    if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
  }
  return false;
}

bool lower_known(lowering *l, const char *words) {
  const ptx_instr *instr = lower_instr(l);
  for (int i = 0; i < instr->mod_count; i++) {
    const char *mod = instr->mods[i];
    if (ptx_type_parse(mod) != PTX_NONE || among(mod, words)) continue;
    lower_fail(l, PG_UNSUPPORTED, "the simulator does not know .%s in '%s'", mod, instr->text);
    return false;
  }
  return true;
}

ptx_type lower_type(const ptx_instr *instr) {
  for (int i = instr->mod_count - 1; i >= 0; i--) {
    ptx_type t = ptx_type_parse(instr->mods[i]);
    if (t != PTX_NONE) return t;
  }
  return PTX_NONE;
}
