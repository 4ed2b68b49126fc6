/* A runner over the fake device, and how the tests of its requests talk to it: JSON written with '
 * for ". */
#ifndef BENCH_H
#define BENCH_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_device.h"
#include "judge/request.h"
#include "judge/runner.h"

enum { SHARED = 1 << 16 };

typedef struct bench {
  pg_runner *runner;
  uint8_t shared[SHARED];
} bench;

/* ---- asking ---- */

/* Send a request written with ' for ", and give its reply. */
static json_t *ask(bench *b, const char *format, ...) {
  char text[16384];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  assert_in_range(n, 1, sizeof text - 1);
  for (char *c = text; *c; c++)
    if (*c == '\'') *c = '"';
  json_t *request = json_loads(text, 0, NULL);
  assert_non_null(request);
  json_t *reply = pg_runner_handle(b->runner, request);
  json_decref(request);
  assert_non_null(reply);
  return reply;
}

static const char *error_field(const json_t *reply, const char *key) {
  return json_string_value(json_object_get(json_object_get(reply, "error"), key));
}

static void good(json_t *reply) {
  if (!json_is_true(json_object_get(reply, "ok")))
    print_error("%s\n", error_field(reply, "message"));
  assert_true(json_is_true(json_object_get(reply, "ok")));
  json_decref(reply);
}

/* The reply is an error with that code, whose message contains `words`. */
static void bad(json_t *reply, const char *code, const char *words) {
  assert_true(json_is_false(json_object_get(reply, "ok")));
  assert_string_equal(error_field(reply, "code"), code);
  if (!strstr(error_field(reply, "message"), words))
    print_error("\"%s\" lacks \"%s\"\n", error_field(reply, "message"), words);
  assert_non_null(strstr(error_field(reply, "message"), words));
  json_decref(reply);
}

static fake *device(bench *b) {
  return fake_of(b->runner->device);
}

static bench *new_bench(const char *spec) {
  bench *b = calloc(1, sizeof *b);
  assert_non_null(b);
  b->runner = pg_runner_new(fake_open);
  assert_non_null(b->runner);
  pg_runner_share(b->runner, b->shared, SHARED);
  good(ask(b, "{'op':'open','device':'%s','limit_s':20}", spec));
  good(ask(b, "{'op':'load','image':'fake','name':'x.cu'}"));
  return b;
}

/* Everything that the runner made is gone when its device closes. */
static void free_bench(bench *b) {
  fake *f = device(b);
  assert_int_equal(f->violations, 0);
  good(ask(b, "{'op':'load','image':'fake'}"));
  good(ask(b, "{'op':'buffers','sets':1,'buffers':[]}"));
  assert_int_equal(f->live_blocks, 0);
  assert_int_equal(f->live_graphs, 0);
  assert_int_equal(f->live_events, 0);
  pg_runner_free(b->runner);
  free(b);
}

__attribute__((unused)) static int setup(void **state) {
  *state = new_bench("fake");
  return 0;
}

__attribute__((unused)) static int setup_gpu(void **state) {
  *state = new_bench("fake:gpu");
  return 0;
}

__attribute__((unused)) static int teardown(void **state) {
  free_bench(*state);
  return 0;
}

/* x: input of 8 floats at 0; t: state of 8 floats at 64; z: state of 3 bytes 0x5A; y: output of 7
 * bytes. */
__attribute__((unused)) static void make_buffers(bench *b, int sets) {
  float *x = (float *)b->shared, *t = (float *)(b->shared + 64);
  for (int i = 0; i < 8; i++) {
    x[i] = (float)i;
    t[i] = 100.0f * (float)i;
  }
  good(ask(b,
           "{'op':'buffers','sets':%d,'buffers':[{'name':'x','bytes':32,'role':'input','at':0},"
           "{'name':'t','bytes':32,'role':'state','at':64},{'name':'z','bytes':3,'role':'state','"
           "fill':90},"
           "{'name':'y','bytes':7,'role':'output'}]}",
           sets));
}

static const char saxpy[] = "{'launch':'saxpy','grid':[1,1,1],'block':[8,1,1],'args':"
                            "[{'buffer':1},{'buffer':0},{'f':2.5},{'i':8}]}";

#endif
