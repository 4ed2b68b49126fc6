/* The Lua module conv.reference: convolution with filters of 3 x 3, padded by one, in binary64.
 * `apply(x, w, images, inputs, outputs, height, width)` of f32 or f64 arrays gives y as an f64
 * array; `spread` of the same the root of the sum of the squares of the terms of each element. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "bind/bind.h"

typedef struct shape {
  int64_t images, inputs, outputs, height, width;
} shape;

/* A copy of argument `arg` as f64, perhaps of the squares. */
static double *copy_f64(lua_State *L, int arg, int64_t count, bool squared) {
  const pg_array *a = pg_lua_check_array(L, arg, -1);
  const pg_scalar type = a->dtype.scalar;
  if ((int64_t)a->count != count) pg_lua_argument(L, arg, "an array of that shape");
  if (type != PG_F64 && type != PG_F32) pg_lua_argument(L, arg, "an array of f32 or f64");
  double *copy = lua_newuserdatauv(L, (size_t)count * sizeof *copy + 1, 0);
  for (int64_t i = 0; i < count; i++) {
    const double v = type == PG_F64 ? ((const double *)a->data)[i] : ((const float *)a->data)[i];
    copy[i] = squared ? v * v : v;
  }
  return copy;
}

/* y += weight * x, moved by (r - 1, s - 1). */
static void add_moved(double *y, const double *x, double weight, int r, int s, const shape *of) {
  const int64_t first = s == 0, end = of->width - (s == 2);
  for (int64_t row = 0; row < of->height; row++) {
    const int64_t from = row + r - 1;
    if (from < 0 || from >= of->height) continue;
    double *to = y + row * of->width;
    const double *at = x + from * of->width + s - 1;
    for (int64_t column = first; column < end; column++) to[column] += weight * at[column];
  }
}

static void make_plane(double *y, const double *x, const double *w, const shape *of) {
  const int64_t plane = of->height * of->width;
  memset(y, 0, (size_t)plane * sizeof *y);
  for (int64_t input = 0; input < of->inputs; input++)
    for (int tap = 0; tap < 9; tap++)
      add_moved(y, x + input * plane, w[input * 9 + tap], tap / 3, tap % 3, of);
}

static int convolve(lua_State *L, bool squared) {
  const shape of = {luaL_checkinteger(L, 3), luaL_checkinteger(L, 4), luaL_checkinteger(L, 5),
                    luaL_checkinteger(L, 6), luaL_checkinteger(L, 7)};
  const int64_t plane = of.height * of.width, planes = of.images * of.outputs;
  const double *x = copy_f64(L, 1, of.images * of.inputs * plane, squared);
  const double *w = copy_f64(L, 2, of.outputs * of.inputs * 9, squared);
  const int64_t count = planes * plane;
  pg_dtype f64;
  lua_pushliteral(L, "f64");
  pg_lua_check_dtype(L, lua_gettop(L), &f64);
  double *y = pg_lua_new_array(L, &f64, 1, &count)->data;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < planes; i++)
    make_plane(y + i * plane, x + i / of.outputs * of.inputs * plane,
               w + i % of.outputs * of.inputs * 9, &of);
  for (int64_t i = 0; squared && i < count; i++) y[i] = sqrt(y[i]);
  return 1;
}

static int apply(lua_State *L) {
  return convolve(L, false);
}

static int spread(lua_State *L) {
  return convolve(L, true);
}

PG_API int luaopen_conv_reference(lua_State *L) {
  static const luaL_Reg functions[] = {{"apply", apply}, {"spread", spread}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
