/* Constant expressions of PTX: 64-bit integers with C's operators and precedence; floats only
 * negated. */
#include "ptx_parse.h"

#include <string.h>

static const struct {
  char text[3];
  int precedence;
} operators[] = {
    /* the longer spelling first */
    {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6}, {"<<", 8}, {">>", 8},
    {"<=", 7}, {">=", 7}, {"|", 3},  {"^", 4},  {"&", 5},  {"<", 7},
    {">", 7},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};
enum { OPERATORS = sizeof operators / sizeof operators[0] };

static ptx_const ternary(ptx_parser *p, int depth);

static ptx_const integer(uint64_t bits, bool is_unsigned) {
  return (ptx_const){.kind = PTX_OP_INT, .bits = bits, .is_unsigned = is_unsigned};
}

static void need_integer(ptx_parser *p, ptx_const value, ptx_pos pos) {
  if (value.kind != PTX_OP_INT)
    ptx_lex_fail(&p->lex, pos, "arithmetic on constants is for integers only");
}

/* Index of the operator at the current token, -1: none. */
static int find_operator(const ptx_lex *lex) {
  if (lex->tok.kind > 127) return -1;
  for (int i = 0; i < OPERATORS; i++) {
    const char *text = operators[i].text;
    if (lex->tok.kind == text[0] && (!text[1] || *lex->next == text[1])) return i;
  }
  return -1;
}

static uint64_t divide(ptx_parser *p, char op, uint64_t a, uint64_t b, bool is_unsigned,
                       ptx_pos pos) {
  if (!b) ptx_lex_fail(&p->lex, pos, "a constant is divided by zero");
  if (is_unsigned) return op == '/' ? a / b : a % b;
  if (b == UINT64_MAX) return op == '/' ? -a : 0; /* -2^63 / -1 wraps */
  int64_t x = (int64_t)a, y = (int64_t)b;
  return (uint64_t)(op == '/' ? x / y : x % y);
}

static uint64_t shift_right(uint64_t a, uint64_t by, bool is_unsigned) {
  uint64_t sign = !is_unsigned && (int64_t)a < 0 ? UINT64_MAX : 0;
  if (by > 63) return sign;
  return a >> by | (by ? sign << (64 - by) : 0);
}

static bool is_less(uint64_t a, uint64_t b, bool is_unsigned) {
  return is_unsigned ? a < b : (int64_t)a < (int64_t)b;
}

static ptx_const apply(ptx_parser *p, const char *op, ptx_const x, ptx_const y, ptx_pos pos) {
  uint64_t a = x.bits, b = y.bits;
  bool u = x.is_unsigned || y.is_unsigned;
  switch (op[0] + (op[1] << 8)) {
  case '*': return integer(a * b, u);
  case '/':
  case '%': return integer(divide(p, op[0], a, b, u, pos), u);
  case '+': return integer(a + b, u);
  case '-': return integer(a - b, u);
  case '<' + ('<' << 8): return integer(b > 63 ? 0 : a << b, x.is_unsigned);
  case '>' + ('>' << 8): return integer(shift_right(a, b, x.is_unsigned), x.is_unsigned);
  case '<': return integer(is_less(a, b, u), false);
  case '>': return integer(is_less(b, a, u), false);
  case '<' + ('=' << 8): return integer(!is_less(b, a, u), false);
  case '>' + ('=' << 8): return integer(!is_less(a, b, u), false);
  case '=' + ('=' << 8): return integer(a == b, false);
  case '!' + ('=' << 8): return integer(a != b, false);
  case '&': return integer(a & b, u);
  case '^': return integer(a ^ b, u);
  case '|': return integer(a | b, u);
  case '&' + ('&' << 8): return integer(a && b, false);
  default: return integer(a || b, false);
  }
}

static ptx_const negate(ptx_const value) {
  if (value.kind == PTX_OP_F32)
    value.bits ^= 0x80000000u;
  else if (value.kind == PTX_OP_F64)
    value.bits ^= (uint64_t)1 << 63;
  else
    value.bits = -value.bits;
  return value;
}

static ptx_const literal(ptx_parser *p) {
  ptx_token *tok = &p->lex.tok;
  ptx_const value = {.bits = tok->bits, .is_unsigned = tok->is_unsigned};
  switch (tok->kind) {
  case PTX_TOK_INT: value.kind = PTX_OP_INT; break;
  case PTX_TOK_F32: value.kind = PTX_OP_F32; break;
  case PTX_TOK_F64: value.kind = PTX_OP_F64; break;
  default: ptx_lex_expected(&p->lex, "a constant");
  }
  if (value.kind != PTX_OP_INT) value.is_unsigned = false;
  ptx_lex_next(&p->lex);
  return value;
}

static ptx_const unary(ptx_parser *p, int depth);

/* Behind "(": a cast to .s64 or .u64, or an expression in parentheses. */
static ptx_const parenthesis(ptx_parser *p, int depth) {
  ptx_lex *lex = &p->lex;
  if (!ptx_lex_is(lex, PTX_TOK_DIRECTIVE)) {
    ptx_const value = ternary(p, depth);
    ptx_lex_expect(lex, ')', "`)`");
    return value;
  }
  ptx_type type = lex->tok.sym->type;
  if (type != PTX_S64 && type != PTX_U64) ptx_lex_expected(lex, ".s64 or .u64");
  ptx_lex_next(lex);
  ptx_lex_expect(lex, ')', "`)`");
  ptx_pos pos = ptx_lex_pos(lex);
  ptx_const value = unary(p, depth);
  need_integer(p, value, pos);
  return integer(value.bits, type == PTX_U64);
}

static ptx_const unary(ptx_parser *p, int depth) {
  ptx_lex *lex = &p->lex;
  int op = lex->tok.kind;
  if (depth > PTX_EXPRESSION_MAX)
    ptx_lex_fail(lex, ptx_lex_pos(lex), "a constant expression is nested too deeply");
  if (op != '-' && op != '+' && op != '~' && op != '!' && op != '(') return literal(p);
  ptx_lex_next(lex);
  if (op == '(') return parenthesis(p, depth + 1);
  ptx_pos pos = ptx_lex_pos(lex);
  ptx_const value = unary(p, depth + 1);
  if (op == '-') return negate(value);
  if (op == '+') return value;
  need_integer(p, value, pos);
  return op == '~' ? integer(~value.bits, value.is_unsigned) : integer(!value.bits, false);
}

/* Operators that bind at least as tightly as `least`, on top of `left`. */
static ptx_const binary(ptx_parser *p, ptx_const left, int least, int depth) {
  ptx_lex *lex = &p->lex;
  for (;;) {
    int i = find_operator(lex);
    if (i < 0 || operators[i].precedence < least) return left;
    ptx_pos pos = ptx_lex_pos(lex);
    for (const char *c = operators[i].text; *c; c++) ptx_lex_next(lex);
    ptx_const right = binary(p, unary(p, depth + 1), operators[i].precedence + 1, depth + 1);
    need_integer(p, left, pos);
    need_integer(p, right, pos);
    left = apply(p, operators[i].text, left, right, pos);
  }
}

static ptx_const ternary(ptx_parser *p, int depth) {
  ptx_lex *lex = &p->lex;
  ptx_const condition = binary(p, unary(p, depth), 1, depth);
  if (!ptx_lex_is(lex, '?')) return condition;
  need_integer(p, condition, ptx_lex_pos(lex));
  ptx_lex_next(lex);
  ptx_const yes = ternary(p, depth + 1);
  ptx_lex_expect(lex, ':', "`:`");
  ptx_const no = ternary(p, depth + 1);
  return condition.bits ? yes : no;
}

ptx_const ptx_constant(ptx_parser *p) {
  return ternary(p, 0);
}

int64_t ptx_offset(ptx_parser *p) {
  ptx_const sum = integer(0, false);
  if (ptx_lex_is(&p->lex, '+') || ptx_lex_is(&p->lex, '-')) sum = binary(p, sum, 9, 0);
  return (int64_t)sum.bits;
}

uint64_t ptx_small(ptx_parser *p, const char *what, uint64_t most) {
  ptx_lex *lex = &p->lex;
  if (!ptx_lex_is(lex, PTX_TOK_INT)) ptx_lex_expected(lex, what);
  uint64_t value = lex->tok.bits;
  if (value > most)
    ptx_lex_fail(lex, ptx_lex_pos(lex), "%s is at most %llu, got %llu", what,
                 (unsigned long long)most, (unsigned long long)value);
  ptx_lex_next(lex);
  return value;
}
