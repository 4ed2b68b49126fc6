/* The Lua module sparse.csr: matrices in compressed rows, and their product with a vector in
 * binary64. */
#include <math.h>
#include <string.h>

#include "bind/bind.h"

enum { ROWS_MAX = 1 << 26 };

typedef enum matrix_kind { EVEN, POWER, BAND } matrix_kind;

/* A well-mixed 64-bit function of x. */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 29)) * 0xd1342543de82ef95u;
  return x ^ (x >> 32);
}

/* Number `index` of a sequence of uniform numbers in [0, 1). */
static double uniform(uint64_t seed, uint64_t index) {
  return (double)(mix(seed + index * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
}

/* Elements of a row: from none to twice the mean, or with a Pareto law of exponent 3/2, whose mean
 * is three times its smallest. */
static int64_t row_length(matrix_kind kind, uint64_t seed, int64_t row, int64_t mean, int64_t n) {
  const double u = uniform(seed, (uint64_t)row);
  const double length =
      kind == POWER ? (double)mean / 3 * pow(1 - u, -2.0 / 3) : u * (2 * (double)mean + 1);
  return length < (double)n ? (int64_t)length : n;
}

/* Column k of a row of `length`: one at random in each of as many equal parts of a range, so that
 * columns ascend. The range is the whole row, or four times as many columns as elements around the
 * diagonal. */
static int32_t column_of(matrix_kind kind, uint64_t seed, int64_t row, int64_t k, int64_t length,
                         int64_t n) {
  int64_t width = n, from = 0;
  if (kind == BAND && 4 * length < n) {
    width = 4 * length;
    from = row - width / 2;
    if (from < 0) from = 0;
    if (from > n - width) from = n - width;
  }
  const int64_t begin = k * width / length, end = (k + 1) * width / length;
  const double u = uniform(seed ^ mix((uint64_t)row + 1), (uint64_t)k);
  return (int32_t)(from + begin + (int64_t)(u * (double)(end - begin)));
}

static matrix_kind check_kind(lua_State *L, int arg) {
  static const char *const names[] = {"even", "power", "band", NULL};
  return (matrix_kind)luaL_checkoption(L, arg, NULL, names);
}

static void push_columns(lua_State *L, matrix_kind kind, uint64_t seed, const int32_t *first,
                         int64_t rows) {
  int32_t *column = pg_lua_new_vector(L, "i32", first[rows])->data;
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; row++) {
    const int64_t length = first[row + 1] - first[row];
    for (int64_t k = 0; k < length; k++)
      column[first[row] + k] = column_of(kind, seed, row, k, length, rows);
  }
}

/* make(seed, kind, rows, mean): first[rows + 1] and column[] of a square matrix. */
static int make(lua_State *L) {
  const uint64_t seed = mix((uint64_t)luaL_checkinteger(L, 1));
  const matrix_kind kind = check_kind(L, 2);
  const int64_t rows = luaL_checkinteger(L, 3), mean = luaL_checkinteger(L, 4);
  if (rows < 1 || rows > ROWS_MAX) pg_lua_argument(L, 3, "1 to 2^26 rows");
  if (mean < 1 || mean > INT32_MAX / 8 / rows) pg_lua_argument(L, 4, "fewer elements in a row");
  int32_t *first = pg_lua_new_vector(L, "i32", rows + 1)->data;
  int64_t count = 0;
  for (int64_t row = 0; row < rows; row++) {
    first[row] = (int32_t)count;
    count += row_length(kind, seed, row, mean, rows);
    if (count > INT32_MAX) pg_lua_argument(L, 4, "fewer than 2^31 elements in all");
  }
  first[rows] = (int32_t)count;
  push_columns(L, kind, seed, first, rows);
  return 2;
}

/* mixed(seed, kind, first): first[rows + 1] and column[] of another matrix with as many elements:
 * its rows have the lengths of those of `first` in another order. */
static int mixed(lua_State *L) {
  const uint64_t seed = mix((uint64_t)luaL_checkinteger(L, 1));
  const matrix_kind kind = check_kind(L, 2);
  const pg_array *given = pg_lua_check_array(L, 3, PG_I32);
  const int64_t rows = (int64_t)given->count - 1;
  if (rows < 1) pg_lua_argument(L, 3, "the beginnings of rows");
  const int32_t *old = given->data;
  int32_t *first = pg_lua_new_vector(L, "i32", rows + 1)->data;
  for (int64_t row = 0; row < rows; row++) first[row + 1] = old[row + 1] - old[row];
  for (int64_t row = rows; row > 1; row--) {
    const int64_t other = 1 + (int64_t)(mix(seed + (uint64_t)row) % (uint64_t)row);
    const int32_t length = first[row];
    first[row] = first[other];
    first[other] = length;
  }
  first[0] = 0;
  for (int64_t row = 0; row < rows; row++) first[row + 1] += first[row];
  push_columns(L, kind, seed, first, rows);
  return 2;
}

/* multiply(first, column, value, x): the product in f64, and for each row 4 sqrt(its length) times
 * the sum of the magnitudes of its terms. */
static int multiply(lua_State *L) {
  const pg_array *rows = pg_lua_check_array(L, 1, PG_I32);
  const pg_array *columns = pg_lua_check_array(L, 2, PG_I32);
  const pg_array *values = pg_lua_check_array(L, 3, PG_F32);
  const pg_array *vector = pg_lua_check_array(L, 4, PG_F32);
  if (values->count != columns->count) pg_lua_argument(L, 3, "as many values as columns");
  const int64_t n = (int64_t)rows->count - 1;
  const int32_t *first = rows->data, *column = columns->data;
  const float *value = values->data, *x = vector->data;
  double *y = pg_lua_new_vector(L, "f64", n)->data, *bound = pg_lua_new_vector(L, "f64", n)->data;
#pragma omp parallel for schedule(dynamic, 4096)
  for (int64_t row = 0; row < n; row++) {
    double sum = 0, size = 0;
    for (int32_t i = first[row]; i < first[row + 1]; i++) {
      const double term = (double)value[i] * x[column[i]];
      sum += term;
      size += fabs(term);
    }
    y[row] = sum;
    bound[row] = 4 * sqrt(first[row + 1] - first[row]) * size;
  }
  return 2;
}

PG_API int luaopen_sparse_csr(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"make", make}, {"mixed", mixed}, {"multiply", multiply}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
