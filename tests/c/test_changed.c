/* Large states are read back chunk by chunk: what arrives must be what a plain download gives,
 * whatever was touched, whatever the destination held before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "judge/changed.h"

enum { BYTES = PG_CHANGED_LEAST + 12345, SETS = 2 };

typedef struct bench {
  pg_device *device;
  pg_stream *stream;
  pg_buffers buffers;
  pg_changed changed;
  uint8_t *got, *plain;
  pg_error error;
} bench;

static void ok(const bench *b, pg_code code) {
  if (code) fail_msg("%s: %s", pg_code_name(code), b->error.message);
}

/* Three states: filled with 0, with 255, and one too small to be looked at. */
static void make(bench *b) {
  json_t *request = json_pack(
      "{s:i,s:[{s:s,s:i,s:s,s:i},{s:s,s:i,s:s,s:i},{s:s,s:i,s:s,s:i}]}", "sets", SETS, "buffers",
      "name", "zero", "bytes", BYTES, "role", "state", "fill", 0, "name", "ones", "bytes", BYTES,
      "role", "state", "fill", 255, "name", "small", "bytes", 100000, "role", "state", "fill", 0);
  ok(b, pg_buffers_make(&b->buffers, b->device, b->stream, NULL, request, NULL, 0, &b->error));
  json_decref(request);
  for (int set = 0; set < SETS; set++) ok(b, pg_buffers_reset(&b->buffers, set, 0, &b->error));
}

static int setup(void **state) {
  bench *b = calloc(1, sizeof *b);
  *state = b;
  ok(b, pg_device_open("sim", &b->device, &b->error));
  ok(b, b->device->ops->stream_new(b->device, &b->stream, &b->error));
  b->got = calloc(1, BYTES);
  b->plain = malloc(BYTES);
  pg_changed_need(&b->changed, b->device);
  assert_non_null(b->changed.kernel);
  make(b);
  return 0;
}

static int teardown(void **state) {
  bench *b = *state;
  pg_changed_free(&b->changed);
  pg_buffers_free(&b->buffers);
  b->device->ops->stream_free(b->device, b->stream);
  pg_device_close(b->device);
  free(b->got);
  free(b->plain);
  free(b);
  return 0;
}

static void touch(bench *b, int index, int set, size_t at, size_t bytes, uint32_t value) {
  ok(b, b->device->ops->fill(b->device, pg_buffers_at(&b->buffers, index, set) + at, value, 1,
                             bytes, b->stream, &b->error));
}

static void same(bench *b, int index, int set) {
  const size_t bytes = b->buffers.list[index].bytes;
  ok(b, pg_changed_read(&b->changed, &b->buffers, index, set, b->got, &b->error));
  ok(b, pg_buffers_read(&b->buffers, index, set, b->plain, &b->error));
  assert_memory_equal(b->got, b->plain, bytes);
}

static void what_was_touched_arrives(void **state) {
  bench *b = *state;
  pg_changed_reset(&b->changed, true);
  same(b, 0, 0);
  touch(b, 0, 0, 0, 1, 7);
  touch(b, 0, 0, 3 * PG_CHANGED_CHUNK - 1, 2, 8); /* the last byte of one, the first of the next */
  touch(b, 0, 0, BYTES - 1, 1, 9);                /* behind the last whole chunk */
  same(b, 0, 0);
  assert_int_equal(b->got[3 * PG_CHANGED_CHUNK], 8);
  assert_int_equal(b->got[BYTES - 1], 9);
}

/* A chunk that was other in the set read before holds the fill again. */
static void what_another_set_held_goes(void **state) {
  bench *b = *state;
  pg_changed_reset(&b->changed, true);
  touch(b, 1, 0, 5 * PG_CHANGED_CHUNK, 100, 1);
  touch(b, 1, 1, 9 * PG_CHANGED_CHUNK, 100, 2);
  same(b, 1, 0);
  same(b, 1, 1);
  assert_int_equal(b->got[5 * PG_CHANGED_CHUNK], 255);
  same(b, 1, 0);
}

static void nothing_is_assumed_of_a_used_destination(void **state) {
  bench *b = *state;
  memset(b->got, 3, BYTES);
  pg_changed_reset(&b->changed, false);
  same(b, 0, 0);
}

/* Only what differs is transferred: the rest of the destination is left alone. */
static void what_is_as_it_was_is_not_transferred(void **state) {
  bench *b = *state;
  pg_changed_reset(&b->changed, true);
  touch(b, 0, 0, 0, 1, 7);
  b->got[PG_CHANGED_CHUNK] = 77;
  ok(b, pg_changed_read(&b->changed, &b->buffers, 0, 0, b->got, &b->error));
  assert_int_equal(b->got[0], 7);
  assert_int_equal(b->got[PG_CHANGED_CHUNK], 77);
  same(b, 2, 0); /* small ones are */
}

int main(void) {
#define ON_SIM(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
  const struct CMUnitTest tests[] = {
      ON_SIM(what_was_touched_arrives),
      ON_SIM(what_another_set_held_goes),
      ON_SIM(nothing_is_assumed_of_a_used_destination),
      ON_SIM(what_is_as_it_was_is_not_transferred),
  };
  return cmocka_run_group_tests_name("changed", tests, NULL, NULL);
}
