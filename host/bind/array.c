/* Arrays in Lua: a[i] is flat and 0-based, #a counts elements; their contents are set in C.
 * The userdata holds a pg_array; a view keeps what it looks at alive as its user value. */
#include "bind.h"
#include "value.h"
#include "../parallel.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- the userdata ---- */

pg_array *pg_lua_test_array(lua_State *L, int arg) {
  return luaL_testudata(L, arg, PG_ARRAY_META);
}

pg_array *pg_lua_check_array(lua_State *L, int arg, int scalar) {
  pg_array *array = pg_lua_test_array(L, arg);
  char expected[32] = "array", what[PG_DESCRIPTION_MAX];
  if (scalar >= 0)
    snprintf(expected, sizeof expected, "array of %s", pg_scalar_name((pg_scalar)scalar));
  if (!array) pg_lua_argument(L, arg, expected);
  if (scalar < 0 || array->dtype.scalar == (pg_scalar)scalar) return array;
  pg_error error;
  pg_lua_describe_argument(L, arg, what);
  pg_fail(&error, PG_INVALID, "%s: expected %s, got array of %s", what, expected,
          array->dtype.name);
  pg_lua_raise(L, &error);
  return NULL;
}

static pg_array *push_box(lua_State *L) {
  pg_array *array = lua_newuserdatauv(L, sizeof *array, 1);
  *array = (pg_array){.ndim = 1};
  luaL_setmetatable(L, PG_ARRAY_META);
  return array;
}

/* Lua's collector does not see the memory behind an array: tell it, so that garbage does not pile
 * up. */
static void account(lua_State *L, size_t bytes) {
  size_t kilobytes = bytes / 1024;
  if (kilobytes >= 64) lua_gc(L, LUA_GCSTEP, kilobytes < INT_MAX ? (int)kilobytes : INT_MAX);
}

pg_array *pg_lua_new_array(lua_State *L, const pg_dtype *dtype, int ndim, const int64_t *shape) {
  pg_error error;
  pg_array *array = push_box(L);
  pg_code code = pg_array_new(array, dtype, ndim, shape, &error);
  if (code == PG_MEMORY) { /* garbage may hold what is missing */
    lua_gc(L, LUA_GCCOLLECT);
    code = pg_array_new(array, dtype, ndim, shape, &error);
  }
  if (code) pg_lua_raise(L, &error);
  account(L, array->bytes);
  return array;
}

pg_array *pg_lua_new_vector(lua_State *L, const char *dtype, int64_t count) {
  pg_dtype type;
  lua_pushstring(L, dtype);
  pg_lua_check_dtype(L, lua_gettop(L), &type);
  lua_pop(L, 1);
  return pg_lua_new_array(L, &type, 1, &count);
}

pg_array *pg_lua_view_array(lua_State *L, const pg_dtype *dtype, int ndim, const int64_t *shape,
                            void *data, int owner) {
  pg_error error;
  size_t count = 1;
  owner = lua_absindex(L, owner);
  pg_array *array = push_box(L);
  for (int i = 0; i < ndim; i++) count *= (size_t)shape[i];
  pg_array_view(array, dtype, count, data);
  if (pg_array_reshape(array, ndim, shape, &error)) pg_lua_raise(L, &error);
  lua_pushvalue(L, owner);
  lua_setiuservalue(L, -2, 1);
  return array;
}

static int array_gc(lua_State *L) {
  pg_array_free(luaL_checkudata(L, 1, PG_ARRAY_META));
  return 0;
}

/* ---- a[i], a[i] = v, fields ---- */

/* Upvalue 1 is the metatable: one pointer comparison instead of a look-up by name. */
static pg_array *fast_self(lua_State *L) {
  void *box = lua_touserdata(L, 1);
  if (!box || !lua_getmetatable(L, 1) || !lua_rawequal(L, -1, lua_upvalueindex(1)))
    pg_lua_argument(L, 1, "array");
  lua_pop(L, 1);
  return box;
}

static int out_of_range(lua_State *L, const pg_array *array, lua_Integer index) {
  pg_error error;
  if (array->count == 0)
    pg_fail(&error, PG_RANGE, "index %lld is outside an empty array", (long long)index);
  else
    pg_fail(&error, PG_RANGE, "index %lld is outside the array: expected 0 to %zu",
            (long long)index, array->count - 1);
  return pg_lua_raise(L, &error);
}

static void push_shape(lua_State *L, const pg_array *array) {
  lua_createtable(L, array->ndim, 0);
  for (int i = 0; i < array->ndim; i++)
    lua_pushinteger(L, array->shape[i]), lua_rawseti(L, -2, i + 1);
}

static int bad_key(lua_State *L) {
  pg_error error;
  const char *key = luaL_tolstring(L, 2, NULL);
  if (lua_type(L, 2) == LUA_TSTRING)
    pg_fail(&error, PG_INVALID, "an array has no field '%s'", key);
  else
    pg_fail(&error, PG_INVALID, "an array index must be an integer, got %s", key);
  return pg_lua_raise(L, &error);
}

static int property(lua_State *L, const pg_array *array, const char *name) {
  if (strcmp(name, "count") == 0)
    lua_pushinteger(L, (lua_Integer)array->count);
  else if (strcmp(name, "nbytes") == 0)
    lua_pushinteger(L, (lua_Integer)array->bytes);
  else if (strcmp(name, "dtype") == 0)
    lua_pushstring(L, array->dtype.name);
  else if (strcmp(name, "shape") == 0)
    push_shape(L, array);
  else if (strcmp(name, "ndim") == 0)
    lua_pushinteger(L, array->ndim);
  else if (strcmp(name, "struct") != 0)
    return bad_key(L);
  else if (array->dtype.scalar == PG_STRUCT)
    pg_lua_push_dtype(L, &array->dtype);
  else
    lua_pushnil(L);
  return 1;
}

static int array_index(lua_State *L) {
  const pg_array *array = fast_self(L);
  int is_integer = 0;
  if (lua_type(L, 2) == LUA_TNUMBER) {
    lua_Integer index = lua_tointegerx(L, 2, &is_integer);
    if (!is_integer) return bad_key(L);
    if ((lua_Unsigned)index >= array->count) return out_of_range(L, array, index);
    pg_lua_push_element(L, &array->dtype, pg_element(array, (size_t)index));
    return 1;
  }
  if (lua_type(L, 2) != LUA_TSTRING) return bad_key(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) return 1; /* a method */
  return property(L, array, lua_tostring(L, 2));
}

static int array_newindex(lua_State *L) {
  const pg_array *array = fast_self(L);
  int is_integer = 0;
  lua_Integer index = lua_type(L, 2) == LUA_TNUMBER ? lua_tointegerx(L, 2, &is_integer) : 0;
  if (!is_integer) return bad_key(L);
  if ((lua_Unsigned)index >= array->count) return out_of_range(L, array, index);
  pg_lua_read_element(L, 3, &array->dtype, pg_element(array, (size_t)index));
  return 0;
}

static int array_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)fast_self(L)->count);
  return 1;
}

static int array_tostring(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  luaL_addstring(&text, "array(");
  luaL_addstring(&text, array->dtype.name);
  for (int i = 0; i < array->ndim; i++) {
    lua_pushfstring(L, i ? " x %I" : ", %I", (LUAI_UACINT)array->shape[i]);
    luaL_addvalue(&text);
  }
  luaL_addchar(&text, ')');
  luaL_pushresult(&text);
  return 1;
}

/* ---- elements by row and column ---- */

/* Flat index of arguments 2 .. 1 + ndim. */
static size_t flat_index(lua_State *L, const pg_array *array) {
  size_t flat = 0;
  for (int i = 0; i < array->ndim; i++) {
    lua_Integer at = pg_lua_check_integer(L, 2 + i);
    if (at < 0 || at >= array->shape[i]) {
      pg_error error;
      pg_fail(&error, PG_RANGE, "index %lld of dimension %d is outside 0 to %lld", (long long)at, i,
              (long long)array->shape[i] - 1);
      pg_lua_raise(L, &error);
    }
    flat = flat * (size_t)array->shape[i] + (size_t)at;
  }
  return flat;
}

static int array_get(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  pg_lua_push_element(L, &array->dtype, pg_element(array, flat_index(L, array)));
  return 1;
}

static int array_set(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  size_t flat = flat_index(L, array);
  pg_lua_read_element(L, 2 + array->ndim, &array->dtype, pg_element(array, flat));
  lua_settop(L, 1);
  return 1;
}

/* ---- contents ---- */

/* Repeat the first element over the whole array, doubling what is there. */
static void spread(const pg_array *array) {
  size_t done = array->dtype.size;
  while (done < array->bytes) {
    size_t more = done < array->bytes - done ? done : array->bytes - done;
    memcpy((char *)array->data + done, array->data, more);
    done += more;
  }
}

static int array_fill(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  if (array->count) {
    pg_lua_read_element(L, 2, &array->dtype, array->data);
    spread(array);
  }
  lua_settop(L, 1);
  return 1;
}

static int array_fill_bytes(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  lua_Integer byte = pg_lua_check_integer(L, 2);
  if (byte < 0 || byte > 255) pg_lua_argument(L, 2, "integer 0 to 255");
  if (array->bytes) memset(array->data, (int)byte, array->bytes);
  lua_settop(L, 1);
  return 1;
}

static bool has_option(lua_State *L, int index, const char *name) {
  bool has = lua_istable(L, index) && lua_getfield(L, index, name) != LUA_TNIL;
  if (lua_istable(L, index)) lua_pop(L, 1);
  return has;
}

/* Without `dist`: normal when mean or stddev is given, integer when first or last is, else uniform
 * for floats and bits for integers. */
static pg_dist check_dist(lua_State *L, const pg_array *array) {
  static const char *const names[] = {"uniform", "normal", "integer", "bits"};
  if (!has_option(L, 2, "dist")) {
    if (has_option(L, 2, "mean") || has_option(L, 2, "stddev")) return PG_DIST_NORMAL;
    if (has_option(L, 2, "first") || has_option(L, 2, "last")) return PG_DIST_INTEGER;
    return pg_scalar_class(array->dtype.scalar) == 'f' ? PG_DIST_UNIFORM : PG_DIST_BITS;
  }
  lua_getfield(L, 2, "dist");
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?";
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) return (pg_dist)i;
  pg_error error;
  pg_fail(&error, PG_INVALID, "option 'dist': expected uniform, normal, integer or bits, got '%s'",
          luaL_tolstring(L, -1, NULL));
  pg_lua_raise(L, &error);
  return PG_DIST_UNIFORM;
}

/* a:random{seed=0, stream=0, dist=, low=0, high=1, mean=0, stddev=1, first=0, last=} */
static int array_random(lua_State *L) {
  static const char *const names[] = {"seed", "stream", "dist",  "low",  "high",
                                      "mean", "stddev", "first", "last", NULL};
  pg_array *array = pg_lua_check_array(L, 1, -1);
  pg_lua_check_options(L, 2, names);
  pg_random r = {.dist = check_dist(L, array)};
  r.seed = (uint64_t)pg_lua_option_integer(L, 2, "seed", 0);
  r.stream = (uint64_t)pg_lua_option_integer(L, 2, "stream", 0);
  r.low = pg_lua_option_number(L, 2, "low", 0);
  r.high = pg_lua_option_number(L, 2, "high", 1);
  r.mean = pg_lua_option_number(L, 2, "mean", 0);
  r.stddev = pg_lua_option_number(L, 2, "stddev", 1);
  r.first = pg_lua_option_integer(L, 2, "first", 0);
  r.last = pg_lua_option_integer(L, 2, "last", 0);
  pg_error error;
  if (r.dist == PG_DIST_INTEGER && !has_option(L, 2, "last")) {
    pg_fail(&error, PG_INVALID, "a:random: dist \"integer\" needs the option 'last'");
    return pg_lua_raise(L, &error);
  }
  if (pg_array_random(array, &r, &error)) return pg_lua_raise(L, &error);
  lua_settop(L, 1);
  return 1;
}

static int array_copy_from(lua_State *L) {
  const pg_array *to = pg_lua_check_array(L, 1, -1), *from = pg_lua_check_array(L, 2, -1);
  pg_error error;
  if (!pg_dtype_equal(&to->dtype, &from->dtype) || to->count != from->count) {
    pg_fail(&error, PG_INVALID, "cannot copy %zu x %s into %zu x %s", from->count, from->dtype.name,
            to->count, to->dtype.name);
    return pg_lua_raise(L, &error);
  }
  const char *target = to->data, *source = from->data;
  if (target + to->bytes <= source || source + to->bytes <= target)
    pg_copy(to->data, from->data, to->bytes);
  else
    memmove(to->data, from->data, to->bytes); /* views may overlap */
  lua_settop(L, 1);
  return 1;
}

/* ---- the module's functions ---- */

/* core.array(dtype, shape [, value]); zeros without a value. A list of values fills element by
 * element. */
static int core_array(lua_State *L) {
  pg_dtype dtype;
  int64_t shape[PG_DIM_MAX];
  pg_lua_check_dtype(L, 1, &dtype);
  int ndim = pg_lua_check_shape(L, 2, shape);
  lua_settop(L, 3);
  pg_array *array = pg_lua_new_array(L, &dtype, ndim, shape);
  if (lua_isnil(L, 3) || array->count == 0) return 1;
  pg_lua_read_element(L, 3, &dtype, array->data);
  spread(array);
  return 1;
}

/* core.from_list(dtype, list [, shape]): shape defaults to the list's length. */
static int core_from_list(lua_State *L) {
  pg_dtype dtype;
  int64_t shape[PG_DIM_MAX];
  int ndim = 1;
  pg_lua_check_dtype(L, 1, &dtype);
  if (!lua_istable(L, 2)) pg_lua_argument(L, 2, "list of values");
  lua_settop(L, 3);
  shape[0] = luaL_len(L, 2);
  if (!lua_isnil(L, 3)) ndim = pg_lua_check_shape(L, 3, shape);
  const pg_array *array = pg_lua_new_array(L, &dtype, ndim, shape);
  if ((lua_Integer)array->count != luaL_len(L, 2)) {
    pg_error error;
    pg_fail(&error, PG_INVALID, "a shape of %zu elements does not fit a list of %lld", array->count,
            (long long)luaL_len(L, 2));
    return pg_lua_raise(L, &error);
  }
  lua_pushvalue(L, 2);
  lua_replace(L, 3); /* the list makes way: messages can name an element as argument 2 */
  for (size_t i = 0; i < array->count; i++) {
    lua_geti(L, 3, (lua_Integer)i + 1);
    lua_replace(L, 2);
    pg_lua_read_element(L, 2, &dtype, pg_element(array, i));
  }
  return 1;
}

/* core.from_bytes(dtype, shape, bytes) */
static int core_from_bytes(lua_State *L) {
  pg_dtype dtype;
  int64_t shape[PG_DIM_MAX];
  size_t length;
  pg_lua_check_dtype(L, 1, &dtype);
  int ndim = pg_lua_check_shape(L, 2, shape);
  const char *bytes = pg_lua_check_string(L, 3, &length);
  const pg_array *array = pg_lua_new_array(L, &dtype, ndim, shape);
  if (length != array->bytes) {
    pg_error error;
    pg_fail(&error, PG_INVALID, "%zu x %s takes %zu bytes, got %zu", array->count, dtype.name,
            array->bytes, length);
    return pg_lua_raise(L, &error);
  }
  if (length) memcpy(array->data, bytes, length);
  return 1;
}

/* core.is_array(v) */
static int core_is_array(lua_State *L) {
  lua_pushboolean(L, pg_lua_test_array(L, 1) != NULL);
  return 1;
}

static void make_metatable(lua_State *L) {
  static const luaL_Reg fast[] = {
      {"__index", array_index}, {"__newindex", array_newindex}, {"__len", array_len}, {NULL, NULL}};
  static const luaL_Reg plain[] = {
      {"__gc", array_gc}, {"__tostring", array_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"get", array_get},
                                     {"set", array_set},
                                     {"fill", array_fill},
                                     {"fill_bytes", array_fill_bytes},
                                     {"random", array_random},
                                     {"copy_from", array_copy_from},
                                     {NULL, NULL}};
  luaL_newmetatable(L, PG_ARRAY_META);
  luaL_setfuncs(L, plain, 0);
  lua_pushvalue(L, -1);
  luaL_newlib(L, methods);
  pg_bind_array_methods(L);
  luaL_setfuncs(L, fast, 2);
  lua_pushliteral(L, PG_ARRAY_META); /* getmetatable(a) gives this: scripts cannot take it apart */
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}

void pg_bind_array(lua_State *L) {
  static const luaL_Reg functions[] = {{"array", core_array},
                                       {"from_bytes", core_from_bytes},
                                       {"from_list", core_from_list},
                                       {"is_array", core_is_array},
                                       {NULL, NULL}};
  pg_bind_dtype(L);
  make_metatable(L);
  luaL_setfuncs(L, functions, 0);
}
