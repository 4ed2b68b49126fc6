/* Lowering of matrix instructions and asynchronous copies. A copy is made at once, which programs
 * that wait as they must cannot tell; sim:check judges whether they do. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "lower.h"

/* All lanes of the warp meet first. */
static void meet(lowering *l) {
  uint32_t all = lower_constant(l, '4', 0xffffffffu);
  lower_emit(l, sim_op_warp_sync)->e = all;
}

/* ---- mma ---- */

static bool element_of(const char *name, sim_element *type, uint8_t *per) {
  static const struct {
    const char *name;
    sim_element type;
    uint8_t per; /* elements of a register */
  } TYPES[] = {{"f16", SIM_F16, 2}, {"bf16", SIM_BF16, 2}, {"tf32", SIM_TF32, 1},
               {"f32", SIM_F32, 1}, {"f64", SIM_F64, 1},   {"s8", SIM_S8, 4},
               {"u8", SIM_U8, 4},   {"s4", SIM_S4, 8},     {"u4", SIM_U4, 8},
               {"b1", SIM_B1, 32},  {"s32", SIM_S32, 1}};
  for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
    if (strcmp(TYPES[i].name, name) != 0) continue;
    *type = TYPES[i].type;
    *per = TYPES[i].per;
    return true;
  }
  return false;
}

/* mods: sync aligned SHAPE row col {satfinite} D A B C {xor|and popc} */
static bool describe_mma(const ptx_instr *instr, sim_mma *m) {
  bool counts = lower_has(instr, "popc");
  int n = instr->mod_count - (counts ? 2 : 0);
  unsigned rows, columns, depth;
  sim_element a, b, c, d;
  uint8_t per, per_b, unused;
  if (n < 9 || sscanf(instr->mods[2], "m%un%uk%u", &rows, &columns, &depth) != 3) return false;
  if (!element_of(instr->mods[n - 4], &d, &unused) || !element_of(instr->mods[n - 3], &a, &per) ||
      !element_of(instr->mods[n - 2], &b, &per_b) || !element_of(instr->mods[n - 1], &c, &unused))
    return false;
  bool shaped = columns == 8 && (rows == 8 || rows == 16) && per == per_b && c == d &&
                depth <= (counts ? 256 : 64) && counts == (a == SIM_B1);
  bool old = rows == 8 && (a == SIM_F16 || a == SIM_BF16 || a == SIM_TF32);
  if (!shaped || old || depth % (4u * per) || strcmp(instr->mods[3], "row") ||
      strcmp(instr->mods[4], "col"))
    return false;
  *m = (sim_mma){.rows = (uint8_t)rows,
                 .depth = (uint16_t)depth,
                 .per = per,
                 .a = (uint8_t)a,
                 .b = (uint8_t)(lower_has(instr, "xor") ? SIM_B1_XOR : b),
                 .c = (uint8_t)c,
                 .saturate = lower_has(instr, "satfinite")};
  return c == SIM_F16 || c == SIM_F32 || c == SIM_F64 || c == SIM_S32;
}

static bool fragment(lowering *l, const ptx_operand *o, int count, char shape, bool dest,
                     uint32_t *slots) {
  uint32_t wide;
  if (count == 1 && o->kind == PTX_OP_REG) {
    *slots = dest ? lower_dest(l, o, shape, &wide) : lower_source(l, o, shape);
    return !l->code;
  }
  if (o->kind != PTX_OP_VECTOR || o->count != count)
    return lower_fail(l, PG_SYNTAX, "'%s': expected %d registers", lower_instr(l)->text, count);
  for (int i = 0; i < count; i++)
    slots[i] =
        dest ? lower_dest(l, &o->items[i], shape, &wide) : lower_source(l, &o->items[i], shape);
  return !l->code;
}

static bool lower_mma(lowering *l, const ptx_instr *instr) {
  sim_mma m;
  if (!describe_mma(instr, &m)) return lower_unsupported(l, "this shape or type of mma");
  if (!lower_operands(l, 4, 4)) return false;
  uint32_t slots[40], n = 0;
  char ab = m.a == SIM_F64 ? '8' : '4', cd = m.c == SIM_F64 ? '8' : '4';
  const int counts[] = {(int)sim_mma_a(&m), (int)sim_mma_b(&m), (int)sim_mma_c(&m),
                        (int)sim_mma_c(&m)};
  static const int order[] = {1, 2, 3, 0};
  for (int i = 0; i < 4; i++) {
    if (!fragment(l, &instr->operands[order[i]], counts[i], i < 2 ? ab : cd, i == 3, slots + n))
      return false;
    n += (uint32_t)counts[i];
  }
  meet(l);
  memcpy(&lower_emit(l, sim_op_mma)->imm, &m, sizeof m);
  for (uint32_t i = 0; i < n; i++) lower_emit(l, sim_op_mma)->a = slots[i];
  return !l->code;
}

/* ldmatrix d, [a] and stmatrix [a], d: 8 lanes a matrix give addresses of rows of 16 bytes. Other
 * modes see these lanes access them. */
static bool lower_matrix_access(lowering *l, const ptx_instr *instr, bool store) {
  if (!lower_known(l, "sync aligned m8n8 x1 x2 x4 trans shared shared::cta")) return false;
  if (!lower_operands(l, 2, 2)) return false;
  int count = lower_has(instr, "x4") ? 4 : lower_has(instr, "x2") ? 2 : 1;
  uint32_t slots[4], rows = lower_temp(l, 'p');
  if (ptx_type_bytes(lower_type(instr)) != 2) return lower_unsupported(l, "this type");
  if (!fragment(l, &instr->operands[store], count, '4', !store, slots)) return false;
  meet(l);
  bool watched = l->program->profile || l->program->check;
  if (watched) {
    lower_emit_key(l, "setp_lo_u32", rows, lower_special(l, SIM_LANEID),
                   lower_constant(l, '4', 8u * (uint32_t)count));
    size_t guard = l->op_count;
    lower_emit(l, sim_op_guard)->a = rows; /* never empty */
    lower_target(l, guard, false, guard + 1);
  }
  if (l->program->profile) lower_emit(l, sim_op_count_memory);
  if (l->program->check)
    lower_emit(l, sim_op_check)->imm = store ? SIM_STORE | SIM_GUARDED : SIM_GUARDED;
  sim_op *op = lower_emit(l, store ? sim_op_stmatrix : sim_op_ldmatrix);
  op->e = (uint32_t)count;
  op->negated = lower_has(instr, "trans");
  op->bytes = 16;
  op->count = 1;
  op->store = store;
  op->cache = l->program->cache_count++;
  if (!lower_address(l, op, &instr->operands[!store], lower_space(instr))) return false;
  for (int i = 0; i < count; i++) lower_emit(l, sim_op_ldmatrix)->a = slots[i];
  if (watched) lower_emit(l, sim_op_unguard);
  return !l->code;
}

static bool lower_ldmatrix(lowering *l, const ptx_instr *instr) {
  return lower_matrix_access(l, instr, false);
}

static bool lower_stmatrix(lowering *l, const ptx_instr *instr) {
  return lower_matrix_access(l, instr, true);
}

static bool lower_movmatrix(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "sync aligned m8n8 trans") || !lower_operands(l, 2, 2)) return false;
  uint32_t wide, a = lower_source(l, &instr->operands[1], '4');
  uint32_t d = lower_dest(l, &instr->operands[0], '4', &wide);
  meet(l);
  sim_op *op = lower_emit(l, sim_op_movmatrix);
  op->d = d;
  op->a = a;
  return !l->code;
}

/* ---- cp.async ---- */

/* One load or store of `bytes` at offset `at` of an address, watched in the other modes. */
static bool access(lowering *l, const char *key, bool store, uint32_t slot,
                   const ptx_operand *address, ptx_space space, uint32_t at) {
  const sim_entry *entry = sim_find_entry(key);
  if (l->program->profile) lower_emit(l, sim_op_count_memory);
  if (l->program->check)
    lower_emit(l, sim_op_check)->imm = store ? SIM_STORE | SIM_COPY | SIM_GUARDED : SIM_GUARDED;
  sim_op *op = lower_emit(l, entry->fn);
  *(store ? &op->b : &op->d) = slot;
  op->bytes = strstr(key, "b8") ? 1 : 4;
  op->count = 1;
  op->store = store;
  op->cache = l->program->cache_count++;
  if (!lower_address(l, op, address, space)) return false;
  op->imm += at;
  return true;
}

/* Bytes [at, at + step) come from memory where they lie below the size, else they are zero. */
static bool copy_part(lowering *l, const ptx_instr *instr, uint32_t at, uint32_t step,
                      uint32_t size) {
  bool word = step == 4;
  uint32_t value = lower_temp(l, '4'), inside = lower_temp(l, 'p');
  lower_emit_key(l, "mov_b32", value, lower_constant(l, '4', 0), 0);
  size_t guard = l->op_count;
  if (size) {
    lower_emit_key(l, "setp_hi_u32", inside, size, lower_constant(l, '4', at));
    guard = l->op_count;
    lower_emit(l, sim_op_guard)->a = inside;
  }
  if (!access(l, word ? "ld_b32" : "ld_b8", false, value, &instr->operands[1], PTX_GLOBAL, at))
    return false;
  if (size) {
    lower_emit(l, sim_op_unguard);
    lower_target(l, guard, false, l->op_count);
  }
  if (!access(l, word ? "st_b32" : "st_b8", true, value, &instr->operands[0], PTX_SHARED, at))
    return false;
  l->used_4--;
  l->used_p--;
  return !l->code;
}

/* commit_group, wait_group N, wait_all: only sim:check wants to know. */
static bool lower_copy_groups(lowering *l, const ptx_instr *instr) {
  bool counts = lower_has(instr, "wait_group");
  if (!lower_operands(l, counts, counts)) return false;
  if (counts && instr->operands[0].kind != PTX_OP_INT)
    return lower_unsupported(l, "expected a number of groups");
  if (!l->program->check) return !l->code;
  uint64_t what =
      counts ? instr->operands[0].bits
             : (uint64_t)(lower_has(instr, "wait_all") ? SIM_COPIES_ALL : SIM_COPIES_COMMIT);
  lower_emit(l, sim_op_check_copies)->imm = what;
  return !l->code;
}

/* cp.async.ca/cg.shared.global [to], [from], size{, bytes that are read}. */
static bool lower_cp(lowering *l, const ptx_instr *instr) {
  bool waits = lower_has(instr, "commit_group") || lower_has(instr, "wait_group") ||
               lower_has(instr, "wait_all");
  if (lower_has(instr, "async") && lower_has(instr, "mbarrier") && !lower_has(instr, "bulk"))
    return lower_copy_arrive(l, instr);
  if (lower_has(instr, "bulk") || !lower_has(instr, "async")) {
    lower_unsupported(l, "bulk and tensor copies");
    pg_hint(l->error, "compile for sm_80 (Triton: GPUTarget(\"cuda\", 80, 32))");
    return false;
  }
  if (waits) return lower_copy_groups(l, instr);
  if (!lower_known(l, "async ca cg shared shared::cta global L2::64B L2::128B L2::256B") ||
      !lower_operands(l, 3, 4))
    return false;
  const ptx_operand *bytes = &instr->operands[2];
  if (bytes->kind != PTX_OP_INT || (bytes->bits != 4 && bytes->bits != 8 && bytes->bits != 16))
    return lower_unsupported(l, "a copy of 4, 8 or 16 bytes");
  const ptx_operand *most = instr->operand_count == 4 ? &instr->operands[3] : NULL;
  bool whole = !most || (most->kind == PTX_OP_INT && most->bits == bytes->bits);
  if (most && most->kind == PTX_OP_REG && lower_shape(l->source->regs[most->reg].type) == 'p')
    return lower_unsupported(l, "the predicate of an ignored source");
  uint32_t size = whole ? 0 : lower_source(l, most, '4'), step = whole ? 4 : 1;
  for (uint32_t at = 0; at < bytes->bits; at += step) {
    if (!copy_part(l, instr, at, step, size)) return false;
  }
  return !l->code;
}

/* What needs hardware that is not simulated. */
static bool lower_hopper(lowering *l, const ptx_instr *instr) {
  (void)instr;
  lower_unsupported(l, "warp-group matrices, tensor memory and clusters");
  pg_hint(l->error, "compile for sm_80 (nvcc -arch=sm_80; Triton: GPUTarget(\"cuda\", 80, 32))");
  return false;
}

const lower_entry lower_matrix_rules[] = {{"mma", lower_mma, true},
                                          {"ldmatrix", lower_ldmatrix, true},
                                          {"stmatrix", lower_stmatrix, true},
                                          {"movmatrix", lower_movmatrix, true},
                                          {"cp", lower_cp, true},
                                          {"wgmma", lower_hopper, true},
                                          {"tcgen05", lower_hopper, true},
                                          {"mapa", lower_hopper, true},
                                          {NULL, NULL, false}};
