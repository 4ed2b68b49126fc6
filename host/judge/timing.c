/* Timed samples by device events. A sample's preparation (resets, poison, cache flush) is enqueued
 * before its start event on the same stream, so the device is still busy while the host enqueues
 * what is timed; a sample whose start the device had passed by then is late, and not accepted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "runner.h"

typedef enum method { COLD, HOT, BATCH, GRAPH } method;

/* Spans of time that make one sample: of a graph, of one launch and of all launches. */
enum { SPANS_MOST = 2 };

typedef struct timing {
  pg_runner *runner;
  pg_plan plan;
  method method;
  size_t batch; /* sets of one sample */
  size_t samples, spans;
  const int *sets; /* samples * batch of them; of a graph, batch */
  int *before;     /* hot: the set that the untimed plan runs on, for each sample; NULL: its own */
  uint32_t poison;
  uint64_t seed;
  pg_graph *graphs[SPANS_MOST];
  bool *late;       /* samples that are not accepted */
  bool guards;      /* compare zones and hashes at the end; else a later request does */
  bool can_be_late; /* a plan that waits for the device is never ahead of it */
  bool counts;      /* samples are no longer for warming up */
  bool unpin;       /* what stays in L2 is given up before every sample, else before the first */
  size_t starts;    /* kernels that do nothing, timed beside the samples */
  bool *known; /* by set: `right` is the digest of what is to be written there; NULL: none is */
  uint64_t *right;
  int64_t keep, keep_in; /* a sample whose outputs are copied, -1: none; the set that gets them */
  int64_t host_bound;
} timing;

enum { STARTS_MOST = 64 };

/* Memory written to flush the cache: 2 x L2 would do if every line were replaced in order. The lead
 * is counted in tens of microseconds, and doubles when a sample was late; past the most, what is
 * still late is bound by the host and taken as it is. */
enum { FLUSH_TIMES_L2 = 3, LEAD = 8, LEAD_NS = 10000, LEAD_MOST = 512 };

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
  } else if (strcmp(name, "batch") == 0 || strcmp(name, "graph") == 0) {
    t->method = *name == 'b' ? BATCH : GRAPH;
    t->batch = (size_t)batch;
  } else {
    const json_t *got = json_object_get(request, "method");
    return pg_req_expected("method", "cold, hot, batch or graph", got, error);
  }
  t->spans = t->method == GRAPH ? 2 : 1;
  return PG_OK;
}

/* A graph is made of certain sets, so all samples of a request have the same. */
static pg_code parse_graph(const json_t *request, timing *t, pg_error *error) {
  int64_t samples = 1;
  if (t->method != GRAPH) return PG_OK;
  if (t->batch < 2 || t->samples != 1)
    return pg_fail(error, PG_INVALID, "a graph needs the sets of one sample, 2 at least");
  if (!t->can_be_late)
    return pg_fail(error, PG_UNSUPPORTED, "a plan that loops waits for the device: no graph");
  pg_code code = pg_opt_integer(request, "samples", 1, PG_EVENT_PAIRS / 2, &samples, error);
  t->samples = (size_t)samples;
  return code;
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

/* "before": as many sets as samples. */
static pg_code parse_before(const json_t *request, timing *t, pg_error *error) {
  const json_t *list = NULL;
  if (!json_object_get(request, "before")) return PG_OK;
  pg_code code = pg_req_list(request, "before", PG_EVENT_PAIRS, &list, error);
  if (code) return code;
  if (t->method != HOT || json_array_size(list) != t->samples)
    return pg_fail(error, PG_INVALID, "\"before\": expected a set for each of %zu hot samples",
                   t->samples);
  t->before = malloc(t->samples * sizeof *t->before);
  if (!t->before) return pg_fail(error, PG_MEMORY, "no memory for %zu sets", t->samples);
  for (size_t i = 0; i < t->samples; i++) {
    const json_t *v = json_array_get(list, i);
    json_int_t set = json_integer_value(v);
    if (!json_is_integer(v) || set < 0 || set >= t->runner->buffers.set_count)
      return pg_req_expected("before", "numbers of sets that exist", v, error);
    t->before[i] = (int)set;
  }
  return PG_OK;
}

/* A digest, or null where it is not known. */
static pg_code parse_digest(const json_t *v, bool *known, uint64_t *right, pg_error *error) {
  *known = !json_is_null(v);
  *right = (uint64_t)json_integer_value(v);
  if (!*known || json_is_integer(v)) return PG_OK;
  if (json_is_string(v) && pg_parse_u64(json_string_value(v), right)) return PG_OK;
  return pg_req_expected("right", "digests or null", v, error);
}

/* "right": the digest of each set's results; "keep": a sample whose results are copied, without it
 * the first whose digest differs; "keep_in": the set that gets the copy. */
static pg_code parse_results(const json_t *request, timing *t, pg_error *error) {
  const json_t *list = NULL;
  int sets = t->runner->buffers.set_count;
  t->keep = t->keep_in = -1;
  pg_code code = pg_opt_integer(request, "keep", 0, (int64_t)t->samples - 1, &t->keep, error);
  if (!code) code = pg_opt_integer(request, "keep_in", 0, sets - 1, &t->keep_in, error);
  if (!code && t->keep >= 0 && t->keep_in < 0)
    code = pg_fail(error, PG_INVALID, "\"keep\" needs \"keep_in\", the set that gets a copy");
  if (code || !json_object_get(request, "right")) return code;
  code = pg_req_list(request, "right", PG_SET_MAX, &list, error);
  if (code) return code;
  t->known = calloc(PG_SET_MAX, sizeof *t->known);
  t->right = calloc(PG_SET_MAX, sizeof *t->right);
  if (!t->known || !t->right) return pg_fail(error, PG_MEMORY, "no memory for digests");
  for (size_t i = 0; !code && i < json_array_size(list); i++)
    code = parse_digest(json_array_get(list, i), &t->known[i], &t->right[i], error);
  return code;
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
  r->lead = 0;
  r->armed = false;
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

/* Keep the device busy for longer than the host needs to enqueue a sample: by a thread that waits
 * or, where that cannot be, by writing half of L2, which leaves the rest of the cache as it was. */
static pg_code lead(pg_runner *r, pg_error *error) {
  pg_code code = PG_OK;
  if (r->lead && pg_clock_runs(&r->clock))
    return pg_clock_enqueue(&r->clock, PG_CLOCK_SLOTS, r->lead * LEAD_NS, r->stream, error);
  for (size_t i = 0; !code && i < r->lead; i++)
    code = sweep(r, r->scratch_bytes / FLUSH_TIMES_L2 / 2, error);
  return code;
}

static pg_code reset(const timing *t, const int *sets, pg_error *error) {
  pg_code code = pg_globals_reset(&t->runner->globals, error);
  for (size_t i = 0; !code && i < t->batch; i++)
    code = pg_buffers_reset(&t->runner->buffers, sets[i], t->poison, error);
  return code;
}

/* Lines of L2 that the sample before loaded to stay survive a flush in part. Giving them up is no
 * work of the stream but happens at once, so the device has to be idle. */
static pg_code unpin(pg_runner *r, pg_error *error) {
  pg_device *d = r->device;
  if (!r->info.gpu_clock || !d->ops->unpin) return PG_OK;
  pg_code code = d->ops->stream_sync(d, r->stream, error);
  if (!code) d->ops->unpin(d);
  return code;
}

/* The plan on the same set, so that the cache holds what it touches; where the set's inputs must
 * not be seen yet, on another, and then the inputs are read by a copy. */
static pg_code warm(timing *t, size_t i, pg_error *error) {
  pg_runner *r = t->runner;
  const int *set = t->before ? &t->before[i] : &t->sets[i];
  pg_code code = reset(t, set, error);
  if (!code) code = pg_plan_enqueue(&t->plan, &r->buffers, *set, error);
  if (!code && *set != t->sets[i] && r->scratch_bytes)
    code = pg_buffers_touch(&r->buffers, t->sets[i], r->scratch, r->scratch_bytes, error);
  return code;
}

/* cold: reset, unpin where asked (which waits, so what keeps the device busy comes after it),
 * flush.  hot: warm, reset.  batch, graph: reset all sets of the sample, no flush. */
static pg_code prepare(timing *t, size_t i, const int *sets, pg_error *error) {
  pg_runner *r = t->runner;
  pg_code code = t->unpin ? PG_OK : lead(r, error);
  if (!code && t->method == HOT) code = warm(t, i, error);
  if (!code) code = reset(t, sets, error);
  if (!code && t->unpin) code = unpin(r, error);
  if (!code && t->unpin) code = lead(r, error);
  if (!code && t->method == COLD) code = sweep(r, r->scratch_bytes, error);
  return code;
}

/* The device came to the start before the host had enqueued the end. */
static void note_late(timing *t, size_t i, pg_event *start) {
  pg_runner *r = t->runner;
  if (!t->can_be_late || !r->device->ops->event_pending ||
      r->device->ops->event_pending(r->device, start))
    return;
  if (r->lead >= LEAD_MOST) {
    t->host_bound++;
    return;
  }
  t->late[i] = true;
  r->lead = r->lead ? 2 * r->lead : LEAD;
}

/* What a sample wrote, once its time is over: digests, each launch's in a slot of its own, and a
 * copy of what was asked for. */
static pg_code look(timing *t, size_t i, const int *sets, pg_error *error) {
  pg_runner *r = t->runner;
  pg_code code = PG_OK;
  for (size_t j = 0; !code && t->known && j < t->batch; j++) {
    size_t slot = i * t->batch + j;
    if (!t->known[sets[j]]) continue;
    code = pg_buffers_digest(&r->buffers, &r->digest, slot, sets[j], error);
    if (!code && t->keep_in >= 0 && t->keep < 0)
      code = pg_buffers_keep(&r->buffers, (int)t->keep_in, sets[j], &r->digest, slot,
                             t->right[sets[j]], error);
  }
  if (!code && t->keep == (int64_t)i)
    code =
        pg_buffers_keep(&r->buffers, (int)t->keep_in, sets[t->seed % t->batch], NULL, 0, 0, error);
  return code;
}

/* Span `k` of sample `i`, between two events. */
static pg_code span(timing *t, size_t i, size_t k, pg_error *error) {
  pg_runner *r = t->runner;
  pg_device *d = r->device;
  const int *sets = t->sets + (t->method == GRAPH ? 0 : i * t->batch);
  pg_event **e = r->events + 2 * (i * t->spans + k);
  pg_code code = prepare(t, i, sets, error);
  if (!code) code = d->ops->event_record(d, e[0], r->stream, error);
  if (!code && t->method == GRAPH)
    code = d->ops->graph_launch(d, t->graphs[k], r->stream, error);
  else
    for (size_t j = 0; !code && j < t->batch; j++)
      code = pg_plan_enqueue(&t->plan, &r->buffers, sets[j], error);
  if (!code) code = d->ops->event_record(d, e[1], r->stream, error);
  if (!code) note_late(t, i, e[0]);
  for (size_t j = 0; !code && j < t->batch; j++) code = pg_plan_finish(&t->plan, sets[j], error);
  if (!code && t->counts && k + 1 == t->spans) code = look(t, i, sets, error);
  return code;
}

/* The spans of a graph come in either order, so that a launch cannot know which one it is in. The
 * very last is of all sets, which others may read afterwards. */
static pg_code sample(timing *t, size_t i, pg_error *error) {
  size_t first = t->spans == 2 && i + 1 < t->samples ? t->seed >> i % 64 & 1 : 0;
  pg_code code = PG_OK;
  for (size_t k = 0; !code && k < t->spans; k++) code = span(t, i, k ^ first, error);
  return code;
}

/* A kernel that does nothing, timed as a sample is: what a start takes differs a little from
 * process to process. Its events are behind those of the samples. */
static pg_code start(timing *t, size_t i, pg_error *error) {
  pg_runner *r = t->runner;
  pg_device *d = r->device;
  int processors = r->info.multiprocessors;
  pg_event **e = r->events + 2 * (t->samples * t->spans + i);
  pg_code code = t->method == COLD ? PG_OK : lead(r, error);
  if (!code && t->method == COLD) code = sweep(r, r->scratch_bytes, error);
  if (!code && t->method == HOT) code = pg_clock_nothing(&r->clock, processors, r->stream, error);
  if (!code) code = d->ops->event_record(d, e[0], r->stream, error);
  if (!code) code = pg_clock_nothing(&r->clock, processors, r->stream, error);
  if (!code) code = d->ops->event_record(d, e[1], r->stream, error);
  return code;
}

/* Enqueue everything, then wait once: between samples the host never waits, so it stays ahead. */
static pg_code measure(timing *t, int64_t warmup, pg_error *error) {
  pg_runner *r = t->runner;
  pg_code code = PG_OK;
  if (t->method == COLD && !t->unpin) code = unpin(r, error); /* whatever was timed before */
  for (int64_t i = 0; !code && i < warmup; i++) code = sample(t, (size_t)i % t->samples, error);
  for (size_t i = 0; i < t->samples; i++) t->late[i] = false;
  t->host_bound = 0;
  t->counts = true;
  if (!code && t->known) code = pg_digest_clear(&r->digest, r->stream, error);
  if (!code) code = pg_clock_enqueue(&r->clock, 0, PG_CLOCK_NS, r->stream, error);
  for (size_t i = 0; !code && i < t->samples; i++) {
    code = sample(t, i, error);
    if (!code && i < t->starts) code = start(t, i, error);
  }
  if (!code) code = pg_clock_enqueue(&r->clock, 1, PG_CLOCK_NS, r->stream, error);
  if (!code) code = r->device->ops->sync(r->device, error);
  return code;
}

/* One graph of the first set, one of all: the difference is what the others take, without the
 * start and the end of a graph. */
static pg_code make_graphs(timing *t, pg_error *error) {
  pg_runner *r = t->runner;
  pg_device *d = r->device;
  pg_code code = PG_OK;
  if (t->method != GRAPH) return PG_OK;
  if (!d->ops->graph_begin) return pg_fail(error, PG_UNSUPPORTED, "this device has no graphs");
  for (size_t k = 0; !code && k < t->spans; k++) {
    code = d->ops->graph_begin(d, r->stream, error);
    if (code) return code;
    for (size_t j = 0; !code && j < (k == 0 ? 1 : t->batch); j++)
      code = pg_plan_enqueue(&t->plan, &r->buffers, t->sets[j], error);
    if (code)
      d->ops->graph_end(d, r->stream, NULL, NULL);
    else
      code = d->ops->graph_end(d, r->stream, &t->graphs[k], error);
  }
  return code;
}

static void drop_graphs(timing *t) {
  pg_device *d = t->runner->device;
  for (size_t k = 0; k < SPANS_MOST; k++)
    if (t->graphs[k]) d->ops->graph_free(d, t->graphs[k]);
}

static pg_code elapsed(const timing *t, size_t i, size_t k, double *us, pg_error *error) {
  pg_runner *r = t->runner;
  pg_event **e = r->events + 2 * (i * t->spans + k);
  pg_code code = r->device->ops->event_elapsed(r->device, e[0], e[1], us, error);
  if (!code && (!isfinite(*us) || *us < 0))
    return pg_fail(error, PG_INTERNAL, "sample %zu took %g microseconds by the events", i, *us);
  return code;
}

/* Times of the samples that were in time. Of a graph, one that is no longer for more launches says
 * nothing. */
static pg_code collect(const timing *t, json_t *us, json_t *late, int64_t *inverted,
                       pg_error *error) {
  for (size_t i = 0; i < t->samples; i++) {
    double time = 0, shorter = 0;
    if (t->late[i]) {
      json_array_append_new(late, json_integer((json_int_t)i));
      continue;
    }
    pg_code code = elapsed(t, i, t->spans - 1, &time, error);
    if (!code && t->method == GRAPH) code = elapsed(t, i, 0, &shorter, error);
    if (code) return code;
    double launches = t->method == GRAPH ? (double)t->batch - 1 : (double)t->batch;
    if (t->method == GRAPH && time <= shorter)
      ++*inverted;
    else
      json_array_append_new(us, json_real((time - shorter) / launches));
  }
  return PG_OK;
}

/* "starts": times of kernels that do nothing. */
static pg_code add_starts(const timing *t, json_t *reply, pg_error *error) {
  pg_runner *r = t->runner;
  json_t *list = json_array();
  pg_code code = PG_OK;
  json_object_set_new(reply, "starts", list);
  for (size_t i = 0; !code && i < t->starts; i++) {
    pg_event **e = r->events + 2 * (t->samples * t->spans + i);
    double us = 0;
    code = r->device->ops->event_elapsed(r->device, e[0], e[1], &us, error);
    if (!code) json_array_append_new(list, json_real(us));
  }
  return code;
}

/* The clock before the first sample and after the last, in MHz; null where it is not known. */
static pg_code add_clock(pg_runner *r, json_t *reply, pg_error *error) {
  double mhz[PG_CLOCK_SLOTS];
  pg_code code = pg_clock_read(&r->clock, r->stream, mhz, error);
  if (!code && mhz[0] > 0)
    json_object_set_new(reply, "clock_mhz", json_pack("[f,f]", mhz[0], mhz[1]));
  return code;
}

/* {"sample","set"} of launch `slot`. */
static json_t *kept_launch(const timing *t, size_t slot) {
  const int *sets = t->method == GRAPH ? t->sets : t->sets + slot / t->batch * t->batch;
  return json_pack("{s:I,s:i}", "sample", (json_int_t)(slot / t->batch), "set",
                   sets[slot % t->batch]);
}

/* Samples whose digests are not those that are right. */
static json_t *differing(const timing *t, const uint64_t *digests) {
  json_t *list = json_array();
  for (size_t i = 0; i < t->samples; i++) {
    const int *sets = t->method == GRAPH ? t->sets : t->sets + i * t->batch;
    bool differs = false;
    for (size_t j = 0; j < t->batch; j++)
      differs = differs || (t->known[sets[j]] && digests[i * t->batch + j] != t->right[sets[j]]);
    if (differs) json_array_append_new(list, json_integer((json_int_t)i));
  }
  return list;
}

/* "differ": samples, by number, that wrote something else than what is right; only where that was
 * looked at. "kept": the launch whose results were copied. */
static pg_code add_results(const timing *t, json_t *reply, pg_error *error) {
  pg_runner *r = t->runner;
  size_t count = t->samples * t->batch, kept = SIZE_MAX;
  if (t->keep >= 0) kept = (size_t)t->keep * t->batch + t->seed % t->batch;
  if (t->known) {
    uint64_t *digests = malloc(count * sizeof *digests);
    if (!digests) return pg_fail(error, PG_MEMORY, "no memory for %zu digests", count);
    pg_code code =
        pg_digest_read(&r->digest, digests, count, t->keep < 0 ? &kept : NULL, r->stream, error);
    if (!code) json_object_set_new(reply, "differ", differing(t, digests));
    free(digests);
    if (code) return code;
  }
  if (kept != SIZE_MAX) json_object_set_new(reply, "kept", kept_launch(t, kept));
  return PG_OK;
}

/* What the samples need, made before the first. */
static pg_code need_all(timing *t, pg_error *error) {
  pg_runner *r = t->runner;
  if (r->lead == 0 && t->method != COLD) r->lead = LEAD;
  t->late = calloc(t->samples, sizeof *t->late);
  if (!t->late) return pg_fail(error, PG_MEMORY, "no memory for %zu samples", t->samples);
  pg_code code = need_scratch(r, error);
  if (r->info.gpu_clock) pg_clock_need(&r->clock, r->device);
  if (pg_clock_runs(&r->clock) && t->method != GRAPH)
    t->starts = t->samples < STARTS_MOST ? t->samples : STARTS_MOST;
  if (!code) code = need_events(r, 2 * (t->spans * t->samples + t->starts), error);
  if (!code && t->known) code = pg_digest_need(&r->digest, r->device, t->samples * t->batch, error);
  if (!code && t->known && !pg_digest_runs(&r->digest))
    code = pg_fail(error, PG_UNSUPPORTED, "\"right\": this device computes no digests");
  if (!code) code = make_graphs(t, error);
  if (!code && !r->armed) code = pg_buffers_arm(&r->buffers, t->seed, error);
  r->armed = !code;
  return code;
}

static pg_code time_slice(timing *t, int64_t warmup, json_t *reply, pg_error *error) {
  pg_runner *r = t->runner;
  pg_health health = {-1, -1, -1, -1, -1};
  int64_t inverted = 0;
  pg_code code = need_all(t, error);
  if (!code) code = measure(t, warmup, error);
  if (code) return pg_runner_fault(r, error);
  json_t *us = json_array(), *late = json_array();
  json_object_set_new(reply, "us", us);
  json_object_set_new(reply, "late", late);
  code = collect(t, us, late, &inverted, error);
  if (!code) code = add_starts(t, reply, error);
  if (!code) code = add_results(t, reply, error);
  if (!code) code = add_clock(r, reply, error);
  json_object_set_new(reply, "inverted", json_integer(inverted));
  json_object_set_new(reply, "host_bound", json_integer(t->host_bound));
  r->device->ops->health(r->device, &health);
  json_object_set_new(reply, "health", pg_json_health(&health));
  json_object_set_new(reply, "gpu_clock", json_boolean(r->info.gpu_clock));
  if (code || !t->guards) return code;
  r->armed = false;
  return pg_buffers_verify(&r->buffers, &r->globals, reply, error);
}

pg_code pg_runner_time(pg_runner *runner, const json_t *request, json_t *reply, pg_error *error) {
  timing t = {.runner = runner, .guards = true, .plan.expert = pg_runner_expert(runner)};
  int64_t poison = 0xDEADBEEF, warmup = 0;
  int *sets = NULL;
  pg_code code = parse_method(request, &t, error);
  if (!code) code = parse_sets(request, &t, &sets, error);
  if (!code) code = pg_opt_integer(request, "poison", 0, UINT32_MAX, &poison, error);
  if (!code) code = pg_opt_integer(request, "warmup", 0, 10000, &warmup, error);
  if (!code) code = pg_opt_bool(request, "unpin", &t.unpin, error);
  if (!code) code = parse_before(request, &t, error);
  if (!code) code = parse_results(request, &t, error);
  if (!code) code = pg_opt_bool(request, "guards", &t.guards, error);
  if (!code) code = pg_runner_seed(request, &t.seed, error);
  if (!code)
    code = pg_plan_parse(&t.plan, request, runner->device, runner->module, &runner->buffers, error);
  t.poison = (uint32_t)poison;
  t.unpin = t.unpin && t.method == COLD;
  t.can_be_late = !pg_plan_waits(&t.plan);
  if (!code) code = parse_graph(request, &t, error);
  if (!code) code = time_slice(&t, warmup, reply, error);
  drop_graphs(&t);
  pg_plan_free(&t.plan);
  free(t.late);
  free(t.before);
  free(t.known);
  free(t.right);
  free(sets);
  return code;
}
