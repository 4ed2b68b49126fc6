/* Comparison, statistics, random numbers and SHA-256 for Lua.
 * Plain tables in, plain tables out. */
#include "bind.h"
#include "value.h"
#include "../compare.h"
#include "../hash.h"
#include "../rng.h"
#include "../stats.h"

#include <string.h>

static void set_count(lua_State *L, const char *name, size_t value) {
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, name);
}

/* ---- compare ---- */

/* {index, want, got} with the elements themselves, so that 64-bit integers are shown exactly. */
static void push_mismatches(lua_State *L, const pg_array *want, const pg_array *got,
                            const pg_comparison *c) {
  lua_createtable(L, c->mismatch_count, 0);
  for (int i = 0; i < c->mismatch_count; i++) {
    size_t at = c->mismatch[i].index;
    lua_createtable(L, 0, 3);
    set_count(L, "index", at);
    pg_lua_push_element(L, &want->dtype, (const char *)want->data + at * want->dtype.size);
    lua_setfield(L, -2, "want");
    pg_lua_push_element(L, &got->dtype, (const char *)got->data + at * got->dtype.size);
    lua_setfield(L, -2, "got");
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_comparison(lua_State *L, const pg_array *want, const pg_array *got,
                            const pg_comparison *c) {
  lua_createtable(L, 0, 19);
  lua_pushboolean(L, c->bad == 0);
  lua_setfield(L, -2, "ok");
  set_count(L, "count", c->count);
  set_count(L, "bad", c->bad);
  set_count(L, "unwritten", c->unwritten);
  set_count(L, "nan_got", c->nan_got);
  set_count(L, "nan_want", c->nan_want);
  set_count(L, "inf_got", c->inf_got);
  set_count(L, "got_zeros", c->got_zeros);
  set_count(L, "want_zeros", c->want_zeros);
  pg_lua_set_number(L, "max_abs", c->max_abs);
  pg_lua_set_number(L, "max_rel", c->max_rel);
  pg_lua_set_number(L, "max_ulp", c->max_ulp);
  pg_lua_set_number(L, "rms_rel", c->rms_rel);
  pg_lua_set_number(L, "want_norm", c->want_norm);
  if (c->count) set_count(L, "worst", c->worst);
  if (c->bad) set_count(L, "first_bad", c->first_bad), set_count(L, "last_bad", c->last_bad);
  push_mismatches(L, want, got, c);
  lua_setfield(L, -2, "mismatch");
}

/* The array given as option `name` of argument 3, or NULL. The options keep it alive. */
static pg_array *option_array(lua_State *L, const char *name, pg_scalar scalar) {
  if (!lua_istable(L, 3)) return NULL;
  lua_getfield(L, 3, name);
  pg_array *array = pg_lua_test_array(L, -1);
  pg_error error;
  if ((array && array->dtype.scalar == scalar) || lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return array;
  }
  pg_fail(&error, PG_INVALID, "option '%s': expected array of %s, got %s", name,
          pg_scalar_name(scalar), array ? array->dtype.name : luaL_typename(L, -1));
  pg_lua_raise(L, &error);
  return NULL;
}

/* Scales are one for each element, or one for each of rows of equal length. */
static void set_scale(lua_State *L, pg_tolerance *t, size_t count) {
  const pg_array *scale = option_array(L, "scale", PG_F64);
  if (!scale || count == 0) return;
  pg_error error;
  if (scale->count == 0 || count % scale->count) {
    pg_fail(&error, PG_INVALID, "option 'scale': %zu scales do not fit %zu elements", scale->count,
            count);
    pg_lua_raise(L, &error);
  }
  t->scale = scale->data;
  t->scale_repeat = count / scale->count;
}

static uint64_t *check_marks(lua_State *L, size_t count) {
  const pg_array *marks = option_array(L, "marks", PG_U64);
  if (!marks || marks->count >= (count + 63) / 64) return marks ? marks->data : NULL;
  pg_error error;
  pg_fail(&error, PG_INVALID, "option 'marks': %zu words have too few bits for %zu elements",
          marks->count, count);
  pg_lua_raise(L, &error);
  return NULL;
}

/* core.compare(want, got [, {rtol=0, atol=0, ulp=0, nan_equal=false, overflow=false, poison=,
 * scale=f64 array, marks=u64 array}]); poison is a u32 that repeats (a u64 beyond that range). */
static int core_compare(lua_State *L) {
  static const char *const names[] = {"rtol",   "atol",  "ulp",   "nan_equal", "overflow",
                                      "poison", "scale", "marks", NULL};
  const pg_array *want = pg_lua_check_array(L, 1, -1), *got = pg_lua_check_array(L, 2, -1);
  pg_lua_check_options(L, 3, names);
  pg_tolerance t = {.rtol = pg_lua_option_number(L, 3, "rtol", 0),
                    .atol = pg_lua_option_number(L, 3, "atol", 0),
                    .ulp = pg_lua_option_number(L, 3, "ulp", 0),
                    .nan_equal = pg_lua_option_boolean(L, 3, "nan_equal", 0),
                    .overflow = pg_lua_option_boolean(L, 3, "overflow", 0)};
  if (lua_istable(L, 3) && lua_getfield(L, 3, "poison") != LUA_TNIL) {
    uint64_t poison = (uint64_t)pg_lua_option_integer(L, 3, "poison", 0);
    t.has_poison = true;
    t.poison = poison >> 32 ? poison : poison | poison << 32;
  }
  pg_comparison c;
  pg_error error;
  set_scale(L, &t, got->count);
  uint64_t *marks = check_marks(L, got->count);
  if (pg_compare_marked(want, got, &t, marks, &c, &error)) return pg_lua_raise(L, &error);
  push_comparison(L, want, got, &c);
  return 1;
}

/* core.ulp_distance(dtype, want, got) */
static int core_ulp_distance(lua_State *L) {
  pg_dtype dtype;
  pg_lua_check_dtype(L, 1, &dtype);
  lua_pushnumber(
      L, pg_ulp_distance(dtype.scalar, pg_lua_check_number(L, 2), pg_lua_check_number(L, 3)));
  return 1;
}

/* ---- statistics ---- */

enum { SAMPLES_MAX = 1 << 28 };

/* The numbers of a list or an f64 array at `arg`. Memory belongs to Lua (a userdata left on the
 * stack). */
static const double *check_samples(lua_State *L, int arg, size_t *count) {
  const pg_array *array = pg_lua_test_array(L, arg);
  if (array) {
    *count = pg_lua_check_array(L, arg, PG_F64)->count;
    return array->data;
  }
  if (!lua_istable(L, arg)) pg_lua_argument(L, arg, "list of numbers");
  lua_Integer n = luaL_len(L, arg); /* a __len may say anything */
  if (n < 0 || n > SAMPLES_MAX) pg_lua_argument(L, arg, "list of at most 2^28 numbers");
  double *samples = lua_newuserdatauv(L, (size_t)(n > 0 ? n : 1) * sizeof *samples, 0);
  for (lua_Integer i = 0; i < n; i++) {
    if (lua_geti(L, arg, i + 1) != LUA_TNUMBER) pg_lua_argument(L, arg, "list of numbers");
    samples[i] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  *count = (size_t)n;
  return samples;
}

static void set_interval(lua_State *L, const char *name, const double interval[2]) {
  lua_createtable(L, 2, 0);
  for (int i = 0; i < 2; i++) lua_pushnumber(L, interval[i]), lua_rawseti(L, -2, i + 1);
  lua_setfield(L, -2, name);
}

/* core.summarize(list): {samples, min, max, mean, stddev, median, p20, p80, ci95={low, high},
 * relative_half} */
static int core_summarize(lua_State *L) {
  size_t count;
  const double *samples = check_samples(L, 1, &count);
  pg_summary s;
  pg_error error;
  if (pg_summarize(samples, count, &s, &error)) return pg_lua_raise(L, &error);
  lua_createtable(L, 0, 10);
  set_count(L, "samples", s.samples);
  pg_lua_set_number(L, "min", s.min);
  pg_lua_set_number(L, "max", s.max);
  pg_lua_set_number(L, "mean", s.mean);
  pg_lua_set_number(L, "stddev", s.stddev);
  pg_lua_set_number(L, "median", s.median);
  pg_lua_set_number(L, "p20", s.p20);
  pg_lua_set_number(L, "p80", s.p80);
  pg_lua_set_number(L, "relative_half", s.relative_half);
  set_interval(L, "ci95", s.ci95);
  return 1;
}

/* A list of slices, each a list of numbers, at `arg`: their samples one after the other. Memory
 * belongs to Lua, as with check_samples. */
static pg_samples check_slices(lua_State *L, int arg) {
  lua_Integer n = luaL_len(L, arg);
  if (n < 1 || n > SAMPLES_MAX) pg_lua_argument(L, arg, "list of at most 2^28 slices");
  pg_samples s = {.slices = (size_t)n};
  size_t *sizes = lua_newuserdatauv(L, (size_t)n * sizeof *sizes, 0);
  for (lua_Integer i = 0; i < n; i++) {
    lua_Integer count = lua_geti(L, arg, i + 1) == LUA_TTABLE ? luaL_len(L, -1) : 0;
    if (count < 1) pg_lua_argument(L, arg, "list of slices, none of them empty");
    if (count > SAMPLES_MAX - (lua_Integer)s.count)
      pg_lua_argument(L, arg, "slices of at most 2^28 numbers");
    sizes[i] = (size_t)count;
    s.count += sizes[i];
    lua_pop(L, 1);
  }
  double *values = lua_newuserdatauv(L, s.count * sizeof *values, 0), *to = values;
  for (lua_Integer i = 0; i < n; i++) {
    lua_geti(L, arg, i + 1);
    for (size_t k = 1; k <= sizes[i]; k++, to++) {
      if (lua_geti(L, -1, (lua_Integer)k) != LUA_TNUMBER)
        pg_lua_argument(L, arg, "slices of numbers");
      *to = lua_tonumber(L, -1);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  s.values = values;
  s.sizes = sizes;
  return s;
}

static pg_samples check_set(lua_State *L, int arg) {
  bool sliced = lua_istable(L, arg) && lua_geti(L, arg, 1) == LUA_TTABLE;
  if (sliced) return check_slices(L, arg);
  pg_samples s = {0};
  s.values = check_samples(L, arg, &s.count);
  return s;
}

/* core.ratio(a, b [, seed=1 [, rounds=2000]]): {ratio, ci95={low, high}} of midmean(a) /
 * midmean(b); each a list of numbers, or of slices */
static int core_ratio(lua_State *L) {
  lua_settop(L, 4);
  lua_Integer seed = lua_isnil(L, 3) ? 1 : pg_lua_check_integer(L, 3);
  lua_Integer rounds = lua_isnil(L, 4) ? 2000 : pg_lua_check_integer(L, 4);
  if (rounds < 1 || rounds > 1000000) pg_lua_argument(L, 4, "integer 1 to 1000000");
  pg_samples a = check_set(L, 1), b = check_set(L, 2);
  double ratio, ci95[2];
  pg_error error;
  if (pg_ratio(a, b, (uint64_t)seed, (int)rounds, &ratio, ci95, &error))
    return pg_lua_raise(L, &error);
  lua_createtable(L, 0, 2);
  pg_lua_set_number(L, "ratio", ratio);
  set_interval(L, "ci95", ci95);
  return 1;
}

/* ---- random numbers by index ---- */

typedef struct place {
  uint64_t seed, stream, index;
} place;

static place check_place(lua_State *L) {
  return (place){(uint64_t)pg_lua_check_integer(L, 1), (uint64_t)pg_lua_check_integer(L, 2),
                 (uint64_t)pg_lua_check_integer(L, 3)};
}

static int random_u32(lua_State *L) {
  place p = check_place(L);
  lua_pushinteger(L, pg_rng_u32(p.seed, p.stream, p.index));
  return 1;
}

static int random_u64(lua_State *L) {
  place p = check_place(L);
  lua_pushinteger(L, (lua_Integer)pg_rng_u64(p.seed, p.stream, p.index));
  return 1;
}

static int random_f64(lua_State *L) {
  place p = check_place(L);
  lua_pushnumber(L, pg_rng_f64(p.seed, p.stream, p.index));
  return 1;
}

static int random_normal(lua_State *L) {
  place p = check_place(L);
  lua_pushnumber(L, pg_rng_normal(p.seed, p.stream, p.index));
  return 1;
}

/* core.random_below(seed, stream, index, bound): unbiased in 0 .. bound - 1 */
static int random_below(lua_State *L) {
  place p = check_place(L);
  lua_Integer bound = pg_lua_check_integer(L, 4);
  if (bound < 1) pg_lua_argument(L, 4, "integer above 0");
  lua_pushinteger(L, (lua_Integer)pg_rng_below(p.seed, p.stream, p.index, (uint64_t)bound));
  return 1;
}

static int core_sha256(lua_State *L) {
  size_t length;
  const char *text = pg_lua_check_string(L, 1, &length);
  char hex[PG_SHA_HEX];
  pg_sha256(text, length, hex);
  lua_pushstring(L, hex);
  return 1;
}

void pg_bind_compare(lua_State *L) {
  static const luaL_Reg functions[] = {{"compare", core_compare},
                                       {"ulp_distance", core_ulp_distance},
                                       {"summarize", core_summarize},
                                       {"ratio", core_ratio},
                                       {"random_u32", random_u32},
                                       {"random_u64", random_u64},
                                       {"random_f64", random_f64},
                                       {"random_normal", random_normal},
                                       {"random_below", random_below},
                                       {"sha256", core_sha256},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
