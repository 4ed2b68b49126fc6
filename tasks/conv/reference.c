/* The Lua module conv.reference: convolution with filters of 3 x 3, padded by one, in binary64.
 * `apply(x, w, images, inputs, outputs, height, width)` of f32 or f64 arrays gives y as an f64
 * array; `spread` of the same the root of the sum of the squares of the terms of each element. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"

typedef struct shape {
  int64_t images, inputs, outputs, height, width;
} shape;

/* What is convolved: arrays of f32 or f64, perhaps the squares of their elements. */
typedef struct operands {
  const pg_array *x, *w;
  bool squared;
} operands;

static const pg_array *check_array(lua_State *L, int arg, int64_t count) {
  const pg_array *a = pg_lua_check_array(L, arg, -1);
  if ((int64_t)a->count != count) pg_lua_argument(L, arg, "an array of that shape");
  if (a->dtype.scalar != PG_F64 && a->dtype.scalar != PG_F32)
    pg_lua_argument(L, arg, "an array of f32 or f64");
  return a;
}

/* Elements first ... first + count - 1 in binary64. */
static void load(double *to, const pg_array *from, int64_t first, int64_t count, bool squared) {
  if (from->dtype.scalar == PG_F64)
    memcpy(to, (const double *)from->data + first, (size_t)count * sizeof *to);
  else
    for (int64_t i = 0; i < count; i++) to[i] = ((const float *)from->data)[first + i];
  for (int64_t i = 0; squared && i < count; i++) to[i] *= to[i];
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

/* Channel `output` of an image. `plane` has room for one of its inputs. */
static void make_plane(double *y, double *plane, const operands *from, int64_t image,
                       int64_t output, const shape *of) {
  const int64_t pixels = of->height * of->width;
  memset(y, 0, (size_t)pixels * sizeof *y);
  for (int64_t input = 0; input < of->inputs; input++) {
    double w[9];
    load(plane, from->x, (image * of->inputs + input) * pixels, pixels, from->squared);
    load(w, from->w, (output * of->inputs + input) * 9, 9, from->squared);
    for (int tap = 0; tap < 9; tap++) add_moved(y, plane, w[tap], tap / 3, tap % 3, of);
  }
  for (int64_t i = 0; from->squared && i < pixels; i++) y[i] = sqrt(y[i]);
}

/* False: no memory. */
static bool make_planes(double *y, const operands *from, const shape *of) {
  const int64_t pixels = of->height * of->width;
  bool made = true;
#pragma omp parallel reduction(&& : made)
  {
    double *plane = malloc((size_t)pixels * sizeof *plane);
    made = plane != NULL;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < of->images * of->outputs; i++)
      if (plane) make_plane(y + i * pixels, plane, from, i / of->outputs, i % of->outputs, of);
    free(plane);
  }
  return made;
}

static int convolve(lua_State *L, bool squared) {
  const shape of = {luaL_checkinteger(L, 3), luaL_checkinteger(L, 4), luaL_checkinteger(L, 5),
                    luaL_checkinteger(L, 6), luaL_checkinteger(L, 7)};
  const int64_t pixels = of.height * of.width, count = of.images * of.outputs * pixels;
  const operands from = {check_array(L, 1, of.images * of.inputs * pixels),
                         check_array(L, 2, of.outputs * of.inputs * 9), squared};
  if (!make_planes(pg_lua_new_vector(L, "f64", count)->data, &from, &of)) {
    const pg_error error = {.code = PG_MEMORY, .message = "no memory for a plane"};
    return pg_lua_raise(L, &error);
  }
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
