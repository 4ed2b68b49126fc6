/* Names of PTX: nested scopes, register ranges, labels used before they stand, module-wide names.
 */
#include "ptx_parse.h"

#include <stdio.h>
#include <string.h>

void ptx_scope_open(ptx_parser *p) {
  if (p->depth == PTX_SCOPE_MAX)
    ptx_lex_fail(&p->lex, ptx_lex_pos(&p->lex), "more than %d nested scopes", PTX_SCOPE_MAX);
  p->scopes[p->depth++] =
      (ptx_scope){.first_pending = p->pending.count, .open = ptx_lex_pos(&p->lex)};
}

/* --- declaring ---------------------------------------------------------------------------------
 */

ptx_sym *ptx_suffixed(ptx_parser *p, const ptx_sym *sym, int number) {
  char suffix[16];
  size_t more = (size_t)snprintf(suffix, sizeof suffix, "@%d", number);
  char *name = ptx_arena_alloc(&p->scratch, sym->length + more);
  if (!name) ptx_lex_limit(&p->lex, "not enough memory for a name");
  memcpy(name, sym->name, sym->length);
  memcpy(name + sym->length, suffix, more);
  return ptx_lex_intern(&p->lex, name, sym->length + more);
}

/* The first declaration keeps its name, unless the module has one of that name that it hides. */
static const char *unique_name(ptx_parser *p, ptx_sym *sym) {
  if (sym->declared_in != p->serial) {
    sym->declared_in = p->serial;
    sym->declarations = 0;
  }
  int number = sym->declarations++;
  if (!number && !sym->global) return sym->name;
  return ptx_suffixed(p, sym, number)->name;
}

static ptx_binding *new_binding(ptx_parser *p, ptx_binding_kind kind, ptx_sym *sym, int depth) {
  ptx_binding *binding = ptx_arena_alloc(&p->scratch, sizeof *binding);
  if (!binding) ptx_lex_limit(&p->lex, "not enough memory for a name");
  ptx_scope *scope = &p->scopes[depth - 1];
  *binding = (ptx_binding){.kind = kind, .depth = depth, .sym = sym, .next = scope->names};
  scope->names = binding;
  ptx_binding **stack = kind == PTX_BIND_RANGE ? &sym->range : &sym->top;
  binding->outer = *stack;
  *stack = binding;
  return binding;
}

ptx_binding *ptx_bind(ptx_parser *p, ptx_binding_kind kind, ptx_sym *sym, ptx_pos pos, int index) {
  if (sym->top && sym->top->depth == p->depth && strcmp(sym->name, "_") != 0)
    ptx_lex_fail(&p->lex, pos, "`%s` is declared twice in one scope", sym->name);
  ptx_binding *binding = new_binding(p, kind, sym, p->depth);
  binding->index = index;
  if (kind != PTX_BIND_REG) binding->name = unique_name(p, sym);
  return binding;
}

static int new_register(ptx_parser *p, ptx_sym *sym, ptx_type type) {
  if (p->regs.count >= PTX_REG_MAX)
    ptx_lex_limit(&p->lex, "a function has more than 1048576 registers");
  *PTX_PUSH(p, &p->regs, ptx_reg) = (ptx_reg){.name = sym->name, .type = type};
  return p->regs.count - 1;
}

void ptx_bind_register(ptx_parser *p, ptx_sym *sym, ptx_pos pos, ptx_type type) {
  ptx_bind(p, PTX_BIND_REG, sym, pos, new_register(p, sym, type));
}

void ptx_bind_range(ptx_parser *p, ptx_sym *prefix, ptx_pos pos, ptx_type type, uint64_t count) {
  char last = prefix->name[prefix->length - 1];
  if (last >= '0' && last <= '9')
    ptx_lex_fail(&p->lex, pos, "the name of a register range must not end in a digit");
  if (prefix->range && prefix->range->depth == p->depth)
    ptx_lex_fail(&p->lex, pos, "`%s<...>` is declared twice in one scope", prefix->name);
  ptx_binding *range = new_binding(p, PTX_BIND_RANGE, prefix, p->depth);
  range->type = type;
  range->index = count > INT32_MAX ? INT32_MAX : (int)count;
}

void ptx_declare_global(ptx_sym *sym, ptx_global kind, int index) {
  sym->global = (uint8_t)kind;
  sym->global_index = index;
}

/* --- looking up --------------------------------------------------------------------------------
 */

/* "%r12" -> prefix "%r" and 12, computed once a name; "%r012" and "%r" have none. */
static void split_name(ptx_parser *p, ptx_sym *sym) {
  uint32_t digits = 0;
  while (digits < sym->length && sym->name[sym->length - 1 - digits] >= '0' &&
         sym->name[sym->length - 1 - digits] <= '9')
    digits++;
  const char *number = sym->name + sym->length - digits;
  sym->split = true;
  if (!digits || digits > 9 || digits == sym->length || (digits > 1 && *number == '0')) return;
  for (uint32_t i = 0; i < digits; i++)
    sym->prefix_index = sym->prefix_index * 10 + (uint32_t)(number[i] - '0');
  sym->prefix = ptx_lex_intern(&p->lex, sym->name, sym->length - digits);
}

/* The innermost binding of a name; a register of a range is made at its first use. */
static ptx_binding *find(ptx_parser *p, ptx_sym *sym) {
  if (!sym->split) split_name(p, sym);
  ptx_binding *top = sym->top, *range = sym->prefix ? sym->prefix->range : NULL;
  while (range && sym->prefix_index >= (uint32_t)range->index) range = range->outer;
  if (!range || (top && top->depth >= range->depth)) return top;
  ptx_binding *made = new_binding(p, PTX_BIND_REG, sym, range->depth);
  made->index = new_register(p, sym, range->type);
  return made;
}

static void use_binding(const ptx_binding *binding, ptx_operand *out) {
  static const ptx_operand_kind kinds[] = {
      [PTX_BIND_REG] = PTX_OP_REG,
      [PTX_BIND_VAR] = PTX_OP_SYMBOL,
      [PTX_BIND_LABEL] = PTX_OP_LABEL,
      [PTX_BIND_TARGETS] = PTX_OP_LABEL,
  };
  out->kind = kinds[binding->kind];
  out->name = binding->kind == PTX_BIND_REG ? binding->sym->name : binding->name;
  if (binding->kind == PTX_BIND_REG)
    out->reg = binding->index;
  else if (binding->kind != PTX_BIND_VAR)
    out->bits = (uint64_t)binding->index;
}

static bool is_special(const char *name) {
  static const char *const names[] = {
      "%tid",
      "%ntid",
      "%laneid",
      "%warpid",
      "%nwarpid",
      "%ctaid",
      "%nctaid",
      "%smid",
      "%nsmid",
      "%gridid",
      "%is_explicit_cluster",
      "%clusterid",
      "%nclusterid",
      "%cluster_ctaid",
      "%cluster_nctaid",
      "%cluster_ctarank",
      "%cluster_nctarank",
      "%lanemask_eq",
      "%lanemask_le",
      "%lanemask_lt",
      "%lanemask_ge",
      "%lanemask_gt",
      "%clock",
      "%clock_hi",
      "%clock64",
      "%globaltimer",
      "%globaltimer_lo",
      "%globaltimer_hi",
      "%reserved_smem_offset_begin",
      "%reserved_smem_offset_end",
      "%reserved_smem_offset_cap",
      "%reserved_smem_offset_0",
      "%reserved_smem_offset_1",
      "%total_smem_size",
      "%aggr_smem_size",
      "%dynamic_smem_size",
      "%current_graph_exec",
      "WARP_SZ",
  };
  size_t length = strcspn(name, ".");
  if (name[length] && (!strchr("xyzw", name[length + 1]) || !name[length + 1] || name[length + 2]))
    return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return true;
  if (strncmp(name, "%envreg", 7) == 0) return true;
  return strncmp(name, "%pm", 3) == 0 && name[3] >= '0' && name[3] <= '7';
}

bool ptx_resolve(ptx_parser *p, ptx_sym *sym, ptx_operand *out) {
  ptx_binding *binding = find(p, sym);
  if (binding) {
    use_binding(binding, out);
    return true;
  }
  if (!sym->global && !is_special(sym->name)) return false;
  out->kind = sym->global ? PTX_OP_SYMBOL : PTX_OP_SPECIAL;
  out->name = sym->name;
  return true;
}

/* --- names used before they are declared -------------------------------------------------------
 */

void ptx_wait(ptx_parser *p, ptx_pending pending) {
  *PTX_PUSH(p, p->depth ? &p->pending : &p->late, ptx_pending) = pending;
}

/* At the end of a scope: is it one of its labels? */
static bool settle(ptx_parser *p, const ptx_pending *pending) {
  const ptx_binding *binding = pending->sym->top;
  if (!binding || binding->depth != p->depth) return false;
  if (binding->kind != PTX_BIND_LABEL && binding->kind != PTX_BIND_TARGETS) return false;
  if (pending->operand && pending->operand->bits)
    ptx_lex_fail(&p->lex, pending->pos, "the label `%s` cannot have an offset", pending->sym->name);
  if (pending->operand) use_binding(binding, pending->operand);
  if (pending->slot) *pending->slot = binding->name;
  return true;
}

static _Noreturn void undeclared(ptx_parser *p, const ptx_pending *pending) {
  const char *name = pending->sym->name;
  if (pending->is_label) ptx_lex_fail(&p->lex, pending->pos, "the label `%s` is missing", name);
  if (*name == '%')
    ptx_lex_fail(&p->lex, pending->pos,
                 "`%s` is neither a declared register nor a special register", name);
  ptx_lex_fail(&p->lex, pending->pos, "`%s` is not declared", name);
}

/* At the end of a function: what remains must be a name of the module, which may still come. */
static void pass_on(ptx_parser *p, const ptx_pending *pending) {
  bool hidden = pending->sym->declared_in == p->serial; /* declared in a scope that ended */
  if (pending->is_label || hidden || *pending->sym->name == '%') undeclared(p, pending);
  *PTX_PUSH(p, &p->late, ptx_pending) = *pending;
}

void ptx_scope_close(ptx_parser *p) {
  ptx_scope *scope = &p->scopes[p->depth - 1];
  int kept = scope->first_pending;
  for (int i = scope->first_pending; i < p->pending.count; i++) {
    ptx_pending pending = *PTX_AT(&p->pending, ptx_pending, i);
    if (settle(p, &pending)) continue;
    if (p->depth == 1)
      pass_on(p, &pending);
    else
      *PTX_AT(&p->pending, ptx_pending, kept++) = pending;
  }
  p->pending.count = kept;
  for (ptx_binding *binding = scope->names; binding; binding = binding->next) {
    ptx_sym *sym = binding->sym;
    *(binding->kind == PTX_BIND_RANGE ? &sym->range : &sym->top) = binding->outer;
  }
  p->depth--;
}

void ptx_resolve_late(ptx_parser *p) {
  for (int i = 0; i < p->late.count; i++) {
    const ptx_pending *pending = PTX_AT(&p->late, ptx_pending, i);
    if (!pending->sym->global) undeclared(p, pending);
    if (pending->operand) {
      pending->operand->kind = PTX_OP_SYMBOL;
      pending->operand->name = pending->sym->name;
    }
  }
}
