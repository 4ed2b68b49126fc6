/* The module `ffi`: LuaJIT's functions over host/ffi.
 * What differs from LuaJIT is listed in host/ffi/README.md. */
#include "../ffi/cdata.h"

#include <dlfcn.h>
#include <string.h>

#define PG_FFI_META "perigee.ffi"

/* ffi.cdef(text [, arguments for `$`...]) */
static int ffi_cdef(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  pg_error error;
  ct_argument args[ARGUMENTS_MAX];
  size_t length;
  if (lua_type(L, 1) != LUA_TSTRING) pg_lua_argument(L, 1, "string");
  const char *text = lua_tolstring(L, 1, &length);
  int count = ctype_arguments(L, f, 2, args);
  pg_code code = ct_declare_text(f->types, text, length, args, count, &error);
  lua_newtable(L); /* names may mean other types now */
  lua_rawseti(L, LUA_REGISTRYINDEX, f->parsed_ref);
  if (!code) return 0;
  error.hint[0] = error.where[0] = 0;
  return pg_lua_raise(L, &error);
}

/* ffi.typeof(ct [, arguments]) */
static int ffi_typeof(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  ctype_push(L, f, ctype_check(L, f, 1, lua_type(L, 1) == LUA_TSTRING ? 2 : 0));
  return 1;
}

static void need_value(lua_State *L, int index) {
  if (lua_isnone(L, index)) pg_lua_argument(L, index, "value");
}

static int check_int(lua_State *L, pg_ffi *f, int index) {
  pg_number number;
  if (!ffi_lua_number(L, f, index, &number)) pg_lua_argument(L, index, "integer");
  return (int)(number.is_float ? ffi_to_int(number.d) : number.i);
}

/* ---- new, cast ---- */

static size_t check_count(lua_State *L, pg_ffi *f, int index) {
  pg_number number;
  if (!ffi_lua_number(L, f, index, &number)) pg_lua_argument(L, index, "number of elements");
  int64_t count = number.is_float ? ffi_to_int(number.d) : number.i;
  if (count < 0 || (uint64_t)count > CT_SIZE_MAX)
    ffi_fail(L, PG_RANGE, "%lld elements", (long long)count);
  return (size_t)count;
}

/* Bytes of a type with `count` elements in its open array. */
static size_t open_size(lua_State *L, const ctype *type, size_t count) {
  const ctype *array = type;
  while (array->kind == CT_STRUCT) array = array->base->fields[array->base->count - 1].type;
  size_t step = array->child->base->size, before = type->kind == CT_STRUCT ? type->base->size : 0;
  if (step && count > CT_SIZE_MAX / step) ffi_fail(L, PG_RANGE, "an array that is too large");
  return before + count * step;
}

/* A number of 64 bits is a Lua integer. */
static bool is_lua_integer(const ctype *type) {
  return type->kind == CT_INT && type->size == 8;
}

static void finalize_by_metatype(lua_State *L, pg_ffi *f, const ctype *type) {
  if (type->kind != CT_STRUCT || !ctype_metamethod(L, type, "__gc")) return;
  lua_pop(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, f->meta_final_ref);
  lua_setmetatable(L, -2);
}

/* A new `type` from the values at stack index 2 on; `target` is that of the first. */
static int make(lua_State *L, pg_ffi *f, ctype *type, pg_target target) {
  int first = 2, count = lua_gettop(L) - 1;
  size_t size = type->base->size;
  if (type->base->is_vla) {
    if (count < 1) ffi_fail(L, PG_INVALID, "the number of elements is missing");
    size = open_size(L, type, check_count(L, f, first));
    first++, target.argument++;
  }
  if (size == CT_NOSIZE) ffi_fail(L, PG_INVALID, "size of C type is unknown or too large");
  ffi_room(L, 8);
  cdata *cd = cdata_new(L, f, type, size);
  ffi_initialize(L, f, cd, first, &target);
  if (is_lua_integer(type)) ffi_push(L, f, type, cd->at, 0);
  finalize_by_metatype(L, f, type);
  return 1;
}

static int ffi_new(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  return make(L, f, ctype_check(L, f, 1, 0), (pg_target){.argument = 2, .name = "new"});
}

static int ctype_call(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  ctype *type = ctype_test(L, f, 1);
  if (!type) pg_lua_argument(L, 1, "ctype");
  if (!ctype_metamethod(L, type, "__new") || type->kind == CT_PTR)
    return make(L, f, type, (pg_target){.argument = 1});
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int ffi_cast(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  ctype *type = ctype_check(L, f, 1, 0);
  pg_target target = {.argument = 2, .name = "cast", .cast = true};
  need_value(L, 2);
  if (!ct_is_number(type) && type->kind != CT_PTR) {
    char name[CT_NAME_MAX];
    ffi_fail(L, PG_INVALID, "cannot cast to '%s'", ct_name(type, false, name));
  }
  if (type->base->size == CT_NOSIZE) ffi_fail(L, PG_INVALID, "size of C type is unknown");
  cdata *cd = cdata_new(L, f, type, type->base->size);
  ffi_store(L, f, type, cd->at, 2, &target);
  if (is_lua_integer(type)) ffi_push(L, f, type, cd->at, 0);
  return 1;
}

/* ---- asking about types ---- */

static int ffi_sizeof(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const cdata *cd = cdata_test(L, f, 1);
  ctype *type = ctype_check(L, f, 1, 0);
  size_t size = type->base->size;
  if (cd && cd->size != CT_NOSIZE && type->base->is_vla)
    size = cd->size;
  else if (type->base->is_vla)
    size = open_size(L, type, check_count(L, f, 2));
  if (size == CT_NOSIZE) return 0;
  lua_pushinteger(L, (lua_Integer)size);
  return 1;
}

static int ffi_alignof(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  lua_pushinteger(L, ct_align(ctype_check(L, f, 1, 0)));
  return 1;
}

/* ffi.offsetof(ct, member): bytes; of a bit-field also its first bit and its width */
static int ffi_offsetof(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const ctype *type = ctype_check(L, f, 1, 0);
  size_t offset;
  if (lua_type(L, 2) != LUA_TSTRING) pg_lua_argument(L, 2, "name of a member");
  if (type->kind != CT_STRUCT) return 0;
  const char *name = ffi_text(L, 2);
  const ct_field *field = name ? ct_member(type->base, name, &offset) : NULL;
  if (!field) return 0;
  lua_pushinteger(L, (lua_Integer)offset);
  if (!field->bits) return 1;
  lua_pushinteger(L, field->bit);
  lua_pushinteger(L, field->bits);
  return 3;
}

static bool is_type(const ctype *wanted, const ctype *got) {
  if (ct_same(wanted, got)) return true;
  if (wanted->kind == got->kind && (wanted->kind == CT_PTR || wanted->kind == CT_ARRAY))
    return wanted->base->size == got->base->size && ct_same_pointee(wanted->child, got->child);
  if (wanted->kind == CT_STRUCT && got->kind == CT_PTR) return wanted->base == got->child->base;
  return false;
}

static int ffi_istype(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const ctype *type = ctype_check(L, f, 1, 0);
  need_value(L, 2);
  const cdata *cd = cdata_test(L, f, 2);
  bool is = cd && is_type(type, cd->type);
  if (lua_isinteger(L, 2)) is = is_lua_integer(type);
  lua_pushboolean(L, is);
  return 1;
}

/* ---- memory ---- */

/* How many bytes the value at `index`, taken for an address, has; CT_NOSIZE: not known. */
static size_t bytes_known(lua_State *L, pg_ffi *f, int index) {
  const cdata *cd = cdata_test(L, f, index);
  const pg_array *array = pg_lua_test_array(L, index);
  if (cd) return cd->type->kind == CT_PTR ? CT_NOSIZE : cd->size;
  if (array) return array->count * array->dtype.size;
  switch (lua_type(L, index)) {
  case LUA_TSTRING: return lua_rawlen(L, index) + 1;
  case LUA_TUSERDATA: return lua_rawlen(L, index);
  default: return CT_NOSIZE;
  }
}

/* The address that argument `index` gives as a `void *` (or a const one), and the bytes known
 * there. */
static void *check_address(lua_State *L, pg_ffi *f, int index, bool only_read, const char *name,
                           size_t *known) {
  const cdata *cd = cdata_test(L, f, index);
  ctype *type = ct_get(f->types, CTID_VOID);
  if (only_read) type = ffi_need(L, ct_qualified(f->types, type, CT_CONST));
  type = ffi_need(L, ct_pointer(f->types, type));
  void *at;
  pg_target target = {.argument = index, .name = name};
  bool is_code = cd && cd->type->kind == CT_FUNC;
  if ((is_code && !only_read) || luaL_testudata(L, index, LUA_FILEHANDLE))
    ffi_cannot(L, f, type, index, &target);
  ffi_store(L, f, type, &at, index, &target);
  *known = bytes_known(L, f, index);
  if (!at) pg_lua_argument(L, index, "address other than NULL");
  return at;
}

static void check_room(lua_State *L, size_t bytes, size_t known, const char *what) {
  if (known != CT_NOSIZE && bytes > known)
    ffi_fail(L, PG_RANGE, "%s: %zu bytes, where there are %zu", what, bytes, known);
}

/* ffi.string(pointer [, length]) */
static int ffi_string(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const cdata *cd = cdata_test(L, f, 1);
  size_t known;
  if (lua_isnoneornil(L, 2)) {
    bool text = cd && (cd->type->kind == CT_PTR || cd->type->kind == CT_ARRAY) &&
                (cd->type->child->kind == CT_VOID || cd->type->child->base->size == 1);
    if (!text && !(lua_type(L, 1) == LUA_TSTRING)) {
      ctype *type = ct_qualified(f->types, ct_get(f->types, CTID_CHAR), CT_CONST);
      pg_target target = {.argument = 1, .name = "string"};
      ffi_cannot(L, f, ffi_need(L, ct_pointer(f->types, ffi_need(L, type))), 1, &target);
    }
    const char *at = check_address(L, f, 1, true, "string", &known);
    lua_pushlstring(L, at, known == CT_NOSIZE ? strlen(at) : strnlen(at, known));
    return 1;
  }
  size_t length = check_count(L, f, 2);
  const char *at = check_address(L, f, 1, true, "string", &known);
  check_room(L, length, known, "ffi.string");
  lua_pushlstring(L, at, length);
  return 1;
}

/* ffi.copy(to, from, bytes), ffi.copy(to, text) */
static int ffi_copy(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  size_t room, known, bytes;
  void *to = check_address(L, f, 1, false, "copy", &room);
  const char *from = check_address(L, f, 2, true, "copy", &known);
  if (lua_isnoneornil(L, 3) && lua_type(L, 2) == LUA_TSTRING)
    bytes = known;
  else
    bytes = check_count(L, f, 3);
  check_room(L, bytes, room, "ffi.copy to");
  check_room(L, bytes, known, "ffi.copy from");
  memmove(to, from, bytes);
  return 0;
}

/* ffi.fill(to, bytes [, byte]) */
static int ffi_fill(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  size_t room;
  void *to = check_address(L, f, 1, false, "fill", &room);
  size_t bytes = check_count(L, f, 2);
  check_room(L, bytes, room, "ffi.fill");
  memset(to, lua_isnoneornil(L, 3) ? 0 : check_int(L, f, 3), bytes);
  return 0;
}

/* ---- the rest ---- */

/* ffi.gc(cdata, finalizer or nil) */
static int ffi_gc(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  if (!cdata_test(L, f, 1)) pg_lua_argument(L, 1, "cdata");
  lua_settop(L, 2);
  lua_rawgeti(L, LUA_REGISTRYINDEX, f->finalizers_ref);
  lua_pushvalue(L, 1);
  if (lua_isnil(L, 2))
    lua_pushboolean(L, false); /* not its metatype's __gc either */
  else
    lua_pushvalue(L, 2);
  lua_rawset(L, -3);
  if (!lua_isnil(L, 2)) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, f->meta_final_ref);
    lua_setmetatable(L, 1);
  }
  lua_settop(L, 1);
  return 1;
}

static int ffi_metatype(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  ctype *type = ctype_check(L, f, 1, 0)->base;
  if (!lua_istable(L, 2)) pg_lua_argument(L, 2, "table");
  if (type->kind != CT_STRUCT) pg_lua_argument(L, 1, "struct or union");
  if (type->metatable) ffi_fail(L, PG_INVALID, "cannot change a protected metatable");
  lua_pushvalue(L, 2);
  type->metatable = luaL_ref(L, LUA_REGISTRYINDEX);
  ctype_push(L, f, type);
  return 1;
}

static int ffi_errno(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  int before = f->saved_errno;
  if (!lua_isnoneornil(L, 1)) f->saved_errno = check_int(L, f, 1);
  lua_pushinteger(L, before);
  return 1;
}

static int ffi_abi_has(lua_State *L) {
  static const char *const yes[] = {"64bit", "le", "fpu", "hardfp", "gc64"};
  const char *name = ffi_text(L, 1);
  bool is = false;
  if (lua_type(L, 1) != LUA_TSTRING) pg_lua_argument(L, 1, "string");
  for (size_t i = 0; name && i < sizeof yes / sizeof *yes; i++) is |= strcmp(name, yes[i]) == 0;
  lua_pushboolean(L, is);
  return 1;
}

/* ffi.tonumber(value): tonumber of Lua 5.4 knows no cdata */
static int ffi_tonumber(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  pg_number number;
  need_value(L, 1);
  const cdata *cd = cdata_test(L, f, 1);
  bool is_complex = cd && ct_is_complex(cd->type);
  if (is_complex) number = ffi_number(cd->type->base->fields[0].type, cd->at);
  if (is_complex || ffi_lua_number(L, f, 1, &number)) {
    if (number.is_float)
      lua_pushnumber(L, number.d);
    else
      lua_pushinteger(L, number.i);
    return 1;
  }
  size_t length;
  const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tolstring(L, 1, &length) : NULL;
  if (!text || lua_stringtonumber(L, text) != length + 1) lua_pushnil(L);
  return 1;
}

static int ctype_tostring(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  char name[CT_NAME_MAX];
  const ctype *type = ctype_test(L, f, 1);
  if (!type) pg_lua_argument(L, 1, "ctype");
  lua_pushfstring(L, "ctype<%s>", ct_name(type, false, name));
  return 1;
}

static int ctype_eq(lua_State *L) {
  pg_ffi *f = ffi_of(L);
  const ctype *a = ctype_test(L, f, 1), *b = ctype_test(L, f, 2);
  lua_pushboolean(L, a && a == b);
  return 1;
}

/* ---- opening ---- */

static int state_gc(lua_State *L) {
  pg_ffi *f = lua_touserdata(L, 1);
  ffi_callbacks_free(f);
  ct_table_free(f->types);
  f->types = NULL;
  return 0;
}

static pg_ffi *new_state(lua_State *L) {
  pg_ffi *f = lua_newuserdatauv(L, sizeof *f, 0);
  *f = (pg_ffi){.pending_ref = LUA_NOREF, .thread = pthread_self()};
  luaL_newmetatable(L, PG_FFI_META);
  lua_pushcfunction(L, state_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, f); /* until the state is closed */
  f->types = ct_table_new();
  if (!f->types) ffi_fail(L, PG_MEMORY, "no memory for the C types");
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  f->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return f;
}

/* Take the metatable on top into the registry. */
static const void *keep_metatable(lua_State *L, const char *name, int *ref) {
  lua_pushliteral(L, "ffi");
  lua_setfield(L, -2, "__metatable");
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  const void *at = lua_topointer(L, -1);
  *ref = luaL_ref(L, LUA_REGISTRYINDEX);
  return at;
}

static void cdata_metatable(lua_State *L, pg_ffi *f, bool final, int *ref) {
  lua_newtable(L);
  ffi_open_operators(L, f, final);
  ffi_open_access(L, f);
  keep_metatable(L, "cdata", ref);
}

static const void *ctype_metatable(lua_State *L, pg_ffi *f, int *ref) {
  static const luaL_Reg functions[] = {
      {"__call", ctype_call}, {"__tostring", ctype_tostring}, {"__eq", ctype_eq}, {NULL, NULL}};
  lua_newtable(L);
  lua_pushlightuserdata(L, f);
  luaL_setfuncs(L, functions, 1);
  ffi_open_ctype_access(L, f);
  return keep_metatable(L, "ctype", ref);
}

static void make_tables(lua_State *L, pg_ffi *f) {
  cdata_metatable(L, f, false, &f->meta_ref);
  cdata_metatable(L, f, true, &f->meta_final_ref);
  f->meta_ctype = ctype_metatable(L, f, &f->meta_ctype_ref);
  lua_newtable(L);
  f->parsed_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  f->finalizers_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

static void set_constants(lua_State *L, pg_ffi *f) {
  lua_pushliteral(L, "Linux");
  lua_setfield(L, -2, "os");
#ifdef __x86_64__
  lua_pushliteral(L, "x64");
#else
  lua_pushliteral(L, "arm64");
#endif
  lua_setfield(L, -2, "arch");
  ffi_push_library(L, f, RTLD_DEFAULT, "the program");
  lua_setfield(L, -2, "C");
  cdata_push_pointer(L, f, ffi_need(L, ct_pointer(f->types, ct_get(f->types, CTID_VOID))), NULL);
  lua_setfield(L, -2, "nullptr");
}

/* What `require "ffi"` runs. */
int luaopen_ffi(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"cdef", ffi_cdef},         {"typeof", ffi_typeof},     {"new", ffi_new},
      {"cast", ffi_cast},         {"sizeof", ffi_sizeof},     {"alignof", ffi_alignof},
      {"offsetof", ffi_offsetof}, {"istype", ffi_istype},     {"string", ffi_string},
      {"copy", ffi_copy},         {"fill", ffi_fill},         {"gc", ffi_gc},
      {"metatype", ffi_metatype}, {"errno", ffi_errno},       {"abi", ffi_abi_has},
      {"load", ffi_load},         {"tonumber", ffi_tonumber}, {NULL, NULL}};
  pg_ffi *f = new_state(L);
  make_tables(L, f);
  lua_newtable(L);
  lua_pushlightuserdata(L, f);
  luaL_setfuncs(L, functions, 1);
  set_constants(L, f);
  return 1;
}
