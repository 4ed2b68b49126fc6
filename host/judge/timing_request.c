/* The fields of a "time" request. An error says which field is at fault. */
#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "timing.h"

static pg_code parse_method(const json_t *request, pg_timing *t, pg_error *error) {
  const char *name = NULL;
  int64_t batch = 8;
  pg_code code = pg_req_string(request, "method", &name, error);
  if (!code) code = pg_opt_integer(request, "batch", 1, PG_SET_MAX, &batch, error);
  if (code) return code;
  t->batch = 1;
  if (strcmp(name, "cold") == 0) {
    t->method = PG_COLD;
  } else if (strcmp(name, "hot") == 0) {
    t->method = PG_HOT;
  } else if (strcmp(name, "batch") == 0 || strcmp(name, "graph") == 0) {
    t->method = *name == 'b' ? PG_BATCH : PG_GRAPH;
    t->batch = (size_t)batch;
  } else {
    const json_t *got = json_object_get(request, "method");
    return pg_req_expected("method", "cold, hot, batch or graph", got, error);
  }
  t->spans = t->method == PG_GRAPH ? 2 : 1;
  return PG_OK;
}

/* A graph is made of certain sets, so all samples of a request have the same. */
static pg_code parse_graph(const json_t *request, pg_timing *t, pg_error *error) {
  int64_t samples = 1;
  if (t->method != PG_GRAPH) return PG_OK;
  if (t->batch < 2 || t->samples != 1)
    return pg_fail(error, PG_INVALID, "a graph needs the sets of one sample, 2 at least");
  pg_code code = pg_opt_integer(request, "samples", 1, PG_EVENT_PAIRS / 2, &samples, error);
  t->samples = (size_t)samples;
  return code;
}

/* State must be fresh for every launch of a sample, so a set appears in it once. */
static pg_code check_distinct(const pg_timing *t, const int *sets, pg_error *error) {
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
static pg_code parse_results(const json_t *request, pg_timing *t, pg_error *error) {
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

/* "renew": contents of a version, and the sample that they come right before. A graph is launched
 * before it is timed, so nothing is new to it. */
static pg_code parse_fresh(const json_t *request, pg_timing *t, pg_error *error) {
  t->fresh = json_object_get(request, "renew");
  if (!t->fresh) return PG_OK;
  if (t->method == PG_GRAPH || !json_is_object(t->fresh))
    return pg_fail(error, PG_INVALID, "\"renew\": expected an object, and no graph");
  pg_code code =
      pg_req_integer(t->fresh, "sample", 0, (int64_t)t->samples - 1, &t->fresh_at, error);
  if (code) pg_where(error, "renew");
  return code;
}

static pg_code parse_sets(const json_t *request, pg_timing *t, pg_error *error) {
  const json_t *list = NULL;
  size_t most = t->batch * PG_EVENT_PAIRS;
  pg_code code = pg_req_list(request, "sets", most, &list, error);
  if (code) return code;
  size_t n = json_array_size(list);
  if (n == 0 || n % t->batch != 0)
    return pg_fail(error, PG_INVALID, "\"sets\": expected a multiple of %zu, got %zu", t->batch, n);
  int *sets = t->sets = malloc(n * sizeof *sets);
  if (!sets) return pg_fail(error, PG_MEMORY, "no memory for %zu sets", n);
  for (size_t i = 0; i < n; i++) {
    const json_t *v = json_array_get(list, i);
    json_int_t set = json_integer_value(v);
    if (!json_is_integer(v) || set < 0 || set >= t->runner->buffers.set_count)
      return pg_req_expected("sets", "numbers of sets that exist", v, error);
    sets[i] = (int)set;
  }
  t->samples = n / t->batch;
  code = check_distinct(t, sets, error);
  return code ? code : parse_graph(request, t, error);
}

pg_code pg_timing_parse(pg_timing *t, const json_t *request, pg_error *error) {
  pg_runner *r = t->runner;
  int64_t poison = 0xDEADBEEF;
  t->guards = true;
  t->plan = (pg_plan){.expert = pg_runner_expert(r)};
  pg_code code = parse_method(request, t, error);
  if (!code) code = parse_sets(request, t, error);
  if (!code) code = pg_opt_integer(request, "poison", 0, UINT32_MAX, &poison, error);
  if (!code) code = pg_opt_integer(request, "warmup", 0, 10000, &t->warmup, error);
  if (!code) code = pg_opt_bool(request, "move", &t->move, error);
  if (!code) code = pg_opt_bool(request, "unpin", &t->unpin, error);
  if (!code) code = pg_opt_bool(request, "guards", &t->guards, error);
  if (!code) code = parse_results(request, t, error);
  if (!code) code = parse_fresh(request, t, error);
  if (!code) code = pg_runner_seed(request, &t->seed, error);
  if (!code) code = pg_plan_parse(&t->plan, request, r->device, r->module, &r->buffers, error);
  t->poison = (uint32_t)poison;
  t->unpin = t->unpin && t->method == PG_COLD;
  t->can_be_late = !pg_plan_waits(&t->plan);
  if (!code && t->method == PG_GRAPH && !t->can_be_late)
    code = pg_fail(error, PG_UNSUPPORTED, "a plan that loops waits for the device: no graph");
  return code;
}

void pg_timing_free(pg_timing *t) {
  pg_plan_free(&t->plan);
  free(t->sets);
  free(t->late);
  free(t->known);
  free(t->right);
}
