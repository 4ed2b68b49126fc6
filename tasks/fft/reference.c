/* The Lua module fft.reference: Fourier transforms of lengths that are powers of two, in binary64,
 * for machines without FFTW. `forward(x, n)` of an f32 array of interleaved complex numbers, n of
 * them a transform, gives an f64 array. */
#include <math.h>
#include <stdlib.h>

#include "bind/bind.h"

/* roots[2 k] + i roots[2 k + 1] = exp(-2 pi i k / n), for k < n / 2. */
static void fill_roots(double *roots, int64_t n) {
  for (int64_t k = 0; k < n / 2; k++) {
    const double angle = -2 * M_PI * (double)k / (double)n;
    roots[2 * k] = cos(angle);
    roots[2 * k + 1] = sin(angle);
  }
}

/* One pass of Stockham's algorithm: transforms of `length` are joined in pairs. */
static void join(double *restrict to, const double *restrict from, const double *roots, int64_t n,
                 int64_t length) {
  const int64_t pairs = n / 2 / length;
  for (int64_t j = 0; j < pairs; j++)
    for (int64_t k = 0; k < length; k++) {
      const double *a = from + 2 * (j * length + k), *b = a + n;
      const double *root = roots + 2 * k * pairs;
      const double re = b[0] * root[0] - b[1] * root[1], im = b[0] * root[1] + b[1] * root[0];
      double *low = to + 2 * (2 * j * length + k), *high = low + 2 * length;
      low[0] = a[0] + re, low[1] = a[1] + im;
      high[0] = a[0] - re, high[1] = a[1] - im;
    }
}

static void transform(double *y, double *other, const float *x, const double *roots, int64_t n) {
  int passes = 0;
  while ((int64_t)1 << passes < n) passes++;
  double *from = passes % 2 ? other : y, *to = passes % 2 ? y : other;
  for (int64_t i = 0; i < 2 * n; i++) from[i] = x[i];
  for (int64_t length = 1; length < n; length *= 2) {
    join(to, from, roots, n, length);
    double *swap = from;
    from = to;
    to = swap;
  }
}

static int forward(lua_State *L) {
  const pg_array *x = pg_lua_check_array(L, 1, PG_F32);
  const int64_t n = luaL_checkinteger(L, 2), count = (int64_t)x->count;
  if (n < 1 || (n & (n - 1)) || n > 1 << 28) pg_lua_argument(L, 2, "a power of two");
  if (count % (2 * n) != 0) pg_lua_argument(L, 1, "whole transforms");
  double *roots = lua_newuserdatauv(L, (size_t)n * sizeof *roots, 0);
  fill_roots(roots, n);
  double *y = pg_lua_new_vector(L, "f64", count)->data;
  const float *from = x->data;
  int failed = 0;
#pragma omp parallel
  {
    double *other = malloc((size_t)(2 * n) * sizeof *other);
#pragma omp for schedule(static)
    for (int64_t i = 0; i < count / (2 * n); i++) {
      if (other)
        transform(y + 2 * n * i, other, from + 2 * n * i, roots, n);
      else {
#pragma omp atomic write
        failed = 1;
      }
    }
    free(other);
  }
  if (failed) {
    const pg_error error = {.code = PG_MEMORY, .message = "no memory for a transform"};
    return pg_lua_raise(L, &error);
  }
  return 1;
}

PG_API int luaopen_fft_reference(lua_State *L) {
  static const luaL_Reg functions[] = {{"forward", forward}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
