/* How functions are called and structs passed: libffi's view of our types, made once for each.
 * libffi knows neither unions, bit-fields nor packed members; on x86-64 a struct is told by its
 * words. */
#include "cdata.h"

#include <string.h>

static void *need(lua_State *L, pg_ffi *f, size_t bytes) {
  void *at = ct_alloc(f->types, bytes);
  if (!at) ffi_fail(L, PG_MEMORY, "no memory for a C type");
  return at;
}

static ffi_type *integer_type(const ctype *type) {
  static ffi_type *const types[2][4] = {
      {&ffi_type_sint8, &ffi_type_sint16, &ffi_type_sint32, &ffi_type_sint64},
      {&ffi_type_uint8, &ffi_type_uint16, &ffi_type_uint32, &ffi_type_uint64}};
  int log = type->size == 1 ? 0 : type->size == 2 ? 1 : type->size == 4 ? 2 : 3;
  return types[type->is_unsigned][log];
}

static _Noreturn void not_by_value(lua_State *L, const ctype *type) {
  char name[CT_NAME_MAX];
  ffi_fail(L, PG_UNSUPPORTED, "'%s' cannot be passed or returned by value",
           ct_name(type, false, name));
}

#ifdef __x86_64__
/* What an 8-byte word of a struct holds, which says in which register it goes. */
typedef enum held { PADDING, REAL, INTEGER } held;

static void mark_bits(const ct_field *field, size_t offset, held words[2]) {
  size_t first = (offset + field->offset) * 8 + field->bit, last = first + field->bits - 1;
  words[first / 64 & 1] = words[last / 64 & 1] = INTEGER;
}

/* Mark the words of `type`, `offset` bytes into the whole. true: a member lies where its type may
 * not, and the whole goes through memory. */
static bool mark_words(lua_State *L, const ctype *type, size_t offset, held words[2]) {
  bool memory = false;
  if (type->kind == CT_STRUCT) {
    for (uint32_t i = 0; i < type->base->count; i++) {
      const ct_field *field = &type->base->fields[i];
      if (field->bits)
        mark_bits(field, offset, words);
      else if (!field->value)
        memory |= mark_words(L, field->type, offset + field->offset, words);
    }
  } else if (type->kind == CT_ARRAY) {
    for (size_t i = 0; type->length != CT_NOSIZE && i < type->length; i++)
      memory |= mark_words(L, type->child, offset + i * type->child->base->size, words);
  } else if (type->size == sizeof(long double)) {
    not_by_value(L, type); /* a class of its own */
  } else {
    held *at = &words[offset / 8 & 1], holds = type->kind == CT_FLOAT ? REAL : INTEGER;
    if (*at < holds) *at = holds;
    memory = offset % type->base->size != 0;
  }
  return memory;
}

/* libffi puts what is over 32 bytes into memory, and a struct that begins with such a member. */
static const ffi_type in_memory = {.size = 64, .alignment = 1, .type = FFI_TYPE_STRUCT};

static ffi_type **struct_elements(lua_State *L, pg_ffi *f, const ctype *type) {
  held words[2] = {PADDING, PADDING};
  ffi_type **elements = need(L, f, 3 * sizeof *elements);
  if (type->size > 16 || mark_words(L, type, 0, words)) {
    elements[0] = (ffi_type *)&in_memory;
    return elements;
  }
  if (words[0] == PADDING) not_by_value(L, type);
  for (int i = 0; i < 2 && words[i] != PADDING; i++)
    elements[i] = words[i] == REAL ? &ffi_type_double : &ffi_type_uint64;
  return elements;
}

/* Registers taken by the arguments so far. */
typedef struct registers {
  int integers, reals;
} registers;

static registers taken_by_result(const ffi_type *result) {
  bool hidden = result->type == FFI_TYPE_STRUCT && result->elements[0] == &in_memory;
  return (registers){.integers = hidden}; /* where to put it */
}

/* As how many words the next argument is told to libffi. A struct in registers is its words, each
 * an argument: of whole ones libffi 3.4 writes some over another argument, and takes a register for
 * padding. 0: as it is. */
static int take_registers(registers *taken, const ffi_type *type) {
  bool is_struct = type->type == FFI_TYPE_STRUCT;
  int reals = type->type == FFI_TYPE_FLOAT || type->type == FFI_TYPE_DOUBLE;
  int integers = !reals && !is_struct && type->type != FFI_TYPE_LONGDOUBLE;
  if (is_struct && type->elements[0] == &in_memory) return 0;
  for (int i = 0; is_struct && type->elements[i]; i++)
    *(type->elements[i] == &ffi_type_double ? &reals : &integers) += 1;
  if (taken->integers + integers > 6 || taken->reals + reals > 8) return 0; /* on the stack */
  taken->integers += integers;
  taken->reals += reals;
  return is_struct ? integers + reals : 0;
}
#else
static void add_elements(lua_State *L, pg_ffi *f, ctype *type, ffi_type **elements, size_t *count) {
  if (type->kind == CT_STRUCT && type->base->is_union) not_by_value(L, type);
  if (type->kind == CT_STRUCT) {
    for (uint32_t i = 0; i < type->base->count; i++) {
      if (type->base->fields[i].bits) not_by_value(L, type);
      add_elements(L, f, type->base->fields[i].type, elements, count);
    }
  } else if (type->kind == CT_ARRAY) {
    for (size_t i = 0; type->length != CT_NOSIZE && i < type->length; i++)
      add_elements(L, f, type->child, elements, count);
  } else {
    elements[(*count)++] = ffi_type_of(L, f, type);
  }
}

static ffi_type **struct_elements(lua_State *L, pg_ffi *f, const ctype *type) {
  size_t count = 0;
  ffi_type **elements = need(L, f, (type->size + 1) * sizeof *elements); /* a byte each at least */
  add_elements(L, f, (ctype *)type, elements, &count);
  return elements;
}

typedef struct registers {
  int none;
} registers;

static registers taken_by_result(const ffi_type *result) {
  (void)result;
  return (registers){0};
}

static int take_registers(registers *taken, const ffi_type *type) {
  (void)taken, (void)type;
  return 0; /* libffi knows */
}
#endif

static ffi_type *struct_type(lua_State *L, pg_ffi *f, ctype *type) {
  type = type->base;
  if (type->plan) return type->plan->type;
  bool has_class =
      type->is_word && (!type->count || type->size > 16); /* of its own: libffi's none */
  if (type->size == CT_NOSIZE || type->size == 0 || type->is_vla || has_class)
    not_by_value(L, type);
  if (type->align > 16) not_by_value(L, type); /* libffi aligns the stack to 16 */
  ffi_type *made = need(L, f, sizeof *made);
  made->type = FFI_TYPE_STRUCT;
  made->size = type->size;
  made->alignment = (unsigned short)type->align;
  made->elements = struct_elements(L, f, type);
  pg_plan *plan = need(L, f, sizeof *plan);
  plan->type = made;
  type->plan = plan;
  return made;
}

ffi_type *ffi_type_of(lua_State *L, pg_ffi *f, ctype *type) {
  switch (type->kind) {
  case CT_VOID: return &ffi_type_void;
  case CT_BOOL: return &ffi_type_uint8;
  case CT_ENUM:
    if (type->base->size == CT_NOSIZE) not_by_value(L, type);
    return integer_type(type->base);
  case CT_INT: return integer_type(type);
  case CT_FLOAT:
    return type->size == 4   ? &ffi_type_float
           : type->size == 8 ? &ffi_type_double
                             : &ffi_type_longdouble;
  case CT_STRUCT: return struct_type(L, f, type);
  default: return &ffi_type_pointer;
  }
}

/* The next argument. */
static void add_argument(pg_plan *plan, registers *taken, uint32_t index, ffi_type *type) {
  int words = take_registers(taken, type);
  plan->words[index] = (uint8_t)words;
  if (!words) plan->types[plan->count++] = type;
  for (int i = 0; i < words; i++) plan->types[plan->count++] = type->elements[i];
}

pg_plan *ffi_plan(lua_State *L, pg_ffi *f, ctype *function) {
  if (function->plan) return function->plan;
  pg_plan *plan = need(L, f, sizeof *plan);
  plan->types = need(L, f, (2 * function->count + 1) * sizeof *plan->types);
  plan->words = need(L, f, function->count + 1);
  ffi_type *result = ffi_type_of(L, f, function->child);
  registers taken = taken_by_result(result);
  for (uint32_t i = 0; i < function->count; i++)
    add_argument(plan, &taken, i, ffi_type_of(L, f, function->fields[i].type));
  if (ffi_prep_cif(&plan->cif, FFI_DEFAULT_ABI, plan->count, result, plan->types) != FFI_OK)
    not_by_value(L, function);
  plan->direct = ffi_is_direct(function);
  function->plan = plan;
  return plan;
}
