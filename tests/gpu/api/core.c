/* The C API over libperigee.so on a real device: memory, kernels from CUDA C++ and from PTX, times,
 * verdicts, errors. Arguments: the device, and the folder with candidates for vector/saxpy. */
#include <stdio.h>
#include <string.h>

#include <perigee.h>

enum { COUNT = 100000, BYTES = 4 * COUNT };

static const char source[] =
    "extern \"C\" __global__ void axpy(float a, const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n"
    "extern \"C\" __global__ void nowhere(float* y) { y[1ull << 40] = 1; }\n";

static pg_error *error;
static int passed, failed;

static void say(const char *name, int good) {
  good ? passed++ : failed++;
  printf("%s %s\n", good ? "ok" : "not ok", name);
  if (!good)
    printf("# %s: %s %s\n", pg_error_code(error), pg_error_message(error), pg_error_hint(error));
}

/* ---- y = a x + y, and its arguments ---- */

typedef struct axpy {
  pg_device *device;
  pg_kernel *kernel;
  pg_array *x, *y, *want; /* f32, f32 and f64 */
  uint64_t at_x, at_y;
  float a;
  int n;
} axpy;

static int start(void *context) {
  const axpy *one = context;
  const uint32_t grid[3] = {(COUNT + 255) / 256, 1, 1}, block[3] = {256, 1, 1};
  const void *arguments[] = {&one->a, &one->at_x, &one->at_y, &one->n};
  return pg_start(one->device, one->kernel, grid, block, 0, arguments, 4, error);
}

static int make(axpy *one) {
  const int64_t shape[] = {COUNT};
  return pg_array_make("f32", 1, shape, &one->x, error) ||
         pg_array_make("f32", 1, shape, &one->y, error) ||
         pg_array_make("f64", 1, shape, &one->want, error) ||
         pg_fill_normal(one->x, 7, 0, 0, 1, error) || pg_fill_uniform(one->y, 7, 1, -1, 1, error) ||
         pg_alloc(one->device, BYTES, &one->at_x, error) ||
         pg_alloc(one->device, BYTES, &one->at_y, error) ||
         pg_upload(one->device, one->at_x, pg_array_data(one->x), BYTES, error);
}

/* Launch once and compare with sums in binary64. */
static int right(axpy *one) {
  pg_difference difference;
  for (size_t i = 0; i < COUNT; i++)
    pg_array_set(one->want, i, one->a * pg_array_get(one->x, i) + pg_array_get(one->y, i));
  if (pg_upload(one->device, one->at_y, pg_array_data(one->y), BYTES, error) || start(one) ||
      pg_sync(one->device, error) ||
      pg_download(one->device, pg_array_data(one->y), one->at_y, BYTES, error) ||
      pg_differ(one->want, one->y, 2.5e-7, 1e-6, &difference, error))
    return 0;
  return difference.bad == 0 && difference.count == COUNT && difference.max_abs > 0;
}

/* ---- tests ---- */

static void test_machine(pg_device *device, const char *spec) {
  pg_machine machine;
  say("the machine is described",
      !pg_describe(device, &machine, error) && strstr(machine.spec, "cuda:") == machine.spec &&
          strstr(spec, "cuda:") == spec && machine.name[0] && machine.driver[0] &&
          machine.gpu_clock && machine.multiprocessors > 0 && machine.memory_bytes > 1 << 20);
}

static void test_memory(axpy *one) {
  const unsigned char *bytes = pg_array_data(one->want);
  int good = !pg_download(one->device, pg_array_data(one->want), one->at_x, BYTES, error) &&
             !memcmp(bytes, pg_array_data(one->x), BYTES) && one->at_x % 256 == 0;
  say("what was uploaded comes back", good);
  good = !pg_clear(one->device, one->at_y, 0x15a, BYTES, error) &&
         !pg_download(one->device, pg_array_data(one->want), one->at_y, BYTES, error);
  for (size_t i = 0; i < BYTES; i++) good = good && bytes[i] == 0x5a;
  say("memory is cleared to a byte", good);
}

static void test_kernel(axpy *one, pg_module **module) {
  int count = 0;
  char kinds[5] = "";
  uint32_t bytes[4] = {0};
  say("CUDA C++ compiles", !pg_build(one->device, source, "axpy.cu", NULL, 0, module, error) &&
                               !pg_find_kernel(one->device, *module, "axpy", &one->kernel, error));
  if (!one->kernel) return;
  int good = !pg_parameter_count(one->device, one->kernel, &count, error) && count == 4;
  for (int i = 0; good && i < 4; i++)
    good = !pg_parameter(one->device, one->kernel, i, &kinds[i], &bytes[i], error);
  say("its parameters have the sizes of C",
      good && bytes[0] == 4 && bytes[1] == 8 && bytes[2] == 8 && bytes[3] == 4);
  say("every element is right", right(one));
}

static void test_ptx(axpy *one, const char *arch) {
  char *ptx = NULL;
  pg_module *module = NULL;
  pg_kernel *before = one->kernel;
  int good = !pg_compile_text(source, "axpy.cu", arch, NULL, 0, &ptx, error) &&
             strstr(ptx, ".entry axpy") && !pg_load(one->device, ptx, "axpy.ptx", &module, error) &&
             !pg_find_kernel(one->device, module, "axpy", &one->kernel, error) && right(one);
  say("and so it is from PTX text", good);
  pg_text_free(ptx);
  pg_unload(one->device, module);
  one->kernel = before;
}

static void test_times(axpy *one) {
  pg_times cold, warm;
  int good = !pg_measure(one->device, start, one, 1, &cold, error) &&
             !pg_measure(one->device, start, one, 0, &warm, error);
  say("times are the GPU's, and have an interval",
      good && cold.gpu_clock && warm.gpu_clock && warm.samples >= 5 && warm.min > 0 &&
          warm.low <= warm.median && warm.median <= warm.high && warm.high <= warm.max);
  if (good) printf("# axpy of %d: %.2f us cold, %.2f us warm\n", COUNT, cold.median, warm.median);
}

static void test_errors(axpy *one) {
  pg_module *module = NULL;
  pg_kernel *kernel = NULL;
  say("a mistake in the source has its line",
      pg_build(one->device, "__device__ int f() {\n  return nothing;\n}\n", "bad.cu", NULL, 0,
               &module, error) > 0 &&
          !strcmp(pg_error_code(error), "compile_error") &&
          strstr(pg_error_message(error), "bad.cu:2"));
  say("a kernel that is not there",
      pg_find_kernel(one->device, NULL, "axpy", &kernel, error) > 0 && !kernel);
  say("more memory than there is",
      pg_alloc(one->device, (size_t)1 << 50, &(uint64_t){0}, error) > 0);
}

/* A candidate gets this verdict, on this device. */
static void test_verdict(const char *spec, const char *folder, const char *file, const char *word) {
  char path[4096], wanted[64], *record = NULL;
  const char *options[] = {"--device", spec, "--set", "n=1000,65537", "--budget", "0.1"};
  snprintf(path, sizeof path, "%s/%s", folder, file);
  snprintf(wanted, sizeof wanted, "\"verdict\":\"%s\"", word);
  int good = !pg_judge("vector/saxpy", path, options, 6, &record, error) &&
             strstr(record, wanted) &&
             (strcmp(word, "passed") != 0 || strstr(record, "\"median_us\""));
  say(path, good);
  if (!good && record) printf("# %.300s\n", record);
  pg_text_free(record);
}

/* The last: a device does not survive it. */
static void test_fault(axpy *one, pg_module *module) {
  const uint32_t single[3] = {1, 1, 1};
  const void *arguments[] = {&one->at_y};
  pg_kernel *kernel;
  int found = !pg_find_kernel(one->device, module, "nowhere", &kernel, error);
  int status = found ? pg_start(one->device, kernel, single, single, 0, arguments, 1, error) : 0;
  if (found && !status) status = pg_sync(one->device, error);
  say("a kernel that writes to nowhere is an error", status > 0 && pg_error_message(error)[0]);
}

int main(int argc, char **argv) {
  const char *spec = argc > 1 ? argv[1] : "cuda:0", *folder = argc > 2 ? argv[2] : ".";
  axpy one = {.a = 2.5F, .n = COUNT};
  pg_module *module = NULL;
  pg_machine machine = {.cc_major = 8};
  error = pg_error_new();
  setvbuf(stdout, NULL, _IOLBF, 0);
  say("the device opens", !pg_open(spec, &one.device, error) && !make(&one));
  if (one.at_y) {
    char arch[32];
    test_machine(one.device, spec);
    pg_describe(one.device, &machine, error);
    snprintf(arch, sizeof arch, "compute_%d%d", machine.cc_major, machine.cc_minor);
    test_memory(&one);
    test_kernel(&one, &module);
    if (one.kernel) {
      test_ptx(&one, arch);
      test_times(&one);
    }
    test_errors(&one);
    test_verdict(spec, folder, "right.cu", "passed");
    test_verdict(spec, folder, "zeros.cu", "wrong_result");
    if (module) test_fault(&one, module);
  }
  pg_close(one.device);
  pg_array_drop(one.x), pg_array_drop(one.y), pg_array_drop(one.want);
  pg_error_free(error);
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0;
}
