/* Patterns of wrong elements for Lua; the words are made in lua/perigee/pattern.lua.
 * Plain tables in, plain tables out. */
#include "../compare.h"
#include "../pattern.h"
#include "bind.h"
#include "value.h"

static void push_axis(lua_State *L, const pg_axis *axis) {
  lua_createtable(L, 0, 5);
  pg_lua_set_integer(L, "extent", axis->extent);
  pg_lua_set_integer(L, "touched", axis->touched);
  pg_lua_set_integer(L, "first", axis->first);
  pg_lua_set_integer(L, "last", axis->last);
  pg_lua_set_integer(L, "stride", axis->stride);
}

static void push_pattern(lua_State *L, const pg_pattern *p) {
  lua_createtable(L, 0, 12);
  pg_lua_set_integer(L, "bad", (int64_t)p->bad);
  pg_lua_set_integer(L, "first", (int64_t)p->first);
  pg_lua_set_integer(L, "last", (int64_t)p->last);
  pg_lua_set_integer(L, "stride", (int64_t)p->stride);
  pg_lua_set_integer(L, "diagonal", (int64_t)p->diagonal);
  pg_lua_set_integer(L, "above", (int64_t)p->above);
  pg_lua_set_integer(L, "below", (int64_t)p->below);
  lua_pushboolean(L, p->box);
  lua_setfield(L, -2, "box");
  lua_createtable(L, p->ndim, 0);
  for (int d = 0; p->ndim > 1 && d < p->ndim; d++) {
    push_axis(L, &p->axis[d]);
    lua_rawseti(L, -2, d + 1);
  }
  lua_setfield(L, -2, "axes");
  if (p->modulus == 0) return;
  pg_lua_set_integer(L, "modulus", (int64_t)p->modulus);
  lua_newtable(L);
  for (size_t i = 0, n = 0; i < p->modulus; i++)
    if (p->residues[i]) lua_pushinteger(L, (lua_Integer)i), lua_rawseti(L, -2, (lua_Integer)++n);
  lua_setfield(L, -2, "residues");
}

/* The u64 array at `arg` with a bit for each of `count` elements. */
static const uint64_t *check_marks(lua_State *L, int arg, size_t count) {
  const pg_array *marks = pg_lua_check_array(L, arg, PG_U64);
  if (marks->count < (count + 63) / 64)
    pg_lua_argument(L, arg, "array with a bit for each element");
  return marks->data;
}

/* core.find_pattern(marks, shape) */
static int core_find_pattern(lua_State *L) {
  int64_t shape[PG_DIM_MAX];
  int ndim = pg_lua_check_shape(L, 2, shape);
  size_t count = 1;
  for (int d = 0; d < ndim; d++) {
    if (shape[d] < 0 || __builtin_mul_overflow(count, (size_t)shape[d], &count))
      pg_lua_argument(L, 2, "shape of an array");
  }
  const uint64_t *marks = check_marks(L, 1, count);
  pg_pattern pattern;
  pg_error error;
  if (pg_find_pattern(marks, ndim, shape, &pattern, &error)) return pg_lua_raise(L, &error);
  push_pattern(L, &pattern);
  return 1;
}

/* core.find_relation(want, got [, marks]): see host/pattern.h */
static int core_find_relation(lua_State *L) {
  const pg_array *want = pg_lua_check_array(L, 1, -1), *got = pg_lua_check_array(L, 2, -1);
  const uint64_t *marks = lua_isnoneornil(L, 3) ? NULL : check_marks(L, 3, got->count);
  pg_relation r;
  pg_error error;
  if (pg_find_relation(want, got, marks, &r, &error)) return pg_lua_raise(L, &error);
  lua_createtable(L, 0, 10);
  pg_lua_set_integer(L, "pairs", (int64_t)r.pairs);
  pg_lua_set_integer(L, "ratios", (int64_t)r.ratios);
  pg_lua_set_integer(L, "zeros", (int64_t)r.zeros);
  pg_lua_set_integer(L, "nans", (int64_t)r.nans);
  pg_lua_set_number(L, "ratio_min", r.ratio_min);
  pg_lua_set_number(L, "ratio_max", r.ratio_max);
  pg_lua_set_number(L, "difference_min", r.difference_min);
  pg_lua_set_number(L, "difference_max", r.difference_max);
  pg_lua_set_number(L, "got_min", r.got_min);
  pg_lua_set_number(L, "got_max", r.got_max);
  return 1;
}

/* core.row_norms(array, columns): f64, the largest finite magnitude of each row */
static int core_row_norms(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  lua_Integer columns = pg_lua_check_integer(L, 2);
  if (columns < 1) pg_lua_argument(L, 2, "integer above 0");
  size_t rows = array->count / (size_t)columns + (array->count % (size_t)columns != 0);
  const int64_t shape[1] = {(int64_t)rows};
  pg_dtype f64 = pg_dtype_of(PG_F64);
  const pg_array *out = pg_lua_new_array(L, &f64, 1, shape);
  pg_error error;
  if (pg_row_norms(array, (size_t)columns, out->data, &error)) return pg_lua_raise(L, &error);
  return 1;
}

/* core.count_poison(array, pattern): elements that hold the repeated 8-byte pattern */
static int core_count_poison(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  uint64_t pattern = (uint64_t)pg_lua_check_integer(L, 2);
  lua_pushinteger(L, (lua_Integer)pg_count_poison(array, pattern));
  return 1;
}

void pg_bind_pattern(lua_State *L) {
  static const luaL_Reg functions[] = {{"find_pattern", core_find_pattern},
                                       {"find_relation", core_find_relation},
                                       {"row_norms", core_row_norms},
                                       {"count_poison", core_count_poison},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
