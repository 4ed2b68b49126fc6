/* cdata and ctype objects: made, recognised, named.
 * A cdata is recognised by its tag, a ctype by its metatable. */
#include "cdata.h"
#include "parse.h"

#include <stdio.h>
#include <string.h>

_Noreturn void ffi_fail(lua_State *L, pg_code code, const char *format, ...) {
  pg_error error;
  va_list args;
  va_start(args, format);
  pg_failv(&error, code, format, args);
  va_end(args);
  if (!*error.message) pg_fail(&error, code, "%s", format);
  error.hint[0] = error.where[0] = 0;
  pg_lua_raise(L, &error);
  __builtin_unreachable();
}

_Noreturn void ffi_closed(lua_State *L) {
  ffi_fail(L, PG_INVALID, "the Lua state is being closed, and its ffi is");
}

void ffi_room(lua_State *L, int slots) {
  if (!lua_checkstack(L, slots)) ffi_fail(L, PG_RANGE, "too many values for Lua's stack");
}

ctype *ffi_need(lua_State *L, ctype *type) {
  if (!type) ffi_fail(L, PG_MEMORY, "no memory for a C type");
  return type;
}

const char *ffi_type_text(lua_State *L, pg_ffi *f, int index, char text[CT_NAME_MAX]) {
  const cdata *cd = cdata_test(L, f, index);
  if (cd) return ct_name(cd->type, false, text);
  if (ctype_test(L, f, index)) return "ctype";
  const pg_array *array = pg_lua_test_array(L, index);
  if (array) {
    snprintf(text, CT_NAME_MAX, "array of %.100s", array->dtype.name);
    return text;
  }
  if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING) return lua_tostring(L, -1);
  return luaL_typename(L, index);
}

/* ---- recognised ---- */

static const void *metatable_of(lua_State *L, int index) {
  if (!lua_getmetatable(L, index)) return NULL;
  const void *at = lua_topointer(L, -1);
  lua_pop(L, 1);
  return at;
}

ctype *ctype_test(lua_State *L, pg_ffi *f, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA || metatable_of(L, index) != f->meta_ctype) return NULL;
  return *(ctype **)lua_touserdata(L, index);
}

/* ---- made ---- */

enum { LARGE = 1 << 20 }; /* may be more than there is */

/* Lua aligns userdata to 8 bytes or more. */
static void *align_up(void *at, size_t to) {
  return (void *)(((uintptr_t)at + to - 1) / to * to);
}

static int new_userdata(lua_State *L) {
  lua_newuserdatauv(L, (size_t)lua_tointeger(L, 1), 0);
  return 1;
}

/* Lua's own error for no memory is text. */
static void *new_large(lua_State *L, size_t bytes) {
  lua_pushcfunction(L, new_userdata);
  lua_pushinteger(L, (lua_Integer)bytes);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) ffi_fail(L, PG_MEMORY, "no memory for %zu bytes", bytes);
  return lua_touserdata(L, -1);
}

cdata *cdata_new(lua_State *L, pg_ffi *f, ctype *type, size_t size) {
  size_t align = ct_align(type) > 8 ? ct_align(type) : 8;
  if (size > CT_SIZE_MAX) ffi_fail(L, PG_RANGE, "size of C type is unknown or too large");
  size_t bytes = sizeof(cdata) + align - 8 + (size > 8 ? size : 8);
  cdata *cd = bytes < LARGE ? lua_newuserdatauv(L, bytes, 0) : new_large(L, bytes);
  void *at = align_up(cd + 1, align);
  *cd = (cdata){.tag = f, .type = type, .at = at, .size = size};
  memset(at, 0, size > 8 ? size : 8);
  lua_rawgeti(L, LUA_REGISTRYINDEX, f->meta_ref);
  lua_setmetatable(L, -2);
  return cd;
}

cdata *cdata_refer(lua_State *L, pg_ffi *f, ctype *type, void *at, size_t size, int owner) {
  if (owner) owner = lua_absindex(L, owner);
  cdata *cd = lua_newuserdatauv(L, sizeof *cd, 1);
  *cd = (cdata){.tag = f, .type = type, .at = at, .size = size, .reference = true};
  if (owner) {
    lua_pushvalue(L, owner);
    lua_setiuservalue(L, -2, 1);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, f->meta_ref);
  lua_setmetatable(L, -2);
  return cd;
}

void cdata_push_pointer(lua_State *L, pg_ffi *f, ctype *type, void *value) {
  *(void **)cdata_new(L, f, type, sizeof value)->at = value;
}

void ctype_push(lua_State *L, pg_ffi *f, ctype *type) {
  *(ctype **)lua_newuserdatauv(L, sizeof type, 0) = type;
  lua_rawgeti(L, LUA_REGISTRYINDEX, f->meta_ctype_ref);
  lua_setmetatable(L, -2);
}

bool ctype_metamethod(lua_State *L, const ctype *type, const char *event) {
  if (type->kind == CT_PTR) type = type->child;
  int ref = type->base->metatable;
  if (!ref) return false;
  lua_rawgeti(L, LUA_REGISTRYINDEX, ref);
  lua_getfield(L, -1, event);
  lua_remove(L, -2);
  if (!lua_isnil(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

/* ---- from text ---- */

int ctype_arguments(lua_State *L, pg_ffi *f, int first, ct_argument args[ARGUMENTS_MAX]) {
  int count = first ? lua_gettop(L) - first + 1 : 0;
  if (count > ARGUMENTS_MAX) ffi_fail(L, PG_RANGE, "more than %d arguments for '$'", ARGUMENTS_MAX);
  for (int i = 0; i < count; i++) {
    int index = first + i;
    const cdata *cd = cdata_test(L, f, index);
    pg_number number;
    args[i] = (ct_argument){.type = cd ? cd->type : ctype_test(L, f, index)};
    if (args[i].type && !(cd && ct_is_number(cd->type))) {
      args[i].kind = CT_ARG_TYPE;
    } else if (ffi_text(L, index)) {
      args[i].kind = CT_ARG_NAME;
      args[i].name = lua_tostring(L, index);
    } else if (ffi_lua_number(L, f, index, &number)) {
      args[i].kind = CT_ARG_NUMBER;
      args[i].number = number.is_float ? ffi_to_int(number.d) : number.i;
    } else {
      pg_lua_argument(L, index, "C type, name or number");
    }
  }
  return count < 0 ? 0 : count;
}

static ctype *parse_text(lua_State *L, pg_ffi *f, int index, int first_arg) {
  ct_argument args[ARGUMENTS_MAX];
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  ctype *type;
  pg_error error;
  int count = ctype_arguments(L, f, first_arg, args);
  if (ct_parse_type(f->types, text, length, args, count, &type, &error)) {
    error.hint[0] = error.where[0] = 0;
    pg_lua_raise(L, &error);
  }
  return type;
}

/* The text's type, remembered while no declaration is added. A body is a new type each time. */
static ctype *type_of_text(lua_State *L, pg_ffi *f, int index) {
  if (strchr(lua_tostring(L, index), '{')) return parse_text(L, f, index, 0);
  lua_rawgeti(L, LUA_REGISTRYINDEX, f->parsed_ref);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  ctype *type = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (!type) {
    type = parse_text(L, f, index, 0);
    lua_pushvalue(L, index);
    lua_pushlightuserdata(L, type);
    lua_rawset(L, -3);
  }
  lua_pop(L, 1);
  return type;
}

ctype *ctype_check(lua_State *L, pg_ffi *f, int index, int first_arg) {
  if (lua_type(L, index) == LUA_TSTRING) {
    if (first_arg && lua_gettop(L) >= first_arg) return parse_text(L, f, index, first_arg);
    return type_of_text(L, f, index);
  }
  if (lua_isinteger(L, index)) return ct_get(f->types, CTID_INT64);
  const cdata *cd = cdata_test(L, f, index);
  ctype *type = cd ? cd->type : ctype_test(L, f, index);
  if (!type) pg_lua_argument(L, index, "C type");
  return type;
}
