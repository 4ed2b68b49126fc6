/* The Lua module norm.softmax_reference: softmax in binary64. `softmax(x, columns)` of an f32 array
 * of whole rows gives an f64 array. */
#include <math.h>

#include "bind/bind.h"

static void softmax_row(const float *x, double *y, int64_t n) {
  double top = x[0], sum = 0;
  for (int64_t j = 1; j < n; j++) top = fmax(top, x[j]);
  for (int64_t j = 0; j < n; j++) sum += y[j] = exp(x[j] - top);
  for (int64_t j = 0; j < n; j++) y[j] /= sum;
}

static int softmax(lua_State *L) {
  const pg_array *x = pg_lua_check_array(L, 1, PG_F32);
  const int64_t columns = luaL_checkinteger(L, 2), count = (int64_t)x->count;
  if (columns < 1 || count % columns != 0) pg_lua_argument(L, 2, "the length of whole rows");
  const pg_array *y = pg_lua_new_vector(L, "f64", count);
  const float *from = x->data;
  double *to = y->data;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count / columns; i++)
    softmax_row(from + i * columns, to + i * columns, columns);
  return 1;
}

PG_API int luaopen_norm_softmax_reference(lua_State *L) {
  static const luaL_Reg functions[] = {{"softmax", softmax}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
