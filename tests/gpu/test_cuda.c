/* The CUDA device on a real GPU: what tests/c/test_cuda.c can only pretend. Plain checks, so that
 * it runs on a machine with nothing but a driver and NVRTC. Faults end a context, so each runs in a
 * process of its own. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/state.h"

static const char source[] =
    "extern \"C\" __global__ void saxpy(const float *x, float *y, float a, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] += a * x[i];\n"
    "}\n"
    "struct Big { int a[1000]; };\n"
    "extern \"C\" __global__ void big(Big b, int *out) { out[threadIdx.x] = b.a[threadIdx.x]; }\n"
    "extern \"C\" __global__ void empty() {}\n"
    "extern \"C\" __global__ void __launch_bounds__(256) bounded(int *p) { p[threadIdx.x] = 1; }\n"
    "extern \"C\" __global__ void spills(int *p, int n) {\n"
    "  int local[200];\n"
    "  for (int i = 0; i < 200; i++) local[i] = p[i];\n"
    "  p[0] = local[n] + local[n + 1];\n"
    "}\n"
    "extern \"C\" __global__ void shared(int *out, int n) {\n"
    "  extern __shared__ int s[];\n"
    "  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i;\n"
    "  __syncthreads();\n"
    "  if (threadIdx.x == 0) { int t = 0; for (int i = 0; i < n; i++) t ^= s[i]; *out = t; }\n"
    "}\n"
    "extern \"C\" __global__ void spin(long long cycles) {\n"
    "  long long start = clock64();\n"
    "  while (clock64() - start < cycles) {}\n"
    "}\n"
    "extern \"C\" __global__ void bounds(int *p) { p[threadIdx.x + (1ll << 44)] = 1; }\n"
    "extern \"C\" __global__ void misaligned(char *p) { *(int *)(p + 1) = 1; }\n"
    "extern \"C\" __global__ void traps() { asm volatile(\"trap;\"); }\n";
static const char asserting[] =
    "extern \"C\" __global__ void asserts(int *p) { assert(p == 0); }\n";

static int passed, failed;
static pg_error error;
static pg_device *device;
static pg_module *module;

static void check(bool right, const char *what, int line) {
  if (right) {
    passed++;
    return;
  }
  failed++;
  printf("not ok %s:%d: %s\n  last error: %s: %s\n", __FILE__, line, what, pg_code_name(error.code),
         error.message);
}
#define CHECK(condition) check((condition), #condition, __LINE__)
#define OK(call) check((call) == PG_OK, #call, __LINE__)

static pg_kernel *kernel(const char *name) {
  pg_kernel *found = NULL;
  OK(device->ops->kernel(device, module, name, &found, &error));
  return found;
}

static pg_code run(const char *name, uint32_t grid, uint32_t block, uint32_t shared,
                   const void *params, size_t bytes) {
  pg_launch launch = {.kernel = kernel(name),
                      .grid = {grid, 1, 1},
                      .block = {block, 1, 1},
                      .shared = shared,
                      .params = params,
                      .param_bytes = bytes};
  return device->ops->launch(device, &launch, NULL, &error);
}

static pg_code load_source(const char *text) {
  pg_device_info info;
  pg_compile_result result;
  char arch[32];
  pg_code code = device->ops->info(device, &info, &error);
  if (code) return code;
  snprintf(arch, sizeof arch, "compute_%d%d", info.cc_major, info.cc_minor);
  pg_compile_request request = {.source = text, .name = "gpu.cu", .arch = arch};
  code = pg_compile(&request, &result, &error);
  if (code) printf("%s\n", result.log);
  if (!code) code = device->ops->load(device, result.ptx, result.bytes, "gpu.ptx", &module, &error);
  pg_compile_free(&result);
  return code;
}

/* ---- tests ---- */

static void test_info(void) {
  pg_device_info info;
  pg_health health;
  OK(device->ops->info(device, &info, &error));
  printf("# %s, compute capability %d.%d, %d multiprocessors, %zu MiB, L2 %zu MiB, driver %s\n",
         info.name, info.cc_major, info.cc_minor, info.multiprocessors, info.memory_bytes >> 20,
         info.l2_bytes >> 20, info.driver);
  CHECK(info.name[0] && info.cc_major >= 5 && info.multiprocessors > 0);
  CHECK(info.memory_bytes > (size_t)1 << 30);
  CHECK(info.max_threads_per_block >= 1024 && info.max_grid[0] >= 65535);
  CHECK(info.shared_per_block >= 48 << 10 && info.shared_per_block_optin >= info.shared_per_block);
  CHECK(strstr(info.driver, "CUDA ") != NULL);
  CHECK(strchr(info.driver, '(') != NULL); /* NVML told the driver's own version */
  device->ops->health(device, &health);
  printf("# SM %d MHz, memory %d MHz, %d C, %d mW, throttle reasons %lld\n", health.sm_clock_mhz,
         health.memory_clock_mhz, health.temperature_c, health.power_mw, health.throttle_reasons);
  CHECK(health.sm_clock_mhz > 0 && health.memory_clock_mhz > 0);
  CHECK(health.temperature_c > 0 && health.temperature_c < 120);
  CHECK(health.power_mw > 0);
  CHECK(health.throttle_reasons >= 0);
}

static void test_saxpy(void) {
  enum { N = 1000003 };
  float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), *got = malloc(N * sizeof *got);
  pg_ptr dx, dy;
  for (int i = 0; i < N; i++) {
    x[i] = (float)(i % 1013) * 0.37f - 100;
    y[i] = (float)(i % 777) * -1.3f + 5;
  }
  OK(device->ops->alloc(device, N * 4, &dx, &error));
  OK(device->ops->alloc(device, N * 4, &dy, &error));
  OK(device->ops->upload(device, dx, x, N * 4, NULL, &error));
  OK(device->ops->upload(device, dy, y, N * 4, NULL, &error));
  struct {
    pg_ptr x, y;
    float a;
    int n;
  } params = {dx, dy, 1.7f, N};
  OK(run("saxpy", (N + 255) / 256, 256, 0, &params, sizeof params));
  OK(device->ops->download(device, got, dy, N * 4, NULL, &error));
  int wrong = 0;
  for (int i = 0; i < N; i++) /* NVRTC contracts to one fused multiply-add, rounded once */
    wrong += got[i] != fmaf(1.7f, x[i], y[i]);
  CHECK(wrong == 0);
  OK(device->ops->free(device, dx, &error));
  OK(device->ops->free(device, dy, &error));
  free(x), free(y), free(got);
}

static void test_parameters(void) {
  pg_kernel_info info;
  OK(device->ops->kernel_info(device, kernel("saxpy"), &info, &error));
  CHECK(info.param_count == 4 && info.param_bytes == 24);
  CHECK(info.params[0].kind == 'p' && info.params[1].kind == 'p' && info.params[2].kind == 'f' &&
        info.params[3].kind == 'i');
  CHECK(info.params[3].offset == 20 && info.params[3].size == 4);
  CHECK(info.registers > 0 && info.max_threads >= 256);
  OK(device->ops->kernel_info(device, kernel("big"), &info, &error));
  CHECK(info.param_count == 2 && info.params[0].size == 4000 && info.params[0].kind == 'b');
  CHECK(info.params[1].offset == 4000);
  OK(device->ops->kernel_info(device, kernel("empty"), &info, &error));
  CHECK(info.param_count == 0 && info.param_bytes == 0);
  OK(device->ops->kernel_info(device, kernel("bounded"), &info, &error));
  CHECK(info.max_threads == 256);
  OK(device->ops->kernel_info(device, kernel("spills"), &info, &error));
  CHECK(info.local_bytes >= 800);
  /* The text alone, as an older driver has it, must tell the same. */
  pg_cuda *cuda = (pg_cuda *)device;
  for (int i = 0; i < module->scan.entry_count; i++) {
    const pg_ptx_entry *entry = &module->scan.entries[i];
    OK(device->ops->kernel_info(device, kernel(entry->name), &info, &error));
    CHECK(info.param_count == entry->param_count && info.param_bytes == entry->param_bytes);
    CHECK(!memcmp(info.params, entry->params, (size_t)info.param_count * sizeof(pg_param)));
  }
  printf("# parameters by %s\n",
         cuda->driver.FuncGetParamInfo ? "cuFuncGetParamInfo" : "PTX alone");
}

static void test_large_parameters(void) {
  struct {
    int a[1000];
    pg_ptr out;
  } params;
  int got[1000];
  pg_ptr out;
  for (int i = 0; i < 1000; i++) params.a[i] = i * 7;
  OK(device->ops->alloc(device, sizeof got, &out, &error));
  params.out = out;
  OK(run("big", 1, 1000, 0, &params, sizeof params));
  OK(device->ops->download(device, got, out, sizeof got, NULL, &error));
  CHECK(!memcmp(got, params.a, sizeof got));
  pg_launch launch = {.kernel = kernel("big"),
                      .grid = {1, 1, 1},
                      .block = {1000, 1, 1},
                      .cooperative = true,
                      .params = &params,
                      .param_bytes = sizeof params};
  OK(device->ops->fill(device, out, 0, 1, sizeof got, NULL, &error));
  OK(device->ops->launch(device, &launch, NULL, &error));
  OK(device->ops->download(device, got, out, sizeof got, NULL, &error));
  CHECK(!memcmp(got, params.a, sizeof got));
  launch.grid[0] = 1 << 20;
  CHECK(device->ops->launch(device, &launch, NULL, &error) == PG_LAUNCH);
  OK(device->ops->sync(device, &error));
}

static void test_shared_memory(void) {
  pg_ptr out;
  pg_device_info info;
  OK(device->ops->info(device, &info, &error));
  int limit = (int)info.shared_per_block_optin, got = -1;
  OK(device->ops->alloc(device, 4, &out, &error));
  struct {
    pg_ptr out;
    int n;
  } params = {out, limit / 4};
  int want = 0;
  for (int i = 0; i < limit / 4; i++) want ^= i;
  OK(run("shared", 1, 256, (uint32_t)limit, &params, 12));
  OK(device->ops->download(device, &got, out, 4, NULL, &error));
  CHECK(got == want);
  CHECK(run("shared", 1, 256, (uint32_t)limit + 1, &params, 12) == PG_LAUNCH);
  params.n = 1024; /* less again, after the opt-in */
  OK(run("shared", 1, 256, 4096, &params, 12));
  OK(device->ops->sync(device, &error));
}

static void test_wrong_launches(void) {
  pg_ptr p;
  OK(device->ops->alloc(device, 4096, &p, &error));
  CHECK(run("bounded", 0, 256, 0, &p, 8) == PG_LAUNCH);
  CHECK(run("bounded", 1, 0, 0, &p, 8) == PG_LAUNCH);
  CHECK(run("bounded", 1, 257, 0, &p, 8) == PG_LAUNCH);
  CHECK(run("bounded", 1, 256, 0, &p, 4) == PG_LAUNCH);
  OK(run("bounded", 1, 256, 0, &p, 8));
  OK(device->ops->sync(device, &error));
  pg_kernel *none;
  CHECK(device->ops->kernel(device, module, "saxpi", &none, &error) == PG_NOT_FOUND);
  CHECK(strstr(error.hint, "saxpy") != NULL);
}

static void test_wrong_images(void) {
  static const char broken[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                               ".visible .entry k()\n{\n  add.u32 %r1, %r2;\n  ret;\n}\n";
  static const char future[] = ".version 99.0\n.target sm_75\n.address_size 64\n"
                               ".visible .entry k()\n{\n  ret;\n}\n";
  pg_module *none;
  CHECK(device->ops->load(device, broken, sizeof broken - 1, "b.ptx", &none, &error) == PG_SYNTAX);
  printf("# broken PTX: %s (%s)\n", error.message, error.where);
  CHECK(!strcmp(error.where, "b.ptx:6"));
  CHECK(device->ops->load(device, future, sizeof future - 1, "f.ptx", &none, &error) ==
        PG_UNSUPPORTED);
  printf("# future PTX: %s\n#   %s\n", error.message, error.hint);
  CHECK(strstr(error.message, "needs a newer driver") != NULL);
  CHECK(device->ops->load(device, "\177ELF", 4, "e.cubin", &none, &error) == PG_SYNTAX);
  printf("# broken cubin: %s\n", error.message);
}

static void test_fills_and_copies(void) {
  unsigned char got[64];
  pg_ptr a, b;
  pg_stream *stream;
  OK(device->ops->stream_new(device, &stream, &error));
  OK(device->ops->alloc(device, 64, &a, &error));
  OK(device->ops->alloc(device, 64, &b, &error));
  OK(device->ops->fill(device, a, 0x7fc0dead, 4, 16, stream, &error));
  OK(device->ops->fill(device, a + 2, 0xabcd, 2, 1, stream, &error));
  OK(device->ops->fill(device, a + 63, 0x42, 1, 1, stream, &error));
  OK(device->ops->copy(device, b, a, 64, stream, &error));
  OK(device->ops->stream_sync(device, stream, &error));
  OK(device->ops->download(device, got, b, 64, NULL, &error));
  CHECK(got[0] == 0xad && got[1] == 0xde && got[2] == 0xcd && got[3] == 0xab);
  CHECK(got[4] == 0xad && got[7] == 0x7f && got[62] == 0xc0 && got[63] == 0x42);
  device->ops->stream_free(device, stream);
}

static void test_memory_limits(void) {
  pg_ptr p;
  CHECK(device->ops->alloc(device, (size_t)1 << 42, &p, &error) == PG_MEMORY);
  printf("# out of memory: %s\n", error.message);
  OK(device->ops->alloc(device, 4096, &p, &error)); /* and the device still works */
  OK(run("bounded", 1, 256, 0, &p, 8));
  OK(device->ops->sync(device, &error));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What PCIe carries: one copy from pinned memory, without us. */
static double pinned_rate(pg_ptr at, size_t bytes, bool up) {
  const pg_driver *driver = &((pg_cuda *)device)->driver;
  void *pinned = NULL;
  double best = 0;
  if (driver->MemHostAlloc(&pinned, bytes, 0)) return 0;
  memset(pinned, 1, bytes);
  for (int i = 0; i < 3; i++) {
    double start = now();
    if (up)
      driver->MemcpyHtoD(at, pinned, bytes);
    else
      driver->MemcpyDtoH(pinned, at, bytes);
    double rate = (double)bytes / (now() - start);
    best = rate > best ? rate : best;
  }
  driver->MemFreeHost(pinned);
  return best;
}

static double our_rate(pg_ptr at, void *host, size_t bytes, bool up) {
  double best = 0;
  for (int i = 0; i < 3; i++) {
    double start = now();
    if (up)
      OK(device->ops->upload(device, at, host, bytes, NULL, &error));
    else
      OK(device->ops->download(device, host, at, bytes, NULL, &error));
    double rate = (double)bytes / (now() - start);
    best = rate > best ? rate : best;
  }
  return best;
}

static void test_large_copies(void) {
  size_t bytes = ((size_t)512 << 20) + 12344, words = bytes / 8;
  uint64_t *there = malloc(bytes), *back = calloc(1, bytes);
  pg_ptr at;
  for (size_t i = 0; i < words; i++) there[i] = i * 0x9e3779b97f4a7c15u;
  OK(device->ops->alloc(device, bytes, &at, &error));
  double up = our_rate(at, there, bytes, true), down = our_rate(at, back, bytes, false);
  CHECK(!memcmp(there, back, bytes));
  double pinned_up = pinned_rate(at, (size_t)256 << 20, true);
  double pinned_down = pinned_rate(at, (size_t)256 << 20, false);
  printf("# 512 MiB up %.1f GB/s (pinned alone %.1f), down %.1f GB/s (pinned alone %.1f)\n",
         up * 1e-9, pinned_up * 1e-9, down * 1e-9, pinned_down * 1e-9);
  CHECK(up > 0.6 * pinned_up);
  CHECK(down > 0.6 * pinned_down);
  OK(device->ops->free(device, at, &error));
  free(there), free(back);
}

static void test_events(void) {
  pg_event *start, *stop;
  pg_stream *stream;
  double empty = 0, spin = 0;
  long long cycles = 20000000;
  OK(device->ops->event_new(device, &start, &error));
  OK(device->ops->event_new(device, &stop, &error));
  OK(device->ops->stream_new(device, &stream, &error));
  CHECK(device->ops->event_elapsed(device, start, stop, &empty, &error) !=
        PG_OK); /* not recorded */
  pg_launch launches[] = {{.kernel = kernel("empty"), .grid = {1, 1, 1}, .block = {32, 1, 1}},
                          {.kernel = kernel("spin"),
                           .grid = {1, 1, 1},
                           .block = {1, 1, 1},
                           .params = &cycles,
                           .param_bytes = 8}};
  double *us[] = {&empty, &spin};
  for (int warm = 0; warm < 2; warm++) {
    for (int i = 0; i < 2; i++) {
      OK(device->ops->event_record(device, start, stream, &error));
      OK(device->ops->launch(device, &launches[i], stream, &error));
      OK(device->ops->event_record(device, stop, stream, &error));
      OK(device->ops->event_elapsed(device, start, stop, us[i], &error));
    }
  }
  printf("# empty kernel %.2f us, %lld cycles %.1f us\n", empty, cycles, spin);
  CHECK(empty > 0 && empty < 1000);
  CHECK(spin > 20e6 / 3e3 && spin < 20e6 / 100); /* between 3 GHz and 100 MHz */
}

/* ---- faults, each in a process of its own ---- */

static const struct {
  const char *name;
  pg_fault_kind kind;
} faults[] = {{"bounds", PG_FAULT_OUT_OF_BOUNDS},
              {"misaligned", PG_FAULT_MISALIGNED},
              {"traps", PG_FAULT_TRAP},
              {"asserts", PG_FAULT_TRAP}};

/* The other process: fault, then check that the device tells of it, refuses the rest, and can be
 * closed. */
static void fault_here(const char *name, pg_fault_kind kind) {
  pg_ptr p = 0;
  pg_fault fault;
  bool traps = !strcmp(name, "traps");
  if (!strcmp(name, "asserts")) OK(load_source(asserting));
  OK(device->ops->alloc(device, 4096, &p, &error));
  pg_launch launch = {.kernel = kernel(name),
                      .grid = {1, 1, 1},
                      .block = {1, 1, 1},
                      .params = traps ? NULL : &p,
                      .param_bytes = traps ? 0 : 8};
  OK(device->ops->launch(device, &launch, NULL, &error));
  pg_code code = device->ops->sync(device, &error);
  CHECK(code == PG_LAUNCH);
  device->ops->fault(device, &fault);
  printf("# fault %s: %s: %s\n", name, pg_fault_name(fault.kind), error.message);
  CHECK(fault.kind == kind);
  CHECK(!strcmp(fault.kernel, name));
  CHECK(device->ops->alloc(device, 64, &p, &error) == PG_LAUNCH);
  CHECK(device->ops->launch(device, &launch, NULL, &error) == PG_LAUNCH);
  CHECK(device->ops->sync(device, &error) == PG_LAUNCH);
  pg_device_close(device);
  device = NULL;
}

static void test_fault(const char *spec, const char *name) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "test_cuda", spec, name, (char *)NULL);
    _exit(127);
  }
  int status = -1;
  waitpid(child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, name, __LINE__);
}

int main(int argc, char **argv) {
  const char *spec = argc > 1 ? argv[1] : "cuda:0", *fault = argc > 2 ? argv[2] : NULL;
  if (pg_device_open(spec, &device, &error) || load_source(source)) {
    printf("not ok: %s\n  %s\n%s0 passed, 1 failed\n", error.message, error.hint,
           fault ? "# " : "");
    return 1;
  }
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    if (!fault) test_fault(spec, faults[i].name);
    if (fault && !strcmp(fault, faults[i].name)) fault_here(fault, faults[i].kind);
  }
  if (fault) return failed != 0;
  test_info();
  test_saxpy();
  test_parameters();
  test_large_parameters();
  test_shared_memory();
  test_wrong_launches();
  test_wrong_images();
  test_fills_and_copies();
  test_memory_limits();
  test_large_copies();
  test_events();
  pg_device_close(device);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
