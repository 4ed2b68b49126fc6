/* Initialisers: what follows the type in ffi.new, tables, and text for arrays of characters.
 * One element for an array fills all of it; otherwise the rest is zero. */
#include "cdata.h"

#include <string.h>

static _Noreturn void too_many(lua_State *L, const ctype *type) {
  char name[CT_NAME_MAX];
  ffi_fail(L, PG_RANGE, "too many initializers for '%s'", ct_name(type, false, name));
}

/* As much of the text as fits, with its zero when there is room. */
void ffi_store_text(lua_State *L, pg_ffi *f, ctype *type, char *at, size_t size, int index) {
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  (void)f;
  if (size == CT_NOSIZE) ffi_fail(L, PG_INVALID, "an array whose length is not known");
  length++;
  if (length > size) {
    if (length > size + 1) length = size + 1;
    length--;
  }
  (void)type;
  memcpy(at, text, length);
}

/* ---- arrays ---- */

static void store_element(lua_State *L, pg_ffi *f, ctype *type, char *at, size_t size, size_t used,
                          int index) {
  size_t step = type->child->base->size;
  if (size != CT_NOSIZE && used + step > size) too_many(L, type);
  ffi_store(L, f, type->child, at + used, index, NULL);
}

static void finish_array(const ctype *type, char *at, size_t size, size_t used) {
  size_t step = type->child->base->size;
  if (size == CT_NOSIZE || used > size) return;
  if (used == step && step)
    for (; used + step <= size; used += step) memcpy(at + used, at, step);
  else
    memset(at + used, 0, size - used);
}

static void array_table(lua_State *L, pg_ffi *f, ctype *type, char *at, size_t size, int index) {
  size_t used = 0, step = type->child->base->size;
  if (size == CT_NOSIZE) ffi_fail(L, PG_INVALID, "an array whose length is not known");
  for (lua_Integer i = 0;; i++) {
    if (lua_geti(L, index, i) == LUA_TNIL) {
      lua_pop(L, 1);
      if (i == 0) continue; /* a table that begins at 1 */
      break;
    }
    store_element(L, f, type, at, size, used, -1);
    used += step;
    lua_pop(L, 1);
  }
  finish_array(type, at, size, used);
}

static void array_values(lua_State *L, pg_ffi *f, ctype *type, char *at, size_t size, int first,
                         int count) {
  size_t used = 0, step = type->child->base->size;
  if (size != CT_NOSIZE && (size_t)count * step > size) too_many(L, type);
  for (int i = 0; i < count; i++, used += step)
    store_element(L, f, type, at, size, used, first + i);
  finish_array(type, at, size, used);
}

/* ---- structs ---- */

/* Push the value for a member: by position while *next >= 0, else by name. false: no value. */
static bool member_value(lua_State *L, const ct_field *field, int index, lua_Integer *next,
                         bool *stop) {
  if (*next >= 0) {
    lua_Integer at = *next;
    if (lua_geti(L, index, at) == LUA_TNIL && at == 0) {
      lua_pop(L, 1);
      lua_geti(L, index, ++at);
    }
    if (!lua_isnil(L, -1)) {
      *next = at + 1;
      return true;
    }
    lua_pop(L, 1);
    *stop = *next != 0;
    if (*stop) return false;
    *next = -1;
  }
  if (lua_getfield(L, index, field->name) != LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

static bool is_transparent(const ct_field *field) {
  return !field->name && field->type->kind == CT_STRUCT && !field->value;
}

static void whole(lua_State *L, pg_ffi *f, ctype *type, char *at, size_t size, int index);

/* A member; an array at the end that is as long as the memory that was asked for has all of it. */
static void store_member(lua_State *L, pg_ffi *f, const ct_field *field, char *at, size_t size,
                         int index) {
  bool is_open = field->type->kind == CT_ARRAY && field->type->size == CT_NOSIZE;
  if (is_open && size != CT_NOSIZE)
    whole(L, f, field->type, at + field->offset, size - field->offset, lua_absindex(L, index));
  else
    ffi_store_field(L, f, field, at + field->offset, index);
}

static size_t size_within(const ct_field *field, size_t size) {
  return size == CT_NOSIZE ? CT_NOSIZE : size - field->offset;
}

static void struct_table(lua_State *L, pg_ffi *f, const ctype *type, char *at, size_t size,
                         int index, lua_Integer *next) {
  bool stop = false;
  ffi_room(L, 4);
  for (uint32_t i = 0; i < type->base->count && !stop; i++) {
    const ct_field *field = &type->base->fields[i];
    if (is_transparent(field)) {
      struct_table(L, f, field->type, at + field->offset, size_within(field, size), index, next);
      if (type->is_union) return;
    } else if (field->name && member_value(L, field, index, next, &stop)) {
      store_member(L, f, field, at, size, -1);
      lua_pop(L, 1);
      if (type->is_union) return;
    }
  }
}

static void struct_values(lua_State *L, pg_ffi *f, const ctype *type, char *at, size_t size,
                          int *first, int last) {
  for (uint32_t i = 0; i < type->base->count && *first <= last; i++) {
    const ct_field *field = &type->base->fields[i];
    if (is_transparent(field))
      struct_values(L, f, field->type, at + field->offset, size_within(field, size), first, last);
    else if (field->name)
      store_member(L, f, field, at, size, (*first)++);
    else
      continue;
    if (type->is_union) return;
  }
}

void ffi_store_table(lua_State *L, pg_ffi *f, ctype *type, char *at, size_t size, int index) {
  index = lua_absindex(L, index);
  ffi_room(L, 4);
  if (type->kind == CT_ARRAY) {
    array_table(L, f, type, at, size, index);
    return;
  }
  lua_Integer next = 0;
  if (size != CT_NOSIZE) memset(at, 0, size);
  struct_table(L, f, type, at, size, index, &next);
}

/* ---- ffi.new ---- */

/* Is the one value given the whole, and not its first element? */
static bool is_whole(lua_State *L, pg_ffi *f, const ctype *type, int index) {
  if (type->kind != CT_ARRAY && type->kind != CT_STRUCT) return true;
  if (lua_istable(L, index)) return true;
  if (lua_type(L, index) == LUA_TSTRING && type->kind == CT_ARRAY) return true;
  const cdata *cd = cdata_test(L, f, index);
  return cd && ct_same(cd->type, type);
}

static void whole(lua_State *L, pg_ffi *f, ctype *type, char *at, size_t size, int index) {
  const cdata *cd = cdata_test(L, f, index);
  if (lua_istable(L, index) && (type->kind == CT_ARRAY || type->kind == CT_STRUCT)) {
    ffi_store_table(L, f, type, at, size, index);
  } else if (lua_type(L, index) == LUA_TSTRING && ct_is_text(type)) {
    ffi_store_text(L, f, type, at, size, index);
  } else if (cd && (type->kind == CT_ARRAY || type->kind == CT_STRUCT)) {
    size_t known = cd->size == CT_NOSIZE ? cd->type->base->size : cd->size;
    if (known == CT_NOSIZE) ffi_cannot(L, f, type, index, NULL);
    memcpy(at, cd->at, known < size ? known : size);
  } else {
    ffi_store(L, f, type, at, index, NULL);
  }
}

void ffi_initialize(lua_State *L, pg_ffi *f, ctype *type, void *at, size_t size, int first,
                    int count) {
  if (count == 0) return;
  if (count == 1 && is_whole(L, f, type, first)) {
    whole(L, f, type, at, size, first);
  } else if (type->kind == CT_ARRAY) {
    array_values(L, f, type, at, size, first, count);
  } else if (type->kind == CT_STRUCT) {
    int last = first + count - 1;
    struct_values(L, f, type, at, size, &first, last);
    if (first <= last) too_many(L, type);
  } else {
    too_many(L, type);
  }
}
