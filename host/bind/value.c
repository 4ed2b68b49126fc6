/* Between Lua values and elements of arrays, dtypes as Lua values, and getters for arguments and
 * options. Nothing is converted silently: a string is no number, 1.5 is no integer, 300 is no u8.
 */
#include "value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- arguments ---- */

lua_Integer pg_lua_check_integer(lua_State *L, int arg) {
  int ok = 0;
  lua_Integer value = lua_type(L, arg) == LUA_TNUMBER ? lua_tointegerx(L, arg, &ok) : 0;
  if (!ok) pg_lua_argument(L, arg, "integer");
  return value;
}

double pg_lua_check_number(lua_State *L, int arg) {
  if (lua_type(L, arg) != LUA_TNUMBER) pg_lua_argument(L, arg, "number");
  return lua_tonumber(L, arg);
}

const char *pg_lua_check_string(lua_State *L, int arg, size_t *length) {
  if (lua_type(L, arg) != LUA_TSTRING) pg_lua_argument(L, arg, "string");
  return lua_tolstring(L, arg, length);
}

const char *pg_lua_check_path(lua_State *L, int arg) {
  size_t length;
  const char *path = pg_lua_check_string(L, arg, &length);
  if (length == 0 || strlen(path) != length) pg_lua_argument(L, arg, "path without a zero byte");
  return path;
}

int pg_lua_cannot(lua_State *L, const char *what, const char *path) {
  pg_error error;
  pg_code code = errno == ENOENT || errno == ENOTDIR ? PG_NOT_FOUND : PG_IO;
  pg_fail(&error, code, "cannot %s '%s': %s", what, path, strerror(errno));
  pg_where(&error, "%s", path);
  lua_pushnil(L);
  pg_lua_push_error(L, &error);
  return 2;
}

/* ---- options ---- */

static int bad_option(lua_State *L, const char *name, const char *expected) {
  pg_error error;
  pg_fail(&error, PG_INVALID, "option '%s': expected %s, got %s", name, expected,
          luaL_typename(L, -1));
  return pg_lua_raise(L, &error);
}

/* Push option `name`; false (and nothing pushed) when it is absent. */
static bool push_option(lua_State *L, int index, const char *name) {
  if (!lua_istable(L, index)) return false;
  if (lua_getfield(L, index, name) != LUA_TNIL) return true;
  lua_pop(L, 1);
  return false;
}

lua_Integer pg_lua_option_integer(lua_State *L, int index, const char *name, lua_Integer absent) {
  if (!push_option(L, index, name)) return absent;
  int ok = 0;
  lua_Integer value = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &ok) : 0;
  if (!ok) bad_option(L, name, "integer");
  lua_pop(L, 1);
  return value;
}

double pg_lua_option_number(lua_State *L, int index, const char *name, double absent) {
  if (!push_option(L, index, name)) return absent;
  if (lua_type(L, -1) != LUA_TNUMBER) bad_option(L, name, "number");
  double value = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return value;
}

int pg_lua_option_boolean(lua_State *L, int index, const char *name, int absent) {
  if (!push_option(L, index, name)) return absent;
  if (!lua_isboolean(L, -1)) bad_option(L, name, "boolean");
  int value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static bool is_text(lua_State *L) {
  return lua_type(L, -1) == LUA_TSTRING && strlen(lua_tostring(L, -1)) == lua_rawlen(L, -1);
}

const char *pg_lua_option_text(lua_State *L, int index, const char *name, bool required) {
  int type = lua_getfield(L, index, name);
  if ((type != LUA_TNIL || required) && !is_text(L))
    bad_option(L, name, type == LUA_TSTRING ? "text without a zero byte" : "string");
  const char *text = lua_tostring(L, -1);
  lua_pop(L, 1);
  return text;
}

static void bad_text(lua_State *L, const char *name, int number) {
  pg_error error;
  pg_fail(&error, PG_INVALID, "option '%s': expected strings%s, got %s at %d", name,
          lua_type(L, -1) == LUA_TSTRING ? " without a zero byte" : "", luaL_typename(L, -1),
          number);
  pg_lua_raise(L, &error);
}

const char *const *pg_lua_option_texts(lua_State *L, int index, const char *name, int most,
                                       int *count) {
  static const char *const none[] = {NULL};
  *count = 0;
  if (!push_option(L, index, name)) return none;
  if (!lua_istable(L, -1)) bad_option(L, name, "a list of strings");
  lua_Unsigned length = lua_rawlen(L, -1);
  if (length > (lua_Unsigned)most) {
    pg_error error;
    pg_fail(&error, PG_RANGE, "option '%s': at most %d texts, got %llu", name, most,
            (unsigned long long)length);
    pg_lua_raise(L, &error);
  }
  const char **list = lua_newuserdatauv(L, (length + 1) * sizeof *list, 0);
  for (*count = 0; *count < (int)length; ++*count) {
    lua_rawgeti(L, -2, *count + 1);
    if (!is_text(L)) bad_text(L, name, *count + 1);
    list[*count] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  list[*count] = NULL;
  return list;
}

static bool is_listed(const char *name, const char *const names[]) {
  while (*names && strcmp(*names, name) != 0) names++;
  return *names != NULL;
}

static int unknown_option(lua_State *L, const char *const names[]) {
  pg_error error;
  pg_fail(&error, PG_INVALID, "unknown option '%s'", luaL_tolstring(L, -2, NULL));
  char list[PG_HINT_MAX] = "";
  for (size_t used = 0; *names && used < sizeof list - PG_NAME_MAX; names++)
    used += (size_t)snprintf(list + used, sizeof list - used, " %s", *names);
  pg_hint(&error, "the options are:%s", list);
  return pg_lua_raise(L, &error);
}

void pg_lua_check_options(lua_State *L, int index, const char *const names[]) {
  if (lua_isnoneornil(L, index)) return;
  if (!lua_istable(L, index)) pg_lua_argument(L, index, "table of options");
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
    if (lua_type(L, -2) != LUA_TSTRING || !is_listed(lua_tostring(L, -2), names))
      unknown_option(L, names);
}

/* ---- elements ---- */

static void push_scalar(lua_State *L, pg_scalar scalar, const void *at) {
  switch (pg_scalar_class(scalar)) {
  case 'f': lua_pushnumber(L, pg_load_f64(scalar, at)); return;
  case 'b': lua_pushboolean(L, pg_load_i64(scalar, at) != 0); return;
  default: lua_pushinteger(L, pg_load_i64(scalar, at));
  }
}

static void push_field(lua_State *L, const pg_field *field, const char *at) {
  if (field->count == 1) {
    push_scalar(L, field->scalar, at + field->offset);
    return;
  }
  uint32_t size = pg_scalar_size(field->scalar);
  lua_createtable(L, (int)field->count, 0);
  for (uint32_t i = 0; i < field->count; i++) {
    push_scalar(L, field->scalar, at + field->offset + i * size);
    lua_rawseti(L, -2, i + 1);
  }
}

void pg_lua_push_element(lua_State *L, const pg_dtype *dtype, const void *at) {
  if (dtype->scalar != PG_STRUCT) {
    push_scalar(L, dtype->scalar, at);
    return;
  }
  lua_createtable(L, 0, (int)dtype->field_count);
  for (uint32_t i = 0; i < dtype->field_count; i++) {
    push_field(L, &dtype->fields[i], at);
    lua_setfield(L, -2, dtype->fields[i].name);
  }
}

/* Where a value goes, for messages: an argument of the running function, a field in it. */
typedef struct target {
  lua_State *L;
  int arg;
  const char *field; /* NULL: the argument itself */
} target;

static int refuse(const target *t, pg_code code, const char *problem) {
  pg_error error;
  char what[PG_DESCRIPTION_MAX];
  pg_lua_describe_argument(t->L, t->arg, what);
  if (t->field)
    pg_fail(&error, code, "%s: field '%s': %s", what, t->field, problem);
  else
    pg_fail(&error, code, "%s: %s", what, problem);
  return pg_lua_raise(t->L, &error);
}

static int refuse_type(const target *t, int index, const char *expected) {
  char problem[128];
  snprintf(problem, sizeof problem, "expected %s, got %s", expected,
           pg_lua_type_name(t->L, index, expected));
  return refuse(t, PG_INVALID, problem);
}

static void read_integer(const target *t, int index, pg_scalar scalar, void *at) {
  int ok = 0;
  lua_Integer value = lua_type(t->L, index) == LUA_TNUMBER ? lua_tointegerx(t->L, index, &ok) : 0;
  if (!ok) refuse_type(t, index, "integer");
  pg_store_i64(scalar, at, value);
  if (pg_load_i64(scalar, at) == value) return;
  char problem[64];
  snprintf(problem, sizeof problem, "integer %lld is outside %s", (long long)value,
           pg_scalar_name(scalar));
  refuse(t, PG_RANGE, problem);
}

static void read_float(const target *t, int index, pg_scalar scalar, void *at) {
  if (lua_type(t->L, index) != LUA_TNUMBER) refuse_type(t, index, "number");
  /* An integer beyond 2^53 is rounded once, not through binary64. */
  if (lua_isinteger(t->L, index))
    pg_store_i64(scalar, at, lua_tointeger(t->L, index));
  else
    pg_store_f64(scalar, at, lua_tonumber(t->L, index));
}

static void read_scalar(const target *t, int index, pg_scalar scalar, void *at) {
  char cls = pg_scalar_class(scalar);
  if (cls == 'f')
    read_float(t, index, scalar, at);
  else if (cls != 'b')
    read_integer(t, index, scalar, at);
  else if (lua_isboolean(t->L, index))
    pg_store_i64(scalar, at, lua_toboolean(t->L, index));
  else if (lua_type(t->L, index) == LUA_TNUMBER)
    read_integer(t, index, scalar, at); /* 0 or 1 */
  else
    refuse_type(t, index, "boolean");
}

/* The value on top of the stack. */
static void read_field(target *t, const pg_field *field, char *at) {
  lua_State *L = t->L;
  uint32_t size = pg_scalar_size(field->scalar);
  t->field = field->name;
  at += field->offset;
  if (field->count == 1) {
    read_scalar(t, -1, field->scalar, at);
    return;
  }
  if (!lua_istable(L, -1) || lua_rawlen(L, -1) != field->count) {
    char expected[64];
    snprintf(expected, sizeof expected, "a list of %u values", (unsigned)field->count);
    refuse_type(t, -1, expected);
  }
  for (uint32_t i = 0; i < field->count; i++) {
    lua_rawgeti(L, -1, i + 1);
    read_scalar(t, -1, field->scalar, at + i * size);
    lua_pop(L, 1);
  }
}

static const pg_field *find_field(const pg_dtype *dtype, const char *name) {
  for (uint32_t i = 0; i < dtype->field_count; i++)
    if (strcmp(dtype->fields[i].name, name) == 0) return &dtype->fields[i];
  return NULL;
}

static void read_struct(target *t, const pg_dtype *dtype, char *at) {
  lua_State *L = t->L;
  if (!lua_istable(L, t->arg)) refuse_type(t, t->arg, "a table of fields");
  for (lua_pushnil(L); lua_next(L, t->arg); lua_pop(L, 1)) {
    bool named = lua_type(L, -2) == LUA_TSTRING;
    const pg_field *field = named ? find_field(dtype, lua_tostring(L, -2)) : NULL;
    if (field) {
      read_field(t, field, at);
      continue;
    }
    char problem[128];
    snprintf(problem, sizeof problem, "struct %s has no field '%.60s'", dtype->name,
             luaL_tolstring(L, -2, NULL));
    t->field = NULL;
    refuse(t, PG_INVALID, problem);
  }
}

void pg_lua_read_element(lua_State *L, int arg, const pg_dtype *dtype, void *at) {
  target t = {.L = L, .arg = arg};
  if (dtype->scalar == PG_STRUCT)
    read_struct(&t, dtype, at);
  else
    read_scalar(&t, arg, dtype->scalar, at);
}

/* ---- dtypes as values ---- */

void pg_lua_push_dtype(lua_State *L, const pg_dtype *dtype) {
  pg_dtype *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = *dtype;
  luaL_setmetatable(L, PG_DTYPE_META);
}

void pg_lua_check_dtype(lua_State *L, int arg, pg_dtype *out) {
  const pg_dtype *box = luaL_testudata(L, arg, PG_DTYPE_META);
  if (box) {
    *out = *box;
    return;
  }
  if (lua_type(L, arg) != LUA_TSTRING) pg_lua_argument(L, arg, "name of a dtype or struct dtype");
  pg_error error;
  if (pg_dtype_parse(lua_tostring(L, arg), out, &error)) pg_lua_raise(L, &error);
}

int pg_lua_check_shape(lua_State *L, int arg, int64_t shape[PG_DIM_MAX]) {
  if (!lua_istable(L, arg)) {
    if (lua_type(L, arg) != LUA_TNUMBER) pg_lua_argument(L, arg, "integer or list of integers");
    shape[0] = pg_lua_check_integer(L, arg);
    return 1;
  }
  lua_Integer ndim = luaL_len(L, arg);
  if (ndim < 1 || ndim > PG_DIM_MAX) pg_lua_argument(L, arg, "list of 1 to 8 integers");
  for (lua_Integer i = 0; i < ndim; i++) {
    int ok = 0;
    lua_geti(L, arg, i + 1);
    shape[i] = lua_type(L, -1) == LUA_TNUMBER ? lua_tointegerx(L, -1, &ok) : 0;
    if (!ok) pg_lua_argument(L, arg, "list of integers");
    lua_pop(L, 1);
  }
  return (int)ndim;
}

/* One {name, dtype [, count]} of a struct's list, on top of the stack. */
static void add_field(lua_State *L, pg_dtype *dtype) {
  pg_error error;
  pg_dtype scalar;
  if (!lua_istable(L, -1)) pg_lua_argument(L, 2, "list of {name, dtype [, count]}");
  int item = lua_gettop(L), is_integer = 1;
  lua_geti(L, item, 1), lua_geti(L, item, 2), lua_geti(L, item, 3);
  lua_Integer count = lua_isnil(L, -1) ? 1 : lua_tointegerx(L, -1, &is_integer);
  if (lua_type(L, -3) != LUA_TSTRING || lua_type(L, -2) != LUA_TSTRING || !is_integer)
    pg_lua_argument(L, 2, "list of {name, dtype [, count]}");
  if (count < 0 || count > UINT32_MAX) count = 0; /* refused below with the field's name */
  pg_code code = pg_dtype_parse(lua_tostring(L, -2), &scalar, &error);
  if (!code)
    code = pg_dtype_add(dtype, lua_tostring(L, -3), scalar.scalar, (uint32_t)count, &error);
  if (code) pg_lua_raise(L, &error);
  lua_settop(L, item);
}

/* core.struct(name, {{field, dtype [, count]}, ...}) with C's layout. */
static int core_struct(lua_State *L) {
  pg_dtype dtype;
  size_t length;
  const char *name = pg_lua_check_string(L, 1, &length);
  if (length == 0 || length >= PG_NAME_MAX) pg_lua_argument(L, 1, "name of 1 to 31 characters");
  if (!lua_istable(L, 2) || luaL_len(L, 2) < 1)
    pg_lua_argument(L, 2, "list of {name, dtype [, count]}");
  pg_dtype_struct(&dtype, name);
  for (lua_Integer i = 1, n = luaL_len(L, 2); i <= n; i++) {
    lua_geti(L, 2, i);
    add_field(L, &dtype);
    lua_pop(L, 1);
  }
  pg_dtype_finish(&dtype);
  pg_lua_push_dtype(L, &dtype);
  return 1;
}

static int dtype_tostring(lua_State *L) {
  const pg_dtype *dtype = luaL_checkudata(L, 1, PG_DTYPE_META);
  lua_pushfstring(L, "struct %s (%d bytes)", dtype->name, (int)dtype->size);
  return 1;
}

static int dtype_eq(lua_State *L) {
  const pg_dtype *a = luaL_testudata(L, 1, PG_DTYPE_META), *b = luaL_testudata(L, 2, PG_DTYPE_META);
  lua_pushboolean(L, a && b && pg_dtype_equal(a, b));
  return 1;
}

/* fields: list of {name=, dtype=, count=, offset=} */
static void push_fields(lua_State *L, const pg_dtype *dtype) {
  lua_createtable(L, (int)dtype->field_count, 0);
  for (uint32_t i = 0; i < dtype->field_count; i++) {
    const pg_field *f = &dtype->fields[i];
    lua_createtable(L, 0, 4);
    lua_pushstring(L, f->name), lua_setfield(L, -2, "name");
    lua_pushstring(L, pg_scalar_name(f->scalar)), lua_setfield(L, -2, "dtype");
    lua_pushinteger(L, f->count), lua_setfield(L, -2, "count");
    lua_pushinteger(L, f->offset), lua_setfield(L, -2, "offset");
    lua_rawseti(L, -2, i + 1);
  }
}

static int dtype_index(lua_State *L) {
  const pg_dtype *dtype = luaL_checkudata(L, 1, PG_DTYPE_META);
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(name, "name") == 0)
    lua_pushstring(L, dtype->name);
  else if (strcmp(name, "size") == 0)
    lua_pushinteger(L, dtype->size);
  else if (strcmp(name, "align") == 0)
    lua_pushinteger(L, dtype->align);
  else if (strcmp(name, "fields") == 0)
    push_fields(L, dtype);
  else
    lua_pushnil(L);
  return 1;
}

/* core.sizeof(dtype): bytes of one element. */
static int core_sizeof(lua_State *L) {
  pg_dtype dtype;
  pg_lua_check_dtype(L, 1, &dtype);
  lua_pushinteger(L, dtype.size);
  return 1;
}

void pg_bind_dtype(lua_State *L) {
  static const luaL_Reg meta[] = {
      {"__index", dtype_index}, {"__eq", dtype_eq}, {"__tostring", dtype_tostring}, {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"struct", core_struct}, {"sizeof", core_sizeof}, {NULL, NULL}};
  luaL_newmetatable(L, PG_DTYPE_META);
  luaL_setfuncs(L, meta, 0);
  lua_pushliteral(L, PG_DTYPE_META);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}

void pg_lua_closed_by(lua_State *L, lua_CFunction close) {
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, close);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, close);
  lua_setfield(L, -2, "__close");
  lua_setmetatable(L, -2);
}
