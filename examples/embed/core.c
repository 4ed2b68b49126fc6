/* A C program over libperigee.so: compile a kernel, run it, time it, check every element.
 * cc core.c $(pkg-config --cflags --libs perigee) && ./a.out [DEVICE] */
#include <stdio.h>
#include <perigee.h>

static const char source[] =
    "extern \"C\" __global__ void axpy(float a, const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i]; }\n";

static int start(void *launch) {
  void *const *l = launch; /* the device, the kernel, its arguments */
  return pg_start(l[0], l[1], (uint32_t[]){4, 1, 1}, (uint32_t[]){256, 1, 1}, 0, l[2], 4, NULL);
}

int main(int argc, char **argv) {
  float x[1000], y[1000], a = 2;
  int n = 1000, wrong = 0;
  uint64_t dx, dy;
  const void *arguments[] = {&a, &dx, &dy, &n};
  pg_module *module;
  pg_kernel *kernel;
  pg_times t;
  pg_device *device = NULL;
  pg_error *error = pg_error_new();
  for (int i = 0; i < n; i++) x[i] = (float)i;
  int failed = pg_open(argc > 1 ? argv[1] : "auto", &device, error) ||
               pg_alloc(device, sizeof x, &dx, error) || pg_alloc(device, sizeof y, &dy, error) ||
               pg_upload(device, dx, x, sizeof x, error) ||
               pg_build(device, source, "axpy.cu", NULL, 0, &module, error) ||
               pg_find_kernel(device, module, "axpy", &kernel, error) ||
               pg_measure(device, start, (void *[]){device, kernel, arguments}, 1, &t, error) ||
               pg_download(device, y, dy, sizeof y, error);
  if (failed) fprintf(stderr, "%s\n%s\n", pg_error_message(error), pg_error_hint(error));
  for (int i = 0; !failed && i < n; i++) wrong += y[i] != a * x[i];
  if (!failed) printf("%d wrong; %s time %.3g us\n", wrong, t.gpu_clock ? "GPU" : "sim", t.median);
  pg_close(device); /* and with it its module and memory */
  pg_error_free(error);
  return failed || wrong;
}
