/* A C program over libperigee.so: compile a kernel, run it, time it, check every element.
 * cc core.c $(pkg-config --cflags --libs perigee) && ./a.out [DEVICE] */
#include <stdio.h>
#include <perigee.h>

static const char source[] =
    "extern \"C\" __global__ void axpy(float a, const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i];\n"
    "}\n";

typedef struct launch {
  pg_device *device;
  pg_kernel *kernel;
  const void *const *arguments;
} launch;

static int start(void *context) {
  const launch *l = context;
  const uint32_t grid[3] = {4, 1, 1}, block[3] = {256, 1, 1};
  return pg_start(l->device, l->kernel, grid, block, 0, l->arguments, 4, NULL);
}

/* Everything that can fail, up to the first that does. */
static int run(const char *spec, pg_device **device, pg_array *array[3], pg_error *error) {
  const int64_t shape[] = {1000};
  const float a = 2;
  const int n = 1000;
  uint64_t x, y;
  const void *arguments[] = {&a, &x, &y, &n};
  launch l = {.arguments = arguments};
  pg_module *module;
  pg_times times;
  pg_difference difference;
  for (int i = 0; i < 3; i++)
    if (pg_array_make(i == 2 ? "f64" : "f32", 1, shape, &array[i], error)) return 1;
  if (pg_fill_normal(array[0], 7, 0, 0, 1, error)) return 1;
  for (int i = 0; i < n; i++) pg_array_set(array[2], i, a * pg_array_get(array[0], i));
  if (pg_open(spec, device, error) || pg_alloc(*device, 4000, &x, error) ||
      pg_alloc(*device, 4000, &y, error) ||
      pg_upload(*device, x, pg_array_data(array[0]), 4000, error) ||
      pg_build(*device, source, "axpy.cu", NULL, 0, &module, error) ||
      pg_find_kernel(*device, module, "axpy", &l.kernel, error))
    return 1;
  l.device = *device;
  if (pg_measure(*device, start, &l, 1, &times, error) ||
      pg_download(*device, pg_array_data(array[1]), y, 4000, error) ||
      pg_differ(array[2], array[1], 1e-6, 0, &difference, error))
    return 1;
  printf("%zu of %zu elements wrong; %s time %.3g us\n", difference.bad, difference.count,
         times.gpu_clock ? "GPU" : "simulator", times.median);
  return difference.bad > 0;
}

int main(int argc, char **argv) {
  pg_error *error = pg_error_new();
  pg_device *device = NULL;
  pg_array *array[3] = {NULL};
  int failed = run(argc > 1 ? argv[1] : "auto", &device, array, error);
  if (failed)
    fprintf(stderr, "%s: %s\n%s\n", pg_error_code(error), pg_error_message(error),
            pg_error_hint(error));
  pg_close(device); /* and with it its modules and memory */
  for (int i = 0; i < 3; i++) pg_array_drop(array[i]);
  pg_error_free(error);
  return failed;
}
