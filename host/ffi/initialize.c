/* Initialisers: what follows the type in ffi.new, tables, and text for arrays of characters.
 * One element for an array fills all of it; otherwise the rest is zero. */
#include "cdata.h"

#include <string.h>

/* Where values go: bytes there (CT_NOSIZE: not known), and what a message says of the place. */
typedef struct room {
  char *at;
  size_t size;
  const pg_target *target;
} room;

static room within(const room *to, size_t offset) {
  size_t size = to->size == CT_NOSIZE ? CT_NOSIZE : to->size - offset;
  return (room){to->at + offset, size, to->target};
}

static _Noreturn void too_many(lua_State *L, const ctype *type) {
  char name[CT_NAME_MAX];
  ffi_fail(L, PG_RANGE, "too many initializers for '%s'", ct_name(type, false, name));
}

/* As much of the text as fits, with its zero when there is room. */
void ffi_store_text(lua_State *L, void *at, size_t size, int index) {
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  if (size == CT_NOSIZE) ffi_fail(L, PG_INVALID, "an array whose length is not known");
  memcpy(at, text, length < size ? length + 1 : size);
}

/* ---- arrays ---- */

static void store_element(lua_State *L, pg_ffi *f, ctype *type, const room *to, size_t used,
                          int index) {
  size_t step = type->child->base->size;
  if (to->size != CT_NOSIZE && used + step > to->size) too_many(L, type);
  ffi_store(L, f, type->child, to->at + used, index, to->target);
}

static void finish_array(const ctype *type, const room *to, size_t used) {
  size_t step = type->child->base->size;
  if (to->size == CT_NOSIZE || used > to->size) return;
  if (used == step && step)
    for (; used + step <= to->size; used += step) memcpy(to->at + used, to->at, step);
  else
    memset(to->at + used, 0, to->size - used);
}

static void array_table(lua_State *L, pg_ffi *f, ctype *type, const room *to, int index) {
  size_t used = 0, step = type->child->base->size;
  if (to->size == CT_NOSIZE) ffi_fail(L, PG_INVALID, "an array whose length is not known");
  for (lua_Integer i = 0;; i++) {
    if (lua_geti(L, index, i) == LUA_TNIL) {
      lua_pop(L, 1);
      if (i == 0) continue; /* a table that begins at 1 */
      break;
    }
    store_element(L, f, type, to, used, -1);
    used += step;
    lua_pop(L, 1);
  }
  finish_array(type, to, used);
}

/* `target` is that of `to`, and goes from one argument to the next. */
static void array_values(lua_State *L, pg_ffi *f, ctype *type, const room *to, pg_target *target,
                         int first, int count) {
  size_t used = 0, step = type->child->base->size;
  if (to->size != CT_NOSIZE && (size_t)count * step > to->size) too_many(L, type);
  for (int i = 0; i < count; i++, used += step, target->argument++)
    store_element(L, f, type, to, used, first + i);
  finish_array(type, to, used);
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

static void whole(lua_State *L, pg_ffi *f, ctype *type, const room *to, int index);

/* A member; an array at the end that is as long as the memory that was asked for has all of it. */
static void store_member(lua_State *L, pg_ffi *f, const ct_field *field, const room *to,
                         int index) {
  room there = within(to, field->offset);
  bool is_open = field->type->kind == CT_ARRAY && field->type->size == CT_NOSIZE;
  if (is_open && to->size != CT_NOSIZE)
    whole(L, f, field->type, &there, lua_absindex(L, index));
  else
    ffi_store_field(L, f, field, there.at, index, to->target);
}

static void struct_table(lua_State *L, pg_ffi *f, const ctype *type, const room *to, int index,
                         lua_Integer *next) {
  bool stop = false;
  ffi_room(L, 4);
  for (uint32_t i = 0; i < type->base->count && !stop; i++) {
    const ct_field *field = &type->base->fields[i];
    if (is_transparent(field)) {
      room there = within(to, field->offset);
      struct_table(L, f, field->type, &there, index, next);
      if (type->is_union) return;
    } else if (field->name && member_value(L, field, index, next, &stop)) {
      store_member(L, f, field, to, -1);
      lua_pop(L, 1);
      if (type->is_union) return;
    }
  }
}

static void struct_values(lua_State *L, pg_ffi *f, const ctype *type, const room *to,
                          pg_target *target, int *first, int last) {
  for (uint32_t i = 0; i < type->base->count && *first <= last; i++) {
    const ct_field *field = &type->base->fields[i];
    if (is_transparent(field)) {
      room there = within(to, field->offset);
      struct_values(L, f, field->type, &there, target, first, last);
    } else if (field->name) {
      store_member(L, f, field, to, (*first)++);
      target->argument++;
    } else {
      continue;
    }
    if (type->is_union) return;
  }
}

static void store_table(lua_State *L, pg_ffi *f, ctype *type, const room *to, int index) {
  index = lua_absindex(L, index);
  ffi_room(L, 4);
  if (type->kind == CT_ARRAY) {
    array_table(L, f, type, to, index);
    return;
  }
  lua_Integer next = 0;
  if (to->size != CT_NOSIZE) memset(to->at, 0, to->size);
  struct_table(L, f, type, to, index, &next);
}

void ffi_store_table(lua_State *L, pg_ffi *f, ctype *type, void *at, int index,
                     const pg_target *target) {
  store_table(L, f, type, &(room){at, type->base->size, target}, index);
}

/* ---- ffi.new ---- */

/* Is the one value given the whole, and not its first element? */
static bool is_whole(lua_State *L, pg_ffi *f, const ctype *type, int index) {
  if (type->kind != CT_ARRAY && type->kind != CT_STRUCT) return true;
  if (lua_istable(L, index)) return true;
  if (lua_type(L, index) == LUA_TSTRING && type->kind == CT_ARRAY) return true;
  const cdata *cd = cdata_test(L, f, index);
  return cd && (ct_same(cd->type, type) || (ct_is_complex(cd->type) && ct_is_complex(type)));
}

static void whole(lua_State *L, pg_ffi *f, ctype *type, const room *to, int index) {
  const cdata *cd = cdata_test(L, f, index);
  if (lua_istable(L, index) && (type->kind == CT_ARRAY || type->kind == CT_STRUCT)) {
    store_table(L, f, type, to, index);
  } else if (lua_type(L, index) == LUA_TSTRING && ct_is_text(type)) {
    ffi_store_text(L, to->at, to->size, index);
  } else if (cd && (type->kind == CT_ARRAY || type->kind == CT_STRUCT) && !ct_is_complex(type)) {
    size_t known = cd->size == CT_NOSIZE ? cd->type->base->size : cd->size;
    if (known == CT_NOSIZE) ffi_cannot(L, f, type, index, to->target);
    memcpy(to->at, cd->at, known < to->size ? known : to->size);
  } else {
    ffi_store(L, f, type, to->at, index, to->target);
  }
}

void ffi_initialize(lua_State *L, pg_ffi *f, cdata *cd, int first, const pg_target *target) {
  ctype *type = cd->type;
  int count = lua_gettop(L) - first; /* `cd` lies on top */
  pg_target at = *target;
  room to = {cd->at, cd->size, &at};
  if (count <= 0) return;
  if (count == 1 && is_whole(L, f, type, first)) {
    whole(L, f, type, &to, first);
  } else if (type->kind == CT_ARRAY) {
    array_values(L, f, type, &to, &at, first, count);
  } else if (type->kind == CT_STRUCT) {
    int last = first + count - 1;
    struct_values(L, f, type, &to, &at, &first, last);
    if (first <= last) too_many(L, type);
  } else {
    too_many(L, type);
  }
}
