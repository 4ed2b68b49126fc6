/* Lowering of barriers in shared memory, of elect and of questions about clusters. */
#include <string.h>

#include "check.h"
#include "lower.h"

#define WORDS                                                                                 \
  "init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait parity noComplete " \
  "pending_count release acquire relaxed cta shared shared::cta async mbarrier noinc "

/* Fields every access has; in front of it what the other modes want to know. */
static sim_op *emit_access(lowering *l, sim_handler fn, const ptx_operand *address, bool store,
                           uint32_t flags) {
  if (l->program->check) lower_emit(l, sim_op_check)->imm = flags;
  sim_op *op = lower_emit(l, fn);
  op->bytes = 8;
  op->count = 1;
  op->cache = l->program->cache_count++;
  op->store = store;
  lower_address(l, op, address, lower_space(lower_instr(l)));
  return op;
}

static uint32_t kind_of(const ptx_instr *instr) {
  bool arrive = lower_has(instr, "arrive");
  return lower_has(instr, "init")                  ? SIM_MBARRIER_INIT
         : lower_has(instr, "complete_tx")         ? SIM_MBARRIER_COMPLETE
         : arrive && lower_has(instr, "expect_tx") ? SIM_MBARRIER_EXPECT_ARRIVE
         : arrive                                  ? SIM_MBARRIER_ARRIVE
         : lower_has(instr, "arrive_drop")         ? SIM_MBARRIER_DROP
                                                   : SIM_MBARRIER_EXPECT;
}

static bool lower_wait(lowering *l, const ptx_instr *instr) {
  if (!lower_operands(l, 3, 4)) return false;
  bool parity = lower_has(instr, "parity");
  uint32_t wide;
  uint32_t b = lower_source(l, &instr->operands[2], parity ? '4' : '8');
  uint32_t d = lower_dest(l, &instr->operands[0], 'p', &wide);
  sim_op *op =
      emit_access(l, sim_op_mbarrier_wait, &instr->operands[1], false, SIM_STRONG | SIM_CTA);
  op->b = b;
  op->d = d;
  op->e = parity;
  op->negated = lower_has(instr, "relaxed");
  return !l->code;
}

static bool lower_pending_count(lowering *l, const ptx_instr *instr) {
  if (!lower_operands(l, 2, 2)) return false;
  uint32_t wide, a = lower_source(l, &instr->operands[1], '8');
  uint32_t d = lower_dest(l, &instr->operands[0], '4', &wide);
  sim_op *op = lower_emit(l, sim_op_pending_count);
  op->a = a;
  op->d = d;
  lower_widen(l, wide, d, false);
  return !l->code;
}

/* {state,} [address] {, count} */
static bool lower_mbarrier(lowering *l, const ptx_instr *instr) {
  if (lower_has(instr, "shared::cluster") || lower_has(instr, "cluster"))
    return lower_unsupported(l, "barriers of other blocks");
  if (!lower_known(l, WORDS)) return false;
  if (lower_has(instr, "inval")) return !l->code;
  if (lower_has(instr, "test_wait") || lower_has(instr, "try_wait")) return lower_wait(l, instr);
  if (lower_has(instr, "pending_count")) return lower_pending_count(l, instr);
  if (!lower_operands(l, 1, 3)) return false;
  uint32_t wide, state = 0, count = 0, kind = kind_of(instr);
  int at = instr->operands[0].kind == PTX_OP_ADDRESS ? 0 : 1;
  if (at >= instr->operand_count) return lower_unsupported(l, "this form");
  if (at && instr->operands[0].kind != PTX_OP_SINK)
    state = lower_dest(l, &instr->operands[0], '8', &wide);
  if (at + 1 < instr->operand_count) count = lower_source(l, &instr->operands[at + 1], '4');
  bool init = kind == SIM_MBARRIER_INIT, relaxed = lower_has(instr, "relaxed");
  uint32_t flags = init ? SIM_STORE : SIM_RMW | SIM_STRONG | SIM_CTA;
  if (!init && !relaxed) flags |= SIM_RELEASE;
  sim_op *op = emit_access(l, sim_op_mbarrier, &instr->operands[at], true, flags);
  op->d = state;
  op->b = count;
  op->e = kind;
  return !l->code;
}

/* cp.async.mbarrier.arrive: copies have been made; only .noinc counts as an arrival, the other form
 * is an expectation of no bytes, and orders like one. */
bool lower_copy_arrive(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, WORDS) || !lower_operands(l, 1, 1)) return false;
  if (l->program->check) lower_emit(l, sim_op_check_copies)->imm = (uint64_t)SIM_COPIES_ALL;
  if (lower_has(instr, "noinc")) return lower_mbarrier(l, instr);
  if (!l->program->check) return !l->code;
  uint32_t flags = SIM_RMW | SIM_STRONG | SIM_RELEASE | SIM_CTA;
  uint32_t none = lower_constant(l, '4', 0);
  sim_op *op = emit_access(l, sim_op_mbarrier, &instr->operands[0], true, flags);
  op->b = none;
  op->e = SIM_MBARRIER_EXPECT;
  return !l->code;
}

/* elect.sync d|p, mask: the lowest lane of the mask. */
static bool lower_elect(lowering *l, const ptx_instr *instr) {
  if (!lower_known(l, "sync") || !lower_operands(l, 2, 2)) return false;
  const ptx_operand *dest = &instr->operands[0];
  if (dest->kind != PTX_OP_PAIR) return lower_unsupported(l, "expected d|p");
  uint32_t wide, unused, t = lower_temp(l, '4');
  uint32_t mask = lower_source(l, &instr->operands[1], '4');
  uint32_t d = lower_dest(l, &dest->items[0], '4', &wide);
  uint32_t p = lower_dest(l, &dest->items[1], 'p', &unused);
  lower_emit(l, sim_op_warp_sync)->e = mask;
  lower_emit_key(l, "neg_s32", t, mask, 0);
  lower_emit_key(l, "and_b32", t, t, mask);
  lower_emit_key(l, "add_b32", t, t, lower_constant(l, '4', 0xffffffffu));
  lower_emit_key(l, "popc_b32", d, t, 0);
  lower_emit_key(l, "setp_eq_b32", p, d, lower_special(l, SIM_LANEID));
  lower_widen(l, wide, d, false);
  return !l->code;
}

/* getctarank d, address: every block is a cluster of its own. */
static bool lower_rank(lowering *l, const ptx_instr *instr) {
  if (!lower_operands(l, 2, 2)) return false;
  uint32_t wide, d = lower_dest(l, &instr->operands[0], '4', &wide);
  lower_emit_key(l, "mov_b32", d, lower_constant(l, '4', 0), 0);
  lower_widen(l, wide, d, false);
  return !l->code;
}

const lower_entry lower_mbarrier_rules[] = {{"mbarrier", lower_mbarrier, true},
                                            {"elect", lower_elect, true},
                                            {"getctarank", lower_rank, false},
                                            {NULL, NULL, false}};
