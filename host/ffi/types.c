/* The table of C types: memory, types made once, names.
 * What is equal is found by a hash of what makes it up. */
#include "types.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1024, BLOCK_BYTES = 16384 };

typedef struct block {
  struct block *next;
} block;

/* What was at a place before it changed. */
typedef struct kept {
  struct kept *before;
  void *place;
  size_t size;
  char bytes[];
} kept;

struct ct_table {
  block *blocks;
  char *free_at;
  size_t free_bytes;
  ctype **types;
  uint32_t count, capacity;
  ctype *made[BUCKETS];
  ct_symbol *symbols[2][BUCKETS];
  bool keeps;     /* from ct_begin to ct_end */
  uint32_t begun; /* how many types there were at ct_begin */
  kept *kept;     /* the latest change first */
};

/* ---- memory ---- */

void *ct_alloc(ct_table *table, size_t bytes) {
  if (bytes > CT_SIZE_MAX) return NULL;
  bytes = (bytes + 15) & ~(size_t)15;
  if (bytes > table->free_bytes) {
    size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    block *fresh = calloc(1, size + 16);
    if (!fresh) return NULL;
    fresh->next = table->blocks;
    table->blocks = fresh;
    table->free_at = (char *)fresh + 16;
    table->free_bytes = size;
  }
  void *at = table->free_at;
  table->free_at += bytes;
  table->free_bytes -= bytes;
  return at;
}

const char *ct_string(ct_table *table, const char *text, size_t length) {
  char *copy = ct_alloc(table, length + 1);
  if (copy) memcpy(copy, text, length);
  return copy;
}

/* ---- changes that may be undone ---- */

void ct_begin(ct_table *table) {
  table->keeps = true;
  table->begun = table->count;
}

void *ct_keep(ct_table *table, void *place, size_t size) {
  if (!table->keeps) return place;
  kept *one = malloc(sizeof *one + size);
  if (!one) return NULL;
  *one = (kept){.before = table->kept, .place = place, .size = size};
  memcpy(one->bytes, place, size);
  table->kept = one;
  return place;
}

void ct_end(ct_table *table, bool undo) {
  for (kept *one = table->kept, *before; one; one = before) {
    if (undo) memcpy(one->place, one->bytes, one->size);
    before = one->before;
    free(one);
  }
  if (undo) table->count = table->begun; /* nothing names the others any more */
  table->kept = NULL;
  table->keeps = false;
}

void ct_table_free(ct_table *table) {
  if (!table) return;
  for (block *b = table->blocks, *next; b; b = next) next = b->next, free(b);
  free(table->types);
  free(table);
}

/* ---- types ---- */

uint32_t ct_count(const ct_table *table) {
  return table->count;
}

ctype *ct_get(const ct_table *table, uint32_t id) {
  return table->types[id];
}

ctype *ct_new(ct_table *table, ct_kind kind) {
  if (table->count == table->capacity) {
    uint32_t capacity = table->capacity ? table->capacity * 2 : 256;
    ctype **types = realloc(table->types, capacity * sizeof *types);
    if (!types) return NULL;
    table->types = types;
    table->capacity = capacity;
  }
  ctype *type = ct_alloc(table, sizeof *type);
  if (!type) return NULL;
  *type = (ctype){.kind = kind, .id = table->count, .size = CT_NOSIZE, .align = 1, .base = type};
  table->types[table->count++] = type;
  return type;
}

static size_t mix(size_t hash, size_t value) {
  return (hash ^ value) * 0x9E3779B97F4A7C15u;
}

static size_t bucket_of(size_t hash) {
  return (hash >> 40) % BUCKETS;
}

/* Qualified or aligned otherwise: equal to no type but one of the same base. */
static bool is_variant(const ctype *type) {
  return type->quals || type->demanded;
}

static size_t hash_type(const ctype *key) {
  if (is_variant(key)) return mix(mix(key->base->id, key->quals), key->demanded);
  size_t hash = mix(key->kind, key->child ? key->child->id : 0);
  hash = mix(hash, key->length ^ (key->is_vla ? 64 : 0) ^ (key->variadic ? 128 : 0));
  for (uint32_t i = 0; key->kind == CT_FUNC && i < key->count; i++)
    hash = mix(hash, key->fields[i].type->id);
  return hash;
}

static bool is_same(const ctype *a, const ctype *b) {
  if (a->quals != b->quals || a->demanded != b->demanded) return false;
  if (is_variant(a)) return a->base == b->base;
  if (a->kind != b->kind || a->child != b->child || a->length != b->length ||
      a->is_vla != b->is_vla || a->variadic != b->variadic || a->count != b->count)
    return false;
  if (a->kind != CT_FUNC) return true;
  for (uint32_t i = 0; i < a->count; i++)
    if (a->fields[i].type != b->fields[i].type) return false;
  return true;
}

/* The type equal to `key`, made if there is none. A key that is no variant becomes its own base. */
static ctype *make_once(ct_table *table, const ctype *key) {
  ctype **bucket = &table->made[bucket_of(hash_type(key))];
  for (ctype *type = *bucket; type; type = type->next)
    if (is_same(type, key)) return type;
  ctype *type = ct_new(table, key->kind);
  if (!type || !ct_keep(table, bucket, sizeof *bucket)) return NULL;
  uint32_t id = type->id;
  *type = *key;
  type->id = id;
  if (!is_variant(key)) type->base = type;
  if (key->kind == CT_FUNC && key->count && !is_variant(key)) {
    type->fields = ct_alloc(table, key->count * sizeof *key->fields);
    if (!type->fields) return NULL;
    memcpy(type->fields, key->fields, key->count * sizeof *key->fields);
  }
  type->next = *bucket;
  *bucket = type;
  return type;
}

ctype *ct_pointer(ct_table *table, ctype *child) {
  ctype key = {.kind = CT_PTR, .child = child, .size = sizeof(void *), .align = sizeof(void *)};
  return make_once(table, &key);
}

ctype *ct_array(ct_table *table, ctype *child, size_t length, bool is_vla) {
  ctype key = {.kind = CT_ARRAY, .child = child, .length = length, .is_vla = is_vla};
  key.align = ct_align(child);
  key.size = length == CT_NOSIZE ? CT_NOSIZE : length * child->base->size;
  return make_once(table, &key);
}

ctype *ct_function(ct_table *table, ctype *result, const ct_field *params, uint32_t count,
                   bool variadic) {
  ctype key = {.kind = CT_FUNC,
               .child = result,
               .size = CT_NOSIZE,
               .align = 1,
               .variadic = variadic,
               .count = count,
               .fields = (ct_field *)params};
  return make_once(table, &key);
}

static ctype *variant(ct_table *table, const ctype *base, unsigned quals, uint32_t demanded) {
  ctype key = *base;
  key.quals = (uint8_t)quals;
  key.demanded = demanded;
  key.metatable = 0;
  key.plan = NULL;
  ctype *type = make_once(table, &key);
  if (!type || type->size == base->size) return type;
  if (!ct_keep(table, type, sizeof *type)) return NULL;
  key.id = type->id; /* of a struct whose body has come since */
  key.next = type->next;
  *type = key;
  return type;
}

ctype *ct_qualified(ct_table *table, ctype *type, unsigned quals) {
  if (type->kind == CT_ARRAY) { /* an array is const where its elements are */
    ctype *child = ct_qualified(table, type->child, quals);
    ctype *array = child ? ct_array(table, child, type->length, type->is_vla) : NULL;
    return array && type->demanded ? ct_aligned(table, array, type->demanded) : array;
  }
  quals |= type->quals;
  if (quals == type->quals || type->kind == CT_FUNC) return type;
  return variant(table, type->base, quals, type->demanded);
}

ctype *ct_aligned(ct_table *table, ctype *type, uint32_t align) {
  if (type->kind == CT_FUNC || align == ct_align(type)) return type;
  return variant(table, type->base, type->quals, align);
}

bool ct_same(const ctype *a, const ctype *b) {
  if (a->base == b->base) return true;
  if (a->kind != b->kind || (a->kind != CT_PTR && a->kind != CT_ARRAY)) return false;
  return a->length == b->length && a->is_vla == b->is_vla && a->child->quals == b->child->quals &&
         ct_same(a->child, b->child);
}

/* ---- definitions that say the same ---- */

static bool alike(const ctype *a, const ctype *b, int *left);

static bool alike_name(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool alike_fields(const ctype *a, const ctype *b, int *left) {
  if (a->count != b->count || a->size != b->size || a->align != b->align) return false;
  for (uint32_t i = 0; i < a->count; i++) {
    const ct_field *x = &a->fields[i], *y = &b->fields[i];
    if (!alike_name(x->name, y->name) || x->offset != y->offset || x->value != y->value ||
        x->bit != y->bit || x->bits != y->bits || !alike(x->type, y->type, left))
      return false;
  }
  return true;
}

/* Types of which each is itself only for want of a tag are compared by what they hold. */
static bool alike(const ctype *a, const ctype *b, int *left) {
  if (a == b) return true;
  if (--*left < 0 || a->kind < CT_ENUM || a->kind != b->kind || a->quals != b->quals ||
      a->demanded != b->demanded || a->length != b->length || a->is_vla != b->is_vla ||
      a->is_union != b->is_union || a->variadic != b->variadic || a->base->name || b->base->name)
    return false;
  if (a->child != b->child && !(a->child && b->child && alike(a->child, b->child, left)))
    return false;
  return alike_fields(a->base, b->base, left);
}

bool ct_alike(const ctype *a, const ctype *b) {
  int left = 1 << 16; /* types within types, each twice, would take for ever */
  return a->is_vla == b->is_vla && a->child == b->child && alike_fields(a, b, &left);
}

/* ---- names ---- */

static size_t hash_name(const char *name, size_t length) {
  size_t hash = length;
  for (size_t i = 0; i < length; i++) hash = mix(hash, (unsigned char)name[i]);
  return hash;
}

ct_symbol *ct_find(const ct_table *table, const char *name, size_t length, bool tag) {
  ct_symbol *s = table->symbols[tag][bucket_of(hash_name(name, length))];
  while (s && (strncmp(s->name, name, length) != 0 || s->name[length])) s = s->next;
  return s;
}

ct_symbol *ct_declare(ct_table *table, const char *name, ct_symbol_kind kind, ctype *type) {
  size_t length = strlen(name);
  bool tag = kind == CT_TAG;
  ct_symbol *symbol = ct_find(table, name, length, tag);
  if (!symbol) {
    symbol = ct_alloc(table, sizeof *symbol);
    const char *copy = ct_string(table, name, length);
    ct_symbol **bucket = &table->symbols[tag][bucket_of(hash_name(name, length))];
    if (!symbol || !copy || !ct_keep(table, bucket, sizeof *bucket)) return NULL;
    symbol->name = copy;
    symbol->next = *bucket;
    *bucket = symbol;
  }
  if (!ct_keep(table, symbol, sizeof *symbol)) return NULL;
  symbol->kind = kind;
  symbol->type = type;
  symbol->value = 0;
  symbol->label = NULL;
  return symbol;
}

/* ---- what is there from the start ---- */

static const struct {
  ct_kind kind;
  size_t size;
  bool is_unsigned;
} BASIC[CTID_BASIC] = {
    [CTID_VOID] = {CT_VOID, CT_NOSIZE, false},
    [CTID_BOOL] = {CT_BOOL, sizeof(bool), true},
    [CTID_CHAR] = {CT_INT, 1, (char)-1 > 0},
    [CTID_SCHAR] = {CT_INT, 1, false},
    [CTID_UCHAR] = {CT_INT, 1, true},
    [CTID_SHORT] = {CT_INT, 2, false},
    [CTID_USHORT] = {CT_INT, 2, true},
    [CTID_INT] = {CT_INT, 4, false},
    [CTID_UINT] = {CT_INT, 4, true},
    [CTID_INT64] = {CT_INT, 8, false},
    [CTID_UINT64] = {CT_INT, 8, true},
    [CTID_FLOAT] = {CT_FLOAT, 4, false},
    [CTID_DOUBLE] = {CT_FLOAT, 8, false},
    [CTID_LDOUBLE] = {CT_FLOAT, sizeof(long double), false},
    [CTID_COMPLEX_FLOAT] = {CT_STRUCT, 8, false},
    [CTID_COMPLEX] = {CT_STRUCT, 16, false},
    [CTID_COMPLEX_LDOUBLE] = {CT_STRUCT, 2 * sizeof(long double), false},
    [CTID_INT128] = {CT_STRUCT, 16, false},
    [CTID_UINT128] = {CT_STRUCT, 16, false},
    [CTID_FLOAT128] = {CT_STRUCT, 16, false},
    [CTID_COMPLEX_FLOAT128] = {CT_STRUCT, 32, false},
};

static const struct {
  const char *name;
  int id;
} TYPEDEFS[] = {
    {"int8_t", CTID_SCHAR},        {"uint8_t", CTID_UCHAR},    {"int16_t", CTID_SHORT},
    {"uint16_t", CTID_USHORT},     {"int32_t", CTID_INT},      {"uint32_t", CTID_UINT},
    {"int64_t", CTID_INT64},       {"uint64_t", CTID_UINT64},  {"intptr_t", CTID_INT64},
    {"ssize_t", CTID_INT64},       {"uintptr_t", CTID_UINT64}, {"ptrdiff_t", CTID_INT64},
    {"size_t", CTID_UINT64},       {"wchar_t", CTID_INT},      {"__int128_t", CTID_INT128},
    {"__uint128_t", CTID_UINT128},
};

/* A complex number has two parts; what has none can be declared, pointed to and no more. */
static bool make_word(ct_table *table, int id, const char *name, int part) {
  ctype *type = ct_get(table, (uint32_t)id);
  type->is_word = true;
  type->name = name;
  if (type->align > 16) type->align = 16;
  if (!part) return true;
  ctype *number = ct_get(table, (uint32_t)part);
  ct_field *fields = ct_alloc(table, 2 * sizeof *fields);
  if (!fields) return false;
  fields[0] = (ct_field){.name = "re", .type = number};
  fields[1] = (ct_field){.name = "im", .type = number, .offset = number->size};
  type->fields = fields;
  type->count = 2;
  type->align = number->align;
  return true;
}

static bool make_words(ct_table *table) {
  return make_word(table, CTID_COMPLEX_FLOAT, "complex float", CTID_FLOAT) &&
         make_word(table, CTID_COMPLEX, "complex", CTID_DOUBLE) &&
         make_word(table, CTID_COMPLEX_LDOUBLE, "complex long double", CTID_LDOUBLE) &&
         make_word(table, CTID_INT128, "__int128", 0) &&
         make_word(table, CTID_UINT128, "unsigned __int128", 0) &&
         make_word(table, CTID_FLOAT128, "_Float128", 0) &&
         make_word(table, CTID_COMPLEX_FLOAT128, "complex _Float128", 0);
}

static bool fill(ct_table *table) {
  for (int i = 0; i < CTID_BASIC; i++) {
    ctype *type = ct_new(table, BASIC[i].kind);
    if (!type) return false;
    type->size = BASIC[i].size;
    type->align = type->size == CT_NOSIZE ? 1 : (uint32_t)type->size;
    type->is_unsigned = BASIC[i].is_unsigned;
  }
  if (!make_words(table)) return false;
  /* char is one of the two others here, as it is in LuaJIT */
  table->types[(char)-1 > 0 ? CTID_UCHAR : CTID_SCHAR] = table->types[CTID_CHAR];
  for (size_t i = 0; i < sizeof TYPEDEFS / sizeof *TYPEDEFS; i++)
    if (!ct_declare(table, TYPEDEFS[i].name, CT_TYPEDEF, ct_get(table, (uint32_t)TYPEDEFS[i].id)))
      return false;
  ctype *list = ct_pointer(table, ct_get(table, CTID_VOID)); /* handed on, never looked into */
  return list && ct_declare(table, "va_list", CT_TYPEDEF, list) &&
         ct_declare(table, "__builtin_va_list", CT_TYPEDEF, list) &&
         ct_declare(table, "__gnuc_va_list", CT_TYPEDEF, list);
}

ct_table *ct_table_new(void) {
  ct_table *table = calloc(1, sizeof *table);
  if (table && fill(table)) return table;
  ct_table_free(table);
  return NULL;
}
