/* Buffers of a candidate: their description, their memory, their reset.
 * Everything is enqueued on one stream; what needs the bytes on the host waits for that stream. */
#include "buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "request.h"

static const int64_t most_bytes = (int64_t)1 << 46; /* sums of all copies stay far below 2^63 */

/* ---- description ---- */

static pg_code parse_role(const json_t *spec, pg_role *role, pg_error *error) {
  const char *name = "";
  pg_code code = pg_req_string(spec, "role", &name, error);
  if (code) return code;
  if (strcmp(name, "input") == 0)
    *role = PG_ROLE_INPUT;
  else if (strcmp(name, "state") == 0)
    *role = PG_ROLE_STATE;
  else if (strcmp(name, "output") == 0)
    *role = PG_ROLE_OUTPUT;
  else if (strcmp(name, "scratch") == 0)
    *role = PG_ROLE_SCRATCH;
  else
    return pg_req_expected("role", "input, state, output or scratch", json_object_get(spec, "role"),
                           error);
  return PG_OK;
}

static bool is_poisoned(const pg_buffer *b) {
  return b->role == PG_ROLE_OUTPUT || b->role == PG_ROLE_SCRATCH;
}

/* A place in shared memory. */
static pg_code parse_place(const json_t *value, const pg_buffer *b, size_t shared_bytes,
                           size_t *place, pg_error *error) {
  json_int_t at = json_integer_value(value);
  if (!json_is_integer(value) || at < 0)
    return pg_req_expected("at", "offsets >= 0 in shared memory", value, error);
  if ((uint64_t)at > shared_bytes || b->bytes > shared_bytes - (size_t)at)
    return pg_fail(error, PG_RANGE, "%zu bytes at %lld lie outside the %zu bytes of shared memory",
                   b->bytes, (long long)at, shared_bytes);
  *place = (size_t)at;
  return PG_OK;
}

/* "at": an offset, or one for each version, null for contents that come later. */
static pg_code parse_places(const json_t *at, pg_buffer *b, size_t shared_bytes, pg_error *error) {
  b->versions = 1;
  if (!json_is_array(at)) return parse_place(at, b, shared_bytes, &b->at[0], error);
  size_t n = json_array_size(at);
  if (n < 1 || n > PG_VERSION_MAX)
    return pg_fail(error, PG_RANGE, "\"at\": expected 1 to %d versions, got %zu", PG_VERSION_MAX,
                   n);
  pg_code code = PG_OK;
  b->versions = (int)n;
  for (size_t i = 0; !code && i < n; i++) {
    const json_t *value = json_array_get(at, i);
    b->at[i] = PG_BLANK;
    if (!json_is_null(value)) code = parse_place(value, b, shared_bytes, &b->at[i], error);
  }
  return code;
}

/* Where the contents come from: "at" or "fill", and neither for what is poisoned. */
static pg_code parse_contents(const json_t *spec, pg_buffer *b, size_t shared_bytes,
                              pg_error *error) {
  int64_t fill = -1;
  const json_t *at = json_object_get(spec, "at");
  bool placed = at && !json_is_null(at);
  pg_code code = pg_opt_integer(spec, "fill", 0, 255, &fill, error);
  if (code) return code;
  if (is_poisoned(b) && (placed || fill >= 0))
    return pg_fail(error, PG_INVALID,
                   "an output or scratch is poisoned: it has neither \"at\" nor \"fill\"");
  if (!is_poisoned(b) && placed == (fill >= 0))
    return pg_fail(error, PG_INVALID, "expected either \"at\" or \"fill\"");
  b->has_fill = fill >= 0;
  b->fill = (uint8_t)(fill >= 0 ? fill : 0);
  if (placed) code = parse_places(at, b, shared_bytes, error);
  if (!placed) b->versions = 1;
  return code;
}

static pg_code parse_buffer(const json_t *spec, pg_buffer *b, size_t shared_bytes,
                            pg_error *error) {
  const char *name = "";
  int64_t bytes = 0;
  pg_code code = pg_req_known(spec, "name bytes role at fill judged", error);
  if (!code) code = pg_req_string(spec, "name", &name, error);
  if (!code) code = pg_req_integer(spec, "bytes", 0, most_bytes, &bytes, error);
  if (!code) code = parse_role(spec, &b->role, error);
  if (!code) code = pg_opt_bool(spec, "judged", &b->judged, error);
  if (code) return code;
  if (!*name || strlen(name) >= sizeof b->name)
    return pg_fail(error, PG_RANGE, "\"name\": expected 1 to %zu bytes, got %zu",
                   sizeof b->name - 1, strlen(name));
  memcpy(b->name, name, strlen(name) + 1);
  b->bytes = (size_t)bytes;
  return parse_contents(spec, b, shared_bytes, error);
}

/* How many copies there are; a buffer's versions are 1 or as many as those of the others. */
static pg_code count_copies(pg_buffers *buffers, pg_buffer *b, int *versions, pg_error *error) {
  if (b->versions > 1 && *versions > 1 && b->versions != *versions)
    return pg_fail(error, PG_INVALID, "\"at\": %d versions, where buffers before have %d",
                   b->versions, *versions);
  if (b->versions > 1) *versions = b->versions;
  b->copies = b->role == PG_ROLE_INPUT     ? b->versions
              : b->role == PG_ROLE_SCRATCH ? 1
                                           : buffers->set_count;
  return PG_OK;
}

static bool name_taken(const pg_buffers *buffers, const char *name) {
  for (int i = 0; i < buffers->count; i++)
    if (strcmp(buffers->list[i].name, name) == 0) return true;
  return false;
}

static pg_code parse(pg_buffers *buffers, const json_t *request, size_t shared_bytes,
                     pg_error *error) {
  const json_t *list = NULL;
  int64_t sets = 0;
  int versions = 1;
  pg_code code = pg_req_integer(request, "sets", 1, PG_SET_MAX, &sets, error);
  if (!code) code = pg_req_list(request, "buffers", PG_BUFFER_MAX, &list, error);
  buffers->set_count = (int)sets;
  for (size_t i = 0; !code && i < json_array_size(list); i++) {
    pg_buffer *b = &buffers->list[i];
    code = parse_buffer(json_array_get(list, i), b, shared_bytes, error);
    if (!code && name_taken(buffers, b->name))
      code = pg_fail(error, PG_INVALID, "two buffers are called %s", b->name);
    if (!code) code = count_copies(buffers, b, &versions, error);
    if (code) {
      pg_where(error, "buffers[%zu]%s%s", i, *b->name ? " " : "", b->name);
      break;
    }
    buffers->zone_count += 2 * (size_t)b->copies;
    buffers->count++;
  }
  return code;
}

/* ---- memory ---- */

static bool has_master(const pg_buffer *b) {
  return b->role == PG_ROLE_STATE && !b->has_fill && b->bytes > 0;
}

static uint64_t bytes_needed(const pg_buffers *buffers) {
  uint64_t sum = buffers->zone_count * PG_ZONE;
  for (int i = 0; i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    uint64_t masters = has_master(b) ? (uint64_t)b->versions : 0;
    sum += (b->bytes + 2 * PG_ZONE) * (uint64_t)b->copies + b->bytes * masters;
  }
  return sum;
}

static pg_code too_much(const pg_buffers *buffers, const char *why, pg_error *error) {
  pg_fail(error, PG_MEMORY, "%d sets of %d buffers need %llu bytes of device memory: %s",
          buffers->set_count, buffers->count, (unsigned long long)bytes_needed(buffers), why);
  return pg_hint(error, "use smaller sizes or fewer sets");
}

static pg_code allocate(pg_buffers *buffers, size_t bytes, pg_ptr *out, uint64_t *sum,
                        pg_error *error) {
  pg_device *d = buffers->device;
  pg_code code = d->ops->alloc(d, bytes, out, error);
  if (code) *out = 0;
  if (code == PG_MEMORY) {
    char why[PG_MESSAGE_MAX];
    snprintf(why, sizeof why, "%llu were free and taken, then: %.1000s", (unsigned long long)*sum,
             error->message);
    return too_much(buffers, why, error);
  }
  *sum += bytes;
  return code;
}

/* One copy of a buffer with its zones; the data part gets the name that fault reports use. */
static pg_code allocate_copy(pg_buffers *buffers, pg_buffer *b, int copy, uint64_t *sum,
                             pg_error *error) {
  pg_device *d = buffers->device;
  pg_code code = allocate(buffers, b->bytes + 2 * PG_ZONE, &b->base[copy], sum, error);
  if (code) return code;
  return d->ops->name(d, b->base[copy] + PG_ZONE, b->bytes, b->name, b->role == PG_ROLE_INPUT,
                      error);
}

static pg_code allocate_all(pg_buffers *buffers, pg_error *error) {
  uint64_t sum = 0;
  size_t zones = buffers->zone_count * PG_ZONE;
  pg_code code = PG_OK;
  if (zones) {
    buffers->want = malloc(zones);
    buffers->got = malloc(zones);
    buffers->bounce = malloc(PG_BOUNCE);
    if (!buffers->want || !buffers->got || !buffers->bounce)
      return pg_fail(error, PG_MEMORY, "no host memory for %zu red zones", buffers->zone_count);
    code = allocate(buffers, zones, &buffers->bank, &sum, error);
  }
  for (int i = 0; !code && i < buffers->count; i++) {
    pg_buffer *b = &buffers->list[i];
    b->base = calloc((size_t)b->copies, sizeof *b->base);
    if (!b->base) return pg_fail(error, PG_MEMORY, "no host memory for buffer %s", b->name);
    for (int k = 0; !code && k < b->copies; k++) code = allocate_copy(buffers, b, k, &sum, error);
    for (int k = 0; !code && has_master(b) && k < b->versions; k++)
      code = allocate(buffers, b->bytes, &b->master[k], &sum, error);
  }
  return code;
}

/* Fill, or copy from shared memory, what a version of a buffer starts with. */
static pg_code set_contents(pg_buffers *buffers, const pg_buffer *b, int version, pg_ptr to,
                            const uint8_t *shared, pg_error *error) {
  pg_device *d = buffers->device;
  if (b->has_fill || b->at[version] == PG_BLANK)
    return d->ops->fill(d, to, b->fill, 1, b->bytes, buffers->stream, error);
  return d->ops->upload(d, to, shared + b->at[version], b->bytes, buffers->stream, error);
}

/* What does not change, an input or a master, and the hash that later says whether it did. */
static pg_code fill_constant(pg_buffers *buffers, pg_buffer *b, int version, const uint8_t *shared,
                             pg_error *error) {
  pg_ptr to = pg_buffers_constant(b, version);
  if (!to) return PG_OK;
  pg_code code = set_contents(buffers, b, version, to, shared, error);
  if (!code) code = pg_guard_hash(buffers, to, b->bytes, &b->hash[version], error);
  return code;
}

static pg_code fill_constants(pg_buffers *buffers, const uint8_t *shared, pg_error *error) {
  pg_code code = PG_OK;
  for (int i = 0; !code && i < buffers->count; i++) {
    pg_buffer *b = &buffers->list[i];
    for (int k = 0; !code && k < b->versions; k++)
      code = fill_constant(buffers, b, k, shared, error);
    if (code) pg_where(error, "%s", b->name);
  }
  return code;
}

/* One item of a renewal. */
static pg_code renew(pg_buffers *buffers, const json_t *item, int version, const uint8_t *shared,
                     size_t shared_bytes, pg_error *error) {
  int64_t index = 0;
  size_t at = 0;
  pg_code code = pg_req_known(item, "index at", error);
  if (!code) code = pg_req_integer(item, "index", 0, buffers->count - 1, &index, error);
  if (code) return code;
  pg_buffer *b = &buffers->list[index];
  if (is_poisoned(b) || b->has_fill || version >= b->versions)
    return pg_fail(error, PG_INVALID, "%s has no contents of version %d", b->name, version);
  code = parse_place(json_object_get(item, "at"), b, shared_bytes, &at, error);
  if (code) return code;
  b->at[version] = at;
  return fill_constant(buffers, b, version, shared, error);
}

pg_code pg_buffers_renew(pg_buffers *buffers, const json_t *request, const uint8_t *shared,
                         size_t shared_bytes, pg_error *error) {
  int64_t version = 0;
  const json_t *list = NULL;
  pg_code code = pg_req_integer(request, "version", 0, PG_VERSION_MAX - 1, &version, error);
  if (!code) code = pg_req_list(request, "buffers", PG_BUFFER_MAX, &list, error);
  for (size_t i = 0; !code && i < json_array_size(list); i++) {
    code = renew(buffers, json_array_get(list, i), (int)version, shared, shared_bytes, error);
    if (code) pg_where(error, "buffers[%zu]", i);
  }
  return code;
}

pg_code pg_buffers_make(pg_buffers *out, pg_device *device, pg_stream *stream, pg_digest *digest,
                        const json_t *request, const uint8_t *shared, size_t shared_bytes,
                        pg_error *error) {
  pg_device_info info = {0};
  *out = (pg_buffers){.device = device, .stream = stream, .digest = digest};
  pg_code code = parse(out, request, shared_bytes, error);
  if (!code) code = device->ops->info(device, &info, error);
  if (!code && info.memory_bytes && bytes_needed(out) > info.memory_bytes) {
    char why[128];
    snprintf(why, sizeof why, "%s has %zu in all", info.spec, info.memory_bytes);
    code = too_much(out, why, error);
  }
  if (!code) code = pg_guard_key(out->key, error);
  if (!code) code = allocate_all(out, error);
  if (!code) code = fill_constants(out, shared, error);
  if (code) pg_buffers_free(out);
  return code;
}

/* ---- elsewhere ---- */

/* The same description, with memory of its own. */
static pg_code allocate_as(pg_buffers *to, const pg_buffers *from, pg_error *error) {
  *to = *from;
  to->bank = 0;
  to->want = to->got = to->bounce = NULL;
  for (int i = 0; i < to->count; i++) {
    to->list[i].base = NULL;
    memset(to->list[i].master, 0, sizeof to->list[i].master);
  }
  return allocate_all(to, error);
}

/* What is in the memory of `from`, zones and all. */
static pg_code copy_all(pg_buffers *to, const pg_buffers *from, pg_error *error) {
  pg_device *d = to->device;
  pg_code code = PG_OK;
  if (to->zone_count) memcpy(to->want, from->want, to->zone_count * PG_ZONE);
  for (int i = 0; !code && i < to->count; i++) {
    const pg_buffer *b = &to->list[i], *old = &from->list[i];
    size_t whole = b->bytes + 2 * PG_ZONE;
    for (int k = 0; !code && k < b->copies; k++)
      code = d->ops->copy(d, b->base[k], old->base[k], whole, to->stream, error);
    for (int k = 0; !code && has_master(b) && k < b->versions; k++)
      code = d->ops->copy(d, b->master[k], old->master[k], b->bytes, to->stream, error);
  }
  return code;
}

/* An answer that stayed behind could be read by the next launch. */
static pg_code wipe(pg_buffers *buffers, pg_error *error) {
  pg_device *d = buffers->device;
  pg_stream *s = buffers->stream;
  size_t zones = buffers->zone_count * PG_ZONE;
  pg_code code = zones ? d->ops->fill(d, buffers->bank, 0, 1, zones, s, error) : PG_OK;
  for (int i = 0; !code && i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    for (int k = 0; !code && k < b->copies; k++)
      code = d->ops->fill(d, b->base[k], 0, 1, b->bytes + 2 * PG_ZONE, s, error);
    for (int k = 0; !code && has_master(b) && k < b->versions; k++)
      code = d->ops->fill(d, b->master[k], 0, 1, b->bytes, s, error);
  }
  return code ? code : d->ops->stream_sync(d, s, error);
}

pg_code pg_buffers_move(pg_buffers *buffers, size_t most, pg_error *error) {
  if (bytes_needed(buffers) > most) return PG_OK;
  pg_buffers *moved = malloc(sizeof *moved);
  if (!moved) return pg_fail(error, PG_MEMORY, "no memory to move buffers");
  pg_code code = allocate_as(moved, buffers, error);
  bool full = code == PG_MEMORY;
  if (!code) code = copy_all(moved, buffers, error);
  if (!code) code = wipe(buffers, error);
  pg_buffers_free(code ? moved : buffers);
  if (!code) *buffers = *moved;
  free(moved);
  return full ? PG_OK : code;
}

/* Errors are of no interest here: after a fault a GPU frees nothing, and the process ends soon. */
void pg_buffers_free(pg_buffers *buffers) {
  pg_device *d = buffers->device;
  if (!d) return;
  d->ops->free(d, buffers->bank, NULL);
  for (int i = 0; i < PG_BUFFER_MAX; i++) {
    pg_buffer *b = &buffers->list[i];
    for (int k = 0; b->base && k < b->copies; k++) d->ops->free(d, b->base[k], NULL);
    for (int k = 0; k < PG_VERSION_MAX; k++) d->ops->free(d, b->master[k], NULL);
    free(b->base);
  }
  free(buffers->want);
  free(buffers->got);
  free(buffers->bounce);
  *buffers = (pg_buffers){0};
}

/* ---- use ---- */

pg_ptr pg_buffers_at(const pg_buffers *buffers, int index, int set) {
  const pg_buffer *b = &buffers->list[index];
  return b->base[set % b->copies] + PG_ZONE;
}

pg_ptr pg_buffers_constant(const pg_buffer *b, int version) {
  if (b->bytes == 0) return 0;
  return b->role == PG_ROLE_INPUT ? b->base[version] + PG_ZONE : b->master[version];
}

/* Bytes past the last whole pattern get its first bytes, one by one. */
static pg_code poison_bytes(pg_buffers *buffers, pg_ptr to, size_t bytes, uint32_t poison,
                            pg_error *error) {
  pg_device *d = buffers->device;
  size_t whole = bytes / 4;
  pg_code code = PG_OK;
  if (whole) code = d->ops->fill(d, to, poison, 4, whole, buffers->stream, error);
  for (size_t i = 0; !code && i < bytes % 4; i++)
    code =
        d->ops->fill(d, to + 4 * whole + i, poison >> (8 * i) & 0xFF, 1, 1, buffers->stream, error);
  if (!code && d->ops->forget) code = d->ops->forget(d, to, bytes, error);
  return code;
}

pg_code pg_buffers_reset(pg_buffers *buffers, int set, uint32_t poison, pg_error *error) {
  pg_device *d = buffers->device;
  pg_code code = PG_OK;
  for (int i = 0; !code && i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    pg_ptr to = pg_buffers_at(buffers, i, set);
    if (b->role == PG_ROLE_INPUT || b->bytes == 0) continue;
    if (is_poisoned(b))
      code = poison_bytes(buffers, to, b->bytes, poison, error);
    else if (!b->has_fill)
      code = d->ops->copy(d, to, b->master[set % b->versions], b->bytes, buffers->stream, error);
    else
      code = d->ops->fill(d, to, b->fill, 1, b->bytes, buffers->stream, error);
  }
  return code;
}

pg_code pg_buffers_digest(pg_buffers *buffers, pg_digest *digest, size_t slot, int set,
                          pg_error *error) {
  pg_code code = PG_OK;
  for (int i = 0; !code && i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    if (!b->judged) continue;
    code = pg_digest_add(digest, slot, (uint64_t)i, pg_buffers_at(buffers, i, set), b->bytes,
                         buffers->stream, error);
  }
  return code;
}

pg_code pg_buffers_keep(pg_buffers *buffers, int to, int set, pg_digest *digest, size_t slot,
                        uint64_t right, pg_error *error) {
  pg_device *d = buffers->device;
  pg_code code = PG_OK;
  for (int i = 0; !code && i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    bool own = b->role == PG_ROLE_STATE || b->role == PG_ROLE_OUTPUT;
    pg_ptr here = pg_buffers_at(buffers, i, set), there = pg_buffers_at(buffers, i, to);
    if (!own || b->bytes == 0 || here == there) continue;
    if (digest)
      code = pg_digest_keep(digest, slot, right, there, here, b->bytes, buffers->stream, error);
    else
      code = d->ops->copy(d, there, here, b->bytes, buffers->stream, error);
  }
  return code;
}

pg_code pg_buffers_touch(pg_buffers *buffers, pg_digest *digest, int set, pg_ptr to, size_t bytes,
                         pg_error *error) {
  pg_device *d = buffers->device;
  pg_code code = PG_OK;
  for (int i = 0; !code && i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    size_t n = b->bytes < bytes ? b->bytes : bytes;
    if (b->role != PG_ROLE_INPUT || n == 0) continue;
    pg_ptr from = pg_buffers_at(buffers, i, set);
    if (pg_digest_runs(digest))
      code = pg_digest_touch(digest, from, b->bytes, buffers->stream, error);
    else
      code = d->ops->copy(d, to, from, n, buffers->stream, error);
  }
  return code;
}

pg_code pg_buffers_hide_inputs(pg_buffers *buffers, uint32_t poison, pg_error *error) {
  pg_code code = PG_OK;
  for (int i = 0; !code && i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    if (b->role != PG_ROLE_INPUT || b->bytes == 0) continue;
    for (int k = 0; !code && k < b->versions; k++)
      code = poison_bytes(buffers, pg_buffers_constant(b, k), b->bytes, poison, error);
  }
  return code;
}

pg_code pg_buffers_show_inputs(pg_buffers *buffers, const uint8_t *shared, size_t shared_bytes,
                               pg_error *error) {
  pg_code code = PG_OK;
  for (int i = 0; !code && i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    if (b->role != PG_ROLE_INPUT || b->bytes == 0) continue;
    for (int k = 0; !code && k < b->versions; k++) {
      if (!b->has_fill && b->at[k] != PG_BLANK &&
          (b->at[k] > shared_bytes || b->bytes > shared_bytes - b->at[k]))
        return pg_fail(error, PG_RANGE, "the contents of %s are no longer in shared memory",
                       b->name);
      code = set_contents(buffers, b, k, pg_buffers_constant(b, k), shared, error);
    }
  }
  return code;
}

pg_code pg_buffers_read(pg_buffers *buffers, int index, int set, void *to, pg_error *error) {
  pg_device *d = buffers->device;
  size_t bytes = buffers->list[index].bytes;
  if (bytes == 0) return PG_OK;
  pg_code code =
      d->ops->download(d, to, pg_buffers_at(buffers, index, set), bytes, buffers->stream, error);
  if (!code) code = d->ops->stream_sync(d, buffers->stream, error);
  return code;
}
