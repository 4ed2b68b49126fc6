/* PTX functions: signature, performance directives, the statements of a body. */
#include "ptx_parse.h"

#include <string.h>

/* --- signature ---------------------------------------------------------------------------------
 */

/* ".maxntid 256, 1, 1": 1 to 3 numbers, the missing ones are 1. */
static void extents(ptx_parser *p, uint32_t out[3]) {
  out[0] = out[1] = out[2] = 1;
  for (int i = 0; i < 3; i++) {
    if (i && !ptx_lex_accept(&p->lex, ',')) return;
    out[i] = (uint32_t)ptx_small(p, "a block size", INT32_MAX);
  }
}

static void ignore_numbers(ptx_parser *p) {
  do ptx_small(p, "a number", UINT32_MAX);
  while (ptx_lex_accept(&p->lex, ','));
}

/* Directives between a signature and its body. */
static void tuning(ptx_parser *p, ptx_func *func) {
  ptx_lex *lex = &p->lex;
  while (ptx_lex_is(lex, PTX_TOK_DIRECTIVE)) {
    ptx_word word = (ptx_word)lex->tok.sym->word;
    switch (word) {
    case PTX_WORD_MAXNTID:
    case PTX_WORD_REQNTID:
      ptx_lex_next(lex);
      extents(p, word == PTX_WORD_MAXNTID ? func->maxntid : func->reqntid);
      break;
    case PTX_WORD_MINNCTAPERSM:
    case PTX_WORD_MAXNCTAPERSM:
    case PTX_WORD_MAXNREG:
    case PTX_WORD_REQNCTAPERCLUSTER:
    case PTX_WORD_MAXCLUSTERRANK:
    case PTX_WORD_ABI_PRESERVE:
    case PTX_WORD_ABI_PRESERVE_CONTROL:
      ptx_lex_next(lex);
      ignore_numbers(p);
      break;
    case PTX_WORD_NORETURN:
      func->noreturn = true;
      ptx_lex_next(lex);
      break;
    case PTX_WORD_EXPLICITCLUSTER:
    case PTX_WORD_BLOCKSARECLUSTERS: ptx_lex_next(lex); break;
    case PTX_WORD_PRAGMA: ptx_pragma(p); break;
    default: ptx_lex_expected(lex, "`{`, `;` or a directive of a function");
    }
  }
}

static ptx_sym *signature(ptx_parser *p, ptx_func *func) {
  ptx_lex *lex = &p->lex;
  if (ptx_lex_word(lex, PTX_WORD_ATTRIBUTE)) {
    ptx_lex_next(lex);
    ptx_skip_parentheses(p);
  }
  if (!func->is_entry && ptx_lex_is(lex, '(')) func->rets = ptx_formals(p, &func->ret_count, true);
  ptx_sym *sym = ptx_name(p, "the name of a function");
  func->name = sym->name;
  if (ptx_lex_is(lex, '(')) func->params = ptx_formals(p, &func->param_count, true);
  tuning(p, func);
  return sym;
}

/* The function's place in the module: a definition takes that of its declaration. */
static ptx_func *place_of(ptx_parser *p, ptx_sym *sym, ptx_pos pos, bool has_body) {
  if (sym->global == PTX_GLOBAL_VAR)
    ptx_lex_fail(&p->lex, pos, "`%s` is already a variable", sym->name);
  if (!sym->global) {
    ptx_declare_global(sym, PTX_GLOBAL_FUNC, p->funcs.count);
    PTX_PUSH(p, &p->funcs, ptx_func)->is_extern = true;
  }
  ptx_func *func = PTX_AT(&p->funcs, ptx_func, sym->global_index);
  if (has_body && !func->is_extern)
    ptx_lex_fail(&p->lex, pos, "the function `%s` is defined twice", sym->name);
  return func;
}

/* --- bodies ------------------------------------------------------------------------------------
 */

void ptx_pragma(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_lex_next(lex);
  do ptx_lex_expect(lex, PTX_TOK_STRING, "a string");
  while (ptx_lex_accept(lex, ','));
  ptx_lex_expect(lex, ';', "`;`");
}

static void local_variables(ptx_parser *p, ptx_space space, bool is_extern) {
  ptx_lex_next(&p->lex);
  ptx_variables(p, space, is_extern);
}

static void body_directive(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  bool is_extern = false;
  while (ptx_lex_word(lex, PTX_WORD_EXTERN) || ptx_lex_word(lex, PTX_WORD_VISIBLE)) {
    is_extern |= ptx_lex_word(lex, PTX_WORD_EXTERN);
    ptx_lex_next(lex);
  }
  if (!ptx_lex_is(lex, PTX_TOK_DIRECTIVE)) ptx_lex_expected(lex, "a state space");
  switch (lex->tok.sym->word) {
  case PTX_WORD_LOC: ptx_loc_directive(p); break;
  case PTX_WORD_PRAGMA: ptx_pragma(p); break;
  case PTX_WORD_REG:
    ptx_lex_next(lex);
    ptx_registers(p);
    break;
  case PTX_WORD_PARAM: local_variables(p, PTX_PARAM, false); break;
  case PTX_WORD_LOCAL: local_variables(p, PTX_LOCAL, false); break;
  case PTX_WORD_SHARED: local_variables(p, PTX_SHARED, is_extern); break;
  case PTX_WORD_GLOBAL: local_variables(p, PTX_GLOBAL, is_extern); break;
  case PTX_WORD_CONST: local_variables(p, PTX_CONST, is_extern); break;
  default: ptx_lex_expected(lex, "an instruction or a directive of a function body");
  }
}

/* Statements up to the "}" that ends the function; the scope of the parameters is open. */
static void parse_body(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_lex_next(lex);
  for (;;) {
    switch (lex->tok.kind) {
    case PTX_TOK_WORD: ptx_label_or_instruction(p); break;
    case '@': ptx_instruction(p); break;
    case PTX_TOK_DIRECTIVE: body_directive(p); break;
    case ';': ptx_lex_next(lex); break;
    case '{':
      ptx_scope_open(p);
      ptx_lex_next(lex);
      break;
    case '}':
      if (p->depth == 1) return;
      ptx_scope_close(p);
      ptx_lex_next(lex);
      break;
    case PTX_TOK_END: ptx_lex_fail(lex, p->scopes[p->depth - 1].open, "a `{` is never closed");
    default: ptx_lex_expected(lex, "an instruction");
    }
  }
}

static void take_body(ptx_parser *p, ptx_func *func) {
  func->reg_count = p->regs.count;
  func->regs = ptx_take(p, &p->regs, 0, sizeof(ptx_reg));
  func->var_count = p->locals.count;
  func->vars = ptx_take(p, &p->locals, 0, sizeof(ptx_var));
  func->instr_count = p->body.count;
  func->body = ptx_take(p, &p->body, 0, sizeof(ptx_instr));
  func->targets_count = p->targets.count;
  func->targets = ptx_take(p, &p->targets, 0, sizeof(struct ptx_targets));
}

void ptx_function(ptx_parser *p, bool is_entry) {
  ptx_lex *lex = &p->lex;
  ptx_func func = {.is_entry = is_entry, .is_extern = true, .line = lex->tok.line};
  p->serial++;
  p->place = NULL;
  ptx_scope_open(p);
  ptx_pos pos = ptx_lex_pos(lex);
  ptx_sym *sym = signature(p, &func);
  bool has_body = ptx_lex_is(lex, '{');
  ptx_func *place = place_of(p, sym, pos, has_body);
  if (has_body) {
    int index = sym->global_index;
    func.is_extern = false;
    p->scopes[0].open = ptx_lex_pos(lex);
    parse_body(p);
    place = PTX_AT(&p->funcs, ptx_func, index);
  } else if (!ptx_lex_is(lex, ';')) {
    ptx_lex_expected(lex, "`{` or `;`");
  }
  ptx_scope_close(p);
  take_body(p, &func);
  if (place->is_extern) *place = func; /* a declaration behind the definition adds nothing */
  ptx_lex_next(lex);
}

/* --- targets of indirect branches and calls ----------------------------------------------------
 */

static void target_names(ptx_parser *p, struct ptx_targets *targets, bool is_label) {
  ptx_lex *lex = &p->lex;
  int first = p->names.count, first_pending = p->pending.count;
  do {
    ptx_pos pos = ptx_lex_pos(lex);
    ptx_sym *sym = ptx_name(p, is_label ? "a label" : "a function");
    *PTX_PUSH(p, &p->names, const char *) = sym->name;
    ptx_wait(p, (ptx_pending){.sym = sym, .pos = pos, .is_label = is_label});
  } while (ptx_lex_accept(lex, ','));
  targets->count = p->names.count - first;
  targets->names = ptx_take(p, &p->names, first, sizeof(const char *));
  for (int i = 0; is_label && i < targets->count; i++)
    PTX_AT(&p->pending, ptx_pending, first_pending + i)->slot = &targets->names[i];
}

static void prototype(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  int count;
  if (ptx_lex_is(lex, '(')) ptx_formals(p, &count, false);
  ptx_name(p, "`_`");
  if (ptx_lex_is(lex, '(')) ptx_formals(p, &count, false);
  tuning(p, &(ptx_func){0});
}

void ptx_targets_directive(ptx_parser *p, ptx_sym *label, ptx_pos pos) {
  ptx_lex *lex = &p->lex;
  ptx_word word = (ptx_word)lex->tok.sym->word;
  int index = p->targets.count;
  struct ptx_targets targets = {0};
  targets.label = ptx_bind(p, PTX_BIND_TARGETS, label, pos, index)->name;
  ptx_lex_next(lex);
  if (word == PTX_WORD_CALLPROTOTYPE)
    prototype(p);
  else
    target_names(p, &targets, word == PTX_WORD_BRANCHTARGETS);
  ptx_lex_expect(lex, ';', "`;`");
  *PTX_PUSH(p, &p->targets, struct ptx_targets) = targets;
}

/* --- aliases -----------------------------------------------------------------------------------
 */

/* `.alias a, b;`: a, declared without a body, gets that of b. */
void ptx_apply_aliases(ptx_parser *p) {
  for (int i = 0; i < p->aliases.count; i++) {
    const ptx_alias *alias = PTX_AT(&p->aliases, ptx_alias, i);
    const ptx_sym *name = alias->name, *target = alias->target;
    if (name->global != PTX_GLOBAL_FUNC || target->global != PTX_GLOBAL_FUNC)
      ptx_lex_fail(&p->lex, alias->pos, ".alias needs two functions");
    ptx_func *to = PTX_AT(&p->funcs, ptx_func, name->global_index);
    const ptx_func *from = PTX_AT(&p->funcs, ptx_func, target->global_index);
    if (!to->is_extern || from->is_extern)
      ptx_lex_fail(&p->lex, alias->pos, ".alias needs a declared function and one with a body");
    *to = *from;
    to->name = name->name;
  }
}
