/* Lowering of instructions that touch memory or addresses: ld, st, cvta, isspacep, mov.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "lower.h"
#include "memory.h"

ptx_space lower_space(const ptx_instr *instr) {
  for (int i = 0; i < instr->mod_count; i++) {
    const char *m = instr->mods[i];
    if (!strcmp(m, "global")) return PTX_GLOBAL;
    if (!strcmp(m, "shared") || !strcmp(m, "shared::cta")) return PTX_SHARED;
    if (!strcmp(m, "local")) return PTX_LOCAL;
    if (!strcmp(m, "const")) return PTX_CONST;
    if (!strcmp(m, "param") || !strcmp(m, "param::entry")) return PTX_PARAM;
  }
  return PTX_GENERIC;
}

static uint64_t window_of(ptx_space space) {
  return space == PTX_SHARED  ? SIM_SHARED_WINDOW
         : space == PTX_LOCAL ? SIM_LOCAL_WINDOW
         : space == PTX_PARAM ? SIM_PARAM_WINDOW
                              : 0;
}

/* Fill address register, offset and window of a memory micro-op. */
bool lower_address(lowering *l, sim_op *op, const ptx_operand *o, ptx_space space) {
  /* The slot of a new constant does not move op: only micro-ops do. */
  uint32_t frame = lower_frame_base(l);
  if (o->kind != PTX_OP_ADDRESS || o->count != 1)
    return lower_unsupported(l, "this form of address");
  const ptx_operand *base = &o->items[0];
  op->imm = window_of(space) + o->bits;
  if (base->kind == PTX_OP_REG) {
    char shape = lower_shape(l->source->regs[base->reg].type);
    if (shape == 'p' || shape == 0)
      return lower_fail(l, PG_SYNTAX, "'%s': not an address register", lower_instr(l)->text);
    op->a = l->slot[base->reg];
    op->narrow = shape == '4';
    return true;
  }
  op->narrow = 2;
  if (base->kind == PTX_OP_INT) {
    op->imm += base->bits;
    return true;
  }
  lower_place at;
  if (base->kind != PTX_OP_SYMBOL || !lower_symbol(l, base->name, &at)) {
    return lower_fail(l, PG_UNSUPPORTED, "the simulator does not know the variable in '%s'",
                      lower_instr(l)->text);
  }
  op->imm = window_of(at.space) + at.value + base->bits + o->bits;
  op->a = frame;
  if (frame && at.in_frame) op->narrow = 0;
  return true;
}

int lower_vector(const ptx_instr *instr) {
  return lower_has(instr, "v2") ? 2 : lower_has(instr, "v4") ? 4 : lower_has(instr, "v8") ? 8 : 1;
}

/* The i-th element of a vector operand, or the operand itself. Triton writes "{ %r1 }" for one. */
const ptx_operand *lower_element(lowering *l, const ptx_operand *o, int count, int i) {
  if (o->kind == PTX_OP_VECTOR && o->count == count) return &o->items[i];
  if (count == 1) return o;
  lower_fail(l, PG_SYNTAX, "'%s': expected a vector of %d elements", lower_instr(l)->text, count);
  return o;
}

bool lower_orders(const ptx_instr *instr, const char *semantics) {
  return lower_has(instr, semantics) || lower_has(instr, "acq_rel") || lower_has(instr, "sc");
}

/* What sim:check wants to know of the access. */
static uint32_t access_flags(const ptx_instr *instr) {
  static const char *const strong[] = {"volatile", "relaxed", "mmio", "acquire", "release"};
  bool atomic = !strcmp(instr->opcode, "atom") || !strcmp(instr->opcode, "red");
  uint32_t flags = atomic ? SIM_RMW | SIM_STRONG : 0;
  for (size_t i = 0; i < sizeof strong / sizeof *strong; i++)
    flags |= lower_has(instr, strong[i]) ? SIM_STRONG : 0;
  if (!strcmp(instr->opcode, "st")) flags |= SIM_STORE;
  if (lower_orders(instr, "release")) flags |= SIM_RELEASE;
  if (lower_orders(instr, "acquire")) flags |= SIM_ACQUIRE;
  if (lower_has(instr, "cta")) flags |= SIM_CTA;
  if (instr->guard >= 0) flags |= SIM_GUARDED;
  return flags;
}

/* sim:profile counts and sim:check judges in front of the access, which must follow directly. */
void lower_watch(lowering *l) {
  const ptx_instr *instr = lower_instr(l);
  ptx_space space = lower_space(instr);
  bool past_l1 = lower_has(instr, "cg") || lower_has(instr, "cv") || lower_has(instr, "relaxed") ||
                 lower_has(instr, "acquire") || lower_has(instr, "volatile");
  if (l->program->profile) lower_emit(l, sim_op_count_memory)->imm = past_l1;
  /* Parameters are written whole, but for those that a caller fills in its local memory. */
  if (!l->program->check || space == PTX_CONST) return;
  if (space == PTX_PARAM && strcmp(instr->opcode, "st") != 0) return;
  lower_emit(l, sim_op_check)->imm = access_flags(instr);
}

/* sim:check: what a strong read brings is known behind it. */
void lower_watched(lowering *l) {
  uint32_t flags = access_flags(lower_instr(l));
  if (!l->program->check || !(flags & SIM_STRONG)) return;
  lower_emit(l, sim_op_checked)->imm = flags;
}

/* What follows sees what others have written: a cache that others do not write to is of no use. */
void lower_acquired(lowering *l, const ptx_instr *instr) {
  lower_emit(l, sim_op_fence);
  if (l->program->profile && !lower_has(instr, "cta")) lower_emit(l, sim_op_empty_l1);
}

static const sim_entry *memory_entry(lowering *l, const char *verb, ptx_type type, bool sign) {
  char key[32];
  uint32_t bytes = ptx_type_bytes(type);
  bool is_signed = sign && (type == PTX_S8 || type == PTX_S16);
  snprintf(key, sizeof key, "%s_%c%u", verb, is_signed ? 's' : 'b', bytes * 8);
  const sim_entry *e = bytes ? sim_find_entry(key) : NULL;
  if (!e) lower_unsupported(l, "this type");
  return e;
}

void lower_describe(lowering *l, sim_op *op, ptx_type type, int count, bool store) {
  op->bytes = (uint8_t)ptx_type_bytes(type);
  op->count = (uint8_t)count;
  op->store = store;
  op->cache = l->program->cache_count++;
}

static bool lower_load(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, LOWER_SPACES LOWER_ORDERS LOWER_CACHES LOWER_VECTORS)) return false;
  ptx_type type = lower_type(instr);
  int count = lower_vector(instr);
  bool whole = type == PTX_B128 && count == 1; /* as two of 64 bits */
  if (whole) type = PTX_B64, count = 2;
  const sim_entry *entry = memory_entry(l, "ld", type, true);
  if (!entry || !lower_operands(l, 2, 2)) return false;
  uint32_t d[8] = {0}, wide[8] = {0};
  uint32_t none;
  for (int i = 0; i < 2 && whole; i++)
    d[i] = lower_dest(l, &instr->operands[0], 'x', &none) + (i ? SIM_UPPER_HALF : 0);
  for (int i = 0; i < count && !whole; i++) {
    const ptx_operand *o = lower_element(l, &instr->operands[0], count, i);
    if (l->code) return false;
    d[i] = o->kind == PTX_OP_SINK && count > 1 ? 0 : lower_dest(l, o, entry->shape[0], &wide[i]);
  }
  lower_watch(l);
  for (int i = 0; i < count; i++) {
    sim_op *op = lower_emit(l, entry->fn);
    op->d = d[i];
    if (i) continue;
    lower_describe(l, op, type, count, false);
    if (!lower_address(l, op, &instr->operands[1], lower_space(instr))) return false;
  }
  for (int i = 0; i < count; i++)
    lower_widen(l, wide[i], d[i],
                entry->shape[0] == '4' && (type == PTX_S8 || type == PTX_S16 || type == PTX_S32));
  lower_watched(l);
  if (lower_has(instr, "acquire")) lower_acquired(l, instr);
  return !l->code;
}

static bool lower_store(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, LOWER_SPACES LOWER_ORDERS LOWER_CACHES LOWER_VECTORS)) return false;
  ptx_type type = lower_type(instr);
  int count = lower_vector(instr);
  bool whole = type == PTX_B128 && count == 1; /* as two of 64 bits */
  if (whole) type = PTX_B64, count = 2;
  const sim_entry *entry = memory_entry(l, "st", type, false);
  if (!entry || !lower_operands(l, 2, 2)) return false;
  uint32_t b[8] = {0};
  for (int i = 0; i < 2 && whole; i++)
    b[i] = lower_source(l, &instr->operands[1], 'x') + (i ? SIM_UPPER_HALF : 0);
  for (int i = 0; i < count && !whole; i++) {
    const ptx_operand *o = lower_element(l, &instr->operands[1], count, i);
    if (l->code) return false;
    b[i] = lower_source(l, o, entry->shape[0]);
  }
  if (lower_has(instr, "release")) lower_emit(l, sim_op_fence);
  lower_watch(l);
  for (int i = 0; i < count; i++) {
    sim_op *op = lower_emit(l, entry->fn);
    op->b = b[i];
    if (i) continue;
    lower_describe(l, op, type, count, true);
    if (!lower_address(l, op, &instr->operands[0], lower_space(instr))) return false;
  }
  return !l->code;
}

/* cvta.space.u64: space address -> generic; cvta.to.space.u64: the reverse. */
static bool lower_cvta(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "to " LOWER_SPACES)) return false;
  if (!lower_operands(l, 2, 2)) return false;
  if (lower_type(instr) != PTX_U64) return lower_unsupported(l, "32-bit generic addresses");
  uint64_t window = window_of(lower_space(instr));
  uint32_t wide;
  uint32_t a = lower_source(l, &instr->operands[1], '8');
  uint32_t d = lower_dest(l, &instr->operands[0], '8', &wide);
  bool to = lower_has(instr, "to");
  uint32_t delta = lower_constant(l, '8', to ? 0 - window : window);
  lower_emit_key(l, window ? "add_b64" : "mov_b64", d, a, window ? delta : 0);
  return !l->code;
}

static bool lower_isspacep(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, LOWER_SPACES)) return false;
  if (!lower_operands(l, 2, 2)) return false;
  ptx_space space = lower_space(instr);
  uint32_t wide, temp = lower_temp(l, '8');
  uint32_t a = lower_source(l, &instr->operands[1], '8');
  uint32_t d = lower_dest(l, &instr->operands[0], 'p', &wide);
  uint64_t low = space == PTX_GLOBAL ? 1 : window_of(space);
  uint64_t bytes = space == PTX_GLOBAL ? SIM_SHARED_WINDOW - 1 : SIM_WINDOW_BYTES;
  if (low == 0) return lower_unsupported(l, "this state space");
  lower_emit_key(l, "sub_b64", temp, a, lower_constant(l, '8', low));
  lower_emit_key(l, "setp_lo_u64", d, temp, lower_constant(l, '8', bytes));
  return !l->code;
}

/* The i-th of n equal parts of a register: {key of the shift} for 64 and 32 bits. */
static void extract_part(lowering *l, uint32_t d, uint32_t a, uint32_t bits, int n, int i) {
  uint32_t shift = bits / (uint32_t)n * (uint32_t)i, temp = lower_temp(l, '8');
  uint32_t mask = bits / (uint32_t)n == 32 ? ~0u : (1u << bits / (uint32_t)n) - 1;
  if (bits == 64) {
    lower_emit_key(l, "shr_u64", temp, a, lower_constant(l, '4', shift));
    lower_emit_key(l, "low_b64", d, temp, 0);
  } else {
    lower_emit_key(l, "shr_u32", d, a, lower_constant(l, '4', shift));
  }
  lower_emit_key(l, "and_b32", d, d, lower_constant(l, '4', mask));
  l->used_8--;
}

/* mov.b64 {lo, hi}, d and the like: two or four parts. */
static bool lower_unpack(lowering *l, const ptx_instr *instr, uint32_t bytes) {
  const ptx_operand *vector = &instr->operands[0];
  int n = vector->count;
  if ((n != 2 && n != 4) || bytes < 2 || bytes > 8) return lower_unsupported(l, "this form of mov");
  uint32_t a = lower_source(l, &instr->operands[1], bytes == 8 ? '8' : '4'), wide, part[4];
  /* The source may be one of the destinations' slots: read all parts first. */
  for (int i = 0; i < n; i++) {
    part[i] = lower_temp(l, '4');
    if (n == 2 && bytes >= 4) {
      const char *keys[2][2] = {{"low_b32", "high_b32"}, {"low_b64", "high_b64"}};
      lower_emit_key(l, keys[bytes == 8][i], part[i], a, 0);
    } else {
      extract_part(l, part[i], a, bytes * 8, n, i);
    }
  }
  for (int i = 0; i < n; i++) {
    if (vector->items[i].kind == PTX_OP_SINK) continue;
    uint32_t d = lower_dest(l, &vector->items[i], '4', &wide);
    lower_emit_key(l, "mov_b32", d, part[i], 0);
    lower_widen(l, wide, d, false);
  }
  return !l->code;
}

static bool lower_pack(lowering *l, const ptx_instr *instr, uint32_t bytes) {
  const ptx_operand *vector = &instr->operands[1];
  int n = vector->count;
  if ((n != 2 && n != 4) || bytes < 2 || bytes > 8) return lower_unsupported(l, "this form of mov");
  uint32_t wide, part[4];
  for (int i = 0; i < n; i++) part[i] = lower_source(l, &vector->items[i], '4');
  uint32_t d = lower_dest(l, &instr->operands[0], bytes == 8 ? '8' : '4', &wide);
  /* Pairs first: bytes to 16 bits, or 16 to 32. */
  bool bytewise = bytes * 8 / (uint32_t)n == 8;
  for (int i = 0; i < n && (n == 4 || bytewise); i += 2) {
    uint32_t pair = lower_temp(l, '4');
    lower_emit_key(l, bytewise ? "pack_b16" : "pack_b32", pair, part[i], part[i + 1]);
    part[i / 2] = pair;
  }
  if (bytes == 2)
    lower_emit_key(l, "mov_b32", d, part[0], 0);
  else
    lower_emit_key(l, bytes == 8 ? "pack_b64" : "pack_b32", d, part[0], part[1]);
  lower_widen(l, wide, d, false);
  return !l->code;
}

/* mov.b128 d, a; mov.b128 {lo, hi}, a; mov.b128 d, {lo, hi}. */
static bool lower_mov_128(lowering *l, const ptx_instr *instr) {
  const ptx_operand *to = &instr->operands[0], *from = &instr->operands[1];
  uint32_t part[2], wide;
  bool split = to->kind == PTX_OP_VECTOR, join = from->kind == PTX_OP_VECTOR;
  if ((split && to->count != 2) || (join && from->count != 2))
    return lower_unsupported(l, "this form of mov");
  /* A source may be a destination: read both halves first. */
  for (int i = 0; i < 2; i++) {
    uint32_t half = i ? SIM_UPPER_HALF : 0;
    uint32_t a = join ? lower_source(l, &from->items[i], '8') : lower_source(l, from, 'x') + half;
    part[i] = lower_temp(l, '8');
    lower_emit_key(l, "mov_b64", part[i], a, 0);
  }
  for (int i = 0; i < 2; i++) {
    uint32_t half = i ? SIM_UPPER_HALF : 0;
    uint32_t d =
        split ? lower_dest(l, &to->items[i], '8', &wide) : lower_dest(l, to, 'x', &wide) + half;
    if (l->code) return false;
    lower_emit_key(l, "mov_b64", d, part[i], 0);
  }
  return !l->code;
}

static bool lower_mov(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "")) return false;
  if (!lower_operands(l, 2, 2)) return false;
  ptx_type type = lower_type(instr);
  if (type == PTX_B128) return lower_mov_128(l, instr);
  uint32_t bytes = ptx_type_bytes(type), wide;
  if (instr->operands[0].kind == PTX_OP_VECTOR) return lower_unpack(l, instr, bytes);
  if (instr->operands[1].kind == PTX_OP_VECTOR) return lower_pack(l, instr, bytes);
  if (bytes == 1 || bytes > 8 || type == PTX_NONE) return lower_unsupported(l, "this type");
  char shape = lower_shape(type);
  uint32_t a = lower_source(l, &instr->operands[1], shape);
  uint32_t d = lower_dest(l, &instr->operands[0], shape, &wide);
  lower_emit_key(l, shape == 'p' ? "mov_pred" : shape == '4' ? "mov_b32" : "mov_b64", d, a, 0);
  lower_widen(l, wide, d, false);
  return !l->code;
}

static bool lower_fence(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "sc acq_rel cta cluster gpu sys gl proxy alias")) return false;
  if (lower_has(instr, "proxy")) return lower_unsupported(l, "proxies");
  if (l->program->check)
    lower_emit(l, sim_op_check_fence)->imm = lower_has(instr, "cta");
  else
    lower_acquired(l, instr);
  return !l->code;
}

/* Hints that change nothing but speed. */
static bool lower_nothing(lowering *l, const ptx_instr *instr) {
  (void)instr;
  return !l->code;
}

const lower_entry lower_memory_rules[] = {{"ld", lower_load, false},
                                          {"ldu", lower_load, false},
                                          {"st", lower_store, false},
                                          {"cvta", lower_cvta, false},
                                          {"mov", lower_mov, false},
                                          {"isspacep", lower_isspacep, false},
                                          {"membar", lower_fence, false},
                                          {"fence", lower_fence, false},
                                          {"prefetch", lower_nothing, false},
                                          {"prefetchu", lower_nothing, false},
                                          {"applypriority", lower_nothing, false},
                                          {"pmevent", lower_nothing, false},
                                          {NULL, NULL, false}};
