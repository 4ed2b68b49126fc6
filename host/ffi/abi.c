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
/* Mark which of the 8-byte words of `type`, `offset` bytes into the whole, hold an integer. true: a
 * member lies where its type may not, and the whole goes through memory. */
static bool mark_words(lua_State *L, const ctype *type, size_t offset, bool integer[2]) {
  bool memory = false;
  if (type->kind == CT_STRUCT) {
    for (uint32_t i = 0; i < type->base->count; i++) {
      const ct_field *field = &type->base->fields[i];
      if (field->bits)
        integer[(offset + field->offset + field->bit / 8) / 8 & 1] = true;
      else if (!field->value)
        memory |= mark_words(L, field->type, offset + field->offset, integer);
    }
  } else if (type->kind == CT_ARRAY) {
    for (size_t i = 0; type->length != CT_NOSIZE && i < type->length; i++)
      memory |= mark_words(L, type->child, offset + i * type->child->base->size, integer);
  } else if (type->size == sizeof(long double)) {
    not_by_value(L, type); /* a class of its own */
  } else {
    memory = offset % type->base->size != 0;
    if (type->kind != CT_FLOAT) integer[offset / 8 & 1] = true;
  }
  return memory;
}

/* libffi puts what is over 32 bytes into memory, and a struct that begins with such a member. */
static const ffi_type in_memory = {.size = 64, .alignment = 1, .type = FFI_TYPE_STRUCT};

static ffi_type **struct_elements(lua_State *L, pg_ffi *f, const ctype *type) {
  bool integer[2] = {false, false};
  size_t words = (type->size + 7) / 8;
  ffi_type **elements = need(L, f, 3 * sizeof *elements);
  if (words > 2 || mark_words(L, type, 0, integer)) {
    elements[0] = (ffi_type *)&in_memory;
    return elements;
  }
  for (size_t i = 0; i < words; i++) {
    bool half = type->size - i * 8 < 8;
    elements[i] = integer[i] ? &ffi_type_uint64 : half ? &ffi_type_float : &ffi_type_double;
    if (half && integer[i]) elements[i] = &ffi_type_uint32;
  }
  return elements;
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
#endif

static ffi_type *struct_type(lua_State *L, pg_ffi *f, ctype *type) {
  type = type->base;
  if (type->plan) return type->plan->type;
  if (type->size == CT_NOSIZE || type->size == 0 || type->is_vla) not_by_value(L, type);
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
    return type->base->is_unsigned ? &ffi_type_uint32 : &ffi_type_sint32;
  case CT_INT: return integer_type(type);
  case CT_FLOAT:
    return type->size == 4   ? &ffi_type_float
           : type->size == 8 ? &ffi_type_double
                             : &ffi_type_longdouble;
  case CT_STRUCT: return struct_type(L, f, type);
  default: return &ffi_type_pointer;
  }
}

pg_plan *ffi_plan(lua_State *L, pg_ffi *f, ctype *function) {
  if (function->plan) return function->plan;
  pg_plan *plan = need(L, f, sizeof *plan);
  plan->types = need(L, f, (function->count + 1) * sizeof *plan->types);
  for (uint32_t i = 0; i < function->count; i++)
    plan->types[i] = ffi_type_of(L, f, function->fields[i].type);
  ffi_type *result = ffi_type_of(L, f, function->child);
  ffi_status status =
      ffi_prep_cif(&plan->cif, FFI_DEFAULT_ABI, function->count, result, plan->types);
  if (status != FFI_OK) not_by_value(L, function);
  plan->direct = ffi_is_direct(function);
  function->plan = plan;
  return plan;
}
