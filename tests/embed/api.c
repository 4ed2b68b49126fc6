/* The C API through the installed library: each test prints `ok - NAME`. Argument: saxpy.cu.
 * Misuse must give an error that names the function and the argument, never a crash. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <perigee.h>

static pg_error *error;
static int bad; /* tests that failed */

static void say(const char *name, int good) {
  bad += !good;
  printf("%sok - %s\n", good ? "" : "not ", name);
  if (!good) printf("# %s: %s\n", pg_error_code(error), pg_error_message(error));
}

/* Failed with this code and with this part of the message. */
static int fails(int status, const char *code, const char *part) {
  return status > 0 && !strcmp(pg_error_code(error), code) &&
         strstr(pg_error_message(error), part) != NULL;
}

static void test_arrays(void) {
  const int64_t shape[] = {3, 5}, negative[] = {-1};
  pg_array *a, *b;
  pg_difference d;
  say("a zeroed array", !pg_array_make("f32", 2, shape, &a, error) && pg_array_count(a) == 15 &&
                            pg_array_bytes(a) == 60 && !strcmp(pg_array_dtype(a), "f32") &&
                            pg_array_get(a, 14) == 0);
  say("elements past the end", isnan(pg_array_get(a, 15)) && (pg_array_set(a, 15, 1), 1));
  say("an unknown dtype", fails(pg_array_make("f33", 2, shape, &b, error), "not_found", "f33"));
  say("a bad shape", fails(pg_array_make("f32", 1, negative, &b, error), "range", "-1"));
  say("NULL is told by name",
      fails(pg_array_make("f32", 2, NULL, &b, error), "invalid", "pg_array_make: shape is NULL"));
  pg_array_make("f64", 2, shape, &b, error);
  pg_array_set(a, 7, 1.5);
  pg_array_set(b, 7, 1.0);
  say("one difference", !pg_differ(b, a, 0, 0.25, &d, error) && d.bad == 1 && d.first_bad == 7 &&
                            d.count == 15 && d.max_abs == 0.5);
  say("within the tolerance", !pg_differ(b, a, 0.5, 0, &d, error) && d.bad == 0);
  say("the same seed, the same numbers", !pg_fill_uniform(a, 3, 0, 2, 4, error) &&
                                             !pg_fill_uniform(b, 3, 0, 2, 4, error) &&
                                             pg_array_get(a, 0) >= 2 && pg_array_get(a, 0) < 4);
  say("integers that do not fit",
      fails(pg_fill_integer(a, 3, 0, 0, INT64_MAX, error), "range", "f32"));
  pg_array_drop(a);
  pg_array_drop(b);
}

static const char fill_ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry fill(.param .u64 to, .param .u32 value) {\n"
                               ".reg .b64 %a<3>; .reg .b32 %r<3>;\n"
                               "ld.param.u64 %a1, [to]; ld.param.u32 %r1, [value];\n"
                               "mov.u32 %r2, %tid.x; mul.wide.u32 %a2, %r2, 4;\n"
                               "add.s64 %a1, %a1, %a2; st.global.u32 [%a1], %r1; ret; }\n";

static void test_device(void) {
  pg_device *device;
  pg_module *module;
  pg_kernel *kernel;
  pg_machine machine;
  uint64_t at;
  uint32_t bytes = 0, value = 42, out[32] = {0}, one[3] = {1, 1, 1}, warp[3] = {32, 1, 1};
  uint32_t many[3] = {64, 1, 1};
  char kind = 0;
  int count = 0;
  const void *arguments[] = {&at, &value};
  say("open", !pg_open("sim:check", &device, error) && !pg_describe(device, &machine, error) &&
                  !machine.gpu_clock && !strcmp(machine.spec, "sim:check"));
  say("PTX", !pg_load(device, fill_ptx, NULL, &module, error));
  say("a kernel", !pg_find_kernel(device, module, "fill", &kernel, error) &&
                      !pg_parameter_count(device, kernel, &count, error) && count == 2 &&
                      !pg_parameter(device, kernel, 1, &kind, &bytes, error) && bytes == 4);
  say("no such kernel",
      fails(pg_find_kernel(device, module, "fil", &kernel, error), "not_found", "fil"));
  pg_find_kernel(device, module, "fill", &kernel, error);
  say("a launch", !pg_alloc(device, sizeof out, &at, error) &&
                      !pg_start(device, kernel, one, warp, 0, arguments, 2, error) &&
                      !pg_sync(device, error) && !pg_download(device, out, at, sizeof out, error) &&
                      out[31] == 42);
  say("a clear", !pg_clear(device, at, 1, sizeof out, error) &&
                     !pg_download(device, out, at, sizeof out, error) && out[5] == 0x01010101);
  say("a wrong count", fails(pg_start(device, kernel, one, warp, 0, arguments, 1, error),
                             "launch_error", "takes 2 arguments, got 1"));
  int status = pg_start(device, kernel, one, many, 0, arguments, 2, error);
  if (!status) status = pg_sync(device, error);
  say("out of bounds", fails(status, "launch_error", ""));
  say("bad PTX", fails(pg_load(device, "nonsense", NULL, &module, error), "syntax", ""));
  pg_close(device);
  pg_close(NULL);
}

static void test_judge(const char *saxpy) {
  const char *const options[] = {"--device", "sim:check"};
  char *record = NULL;
  say("a verdict", !pg_judge("vector/saxpy", saxpy, options, 2, &record, error) && record &&
                       strstr(record, "\"verdict\":\"passed\""));
  pg_text_free(record);
  say("an unknown task", fails(pg_judge("vector/saxpi", saxpy, options, 2, &record, error),
                               "invalid", "vector/saxpi") &&
                             !record);
}

static int twice(pg_call *call, void *context) {
  int64_t n;
  if (pg_call_integer(call, 0, &n)) return pg_call_fail(call, "an integer, please");
  *(int *)context += 1;
  return pg_call_give_integer(call, 2 * n) || pg_call_give_text(call, "two\0three", 9);
}

static void test_host(void) {
  pg_host *host;
  char *result = NULL;
  int calls = 0;
  say("a host", !pg_host_open(&host, error));
  say("a primitive with two results",
      !pg_host_primitive(host, "twice", twice, &calls, error) &&
          !pg_host_text(host, "local n, s = twice(21) return n .. #s", NULL, &result, error) &&
          !strcmp(result, "429") && calls == 1);
  pg_text_free(result);
  say("a primitive that fails", fails(pg_host_text(host, "twice 'x'", NULL, &result, error),
                                      "invalid", "twice: an integer, please"));
  say("an error table keeps its code",
      fails(pg_host_text(host, "require('perigee').array('f33', 1)", NULL, NULL, error),
            "not_found", "f33"));
  say("a text that does not parse",
      fails(pg_host_text(host, "x = = 1", "=mine", NULL, error), "invalid", "mine:1:"));
  say("any value may be raised",
      fails(pg_host_text(host, "error(nil)", NULL, NULL, error), "invalid", "nil"));
  say("no file",
      fails(pg_host_file(host, "/nowhere.lua", NULL, 0, NULL, error), "invalid", "/nowhere.lua"));
  pg_host_close(host);
}

int main(int argc, char **argv) {
  error = pg_error_new();
  test_arrays();
  test_device();
  if (argc > 1) test_judge(argv[1]);
  test_host();
  pg_error_free(error);
  puts("done");
  return bad > 0;
}
