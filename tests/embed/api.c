/* The C API through the installed library: each test prints `ok - NAME`. Arguments: saxpy.cu, the
 * version. Misuse must give an error with the function and the argument, never a crash. */
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
  say("elements past the end", isnan(pg_array_get(a, 15)) && pg_array_set(a, 15, 1) > 0);
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

/* Integer dtypes hold whole numbers of their range; floating ones round. */
static void test_elements(void) {
  const struct {
    const char *dtype;
    double value, stored; /* NaN: refused */
  } cases[] = {{"i8", -128, -128},
               {"i8", 128, NAN},
               {"i8", 1.5, NAN},
               {"u8", 255, 255},
               {"u8", -1, NAN},
               {"i32", NAN, NAN},
               {"i32", INFINITY, NAN},
               {"i64", 0x1p62, 0x1p62},
               {"i64", 0x1p63, NAN},
               {"u64", 0x1p63, 0x1p63},
               {"u64", 0x1p64, NAN},
               {"bool", 1, 1},
               {"bool", 2, NAN},
               {"f16", 2049, 2048},
               {"f16", 1e9, INFINITY},
               {"bf16", 257, 256},
               {"f32", 16777217, 16777216}};
  const int64_t shape[] = {3};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[64];
    pg_array *a = NULL;
    pg_array_make(cases[i].dtype, 1, shape, &a, error);
    int failed = pg_array_set(a, 1, cases[i].value), refused = isnan(cases[i].stored);
    snprintf(name, sizeof name, "%s and %g", cases[i].dtype, cases[i].value);
    say(name, (failed > 0) == refused && pg_array_get(a, 0) == 0 && pg_array_get(a, 2) == 0 &&
                  pg_array_get(a, 1) == (refused ? 0 : cases[i].stored));
    pg_array_drop(a);
  }
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
  say("NULL is told by the function that was called",
      fails(pg_start(device, NULL, one, warp, 0, arguments, 2, error), "invalid",
            "pg_start: kernel is NULL") &&
          fails(pg_parameter(device, NULL, 0, &kind, &bytes, error), "invalid",
                "pg_parameter: kernel is NULL"));
  pg_close(device); /* with what is left in it */
}

/* Modules that are unloaded take their kernels with them, and only those. */
static void test_unload(void) {
  pg_device *device = NULL;
  pg_module *first = NULL, *second = NULL;
  pg_kernel *kernel = NULL;
  uint64_t at = 0;
  uint32_t value = 9, out[32] = {0}, one[3] = {1, 1, 1}, warp[3] = {32, 1, 1};
  const void *arguments[] = {&at, &value};
  say("two modules of the same text", !pg_open("sim:check", &device, error) &&
                                          !pg_load(device, fill_ptx, "a", &first, error) &&
                                          !pg_load(device, fill_ptx, "b", &second, error) &&
                                          !pg_find_kernel(device, second, "fill", &kernel, error));
  pg_unload(device, first);
  pg_unload(device, NULL);
  pg_unload(NULL, second);
  say("one is unloaded, the other runs",
      !pg_alloc(device, sizeof out, &at, error) &&
          !pg_start(device, kernel, one, warp, 0, arguments, 2, error) &&
          !pg_download(device, out, at, sizeof out, error) && out[31] == 9);
  int failed = 0;
  for (int i = 0; i < 1000 && !failed; i++) {
    failed = pg_load(device, fill_ptx, "c", &first, error);
    if (!failed) pg_unload(device, first);
  }
  say("loaded and unloaded again and again", !failed);
  pg_close(device);
}

static const char twice_source[] =
    "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= FACTOR; }";

static void test_compile(void) {
  const char *const options[] = {"-DFACTOR=2"}, *const hole[] = {"-DFACTOR=2", NULL, "-G"};
  pg_device *device = NULL;
  pg_module *module = NULL;
  char *ptx = NULL;
  say("NULL among options", fails(pg_compile_text(twice_source, NULL, NULL, hole, 3, &ptx, error),
                                  "invalid", "pg_compile_text: option #1 is NULL") &&
                                !ptx);
  say("fewer than no options",
      fails(pg_compile_text(twice_source, NULL, NULL, options, -1, &ptx, error), "invalid",
            "-1 options") &&
          fails(pg_compile_text(twice_source, NULL, NULL, NULL, 1, &ptx, error), "invalid",
                "NULL"));
  say("no source", fails(pg_compile_text(NULL, NULL, NULL, NULL, 0, &ptx, error), "invalid",
                         "pg_compile_text: source is NULL"));
  say("the same, and a module",
      !pg_open("sim", &device, error) &&
          fails(pg_build(device, twice_source, NULL, hole, 3, &module, error), "invalid",
                "pg_build: option #1 is NULL") &&
          fails(pg_build(device, NULL, NULL, NULL, 0, &module, error), "invalid",
                "pg_build: source is NULL") &&
          !module);
  pg_close(device);
  int status = pg_compile_text(twice_source, "twice.cu", "compute_75", options, 1, &ptx, error);
  if (status && !strcmp(pg_error_code(error), "environment")) {
    say("no compiler, and how to get one", *pg_error_hint(error));
    return;
  }
  say("PTX of an architecture",
      !status && strstr(ptx, ".target sm_75") && strstr(ptx, ".visible .entry twice("));
  pg_text_free(ptx);
  say("an error by its line",
      fails(pg_compile_text("\nint x = y;", "bad.cu", NULL, NULL, 0, &ptx, error), "compile_error",
            "bad.cu:2") &&
          !ptx);
}

static void test_judge(const char *saxpy) {
  const char *const options[] = {"--device", "sim:check"};
  char *record = NULL;
  say("a verdict", !pg_judge("vector/saxpy", saxpy, options, 2, &record, error) && record &&
                       strstr(record, "\"verdict\":\"passed\""));
  pg_text_free(record);
  say("an unknown task", fails(pg_judge("vector/saxpi", saxpy, options, 2, &record, error),
                               "invalid", "vector/saxpi") &&
                             strstr(pg_error_hint(error), "vector/saxpy") && !record);
  say("no file", fails(pg_judge("vector/saxpy", "/nope.cu", options, 2, &record, error), "invalid",
                       "/nope.cu") &&
                     !strcmp(pg_error_hint(error), "looked in /"));
  say("names that look like options",
      fails(pg_judge("--help", "x.cu", options, 2, &record, error), "invalid", "task '--help'") &&
          fails(pg_judge("vector/saxpy", "--version", options, 2, &record, error), "invalid",
                "--version"));
  say("an option that makes no record",
      fails(pg_judge("vector/saxpy", saxpy, (const char *[]){"--help"}, 1, &record, error),
            "invalid", "no record"));
  say("NULL among options",
      fails(pg_judge("vector/saxpy", saxpy, (const char *[]){NULL}, 1, &record, error), "invalid",
            "pg_judge: option #0 is NULL"));
}

static int twice(pg_call *call, void *context) {
  int64_t n;
  if (pg_call_integer(call, 0, &n)) return pg_call_fail(call, "an integer, please");
  *(int *)context += 1;
  return pg_call_give_integer(call, 2 * n) || pg_call_give_text(call, "two\0three", 9);
}

/* How many arguments, and the second as text: its length and its first byte. */
static int second(pg_call *call, void *context) {
  const char *text = "";
  size_t bytes = 0;
  (void)context;
  if (pg_call_text(call, 1, &text, &bytes)) return pg_call_fail(call, "a second text, please");
  return pg_call_give_integer(call, pg_call_count(call)) ||
         pg_call_give_integer(call, (int64_t)bytes) || pg_call_give_text(call, text, 1);
}

/* More results than there is room for: each that is too many says so. */
static int many(pg_call *call, void *context) {
  int given = 0;
  (void)context;
  while (given < 100 && !pg_call_give_integer(call, given)) given++;
  return 0;
}

static void test_calls(pg_host *host) {
  char *result = NULL;
  pg_host_primitive(host, "second", second, NULL, error);
  pg_host_primitive(host, "many", many, NULL, error);
  say("a count and a text with a zero byte",
      !pg_host_text(host, "return table.concat({ second(nil, 'x\\0yz', 3) }, ' ')", NULL, &result,
                    error) &&
          !strcmp(result, "3 4 x"));
  pg_text_free(result);
  say("a number is no text, nor is nothing",
      fails(pg_host_text(host, "second(1, 2)", NULL, NULL, error), "invalid", "a second text") &&
          fails(pg_host_text(host, "second()", NULL, NULL, error), "invalid", "second: a second"));
  say("16 results at most",
      !pg_host_text(host, "return select('#', many())", NULL, &result, error) &&
          !strcmp(result, "16"));
  pg_text_free(result);
}

/* Nothing given: an error that names the function, or what stands for nothing. */
#define REFUSES(function, ...) \
  say(#function " refuses NULL", fails(function(__VA_ARGS__), "invalid", #function ": "))

static void test_nothing(void) {
  pg_device *device = NULL;
  REFUSES(pg_open, "sim", NULL, error);
  REFUSES(pg_describe, NULL, NULL, error);
  REFUSES(pg_alloc, NULL, 1, NULL, error);
  REFUSES(pg_free, NULL, 0, error);
  REFUSES(pg_upload, NULL, 0, NULL, 1, error);
  REFUSES(pg_download, NULL, NULL, 0, 1, error);
  REFUSES(pg_clear, NULL, 0, 0, 1, error);
  REFUSES(pg_load, NULL, NULL, NULL, NULL, error);
  REFUSES(pg_find_kernel, NULL, NULL, NULL, NULL, error);
  REFUSES(pg_parameter_count, NULL, NULL, NULL, error);
  REFUSES(pg_sync, NULL, error);
  REFUSES(pg_measure, NULL, NULL, NULL, 0, NULL, error);
  REFUSES(pg_fill_uniform, NULL, 0, 0, 0, 1, error);
  REFUSES(pg_fill_normal, NULL, 0, 0, 0, 1, error);
  REFUSES(pg_fill_integer, NULL, 0, 0, 0, 1, error);
  REFUSES(pg_differ, NULL, NULL, 0, 0, NULL, error);
  REFUSES(pg_judge, NULL, NULL, NULL, 0, NULL, error);
  REFUSES(pg_host_open, NULL, error);
  REFUSES(pg_host_file, NULL, NULL, NULL, 0, NULL, error);
  REFUSES(pg_host_text, NULL, NULL, NULL, NULL, error);
  REFUSES(pg_host_primitive, NULL, NULL, NULL, NULL, error);
  say("nobody wants to know", pg_open("sum", &device, NULL) > 0 && pg_sync(NULL, NULL) > 0 &&
                                  pg_judge("x", "y", NULL, 0, NULL, NULL) > 0 && !device);
  say("no array", !pg_array_data(NULL) && !pg_array_count(NULL) && !pg_array_bytes(NULL) &&
                      !*pg_array_dtype(NULL) && isnan(pg_array_get(NULL, 0)) &&
                      pg_array_set(NULL, 0, 1) > 0);
  say("no error", !*pg_error_code(NULL) && !*pg_error_message(NULL) && !*pg_error_hint(NULL) &&
                      !*pg_error_where(NULL));
  say("no call", !pg_call_count(NULL) && pg_call_number(NULL, 0, NULL) > 0 &&
                     pg_call_integer(NULL, 0, NULL) > 0 && pg_call_text(NULL, 0, NULL, NULL) > 0 &&
                     pg_call_array(NULL, 0, NULL) > 0 && pg_call_give_number(NULL, 1) > 0 &&
                     pg_call_give_integer(NULL, 1) > 0 && pg_call_give_text(NULL, "x", 1) > 0 &&
                     pg_call_fail(NULL, NULL) > 0);
  pg_array_drop(NULL);
  pg_unload(NULL, NULL);
  pg_text_free(NULL);
  pg_error_free(NULL);
  pg_host_close(NULL);
  pg_close(NULL);
}

static int placed(const char *where) {
  return !strcmp(pg_error_where(error), where);
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
      fails(pg_host_text(host, "\nx = = 1", "=mine", NULL, error), "syntax", "unexpected symbol") &&
          placed("mine:2"));
  say("a mistake of a script has its place",
      fails(pg_host_text(host, "\n\nlocal x = nil .. 1", "=mine", NULL, error), "invalid",
            "attempt to concatenate") &&
          placed("mine:3"));
  say("any value may be raised",
      fails(pg_host_text(host, "error(nil)", NULL, NULL, error), "invalid", "nil") && placed(""));
  say("no file",
      fails(pg_host_file(host, "/nowhere.lua", NULL, 0, NULL, error), "not_found", "/nowhere.lua"));
  say("no file that can be read", fails(pg_host_file(host, "/", NULL, 0, NULL, error), "io", "/"));
  say("NULL among arguments",
      fails(pg_host_file(host, "/", (const char *[]){"a", NULL}, 2, NULL, error), "invalid",
            "pg_host_file: argument #1 is NULL"));
  say("a result that C would cut",
      fails(pg_host_text(host, "return 'ab\\0c'", NULL, &result, error), "invalid",
            "zero byte at 2") &&
          !result);
  test_calls(host);
  pg_host_close(host);
}

int main(int argc, char **argv) {
  error = pg_error_new();
  if (argc > 2) say("the version", !strcmp(pg_version(), argv[2]));
  test_arrays();
  test_elements();
  test_nothing();
  test_device();
  test_unload();
  test_compile();
  if (argc > 1) test_judge(argv[1]);
  test_host();
  pg_error_free(error);
  puts("done");
  return bad > 0;
}
