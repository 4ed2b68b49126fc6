/* Rows of columns as sets, for Lua: comparison in any order, order, permutations.
 * Plain tables out; indices are 0-based. */
#include "../rows.h"
#include "bind.h"
#include "value.h"

/* An array or a list of them at `arg`; count: those of field `count_name` of the options at
 * `options`, else all. The arrays stay alive through the argument. */
static pg_rows check_rows(lua_State *L, int arg, int options, const char *count_name) {
  pg_rows rows = {.columns = 1};
  if (lua_istable(L, arg)) {
    lua_Integer n = luaL_len(L, arg);
    if (n < 1 || n > PG_COLUMN_MAX) pg_lua_argument(L, arg, "array or list of 1 to 8 arrays");
    rows.columns = (int)n;
    for (int i = 0; i < rows.columns; i++) {
      lua_geti(L, arg, i + 1);
      rows.column[i] = pg_lua_test_array(L, -1);
      if (!rows.column[i]) pg_lua_argument(L, arg, "list of arrays");
      lua_pop(L, 1);
    }
  } else {
    rows.column[0] = pg_lua_check_array(L, arg, -1);
  }
  lua_Integer all = (lua_Integer)rows.column[0]->count;
  lua_Integer count = pg_lua_option_integer(L, options, count_name, all);
  if (count < 0 || count > all) {
    pg_error error;
    pg_fail(&error, PG_RANGE, "option '%s': %lld of %lld rows", count_name, (long long)count,
            (long long)all);
    pg_lua_raise(L, &error);
  }
  rows.count = (size_t)count;
  return rows;
}

/* core.compare_rows(want, got [, {set=false, key=0, want_count=, got_count=}]): nil when equal,
 * else {missing, extra, missing_at, extra_at} */
static int core_compare_rows(lua_State *L) {
  static const char *const names[] = {"set", "key", "want_count", "got_count", NULL};
  pg_lua_check_options(L, 3, names);
  pg_rows want = check_rows(L, 1, 3, "want_count"), got = check_rows(L, 2, 3, "got_count");
  bool set = pg_lua_option_boolean(L, 3, "set", 0);
  uint64_t key = (uint64_t)pg_lua_option_integer(L, 3, "key", 0);
  pg_rows_difference d;
  pg_error error;
  if (pg_rows_compare(&want, &got, set, key, &d, &error)) return pg_lua_raise(L, &error);
  if (d.missing + d.extra == 0) return 0;
  lua_createtable(L, 0, 4);
  pg_lua_set_integer(L, "missing", (int64_t)d.missing);
  pg_lua_set_integer(L, "extra", (int64_t)d.extra);
  if (d.missing) pg_lua_set_integer(L, "missing_at", (int64_t)d.missing_at);
  if (d.extra) pg_lua_set_integer(L, "extra_at", (int64_t)d.extra_at);
  return 1;
}

/* core.duplicate_rows(rows [, {key=0, count=}]): how many equal an earlier one, and where the first
 * of these is */
static int core_duplicate_rows(lua_State *L) {
  static const char *const names[] = {"key", "count", NULL};
  pg_lua_check_options(L, 2, names);
  pg_rows rows = check_rows(L, 1, 2, "count");
  size_t duplicates, at;
  pg_error error;
  if (pg_rows_duplicates(&rows, (uint64_t)pg_lua_option_integer(L, 2, "key", 0), &duplicates, &at,
                         &error))
    return pg_lua_raise(L, &error);
  lua_pushinteger(L, (lua_Integer)duplicates);
  if (duplicates == 0) return 1;
  lua_pushinteger(L, (lua_Integer)at);
  return 2;
}

/* core.first_unsorted(rows [, {descending=false, strict=false, count=}]): an index, or nil */
static int core_first_unsorted(lua_State *L) {
  static const char *const names[] = {"descending", "strict", "count", NULL};
  pg_lua_check_options(L, 2, names);
  pg_rows rows = check_rows(L, 1, 2, "count");
  for (int c = 0; c < rows.columns; c++)
    if (rows.column[c]->count < rows.count || rows.column[c]->dtype.scalar == PG_STRUCT)
      pg_lua_argument(L, 1, "arrays of numbers, of equal counts");
  size_t at = pg_rows_unsorted(&rows, pg_lua_option_boolean(L, 2, "descending", 0),
                               pg_lua_option_boolean(L, 2, "strict", 0));
  if (at >= rows.count) return 0;
  lua_pushinteger(L, (lua_Integer)at);
  return 1;
}

/* core.check_permutation(array [, {base=0, count=}]): nil when it is one, else {outside,
 * outside_at, duplicates, duplicate_at, missing} */
static int core_check_permutation(lua_State *L) {
  static const char *const names[] = {"base", "count", NULL};
  pg_lua_check_options(L, 2, names);
  pg_rows rows = check_rows(L, 1, 2, "count");
  pg_permutation p;
  pg_error error;
  if (pg_check_permutation(rows.column[0], rows.count, pg_lua_option_integer(L, 2, "base", 0), &p,
                           &error))
    return pg_lua_raise(L, &error);
  if (p.outside + p.duplicates == 0) return 0;
  lua_createtable(L, 0, 5);
  pg_lua_set_integer(L, "outside", (int64_t)p.outside);
  pg_lua_set_integer(L, "duplicates", (int64_t)p.duplicates);
  if (p.outside) pg_lua_set_integer(L, "outside_at", (int64_t)p.outside_at);
  if (p.duplicates) pg_lua_set_integer(L, "duplicate_at", (int64_t)p.duplicate_at);
  pg_lua_set_integer(L, "missing", p.missing);
  return 1;
}

/* core.gather(from, index [, base=0]): a new array of from[index[i] - base] */
static int core_gather(lua_State *L) {
  const pg_array *from = pg_lua_check_array(L, 1, -1), *index = pg_lua_check_array(L, 2, -1);
  lua_Integer base = lua_isnoneornil(L, 3) ? 0 : pg_lua_check_integer(L, 3);
  pg_array *out = pg_lua_new_array(L, &from->dtype, index->ndim, index->shape);
  pg_error error;
  if (pg_gather(from, index, base, out, &error)) return pg_lua_raise(L, &error);
  return 1;
}

void pg_bind_rows(lua_State *L) {
  static const luaL_Reg functions[] = {{"compare_rows", core_compare_rows},
                                       {"duplicate_rows", core_duplicate_rows},
                                       {"first_unsorted", core_first_unsorted},
                                       {"check_permutation", core_check_permutation},
                                       {"gather", core_gather},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
