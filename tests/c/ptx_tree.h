/* What holds of every tree that ptx_parse returns, whatever the text: for the fuzzer and for whole
 * files. */
#ifndef PTX_TREE_H
#define PTX_TREE_H

#include "sim/ptx.h"

#include <string.h>

static inline const char *operand_fault(const ptx_func *func, const ptx_operand *op, int depth) {
  if (depth > 3) return "operands are nested more than three deep";
  if (op->count < 0 || (op->count > 0 && !op->items)) return "an operand lost its items";
  switch (op->kind) {
  case PTX_OP_REG:
    if (op->reg < 0 || op->reg >= func->reg_count) return "no such register";
    if (!op->name || strcmp(op->name, func->regs[op->reg].name)) return "another register's name";
    break;
  case PTX_OP_LABEL: {
    bool is_label = op->bits < (uint64_t)func->instr_count && !func->body[op->bits].opcode &&
                    func->body[op->bits].operands[0].name == op->name;
    bool is_target =
        op->bits < (uint64_t)func->targets_count && func->targets[op->bits].label == op->name;
    if (!op->name || (!is_label && !is_target)) return "a label that leads nowhere";
    break;
  }
  case PTX_OP_SYMBOL:
  case PTX_OP_SPECIAL:
    if (!op->name || !*op->name) return "a symbol without a name";
    break;
  case PTX_OP_ADDRESS:
    if (op->count < 1) return "an address without a base";
    break;
  case PTX_OP_PAIR:
    if (op->count != 2) return "a pair that is none";
    break;
  default: break;
  }
  if (op->negated && (op->kind != PTX_OP_REG || func->regs[op->reg].type != PTX_PRED))
    return "something negated that is no predicate";
  for (int i = 0; i < op->count; i++) {
    const char *fault = operand_fault(func, &op->items[i], depth + 1);
    if (fault) return fault;
  }
  return NULL;
}

static inline const char *instr_fault(const ptx_func *func, const ptx_instr *instr) {
  if (!instr->text || instr->line < 1) return "an instruction without text or line";
  if (!instr->opcode && (instr->operand_count != 1 || instr->operands[0].kind != PTX_OP_LABEL))
    return "a label without its operand";
  if (instr->guard >= func->reg_count || instr->guard < -1) return "no such guard";
  if (instr->guard >= 0 && func->regs[instr->guard].type != PTX_PRED)
    return "a guard of another type";
  for (int i = 0; i < instr->mod_count; i++)
    if (!instr->mods[i] || strchr(instr->mods[i], '.')) return "a modifier with a dot";
  for (int i = 0; i < instr->operand_count; i++) {
    const char *fault = operand_fault(func, &instr->operands[i], 0);
    if (fault) return fault;
  }
  return NULL;
}

static inline const char *var_fault(const ptx_var *var) {
  if (!var->name || var->type == PTX_NONE || !var->align || (var->align & (var->align - 1)))
    return "a variable without name, type or alignment";
  uint64_t bytes = var->count * ptx_type_bytes(var->type), end = 0;
  uint8_t touched = 0;
  for (uint64_t i = 0; var->init && i < bytes; i += 4096) touched |= var->init[i];
  if (var->init && bytes) touched |= var->init[bytes - 1]; /* for the sanitizer to see */
  for (int i = 0; i < var->reloc_count; i++) {
    const struct ptx_reloc *reloc = &var->relocs[i];
    if (reloc->at < end || reloc->bytes < 1 || reloc->bytes > 8) return "overlapping addresses";
    end = reloc->at + (uint64_t)reloc->bytes;
    if (!reloc->symbol || end > bytes) return "an address beyond its variable";
  }
  return touched == 255 && !var->init ? "" : NULL;
}

static inline const char *vars_fault(const ptx_var *vars, int count) {
  const char *fault = NULL;
  for (int i = 0; i < count && !fault; i++) fault = var_fault(&vars[i]);
  return fault;
}

static inline const char *func_fault(const ptx_func *func) {
  const char *fault = NULL;
  if (!func->name) return "a function without a name";
  if (!fault) fault = vars_fault(func->params, func->param_count);
  if (!fault) fault = vars_fault(func->rets, func->ret_count);
  if (!fault) fault = vars_fault(func->vars, func->var_count);
  for (int i = 0; i < func->instr_count && !fault; i++) fault = instr_fault(func, &func->body[i]);
  for (int i = 0; i < func->targets_count; i++)
    for (int j = 0; j < func->targets[i].count; j++)
      if (!func->targets[i].names[j]) return "a target without a name";
  return fault;
}

/* NULL, or what is wrong with the tree. */
static inline const char *tree_fault(const ptx_module *module) {
  const char *fault = vars_fault(module->vars, module->var_count);
  for (int i = 0; i < module->func_count && !fault; i++) fault = func_fault(&module->funcs[i]);
  return fault;
}

#endif
