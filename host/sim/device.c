/* The simulator as a pg_device: memory, modules, launches; streams and events are immediate, since
 * every launch has ended when it returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../now.h"
#include "../parallel.h"
#include "check.h"
#include "cache.h"
#include "isa.h"
#include "module.h"
#include "profile.h"

struct pg_stream {
  pg_stream *next; /* all that the device has handed out: closing frees them */
};

struct pg_event {
  double at;
  pg_event *next;
};

typedef struct sim_device {
  pg_device base;
  pg_sim_options options;
  sim_memory *memory;
  pg_module *modules;
  pg_stream *streams;
  pg_event *events;
  pg_fault fault;
  pg_counters counters;
  sim_profile profile;
  sim_findings findings;
  uint64_t seed;    /* of the schedule; the options say how the device was opened */
  int workers_most; /* 0: as opened */
  uint32_t checked_launches;
  uint64_t workspace; /* what cooperative groups find their grid-wide barrier in */
} sim_device;

enum { SHARED_OPTIN = 232448, THREADS_PER_MULTIPROCESSOR = 2048 };

static sim_device *self(pg_device *d) {
  return (sim_device *)d;
}

/* ---- memory ---- */

static pg_code sim_alloc(pg_device *d, size_t bytes, pg_ptr *out, pg_error *error) {
  return sim_memory_alloc(self(d)->memory, bytes, out, error);
}

static pg_code sim_free(pg_device *d, pg_ptr at, pg_error *error) {
  return sim_memory_release(self(d)->memory, at, error);
}

static pg_code sim_name(pg_device *d, pg_ptr start, size_t bytes, const char *name, bool read_only,
                        pg_error *error) {
  return sim_memory_name(self(d)->memory, start, bytes, name, read_only, error);
}

static void *host(pg_ptr at) {
  return (void *)(uintptr_t)at;
}

/* sim:check: bytes that the host wrote, or wants to count as never written. */
static void note_written(pg_device *d, pg_ptr at, size_t bytes, bool written) {
  sim_shadow *shadow = sim_memory_shadow(self(d)->memory);
  if (shadow) sim_shadow_set(shadow, at, bytes, written);
}

static pg_code sim_forget(pg_device *d, pg_ptr at, size_t bytes, pg_error *error) {
  pg_code code = sim_memory_check(self(d)->memory, at, bytes, error);
  if (!code) note_written(d, at, bytes, false);
  return code;
}

static pg_code sim_upload(pg_device *d, pg_ptr to, const void *from, size_t bytes,
                          pg_stream *stream, pg_error *error) {
  (void)stream;
  pg_code code = sim_memory_check(self(d)->memory, to, bytes, error);
  if (!code && bytes) memcpy(host(to), from, bytes);
  if (!code) note_written(d, to, bytes, true);
  return code;
}

static pg_code sim_download(pg_device *d, void *to, pg_ptr from, size_t bytes, pg_stream *stream,
                            pg_error *error) {
  (void)stream;
  pg_code code = sim_memory_check(self(d)->memory, from, bytes, error);
  if (!code && bytes) memcpy(to, host(from), bytes);
  return code;
}

static pg_code sim_copy(pg_device *d, pg_ptr to, pg_ptr from, size_t bytes, pg_stream *stream,
                        pg_error *error) {
  (void)stream;
  pg_code code = sim_memory_check(self(d)->memory, to, bytes, error);
  if (!code) code = sim_memory_check(self(d)->memory, from, bytes, error);
  if (!code && bytes) memmove(host(to), host(from), bytes);
  sim_shadow *shadow = sim_memory_shadow(self(d)->memory);
  if (!code && shadow) sim_shadow_copy(shadow, to, from, bytes);
  return code;
}

static pg_code sim_fill(pg_device *d, pg_ptr to, uint32_t pattern, int pattern_bytes, size_t count,
                        pg_stream *stream, pg_error *error) {
  (void)stream;
  if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4) {
    return pg_fail(error, PG_INVALID, "a fill pattern has 1, 2 or 4 bytes, not %d", pattern_bytes);
  }
  size_t size = (size_t)pattern_bytes;
  if (count > SIZE_MAX / size) return pg_fail(error, PG_RANGE, "a fill of %zu patterns", count);
  pg_code code = sim_memory_check(self(d)->memory, to, count * size, error);
  if (code) return code;
  note_written(d, to, count * size, true);
  uint8_t *at = host(to);
  if (size == 1)
    memset(at, (int)(pattern & 255), count);
  else
    for (size_t i = 0; i < count; i++) memcpy(at + i * size, &pattern, size);
  return PG_OK;
}

/* ---- modules ---- */

static pg_code sim_load(pg_device *d, const void *image, size_t bytes, const char *name,
                        pg_module **out, pg_error *error) {
  sim_device *sim = self(d);
  sim_program_kind kind = {.profile = sim->options.mode == PG_SIM_PROFILE,
                           .check = sim->options.mode == PG_SIM_CHECK};
  pg_code code = sim_module_load(sim->memory, &kind, image, bytes, name, out, error);
  if (code) return code;
  (*out)->next = sim->modules;
  sim->modules = *out;
  return PG_OK;
}

static void sim_unload(pg_device *d, pg_module *m) {
  for (pg_module **at = &self(d)->modules; *at; at = &(*at)->next) {
    if (*at != m) continue;
    *at = m->next;
    sim_profile_reset(&self(d)->profile); /* it names the module's files */
    sim_module_free(self(d)->memory, m);
    return;
  }
}

/* ---- launches ---- */

static pg_code check_shape(const pg_launch *launch, const sim_func *f, pg_error *error) {
  const uint32_t *g = launch->grid, *b = launch->block;
  const char *name = f->source->name;
  uint64_t threads = (uint64_t)b[0] * b[1] * b[2];
  uint64_t shared = sim_static_shared(f) + launch->shared;
  const uint32_t *req = f->source->reqntid, *max = f->source->maxntid;
  if ((uint64_t)launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1)
    return pg_fail(error, PG_UNSUPPORTED, "kernel %s: the simulator has no clusters of blocks",
                   name);
  if (!g[0] || !g[1] || !g[2] || g[0] > INT32_MAX || g[1] > 65535 || g[2] > 65535) {
    pg_fail(error, PG_LAUNCH, "kernel %s: a grid of %u x %u x %u blocks", name, g[0], g[1], g[2]);
    return pg_hint(error, "each side is at least 1, and at most 2147483647, 65535, 65535");
  }
  if (!threads || threads > SIM_MAX_THREADS || b[0] > 1024 || b[1] > 1024 || b[2] > 64) {
    pg_fail(error, PG_LAUNCH, "kernel %s: blocks of %u x %u x %u threads", name, b[0], b[1], b[2]);
    return pg_hint(error, "each side is at least 1, and at most 1024, 1024, 64; all in all 1024");
  }
  if (req[0] &&
      (b[0] != req[0] || b[1] != (req[1] ? req[1] : 1) || b[2] != (req[2] ? req[2] : 1))) {
    return pg_fail(error, PG_LAUNCH,
                   "kernel %s demands blocks of %u x %u x %u threads, got %u x %u x %u", name,
                   req[0], req[1], req[2], b[0], b[1], b[2]);
  }
  if (max[0] && threads > (uint64_t)max[0] * (max[1] ? max[1] : 1) * (max[2] ? max[2] : 1)) {
    return pg_fail(
        error, PG_LAUNCH, "kernel %s was compiled for at most %u threads a block, got %llu", name,
        max[0] * (max[1] ? max[1] : 1) * (max[2] ? max[2] : 1), (unsigned long long)threads);
  }
  if (shared > SHARED_OPTIN) {
    return pg_fail(error, PG_LAUNCH,
                   "kernel %s: %llu bytes of shared memory a block, the limit is %d", name,
                   (unsigned long long)shared, SHARED_OPTIN);
  }
  if (launch->param_bytes != f->param_bytes) {
    return pg_fail(error, PG_LAUNCH, "kernel %s takes %u bytes of arguments, got %zu", name,
                   f->param_bytes, launch->param_bytes);
  }
  return PG_OK;
}

static pg_code add_ranges(sim_launch *l, sim_ranges *ranges, pg_error *error) {
  const sim_func *f = l->func;
  pg_code code = PG_OK;
  for (size_t i = 0; i < f->shared_count && !code; i++) {
    const sim_variable *v = &f->shared[i];
    if (v->bytes == 0) continue; /* a name of the dynamic part */
    code = sim_ranges_add(ranges,
                          (sim_range){.base = SIM_SHARED_WINDOW + v->offset,
                                      .bytes = v->bytes,
                                      .class = SIM_SHARED,
                                      .name = v->name},
                          error);
  }
  if (!code && l->dynamic_bytes) {
    code = sim_ranges_add(ranges,
                          (sim_range){.base = SIM_SHARED_WINDOW + f->shared_bytes,
                                      .bytes = l->dynamic_bytes,
                                      .class = SIM_SHARED,
                                      .name = "dynamic shared memory"},
                          error);
  }
  if (!code && f->stack_bytes) {
    code = sim_ranges_add(ranges,
                          (sim_range){.base = SIM_LOCAL_WINDOW,
                                      .bytes = f->stack_bytes,
                                      .class = SIM_LOCAL,
                                      .name = "local memory"},
                          error);
  }
  if (!code && f->param_bytes) {
    code = sim_ranges_add(ranges,
                          (sim_range){.base = SIM_PARAM_WINDOW,
                                      .bytes = f->param_bytes,
                                      .class = SIM_PARAM,
                                      .read_only = true,
                                      .name = "kernel parameters"},
                          error);
  }
  return code;
}

static int worker_count(const sim_device *d, uint64_t blocks) {
  int n = d->options.workers > 0 ? d->options.workers : pg_cores();
  if (n > 256) n = 256;
  if (d->workers_most > 0 && n > d->workers_most) n = d->workers_most;
  return blocks < (uint64_t)n ? (int)blocks : n;
}

static pg_code check_cooperative(const pg_launch *launch, const sim_launch *l, pg_error *error) {
  uint64_t resident =
      (uint64_t)SIM_MULTIPROCESSORS * (THREADS_PER_MULTIPROCESSOR / ((l->threads + 31) / 32 * 32));
  if (!launch->cooperative || l->block_count <= resident) return PG_OK;
  return pg_fail(error, PG_LAUNCH, "a cooperative launch of %llu blocks; %llu can be resident",
                 (unsigned long long)l->block_count, (unsigned long long)resident);
}

static pg_code report_fault(const pg_fault *f, pg_error *error) {
  if (f->kind == PG_FAULT_NONE) return PG_OK;
  pg_code code = f->kind == PG_FAULT_TIMEOUT ? PG_TIMEOUT : PG_LAUNCH;
  pg_fail(error, code, "%s", f->text);
  if (f->file[0]) pg_where(error, "%s:%d", f->file, f->line);
  return code;
}

/* What stopped the kernel comes before what was found on the way. */
static pg_code report(sim_device *d, const sim_launch *l, pg_error *error) {
  d->fault = l->fault;
  if (l->fault.kind == PG_FAULT_NONE && l->failed) d->fault = d->findings.list[l->failed - 1];
  return report_fault(&d->fault, error);
}

/* Cooperative groups expect zeros at the address in %envreg1 and %envreg2. */
static pg_code make_workspace(sim_device *d, sim_launch *l, pg_error *error) {
  enum { BYTES = 256 };
  pg_code code = PG_OK;
  if (!d->workspace) {
    code = sim_memory_alloc(d->memory, BYTES, &d->workspace, error);
    if (!code)
      code = sim_memory_name(d->memory, d->workspace, BYTES, "workspace of the grid", false, error);
  }
  if (!code) code = sim_fill(&d->base, d->workspace, 0, 1, BYTES, NULL, error);
  l->workspace = d->workspace;
  return code;
}

static pg_code sim_launch_kernel(pg_device *device, const pg_launch *launch, pg_stream *stream,
                                 pg_error *error) {
  (void)stream;
  sim_device *d = self(device);
  const sim_func *f = launch->kernel->func;
  d->fault = (pg_fault){0};
  pg_code code = check_shape(launch, f, error);
  if (code) return code;
  sim_ranges ranges = {0};
  sim_launch l = {.func = f,
                  .params = launch->params,
                  .memory = d->memory,
                  .ranges = &ranges,
                  .threads = launch->block[0] * launch->block[1] * launch->block[2],
                  .block_count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
                  .dynamic_bytes = launch->shared,
                  .shared_bytes = f->shared_bytes + launch->shared,
                  .seed = d->seed,
                  .findings = &d->findings,
                  .max_resident = UINT32_MAX};
  memcpy(l.grid, launch->grid, sizeof l.grid);
  memcpy(l.block, launch->block, sizeof l.block);
  bool profile = d->options.mode == PG_SIM_PROFILE;
  l.worker_count = profile ? 1 : worker_count(d, l.block_count); /* the caches have no lock */
  l.single = l.worker_count == 1;
  if (!launch->cooperative) {
    l.max_resident =
        1 + SIM_MULTIPROCESSORS * THREADS_PER_MULTIPROCESSOR / l.threads / (uint32_t)l.worker_count;
  }
  if (d->options.limit_s > 0) l.deadline = pg_now() + d->options.limit_s;
  code = check_cooperative(launch, &l, error);
  if (!code && launch->cooperative) code = make_workspace(d, &l, error);
  if (!code) code = sim_memory_ranges(d->memory, &ranges, error);
  if (!code) code = add_ranges(&l, &ranges, error);
  if (!code && sim_memory_shadow(d->memory)) {
    code = sim_check_new(&l, sim_memory_shadow(d->memory), ++d->checked_launches, &l.check, error);
  }
  if (!code && profile && !(l.caches = sim_caches_new(l.threads, l.shared_bytes)))
    code = pg_fail(error, PG_MEMORY, "no memory for the cache model");
  if (!code) code = sim_run(&l, error);
  if (!code && l.check && atomic_load(&l.check->lost))
    sim_find_note(&l, PG_FAULT_INCOMPLETE, "too large to look for races everywhere");
  if (!code) code = report(d, &l, error);
  d->counters.launches++;
  if (!sim_profile_add(&d->profile, &l) && !code)
    code = pg_fail(error, PG_MEMORY, "no memory for counters by line");
  for (int i = 0; l.workers && i < l.worker_count; i++)
    sim_add_counters(&d->counters, &l.workers[i].counters);
  free(l.workers);
  sim_caches_free(l.caches);
  sim_check_free(l.check);
  sim_ranges_free(&ranges);
  return code;
}

/* ---- the rest of the interface ---- */

static pg_code sim_sync(pg_device *d, pg_error *error) {
  (void)d;
  (void)error;
  return PG_OK;
}

static void sim_get_fault(pg_device *d, pg_fault *out) {
  *out = self(d)->fault;
}

static int sim_get_findings(pg_device *d, pg_fault *out, int most, bool reset) {
  sim_findings *list = &self(d)->findings;
  int n = list->count < most ? list->count : most;
  memcpy(out, list->list, (size_t)n * sizeof *out);
  if (reset) list->count = 0;
  return n;
}

static void sim_get_counters(pg_device *d, pg_counters *out, bool reset) {
  *out = self(d)->counters;
  out->complete = self(d)->options.mode == PG_SIM_PROFILE;
  if (!reset) return;
  self(d)->counters = (pg_counters){0};
  sim_profile_reset(&self(d)->profile);
}

static const pg_profile *sim_get_profile(pg_device *d) {
  return self(d)->options.mode == PG_SIM_PROFILE ? &self(d)->profile.shown : NULL;
}

static void sim_limit(pg_device *d, double seconds) {
  self(d)->options.limit_s = seconds;
}

static void sim_schedule(pg_device *device, uint64_t seed, int workers) {
  self(device)->seed = seed;
  self(device)->workers_most = workers;
}

static pg_code sim_stream_new(pg_device *d, pg_stream **out, pg_error *error) {
  pg_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return pg_fail(error, PG_MEMORY, "no memory for a stream");
  stream->next = self(d)->streams;
  *out = self(d)->streams = stream;
  return PG_OK;
}

static pg_code sim_stream_sync(pg_device *d, pg_stream *stream, pg_error *error) {
  (void)stream;
  return sim_sync(d, error);
}

static void sim_stream_free(pg_device *d, pg_stream *stream) {
  pg_stream **at = &self(d)->streams;
  while (*at && *at != stream) at = &(*at)->next;
  if (!*at) return;
  *at = stream->next;
  free(stream);
}

static pg_code sim_event_new(pg_device *d, pg_event **out, pg_error *error) {
  pg_event *event = calloc(1, sizeof *event);
  if (!event) return pg_fail(error, PG_MEMORY, "no memory for an event");
  event->next = self(d)->events;
  *out = self(d)->events = event;
  return PG_OK;
}

static pg_code sim_event_record(pg_device *d, pg_event *event, pg_stream *stream, pg_error *error) {
  (void)d;
  (void)stream;
  (void)error;
  event->at = pg_now();
  return PG_OK;
}

static pg_code sim_event_elapsed(pg_device *d, pg_event *start, pg_event *stop,
                                 double *microseconds, pg_error *error) {
  (void)d;
  if (start->at <= 0 || stop->at <= 0)
    return pg_fail(error, PG_INVALID, "an event that was never recorded");
  *microseconds = (stop->at - start->at) * 1e6;
  return PG_OK;
}

static void sim_event_free(pg_device *d, pg_event *event) {
  pg_event **at = &self(d)->events;
  while (*at && *at != event) at = &(*at)->next;
  if (!*at) return;
  *at = event->next;
  free(event);
}

static void sim_health(pg_device *d, pg_health *out) {
  (void)d;
  *out = (pg_health){-1, -1, -1, -1, -1};
}

/* The name that opens such a device again. */
static void write_spec(const pg_sim_options *o, char *spec, size_t bytes) {
  static const char *const modes[] = {"sim", "sim:check", "sim:profile"};
  char workers[24] = "", seed[32] = "";
  if (o->workers) snprintf(workers, sizeof workers, ",workers=%d", o->workers);
  if (o->seed) snprintf(seed, sizeof seed, ",seed=%llu", (unsigned long long)o->seed);
  snprintf(spec, bytes, "%s%s%s", modes[o->mode], workers, seed);
}

static pg_code sim_info(pg_device *device, pg_device_info *info, pg_error *error) {
  (void)error;
  sim_device *d = self(device);
  *info = (pg_device_info){.kind = "sim",
                           .cc_major = 9,
                           .cc_minor = 0,
                           .multiprocessors = SIM_MULTIPROCESSORS,
                           .max_threads_per_block = SIM_MAX_THREADS,
                           .max_grid = {INT32_MAX, 65535, 65535},
                           .max_block = {1024, 1024, 64},
                           .shared_per_block = 49152,
                           .shared_per_block_optin = SHARED_OPTIN,
                           .l2_bytes = 0,
                           .memory_bytes = sim_memory_total(d->memory)};
  int workers = worker_count(d, UINT64_MAX);
  write_spec(&d->options, info->spec, sizeof info->spec);
  snprintf(info->name, sizeof info->name, "PTX simulator, %d thread%s, %s", workers,
           workers == 1 ? "" : "s", sim_isa_name());
  return PG_OK;
}

static void sim_close(pg_device *device) {
  sim_device *d = self(device);
  while (d->modules) sim_unload(device, d->modules);
  while (d->streams) sim_stream_free(device, d->streams);
  while (d->events) sim_event_free(device, d->events);
  sim_profile_reset(&d->profile);
  sim_memory_free(d->memory);
  free(d);
}

static const pg_device_ops OPS = {.close = sim_close,
                                  .info = sim_info,
                                  .alloc = sim_alloc,
                                  .free = sim_free,
                                  .name = sim_name,
                                  .upload = sim_upload,
                                  .download = sim_download,
                                  .copy = sim_copy,
                                  .fill = sim_fill,
                                  .load = sim_load,
                                  .unload = sim_unload,
                                  .kernel = sim_kernel,
                                  .kernel_info = sim_kernel_info,
                                  .kernel_name = sim_kernel_name,
                                  .global = sim_global,
                                  .launch = sim_launch_kernel,
                                  .sync = sim_sync,
                                  .fault = sim_get_fault,
                                  .counters = sim_get_counters,
                                  .profile = sim_get_profile,
                                  .limit = sim_limit,
                                  .schedule = sim_schedule,
                                  .stream_new = sim_stream_new,
                                  .stream_sync = sim_stream_sync,
                                  .stream_free = sim_stream_free,
                                  .event_new = sim_event_new,
                                  .event_record = sim_event_record,
                                  .event_elapsed = sim_event_elapsed,
                                  .event_free = sim_event_free,
                                  .health = sim_health,
                                  .findings = sim_get_findings,
                                  .forget = sim_forget};

pg_code pg_sim_open(const pg_sim_options *options, pg_device **out, pg_error *error) {
  sim_device *d = calloc(1, sizeof *d);
  if (!d) return pg_fail(error, PG_MEMORY, "no memory for the simulator");
  d->base.ops = &OPS;
  d->options = *options;
  d->seed = options->seed;
  pg_code code = sim_memory_new(&d->memory, error);
  if (!code && options->mode == PG_SIM_CHECK)
    code = sim_memory_watch(d->memory, options->race_bytes, error);
  if (code) {
    sim_memory_free(d->memory);
    free(d);
    return code;
  }
  *out = &d->base;
  return PG_OK;
}
