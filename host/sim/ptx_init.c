/* Initial values of variables: nested braces, numbers, addresses, masked addresses. */
#include "ptx_parse.h"

#include <string.h>

static const uint64_t INIT_LIMIT = (uint64_t)1 << 30; /* bytes of all initialised variables */

typedef struct initialiser {
  ptx_parser *p;
  ptx_var *var;
  const ptx_shape *shape;
  uint64_t stride[PTX_DIMENSION_MAX + 2]; /* elements of one item of that dimension */
  uint8_t *bytes;                         /* NULL while only counting */
} initialiser;

typedef struct address { /* generic(x)+4 */
  ptx_sym *symbol;
  int64_t addend;
  bool generic;
} address;

/* An opening parenthesis behind the current token makes it an operator: generic(x), 0xFF(x). */
static bool parenthesis_follows(const ptx_lex *lex) {
  return ptx_lex_peek(lex) == '(';
}

static address parse_address(ptx_parser *p) {
  ptx_lex *lex = &p->lex;
  address out = {0};
  if (ptx_lex_is(lex, PTX_TOK_WORD) && strcmp(lex->tok.sym->name, "generic") == 0 &&
      parenthesis_follows(lex)) {
    out.generic = true;
    ptx_lex_next(lex);
    ptx_lex_next(lex);
  }
  ptx_pos pos = ptx_lex_pos(lex);
  out.symbol = ptx_name(p, "a variable or function");
  if (out.generic) ptx_lex_expect(lex, ')', "`)`");
  ptx_wait(p, (ptx_pending){.sym = out.symbol, .pos = pos});
  out.addend = ptx_offset(p);
  return out;
}

static struct ptx_reloc *push_reloc(initialiser *init, address from, uint64_t at, int bytes) {
  struct ptx_reloc *reloc = PTX_PUSH(init->p, &init->p->relocs, struct ptx_reloc);
  *reloc = (struct ptx_reloc){.at = at,
                              .symbol = from.symbol->name,
                              .addend = from.addend,
                              .generic = from.generic,
                              .bytes = bytes};
  return reloc;
}

static void address_element(initialiser *init, uint64_t at) {
  ptx_lex *lex = &init->p->lex;
  ptx_pos pos = ptx_lex_pos(lex);
  int size = (int)ptx_type_bytes(init->var->type);
  if (size != 4 && size != 8)
    ptx_lex_fail(lex, pos, "an address takes 8 bytes, the elements have %d", size);
  address from = parse_address(init->p);
  if (init->bytes) push_reloc(init, from, at, size);
}

/* Bytes of an address, low to high: 0xFF(x), 0xFF00(x), ... A run of them is one reloc. */
static void masked_element(initialiser *init, uint64_t at) {
  ptx_lex *lex = &init->p->lex;
  ptx_pos pos = ptx_lex_pos(lex);
  uint64_t mask = lex->tok.bits;
  int byte = mask ? __builtin_ctzll(mask) / 8 : 0;
  if (mask != (uint64_t)0xFF << (8 * byte) || ptx_type_bytes(init->var->type) != 1)
    ptx_lex_fail(lex, pos,
                 "a mask selects one byte (0xFF, 0xFF00, ...) for an element of one byte");
  ptx_lex_next(lex);
  ptx_lex_next(lex);
  address from = parse_address(init->p);
  ptx_lex_expect(lex, ')', "`)`");
  if (!init->bytes) return;
  struct ptx_reloc *last = init->p->relocs.items;
  if (last) last += init->p->relocs.count - 1;
  if (!byte) {
    push_reloc(init, from, at, 1);
  } else if (init->p->relocs.count && last->symbol == from.symbol->name && last->bytes == byte &&
             last->at + (uint64_t)byte == at && last->addend == from.addend &&
             last->generic == from.generic) {
    last->bytes++;
  } else {
    ptx_lex_fail(lex, pos, "the bytes of an address must stand in order, from 0xFF on");
  }
}

/* Floats are rounded to the element's type; bits that fit an untyped element are taken as they are.
 */
static uint64_t element_bits(ptx_parser *p, ptx_const value, ptx_type type, ptx_pos pos) {
  uint32_t size = ptx_type_bytes(type);
  if (value.kind == PTX_OP_INT) {
    if (type == PTX_F32 || type == PTX_F64 || size == 0)
      ptx_lex_fail(&p->lex, pos, "a .%s needs a float (0f..., 0d... or with a point)",
                   ptx_type_name(type));
    return value.bits;
  }
  if (size != 4 && size != 8)
    ptx_lex_fail(&p->lex, pos, "a float cannot initialise a .%s", ptx_type_name(type));
  if (value.kind == PTX_OP_F32 && size == 4) return value.bits;
  if (value.kind == PTX_OP_F64 && size == 8) return value.bits;
  double wide;
  float narrow;
  uint32_t bits = (uint32_t)value.bits;
  if (size == 8) {
    memcpy(&narrow, &bits, sizeof narrow);
    wide = (double)narrow;
    memcpy(&value.bits, &wide, sizeof wide);
    return value.bits;
  }
  memcpy(&wide, &value.bits, sizeof wide);
  narrow = (float)wide;
  memcpy(&bits, &narrow, sizeof bits);
  return bits;
}

static void number_element(initialiser *init, uint64_t at) {
  ptx_pos pos = ptx_lex_pos(&init->p->lex);
  ptx_const value = ptx_constant(init->p);
  uint64_t bits = element_bits(init->p, value, init->var->type, pos);
  size_t size = ptx_type_bytes(init->var->type);
  /* the hosts are little-endian, as the GPU; a .b128 is sign-extended */
  if (!init->bytes) return;
  memcpy(init->bytes + at, &bits, size < 8 ? size : 8);
  if (size > 8 && !value.is_unsigned && (int64_t)bits < 0) memset(init->bytes + at + 8, 0xFF, 8);
}

static void element(initialiser *init, uint64_t index) {
  ptx_lex *lex = &init->p->lex;
  uint64_t at = index * ptx_type_bytes(init->var->type);
  if (ptx_lex_is(lex, PTX_TOK_WORD))
    address_element(init, at);
  else if (ptx_lex_is(lex, PTX_TOK_INT) && parenthesis_follows(lex))
    masked_element(init, at);
  else
    number_element(init, at);
}

/* Behind "{": items of dimension `level`, from element `first` on. Braces of inner dimensions may
 * be left out, as in C. Returns how many elements it reached. Recursion is bounded by the
 * dimensions. */
static uint64_t braces(initialiser *init, int level, uint64_t first) {
  ptx_lex *lex = &init->p->lex;
  uint64_t stride = init->stride[level], extent = init->shape->extent[level];
  uint64_t room = extent ? extent * stride : INIT_LIMIT, used = 0;
  while (!ptx_lex_is(lex, '}')) {
    uint64_t step = ptx_lex_is(lex, '{') ? stride : 1;
    if (used + step > room)
      ptx_lex_fail(lex, ptx_lex_pos(lex), "more initial values than elements");
    if (!ptx_lex_is(lex, '{')) {
      element(init, first + used);
    } else if (level + 1 < init->shape->count && used % stride == 0) {
      ptx_lex_next(lex);
      braces(init, level + 1, first + used);
    } else {
      ptx_lex_expected(lex, "a value");
    }
    used += step;
    if (!ptx_lex_accept(lex, ',')) break;
  }
  ptx_lex_expect(lex, '}', "`,` or `}`");
  return used;
}

static uint64_t all_values(initialiser *init) {
  ptx_lex *lex = &init->p->lex;
  if (init->shape->count && !ptx_lex_is(lex, '{')) ptx_lex_expected(lex, "`{`");
  if (init->shape->count && ptx_lex_accept(lex, '{')) return braces(init, 0, 0);
  element(init, 0);
  return 1;
}

/* `x[] = {...}`: the values are read twice, first to count them. */
static void measure(initialiser *init, ptx_shape *shape) {
  ptx_lex *lex = &init->p->lex;
  ptx_token tok = lex->tok;
  const char *next = lex->next;
  int line = lex->line;
  uint64_t used = all_values(init);
  lex->tok = tok;
  lex->next = next;
  lex->line = line;
  shape->extent[0] = used ? (used + init->stride[0] - 1) / init->stride[0] : 1;
  init->var->count = shape->extent[0] * init->stride[0];
}

void ptx_initialiser(ptx_parser *p, ptx_var *var, ptx_shape *shape) {
  initialiser init = {.p = p, .var = var, .shape = shape};
  uint64_t stride = 1;
  for (int i = shape->count - 1; i >= 0; i--) {
    init.stride[i] = stride;
    stride *= shape->extent[i];
  }
  if (!var->count) measure(&init, shape);
  uint64_t bytes = var->count * ptx_type_bytes(var->type);
  if (var->count > INIT_LIMIT || (p->init_bytes += bytes) > INIT_LIMIT)
    ptx_lex_limit(&p->lex, "the initial values of the module exceed 1 GiB");
  var->init = init.bytes = ptx_lex_alloc(&p->lex, bytes);
  all_values(&init);
  var->reloc_count = p->relocs.count;
  var->relocs = ptx_take(p, &p->relocs, 0, sizeof(struct ptx_reloc));
}
