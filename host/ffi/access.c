/* Indexing of cdata: members, elements, metatypes; reading and writing.
 * NULL is never followed, and an index must lie within an array whose length is known. */
#include "cdata.h"

#include <string.h>

/* What an index leads to. */
typedef struct spot {
  ctype *type;
  char *at;
  const ct_field *field; /* a member, or NULL */
  size_t size;           /* bytes there, when the type does not say */
} spot;

static _Noreturn void cannot_index(lua_State *L, pg_ffi *f, const ctype *type, int key) {
  char name[CT_NAME_MAX], with[CT_NAME_MAX];
  ct_name(type, false, name);
  if (lua_type(L, key) == LUA_TSTRING)
    ffi_fail(L, PG_NOT_FOUND, "'%s' has no member named '%.100s'", name, lua_tostring(L, key));
  ffi_fail(L, PG_INVALID, "'%s' cannot be indexed with '%s'", name, ffi_type_text(L, f, key, with));
}

static _Noreturn void null_pointer(lua_State *L, const ctype *type) {
  char name[CT_NAME_MAX];
  ffi_fail(L, PG_INVALID, "attempt to follow a NULL '%s'", ct_name(type, false, name));
}

/* ---- elements ---- */

static size_t element_count(const cdata *cd) {
  const ctype *type = cd->type;
  if (type->length != CT_NOSIZE) return type->length;
  size_t step = type->child->base->size;
  return cd->size == CT_NOSIZE || !step ? CT_NOSIZE : cd->size / step;
}

static void check_bounds(lua_State *L, const cdata *cd, int64_t i) {
  size_t count = element_count(cd);
  if (count == CT_NOSIZE || (i >= 0 && (uint64_t)i < count)) return;
  char name[CT_NAME_MAX];
  ffi_fail(L, PG_RANGE, "index %lld of '%s', which has %zu elements", (long long)i,
           ct_name(cd->type, false, name), count);
}

static void element(lua_State *L, const cdata *cd, int64_t i, spot *out) {
  const ctype *type = cd->type;
  ctype *child = type->child;
  if (child->base->size == CT_NOSIZE)
    ffi_fail(L, PG_INVALID, "size of C type is unknown or too large");
  if (type->kind == CT_ARRAY)
    check_bounds(L, cd, i);
  else if (!cdata_address(cd))
    null_pointer(L, type);
  *out = (spot){.type = child, .size = child->base->size};
  out->at = ffi_offset(cdata_address(cd), (uint64_t)i * child->base->size);
}

/* c[0] and c[1] of a complex number are its parts. */
static bool part(lua_State *L, pg_ffi *f, const cdata *cd, int key, spot *out) {
  pg_number number;
  if (!ct_is_complex(cd->type) || !ffi_lua_number(L, f, key, &number)) return false;
  if (number.is_float) number.i = ffi_to_int(number.d);
  if (number.i != 0 && number.i != 1)
    ffi_fail(L, PG_RANGE, "index %lld of a complex number: expected 0 or 1", (long long)number.i);
  const ct_field *field = &cd->type->base->fields[number.i];
  *out = (spot){.type = field->type, .at = (char *)cd->at + field->offset, .field = field};
  return true;
}

/* ---- members ---- */

static bool member(lua_State *L, const cdata *cd, int key, spot *out) {
  const ctype *type = cd->type;
  bool points = type->kind == CT_PTR;
  if (points) type = type->child;
  if (type->kind != CT_STRUCT) return false;
  size_t offset;
  const char *name = ffi_text(L, key);
  const ct_field *field = name ? ct_member(type->base, name, &offset) : NULL;
  if (!field) return false;
  void *base = cdata_address(cd);
  if (!base) null_pointer(L, cd->type);
  *out = (spot){
      .type = field->type, .at = ffi_offset(base, offset), .field = field, .size = CT_NOSIZE};
  if (!points && cd->size != CT_NOSIZE && cd->size >= offset) out->size = cd->size - offset;
  return true;
}

/* false: the metatype is to be asked. */
static bool locate(lua_State *L, pg_ffi *f, const cdata *cd, int key, spot *out) {
  pg_number number;
  if (lua_type(L, key) == LUA_TSTRING) return member(L, cd, key, out);
  if (part(L, f, cd, key, out)) return true;
  bool indexed = cd->type->kind == CT_PTR || cd->type->kind == CT_ARRAY;
  if (!indexed || !ffi_lua_number(L, f, key, &number)) return false;
  element(L, cd, number.is_float ? ffi_to_int(number.d) : number.i, out);
  return true;
}

/* What owns the memory of `cd`, as a stack index; 0: nothing known. Pushes. */
static int push_owner(lua_State *L, const cdata *cd, int index) {
  if (!cd->reference) {
    lua_pushvalue(L, index);
    return cd->type->kind == CT_PTR ? 0 : lua_gettop(L);
  }
  lua_getiuservalue(L, index, 1);
  return lua_gettop(L);
}

static void push_spot(lua_State *L, pg_ffi *f, const cdata *cd, const spot *s) {
  int kind = s->type->kind;
  if (kind != CT_STRUCT && kind != CT_ARRAY) {
    if (s->field)
      ffi_push_field(L, f, s->field, s->type, s->at, 0);
    else
      ffi_push(L, f, s->type, s->at, 0);
    return;
  }
  int owner = push_owner(L, cd, 1);
  size_t size = s->type->base->size;
  bool open = size == CT_NOSIZE || (kind == CT_STRUCT && s->type->base->is_vla);
  cdata_refer(L, f, s->type, s->at, open ? s->size : size, owner);
}

/* __index of the metatype: a function, or something to index. */
static int metatype_index(lua_State *L, pg_ffi *f, const ctype *type) {
  if (!ctype_metamethod(L, type, "__index")) cannot_index(L, f, type, 2);
  if (lua_isfunction(L, -1)) {
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
  }
  lua_pushvalue(L, 2);
  lua_gettable(L, -2);
  return 1;
}

static int callback_method(lua_State *L, const ctype *type) {
  const char *name = ffi_text(L, 2);
  return name && type->kind == CT_PTR && type->child->kind == CT_FUNC &&
         ffi_callback_method(L, name);
}

static int cdata_index(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const cdata *cd = cdata_test(L, f, 1);
  spot s;
  if (!cd) pg_lua_argument(L, 1, "cdata");
  if (!locate(L, f, cd, 2, &s))
    return callback_method(L, cd->type) || metatype_index(L, f, cd->type);
  push_spot(L, f, cd, &s);
  return 1;
}

static bool is_constant(const cdata *cd, const spot *s) {
  if (s->type->quals & CT_CONST) return true;
  if (!s->field) return false;
  const ctype *holder = cd->type->kind == CT_PTR ? cd->type->child : cd->type;
  return holder->quals & CT_CONST || ct_is_complex(holder); /* a number, whose parts stay */
}

static int metatype_newindex(lua_State *L, pg_ffi *f, const ctype *type) {
  if (!ctype_metamethod(L, type, "__newindex")) cannot_index(L, f, type, 2);
  if (lua_isfunction(L, -1)) {
    lua_insert(L, 1);
    lua_call(L, 3, 0);
    return 0;
  }
  lua_insert(L, 2);
  lua_settable(L, 2);
  return 0;
}

static int cdata_newindex(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const cdata *cd = cdata_test(L, f, 1);
  spot s;
  if (!cd) pg_lua_argument(L, 1, "cdata");
  if (!locate(L, f, cd, 2, &s)) return metatype_newindex(L, f, cd->type);
  if (is_constant(cd, &s)) ffi_fail(L, PG_INVALID, "attempt to write to constant location");
  if (s.field)
    ffi_store_field(L, f, s.field, s.at, 3, NULL);
  else
    ffi_store(L, f, s.type, s.at, 3, NULL);
  return 0;
}

/* A ctype object: what its metatype's __index has, for T.method. */
static int ctype_index(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const ctype *type = ctype_test(L, f, 1);
  if (!type) pg_lua_argument(L, 1, "ctype");
  return metatype_index(L, f, type);
}

void ffi_open_access(lua_State *L, pg_ffi *f) {
  static const luaL_Reg functions[] = {
      {"__index", cdata_index}, {"__newindex", cdata_newindex}, {NULL, NULL}};
  lua_pushlightuserdata(L, f);
  luaL_setfuncs(L, functions, 1);
}

void ffi_open_ctype_access(lua_State *L, pg_ffi *f) {
  lua_pushlightuserdata(L, f);
  lua_pushcclosure(L, ctype_index, 1);
  lua_setfield(L, -2, "__index");
}
