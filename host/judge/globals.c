/* Copies of module variables on the device itself, so that putting them back is enqueued like any
 * other reset. */
#include "globals.h"

#include <stdlib.h>

static pg_code keep(pg_globals *g, pg_module *module, const char *name, json_t *missing,
                    pg_error *error) {
  pg_device *d = g->device;
  pg_ptr at = 0, copy = 0;
  size_t bytes = 0;
  pg_code code = d->ops->global ? d->ops->global(d, module, name, &at, &bytes, error)
                                : pg_fail(error, PG_NOT_FOUND, "no variables");
  if (code == PG_NOT_FOUND) {
    json_array_append_new(missing, json_string(name));
    return PG_OK;
  }
  if (code || bytes == 0) return code;
  code = d->ops->alloc(d, bytes, &copy, error);
  if (code) return code;
  pg_global *one = &g->list[g->count++];
  *one = (pg_global){at, copy, bytes, 0};
  code = d->ops->copy(d, copy, at, bytes, g->stream, error);
  if (!code && g->digest) code = pg_digest_of(g->digest, copy, bytes, &one->hash, g->stream, error);
  return code;
}

pg_code pg_globals_keep(pg_globals *out, pg_device *device, pg_stream *stream, pg_digest *digest,
                        pg_module *module, const json_t *names, json_t *missing, pg_error *error) {
  *out = (pg_globals){.device = device, .stream = stream, .digest = digest};
  pg_code code = PG_OK;
  size_t most = json_array_size(names);
  if (most > 0) out->list = calloc(most, sizeof *out->list);
  if (most > 0 && !out->list) code = pg_fail(error, PG_MEMORY, "no memory for %zu variables", most);
  for (size_t i = 0; !code && i < most; i++) {
    const char *name = json_string_value(json_array_get(names, i));
    if (!name) {
      code = pg_fail(error, PG_INVALID, "\"globals\": expected names of variables");
    } else {
      code = keep(out, module, name, missing, error);
    }
  }
  if (code) pg_globals_free(out);
  return code;
}

pg_code pg_globals_reset(const pg_globals *g, pg_error *error) {
  pg_code code = PG_OK;
  for (size_t i = 0; !code && i < g->count; i++)
    code = g->device->ops->copy(g->device, g->list[i].at, g->list[i].copy, g->list[i].bytes,
                                g->stream, error);
  return code;
}

pg_code pg_globals_changed(const pg_globals *g, bool *changed, pg_error *error) {
  pg_code code = PG_OK;
  *changed = false;
  if (!g->digest) return PG_OK;
  for (size_t i = 0; !code && i < g->count; i++) {
    uint64_t hash = 0;
    code = pg_digest_of(g->digest, g->list[i].copy, g->list[i].bytes, &hash, g->stream, error);
    *changed = *changed || (!code && hash != g->list[i].hash);
  }
  return code;
}

void pg_globals_free(pg_globals *g) {
  for (size_t i = 0; i < g->count; i++) g->device->ops->free(g->device, g->list[i].copy, NULL);
  free(g->list);
  *g = (pg_globals){0};
}
