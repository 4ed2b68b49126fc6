/* Arguments of a launch: JSON values packed as the kernel's parameters ask, by count, kind and
 * size. A mismatch is a launch error that shows both sides. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../dtype.h"
#include "plan.h"
#include "request.h"

/* "pointer", "i32", "f64", "bytes[24]", "?8" */
static void describe_param(const pg_param *p, char *text, size_t bytes) {
  switch (p->kind) {
  case 'p': snprintf(text, bytes, "pointer"); break;
  case 'i':
  case 'f': snprintf(text, bytes, "%c%u", p->kind, 8 * p->size); break;
  case 'b': snprintf(text, bytes, "bytes[%u]", p->size); break;
  default: snprintf(text, bytes, "%u bytes", p->size); break;
  }
}

static pg_code wrong_count(const pg_kernel_info *k, size_t passed, pg_error *error) {
  char list[512] = "";
  size_t used = 0;
  for (int i = 0; i < k->param_count && used + 32 < sizeof list; i++) {
    char one[24];
    describe_param(&k->params[i], one, sizeof one);
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", one);
  }
  return pg_fail(error, PG_LAUNCH, "kernel %s takes %d parameter%s%s%s%s, the task passes %zu",
                 k->name, k->param_count, k->param_count == 1 ? "" : "s", *list ? " (" : "", list,
                 *list ? ")" : "", passed);
}

static pg_code wrong_kind(const pg_kernel_info *k, int index, const char *got, pg_error *error) {
  char expected[24];
  describe_param(&k->params[index], expected, sizeof expected);
  return pg_fail(error, PG_LAUNCH, "argument #%d of kernel %s: expected %s, got %s", index + 1,
                 k->name, expected, got);
}

/* A buffer goes where 8 bytes may be a pointer: PTX does not always mark pointers. */
static pg_code pack_buffer(pg_step *step, const pg_kernel_info *k, int index, const json_t *arg,
                           const pg_buffers *buffers, pg_error *error) {
  const pg_param *p = &k->params[index];
  int64_t buffer = 0, offset = 0;
  if (p->size != 8 || (p->kind != 'p' && p->kind != 'i' && p->kind != '?'))
    return wrong_kind(k, index, "a buffer", error);
  pg_code code = pg_req_integer(arg, "buffer", 0, buffers->count - 1, &buffer, error);
  if (code) return code;
  int64_t most = (int64_t)buffers->list[buffer].bytes;
  code = pg_opt_integer(arg, "offset", 0, most, &offset, error);
  step->patches[step->patch_count++] = (pg_patch){p->offset, (int)buffer, (uint64_t)offset, NULL};
  return code;
}

/* ---- tensor maps ---- */

/* A list of `rank` integers from 1 to `most`. */
static pg_code parse_extents(const json_t *arg, const char *key, int *rank, uint64_t most,
                             uint64_t out[PG_TENSOR_RANK_MAX], pg_error *error) {
  const json_t *list = NULL;
  pg_code code = pg_req_list(arg, key, PG_TENSOR_RANK_MAX, &list, error);
  if (code) return code;
  int n = (int)json_array_size(list);
  if (n < 1 || (*rank && n != *rank))
    return pg_fail(error, PG_INVALID, "\"%s\": expected %d extents, got %d", key, *rank ? *rank : 1,
                   n);
  for (int i = 0; i < n; i++) {
    const json_t *v = json_array_get(list, (size_t)i);
    json_int_t value = json_integer_value(v);
    if (!json_is_integer(v) || value < 1 || (uint64_t)value > most)
      return pg_req_expected(key, "integers in range", v, error);
    out[i] = (uint64_t)value;
  }
  *rank = n;
  return PG_OK;
}

static pg_code parse_tensor(const json_t *arg, uint64_t room, pg_tensor *t, pg_error *error) {
  const char *name = NULL;
  int64_t swizzle = 0;
  uint64_t box[PG_TENSOR_RANK_MAX] = {0};
  pg_dtype dtype = {0};
  pg_code code = pg_req_string(arg, "dtype", &name, error);
  if (!code) code = pg_dtype_parse(name, &dtype, error);
  if (!code) code = parse_extents(arg, "shape", &t->rank, UINT32_MAX, t->shape, error);
  if (!code) code = parse_extents(arg, "box", &t->rank, 256, box, error);
  if (!code) code = pg_opt_integer(arg, "swizzle", 0, 128, &swizzle, error);
  if (code) return code;
  if (swizzle && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return pg_fail(error, PG_INVALID, "\"swizzle\": expected 0, 32, 64 or 128, got %lld",
                   (long long)swizzle);
  t->scalar = (int)dtype.scalar;
  t->swizzle = (int)swizzle;
  uint64_t left = room / dtype.size;
  for (int i = 0; i < t->rank; i++) {
    t->box[i] = (uint32_t)box[i];
    left /= t->shape[i];
  }
  if (left == 0) return pg_fail(error, PG_RANGE, "\"shape\": the buffer has fewer elements");
  return PG_OK;
}

/* 128 bytes by value, which the device makes of the address of each set. */
static pg_code pack_tensor(pg_step *step, const pg_kernel_info *k, int index, const json_t *arg,
                           const pg_buffers *buffers, pg_error *error) {
  const pg_param *p = &k->params[index];
  int64_t buffer = 0, offset = 0;
  if (p->size != PG_TENSOR_MAP_BYTES || (p->kind != 'b' && p->kind != '?'))
    return wrong_kind(k, index, "a tensor map", error);
  if (!buffers->device->ops->tensor_map)
    return pg_fail(error, PG_UNSUPPORTED, "tensor maps need a GPU: the simulator has none");
  pg_code code = pg_req_known(arg, "tensor_map dtype shape box swizzle offset", error);
  if (!code) code = pg_req_integer(arg, "tensor_map", 0, buffers->count - 1, &buffer, error);
  if (code) return code;
  uint64_t bytes = buffers->list[buffer].bytes;
  code = pg_opt_integer(arg, "offset", 0, (int64_t)bytes, &offset, error);
  if (code) return code;
  pg_tensor *tensor = calloc(1, sizeof *tensor);
  if (!tensor) return pg_fail(error, PG_MEMORY, "no memory for a tensor map");
  step->patches[step->patch_count++] = (pg_patch){p->offset, (int)buffer, (uint64_t)offset, tensor};
  return parse_tensor(arg, bytes - (uint64_t)offset, tensor, error);
}

/* ---- numbers ---- */

static pg_code pack_float(uint8_t *to, const pg_kernel_info *k, int index, double value,
                          pg_error *error) {
  const pg_param *p = &k->params[index];
  float narrow = (float)value;
  if (p->kind != 'f' && p->kind != '?') return wrong_kind(k, index, "a float", error);
  if (p->size == 8)
    memcpy(to, &value, 8);
  else if (p->size == 4)
    memcpy(to, &narrow, 4);
  else
    return wrong_kind(k, index, "a float, which is passed in 4 or 8 bytes", error);
  return PG_OK;
}

/* `bits` are the low bits of an integer that is negative or not; it must fit the size, signed or
 * not. */
static pg_code pack_integer(uint8_t *to, const pg_kernel_info *k, int index, uint64_t bits,
                            bool negative, pg_error *error) {
  const pg_param *p = &k->params[index];
  char got[64];
  if (p->kind == 'f')
    return pack_float(to, k, index, negative ? (double)(int64_t)bits : (double)bits, error);
  bool null = p->kind == 'p' && bits == 0;
  if (p->kind != 'i' && p->kind != '?' && !null) return wrong_kind(k, index, "an integer", error);
  if (p->size != 1 && p->size != 2 && p->size != 4 && p->size != 8)
    return wrong_kind(k, index, "an integer", error);
  unsigned width = 8 * p->size;
  bool fits = width == 64 ||
              (negative ? (int64_t)bits >= -((int64_t)1 << (width - 1)) : bits >> width == 0);
  if (!fits) {
    snprintf(got, sizeof got, negative ? "%lld, which does not fit" : "%llu, which does not fit",
             (unsigned long long)bits);
    return wrong_kind(k, index, got, error);
  }
  memcpy(to, &bits, p->size);
  return PG_OK;
}

static bool special_float(const char *text, double *value) {
  if (strcmp(text, "NaN") == 0)
    *value = NAN;
  else if (strcmp(text, "Infinity") == 0)
    *value = INFINITY;
  else if (strcmp(text, "-Infinity") == 0)
    *value = -INFINITY;
  else
    return false;
  return true;
}

static pg_code pack_arg(pg_step *step, const pg_kernel_info *k, int index, const json_t *arg,
                        const pg_buffers *buffers, pg_error *error) {
  uint8_t *to = step->params + k->params[index].offset;
  const json_t *i = json_object_get(arg, "i"), *f = json_object_get(arg, "f");
  const json_t *u = json_object_get(arg, "u");
  uint64_t bits;
  double value;
  if (json_object_get(arg, "tensor_map")) return pack_tensor(step, k, index, arg, buffers, error);
  if (!json_is_object(arg) || json_object_size(arg) != (json_object_get(arg, "offset") ? 2 : 1))
    return pg_fail(error, PG_INVALID,
                   "argument #%d: expected one of {\"buffer\"}, {\"i\"}, {\"f\"}, "
                   "{\"u\"}",
                   index + 1);
  if (json_object_get(arg, "buffer")) return pack_buffer(step, k, index, arg, buffers, error);
  if (json_is_integer(i)) {
    int64_t n = json_integer_value(i);
    return pack_integer(to, k, index, (uint64_t)n, n < 0, error);
  }
  if (json_is_string(u) && pg_parse_u64(json_string_value(u), &bits))
    return pack_integer(to, k, index, bits, false, error);
  if (json_is_number(f)) return pack_float(to, k, index, json_number_value(f), error);
  if (json_is_string(f) && special_float(json_string_value(f), &value))
    return pack_float(to, k, index, value, error);
  return pg_fail(error, PG_INVALID,
                 "argument #%d: expected {\"buffer\": index}, {\"i\": integer}, "
                 "{\"f\": number or \"NaN\"} or {\"u\": \"digits\"}",
                 index + 1);
}

pg_code pg_pack_args(pg_step *step, const pg_kernel_info *info, const json_t *args,
                     const pg_buffers *buffers, pg_error *error) {
  if (json_array_size(args) != (size_t)info->param_count)
    return wrong_count(info, json_array_size(args), error);
  step->params = calloc(1, (size_t)info->param_bytes + 8);
  step->patches = calloc((size_t)info->param_count + 1, sizeof *step->patches);
  if (!step->params || !step->patches)
    return pg_fail(error, PG_MEMORY, "no memory for the arguments of %s", info->name);
  for (int i = 0; i < info->param_count; i++) {
    const pg_param *p = &info->params[i];
    if (p->offset > info->param_bytes || p->size > info->param_bytes - p->offset)
      return pg_fail(error, PG_INTERNAL, "parameter #%d of %s lies outside its argument block",
                     i + 1, info->name);
    pg_code code = pack_arg(step, info, i, json_array_get(args, (size_t)i), buffers, error);
    if (code) return code;
  }
  step->launch.params = step->params;
  step->launch.param_bytes = info->param_bytes;
  return PG_OK;
}
