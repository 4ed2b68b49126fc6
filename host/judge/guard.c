/* Red zones and hashes: how a write outside the buffers, or to an input, is found after a run.
 * All zones travel through one bank on the device, so that arming and checking cost one transfer
 * each. */
#include "guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "../rng.h"

/* ---- hash ---- */

pg_code pg_guard_key(uint64_t key[2], pg_error *error) {
  if (getrandom(key, 2 * sizeof *key, 0) == 2 * sizeof *key) return PG_OK;
  return pg_fail(error, PG_ENVIRONMENT, "no random bytes: %s", strerror(errno));
}

static uint64_t fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* 16 bytes a step, multiplied and folded; the key is secret, so no kernel can aim at a collision.
 */
static uint64_t hash_more(const uint64_t key[2], uint64_t h, const uint8_t *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 16) {
    uint64_t w[2] = {0, 0};
    memcpy(w, data + i, bytes - i < 16 ? bytes - i : 16);
    h = fold(w[0] ^ key[0] ^ h, w[1] ^ key[1]) + (h << 23 | h >> 41);
  }
  return h;
}

pg_code pg_guard_hash(pg_buffers *b, pg_ptr from, size_t bytes, uint64_t *hash, pg_error *error) {
  pg_device *d = b->device;
  uint64_t h = bytes;
  if (b->digest) return pg_digest_of(b->digest, from, bytes, hash, b->stream, error);
  for (size_t done = 0; done < bytes;) {
    size_t n = bytes - done < PG_BOUNCE ? bytes - done : PG_BOUNCE;
    pg_code code = d->ops->download(d, b->bounce, from + done, n, b->stream, error);
    if (!code) code = d->ops->stream_sync(d, b->stream, error);
    if (code) return code;
    h = hash_more(b->key, h, b->bounce, n);
    done += n;
  }
  *hash = h;
  return PG_OK;
}

/* ---- red zones ---- */

/* Canary bytes of one zone: Philox words whose counter names the zone, so that no two zones are
 * alike. */
static void draw_zone(uint8_t *to, size_t zone, uint64_t seed) {
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  for (uint32_t i = 0; i < PG_ZONE / 16; i++) {
    const uint32_t counter[4] = {i, (uint32_t)zone, 0x72656421U, 0x7a6f6e65U};
    uint32_t words[4];
    pg_philox4x32(counter, key, words);
    memcpy(to + 16 * i, words, 16);
  }
}

/* Copy every zone from the bank, or to it. */
static pg_code move_zones(pg_buffers *buffers, bool to_bank, pg_error *error) {
  pg_device *d = buffers->device;
  pg_ptr bank = buffers->bank;
  for (int i = 0; i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    for (int k = 0; k < 2 * b->copies; k++, bank += PG_ZONE) {
      pg_ptr zone = b->base[k / 2] + (k % 2 ? PG_ZONE + b->bytes : 0);
      pg_code code = d->ops->copy(d, to_bank ? bank : zone, to_bank ? zone : bank, PG_ZONE,
                                  buffers->stream, error);
      if (code) return code;
    }
  }
  return PG_OK;
}

pg_code pg_buffers_arm(pg_buffers *buffers, uint64_t seed, pg_error *error) {
  pg_device *d = buffers->device;
  if (buffers->zone_count == 0) return PG_OK;
  for (size_t i = 0; i < buffers->zone_count; i++) draw_zone(buffers->want + i * PG_ZONE, i, seed);
  pg_code code = d->ops->upload(d, buffers->bank, buffers->want, buffers->zone_count * PG_ZONE,
                                buffers->stream, error);
  if (!code) code = move_zones(buffers, false, error);
  return code;
}

/* Distance of the changed byte that is nearest to the buffer, or -1: zones before it are read
 * backwards. */
static long nearest_change(const uint8_t *want, const uint8_t *got, bool before) {
  if (memcmp(want, got, PG_ZONE) == 0) return -1;
  for (long i = 0; i < PG_ZONE; i++) {
    long at = before ? PG_ZONE - 1 - i : i;
    if (want[at] != got[at]) return before ? i + 1 : i;
  }
  return -1;
}

static json_t *canary(const pg_buffer *b, int set, const char *side, long offset,
                      const char *text) {
  return json_pack("{s:s,s:i,s:s,s:I,s:s}", "buffer", b->name, "set", set, "side", side, "offset",
                   (json_int_t)offset, "text", text);
}

static json_t *zone_report(const pg_buffer *b, int set, bool before, long offset) {
  char text[256];
  if (before)
    snprintf(text, sizeof text, "the byte %ld before the start of %s was overwritten", offset,
             b->name);
  else
    snprintf(text, sizeof text, "%s ends at %zu bytes, and its byte %zu was overwritten", b->name,
             b->bytes, b->bytes + (size_t)offset);
  return canary(b, set, before ? "before" : "after", offset, text);
}

/* The first zone that changed, or NULL. */
static json_t *check_zones(const pg_buffers *buffers) {
  const uint8_t *want = buffers->want, *got = buffers->got;
  for (int i = 0; i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    for (int k = 0; k < 2 * b->copies; k++, want += PG_ZONE, got += PG_ZONE) {
      bool before = k % 2 == 0;
      long offset = nearest_change(want, got, before);
      if (offset >= 0) return zone_report(b, k / 2, before, offset);
    }
  }
  return NULL;
}

static pg_code read_zones(pg_buffers *buffers, pg_error *error) {
  pg_device *d = buffers->device;
  if (buffers->zone_count == 0) return PG_OK;
  pg_code code = move_zones(buffers, true, error);
  if (!code)
    code = d->ops->download(d, buffers->got, buffers->bank, buffers->zone_count * PG_ZONE,
                            buffers->stream, error);
  if (!code) code = d->ops->stream_sync(d, buffers->stream, error);
  return code;
}

/* Whether any version of what must not change did. */
static pg_code has_changed(pg_buffers *buffers, const pg_buffer *b, bool *changed,
                           pg_error *error) {
  pg_code code = PG_OK;
  *changed = false;
  for (int k = 0; !code && k < b->versions; k++) {
    uint64_t hash = b->hash[k];
    pg_ptr from = pg_buffers_constant(b, k);
    if (from) code = pg_guard_hash(buffers, from, b->bytes, &hash, error);
    *changed = *changed || hash != b->hash[k];
  }
  return code;
}

json_t *pg_others_memory(const char *name) {
  const char *text = "memory that belongs to no buffer was overwritten";
  return json_pack("{s:s,s:i,s:s,s:i,s:s}", "buffer", name, "set", 0, "side", "master", "offset", 0,
                   "text", text);
}

pg_code pg_buffers_verify(pg_buffers *buffers, const pg_globals *globals, json_t *reply,
                          pg_error *error) {
  json_t *changed = json_array();
  bool is_other = false;
  pg_code code = read_zones(buffers, error);
  json_t *found = code ? NULL : check_zones(buffers);
  if (!code) code = pg_globals_changed(globals, &is_other, error);
  if (is_other && !found) found = pg_others_memory("variables");
  for (int i = 0; !code && i < buffers->count; i++) {
    const pg_buffer *b = &buffers->list[i];
    code = has_changed(buffers, b, &is_other, error);
    if (code || !is_other) continue;
    if (b->role == PG_ROLE_INPUT)
      json_array_append_new(changed, json_string(b->name));
    else if (!found)
      found = pg_others_memory(b->name);
  }
  json_object_set_new(reply, "canary", found ? found : json_null());
  json_object_set_new(reply, "inputs_changed", changed);
  return code;
}
