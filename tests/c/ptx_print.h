/* Writes a module back as PTX, flat: registers numbered, scopes gone, no places, no pragmas.
 * What ptxas makes of it and of the original must be the same machine code. */
#ifndef PTX_PRINT_H
#define PTX_PRINT_H

#include "sim/ptx.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "x@1" is no name in PTX. */
static inline void print_name(FILE *out, const char *name) {
  for (; *name; name++) {
    if (*name == '@')
      fputs("$at", out);
    else
      fputc(*name, out);
  }
}

static inline void print_offset(FILE *out, uint64_t bits) {
  if (bits) fprintf(out, "+%" PRId64, (int64_t)bits);
}

static inline void print_operand(FILE *out, const ptx_operand *op);

static inline void print_items(FILE *out, const ptx_operand *op, int first, const char *between) {
  for (int i = first; i < op->count; i++) {
    if (i > first) fputs(between, out);
    print_operand(out, &op->items[i]);
  }
}

static inline void print_address(FILE *out, const ptx_operand *op) {
  fputc('[', out);
  print_operand(out, &op->items[0]);
  print_offset(out, op->bits);
  if (op->count > 1) fputs(", ", out);
  print_items(out, op, 1, ", ");
  fputc(']', out);
}

static inline void print_operand(FILE *out, const ptx_operand *op) {
  if (op->negated) fputc('!', out);
  switch (op->kind) {
  case PTX_OP_REG: fprintf(out, "%%R%d", op->reg); break;
  case PTX_OP_INT: fprintf(out, "%" PRId64, (int64_t)op->bits); break;
  case PTX_OP_F32: fprintf(out, "0f%08" PRIx64, op->bits); break;
  case PTX_OP_F64: fprintf(out, "0d%016" PRIx64, op->bits); break;
  case PTX_OP_SPECIAL:
  case PTX_OP_LABEL: print_name(out, op->name); break;
  case PTX_OP_SYMBOL:
    print_name(out, op->name);
    print_offset(out, op->bits);
    break;
  case PTX_OP_ADDRESS: print_address(out, op); break;
  case PTX_OP_VECTOR:
  case PTX_OP_TUPLE:
    fputc(op->kind == PTX_OP_VECTOR ? '{' : '(', out);
    print_items(out, op, 0, ", ");
    fputc(op->kind == PTX_OP_VECTOR ? '}' : ')', out);
    break;
  case PTX_OP_PAIR: print_items(out, op, 0, "|"); break;
  case PTX_OP_SINK: fputc('_', out); break;
  }
}

static inline void print_reloc(FILE *out, const struct ptx_reloc *reloc) {
  if (reloc->generic) fputs("generic(", out);
  print_name(out, reloc->symbol);
  if (reloc->generic) fputc(')', out);
  print_offset(out, (uint64_t)reloc->addend);
}

/* The bytes of an address, masked; returns how many elements that were. */
static inline int print_masks(FILE *out, const struct ptx_reloc *reloc) {
  for (int i = 0; i < reloc->bytes; i++) {
    fprintf(out, "%s0x%" PRIx64 "(", i ? ", " : "", (uint64_t)0xFF << (8 * i));
    print_reloc(out, reloc);
    fputc(')', out);
  }
  return reloc->bytes;
}

static inline void print_value(FILE *out, const ptx_var *var, uint64_t at) {
  uint64_t bits = 0;
  memcpy(&bits, var->init + at, ptx_type_bytes(var->type));
  const char *format = var->type == PTX_F32   ? "0f%08" PRIx64
                       : var->type == PTX_F64 ? "0d%016" PRIx64
                                              : "0x%" PRIx64;
  fprintf(out, format, bits);
}

static inline void print_init(FILE *out, const ptx_var *var) {
  uint32_t size = ptx_type_bytes(var->type);
  const struct ptx_reloc *reloc = var->relocs, *end = reloc + var->reloc_count;
  fputs(var->is_array ? " = {" : " = ", out);
  for (uint64_t i = 0; i < var->count;) {
    if (i) fputs(", ", out);
    bool is_address = reloc != end && reloc->at == i * size;
    if (is_address && size == 1) {
      i += (uint64_t)print_masks(out, reloc++);
    } else {
      if (is_address)
        print_reloc(out, reloc++);
      else
        print_value(out, var, i * size);
      i++;
    }
  }
  if (var->is_array) fputc('}', out);
}

static inline void print_var(FILE *out, const ptx_var *var) {
  static const char *const spaces[] = {"",       ".reg",   ".const", ".global",
                                       ".local", ".param", ".shared"};
  fprintf(out, "%s%s", var->is_extern ? ".extern " : "", spaces[var->space]);
  fprintf(out, " .align %u .%s ", var->align, ptx_type_name(var->type));
  print_name(out, var->name);
  if (var->is_array && var->count) fprintf(out, "[%" PRIu64 "]", var->count);
  if (var->is_array && !var->count) fputs("[]", out);
  if (var->init) print_init(out, var);
}

static inline void print_vars(FILE *out, const ptx_var *vars, int count) {
  for (int i = 0; i < count; i++) {
    print_var(out, &vars[i]);
    fputs(";\n", out);
  }
}

static inline void print_formals(FILE *out, const ptx_var *vars, int count) {
  fputc('(', out);
  for (int i = 0; i < count; i++) {
    if (i) fputs(", ", out);
    print_var(out, &vars[i]);
  }
  fputc(')', out);
}

static inline void print_signature(FILE *out, const ptx_func *func) {
  const uint32_t *max = func->maxntid, *required = func->reqntid;
  fputs(func->is_extern ? ".extern " : func->is_entry ? ".visible " : "", out);
  fputs(func->is_entry ? ".entry " : ".func ", out);
  if (func->ret_count) print_formals(out, func->rets, func->ret_count);
  print_name(out, func->name);
  print_formals(out, func->params, func->param_count);
  if (func->noreturn) fputs(" .noreturn", out);
  if (max[0]) fprintf(out, " .maxntid %u, %u, %u", max[0], max[1], max[2]);
  if (required[0]) fprintf(out, " .reqntid %u, %u, %u", required[0], required[1], required[2]);
}

static inline const ptx_var *var_named(const ptx_func *func, const char *name) {
  for (int i = 0; i < func->var_count; i++)
    if (func->vars[i].name == name) return &func->vars[i];
  return NULL;
}

/* Parameters of a prototype: those that the call passes, nameless. */
static inline void print_nameless(FILE *out, const ptx_func *func, const ptx_operand *tuple) {
  fputc('(', out);
  for (int i = 0; i < tuple->count; i++) {
    const ptx_var *passed = var_named(func, tuple->items[i].name);
    if (!passed) continue;
    ptx_var formal = *passed;
    formal.name = "_";
    if (i) fputs(", ", out);
    print_var(out, &formal);
  }
  fputc(')', out);
}

/* "proto: .callprototype (results) _ (parameters);" of a call (results), f, (parameters), proto */
static inline void print_prototype(FILE *out, const ptx_func *func, const ptx_instr *call) {
  if (strcmp(call->opcode, "call") || call->operand_count < 3) return;
  const ptx_operand *first = call->operands, *last = first + call->operand_count - 1;
  if (last->kind != PTX_OP_LABEL || func->targets[last->bits].count) return;
  print_name(out, last->name);
  fputs(": .callprototype ", out);
  if (first->kind == PTX_OP_TUPLE) print_nameless(out, func, first);
  fputs(" _ ", out);
  if (last[-1].kind == PTX_OP_TUPLE) print_nameless(out, func, last - 1);
  fputs(";\n", out);
}

static inline void print_instr(FILE *out, const ptx_func *func, const ptx_instr *instr) {
  if (!instr->opcode) {
    print_name(out, instr->operands[0].name);
    fputs(":\n", out);
    return;
  }
  print_prototype(out, func, instr);
  if (instr->guard >= 0) fprintf(out, "@%s%%R%d ", instr->guard_negated ? "!" : "", instr->guard);
  fputs(instr->opcode, out);
  for (int i = 0; i < instr->mod_count; i++) fprintf(out, ".%s", instr->mods[i]);
  for (int i = 0; i < instr->operand_count; i++) {
    fputs(i ? ", " : " ", out);
    print_operand(out, &instr->operands[i]);
  }
  fputs(";\n", out);
}

static inline void print_targets(FILE *out, const struct ptx_targets *targets) {
  if (!targets->count) return; /* a prototype: printed at its call */
  print_name(out, targets->label);
  for (int i = 0; i < targets->count; i++) {
    fputs(i ? ", " : ": .branchtargets ", out);
    print_name(out, targets->names[i]);
  }
  fputs(";\n", out);
}

static inline void print_func(FILE *out, const ptx_func *func) {
  print_signature(out, func);
  fputs("\n{\n", out);
  for (int i = 0; i < func->reg_count; i++)
    fprintf(out, ".reg .%s %%R%d;\n", ptx_type_name(func->regs[i].type), i);
  print_vars(out, func->vars, func->var_count);
  for (int i = 0; i < func->targets_count; i++) print_targets(out, &func->targets[i]);
  for (int i = 0; i < func->instr_count; i++) print_instr(out, func, &func->body[i]);
  fputs("}\n", out);
}

static inline void print_module(FILE *out, const ptx_module *module) {
  fprintf(out, ".version %d.%d\n.target %s\n.address_size 64\n", module->version_major,
          module->version_minor, module->target);
  for (int i = 0; i < module->func_count; i++) {
    if (module->funcs[i].is_entry) continue;
    print_signature(out, &module->funcs[i]);
    fputs(";\n", out);
  }
  print_vars(out, module->vars, module->var_count);
  for (int i = 0; i < module->func_count; i++)
    if (!module->funcs[i].is_extern) print_func(out, &module->funcs[i]);
}

#endif
