/* The C API's host arrays: random numbers and comparison, over array.h and compare.h.
 * An array that a caller made is a pg_array of array.h, allocated. */
#include "api.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../array.h"
#include "../compare.h"

int pg_array_make(const char *dtype, int ndim, const int64_t *shape, pg_array **out,
                  pg_error *error) {
  pg_dtype type;
  NEED(out);
  *out = NULL;
  NEED(dtype);
  NEED(shape);
  pg_code code = pg_dtype_parse(dtype, &type, error);
  if (code) return (int)code;
  pg_array *array = calloc(1, sizeof *array);
  if (!array) return (int)pg_fail(error, PG_MEMORY, "no memory for an array");
  code = pg_array_new(array, &type, ndim, shape, error);
  if (code)
    free(array);
  else
    *out = array;
  return (int)code;
}

void pg_array_drop(pg_array *array) {
  if (!array) return;
  pg_array_free(array);
  free(array);
}

void *pg_array_data(pg_array *array) {
  return array ? array->data : NULL;
}

size_t pg_array_count(const pg_array *array) {
  return array ? array->count : 0;
}

size_t pg_array_bytes(const pg_array *array) {
  return array ? array->bytes : 0;
}

const char *pg_array_dtype(const pg_array *array) {
  return array ? array->dtype.name : "";
}

/* Address of an element; NULL when there is none, or it is a struct (a script's array may be). */
static void *element(const pg_array *array, size_t index) {
  if (!array || index >= array->count || array->dtype.scalar == PG_STRUCT) return NULL;
  return (char *)array->data + index * array->dtype.size;
}

double pg_array_get(const pg_array *array, size_t index) {
  const void *at = element(array, index);
  return at ? pg_load_f64(array->dtype.scalar, at) : NAN;
}

int pg_array_set(pg_array *array, size_t index, double value) {
  unsigned char stored[8];
  void *at = element(array, index);
  if (!at) return PG_RANGE;
  pg_scalar scalar = array->dtype.scalar;
  pg_store_f64(scalar, stored, value);
  if (pg_scalar_class(scalar) != 'f' && pg_load_f64(scalar, stored) != value) return PG_RANGE;
  memcpy(at, stored, pg_scalar_size(scalar));
  return 0;
}

/* ---- random numbers ---- */

int pg_fill_uniform(pg_array *array, uint64_t seed, uint64_t stream, double low, double high,
                    pg_error *error) {
  NEED(array);
  const pg_random how = {
      .seed = seed, .stream = stream, .dist = PG_DIST_UNIFORM, .low = low, .high = high};
  return (int)pg_array_random(array, &how, error);
}

int pg_fill_normal(pg_array *array, uint64_t seed, uint64_t stream, double mean, double stddev,
                   pg_error *error) {
  NEED(array);
  const pg_random how = {
      .seed = seed, .stream = stream, .dist = PG_DIST_NORMAL, .mean = mean, .stddev = stddev};
  return (int)pg_array_random(array, &how, error);
}

int pg_fill_integer(pg_array *array, uint64_t seed, uint64_t stream, int64_t first, int64_t last,
                    pg_error *error) {
  NEED(array);
  const pg_random how = {
      .seed = seed, .stream = stream, .dist = PG_DIST_INTEGER, .first = first, .last = last};
  return (int)pg_array_random(array, &how, error);
}

/* ---- comparison ---- */

int pg_differ(const pg_array *want, const pg_array *got, double rtol, double atol,
              pg_difference *out, pg_error *error) {
  pg_comparison result;
  NEED(want);
  NEED(got);
  NEED(out);
  const pg_tolerance tolerance = {.rtol = rtol, .atol = atol};
  pg_code code = pg_compare(want, got, &tolerance, &result, error);
  if (code) return (int)code;
  *out = (pg_difference){.count = result.count,
                         .bad = result.bad,
                         .first_bad = result.first_bad,
                         .worst = result.worst,
                         .max_abs = result.max_abs,
                         .max_rel = result.max_rel,
                         .max_ulp = result.max_ulp};
  return 0;
}
