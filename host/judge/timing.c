/* Timed samples by device events, one at a time. A sample's preparation (resets, poison, cache
 * flush) is enqueued before its start event on the same stream, so the device is still busy while
 * the host enqueues what is timed and what looks at it, and then rests; a sample whose start the
 * device had passed before its stop was enqueued is late, and not accepted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rng.h"
#include "request.h"
#include "timing.h"

enum { STARTS_MOST = 64, GAP_STEP = 512, GAP_STEPS = 4096 };
static const size_t MOVED_MOST = (size_t)4 << 30;          /* 40 ms, as long as a slice */
enum { STREAM_SPANS = 0x5370616e, STREAM_GAP = 0x476170 }; /* of random numbers of the seed */

/* Memory written to flush the cache: 2 x L2 would do if every line were replaced in order. The lead
 * is counted in tens of microseconds, and doubles when a sample was late; past the most, what is
 * still late is bound by the host and taken as it is. */
enum { FLUSH_TIMES_L2 = 3, LEAD = 8, LEAD_NS = 10000, LEAD_MOST = 512, AWAKE = 6 };

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

static pg_code reset(const pg_timing *t, const int *sets, pg_error *error) {
  pg_code code = pg_globals_reset(&t->runner->globals, error);
  for (size_t i = 0; !code && i < t->batch; i++)
    code = pg_buffers_reset(&t->runner->buffers, sets[i], t->poison, error);
  return code;
}

/* Lines of L2 that the sample before loaded to stay survive a flush in part. Giving them up is no
 * work of the stream but happens at once, so the device has to be idle. */
static void unpin(const pg_runner *r) {
  if (r->info.gpu_clock && r->device->ops->unpin) r->device->ops->unpin(r->device);
}

/* The plan on the same set, so that the cache holds what it touches. */
static pg_code warm(pg_timing *t, const int *set, pg_error *error) {
  pg_code code = reset(t, set, error);
  if (!code) code = pg_plan_enqueue(&t->plan, &t->runner->buffers, *set, error);
  return code;
}

/* Inputs that no launch may have seen, nor any that ran on others beside them: they come when
 * nothing of the plan runs any more before the start. The device idles during the copy, and the
 * first sample after a pause is slower, so it is kept busy for a while, with caches as they are but
 * before a flush. By six flushes, or leads: on an H200 samples on unseen inputs then take what
 * others do (in the median of 34 kernels cold +0.45%, of 28 hot +0.35%). The first look at a page
 * takes longer, too: something else has it. */
static pg_code bring(pg_timing *t, size_t i, const int *sets, pg_error *error) {
  pg_runner *r = t->runner;
  if (!t->fresh || !t->counts || t->fresh_at != (int64_t)i) return PG_OK;
  pg_code code = pg_buffers_renew(&r->buffers, t->fresh, r->shared, r->shared_bytes, error);
  for (size_t j = 0; !code && r->scratch_bytes && j < t->batch; j++)
    code = pg_buffers_touch(&r->buffers, &r->digest, sets[j], r->scratch, r->scratch_bytes, error);
  for (int k = 0; !code && k < AWAKE; k++)
    code = t->method == PG_COLD ? sweep(r, r->scratch_bytes, error) : lead(r, error);
  return code;
}

/* cold: reset, flush.  hot: warm, reset.  batch, graph: reset all sets of the sample, no flush.
 * The host waits for the sample before: while it enqueues others, a kernel takes up to 1.4 us
 * longer, or not, as it happens. */
static pg_code prepare(pg_timing *t, size_t i, const int *sets, pg_error *error) {
  pg_runner *r = t->runner;
  pg_code code = r->device->ops->stream_sync(r->device, r->stream, error);
  if (!code && t->unpin) unpin(r);
  if (!code) code = lead(r, error);
  if (!code && t->method == PG_HOT) code = warm(t, sets, error);
  if (!code) code = bring(t, i, sets, error);
  if (!code) code = reset(t, sets, error);
  if (!code && t->method == PG_COLD) code = sweep(r, r->scratch_bytes, error);
  return code;
}

/* The device came to the start before the host had enqueued the end. */
static void note_late(pg_timing *t, size_t i, pg_event *start) {
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
static pg_code look(pg_timing *t, size_t i, const int *sets, pg_error *error) {
  pg_runner *r = t->runner;
  pg_code code = PG_OK;
  for (size_t j = 0; !code && t->known && j < t->batch; j++) {
    size_t slot = i * t->batch + j;
    bool known = t->known[sets[j]];
    if (known) code = pg_buffers_digest(&r->buffers, &r->digest, slot, sets[j], error);
    if (!code) code = pg_digest_seal(&r->digest, r->stream, error);
    if (!code && known && t->keep_in >= 0 && t->keep < 0)
      code = pg_buffers_keep(&r->buffers, (int)t->keep_in, sets[j], &r->digest, slot,
                             t->right[sets[j]], error);
  }
  if (!code && t->keep == (int64_t)i)
    code =
        pg_buffers_keep(&r->buffers, (int)t->keep_in, sets[t->seed % t->batch], NULL, 0, 0, error);
  return code;
}

/* Span `k` of sample `i`, between two events. */
static pg_code span(pg_timing *t, size_t i, size_t k, pg_error *error) {
  pg_runner *r = t->runner;
  pg_device *d = r->device;
  const int *sets = t->sets + (t->method == PG_GRAPH ? 0 : i * t->batch);
  pg_event **e = r->events + 2 * (i * t->spans + k);
  pg_code code = prepare(t, i, sets, error);
  if (!code) code = d->ops->event_record(d, e[0], r->stream, error);
  if (!code && t->method == PG_GRAPH)
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

static pg_code sample(pg_timing *t, size_t i, pg_error *error) {
  pg_code code = PG_OK;
  for (size_t k = 0; !code && k < t->spans; k++) code = span(t, i, k, error);
  return code;
}

/* A kernel that does nothing, timed as a sample is: what a start takes differs a little from
 * process to process. Its events are behind those of the samples. */
static pg_code start(pg_timing *t, size_t i, pg_error *error) {
  pg_runner *r = t->runner;
  pg_device *d = r->device;
  int processors = r->info.multiprocessors;
  pg_event **e = r->events + 2 * (t->samples * t->spans + i);
  pg_code code = d->ops->stream_sync(d, r->stream, error);
  if (!code && t->method != PG_COLD) code = lead(r, error);
  if (!code && t->method == PG_COLD) code = sweep(r, r->scratch_bytes, error);
  if (!code && t->method == PG_HOT)
    code = pg_clock_nothing(&r->clock, processors, r->stream, error);
  if (!code) code = d->ops->event_record(d, e[0], r->stream, error);
  if (!code) code = pg_clock_nothing(&r->clock, processors, r->stream, error);
  if (!code) code = d->ops->event_record(d, e[1], r->stream, error);
  return code;
}

/* Which span of a graph comes next, when `done` of either have been. Each is drawn by itself: in
 * pairs, a launch would know from the one before which it is in, and could be slow in the shorter.
 * The very last is of all sets, which others may read afterwards. */
static size_t draw_span(const pg_timing *t, const size_t done[PG_SPANS_MOST]) {
  if (done[0] == t->samples) return 1;
  if (done[1] + 1 == t->samples) return 0;
  return pg_rng_u32(t->seed, STREAM_SPANS, done[0] + done[1]) & 1;
}

static pg_code graph_samples(pg_timing *t, pg_error *error) {
  size_t done[PG_SPANS_MOST] = {0};
  pg_code code = PG_OK;
  while (!code && done[1] < t->samples) {
    size_t k = draw_span(t, done);
    code = span(t, done[k]++, k, error);
  }
  return code;
}

static pg_code samples(pg_timing *t, pg_error *error) {
  pg_code code = PG_OK;
  if (t->method == PG_GRAPH) return graph_samples(t, error);
  for (size_t i = 0; !code && i < t->samples; i++) {
    code = sample(t, i, error);
    if (!code && i < t->starts) code = start(t, i, error);
  }
  return code;
}

static pg_code measure(pg_timing *t, pg_error *error) {
  pg_runner *r = t->runner;
  pg_code code = PG_OK;
  if (t->method == PG_COLD && !t->unpin) { /* whatever was timed before */
    code = r->device->ops->stream_sync(r->device, r->stream, error);
    if (!code) unpin(r);
  }
  for (int64_t i = 0; !code && i < t->warmup; i++) code = sample(t, (size_t)i % t->samples, error);
  for (size_t i = 0; i < t->samples; i++) t->late[i] = false;
  t->host_bound = 0;
  t->counts = true;
  if (!code && t->known) code = pg_digest_clear(&r->digest, r->stream, error);
  if (!code) code = pg_clock_enqueue(&r->clock, 0, PG_CLOCK_NS, r->stream, error);
  if (!code) code = samples(t, error);
  if (!code) code = pg_clock_enqueue(&r->clock, 1, PG_CLOCK_NS, r->stream, error);
  if (!code) code = r->device->ops->sync(r->device, error);
  return code;
}

/* One graph of the first set, one of all: the difference is what the others take, without the
 * start and the end of a graph. */
static pg_code make_graphs(pg_timing *t, pg_error *error) {
  pg_runner *r = t->runner;
  pg_device *d = r->device;
  pg_code code = PG_OK;
  if (t->method != PG_GRAPH) return PG_OK;
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

static void drop_graphs(pg_timing *t) {
  pg_device *d = t->runner->device;
  for (size_t k = 0; k < PG_SPANS_MOST; k++)
    if (t->graphs[k]) d->ops->graph_free(d, t->graphs[k]);
}

static pg_code elapsed(const pg_timing *t, size_t i, size_t k, double *us, pg_error *error) {
  pg_runner *r = t->runner;
  pg_event **e = r->events + 2 * (i * t->spans + k);
  pg_code code = r->device->ops->event_elapsed(r->device, e[0], e[1], us, error);
  if (!code && (!isfinite(*us) || *us < 0))
    return pg_fail(error, PG_INTERNAL, "sample %zu took %g microseconds by the events", i, *us);
  return code;
}

/* Times of the samples that were in time. Of a graph, one that is no longer for more launches says
 * nothing. */
static pg_code collect(const pg_timing *t, json_t *us, json_t *late, int64_t *inverted,
                       pg_error *error) {
  for (size_t i = 0; i < t->samples; i++) {
    double time = 0, shorter = 0;
    if (t->late[i]) {
      json_array_append_new(late, json_integer((json_int_t)i));
      continue;
    }
    pg_code code = elapsed(t, i, t->spans - 1, &time, error);
    if (!code && t->method == PG_GRAPH) code = elapsed(t, i, 0, &shorter, error);
    if (code) return code;
    double launches = t->method == PG_GRAPH ? (double)t->batch - 1 : (double)t->batch;
    if (t->method == PG_GRAPH && time <= shorter)
      ++*inverted;
    else
      json_array_append_new(us, json_real((time - shorter) / launches));
  }
  return PG_OK;
}

/* "starts": times of kernels that do nothing. */
static pg_code add_starts(const pg_timing *t, json_t *reply, pg_error *error) {
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
static json_t *kept_launch(const pg_timing *t, size_t slot) {
  const int *sets = t->method == PG_GRAPH ? t->sets : t->sets + slot / t->batch * t->batch;
  return json_pack("{s:I,s:i}", "sample", (json_int_t)(slot / t->batch), "set",
                   sets[slot % t->batch]);
}

/* Samples whose digests are not those that are right. */
static json_t *differing(const pg_timing *t, const uint64_t *digests) {
  json_t *list = json_array();
  for (size_t i = 0; i < t->samples; i++) {
    const int *sets = t->method == PG_GRAPH ? t->sets : t->sets + i * t->batch;
    bool differs = false;
    for (size_t j = 0; j < t->batch; j++)
      differs = differs || (t->known[sets[j]] && digests[i * t->batch + j] != t->right[sets[j]]);
    if (differs) json_array_append_new(list, json_integer((json_int_t)i));
  }
  return list;
}

/* "differ": samples, by number, that wrote something else than what is right; only where that was
 * looked at. "kept": the launch whose results were copied. */
static pg_code add_results(const pg_timing *t, json_t *reply, pg_error *error) {
  pg_runner *r = t->runner;
  size_t count = t->samples * t->batch, kept = SIZE_MAX;
  if (t->keep >= 0) kept = (size_t)t->keep * t->batch + t->seed % t->batch;
  if (t->known) {
    uint64_t *digests = malloc(count * sizeof *digests);
    if (!digests) return pg_fail(error, PG_MEMORY, "no memory for %zu digests", count);
    bool whole = false;
    pg_code code = pg_digest_read(&r->digest, digests, count, t->keep < 0 ? &kept : NULL, &whole,
                                  r->stream, error);
    if (!code) json_object_set_new(reply, "differ", differing(t, digests));
    if (!code && !whole) json_object_set_new(reply, "canary", pg_others_memory("digests"));
    free(digests);
    if (code) return code;
  }
  if (kept != SIZE_MAX) json_object_set_new(reply, "kept", kept_launch(t, kept));
  return PG_OK;
}

/* Buffers go elsewhere, and not back to where they were two moves ago: while they move, something
 * of random size takes the place that would be the next. */
static pg_code move_buffers(pg_timing *t, pg_error *error) {
  pg_runner *r = t->runner;
  pg_device *d = r->device;
  pg_ptr gap = 0;
  size_t bytes = GAP_STEP * (1 + pg_rng_u32(t->seed, STREAM_GAP, 0) % GAP_STEPS);
  if (r->prepared) return PG_OK; /* host code was told where they are */
  if (d->ops->alloc(d, bytes, &gap, NULL)) gap = 0;
  pg_code code = pg_buffers_move(&r->buffers, MOVED_MOST, error);
  d->ops->free(d, gap, NULL);
  return code;
}

/* What a start takes differs from stream to stream, by up to 0.16 us: each request has one of its
 * own. Not one of graphs, whose slope has no start: where each had, a launch took 0.2 us longer.
 * What comes between them keeps theirs. */
static pg_code change_stream(const pg_timing *t, pg_error *error) {
  pg_runner *r = t->runner;
  pg_device *d = r->device;
  pg_stream *next = NULL;
  if (t->method == PG_GRAPH) r->keeps_stream = true;
  if (!r->info.gpu_clock || r->keeps_stream) return PG_OK;
  if (r->prepared) return PG_OK; /* host code was told of it */
  /* What is still enqueued comes first: the variables' copies, what a failed request left. */
  pg_code code = d->ops->stream_sync(d, r->stream, error);
  if (!code) code = d->ops->stream_new(d, &next, error);
  if (code) return code;
  d->ops->stream_free(d, r->stream);
  r->stream = r->buffers.stream = r->globals.stream = next;
  return PG_OK;
}

/* What the samples need, made before the first. */
static pg_code need_all(pg_timing *t, pg_error *error) {
  pg_runner *r = t->runner;
  if (r->lead == 0 && t->method != PG_COLD) r->lead = LEAD;
  t->late = calloc(t->samples, sizeof *t->late);
  if (!t->late) return pg_fail(error, PG_MEMORY, "no memory for %zu samples", t->samples);
  pg_code code = change_stream(t, error);
  if (!code && t->move) code = move_buffers(t, error);
  if (!code) code = need_scratch(r, error);
  if (r->info.gpu_clock) pg_clock_need(&r->clock, r->device);
  if (pg_clock_runs(&r->clock) && t->method != PG_GRAPH)
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

static pg_code time_slice(pg_timing *t, json_t *reply, pg_error *error) {
  pg_runner *r = t->runner;
  pg_health health = {-1, -1, -1, -1, -1};
  int64_t inverted = 0;
  pg_code code = need_all(t, error);
  if (!code) code = measure(t, error);
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
  if (code || !t->guards || json_object_get(reply, "canary")) return code;
  r->armed = false;
  return pg_buffers_verify(&r->buffers, &r->globals, reply, error);
}

pg_code pg_runner_time(pg_runner *runner, const json_t *request, json_t *reply, pg_error *error) {
  pg_timing t = {.runner = runner};
  pg_code code = pg_timing_parse(&t, request, error);
  if (!code) code = time_slice(&t, reply, error);
  drop_graphs(&t);
  pg_timing_free(&t);
  return code;
}
