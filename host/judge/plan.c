/* Plans: parsing with every check up front, so that enqueueing is a loop over prepared steps.
 * Only the addresses of the set's buffers are filled in per launch. */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

typedef struct context {
  pg_device *device;
  pg_module *module;
  const pg_buffers *buffers;
  const pg_expert *expert;
} context;

/* [x], [x,y] or [x,y,z], or x alone: dimensions of at least 1. */
static pg_code parse_dimensions(const json_t *step, const char *key, uint32_t out[3],
                                pg_error *error) {
  const json_t *value = json_object_get(step, key);
  size_t n = json_is_array(value) ? json_array_size(value) : 1;
  if (!value || n < 1 || n > 3) return pg_req_expected(key, "a list of 1 to 3", value, error);
  for (size_t i = 0; i < 3; i++) {
    const json_t *v = json_is_array(value) ? json_array_get(value, i) : (i == 0 ? value : NULL);
    json_int_t size = v ? json_integer_value(v) : 1;
    if (v && !json_is_integer(v)) return pg_req_expected(key, "integers", v, error);
    if (size < 1 || size > UINT32_MAX) {
      pg_fail(error, PG_LAUNCH, "the %s has %lld in dimension %c: it must be 1 or more", key,
              (long long)size, "xyz"[i]);
      return pg_hint(error, "leave the launch out of the plan when there is nothing to do");
    }
    out[i] = (uint32_t)size;
  }
  return PG_OK;
}

static pg_code find_kernel(const context *c, const char *name, pg_step *step, pg_kernel_info *info,
                           pg_error *error) {
  if (!c->module) {
    pg_fail(error, PG_INVALID, "no module is loaded, so there is no kernel %.100s", name);
    return pg_hint(error, "send \"load\" first");
  }
  pg_code code = c->device->ops->kernel(c->device, c->module, name, &step->launch.kernel, error);
  if (!code) code = c->device->ops->kernel_info(c->device, step->launch.kernel, info, error);
  if (!code && (info->param_count < 0 || info->param_count > PG_PARAM_MAX))
    code = pg_fail(error, PG_UNSUPPORTED, "kernel %s has %d parameters", name, info->param_count);
  return code;
}

static pg_code parse_launch(const context *c, const json_t *json, pg_step *step, pg_error *error) {
  const char *name = NULL;
  const json_t *args = NULL;
  int64_t shared = 0;
  pg_kernel_info info = {0};
  step->kind = PG_STEP_LAUNCH;
  pg_code code = pg_req_known(json, "launch grid block shared cooperative cluster args", error);
  if (!code) code = pg_req_string(json, "launch", &name, error);
  if (!code) code = find_kernel(c, name, step, &info, error);
  if (!code) code = parse_dimensions(json, "grid", step->launch.grid, error);
  if (!code) code = parse_dimensions(json, "block", step->launch.block, error);
  if (!code && json_object_get(json, "cluster"))
    code = parse_dimensions(json, "cluster", step->launch.cluster, error);
  if (!code) code = pg_opt_integer(json, "shared", 0, UINT32_MAX, &shared, error);
  if (!code) code = pg_opt_bool(json, "cooperative", &step->launch.cooperative, error);
  if (!code) code = pg_req_list(json, "args", 4096, &args, error);
  if (!code) code = pg_pack_args(step, &info, args, c->buffers, error);
  step->launch.shared = (uint32_t)shared;
  return code;
}

/* A buffer that a step writes: no input. */
static pg_code check_target(const context *c, int64_t index, pg_error *error) {
  const pg_buffer *b = &c->buffers->list[index];
  if (b->role != PG_ROLE_INPUT) return PG_OK;
  return pg_fail(error, PG_INVALID, "%s is an input: a plan may not write it", b->name);
}

static pg_code parse_memset(const context *c, const json_t *json, pg_step *step, pg_error *error) {
  int64_t to = 0, byte = 0, offset = 0;
  step->kind = PG_STEP_MEMSET;
  pg_code code = pg_req_known(json, "memset byte bytes offset", error);
  if (!code) code = pg_req_integer(json, "memset", 0, c->buffers->count - 1, &to, error);
  if (!code) code = check_target(c, to, error);
  if (!code) code = pg_opt_integer(json, "byte", 0, 255, &byte, error);
  if (code) return code;
  int64_t most = (int64_t)c->buffers->list[to].bytes, bytes = 0;
  code = pg_opt_integer(json, "offset", 0, most, &offset, error);
  bytes = most - offset;
  if (!code) code = pg_opt_integer(json, "bytes", 0, most - offset, &bytes, error);
  step->to = (int)to;
  step->byte = (uint8_t)byte;
  step->offset = (size_t)offset;
  step->bytes = (size_t)bytes;
  return code;
}

static pg_code buffer_index(const context *c, const json_t *value, const char *key, int *out,
                            pg_error *error) {
  json_int_t index = json_integer_value(value);
  if (!json_is_integer(value) || index < 0 || index >= c->buffers->count)
    return pg_req_expected(key, "indices of buffers", value, error);
  *out = (int)index;
  return PG_OK;
}

/* Bytes past the offset of a buffer: at most what the other side has room for. */
static pg_code parse_offset(const context *c, const json_t *json, const char *key, int buffer,
                            size_t *offset, int64_t *room, pg_error *error) {
  int64_t value = 0, bytes = (int64_t)c->buffers->list[buffer].bytes;
  pg_code code = pg_opt_integer(json, key, 0, bytes, &value, error);
  *offset = (size_t)value;
  if (bytes - value < *room) *room = bytes - value;
  return code;
}

static pg_code parse_copy(const context *c, const json_t *json, pg_step *step, pg_error *error) {
  const json_t *pair = NULL;
  int64_t bytes = INT64_MAX;
  step->kind = PG_STEP_COPY;
  pg_code code = pg_req_known(json, "copy bytes to_offset from_offset", error);
  if (!code) code = pg_req_list(json, "copy", 2, &pair, error);
  if (!code) code = buffer_index(c, json_array_get(pair, 0), "copy", &step->to, error);
  if (!code) code = buffer_index(c, json_array_get(pair, 1), "copy", &step->from, error);
  if (!code) code = check_target(c, step->to, error);
  if (!code && step->to == step->from)
    code = pg_fail(error, PG_INVALID, "a copy needs two different buffers");
  if (!code) code = parse_offset(c, json, "to_offset", step->to, &step->offset, &bytes, error);
  if (!code)
    code = parse_offset(c, json, "from_offset", step->from, &step->from_offset, &bytes, error);
  if (!code) code = pg_opt_integer(json, "bytes", 0, bytes, &bytes, error);
  step->bytes = (size_t)bytes;
  return code;
}

static pg_code parse_list(const context *c, const json_t *json, const char *key, int depth,
                          pg_plan *plan, pg_error *error);

/* The flag is what the loop's kernels write, so it is no input, and its first 4 bytes must exist.
 */
static pg_code parse_repeat(const context *c, const json_t *json, int depth, pg_step *step,
                            pg_error *error) {
  int64_t flag = 0;
  step->kind = PG_STEP_REPEAT;
  pg_code code = pg_req_known(json, "repeat_until max steps", error);
  if (!code) code = pg_req_integer(json, "repeat_until", 0, c->buffers->count - 1, &flag, error);
  if (!code) code = pg_req_integer(json, "max", 1, UINT32_MAX, &step->rounds, error);
  if (code) return code;
  step->from = (int)flag;
  const pg_buffer *b = &c->buffers->list[flag];
  if (b->role == PG_ROLE_INPUT)
    return pg_fail(error, PG_INVALID, "%s is an input: it cannot become non-zero", b->name);
  if (b->bytes < 4)
    return pg_fail(error, PG_INVALID, "the flag %s has %zu bytes: expected 4 or more", b->name,
                   b->bytes);
  if (depth == PG_REPEAT_DEPTH)
    return pg_fail(error, PG_RANGE, "repeat_until is nested deeper than %d", PG_REPEAT_DEPTH);
  code = parse_list(c, json, "steps", depth + 1, &step->body, error);
  if (!code && step->body.count == 0)
    code = pg_fail(error, PG_INVALID, "repeat_until has no steps: %s would never change", b->name);
  return code;
}

/* {"expert": true}: the task's own host code. */
static pg_code parse_expert(const context *c, const json_t *json, pg_step *step, pg_error *error) {
  step->kind = PG_STEP_EXPERT;
  step->expert = c->expert;
  if (step->expert) return pg_req_known(json, "expert", error);
  pg_fail(error, PG_INVALID, "no host code is ready for an expert's step");
  return pg_hint(error, "send \"prepare\" to a trusted runner, after the buffers");
}

static pg_code parse_step(const context *c, const json_t *json, int depth, pg_step *step,
                          pg_error *error) {
  if (json_object_get(json, "launch")) return parse_launch(c, json, step, error);
  if (json_object_get(json, "memset")) return parse_memset(c, json, step, error);
  if (json_object_get(json, "copy")) return parse_copy(c, json, step, error);
  if (json_object_get(json, "repeat_until")) return parse_repeat(c, json, depth, step, error);
  if (json_object_get(json, "expert")) return parse_expert(c, json, step, error);
  return pg_fail(error, PG_INVALID,
                 "expected a step: {\"launch\"}, {\"memset\"}, {\"copy\"} or {\"repeat_until\"}");
}

/* Put "key[i]" before the place within that step. */
static void place(pg_error *error, const char *key, size_t i) {
  char inner[PG_WHERE_MAX];
  snprintf(inner, sizeof inner, "%s", error->where);
  pg_where(error, "%s[%zu]%s%.200s", key, i, *inner ? "." : "", inner);
}

static pg_code parse_list(const context *c, const json_t *json, const char *key, int depth,
                          pg_plan *plan, pg_error *error) {
  const json_t *list = NULL;
  pg_code code = pg_req_list(json, key, PG_STEP_MAX, &list, error);
  if (code) return code;
  plan->steps = calloc(json_array_size(list) + 1, sizeof *plan->steps);
  if (!plan->steps) return pg_fail(error, PG_MEMORY, "no memory for the plan");
  for (size_t i = 0; !code && i < json_array_size(list); i++) {
    plan->count++;
    code = parse_step(c, json_array_get(list, i), depth, &plan->steps[i], error);
    if (code && error) place(error, key, i);
  }
  return code;
}

pg_code pg_plan_parse(pg_plan *plan, const json_t *request, pg_device *device, pg_module *module,
                      const pg_buffers *buffers, pg_error *error) {
  const context c = {device, module, buffers, plan->expert};
  *plan = (pg_plan){0};
  pg_code code = parse_list(&c, request, "plan", 0, plan, error);
  if (code) pg_plan_free(plan);
  return code;
}

pg_code pg_plan_finish(const pg_plan *plan, int set, pg_error *error) {
  pg_code code = PG_OK;
  for (size_t i = 0; !code && i < plan->count; i++) {
    const pg_expert *expert = plan->steps[i].expert;
    if (expert && expert->finish) code = expert->finish(expert->state, set, error);
  }
  return code;
}

bool pg_plan_waits(const pg_plan *plan) {
  for (size_t i = 0; i < plan->count; i++)
    if (plan->steps[i].kind == PG_STEP_REPEAT) return true;
  return false;
}

void pg_plan_free(pg_plan *plan) {
  for (size_t i = 0; i < plan->count; i++) {
    pg_step *s = &plan->steps[i];
    for (int k = 0; s->patches && k < s->patch_count; k++) free(s->patches[k].tensor);
    free(s->params);
    free(s->patches);
    pg_plan_free(&plan->steps[i].body);
  }
  free(plan->steps);
  *plan = (pg_plan){0};
}

static pg_code enqueue_list(pg_plan *plan, const char *key, const pg_buffers *buffers, int set,
                            pg_error *error);

/* Rounds until the first 4 bytes of the flag are not 0. Each round waits for the device. */
static pg_code repeat(pg_step *s, const pg_buffers *buffers, int set, pg_error *error) {
  pg_device *d = buffers->device;
  uint32_t flag = 0;
  for (int64_t round = 0; round < s->rounds; round++) {
    pg_ptr at = pg_buffers_at(buffers, s->from, set);
    pg_code code = enqueue_list(&s->body, "steps", buffers, set, error);
    if (!code) code = d->ops->download(d, &flag, at, sizeof flag, buffers->stream, error);
    if (!code) code = d->ops->stream_sync(d, buffers->stream, error);
    if (code || flag) return code;
  }
  pg_fail(error, PG_TIMEOUT, "%s is still 0 after %lld round%s", buffers->list[s->from].name,
          (long long)s->rounds, s->rounds == 1 ? "" : "s");
  return pg_hint(error, "repeat_until goes on until it is not 0: raise max, or set it in a kernel");
}

static pg_code enqueue(pg_step *s, const pg_buffers *buffers, int set, pg_error *error) {
  if (s->kind == PG_STEP_REPEAT) return repeat(s, buffers, set, error);
  if (s->kind == PG_STEP_EXPERT) return s->expert->call(s->expert->state, set, error);
  pg_device *d = buffers->device;
  pg_stream *stream = buffers->stream;
  for (int i = 0; i < s->patch_count; i++) {
    const pg_patch *p = &s->patches[i];
    pg_ptr address = pg_buffers_at(buffers, p->buffer, set) + p->offset;
    pg_code code = PG_OK;
    if (p->tensor)
      code = d->ops->tensor_map(d, address, p->tensor, s->params + p->at, error);
    else
      memcpy(s->params + p->at, &address, sizeof address);
    if (code) return code;
  }
  if (s->kind == PG_STEP_LAUNCH) return d->ops->launch(d, &s->launch, stream, error);
  if (s->bytes == 0) return PG_OK;
  pg_ptr to = pg_buffers_at(buffers, s->to, set) + s->offset;
  if (s->kind == PG_STEP_MEMSET) return d->ops->fill(d, to, s->byte, 1, s->bytes, stream, error);
  pg_ptr from = pg_buffers_at(buffers, s->from, set) + s->from_offset;
  return d->ops->copy(d, to, from, s->bytes, stream, error);
}

static pg_code enqueue_list(pg_plan *plan, const char *key, const pg_buffers *buffers, int set,
                            pg_error *error) {
  for (size_t i = 0; i < plan->count; i++) {
    pg_code code = enqueue(&plan->steps[i], buffers, set, error);
    /* A source line is a better place than a step. */
    if (code && error && (!*error->where || strncmp(error->where, "steps[", 6) == 0))
      place(error, key, i);
    if (code) return code;
  }
  return PG_OK;
}

pg_code pg_plan_enqueue(pg_plan *plan, const pg_buffers *buffers, int set, pg_error *error) {
  return enqueue_list(plan, "plan", buffers, set, error);
}
