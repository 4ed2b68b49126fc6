/* One PTX instruction: guard, opcode and modifiers, operands. */
#include "ptx_parse.h"

#include <string.h>

/* --- opcode and modifiers ----------------------------------------------------------------------
 */

/* "ld.global.nc.f32" -> opcode and modifiers; done once for each spelling in a module. */
static const ptx_mnemonic *split_mnemonic(ptx_parser *p, ptx_sym *sym, ptx_pos pos) {
  ptx_mnemonic *out = ptx_lex_alloc(&p->lex, sizeof *out);
  size_t dots = 0;
  for (const char *c = sym->name; *c; c++) dots += *c == '.';
  if (dots > PTX_MODIFIER_MAX)
    ptx_lex_fail(&p->lex, pos, "an instruction has more than %d modifiers", PTX_MODIFIER_MAX);
  out->mods = ptx_lex_alloc(&p->lex, dots * sizeof *out->mods);
  const char *s = sym->name;
  size_t length = strcspn(s, ".");
  out->opcode = ptx_lex_intern(&p->lex, s, length)->name;
  while (s[length] == '.') {
    s += length + 1;
    length = strcspn(s, ".");
    out->mods[out->mod_count++] = ptx_lex_intern(&p->lex, s, length)->name;
  }
  out->is_branch = strcmp(out->opcode, "bra") == 0 || strcmp(out->opcode, "brx") == 0;
  out->is_call = strcmp(out->opcode, "call") == 0;
  out->is_video = *out->opcode == 'v' && strcmp(out->opcode, "vote") != 0;
  return sym->mnemonic = out;
}

/* Modifiers that stand apart ("ld .global .u32") are joined to the word before them. */
static ptx_sym *join_modifiers(ptx_parser *p, ptx_sym *sym) {
  ptx_lex *lex = &p->lex;
  char name[512];
  size_t length = 0;
  do {
    ptx_sym *part = length ? lex->tok.sym : sym;
    if (length + part->length >= sizeof name)
      ptx_lex_fail(lex, ptx_lex_pos(lex), "an instruction has too many modifiers");
    memcpy(name + length, part->name, part->length);
    length += part->length;
    if (part != sym) ptx_lex_next(lex);
  } while (ptx_lex_is(lex, PTX_TOK_DIRECTIVE));
  return ptx_lex_intern(lex, name, length);
}

static const ptx_mnemonic *parse_mnemonic(ptx_parser *p, ptx_sym *sym, ptx_pos pos) {
  if (ptx_lex_is(&p->lex, PTX_TOK_DIRECTIVE)) sym = join_modifiers(p, sym);
  if (sym->mnemonic) return sym->mnemonic;
  if (*sym->name == '%' || *sym->name == '$' || *sym->name == '_')
    ptx_lex_fail(&p->lex, pos, "expected an instruction, got `%.60s`", sym->name);
  return split_mnemonic(p, sym, pos);
}

/* --- operands ----------------------------------------------------------------------------------
 */

/* Operands are collected on a stack and moved to the arena when their list ends; only then do they
 * have an address at which a name still unknown can be filled in. Such an operand waits as a label
 * with its symbol in `items`, its place in `name` and `reg`, and a negative count. */
static ptx_operand unknown_operand(ptx_sym *sym, ptx_pos pos, bool is_label) {
  return (ptx_operand){.kind = PTX_OP_LABEL,
                       .items = (ptx_operand *)(void *)sym,
                       .count = is_label ? -2 : -1,
                       .name = pos.at,
                       .reg = pos.line};
}

static void settle_unknown(ptx_parser *p, ptx_operand *operand) {
  ptx_pending pending = {.sym = (ptx_sym *)(void *)operand->items,
                         .operand = operand,
                         .is_label = operand->count == -2,
                         .pos = {operand->name, operand->reg}};
  uint64_t bits = operand->bits; /* the offset of `f+4` */
  *operand = (ptx_operand){.kind = PTX_OP_LABEL, .bits = bits};
  ptx_wait(p, pending);
}

static ptx_operand *push(ptx_parser *p) {
  return PTX_PUSH(p, &p->operands, ptx_operand);
}

static ptx_operand *take_operands(ptx_parser *p, int first, int *count) {
  *count = p->operands.count - first;
  ptx_operand *out = ptx_take(p, &p->operands, first, sizeof *out);
  for (int i = 0; i < *count; i++)
    if (out[i].count < 0) settle_unknown(p, &out[i]);
  return out;
}

static ptx_operand word_operand(ptx_parser *p, bool is_label) {
  ptx_operand out = {0};
  ptx_lex *lex = &p->lex;
  ptx_sym *sym = lex->tok.sym;
  ptx_pos pos = ptx_lex_pos(lex);
  ptx_lex_next(lex);
  if (sym->length == 1 && *sym->name == '_' && !sym->top) {
    out.kind = PTX_OP_SINK;
    return out;
  }
  /* a branch goes to the label that its scope may still declare, whatever else has that name */
  bool known = ptx_resolve(p, sym, &out) && (!is_label || out.kind == PTX_OP_REG);
  if (!known) out = unknown_operand(sym, pos, is_label);
  if (out.kind == PTX_OP_SYMBOL || (out.count < 0 && !is_label)) out.bits = (uint64_t)ptx_offset(p);
  return out;
}

/* A name, a constant or a negated predicate. */
static ptx_operand simple_operand(ptx_parser *p, bool is_label) {
  ptx_lex *lex = &p->lex;
  if (ptx_lex_is(lex, PTX_TOK_WORD)) return word_operand(p, is_label);
  if (ptx_lex_is(lex, '!') && ptx_lex_peek_name(lex)) {
    ptx_lex_next(lex);
    ptx_pos pos = ptx_lex_pos(lex);
    ptx_operand out = word_operand(p, false);
    if (out.kind != PTX_OP_REG || PTX_AT(&p->regs, ptx_reg, out.reg)->type != PTX_PRED)
      ptx_lex_fail(lex, pos, "`!` needs a predicate register");
    out.negated = true;
    return out;
  }
  switch (lex->tok.kind) {
  case PTX_TOK_INT:
  case PTX_TOK_F32:
  case PTX_TOK_F64:
  case '-':
  case '+':
  case '~':
  case '!':
  case '(': break;
  default: ptx_lex_expected(lex, "an operand");
  }
  ptx_const value = ptx_constant(p);
  return (ptx_operand){.kind = value.kind, .bits = value.bits};
}

/* "a, b" up to `close`, of simple operands. */
static void simple_list(ptx_parser *p, ptx_operand *out, int close, const char *expected) {
  ptx_lex *lex = &p->lex;
  int first = p->operands.count;
  while (!ptx_lex_is(lex, close)) {
    ptx_operand item = simple_operand(p, false);
    *push(p) = item;
    if (!ptx_lex_accept(lex, ',')) break;
  }
  ptx_lex_expect(lex, close, expected);
  out->items = take_operands(p, first, &out->count);
}

static ptx_operand vector_operand(ptx_parser *p) {
  ptx_operand out = {.kind = PTX_OP_VECTOR};
  ptx_lex_next(&p->lex);
  simple_list(p, &out, '}', "`,` or `}`");
  return out;
}

/* "[base+offset]" and "[map, {x, y}]" */
static ptx_operand address_operand(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_operand out = {.kind = PTX_OP_ADDRESS};
  int first = p->operands.count;
  ptx_lex_next(lex);
  ptx_pos pos = ptx_lex_pos(lex);
  ptx_operand base = simple_operand(p, false);
  out.bits = base.kind == PTX_OP_REG ? (uint64_t)ptx_offset(p) : 0;
  if (base.kind == PTX_OP_SYMBOL || base.count < 0) {
    out.bits = base.bits;
    base.bits = 0;
  } else if (base.kind != PTX_OP_REG && base.kind != PTX_OP_INT) {
    ptx_lex_fail(lex, pos, "an address starts with a register, a variable or an integer");
  }
  *push(p) = base;
  while (ptx_lex_accept(lex, ',')) {
    ptx_operand item = ptx_lex_is(lex, '{') ? vector_operand(p) : simple_operand(p, false);
    *push(p) = item;
  }
  ptx_lex_expect(lex, ']', "`]`");
  out.items = take_operands(p, first, &out.count);
  return out;
}

static ptx_operand tuple_operand(ptx_parser *p) {
  ptx_operand out = {.kind = PTX_OP_TUPLE};
  ptx_lex_next(&p->lex);
  simple_list(p, &out, ')', "`,` or `)`");
  return out;
}

/* "d|p" */
static ptx_operand pair_operand(ptx_parser *p, ptx_operand left) {
  ptx_operand out = {.kind = PTX_OP_PAIR};
  int first = p->operands.count;
  ptx_lex_next(&p->lex);
  ptx_operand right = simple_operand(p, false);
  *push(p) = left;
  *push(p) = right;
  out.items = take_operands(p, first, &out.count);
  return out;
}

/* "-%r1" and "%r1.b0", which the lexer reads as one word. */
static ptx_operand video_operand(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  bool minus = ptx_lex_is(lex, '-') && ptx_lex_peek_name(lex);
  if (minus) ptx_lex_next(lex);
  ptx_operand out = {0};
  const char *dot = ptx_lex_is(lex, PTX_TOK_WORD) ? strchr(lex->tok.sym->name, '.') : NULL;
  ptx_sym *whole = dot ? lex->tok.sym : NULL;
  ptx_sym *reg = dot ? ptx_lex_intern(lex, whole->name, (size_t)(dot - whole->name)) : NULL;
  if (reg && ptx_resolve(p, reg, &out) && out.kind == PTX_OP_REG) {
    out.part = dot + 1;
    ptx_lex_next(lex);
  } else {
    out = simple_operand(p, false);
  }
  out.negated = minus;
  return out;
}

static ptx_operand parse_operand(ptx_parser *p, const ptx_mnemonic *mnemonic) {
  ptx_lex *lex = &p->lex;
  if (ptx_lex_is(lex, '[')) return address_operand(p);
  if (ptx_lex_is(lex, '{')) return vector_operand(p);
  if (ptx_lex_is(lex, '(') && mnemonic->is_call) return tuple_operand(p);
  if (mnemonic->is_video) return video_operand(p);
  ptx_operand out = simple_operand(p, mnemonic->is_branch);
  return ptx_lex_is(lex, '|') ? pair_operand(p, out) : out;
}

static void parse_operands(ptx_parser *p, const ptx_mnemonic *mnemonic, ptx_instr *instr) {
  ptx_lex *lex = &p->lex;
  int first = p->operands.count;
  if (!ptx_lex_is(lex, ';')) {
    do {
      ptx_operand operand = parse_operand(p, mnemonic);
      *push(p) = operand;
    } while (ptx_lex_accept(lex, ','));
  }
  instr->operands = take_operands(p, first, &instr->operand_count);
}

/* --- statements --------------------------------------------------------------------------------
 */

/* The text from `from` to `to` with comments dropped and white space folded to single spaces. */
static const char *fold_text(ptx_parser *p, const char *from, const char *to) {
  char *out = ptx_lex_alloc(&p->lex, (size_t)(to - from) + 1);
  size_t n = 0;
  while (from < to) {
    if (from[0] == '/' && from[1] == '/') {
      while (from < to && *from != '\n') from++;
    } else if (from[0] == '/' && from[1] == '*') {
      for (from += 2; from[0] != '*' || from[1] != '/'; from++) {
      }
      from += 2;
    } else if (*from > ' ') {
      out[n++] = *from++;
      continue;
    } else {
      from++;
    }
    if (n && out[n - 1] != ' ') out[n++] = ' ';
  }
  if (n && out[n - 1] == ' ') n--;
  out[n] = 0;
  return out;
}

static ptx_instr *push_instr(ptx_parser *p, int line) {
  if (p->instr_total++ >= PTX_INSTR_MAX)
    ptx_lex_limit(&p->lex, "the module has more than 4194304 instructions");
  ptx_instr *instr = PTX_PUSH(p, &p->body, ptx_instr);
  instr->guard = -1;
  instr->line = line;
  instr->place = p->place;
  return instr;
}

/* Behind the guard and the word `sym`. */
static void rest_of_instruction(ptx_parser *p, ptx_sym *sym, ptx_pos pos, ptx_instr start) {
  ptx_lex *lex = &p->lex;
  const char *text = start.text; /* of the guard, when there is one */
  const ptx_mnemonic *mnemonic = parse_mnemonic(p, sym, pos);
  start.opcode = mnemonic->opcode;
  start.mods = mnemonic->mods;
  start.mod_count = mnemonic->mod_count;
  parse_operands(p, mnemonic, &start);
  if (!ptx_lex_is(lex, ';')) ptx_lex_expected(lex, "`,` or `;`");
  start.text = fold_text(p, text ? text : pos.at, lex->tok.start);
  ptx_instr *instr = push_instr(p, start.line);
  start.place = instr->place;
  *instr = start;
  ptx_lex_next(lex);
}

static void add_label(ptx_parser *p, ptx_sym *sym, ptx_pos pos) {
  ptx_binding *binding = ptx_bind(p, PTX_BIND_LABEL, sym, pos, p->body.count);
  ptx_instr *instr = push_instr(p, pos.line);
  instr->text = binding->name;
  instr->operand_count = 1;
  instr->operands = ptx_lex_alloc(&p->lex, sizeof *instr->operands);
  *instr->operands =
      (ptx_operand){.kind = PTX_OP_LABEL, .name = binding->name, .bits = (uint64_t)binding->index};
}

void ptx_label_or_instruction(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_sym *sym = lex->tok.sym;
  ptx_pos pos = ptx_lex_pos(lex);
  ptx_lex_next(lex);
  if (!ptx_lex_accept(lex, ':')) {
    rest_of_instruction(p, sym, pos, (ptx_instr){.guard = -1, .line = pos.line});
  } else if (ptx_lex_word(lex, PTX_WORD_BRANCHTARGETS) || ptx_lex_word(lex, PTX_WORD_CALLTARGETS) ||
             ptx_lex_word(lex, PTX_WORD_CALLPROTOTYPE)) {
    ptx_targets_directive(p, sym, pos);
  } else {
    add_label(p, sym, pos);
  }
}

void ptx_instruction(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  ptx_pos at = ptx_lex_pos(lex);
  ptx_lex_next(lex);
  bool negated = ptx_lex_accept(lex, '!');
  if (!ptx_lex_is(lex, PTX_TOK_WORD)) ptx_lex_expected(lex, "a predicate");
  ptx_pos pos = ptx_lex_pos(lex);
  ptx_operand guard = {0};
  if (!ptx_resolve(p, lex->tok.sym, &guard) || guard.kind != PTX_OP_REG ||
      PTX_AT(&p->regs, ptx_reg, guard.reg)->type != PTX_PRED)
    ptx_lex_fail(lex, pos, "the guard `%.60s` is not a predicate register", lex->tok.sym->name);
  ptx_lex_next(lex);
  if (!ptx_lex_is(lex, PTX_TOK_WORD)) ptx_lex_expected(lex, "an instruction");
  ptx_sym *sym = lex->tok.sym;
  pos = ptx_lex_pos(lex);
  ptx_lex_next(lex);
  rest_of_instruction(
      p, sym, pos,
      (ptx_instr){.guard = guard.reg, .guard_negated = negated, .line = pos.line, .text = at.at});
}
