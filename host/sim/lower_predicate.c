/* Lowering of instructions that write predicates: setp, set, lop3 with a predicate. */
#include <stdio.h>
#include <string.h>

#include "lower.h"

static const char *boolean_of(const ptx_instr *instr) {
  return lower_has(instr, "and")   ? "and_pred"
         : lower_has(instr, "or")  ? "or_pred"
         : lower_has(instr, "xor") ? "xor_pred"
                                   : NULL;
}

#define COMPARISONS "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor ftz"

static bool is_packed(ptx_type type) {
  return type == PTX_F16X2 || type == PTX_BF16X2;
}

/* The comparison of operands 1 and 2 into predicate slot d: setp_CMP{_ftz}_TYPE. Of packed types
 * the halves `high`. */
static bool compare(lowering *l, const ptx_instr *instr, uint32_t d, bool high) {
  char key[64];
  ptx_type type = lower_type(instr);
  bool packed = is_packed(type);
  snprintf(key, sizeof key, "setp_%s_%s%s", instr->mod_count ? instr->mods[0] : "",
           lower_has(instr, "ftz") ? "ftz_" : "",
           type == PTX_F16X2    ? "f16"
           : type == PTX_BF16X2 ? "bf16"
                                : ptx_type_name(type));
  const sim_entry *entry = sim_find_entry(key);
  if (!entry) return lower_unsupported(l, NULL);
  uint32_t a = lower_source(l, &instr->operands[1], entry->shape[1]);
  uint32_t b = lower_source(l, &instr->operands[2], entry->shape[2]);
  if (packed && high) {
    uint32_t upper_a = lower_temp(l, '4'), upper_b = lower_temp(l, '4');
    lower_emit_key(l, "high_b32", upper_a, a, 0);
    lower_emit_key(l, "high_b32", upper_b, b, 0);
    a = upper_a;
    b = upper_b;
  }
  lower_emit_key(l, key, d, a, b);
  return !l->code;
}

/* setp.CMP{.BOOL} p{|q}, a, b{, {!}c}: p = (a CMP b) BOOL c, q = !(a CMP b) BOOL c. Of packed
 * halves p is the lower, q the upper one. */
static bool lower_setp(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, COMPARISONS)) return false;
  const char *boolean = boolean_of(instr);
  if (!lower_operands(l, boolean ? 4 : 3, boolean ? 4 : 3)) return false;
  const ptx_operand *dest = &instr->operands[0];
  bool pair = dest->kind == PTX_OP_PAIR, packed = is_packed(lower_type(instr));
  uint32_t wide, q = 0, first = lower_temp(l, 'p'), second = lower_temp(l, 'p');
  uint32_t p = lower_dest(l, pair ? &dest->items[0] : dest, 'p', &wide);
  if (pair) q = lower_dest(l, &dest->items[1], 'p', &wide);
  if (!boolean && !pair) return compare(l, instr, p, false);
  uint32_t c = boolean ? lower_source(l, &instr->operands[3], 'p') : 0;
  if (!compare(l, instr, first, false)) return false;
  if (pair && packed && !compare(l, instr, second, true)) return false;
  if (pair && !packed) lower_emit_key(l, "not_pred", second, first, 0);
  /* c may be p's or q's slot: combine before either is written. */
  if (boolean && pair) lower_emit_key(l, boolean, second, second, c);
  if (boolean) lower_emit_key(l, boolean, first, first, c);
  lower_emit_key(l, "mov_pred", p, first, 0);
  if (pair) lower_emit_key(l, "mov_pred", q, second, 0);
  return !l->code;
}

/* What set writes where the comparison is true: 1.0, or all ones of an integer. */
static uint32_t truth(ptx_type type) {
  switch (type) {
  case PTX_F32: return 0x3f800000u;
  case PTX_F16:
  case PTX_F16X2: return 0x3c00u;
  case PTX_BF16:
  case PTX_BF16X2: return 0x3f80u;
  default: return ptx_type_bytes(type) == 2 ? 0xffffu : 0xffffffffu;
  }
}

static void select(lowering *l, uint32_t d, uint32_t value, uint32_t p) {
  uint32_t zero = lower_constant(l, '4', 0);
  lower_emit_key(l, "selp_b32", d, lower_constant(l, '4', value), zero)->c = p;
}

/* set.CMP{.BOOL}{.ftz}.DTYPE.STYPE d, a, b{, c}; of packed halves each gives a half of d. */
static bool lower_set(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, COMPARISONS)) return false;
  const char *boolean = boolean_of(instr);
  if (!lower_operands(l, boolean ? 4 : 3, boolean ? 4 : 3)) return false;
  ptx_type dest = PTX_NONE;
  for (int i = 0; i < instr->mod_count && dest == PTX_NONE; i++)
    dest = ptx_type_parse(instr->mods[i]);
  uint32_t bytes = ptx_type_bytes(dest);
  if (bytes != 4 && bytes != 2) return lower_unsupported(l, NULL);
  bool packed = is_packed(lower_type(instr));
  uint32_t wide, low = lower_temp(l, 'p'), high = lower_temp(l, 'p');
  uint32_t c = boolean ? lower_source(l, &instr->operands[3], 'p') : 0;
  if (!compare(l, instr, low, false)) return false;
  if (packed && !compare(l, instr, high, true)) return false;
  if (boolean) lower_emit_key(l, boolean, low, low, c);
  if (boolean && packed) lower_emit_key(l, boolean, high, high, c);
  uint32_t d = lower_dest(l, &instr->operands[0], '4', &wide);
  if (!packed) {
    select(l, d, truth(dest), low);
  } else {
    uint32_t upper = lower_temp(l, '4'), one = truth(dest) & 0xffff;
    select(l, upper, one, high);
    select(l, d, one, low);
    lower_emit_key(l, "pack_b32", d, d, upper);
  }
  lower_widen(l, wide, d, false);
  return !l->code;
}

/* lop3.BOOL.b32 d|p, a, b, c, table, {!}q: p = (d != 0) BOOL q. */
static bool lower_lop3(lowering *l, const ptx_instr *instr) {
  const char *boolean = boolean_of(instr);
  if (!boolean) return lower_plain(l, instr);
  if (!lower_known(l, "and or xor") || !lower_operands(l, 6, 6)) return false;
  const ptx_operand *dest = &instr->operands[0];
  if (dest->kind != PTX_OP_PAIR) return lower_unsupported(l, "expected d|p");
  uint32_t wide, unused, s[4], p = lower_temp(l, 'p');
  for (int i = 0; i < 4; i++) s[i] = lower_source(l, &instr->operands[i + 1], '4');
  uint32_t q = lower_source(l, &instr->operands[5], 'p');
  uint32_t d = lower_dest(l, &dest->items[0], '4', &wide);
  sim_op *op = lower_emit_key(l, "lop3_b32", d, s[0], s[1]);
  op->c = s[2];
  op->e = s[3];
  lower_emit_key(l, "setp_ne_b32", p, d, lower_constant(l, '4', 0));
  lower_emit_key(l, boolean, lower_dest(l, &dest->items[1], 'p', &unused), p, q);
  lower_widen(l, wide, d, false);
  return !l->code;
}

const lower_entry lower_predicate_rules[] = {{"setp", lower_setp, false},
                                             {"set", lower_set, false},
                                             {"lop3", lower_lop3, false},
                                             {NULL, NULL, false}};
