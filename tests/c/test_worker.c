/* Workers as the judge uses them, over the simulator and, where it is found, NVRTC: from a kernel's
 * text to its outputs, and from its faults to what the judge is told. This program is its own
 * worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <cmocka.h>

#include "judge/worker.h"

enum { N = 1000, MEMORY = 1 << 16, AT_Y = 8192, AT_BACK = 16384 };

static const char ptx[] =
    ".version 7.8\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .f32 %f<5>;\n"
    "  .reg .b32 %r<6>;\n"
    "  .reg .b64 %rd<8>;\n"
    "  ld.param.u64 %rd1, [y];\n"
    "  ld.param.u64 %rd2, [x];\n"
    "  ld.param.f32 %f1, [a];\n"
    "  ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %ctaid.x;\n"
    "  mov.u32 %r3, %ntid.x;\n"
    "  mov.u32 %r4, %tid.x;\n"
    "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "  setp.ge.s32 %p1, %r5, %r1;\n"
    "  @%p1 bra DONE;\n"
    "  mul.wide.s32 %rd5, %r5, 4;\n"
    "  add.s64 %rd6, %rd1, %rd5;\n"
    "  add.s64 %rd7, %rd2, %rd5;\n"
    "  ld.global.f32 %f2, [%rd7];\n"
    "  ld.global.f32 %f3, [%rd6];\n"
    "  fma.rn.f32 %f4, %f1, %f2, %f3;\n"
    "  st.global.f32 [%rd6], %f4;\n"
    "DONE:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry spin()\n"
    "{\n"
    "L:\n"
    "  bra L;\n"
    "}\n"
    ".visible .entry stop()\n"
    "{\n"
    "  trap;\n"
    "}\n";

static const char cuda[] =
    "extern \"C\" __global__ void saxpy(float *y, const float *x, float a, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

/* ---- asking ---- */

static json_t *ask(pg_worker *w, json_t *request) {
  char *text = json_dumps(request, 0), *reply;
  pg_error error = {0};
  if (pg_worker_call(w, text, 120, &reply, &error)) fail_msg("%s", error.message);
  json_t *json = json_loads(reply, 0, NULL);
  assert_non_null(json);
  free(reply);
  free(text);
  json_decref(request);
  return json;
}

static void good(json_t *reply) {
  char *text = json_dumps(reply, 0);
  if (!json_is_true(json_object_get(reply, "ok"))) fail_msg("%s", text);
  free(text);
  json_decref(reply);
}

static pg_worker *runner(const char *image) {
  pg_worker *w;
  pg_error error = {0};
  assert_int_equal(pg_worker_spawn("runner", &w, &error), PG_OK);
  good(ask(w, json_pack("{s:s,s:s,s:f}", "op", "open", "device", "sim:check", "limit_s", 0.5)));
  good(ask(w, json_pack("{s:s,s:s}", "op", "load", "image", image)));
  assert_int_equal(pg_worker_share(w, MEMORY, &error), PG_OK);
  float *x = pg_worker_memory(w, NULL), *y = x + AT_Y / 4;
  for (int i = 0; i < N; i++) {
    x[i] = (float)i;
    y[i] = 1.0f;
  }
  good(ask(w, json_pack("{s:s,s:i,s:[{s:s,s:i,s:s,s:i},{s:s,s:i,s:s,s:i},{s:s,s:i,s:s}]}", "op",
                        "buffers", "sets", 2, "buffers", "name", "x", "bytes", 4 * N, "role",
                        "input", "at", 0, "name", "y", "bytes", 4 * N, "role", "state", "at", AT_Y,
                        "name", "none", "bytes", 0, "role", "output")));
  return w;
}

/* y of set 1 = 2.5 x + the buffer `to`, for n elements. */
static json_t *run(pg_worker *w, const char *kernel, int to, int n) {
  json_t *args = strcmp(kernel, "saxpy") == 0 ? json_pack("[{s:i},{s:i},{s:f},{s:i}]", "buffer", to,
                                                          "buffer", 0, "f", 2.5, "i", n)
                                              : json_array();
  return ask(w,
             json_pack("{s:s,s:i,s:i,s:[{s:s,s:[i],s:[i],s:o}]}", "op", "run", "set", 1, "poison",
                       7, "plan", "launch", kernel, "grid", 5, "block", 256, "args", args));
}

static void check_result(pg_worker *w) {
  good(ask(w, json_pack("{s:s,s:i,s:[{s:i,s:i}]}", "op", "read", "set", 1, "buffers", "index", 1,
                        "at", AT_BACK)));
  const float *y = (const float *)pg_worker_memory(w, NULL) + AT_BACK / 4;
  for (int i = 0; i < N; i++) assert_true(y[i] == 2.5f * (float)i + 1.0f);
}

/* The run stops with a fault of that kind whose text contains `words`. */
static void faults(json_t *reply, const char *kind, const char *words) {
  json_t *fault = json_object_get(reply, "fault");
  assert_non_null(fault);
  assert_string_equal(json_string_value(json_object_get(fault, "kind")), kind);
  const char *text = json_string_value(json_object_get(fault, "text"));
  if (!strstr(text, words)) fail_msg("\"%s\" lacks \"%s\"", text, words);
  json_decref(reply);
}

/* ---- tests ---- */

static void a_kernel_runs_and_its_outputs_come_back(void **state) {
  (void)state;
  pg_worker *w = runner(ptx);
  json_t *reply = run(w, "saxpy", 1, N);
  assert_true(json_is_null(json_object_get(reply, "canary")));
  assert_false(json_boolean_value(json_object_get(reply, "gpu_clock")));
  good(reply);
  check_result(w);
  pg_worker_free(w);
}

static void a_fault_names_the_array_it_missed_and_the_runner_goes_on(void **state) {
  (void)state;
  pg_worker *w = runner(ptx);
  faults(run(w, "saxpy", 1, N + 1), "out_of_bounds", "past the end of x (4000 bytes)");
  faults(run(w, "saxpy", 0, 1), "read_only", "x");
  faults(run(w, "saxpy", 2, 1), "out_of_bounds", "thread (0, 0, 0)");
  faults(run(w, "stop", 0, 0), "trap", "trap");
  faults(run(w, "spin", 0, 0), "timeout", "spin");
  good(run(w, "saxpy", 1, N));
  check_result(w);
  pg_worker_free(w);
}

static void timed_samples_are_wall_time_and_say_so(void **state) {
  (void)state;
  static const char *methods[] = {"cold", "hot", "batch"};
  pg_worker *w = runner(ptx);
  for (int i = 0; i < 3; i++) {
    json_t *reply = ask(
        w, json_pack("{s:s,s:s,s:[i,i],s:i,s:i,s:[{s:s,s:[i],s:[i],s:[{s:i},{s:i},{s:f},{s:i}]}]}",
                     "op", "time", "method", methods[i], "sets", 0, 1, "batch", 2, "warmup", 1,
                     "plan", "launch", "saxpy", "grid", 5, "block", 256, "args", "buffer", 1,
                     "buffer", 0, "f", 2.5, "i", N));
    json_t *us = json_object_get(reply, "us");
    assert_int_equal(json_array_size(us), i == 2 ? 1 : 2);
    assert_true(json_real_value(json_array_get(us, 0)) > 0);
    assert_true(json_is_false(json_object_get(reply, "gpu_clock")));
    good(reply);
    check_result(w); /* from fresh state, however often the set was used */
  }
  pg_worker_free(w);
}

static json_t *compile(pg_worker *w, const char *source) {
  return ask(w, json_pack("{s:s,s:s,s:s,s:b}", "op", "compile", "source", source, "name", "s.cu",
                          "cache", 0));
}

static void cuda_goes_through_both_workers(void **state) {
  (void)state;
  pg_worker *c;
  pg_error error = {0};
  assert_int_equal(pg_worker_spawn("compiler", &c, &error), PG_OK);
  json_t *reply = compile(c, cuda);
  json_t *e = json_object_get(reply, "error");
  if (e && strcmp(json_string_value(json_object_get(e, "code")), "environment") == 0) {
    json_decref(reply);
    pg_worker_free(c);
    skip(); /* no NVRTC on this machine */
  }
  pg_worker *w = runner(json_string_value(json_object_get(reply, "ptx")));
  good(reply);
  good(run(w, "saxpy", 1, N));
  check_result(w);
  pg_worker_free(w);
  reply = compile(c, "__global__ void f() {\n  undeclared = 1;\n}\n");
  e = json_object_get(reply, "error");
  assert_string_equal(json_string_value(json_object_get(e, "code")), "compile_error");
  assert_string_equal(json_string_value(json_object_get(e, "where")), "s.cu:2");
  assert_non_null(strstr(json_string_value(json_object_get(reply, "log")), "undeclared"));
  json_decref(reply);
  pg_worker_free(c);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--worker") == 0) return pg_worker_main(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_kernel_runs_and_its_outputs_come_back),
      cmocka_unit_test(a_fault_names_the_array_it_missed_and_the_runner_goes_on),
      cmocka_unit_test(timed_samples_are_wall_time_and_say_so),
      cmocka_unit_test(cuda_goes_through_both_workers),
  };
  return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
