/* Timed samples by device events. A sample's preparation (resets, poison, cache flush) is enqueued
 * before its start event on the same stream, so the device is still busy while the host enqueues
 * what is timed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "runner.h"

typedef enum method { COLD, HOT, BATCH } method;

typedef struct timing {
  pg_runner *runner;
  pg_plan plan;
  method method;
  size_t batch; /* sets of one sample */
  size_t samples;
  const int *sets; /* samples * batch of them */
  uint32_t poison;
} timing;

/* Memory written to flush the cache: 2 x L2 would do if every line were replaced in order. */
enum { FLUSH_TIMES_L2 = 3, LEAD_FILLS = 8 };

/* ---- request ---- */

static pg_code parse_method(const json_t *request, timing *t, pg_error *error) {
  const char *name = NULL;
  int64_t batch = 8;
  pg_code code = pg_req_string(request, "method", &name, error);
  if (!code) code = pg_opt_integer(request, "batch", 1, PG_SET_MAX, &batch, error);
  if (code) return code;
  t->batch = 1;
  if (strcmp(name, "cold") == 0) {
    t->method = COLD;
  } else if (strcmp(name, "hot") == 0) {
    t->method = HOT;
  } else if (strcmp(name, "batch") == 0) {
    t->method = BATCH;
    t->batch = (size_t)batch;
  } else {
    const json_t *got = json_object_get(request, "method");
    return pg_req_expected("method", "cold, hot or batch", got, error);
  }
  return PG_OK;
}

/* State must be fresh for every launch of a sample, so a set appears in it once. */
static pg_code check_distinct(const timing *t, const int *sets, pg_error *error) {
  for (size_t first = 0; first < t->samples * t->batch; first += t->batch) {
    bool seen[PG_SET_MAX] = {false};
    for (size_t i = first; i < first + t->batch; i++) {
      if (seen[sets[i]])
        return pg_fail(error, PG_INVALID, "\"sets\": set %d is twice in sample %zu", sets[i],
                       first / t->batch);
      seen[sets[i]] = true;
    }
  }
  return PG_OK;
}

static pg_code parse_sets(const json_t *request, timing *t, int **out, pg_error *error) {
  const json_t *list = NULL;
  size_t most = t->batch * PG_EVENT_PAIRS;
  pg_code code = pg_req_list(request, "sets", most, &list, error);
  if (code) return code;
  size_t n = json_array_size(list);
  if (n == 0 || n % t->batch != 0)
    return pg_fail(error, PG_INVALID, "\"sets\": expected a multiple of %zu, got %zu", t->batch, n);
  int *sets = *out = malloc(n * sizeof *sets);
  if (!sets) return pg_fail(error, PG_MEMORY, "no memory for %zu sets", n);
  for (size_t i = 0; i < n; i++) {
    const json_t *v = json_array_get(list, i);
    json_int_t set = json_integer_value(v);
    if (!json_is_integer(v) || set < 0 || set >= t->runner->buffers.set_count)
      return pg_req_expected("sets", "numbers of sets that exist", v, error);
    sets[i] = (int)set;
  }
  t->sets = sets;
  t->samples = n / t->batch;
  return check_distinct(t, sets, error);
}

/* ---- device objects ---- */

void pg_runner_drop_timing(pg_runner *r) {
  for (size_t i = 0; i < r->event_count; i++) r->device->ops->event_free(r->device, r->events[i]);
  free(r->events);
  r->events = NULL;
  r->event_count = 0;
  if (r->scratch) r->device->ops->free(r->device, r->scratch, NULL);
  r->scratch = 0;
  r->scratch_bytes = 0;
}

static pg_code need_events(pg_runner *r, size_t count, pg_error *error) {
  if (count <= r->event_count) return PG_OK;
  pg_event **more = realloc(r->events, count * sizeof *more);
  if (!more) return pg_fail(error, PG_MEMORY, "no memory for %zu events", count);
  r->events = more;
  while (r->event_count < count) {
    pg_code code = r->device->ops->event_new(r->device, &more[r->event_count], error);
    if (code) return code;
    r->event_count++;
  }
  return PG_OK;
}

/* Only a clock of a GPU is worth a flush: a simulator has no cache to flush. */
static pg_code need_scratch(pg_runner *r, pg_error *error) {
  pg_device *d = r->device;
  if (!r->info.gpu_clock || r->info.l2_bytes == 0 || r->scratch) return PG_OK;
  size_t bytes = FLUSH_TIMES_L2 * r->info.l2_bytes;
  pg_code code = d->ops->alloc(d, bytes, &r->scratch, error);
  if (!code) r->scratch_bytes = bytes;
  return code;
}

/* ---- a sample ---- */

/* Write part of the scratch memory: it replaces what the cache held, and keeps the device busy. */
static pg_code sweep(pg_runner *r, size_t bytes, pg_error *error) {
  pg_device *d = r->device;
  if (bytes < 4) return PG_OK;
  return d->ops->fill(d, r->scratch, 0, 4, bytes / 4, r->stream, error);
}

/* Keep the device busy for longer than the host needs to enqueue a sample, over an amount of memory
 * (half of L2) that leaves the rest of the cache as it was. */
static pg_code lead(pg_runner *r, pg_error *error) {
  pg_code code = PG_OK;
  for (int i = 0; !code && i < LEAD_FILLS; i++)
    code = sweep(r, r->scratch_bytes / FLUSH_TIMES_L2 / 2, error);
  return code;
}

static pg_code reset(const timing *t, const int *sets, pg_error *error) {
  pg_code code = PG_OK;
  for (size_t i = 0; !code && i < t->batch; i++)
    code = pg_buffers_reset(&t->runner->buffers, sets[i], t->poison, error);
  return code;
}

/* cold: reset, flush.  hot: the same plan on the same set, so that the cache holds what it touches,
 * then reset. batch: reset all sets of the sample, no flush. */
static pg_code prepare(timing *t, const int *sets, pg_error *error) {
  pg_runner *r = t->runner;
  pg_code code = t->method == COLD ? PG_OK : lead(r, error);
  if (!code && t->method == HOT) {
    code = reset(t, sets, error);
    if (!code) code = pg_plan_enqueue(&t->plan, &r->buffers, sets[0], error);
  }
  if (!code) code = reset(t, sets, error);
  if (!code && t->method == COLD) code = sweep(r, r->scratch_bytes, error);
  return code;
}

static pg_code sample(timing *t, const int *sets, pg_event *start, pg_event *stop,
                      pg_error *error) {
  pg_runner *r = t->runner;
  pg_device *d = r->device;
  pg_code code = prepare(t, sets, error);
  if (!code) code = d->ops->event_record(d, start, r->stream, error);
  for (size_t i = 0; !code && i < t->batch; i++)
    code = pg_plan_enqueue(&t->plan, &r->buffers, sets[i], error);
  if (!code) code = d->ops->event_record(d, stop, r->stream, error);
  return code;
}

/* Enqueue everything, then wait once: between samples the host never waits, so it stays ahead. */
static pg_code measure(timing *t, int64_t warmup, pg_error *error) {
  pg_runner *r = t->runner;
  pg_event **e = r->events;
  pg_code code = PG_OK;
  for (int64_t i = 0; !code && i < warmup; i++)
    code = sample(t, t->sets + (size_t)i % t->samples * t->batch, e[0], e[1], error);
  for (size_t i = 0; !code && i < t->samples; i++)
    code = sample(t, t->sets + i * t->batch, e[2 * i], e[2 * i + 1], error);
  if (!code) code = r->device->ops->sync(r->device, error);
  return code;
}

static pg_code collect(const timing *t, json_t *us, pg_error *error) {
  pg_runner *r = t->runner;
  for (size_t i = 0; i < t->samples; i++) {
    double time = 0;
    pg_code code = r->device->ops->event_elapsed(r->device, r->events[2 * i], r->events[2 * i + 1],
                                                 &time, error);
    if (code) return code;
    if (!isfinite(time) || time < 0)
      return pg_fail(error, PG_INTERNAL, "sample %zu took %g microseconds by the events", i, time);
    json_array_append_new(us, json_real(time / (double)t->batch));
  }
  return PG_OK;
}

static pg_code time_slice(timing *t, int64_t warmup, uint64_t seed, json_t *reply,
                          pg_error *error) {
  pg_runner *r = t->runner;
  pg_health health = {-1, -1, -1, -1, -1};
  pg_code code = need_events(r, 2 * t->samples, error);
  if (!code) code = need_scratch(r, error);
  if (!code) code = pg_buffers_arm(&r->buffers, seed, error);
  if (!code) code = measure(t, warmup, error);
  if (code) return pg_runner_fault(r, error);
  json_t *us = json_array();
  json_object_set_new(reply, "us", us);
  code = collect(t, us, error);
  r->device->ops->health(r->device, &health);
  json_object_set_new(reply, "health", pg_json_health(&health));
  json_object_set_new(reply, "gpu_clock", json_boolean(r->info.gpu_clock));
  return code ? code : pg_buffers_verify(&r->buffers, reply, error);
}

pg_code pg_runner_time(pg_runner *runner, const json_t *request, json_t *reply, pg_error *error) {
  timing t = {.runner = runner};
  int64_t poison = 0xDEADBEEF, warmup = 0;
  uint64_t seed = 0;
  int *sets = NULL;
  pg_code code = parse_method(request, &t, error);
  if (!code) code = parse_sets(request, &t, &sets, error);
  if (!code) code = pg_opt_integer(request, "poison", 0, UINT32_MAX, &poison, error);
  if (!code) code = pg_opt_integer(request, "warmup", 0, 10000, &warmup, error);
  if (!code) code = pg_runner_seed(request, &seed, error);
  if (!code)
    code = pg_plan_parse(&t.plan, request, runner->device, runner->module, &runner->buffers, error);
  t.poison = (uint32_t)poison;
  if (!code) code = time_slice(&t, warmup, seed, reply, error);
  pg_plan_free(&t.plan);
  free(sets);
  return code;
}
