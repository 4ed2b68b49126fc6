/* C declarations by recursive descent: specifiers, declarators, what is declared.
 * Depth, parameters and members are bounded, so that no text exhausts the stack. */
#include "parse.h"

#include <string.h>

/* ---- small steps ---- */

void *parse_need(parser *p, void *made) {
  if (!made) lex_fail(&p->lex, PG_MEMORY, "no memory for a type");
  return made;
}

bool parse_accept(parser *p, int kind) {
  if (p->lex.now.kind != kind) return false;
  lex_next(&p->lex);
  return true;
}

void parse_expect(parser *p, int kind) {
  char what[4] = {'\'', (char)kind, '\'', 0};
  if (!parse_accept(p, kind)) lex_expected(&p->lex, what);
}

void parse_enter(parser *p) {
  if (++p->depth > DEPTH_MAX) lex_fail(&p->lex, PG_RANGE, "nested deeper than %d", DEPTH_MAX);
}

const ct_argument *parse_argument(parser *p) {
  if (p->arg_used == p->arg_count)
    lex_fail(&p->lex, PG_INVALID, "'$' number %d has no argument", p->arg_used + 1);
  lex_next(&p->lex);
  return &p->args[p->arg_used++];
}

/* ---- specifiers ---- */

/* How often each word of a type came. */
typedef struct counts {
  int of[WORD_REFUSED + 1], bits, total;
} counts;

static ctype *integer_type(parser *p, const counts *n) {
  bool u = n->of[WORD_UNSIGNED];
  int id = u ? CTID_UINT : CTID_INT;
  if (n->of[WORD_CHAR]) id = u ? CTID_UCHAR : n->of[WORD_SIGNED] ? CTID_SCHAR : CTID_CHAR;
  if (n->of[WORD_SHORT] || n->bits == 16) id = u ? CTID_USHORT : CTID_SHORT;
  if (n->of[WORD_LONG] || n->bits == 64) id = u ? CTID_UINT64 : CTID_INT64;
  if (n->bits == 128) id = u ? CTID_UINT128 : CTID_INT128;
  if (n->bits == 8) id = u ? CTID_UCHAR : CTID_SCHAR;
  return ct_get(p->table, (uint32_t)id);
}

static ctype *complex_type(parser *p, const counts *n) {
  int others = n->total - 1 - n->of[WORD_FLOAT] - n->of[WORD_DOUBLE] - n->of[WORD_LONG] -
               n->of[WORD_LDOUBLE] - n->of[WORD_FLOAT128];
  bool alone = n->of[WORD_LONG] && !n->of[WORD_DOUBLE];
  if (others || alone || n->of[WORD_LONG] > 1)
    lex_fail(&p->lex, PG_UNSUPPORTED, "complex numbers of another type than float or double");
  int id = CTID_COMPLEX;
  if (n->of[WORD_FLOAT]) id = CTID_COMPLEX_FLOAT;
  if (n->of[WORD_LONG] || n->of[WORD_LDOUBLE]) id = CTID_COMPLEX_LDOUBLE;
  if (n->of[WORD_FLOAT128]) id = CTID_COMPLEX_FLOAT128;
  return ct_get(p->table, (uint32_t)id);
}

static ctype *counted_type(parser *p, const counts *n) {
  if (n->of[WORD_COMPLEX]) return complex_type(p, n);
  if (n->of[WORD_FLOAT128]) return ct_get(p->table, CTID_FLOAT128);
  if (n->of[WORD_VOID]) return ct_get(p->table, CTID_VOID);
  if (n->of[WORD_BOOL]) return ct_get(p->table, CTID_BOOL);
  if (n->of[WORD_FLOAT]) return ct_get(p->table, CTID_FLOAT);
  if (n->of[WORD_LDOUBLE]) return ct_get(p->table, CTID_LDOUBLE);
  if (n->of[WORD_DOUBLE]) return ct_get(p->table, n->of[WORD_LONG] ? CTID_LDOUBLE : CTID_DOUBLE);
  return integer_type(p, n);
}

/* Is `word` one more than C allows beside what came before? */
static bool clashes(const counts *n, enum word word) {
  int base = n->of[WORD_VOID] + n->of[WORD_BOOL] + n->of[WORD_FLOAT] + n->of[WORD_DOUBLE] +
             n->of[WORD_CHAR] + n->of[WORD_SIZED] + n->of[WORD_LDOUBLE] + n->of[WORD_FLOAT128];
  int sign = n->of[WORD_SIGNED] + n->of[WORD_UNSIGNED];
  switch (word) {
  case WORD_SIGNED:
  case WORD_UNSIGNED: return sign || (base && !n->of[WORD_CHAR] && !n->of[WORD_SIZED]);
  case WORD_LONG: return n->of[WORD_LONG] > 1 || n->of[WORD_SHORT] || (base && !n->of[WORD_DOUBLE]);
  case WORD_SHORT: return n->of[WORD_SHORT] || n->of[WORD_LONG] || base;
  case WORD_INT: return n->of[WORD_INT] || base;
  case WORD_DOUBLE: return base || sign || n->of[WORD_SHORT] || n->of[WORD_INT];
  case WORD_CHAR:
  case WORD_SIZED: return base || n->of[WORD_SHORT] || n->of[WORD_LONG] || n->of[WORD_INT];
  case WORD_COMPLEX: return n->of[WORD_COMPLEX];
  default: return n->total != n->of[WORD_COMPLEX];
  }
}

static void count_word(parser *p, counts *n, enum word word) {
  if (clashes(n, word))
    lex_fail(&p->lex, PG_SYNTAX, "'%.*s' after another type", (int)p->lex.now.length,
             p->lex.now.text);
  if (word == WORD_SIZED) {
    const char *text = p->lex.now.text;
    size_t length = p->lex.now.length;
    parse_strip(&text, &length);
    n->bits = length == 4 ? 8 : length == 6 ? 128 : (text[3] - '0') * 10 + text[4] - '0';
  }
  n->of[word]++;
  n->total++;
  lex_next(&p->lex);
}

/* A storage class, a qualifier, or what means nothing here. */
static void modify(parser *p, specifiers *s, enum word word) {
  if (word == WORD_CONST) s->quals |= CT_CONST;
  if (word == WORD_VOLATILE) s->quals |= CT_VOLATILE;
  if (word == WORD_TYPEDEF) s->storage = STORE_TYPEDEF;
  if (word == WORD_EXTERN) s->storage = STORE_EXTERN;
  if (word == WORD_STATIC) s->storage = STORE_STATIC;
  lex_next(&p->lex);
  if (word == WORD_EXTERN && p->lex.now.kind == TOKEN_STRING)
    lex_fail(&p->lex, PG_SYNTAX, "extern \"C\" is C++");
}

/* One step; false where the specifiers end. */
static bool one_specifier(parser *p, specifiers *s, counts *n) {
  enum word word = parse_word(p);
  const ct_symbol *known;
  if (word == WORD_REFUSED)
    lex_fail(&p->lex, PG_UNSUPPORTED, "'%.*s' is not supported", (int)p->lex.now.length,
             p->lex.now.text);
  if (word == WORD_ATTRIBUTE || word == WORD_ALIGNAS) {
    parse_attributes(p, &s->attr);
  } else if (word && word <= WORD_STATIC) {
    modify(p, s, word);
  } else if (word == WORD_TAGGED) {
    if (s->type || n->total) lex_fail(&p->lex, PG_SYNTAX, "a type after another type");
    s->type = parse_tagged(p);
  } else if (word && word != WORD_ASM) {
    if (s->type) lex_fail(&p->lex, PG_SYNTAX, "a type after another type");
    count_word(p, n, word);
  } else if (!s->type && !n->total && parse_gives_type(p)) {
    s->type = parse_argument(p)->type;
  } else if (!s->type && !n->total && (known = parse_typedef(p))) {
    s->type = known->type;
    lex_next(&p->lex);
  } else {
    return false;
  }
  return true;
}

void parse_specifiers(parser *p, specifiers *s) {
  counts n = {0};
  *s = (specifiers){0};
  while (one_specifier(p, s, &n)) {
  }
  if (!s->type && !n.total) {
    if (p->lex.now.kind != TOKEN_NAME) lex_expected(&p->lex, "a type");
    lex_fail(&p->lex, PG_NOT_FOUND, "undeclared or implicit type '%.*s'",
             p->lex.now.length > 60 ? 60 : (int)p->lex.now.length, p->lex.now.text);
  }
  if (!s->type) s->type = counted_type(p, &n);
  if (s->quals) s->type = parse_need(p, ct_qualified(p->table, s->type, s->quals));
}

/* ---- declarators ---- */

/* What is done to the base type; the op nearest to the name comes first. */
typedef struct op {
  enum { OP_POINTER, OP_ARRAY, OP_FUNCTION } kind;
  unsigned quals;
  size_t length;
  bool is_vla, variadic;
  ct_field *params;
  uint32_t count;
} op;

typedef struct chain {
  op ops[OPS_MAX];
  int count;
} chain;

static void push_op(parser *p, chain *c, const op *one) {
  if (c->count == OPS_MAX) lex_fail(&p->lex, PG_RANGE, "more than %d levels in a type", OPS_MAX);
  c->ops[c->count++] = *one;
}

/* `int sum(int n, int v[n])`: the first length of a parameter is of no interest to a caller. */
static bool is_variable(const parser *p, const chain *c) {
  if (!p->in_parameters || c->count) return false;
  if (p->lex.now.kind == '*') return true;
  const token *t = &p->lex.now;
  if (t->kind != TOKEN_NAME || lex_is(&p->lex, "sizeof")) return false;
  const ct_symbol *symbol = ct_find(p->table, t->text, t->length, false);
  return !symbol || symbol->kind == CT_OBJECT;
}

static void skip_length(parser *p) {
  for (int open = 1;; lex_next(&p->lex)) {
    if (p->lex.now.kind == TOKEN_END) lex_expected(&p->lex, "']'");
    open += p->lex.now.kind == '[' ? 1 : p->lex.now.kind == ']' ? -1 : 0;
    if (!open) return;
  }
}

static void array_suffix(parser *p, chain *c) {
  op one = {.kind = OP_ARRAY, .length = CT_NOSIZE};
  while (parse_word(p) && parse_word(p) <= WORD_STATIC) lex_next(&p->lex); /* [static const 3] */
  if (parse_accept(p, '?')) {
    one.is_vla = true;
  } else if (is_variable(p, c)) {
    skip_length(p);
  } else if (p->lex.now.kind != ']') {
    int64_t length = parse_constant(p).value;
    if (length < 0)
      lex_fail(&p->lex, PG_RANGE, "size of C type is unknown or too large: %lld elements",
               (long long)length);
    one.length = (size_t)length;
  }
  parse_expect(p, ']');
  push_op(p, c, &one);
}

/* Arrays and functions as parameters are pointers. */
static ctype *parameter_type(parser *p, ctype *type) {
  if (type->kind == CT_ARRAY) return parse_need(p, ct_pointer(p->table, type->child));
  if (type->kind == CT_FUNC) return parse_need(p, ct_pointer(p->table, type));
  return type;
}

static void add_parameter(parser *p, op *one, uint32_t *capacity, ctype *type) {
  if (one->count == *capacity) {
    if (one->count >= PARAMS_MAX)
      lex_fail(&p->lex, PG_RANGE, "more than %d parameters", PARAMS_MAX);
    *capacity = *capacity ? *capacity * 2 : 8;
    ct_field *fresh = parse_need(p, ct_alloc(p->table, *capacity * sizeof *fresh));
    if (one->count) memcpy(fresh, one->params, one->count * sizeof *fresh);
    one->params = fresh;
  }
  one->params[one->count++] = (ct_field){.type = type};
}

/* Past the '('. */
static void function_suffix(parser *p, chain *c) {
  op one = {.kind = OP_FUNCTION};
  uint32_t capacity = 0;
  parse_enter(p);
  p->in_parameters++;
  while (p->lex.now.kind != ')') {
    if (parse_accept(p, TOKEN_DOTS)) {
      one.variadic = true;
      break;
    }
    specifiers s;
    declarator d;
    parse_specifiers(p, &s);
    parse_declarator(p, &s, &d);
    if (d.type->kind == CT_VOID) {
      if (one.count || d.name || p->lex.now.kind != ')')
        lex_fail(&p->lex, PG_SYNTAX, "a parameter of type void");
      break;
    }
    add_parameter(p, &one, &capacity, parameter_type(p, d.type));
    if (!parse_accept(p, ',')) break;
    if (p->lex.now.kind == ')') lex_expected(&p->lex, "a parameter");
  }
  parse_expect(p, ')');
  p->in_parameters--;
  p->depth--;
  push_op(p, c, &one);
}

static void suffixes(parser *p, chain *c, bool opened) {
  for (;; opened = false)
    if (opened || parse_accept(p, '('))
      function_suffix(p, c);
    else if (parse_accept(p, '['))
      array_suffix(p, c);
    else
      return;
}

static unsigned pointer_quals(parser *p, declarator *d) {
  unsigned quals = 0;
  for (enum word word; (word = parse_word(p)) && word != WORD_ASM;) {
    if (word == WORD_ATTRIBUTE) {
      parse_attributes(p, &d->attr);
      continue;
    }
    if (word > WORD_NOTHING) break;
    quals |= word == WORD_CONST ? CT_CONST : word == WORD_VOLATILE ? CT_VOLATILE : 0;
    lex_next(&p->lex);
  }
  return quals;
}

static void declarator_chain(parser *p, chain *c, declarator *d) {
  op pointers[OPS_MAX];
  int count = 0;
  bool opened = false;
  parse_enter(p);
  pointer_quals(p, d);
  while (parse_accept(p, '*')) {
    if (count == OPS_MAX) lex_fail(&p->lex, PG_RANGE, "more than %d levels in a type", OPS_MAX);
    pointers[count++] = (op){.kind = OP_POINTER, .quals = pointer_quals(p, d)};
  }
  if (p->lex.now.kind == '&')
    lex_fail(&p->lex, PG_UNSUPPORTED, "references (&) are not supported: take a pointer");
  if (parse_accept(p, '(')) {
    opened =
        parse_starts_type(p) && parse_word(p) != WORD_ATTRIBUTE && parse_word(p) != WORD_NOTHING;
    opened = opened || p->lex.now.kind == ')' || p->lex.now.kind == TOKEN_DOTS;
    if (!opened) {
      declarator_chain(p, c, d);
      parse_expect(p, ')');
    }
  } else {
    d->name = parse_name(p);
  }
  suffixes(p, c, opened);
  while (count) push_op(p, c, &pointers[--count]);
  p->depth--;
}

static ctype *array_of(parser *p, ctype *type, const op *one) {
  size_t size = type->base->size;
  if (size == CT_NOSIZE) lex_fail(&p->lex, PG_SYNTAX, "size of C type is unknown or too large");
  if (size && one->length != CT_NOSIZE && one->length > CT_SIZE_MAX / size)
    lex_fail(&p->lex, PG_RANGE, "size of C type is unknown or too large");
  return ct_array(p->table, type, one->length, one->is_vla);
}

static ctype *apply(parser *p, ctype *type, const op *one) {
  if (one->kind == OP_POINTER) {
    type = parse_need(p, ct_pointer(p->table, type));
    return parse_need(p, ct_qualified(p->table, type, one->quals));
  }
  if (one->kind == OP_ARRAY) return parse_need(p, array_of(p, type, one));
  if (type->kind == CT_FUNC || type->kind == CT_ARRAY)
    lex_fail(&p->lex, PG_SYNTAX, "a function that returns a function or an array");
  return parse_need(p, ct_function(p->table, type, one->params, one->count, one->variadic));
}

void parse_declarator(parser *p, const specifiers *s, declarator *out) {
  chain c = {.count = 0};
  *out = (declarator){.type = s->type};
  declarator_chain(p, &c, out);
  parse_attributes(p, &out->attr);
  if (parse_word(p) == WORD_ASM) out->label = parse_label(p);
  parse_attributes(p, &out->attr);
  out->type = parse_with_mode(p, s->type, out->attr.mode ? out->attr.mode : s->attr.mode);
  for (int i = c.count; i-- > 0;) out->type = apply(p, out->type, &c.ops[i]);
}

ctype *parse_type_name(parser *p) {
  specifiers s;
  declarator d;
  parse_enter(p);
  parse_specifiers(p, &s);
  parse_declarator(p, &s, &d);
  if (d.name) lex_fail(&p->lex, PG_SYNTAX, "a type with a name, '%.100s'", d.name);
  p->depth--;
  return d.type;
}

/* ---- declarations ---- */

/* What has been read of it keeps its value: another one is a mistake, not news. */
void parse_declare_constant(parser *p, const char *name, ctype *type, int64_t value) {
  const ct_symbol *old = ct_find(p->table, name, strlen(name), false);
  if (old && old->kind == CT_CONSTANT && old->value != value)
    lex_fail(&p->lex, PG_SYNTAX, "attempt to redefine '%.100s'", name);
  ct_symbol *symbol = parse_need(p, ct_declare(p->table, name, CT_CONSTANT, type));
  symbol->value = value;
}

/* static const int N = 3; */
static void constant_declaration(parser *p, const declarator *d) {
  const ctype *type = d->type->base;
  if (type->kind != CT_INT && type->kind != CT_ENUM && type->kind != CT_BOOL)
    lex_fail(&p->lex, PG_SYNTAX, "only integers can have a value here");
  parse_declare_constant(p, d->name, d->type, parse_constant(p).value);
}

/* typedef int t __attribute__((aligned(8))): the same type, elsewhere in a struct. */
static ctype *aligned_type(parser *p, const specifiers *s, const declarator *d) {
  uint32_t align = d->attr.align > s->attr.align ? d->attr.align : s->attr.align;
  return align ? parse_need(p, ct_aligned(p->table, d->type, align)) : d->type;
}

/* True where a function's body may follow. */
static bool declare_one(parser *p, const specifiers *s) {
  declarator d;
  parse_declarator(p, s, &d);
  if (!d.name) lex_expected(&p->lex, "a name");
  if (s->storage == STORE_TYPEDEF) {
    parse_need(p, ct_declare(p->table, d.name, CT_TYPEDEF, aligned_type(p, s, &d)));
  } else if (parse_accept(p, '=')) {
    constant_declaration(p, &d);
  } else {
    ct_symbol *symbol = parse_need(p, ct_declare(p->table, d.name, CT_OBJECT, d.type));
    symbol->label = d.label;
  }
  return s->storage != STORE_TYPEDEF && d.type->kind == CT_FUNC;
}

static void declaration(parser *p) {
  specifiers s;
  if (parse_accept(p, ';') || parse_assertion(p)) return;
  parse_specifiers(p, &s);
  if (p->lex.now.kind != ';') {
    bool is_function;
    do is_function = declare_one(p, &s);
    while (parse_accept(p, ','));
    if (is_function && p->lex.now.kind == '{') { /* inline, in a header: nothing to a caller */
      lex_skip_body(&p->lex);
      return;
    }
  }
  if (p->lex.now.kind != TOKEN_END) parse_expect(p, ';'); /* LuaJIT lets the last one go without */
}

static pg_code read_text(parser *p, ct_table *table, const char *text, size_t length,
                         const ct_argument *args, int arg_count, ctype **out, pg_error *error) {
  jmp_buf escape;
  *p = (parser){.table = table, .args = args, .arg_count = arg_count, .declares = !out};
  lex_start(&p->lex, text, length, &escape, error);
  if (setjmp(escape)) return error->code;
  lex_next(&p->lex);
  if (out) {
    *out = parse_type_name(p);
    if (p->lex.now.kind != TOKEN_END) lex_expected(&p->lex, "the end of the type");
  } else {
    while (p->lex.now.kind != TOKEN_END) declaration(p);
  }
  if (p->arg_used < arg_count)
    lex_fail(&p->lex, PG_INVALID, "%d arguments for %d '$'", arg_count, p->arg_used);
  return PG_OK;
}

/* As in LuaJIT a text that is wrong somewhere declares nothing. */
static pg_code run(ct_table *table, const char *text, size_t length, const ct_argument *args,
                   int arg_count, ctype **out, pg_error *error) {
  parser p;
  ct_begin(table);
  pg_code code = read_text(&p, table, text, length, args, arg_count, out, error);
  ct_end(table, code != PG_OK);
  return code;
}

pg_code ct_declare_text(ct_table *table, const char *text, size_t length, const ct_argument *args,
                        int arg_count, pg_error *error) {
  return run(table, text, length, args, arg_count, NULL, error);
}

pg_code ct_parse_type(ct_table *table, const char *text, size_t length, const ct_argument *args,
                      int arg_count, ctype **out, pg_error *error) {
  *out = NULL;
  pg_code code = run(table, text, length, args, arg_count, out, error);
  if (code) *out = NULL; /* a type, but more text behind it */
  return code;
}
