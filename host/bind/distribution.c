/* Statistics of draws for Lua. Plain tables in, plain tables out. */
#include "../distribution.h"
#include "bind.h"
#include "value.h"

#include <string.h>

static pg_law check_law(lua_State *L) {
  static const char *const names[] = {"uniform", "normal", "lognormal", "exponential", "integer"};
  lua_getfield(L, 2, "law");
  const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?";
  for (int i = 0; i < 5; i++)
    if (strcmp(name, names[i]) == 0) return (pg_law)i;
  pg_error error;
  pg_fail(&error, PG_INVALID,
          "option 'law': expected uniform, normal, lognormal, exponential or integer, got '%s'",
          name);
  pg_lua_raise(L, &error);
  return PG_LAW_UNIFORM;
}

static void push_list(lua_State *L, const char *name, const double *values, int count) {
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) lua_pushnumber(L, values[i]), lua_rawseti(L, -2, i + 1);
  lua_setfield(L, -2, name);
}

static void push_lags(lua_State *L) {
  lua_createtable(L, PG_LAGS, 0);
  for (int i = 0; i < PG_LAGS; i++) lua_pushinteger(L, pg_lags[i]), lua_rawseti(L, -2, i + 1);
  lua_setfield(L, -2, "lags");
}

/* core.test_draws(array, {law=, a=0, b=1, first=0, span=0, seed=0, samples=0}): the fields of
 * pg_draws (host/distribution.h) */
static int core_test_draws(lua_State *L) {
  static const char *const names[] = {"law", "a", "b", "first", "span", "seed", "samples", NULL};
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  luaL_checktype(L, 2, LUA_TTABLE);
  pg_lua_check_options(L, 2, names);
  pg_distribution d = {.law = check_law(L)};
  d.a = pg_lua_option_number(L, 2, "a", 0);
  d.b = pg_lua_option_number(L, 2, "b", 1);
  d.first = (uint64_t)pg_lua_option_integer(L, 2, "first", 0);
  d.span = (uint64_t)pg_lua_option_integer(L, 2, "span", 0);
  d.seed = (uint64_t)pg_lua_option_integer(L, 2, "seed", 0);
  lua_Integer samples = pg_lua_option_integer(L, 2, "samples", 0);
  d.samples = samples > 0 ? (size_t)samples : 0;
  pg_draws r;
  pg_error error;
  if (pg_test_draws(array, &d, &r, &error)) return pg_lua_raise(L, &error);
  lua_createtable(L, 0, 18);
  pg_lua_set_integer(L, "count", (int64_t)r.count);
  pg_lua_set_integer(L, "outside", (int64_t)r.outside);
  pg_lua_set_integer(L, "outside_at", (int64_t)r.outside_at);
  push_list(L, "moment", r.moment, PG_MOMENTS);
  push_list(L, "serial", r.serial, PG_LAGS);
  push_lags(L);
  pg_lua_set_number(L, "ks", r.ks);
  pg_lua_set_number(L, "chi2", r.chi2);
  pg_lua_set_number(L, "pairs_chi2", r.pairs_chi2);
  pg_lua_set_number(L, "lowest", r.lowest);
  pg_lua_set_number(L, "highest", r.highest);
  pg_lua_set_integer(L, "equal_neighbours", (int64_t)r.equal_neighbours);
  pg_lua_set_integer(L, "bits", r.bits);
  pg_lua_set_integer(L, "worst_bit", r.worst_bit);
  pg_lua_set_integer(L, "worst_change_bit", r.worst_change_bit);
  pg_lua_set_number(L, "ones", r.ones);
  pg_lua_set_number(L, "changes", r.changes);
  return 1;
}

/* core.repeated_windows(array, width [, key=0]): how many, and where the first one is */
static int core_repeated_windows(lua_State *L) {
  const pg_array *array = pg_lua_check_array(L, 1, -1);
  lua_Integer width = pg_lua_check_integer(L, 2);
  lua_Integer key = lua_isnoneornil(L, 3) ? 0 : pg_lua_check_integer(L, 3);
  if (width < 1) pg_lua_argument(L, 2, "integer above 0");
  size_t repeats, at;
  pg_error error;
  if (pg_repeated_windows(array, (size_t)width, (uint64_t)key, &repeats, &at, &error))
    return pg_lua_raise(L, &error);
  lua_pushinteger(L, (lua_Integer)repeats);
  lua_pushinteger(L, (lua_Integer)at);
  return 2;
}

void pg_bind_distribution(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"test_draws", core_test_draws}, {"repeated_windows", core_repeated_windows}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
