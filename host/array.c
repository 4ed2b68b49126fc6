/* Typed host arrays: allocation, views and shapes.
 * What fills, reduces and converts them is in fill.c and reduce.c. */
#include "array.h"
#include "available.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20, LARGE = 256 << 20 };

static const char *bytes_text(double bytes, char text[32]) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 6) bytes /= 1024, unit++;
  snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

/* Elements of a shape. Errors: PG_RANGE. */
static pg_code count_elements(int ndim, const int64_t *shape, size_t *count, pg_error *error) {
  if (ndim < 1 || ndim > PG_DIM_MAX)
    return pg_fail(error, PG_RANGE, "an array has 1 to %d dimensions, got %d", PG_DIM_MAX, ndim);
  int64_t product = 1;
  bool overflow = false, empty = false;
  for (int i = 0; i < ndim; i++) {
    if (shape[i] < 0)
      return pg_fail(error, PG_RANGE, "dimension %d of a shape is negative: %lld", i,
                     (long long)shape[i]);
    if (shape[i] == 0) empty = true;
    overflow |= __builtin_mul_overflow(product, shape[i], &product);
  }
  if (overflow && !empty) return pg_fail(error, PG_RANGE, "a shape has more than 2^63 elements");
  *count = empty ? 0 : (size_t)product;
  return PG_OK;
}

static void set_shape(pg_array *array, int ndim, const int64_t *shape) {
  array->ndim = ndim;
  memset(array->shape, 0, sizeof array->shape);
  memcpy(array->shape, shape, (size_t)ndim * sizeof *shape);
}

/* Large arrays lie in huge pages where the system has them: a page fault for each 4 KB costs more
 * than most of what is done with an array. */
static pg_code allocate(pg_array *array, pg_error *error) {
  const size_t alignment = array->bytes < 4 * HUGE_PAGE ? ALIGNMENT : HUGE_PAGE;
  size_t rounded = (array->bytes + alignment - 1) / alignment * alignment;
  size_t available = rounded < LARGE ? SIZE_MAX : pg_available_memory();
  char need[32], have[32] = "";
  if (rounded <= available) array->data = aligned_alloc(alignment, rounded);
  if (array->data) {
    if (alignment == HUGE_PAGE) madvise(array->data, rounded, MADV_HUGEPAGE); /* or not */
    memset(array->data, 0, rounded);
    return PG_OK;
  }
  pg_fail(error, PG_MEMORY, "no memory for an array of %zu x %s: %s (%zu bytes)", array->count,
          array->dtype.name, bytes_text((double)array->bytes, need), array->bytes);
  if (available < SIZE_MAX) pg_hint(error, "%s are free", bytes_text((double)available, have));
  return PG_MEMORY;
}

pg_code pg_array_new(pg_array *out, const pg_dtype *dtype, int ndim, const int64_t *shape,
                     pg_error *error) {
  *out = (pg_array){.dtype = *dtype};
  pg_code code = count_elements(ndim, shape, &out->count, error);
  if (code) return code;
  if (__builtin_mul_overflow(out->count, (size_t)dtype->size, &out->bytes) ||
      out->bytes > PTRDIFF_MAX - HUGE_PAGE)
    return pg_fail(error, PG_RANGE, "an array of %zu x %s is too large", out->count, dtype->name);
  set_shape(out, ndim, shape);
  if (!out->bytes) return PG_OK;
  code = allocate(out, error);
  out->owned = !code;
  return code;
}

void pg_array_view(pg_array *out, const pg_dtype *dtype, size_t count, void *data) {
  *out = (pg_array){.dtype = *dtype, .ndim = 1, .count = count, .data = data};
  out->shape[0] = (int64_t)count;
  out->bytes = count * dtype->size;
}

void pg_array_free(pg_array *array) {
  if (array->owned) free(array->data);
  *array = (pg_array){.ndim = 1, .dtype = array->dtype};
}

pg_code pg_array_reshape(pg_array *array, int ndim, const int64_t *shape, pg_error *error) {
  size_t count;
  pg_code code = count_elements(ndim, shape, &count, error);
  if (code) return code;
  if (count != array->count)
    return pg_fail(error, PG_INVALID, "a shape of %zu elements does not fit an array of %zu", count,
                   array->count);
  set_shape(array, ndim, shape);
  return PG_OK;
}
