/* Methods of whole arrays: copies, casts, views, fields, and numbers from them.
 * Each is one loop in C; only totable makes a Lua value an element. */
#include "bind.h"
#include "value.h"
#include "../parallel.h"
#include "../hash.h"

#include <limits.h>
#include <string.h>

/* ---- new arrays from old ---- */

static int array_copy(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  const pg_array *copy = pg_lua_new_array(L, &array->dtype, array->ndim, array->shape);
  pg_copy(copy->data, array->data, array->bytes);
  return 1;
}

/* a:reshape(shape): a view with another shape of the same number of elements. */
static int array_reshape(lua_State *L) {
  pg_array *array = pg_lua_check_array(L, 1, -1), trial = *array;
  int64_t shape[PG_DIM_MAX];
  int ndim = pg_lua_check_shape(L, 2, shape);
  pg_error error;
  if (pg_array_reshape(&trial, ndim, shape, &error)) return pg_lua_raise(L, &error);
  pg_lua_view_array(L, &array->dtype, ndim, shape, array->data, 1);
  return 1;
}

static int array_cast(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  pg_dtype dtype;
  pg_lua_check_dtype(L, 2, &dtype);
  pg_array *out = pg_lua_new_array(L, &dtype, array->ndim, array->shape);
  pg_error error;
  if (pg_array_convert(array, out, &error)) return pg_lua_raise(L, &error);
  return 1;
}

/* a:transposed(): a copy with all dimensions in reverse order. */
static int array_transposed(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  int64_t shape[PG_DIM_MAX];
  for (int d = 0; d < array->ndim; d++) shape[d] = array->shape[array->ndim - 1 - d];
  pg_array *out = pg_lua_new_array(L, &array->dtype, array->ndim, shape);
  pg_error error;
  if (pg_array_transpose(array, out, &error)) return pg_lua_raise(L, &error);
  return 1;
}

/* a:slice(first, count): a view of flat elements first .. first + count - 1. */
static int array_slice(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  lua_Integer first = pg_lua_check_integer(L, 2), count = pg_lua_check_integer(L, 3);
  lua_Integer all = (lua_Integer)array->count;
  if (first < 0 || count < 0 || first > all || count > all - first) {
    pg_error error;
    pg_fail(&error, PG_RANGE, "slice of %lld elements from %lld is outside an array of %lld",
            (long long)count, (long long)first, (long long)all);
    return pg_lua_raise(L, &error);
  }
  const int64_t shape[1] = {count};
  pg_lua_view_array(L, &array->dtype, 1, shape, pg_element(array, (size_t)first), 1);
  return 1;
}

static const pg_field *check_field(lua_State *L, const pg_array *array, int arg) {
  const char *name = pg_lua_check_string(L, arg, NULL);
  for (uint32_t i = 0; i < array->dtype.field_count; i++)
    if (strcmp(array->dtype.fields[i].name, name) == 0) return &array->dtype.fields[i];
  pg_error error;
  pg_fail(&error, PG_NOT_FOUND, "%s %s has no field '%s'",
          array->dtype.scalar == PG_STRUCT ? "struct" : "dtype", array->dtype.name, name);
  pg_lua_raise(L, &error);
  return NULL;
}

/* a:field(name): a copy of that field; an inline array of m adds a last dimension m. */
static int array_field(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  const pg_field *field = check_field(L, array, 2);
  const int64_t shape[2] = {(int64_t)array->count, field->count};
  pg_dtype dtype = pg_dtype_of(field->scalar);
  const pg_array *out = pg_lua_new_array(L, &dtype, field->count > 1 ? 2 : 1, shape);
  size_t bytes = (size_t)field->count * dtype.size;
  for (size_t i = 0; i < array->count; i++)
    memcpy((char *)out->data + i * bytes, pg_element(array, i) + field->offset, bytes);
  return 1;
}

/* a:set_field(name, b): the other way; b as a:field gives it. */
static int array_set_field(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  const pg_field *field = check_field(L, array, 2);
  const pg_array *from = pg_lua_check_array(L, 3, (int)field->scalar);
  if (from->count != array->count * field->count) {
    pg_error error;
    pg_fail(&error, PG_INVALID, "field '%s' of %zu elements needs %zu values, got %zu", field->name,
            array->count, array->count * field->count, from->count);
    return pg_lua_raise(L, &error);
  }
  size_t bytes = (size_t)field->count * from->dtype.size;
  for (size_t i = 0; i < array->count; i++)
    memcpy(pg_element(array, i) + field->offset, (char *)from->data + i * bytes, bytes);
  lua_settop(L, 1);
  return 1;
}

/* ---- numbers from arrays ---- */

static pg_reduction reduce(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  pg_reduction r;
  pg_error error;
  if (pg_array_reduce(array, &r, &error)) pg_lua_raise(L, &error);
  return r;
}

static int array_sum(lua_State *L) {
  lua_pushnumber(L, reduce(L).sum);
  return 1;
}

static const pg_array *check_not_empty(lua_State *L, const char *what) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  pg_error error;
  if (array->count) return array;
  pg_fail(&error, PG_RANGE, "an empty array has no %s", what);
  pg_lua_raise(L, &error);
  return NULL;
}

static int array_mean(lua_State *L) {
  const pg_array *array = check_not_empty(L, "mean");
  lua_pushnumber(L, reduce(L).sum / (double)array->count);
  return 1;
}

/* The element and its index. */
static int array_min(lua_State *L) {
  const pg_array *array = check_not_empty(L, "minimum");
  size_t at = reduce(L).min_index;
  pg_lua_push_element(L, &array->dtype, pg_element(array, at));
  lua_pushinteger(L, (lua_Integer)at);
  return 2;
}

static int array_max(lua_State *L) {
  const pg_array *array = check_not_empty(L, "maximum");
  size_t at = reduce(L).max_index;
  pg_lua_push_element(L, &array->dtype, pg_element(array, at));
  lua_pushinteger(L, (lua_Integer)at);
  return 2;
}

/* a:equal_bits(b): true, or false and the flat index of the first element that differs. */
static int array_equal_bits(lua_State *L) {
  const pg_array *a = pg_lua_check_array(L, 1, -1), *b = pg_lua_check_array(L, 2, -1);
  pg_error error;
  size_t index;
  if (pg_array_equal_bits(a, b, &index, &error)) return pg_lua_raise(L, &error);
  lua_pushboolean(L, index == a->count);
  if (index == a->count) return 1;
  lua_pushinteger(L, (lua_Integer)index);
  return 2;
}

static int array_sha256(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  char hex[PG_SHA_HEX];
  pg_sha256(array->data, array->bytes, hex);
  lua_pushstring(L, hex);
  return 1;
}

/* a:totable(): a flat Lua list, so element i is at i + 1. */
static int array_totable(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  lua_createtable(L, array->count < INT_MAX ? (int)array->count : 0, 0);
  for (size_t i = 0; i < array->count; i++) {
    pg_lua_push_element(L, &array->dtype, pg_element(array, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int array_bytes(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  lua_pushlstring(L, array->data ? array->data : "", array->bytes);
  return 1;
}

void pg_bind_array_methods(lua_State *L) {
  static const luaL_Reg methods[] = {{"copy", array_copy},
                                     {"reshape", array_reshape},
                                     {"cast", array_cast},
                                     {"transposed", array_transposed},
                                     {"slice", array_slice},
                                     {"field", array_field},
                                     {"set_field", array_set_field},
                                     {"sum", array_sum},
                                     {"mean", array_mean},
                                     {"min", array_min},
                                     {"max", array_max},
                                     {"equal_bits", array_equal_bits},
                                     {"sha256", array_sha256},
                                     {"totable", array_totable},
                                     {"tostring", array_bytes},
                                     {NULL, NULL}};
  luaL_setfuncs(L, methods, 0);
}
