/* Bodies of structs, unions and enums.
 * A struct has its members only once its body has ended: an error leaves it without a body. */
#include "parse.h"

#include <string.h>

typedef struct body {
  ct_field *fields;
  uint32_t *aligns;
  bool *packs;
  uint32_t count, capacity;
} body;

static void *grow(parser *p, const void *old, uint32_t count, uint32_t capacity, size_t size) {
  void *fresh = parse_need(p, ct_alloc(p->table, capacity * size));
  if (count) memcpy(fresh, old, count * size);
  return fresh;
}

static void add_field(parser *p, body *b, const ct_field *field, uint32_t align, bool packed) {
  if (b->count == b->capacity) {
    if (b->count >= MEMBERS_MAX) lex_fail(&p->lex, PG_RANGE, "more than %d members", MEMBERS_MAX);
    b->capacity = b->capacity ? b->capacity * 2 : 8;
    b->fields = grow(p, b->fields, b->count, b->capacity, sizeof *b->fields);
    b->aligns = grow(p, b->aligns, b->count, b->capacity, sizeof *b->aligns);
    b->packs = grow(p, b->packs, b->count, b->capacity, sizeof *b->packs);
  }
  b->fields[b->count] = *field;
  b->aligns[b->count] = align;
  b->packs[b->count++] = packed;
}

static void check_unique(parser *p, const body *b, const char *name) {
  for (uint32_t i = 0; i < b->count && b->count < 4096; i++)
    if (b->fields[i].name && strcmp(b->fields[i].name, name) == 0)
      lex_fail(&p->lex, PG_SYNTAX, "a second member named '%.100s'", name);
}

static void width(parser *p, ct_field *field) {
  const ctype *type = field->type->base;
  if (type->kind != CT_INT && type->kind != CT_BOOL && type->kind != CT_ENUM)
    lex_fail(&p->lex, PG_SYNTAX, "a bit-field of a type that is no integer");
  int64_t bits = parse_constant(p).value;
  int64_t most = type->kind == CT_BOOL ? 1 : (int64_t)type->size * 8;
  if (bits < 0 || bits > most || (bits == 0 && field->name))
    lex_fail(&p->lex, PG_RANGE, "a bit-field of %lld bits", (long long)bits);
  field->bits = (uint8_t)bits;
  if (bits == 0) field->value = 1;
}

/* Only the last member of a struct may have no size; more_follows() sees to "last". */
static void check_member(parser *p, const ct_field *field) {
  const ctype *type = field->type->base;
  if (type->kind == CT_FUNC) lex_fail(&p->lex, PG_SYNTAX, "a member that is a function");
  if (type->size == CT_NOSIZE && type->kind != CT_ARRAY)
    lex_fail(&p->lex, PG_SYNTAX, "a member of a type whose size is not known");
}

static bool is_open(const ctype *type) {
  return type->base->size == CT_NOSIZE ||
         (type->kind == CT_STRUCT && type->base->is_vla); /* ends in [?] itself */
}

static void check_last(parser *p, const body *b) {
  if (b->count && is_open(b->fields[b->count - 1].type))
    lex_fail(&p->lex, PG_SYNTAX, "a member after an array without a length");
}

static void one_member(parser *p, body *b, const specifiers *s) {
  declarator d = {.type = s->type};
  if (p->lex.now.kind != ':') parse_declarator(p, s, &d);
  ct_field field = {.name = d.name, .type = d.type};
  if (field.name) check_unique(p, b, field.name);
  if (parse_accept(p, ':'))
    width(p, &field);
  else if (!field.name)
    lex_expected(&p->lex, "a member's name");
  check_member(p, &field);
  parse_attributes(p, &d.attr);
  check_last(p, b);
  uint32_t align = d.attr.align > s->attr.align ? d.attr.align : s->attr.align;
  add_field(p, b, &field, align, d.attr.packed || s->attr.packed);
}

static void constant_member(parser *p, const specifiers *s);

static void members(parser *p, body *b) {
  specifiers s;
  if (parse_assertion(p)) return;
  parse_specifiers(p, &s);
  if (s.storage == STORE_STATIC) {
    constant_member(p, &s);
    return;
  }
  if (s.storage != STORE_NONE) lex_fail(&p->lex, PG_SYNTAX, "a storage class in a struct");
  if (p->lex.now.kind == ';') { /* an anonymous struct or union; a mere declaration adds nothing */
    ct_field field = {.type = s.type};
    if (s.type->kind == CT_STRUCT && !s.type->name) {
      check_last(p, b);
      check_member(p, &field);
      add_field(p, b, &field, s.attr.align, s.attr.packed);
    }
  } else {
    do one_member(p, b, &s);
    while (parse_accept(p, ','));
  }
  parse_expect(p, ';');
}

/* static const int N = 3; within a struct, as LuaJIT allows: a constant like any other. */
static void constant_member(parser *p, const specifiers *s) {
  declarator d = {0};
  parse_declarator(p, s, &d);
  if (!d.name) lex_expected(&p->lex, "a name");
  parse_expect(p, '=');
  parse_declare_constant(p, d.name, d.type, parse_constant(p).value);
  parse_expect(p, ';');
}

static void struct_body(parser *p, ctype *type, attributes *attr) {
  body b = {0};
  parse_enter(p);
  lex_next(&p->lex);
  while (p->lex.now.kind != '}') members(p, &b);
  uint32_t pack = p->lex.pack;
  lex_next(&p->lex);
  parse_attributes(p, attr);
  if (type->size != CT_NOSIZE) lex_fail(&p->lex, PG_SYNTAX, "the struct is defined in itself");
  parse_need(p, ct_keep(p->table, type, sizeof *type));
  type->fields = b.fields;
  type->count = b.count;
  ct_layout how = {.packed = attr->packed,
                   .align = attr->align,
                   .pack = pack,
                   .aligns = b.aligns,
                   .packs = b.packs};
  if (!ct_lay_out(type, &how)) lex_fail(&p->lex, PG_RANGE, "a struct that is too large");
  const ctype *last = b.count ? b.fields[b.count - 1].type : NULL;
  type->is_vla = last && last->base->is_vla && !type->is_union;
  p->depth--;
}

/* ---- enums ---- */

/* The smallest of int, unsigned, long and unsigned long that has all constants, unsigned first. */
typedef struct extent {
  bool negative, over_int, over_unsigned, over_long;
} extent;

static void extend(parser *p, extent *e, constant c) {
  bool huge = c.is_unsigned && c.value < 0;
  if (c.value < 0 && !huge) e->negative = true;
  if (huge) e->over_long = true;
  if (huge || c.value > INT32_MAX) e->over_int = true;
  if (huge || c.value > UINT32_MAX || c.value < INT32_MIN) e->over_unsigned = true;
  if (e->negative && e->over_long)
    lex_fail(&p->lex, PG_RANGE, "constants of an enum, of which no integer has all");
}

static void set_extent(parser *p, ctype *type, const extent *e) {
  bool wide = e->over_unsigned || (e->negative && e->over_int);
  int id = wide ? CTID_INT64 : CTID_INT;
  if (!e->negative) id++; /* the unsigned one follows */
  type->child = ct_get(p->table, (uint32_t)id);
  type->size = type->child->size;
  type->align = type->child->align;
  type->is_unsigned = type->child->is_unsigned;
}

static void enum_body(parser *p, ctype *type) {
  body b = {0};
  extent e = {0};
  constant value = {0};
  lex_next(&p->lex);
  while (p->lex.now.kind != '}') {
    ct_field field = {.name = parse_name(p)};
    attributes ignored;
    if (!field.name) lex_expected(&p->lex, "the name of a constant");
    parse_attributes(p, &ignored);
    if (parse_accept(p, '=')) value = parse_constant(p);
    field.value = value.value;
    extend(p, &e, value);
    value.is_unsigned |= value.value == INT64_MAX;
    value.value = (int64_t)((uint64_t)value.value + 1);
    if (value.value == 0) value.is_unsigned = false; /* after -1, or all ones */
    add_field(p, &b, &field, 0, false);
    parse_declare_constant(p, field.name, type, field.value);
    if (!parse_accept(p, ',')) break;
  }
  parse_expect(p, '}');
  parse_need(p, ct_keep(p->table, type, sizeof *type));
  type->fields = b.fields;
  type->count = b.count;
  set_extent(p, type, &e);
}

/* ---- both ---- */

static ctype *tag_type(parser *p, ct_kind kind, bool is_union, const char *name) {
  ct_symbol *symbol = name ? ct_find(p->table, name, strlen(name), true) : NULL;
  if (symbol) {
    if (symbol->type->kind != kind || symbol->type->is_union != is_union)
      lex_fail(&p->lex, PG_SYNTAX, "'%.100s' is the tag of another kind of type", name);
    return symbol->type;
  }
  if (!p->declares && p->lex.now.kind != '{')
    lex_fail(&p->lex, PG_NOT_FOUND, "undeclared or implicit tag '%.100s'", name);
  ctype *type = parse_need(p, ct_new(p->table, kind));
  type->is_union = is_union;
  if (name)
    type->name = ((ct_symbol *)parse_need(p, ct_declare(p->table, name, CT_TAG, type)))->name;
  return type;
}

ctype *parse_tagged(parser *p) {
  bool is_enum = lex_is(&p->lex, "enum"), is_union = lex_is(&p->lex, "union");
  attributes attr = {0};
  lex_next(&p->lex);
  parse_attributes(p, &attr);
  const char *name = NULL;
  if (p->lex.now.kind == '$') {
    const ct_argument *arg = parse_argument(p);
    if (arg->kind == CT_ARG_TYPE) {
      ctype *type = arg->type->base;
      if (type->kind != (is_enum ? CT_ENUM : CT_STRUCT))
        lex_fail(&p->lex, PG_INVALID, "the argument is another kind of type");
      if (p->lex.now.kind != '{') return type;
      lex_fail(&p->lex, PG_SYNTAX, "an argument that is a type cannot be given a body");
    }
    if (arg->kind != CT_ARG_NAME) lex_fail(&p->lex, PG_INVALID, "the argument is no name");
    name = arg->name;
  } else {
    name = parse_name(p);
  }
  if (!name && p->lex.now.kind != '{') lex_expected(&p->lex, "a tag or '{'");
  ctype *type = tag_type(p, is_enum ? CT_ENUM : CT_STRUCT, is_union, name);
  if (p->lex.now.kind != '{') return type;
  ctype *made = type; /* two headers may define one struct, in the same words */
  if (type->size != CT_NOSIZE) made = tag_type(p, type->kind, is_union, NULL);
  if (is_enum)
    enum_body(p, made);
  else
    struct_body(p, made, &attr);
  if (made != type && !ct_alike(type, made))
    lex_fail(&p->lex, PG_SYNTAX, "attempt to redefine '%.100s'", name);
  return type;
}
