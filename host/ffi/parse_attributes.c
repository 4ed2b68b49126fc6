/* What headers write beside a type: __attribute__((...)), _Alignas, __asm__ with another name.
 * Heeded are packed, aligned and mode; the others tell a caller nothing. */
#include "parse.h"

#include <string.h>

static void skip_parentheses(parser *p) {
  int open = 0;
  do {
    if (p->lex.now.kind == TOKEN_END) lex_expected(&p->lex, "')'");
    open += p->lex.now.kind == '(' ? 1 : p->lex.now.kind == ')' ? -1 : 0;
    lex_next(&p->lex);
  } while (open);
}

bool parse_assertion(parser *p) {
  if (!lex_is(&p->lex, "_Static_assert")) return false;
  lex_next(&p->lex);
  skip_parentheses(p); /* it held when the library was compiled */
  parse_expect(p, ';');
  return true;
}

/* ---- alignment ---- */

static void check_align(parser *p, int64_t align) {
  if (align < 1 || align > 4096 || (align & (align - 1)))
    lex_fail(&p->lex, PG_RANGE, "an alignment of %lld bytes: expected a power of two, 1 to 4096",
             (long long)align);
}

static void raise_align(parser *p, int64_t to, uint32_t *align) {
  check_align(p, to);
  if (to > *align) *align = (uint32_t)to;
}

static void aligned(parser *p, attributes *a) {
  int64_t bytes = 16;
  if (parse_accept(p, '(')) bytes = parse_constant(p).value, parse_expect(p, ')');
  raise_align(p, bytes, &a->align);
}

static void alignas(parser *p, attributes *a) {
  lex_next(&p->lex);
  parse_expect(p, '(');
  int64_t bytes = parse_starts_type(p) ? ct_align(parse_type_name(p)) : parse_constant(p).value;
  parse_expect(p, ')');
  raise_align(p, bytes, &a->align);
}

/* ---- modes: the width of a number, in gcc's words ---- */

static const struct {
  char name[12];
  int id;
} MODES[] = {{"QI", CTID_SCHAR},      {"HI", CTID_SHORT},         {"SI", CTID_INT},
             {"DI", CTID_INT64},      {"byte", CTID_SCHAR},       {"word", CTID_INT64},
             {"SF", CTID_FLOAT},      {"DF", CTID_DOUBLE},        {"XF", CTID_LDOUBLE},
             {"pointer", CTID_INT64}, {"unwind_word", CTID_INT64}};

static void mode(parser *p, attributes *a) {
  parse_expect(p, '(');
  const char *text = p->lex.now.text;
  size_t length = p->lex.now.length;
  if (p->lex.now.kind != TOKEN_NAME) lex_expected(&p->lex, "a mode");
  parse_strip(&text, &length);
  size_t i = 0, count = sizeof MODES / sizeof *MODES;
  while (i < count && !parse_same(text, length, MODES[i].name)) i++;
  if (i == count)
    lex_fail(&p->lex, PG_UNSUPPORTED, "the mode '%.*s' is not supported",
             length > 60 ? 60 : (int)length, text);
  a->mode = MODES[i].id;
  lex_next(&p->lex);
  parse_expect(p, ')');
}

ctype *parse_with_mode(parser *p, ctype *type, int mode) {
  bool is_real = mode == CTID_FLOAT || mode == CTID_DOUBLE || mode == CTID_LDOUBLE;
  if (!mode) return type;
  if (type->kind != (is_real ? CT_FLOAT : CT_INT) && (is_real || type->kind != CT_ENUM))
    lex_fail(&p->lex, PG_SYNTAX, "a mode of another kind of type");
  if (!is_real && type->base->is_unsigned) mode++; /* CTID_UINT follows CTID_INT, and so on */
  ctype *made =
      parse_need(p, ct_qualified(p->table, ct_get(p->table, (uint32_t)mode), type->quals));
  return type->demanded ? parse_need(p, ct_aligned(p->table, made, type->demanded)) : made;
}

/* ---- attributes ---- */

static void one_attribute(parser *p, attributes *a) {
  const char *text = p->lex.now.text;
  size_t length = p->lex.now.length;
  if (p->lex.now.kind != TOKEN_NAME) lex_expected(&p->lex, "an attribute");
  parse_strip(&text, &length);
  lex_next(&p->lex);
  if (parse_same(text, length, "packed"))
    a->packed = true;
  else if (parse_same(text, length, "aligned"))
    aligned(p, a);
  else if (parse_same(text, length, "mode"))
    mode(p, a);
  else if (parse_same(text, length, "vector_size") || parse_same(text, length, "ms_abi"))
    lex_fail(&p->lex, PG_UNSUPPORTED, "the attribute '%.*s' is not supported", (int)length, text);
  else if (p->lex.now.kind == '(')
    skip_parentheses(p); /* format, nonnull, deprecated */
}

static void attribute_list(parser *p, attributes *a) {
  lex_next(&p->lex);
  parse_expect(p, '(');
  parse_expect(p, '(');
  while (p->lex.now.kind != ')') {
    if (parse_accept(p, ',')) continue;
    one_attribute(p, a);
  }
  parse_expect(p, ')');
  parse_expect(p, ')');
}

void parse_attributes(parser *p, attributes *a) {
  for (enum word word; (word = parse_word(p)) == WORD_ATTRIBUTE || word == WORD_ALIGNAS;)
    if (word == WORD_ATTRIBUTE)
      attribute_list(p, a);
    else
      alignas(p, a);
}

/* ---- __asm__("" "name") ---- */

/* From here on, strings; their text goes to `out` where it is not NULL. How long it is. */
static size_t strings(parser *p, char *out) {
  size_t length = 0;
  for (; p->lex.now.kind == TOKEN_STRING; lex_next(&p->lex)) {
    if (out) memcpy(out + length, p->lex.now.text, p->lex.now.length);
    length += p->lex.now.length;
  }
  return length;
}

const char *parse_label(parser *p) {
  lex_next(&p->lex);
  parse_expect(p, '(');
  if (p->lex.now.kind != TOKEN_STRING) lex_expected(&p->lex, "a name in quotes");
  lexer start = p->lex;
  char *label = parse_need(p, ct_alloc(p->table, strings(p, NULL) + 1));
  p->lex = start;
  strings(p, label);
  parse_expect(p, ')');
  return label;
}
