/* The runner's requests, one function each: open, load, buffers, prepare, run, export, read (time
 * is in timing.c).
 * An error says which field or step is at fault. A request that fails changes nothing, but for two:
 * "open" gives up the device before, "buffers" the buffers before. */
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "guard.h"
#include "request.h"
#include "wire.h"

enum { KERNELS_MOST = 1024 };

/* ---- life ---- */

pg_runner *pg_runner_new(pg_open_fn *open) {
  pg_runner *r = calloc(1, sizeof *r);
  if (r) r->open = open;
  return r;
}

static void close_device(pg_runner *r) {
  if (!r->device) return;
  pg_runner_drop_timing(r);
  pg_buffers_free(&r->buffers);
  pg_globals_free(&r->globals);
  pg_clock_free(&r->clock);
  pg_digest_free(&r->digest);
  pg_changed_free(&r->changed);
  if (r->module) r->device->ops->unload(r->device, r->module);
  if (r->stream) r->device->ops->stream_free(r->device, r->stream);
  r->device->ops->close(r->device);
  r->module = NULL;
  r->stream = NULL;
  r->device = NULL;
  r->prepared = false;
  r->broken[0] = 0;
}

void pg_runner_free(pg_runner *runner) {
  if (!runner) return;
  close_device(runner);
  free(runner);
}

void pg_runner_share(pg_runner *runner, void *memory, size_t bytes) {
  runner->shared = memory;
  runner->shared_bytes = memory ? bytes : 0;
  runner->shared_fresh = true;
}

void pg_runner_trust(pg_runner *runner, const pg_expert *expert) {
  runner->expert = expert;
}

const pg_expert *pg_runner_expert(const pg_runner *runner) {
  return runner->prepared ? runner->expert : NULL;
}

/* ---- helpers ---- */

pg_code pg_runner_fault(pg_runner *r, pg_error *error) {
  pg_code code = error->code;
  if (code != PG_LAUNCH && code != PG_TIMEOUT) return code;
  r->device->ops->fault(r->device, &r->fault);
  if (r->fault.kind != PG_FAULT_NONE && strcmp(r->info.kind, "cuda") == 0)
    snprintf(r->broken, sizeof r->broken, "%.200s", error->message);
  return code;
}

pg_code pg_runner_seed(const json_t *request, uint64_t *seed, pg_error *error) {
  uint64_t random[2];
  pg_code code = pg_guard_key(random, error);
  *seed = random[0];
  return code ? code : pg_opt_u64(request, "seed", seed, error);
}

/* ---- requests ---- */

/* A driver compiles them, which takes a while: now, when nobody waits yet. What fails here is told
 * when it is needed. */
static void load_own_kernels(pg_runner *r) {
  pg_error ignored;
  if (!r->info.gpu_clock) return;
  pg_clock_need(&r->clock, r->device);
  pg_digest_need(&r->digest, r->device, 1, &ignored);
}

static pg_code op_open(pg_runner *r, const json_t *request, json_t *reply, pg_error *error) {
  const char *spec = NULL, *warm = NULL;
  double limit = 0;
  pg_code code = pg_req_string(request, "device", &spec, error);
  if (!code) code = pg_opt_number(request, "limit_s", 0, &limit, error);
  if (!code) code = pg_opt_string(request, "warm", &warm, error);
  if (code) return code;
  close_device(r);
  code = r->open(spec, &r->device, error);
  if (code) {
    r->device = NULL;
    return code;
  }
  code = r->device->ops->info(r->device, &r->info, error);
  if (!code) code = r->device->ops->stream_new(r->device, &r->stream, error);
  if (code) {
    close_device(r);
    return code;
  }
  r->device->ops->limit(r->device, limit);
  load_own_kernels(r);
  if (warm && r->expert && r->expert->warm) r->expert->warm(r->expert->state, warm);
  json_object_set_new(reply, "info", pg_json_info(&r->info));
  return PG_OK;
}

static pg_code list_kernels(pg_runner *r, pg_module *module, json_t *list, pg_error *error) {
  pg_device *d = r->device;
  const char *name;
  pg_kernel *kernel;
  pg_kernel_info info;
  for (int i = 0; (name = d->ops->kernel_name(d, module, i)); i++) {
    memset(&info, 0, sizeof info);
    if (i == KERNELS_MOST)
      return pg_fail(error, PG_RANGE, "the module has more than %d kernels", KERNELS_MOST);
    pg_code code = d->ops->kernel(d, module, name, &kernel, error);
    if (!code) code = d->ops->kernel_info(d, kernel, &info, error);
    if (code) return code;
    json_t *kernel_json = pg_json_kernel(&info); /* whose name may be cut */
    json_object_set_new(kernel_json, "name", pg_json_text(name, SIZE_MAX - 64));
    json_array_append_new(list, kernel_json);
  }
  return PG_OK;
}

/* What hashes memory that must not change, NULL for this side: a simulator's memory is here, and it
 * finds by itself what writes where it must not. */
static pg_code need_hasher(pg_runner *r, pg_digest **out, pg_error *error) {
  *out = NULL;
  if (!r->info.gpu_clock) return PG_OK;
  pg_code code = pg_digest_need(&r->digest, r->device, 1, error);
  if (!code && pg_digest_runs(&r->digest)) *out = &r->digest;
  return code;
}

/* The new module is whole before the old one goes. Its variables start afresh; those in "globals"
 * will be put back to what they are now. */
static pg_code op_load(pg_runner *r, const json_t *request, json_t *reply, pg_error *error) {
  pg_device *d = r->device;
  const char *image = NULL, *name = "candidate.ptx";
  const json_t *globals = NULL;
  pg_module *module = NULL;
  pg_globals kept = {0};
  pg_digest *hasher = NULL;
  pg_code code = pg_req_string(request, "image", &image, error);
  if (!code && json_object_get(request, "globals"))
    code = pg_req_list(request, "globals", PG_GLOBAL_MAX, &globals, error);
  if (!code) code = pg_opt_string(request, "name", &name, error);
  if (code) return code;
  size_t bytes = json_string_length(json_object_get(request, "image"));
  code = d->ops->load(d, image, bytes, name, &module, error);
  if (code) return code;
  json_t *kernels = json_array();
  json_t *missing = json_array();
  code = list_kernels(r, module, kernels, error);
  if (!code) code = need_hasher(r, &hasher, error);
  if (!code) code = pg_globals_keep(&kept, d, r->stream, hasher, module, globals, missing, error);
  if (code) {
    d->ops->unload(d, module);
    json_decref(kernels);
    json_decref(missing);
    return code;
  }
  pg_globals_free(&r->globals);
  r->globals = kept;
  if (r->module) d->ops->unload(d, r->module);
  r->module = module;
  json_object_set_new(reply, "kernels", kernels);
  json_object_set_new(reply, "globals_missing", missing);
  return PG_OK;
}

static pg_code op_buffers(pg_runner *r, const json_t *request, json_t *reply, pg_error *error) {
  (void)reply;
  pg_runner_drop_timing(r);
  pg_buffers_free(&r->buffers);
  r->prepared = r->keeps_stream = false;
  pg_changed_reset(&r->changed, r->shared_fresh);
  r->shared_fresh = false;
  pg_digest *hasher = NULL;
  pg_code code = need_hasher(r, &hasher, error);
  if (code) return code;
  return pg_buffers_make(&r->buffers, r->device, r->stream, hasher, request, r->shared,
                         r->shared_bytes, error);
}

/* Where the buffers are: what host code needs besides the request. */
static json_t *whereabouts(const pg_runner *r) {
  json_t *sets = json_array();
  for (int set = 0; set < r->buffers.set_count; set++) {
    json_t *addresses = json_array();
    for (int i = 0; i < r->buffers.count; i++)
      json_array_append_new(addresses,
                            json_integer((json_int_t)pg_buffers_at(&r->buffers, i, set)));
    json_array_append_new(sets, addresses);
  }
  json_int_t stream = (json_int_t)r->device->ops->stream_handle(r->stream);
  return json_pack("{s:s,s:s,s:I,s:I,s:o}", "device", r->info.spec, "gpu", r->info.name, "stream",
                   stream, "memory", (json_int_t)r->info.memory_bytes, "sets", sets);
}

/* A task's own host code for the buffers at hand. */
static pg_code op_prepare(pg_runner *r, const json_t *request, json_t *reply, pg_error *error) {
  r->prepared = false;
  if (!r->expert)
    return pg_fail(error, PG_UNSUPPORTED, "this runner runs no host code: start a trusted one");
  if (!r->device->ops->stream_handle)
    return pg_fail(error, PG_ENVIRONMENT,
                   "%s has no streams that a library could use: it takes a "
                   "GPU",
                   r->info.spec);
  json_t *given = whereabouts(r);
  if (!given) return pg_fail(error, PG_MEMORY, "no memory for the addresses");
  pg_code code = r->expert->prepare(r->expert->state, request, given, reply, error);
  json_decref(given);
  if (!code) code = r->device->ops->sync(r->device, error);
  r->prepared = !code;
  return code;
}

/* Reset, plan, sync: the steps of "run" between parsing and checking. */
static pg_code run_once(pg_runner *r, pg_plan *plan, int set, uint32_t poison, double *wall_us,
                        pg_error *error) {
  pg_device *d = r->device;
  pg_counters ignored;
  pg_code code = pg_buffers_reset(&r->buffers, set, poison, error);
  if (!code) code = d->ops->sync(d, error);
  if (code) return code;
  d->ops->counters(d, &ignored, true);
  double start = pg_now();
  code = pg_plan_enqueue(plan, &r->buffers, set, error);
  if (!code) code = d->ops->sync(d, error);
  *wall_us = 1e6 * (pg_now() - start);
  if (!code) code = pg_plan_finish(plan, set, error);
  if (!code && r->prepared) code = d->ops->sync(d, error);
  return code;
}

/* "lines": true asks where, too. Before the counters, which a reset takes along. */
static void add_profile(pg_runner *r, bool wanted, json_t *reply) {
  const pg_device_ops *ops = r->device->ops;
  const pg_profile *profile = wanted && ops->profile ? ops->profile(r->device) : NULL;
  if (profile) json_object_set_new(reply, "profile", pg_json_profile(profile));
}

/* "digest": that of what the run left in the set; null where the device computes none. */
static pg_code add_digest(pg_runner *r, int set, json_t *reply, pg_error *error) {
  uint64_t digest = 0;
  pg_code code = pg_digest_need(&r->digest, r->device, 1, error);
  bool runs = !code && pg_digest_runs(&r->digest);
  if (runs) code = pg_digest_clear(&r->digest, r->stream, error);
  if (!code && runs) code = pg_buffers_digest(&r->buffers, &r->digest, 0, set, error);
  if (!code && runs) code = pg_digest_read(&r->digest, &digest, 1, NULL, NULL, r->stream, error);
  json_object_set_new(reply, "digest", runs ? pg_json_u64(digest) : json_null());
  return code;
}

/* "schedule": a seed, "workers": threads at most, for devices that shuffle what launches leave
 * open.
 */
static pg_code set_schedule(pg_runner *r, const json_t *request, pg_error *error) {
  uint64_t seed = 0;
  int64_t workers = 0;
  pg_code code = pg_opt_u64(request, "schedule", &seed, error);
  if (!code) code = pg_opt_integer(request, "workers", 0, 256, &workers, error);
  if (!code && seed && r->device->ops->schedule)
    r->device->ops->schedule(r->device, seed, (int)workers);
  return code;
}

static pg_code op_run(pg_runner *r, const json_t *request, json_t *reply, pg_error *error) {
  int64_t set = 0, poison = 0xDEADBEEF;
  uint64_t seed = 0;
  double wall_us = 0;
  bool lines = false, digest = false;
  pg_plan plan = {.expert = pg_runner_expert(r)};
  pg_counters counters = {0};
  pg_code code = pg_req_integer(request, "set", 0, r->buffers.set_count - 1, &set, error);
  if (!code) code = pg_opt_integer(request, "poison", 0, UINT32_MAX, &poison, error);
  if (!code) code = pg_opt_bool(request, "lines", &lines, error);
  if (!code) code = pg_opt_bool(request, "digest", &digest, error);
  if (!code) code = pg_runner_seed(request, &seed, error);
  if (!code) code = set_schedule(r, request, error);
  if (!code) code = pg_plan_parse(&plan, request, r->device, r->module, &r->buffers, error);
  if (!code) code = pg_buffers_arm(&r->buffers, seed, error);
  if (code) return code;
  code = run_once(r, &plan, (int)set, (uint32_t)poison, &wall_us, error);
  pg_plan_free(&plan);
  if (code) return pg_runner_fault(r, error);
  add_profile(r, lines, reply);
  r->device->ops->counters(r->device, &counters, true);
  json_object_set_new(reply, "wall_us", json_real(wall_us));
  json_object_set_new(reply, "gpu_clock", json_boolean(r->info.gpu_clock));
  json_object_set_new(reply, "counters", pg_json_counters(&counters));
  code = digest ? add_digest(r, (int)set, reply, error) : PG_OK;
  return code ? code : pg_buffers_verify(&r->buffers, &r->globals, reply, error);
}

/* The plan over buffers as they are, with inputs that hold garbage; a fault of a simulated kernel
 * ends no runner, so the inputs come back in any case. */
static pg_code export_once(pg_runner *r, pg_plan *plan, int set, uint32_t poison, double *us,
                           pg_error *error) {
  pg_device *d = r->device;
  pg_error later = {0};
  pg_code code = pg_buffers_hide_inputs(&r->buffers, poison, error);
  if (!code) code = d->ops->sync(d, error);
  double start = pg_now();
  if (!code) code = pg_plan_enqueue(plan, &r->buffers, set, error);
  if (!code) code = d->ops->sync(d, error);
  *us = 1e6 * (pg_now() - start);
  if (code) pg_runner_fault(r, error);
  if (*r->broken) return code;
  pg_code shown =
      pg_buffers_show_inputs(&r->buffers, r->shared, r->shared_bytes, code ? &later : error);
  return code ? code : shown;
}

/* After "run" or "time": bring the results of a set into the task's own layout. */
static pg_code op_export(pg_runner *r, const json_t *request, json_t *reply, pg_error *error) {
  int64_t set = 0, poison = 0xDEADBEEF;
  uint64_t seed = 0;
  double us = 0;
  pg_plan plan = {.expert = pg_runner_expert(r)};
  pg_code code = pg_req_integer(request, "set", 0, r->buffers.set_count - 1, &set, error);
  if (!code) code = pg_opt_integer(request, "poison", 0, UINT32_MAX, &poison, error);
  if (!code) code = pg_runner_seed(request, &seed, error);
  if (!code) code = pg_plan_parse(&plan, request, r->device, r->module, &r->buffers, error);
  if (!code) code = pg_buffers_arm(&r->buffers, seed, error);
  if (!code) code = export_once(r, &plan, (int)set, (uint32_t)poison, &us, error);
  pg_plan_free(&plan);
  if (code) return code;
  json_object_set_new(reply, "export_us", json_real(us));
  return pg_buffers_verify(&r->buffers, &r->globals, reply, error);
}

/* Where in shared memory a buffer goes. */
static pg_code parse_read(pg_runner *r, const json_t *item, int64_t *index, int64_t *at,
                          pg_error *error) {
  pg_code code = pg_req_known(item, "index at", error);
  if (!code) code = pg_req_integer(item, "index", 0, r->buffers.count - 1, index, error);
  if (!code) code = pg_req_integer(item, "at", 0, INT64_MAX, at, error);
  if (code) return code;
  size_t bytes = r->buffers.list[*index].bytes;
  if ((uint64_t)*at > r->shared_bytes || bytes > r->shared_bytes - (size_t)*at)
    return pg_fail(error, PG_RANGE, "%zu bytes at %lld lie outside the %zu bytes of shared memory",
                   bytes, (long long)*at, r->shared_bytes);
  return PG_OK;
}

/* "touched" of the reply: of each buffer what differs from its start, null where that is not known.
 */
static pg_code op_read(pg_runner *r, const json_t *request, json_t *reply, pg_error *error) {
  int64_t set = 0, index = 0, at = 0;
  const json_t *list = NULL;
  json_t *touched = json_array();
  pg_code code = pg_req_integer(request, "set", 0, r->buffers.set_count - 1, &set, error);
  if (!code) code = pg_req_list(request, "buffers", PG_BUFFER_MAX, &list, error);
  if (!code && r->info.gpu_clock) pg_changed_need(&r->changed, r->device);
  for (size_t i = 0; !code && i < json_array_size(list); i++) {
    code = parse_read(r, json_array_get(list, i), &index, &at, error);
    if (!code)
      code = pg_changed_read(&r->changed, &r->buffers, (int)index, (int)set, r->shared + at, error);
    if (code) pg_where(error, "buffers[%zu]", i);
    json_t *ranges = code ? NULL : pg_changed_ranges(&r->changed, r->buffers.list[index].bytes);
    json_array_append_new(touched, ranges ? ranges : json_null());
  }
  json_object_set_new(reply, "touched", touched);
  return code;
}

/* ---- dispatch ---- */

typedef pg_code request_fn(pg_runner *, const json_t *, json_t *, pg_error *);

static const struct {
  const char *name;
  request_fn *handle;
  bool needs_device, needs_buffers;
} requests[] = {
    {"open", op_open, false, false},      {"load", op_load, true, false},
    {"buffers", op_buffers, true, false}, {"run", op_run, true, true},
    {"read", op_read, true, true},        {"time", pg_runner_time, true, true},
    {"export", op_export, true, true},    {"prepare", op_prepare, true, true},
};

static pg_code dispatch(pg_runner *r, const json_t *request, json_t *reply, pg_error *error) {
  const char *op = NULL;
  pg_code code = pg_req_string(request, "op", &op, error);
  if (code) return code;
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
    if (strcmp(op, requests[i].name) != 0) continue;
    if (requests[i].needs_device && !r->device) {
      pg_fail(error, PG_INVALID, "\"%s\": no device is open", op);
      return pg_hint(error, "send \"open\" first");
    }
    if (requests[i].needs_device && *r->broken) {
      pg_fail(error, PG_LAUNCH, "the device stopped: %s", r->broken);
      return pg_hint(error, "a GPU that faulted answers no more: start a new runner");
    }
    if (requests[i].needs_buffers && r->buffers.set_count == 0) {
      pg_fail(error, PG_INVALID, "\"%s\": there are no buffers", op);
      return pg_hint(error, "send \"buffers\" first");
    }
    return requests[i].handle(r, request, reply, error);
  }
  pg_fail(error, PG_NOT_FOUND, "a runner has no request \"%.60s\"", op);
  return pg_hint(error, "the requests are open, load, buffers, prepare, run, export, read, time");
}

/* What the device found, verdicts and others; nothing when it finds nothing. */
static void add_findings(pg_runner *r, json_t *reply) {
  if (!r->device || !r->device->ops->findings) return;
  pg_fault *list = calloc(PG_FINDING_MAX, sizeof *list);
  int n = list ? r->device->ops->findings(r->device, list, PG_FINDING_MAX, true) : 0;
  json_t *array = n > 0 ? json_array() : NULL;
  for (int i = 0; i < n; i++) json_array_append_new(array, pg_json_fault(&list[i]));
  if (array) json_object_set_new(reply, "findings", array);
  free(list);
}

json_t *pg_runner_handle(pg_runner *runner, const json_t *request) {
  pg_error error = {0};
  json_t *reply = json_object();
  memset(&runner->fault, 0, sizeof runner->fault);
  json_object_set_new(reply, "ok", json_true());
  pg_code code = dispatch(runner, request, reply, &error);
  if (!code) {
    add_findings(runner, reply);
    return reply;
  }
  json_decref(reply);
  reply = pg_reply_error(&error);
  add_findings(runner, reply);
  if (runner->fault.kind != PG_FAULT_NONE)
    json_object_set_new(reply, "fault", pg_json_fault(&runner->fault));
  return reply;
}
