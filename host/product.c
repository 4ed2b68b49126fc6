/* Products of matrices in binary64: blocks of b that stay in the cache, two rows of the result by
 * four of b at a time, blocks of rows on the machine's cores. */
#include "product.h"

#include "parallel.h"

enum { ROWS = 64, DEPTH = 256, COLUMNS = 512, UNROLL = 8 };

typedef struct product {
  const double *a, *b; /* [m][k] and [k][n] */
  double *out;         /* [m][n] */
  size_t m, n, k;
} product;

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* ---- factors ---- */

pg_code pg_factor_shape(pg_factor factor, int64_t shape[2], pg_error *error) {
  const pg_array *array = factor.array;
  if (array->dtype.scalar == PG_STRUCT)
    return pg_fail(error, PG_INVALID, "no product of structs %s", array->dtype.name);
  if (array->ndim > 2)
    return pg_fail(error, PG_INVALID, "expected a matrix, got %d dimensions", array->ndim);
  const int64_t rows = array->shape[0], columns = array->ndim == 2 ? array->shape[1] : 1;
  shape[0] = factor.transposed ? columns : rows;
  shape[1] = factor.transposed ? rows : columns;
  return PG_OK;
}

static void transpose(const double *from, double *to, size_t rows, size_t columns) {
  for (size_t first = 0; first < rows; first += ROWS)
    for (size_t j = 0; j < columns; j++)
      for (size_t i = first; i < least(first + ROWS, rows); i++)
        to[j * rows + i] = from[i * columns + j];
}

/* The factor in binary64 as it is taken; *values is its own data or that of *copy. */
static pg_code convert(pg_factor factor, const int64_t shape[2], pg_array *copy,
                       const double **values, pg_error *error) {
  const pg_array *array = factor.array;
  const pg_dtype f64 = pg_dtype_of(PG_F64);
  pg_array straight = {0};
  *values = array->data;
  if (array->dtype.scalar == PG_F64 && !factor.transposed) return PG_OK;
  pg_code code = pg_array_new(copy, &f64, 2, shape, error);
  if (!code && !factor.transposed) code = pg_array_convert(array, copy, error);
  if (!code && factor.transposed) {
    code = pg_array_new(&straight, &f64, array->ndim, array->shape, error);
    if (!code) code = pg_array_convert(array, &straight, error);
    if (!code) transpose(straight.data, copy->data, (size_t)shape[1], (size_t)shape[0]);
    pg_array_free(&straight);
  }
  *values = copy->data;
  return code;
}

/* ---- the product ---- */

/* Two rows of the result gain four rows of b (`stride` apart), `count` columns of each. The inner
 * loops have a constant count, so that compilers make vectors of them. */
static void add_rows(double *restrict c0, double *restrict c1, const double *a0, const double *a1,
                     const double *restrict b, size_t stride, size_t count) {
  const double *b0 = b, *b1 = b + stride, *b2 = b1 + stride, *b3 = b2 + stride;
  size_t j = 0;
  for (; j + UNROLL <= count; j += UNROLL)
    for (size_t u = j; u < j + UNROLL; u++) {
      c0[u] += (a0[0] * b0[u] + a0[1] * b1[u]) + (a0[2] * b2[u] + a0[3] * b3[u]);
      c1[u] += (a1[0] * b0[u] + a1[1] * b1[u]) + (a1[2] * b2[u] + a1[3] * b3[u]);
    }
  for (; j < count; j++) {
    c0[j] += (a0[0] * b0[j] + a0[1] * b1[j]) + (a0[2] * b2[j] + a0[3] * b3[j]);
    c1[j] += (a1[0] * b0[j] + a1[1] * b1[j]) + (a1[2] * b2[j] + a1[3] * b3[j]);
  }
}

static void add_row(double *restrict c, double a, const double *restrict b, size_t count) {
  for (size_t j = 0; j < count; j++) c[j] += a * b[j];
}

/* Rows first..last of the result gain one block of b. */
static void add_block(const product *p, size_t first, size_t last, size_t depth, size_t column) {
  const size_t end = least(depth + DEPTH, p->k), count = least(COLUMNS, p->n - column);
  for (size_t i = first; i < last; i += 2) {
    const bool two = i + 1 < last;
    const double *a = p->a + i * p->k;
    double *c = p->out + i * p->n + column;
    size_t l = depth;
    for (; two && l + 4 <= end; l += 4)
      add_rows(c, c + p->n, a + l, a + p->k + l, p->b + l * p->n + column, p->n, count);
    for (; l < end; l++) {
      add_row(c, a[l], p->b + l * p->n + column, count);
      if (two) add_row(c + p->n, a[p->k + l], p->b + l * p->n + column, count);
    }
  }
}

/* A matrix times a vector: eight sums a row. */
static double inner(const double *a, const double *b, size_t count) {
  double sums[UNROLL] = {0}, total = 0;
  size_t l = 0;
  for (; l + UNROLL <= count; l += UNROLL)
    for (size_t u = 0; u < UNROLL; u++) sums[u] += a[l + u] * b[l + u];
  for (; l < count; l++) total += a[l] * b[l];
  for (size_t u = 0; u < UNROLL; u++) total += sums[u];
  return total;
}

static void make_rows(void *context, size_t part) {
  const product *p = context;
  const size_t first = part * ROWS, last = least(first + ROWS, p->m);
  if (p->n == 1) {
    for (size_t i = first; i < last; i++) p->out[i] = inner(p->a + i * p->k, p->b, p->k);
    return;
  }
  for (size_t i = first * p->n; i < last * p->n; i++) p->out[i] = 0;
  for (size_t depth = 0; depth < p->k; depth += DEPTH)
    for (size_t column = 0; column < p->n; column += COLUMNS)
      add_block(p, first, last, depth, column);
}

pg_code pg_product(pg_array *out, pg_factor a, pg_factor b, pg_error *error) {
  int64_t of_a[2], of_b[2];
  pg_array copy_a = {0}, copy_b = {0};
  product p = {.out = out->data};
  pg_code code = pg_factor_shape(a, of_a, error);
  if (!code) code = pg_factor_shape(b, of_b, error);
  if (!code && of_a[1] != of_b[0])
    code = pg_fail(error, PG_INVALID, "no product of %lld x %lld and %lld x %lld",
                   (long long)of_a[0], (long long)of_a[1], (long long)of_b[0], (long long)of_b[1]);
  if (!code && out->count != (size_t)(of_a[0] * of_b[1]))
    code = pg_fail(error, PG_INVALID, "the result has %lld elements, not %zu",
                   (long long)(of_a[0] * of_b[1]), out->count);
  if (!code && out->dtype.scalar != PG_F64)
    code = pg_fail(error, PG_INVALID, "the result is f64, not %s", out->dtype.name);
  if (!code) code = convert(a, of_a, &copy_a, &p.a, error);
  if (!code) code = convert(b, of_b, &copy_b, &p.b, error);
  if (!code) {
    p.m = (size_t)of_a[0], p.k = (size_t)of_a[1], p.n = (size_t)of_b[1];
    pg_parallel((p.m + ROWS - 1) / ROWS, make_rows, &p);
  }
  pg_array_free(&copy_a);
  pg_array_free(&copy_b);
  return code;
}
