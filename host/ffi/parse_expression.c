/* Constant expressions in C declarations: sizes of arrays, values of enums, widths.
 * 64-bit arithmetic that wraps; what C leaves undefined is an error. */
#include "parse.h"

static constant unary(parser *p);
static constant conditional(parser *p);

static constant of(int64_t value, bool is_unsigned) {
  return (constant){.value = value, .is_unsigned = is_unsigned};
}

/* sizeof and alignof: of a type in parentheses, or of an expression, which is an int. */
static constant measure(parser *p, bool size) {
  lex_next(&p->lex);
  if (p->lex.now.kind != '(') return unary(p), of(4, true);
  lex_next(&p->lex);
  if (!parse_starts_type(p)) {
    conditional(p);
    parse_expect(p, ')');
    return of(4, true);
  }
  const ctype *type = parse_type_name(p);
  if (type->base->size == CT_NOSIZE)
    lex_fail(&p->lex, PG_SYNTAX, "the size of this type is not known");
  parse_expect(p, ')');
  return of(size ? (int64_t)type->base->size : ct_align(type), true);
}

static constant cast_to(const ctype *type, constant c) {
  if (type->kind == CT_BOOL) return of(c.value != 0, false);
  if (type->kind != CT_INT && type->kind != CT_ENUM) return c;
  unsigned drop = 64 - 8 * (unsigned)type->size;
  uint64_t high = (uint64_t)c.value << drop;
  return type->is_unsigned ? of((int64_t)(high >> drop), type->size == 8)
                           : of((int64_t)high >> drop, false);
}

static constant parenthesis(parser *p) {
  lex_next(&p->lex);
  if (parse_starts_type(p)) {
    ctype *type = parse_type_name(p)->base;
    parse_expect(p, ')');
    return cast_to(type, unary(p));
  }
  constant c = conditional(p);
  parse_expect(p, ')');
  return c;
}

static constant primary(parser *p) {
  token t = p->lex.now;
  if (t.kind == '(') return parenthesis(p);
  if (t.kind == '$') {
    const ct_argument *arg = parse_argument(p);
    if (arg->kind != CT_ARG_NUMBER) lex_fail(&p->lex, PG_INVALID, "the argument is no integer");
    return of(arg->number, false);
  }
  if (lex_is(&p->lex, "sizeof")) return measure(p, true);
  if (lex_is(&p->lex, "_Alignof") || lex_is(&p->lex, "alignof") || lex_is(&p->lex, "__alignof__"))
    return measure(p, false);
  if (t.kind == TOKEN_NUMBER) {
    lex_next(&p->lex);
    return of(t.value, t.is_unsigned);
  }
  const ct_symbol *symbol =
      t.kind == TOKEN_NAME ? ct_find(p->table, t.text, t.length, false) : NULL;
  if (!symbol || symbol->kind != CT_CONSTANT) lex_expected(&p->lex, "a constant");
  lex_next(&p->lex);
  return of(symbol->value, false);
}

static constant unary(parser *p) {
  int kind = p->lex.now.kind;
  if (kind != '-' && kind != '+' && kind != '~' && kind != '!') return primary(p);
  parse_enter(p);
  lex_next(&p->lex);
  constant c = unary(p);
  p->depth--;
  if (kind == '-') c.value = (int64_t)(0 - (uint64_t)c.value);
  if (kind == '~') c.value = ~c.value;
  if (kind == '!') c = of(!c.value, false);
  return c;
}

static const struct {
  int kind, level;
} BINARY[] = {{TOKEN_OR, 1},  {TOKEN_AND, 2}, {'|', 3}, {'^', 4},      {'&', 5},      {TOKEN_EQ, 6},
              {TOKEN_NE, 6},  {'<', 7},       {'>', 7}, {TOKEN_LE, 7}, {TOKEN_GE, 7}, {'+', 9},
              {TOKEN_SHL, 8}, {TOKEN_SHR, 8}, {'-', 9}, {'*', 10},     {'/', 10},     {'%', 10}};

static int level_of(int kind) {
  for (size_t i = 0; i < sizeof BINARY / sizeof *BINARY; i++)
    if (BINARY[i].kind == kind) return BINARY[i].level;
  return 0;
}

static int64_t divide(parser *p, int kind, constant a, constant b, bool is_unsigned) {
  if (!b.value) lex_fail(&p->lex, PG_RANGE, "division by zero");
  if (is_unsigned) {
    uint64_t x = (uint64_t)a.value, y = (uint64_t)b.value;
    return (int64_t)(kind == '/' ? x / y : x % y);
  }
  if (b.value == -1) return kind == '/' ? (int64_t)(0 - (uint64_t)a.value) : 0;
  return kind == '/' ? a.value / b.value : a.value % b.value;
}

static int64_t shift(parser *p, int kind, constant a, constant b) {
  if (b.value < 0 || b.value > 63)
    lex_fail(&p->lex, PG_RANGE, "a shift by %lld bits", (long long)b.value);
  if (kind == TOKEN_SHL) return (int64_t)((uint64_t)a.value << b.value);
  return a.is_unsigned ? (int64_t)((uint64_t)a.value >> b.value) : a.value >> b.value;
}

static bool less(constant a, constant b, bool is_unsigned) {
  return is_unsigned ? (uint64_t)a.value < (uint64_t)b.value : a.value < b.value;
}

static constant apply(parser *p, int kind, constant a, constant b) {
  bool u = a.is_unsigned || b.is_unsigned;
  uint64_t x = (uint64_t)a.value, y = (uint64_t)b.value;
  switch (kind) {
  case TOKEN_OR: return of(x || y, false);
  case TOKEN_AND: return of(x && y, false);
  case '|': return of((int64_t)(x | y), u);
  case '^': return of((int64_t)(x ^ y), u);
  case '&': return of((int64_t)(x & y), u);
  case TOKEN_EQ: return of(x == y, false);
  case TOKEN_NE: return of(x != y, false);
  case '<': return of(less(a, b, u), false);
  case '>': return of(less(b, a, u), false);
  case TOKEN_LE: return of(!less(b, a, u), false);
  case TOKEN_GE: return of(!less(a, b, u), false);
  case '+': return of((int64_t)(x + y), u);
  case '-': return of((int64_t)(x - y), u);
  case '*': return of((int64_t)(x * y), u);
  case TOKEN_SHL:
  case TOKEN_SHR: return of(shift(p, kind, a, b), a.is_unsigned);
  default: return of(divide(p, kind, a, b, u), u);
  }
}

static constant binary(parser *p, int above) {
  constant a = unary(p);
  for (int kind, level; (level = level_of(kind = p->lex.now.kind)) > above;) {
    lex_next(&p->lex);
    a = apply(p, kind, a, binary(p, level));
  }
  return a;
}

static constant conditional(parser *p) {
  parse_enter(p);
  constant c = binary(p, 0);
  if (parse_accept(p, '?')) {
    constant yes = conditional(p);
    parse_expect(p, ':');
    constant no = conditional(p);
    c = c.value ? yes : no;
  }
  p->depth--;
  return c;
}

constant parse_constant(parser *p) {
  return conditional(p);
}
