/* The CUDA device over a driver that this file pretends to be: memory is host memory, copies on a
 * stream happen when somebody waits for them, kernels fault by name. What only a GPU can show is in
 * tests/gpu. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/state.h"
#include "dtype.h"

/* ---- the pretended driver ---- */

typedef struct copy {
  void *to;
  const void *from;
  size_t bytes;
} copy;

struct CUstream_st { /* copies that were enqueued and have not happened yet */
  copy pending[64];
  size_t count;
};
struct CUevent_st {
  CUstream stream;
  size_t upto;
  double at_ms;
};
struct CUfunc_st {
  char name[64];
  int max_dynamic_shared;
};
struct CUmod_st {
  struct CUfunc_st functions[8];
  unsigned count;
  int variable[2]; /* "count" */
};

static struct {
  cu_result init, sticky, load;
  const char *load_log;
  const char *absent; /* a symbol that this driver lacks */
  int version, gpus, retained, allocations, pinned, streams, events, modules, set_attributes;
  int graphs, unpinned;
  size_t captured_from;
  bool no_pinned;
  size_t limit; /* bytes that one allocation may have */
  unsigned char params[256];
  size_t param_bytes;
  unsigned grid[3], block[3], shared, cluster[3];
  bool cooperative;
  double clock_ms;
  pthread_mutex_t lock;
} fake;

static void fake_reset(void) {
  memset(&fake, 0, sizeof fake);
  fake.version = 12040;
  fake.gpus = 2;
  fake.limit = (size_t)1 << 30;
  pthread_mutex_init(&fake.lock, NULL);
}

static void count_in(int *counter, int step) {
  pthread_mutex_lock(&fake.lock);
  *counter += step;
  pthread_mutex_unlock(&fake.lock);
}

static void drain(CUstream stream, size_t upto) {
  size_t count = upto < stream->count ? upto : stream->count;
  for (size_t i = 0; i < count; i++)
    memcpy(stream->pending[i].to, stream->pending[i].from, stream->pending[i].bytes);
  memmove(stream->pending, stream->pending + count, (stream->count - count) * sizeof(copy));
  stream->count -= count;
}

static cu_result enqueue(CUstream stream, void *to, const void *from, size_t bytes) {
  if (!stream) {
    memcpy(to, from, bytes);
    return fake.sticky;
  }
  if (stream->count == 64) return PG_CU_OUT_OF_MEMORY;
  stream->pending[stream->count++] = (copy){to, from, bytes};
  return fake.sticky;
}

#define HOST(pointer) ((void *)(uintptr_t)(pointer))

static cu_result cuInit(unsigned flags) {
  return flags ? PG_CU_INVALID_VALUE : fake.init;
}
static cu_result cuDriverGetVersion(int *version) {
  *version = fake.version;
  return 0;
}
static cu_result cuGetErrorName(cu_result error, const char **name) {
  *name = error == PG_CU_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_SOMETHING";
  return 0;
}
static cu_result cuGetErrorString(cu_result error, const char **text) {
  *text = error == PG_CU_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "some text";
  return 0;
}
static cu_result cuDeviceGetCount(int *count) {
  *count = fake.gpus;
  return 0;
}
static cu_result cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return 0;
}
static cu_result cuDeviceGetName(char *name, int bytes, CUdevice device) {
  snprintf(name, (size_t)bytes, "Pretended GPU %d", device);
  return 0;
}
static cu_result cuDeviceGetAttribute(int *value, unsigned attribute, CUdevice device) {
  static const int values[128] = {
      [PG_CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
      [PG_CU_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
      [PG_CU_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
      [PG_CU_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
      [PG_CU_ATTRIBUTE_MAX_GRID_DIM_X] = 2147483647,
      [PG_CU_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
      [PG_CU_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
      [PG_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
      [PG_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132,
      [PG_CU_ATTRIBUTE_L2_CACHE_SIZE] = 50 << 20,
      [PG_CU_ATTRIBUTE_MEMORY_CLOCK_RATE] = 3201000,
      [PG_CU_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 6144,
      [PG_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9,
      [PG_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 232448,
  };
  (void)device;
  *value = values[attribute];
  return 0;
}
static cu_result cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  (void)device;
  *bytes = (size_t)80 << 30;
  return 0;
}
static cu_result cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device) {
  snprintf(id, (size_t)bytes, "0000:%02d:00.0", device);
  return 0;
}
static cu_result cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  (void)device;
  *context = (CUcontext)&fake;
  fake.retained++;
  return 0;
}
static cu_result cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  (void)device;
  fake.retained--;
  return 0;
}
static cu_result cuCtxSetCurrent(CUcontext context) {
  (void)context;
  return 0;
}
static cu_result cuCtxSynchronize(void) {
  return fake.sticky;
}
static cu_result cuMemGetInfo_v2(size_t *available, size_t *total) {
  *available = 12345;
  *total = 67890;
  return 0;
}
static cu_result cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  if (bytes > fake.limit) return PG_CU_OUT_OF_MEMORY;
  *pointer = (CUdeviceptr)(uintptr_t)malloc(bytes);
  fake.allocations++;
  return 0;
}
static cu_result cuMemFree_v2(CUdeviceptr pointer) {
  free(HOST(pointer));
  fake.allocations--;
  return fake.sticky;
}
static cu_result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  (void)flags;
  if (fake.no_pinned) return PG_CU_OUT_OF_MEMORY;
  *pointer = malloc(bytes);
  fake.pinned++;
  return 0;
}
static cu_result cuMemFreeHost(void *pointer) {
  free(pointer);
  fake.pinned--;
  return 0;
}
static cu_result cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return enqueue(NULL, HOST(to), from, bytes);
}
static cu_result cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return enqueue(NULL, to, HOST(from), bytes);
}
static cu_result cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream s) {
  return enqueue(s, HOST(to), from, bytes);
}
static cu_result cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream s) {
  return enqueue(s, to, HOST(from), bytes);
}
static cu_result cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s) {
  return enqueue(s, HOST(to), HOST(from), bytes);
}
static cu_result cuMemsetD8Async(CUdeviceptr to, unsigned char v, size_t n, CUstream s) {
  (void)s;
  for (size_t i = 0; i < n; i++) ((unsigned char *)HOST(to))[i] = v;
  return 0;
}
static cu_result cuMemsetD16Async(CUdeviceptr to, unsigned short v, size_t n, CUstream s) {
  (void)s;
  for (size_t i = 0; i < n; i++) ((unsigned short *)HOST(to))[i] = v;
  return 0;
}
static cu_result cuMemsetD32Async(CUdeviceptr to, unsigned v, size_t n, CUstream s) {
  (void)s;
  for (size_t i = 0; i < n; i++) ((unsigned *)HOST(to))[i] = v;
  return 0;
}
static cu_result cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                                    unsigned *options, void **values) {
  (void)image;
  char *log = NULL;
  size_t log_bytes = 0;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == PG_CU_JIT_ERROR_LOG_BUFFER) log = values[i];
    if (options[i] == PG_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) log_bytes = (size_t)values[i];
  }
  if (fake.load_log) snprintf(log, log_bytes, "%s", fake.load_log);
  if (fake.load) return fake.load;
  *module = calloc(1, sizeof **module);
  fake.modules++;
  return 0;
}
static cu_result cuModuleUnload(CUmodule module) {
  free(module);
  fake.modules--;
  return fake.sticky;
}
static cu_result cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  if (strstr(name, "missing")) return PG_CU_NOT_FOUND;
  *function = &module->functions[module->count++];
  snprintf((*function)->name, sizeof(*function)->name, "%s", name);
  return 0;
}
static cu_result cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes, CUmodule module,
                                      const char *name) {
  if (strcmp(name, "count") != 0) return PG_CU_NOT_FOUND;
  *pointer = (CUdeviceptr)(uintptr_t)module->variable;
  *bytes = sizeof module->variable;
  return 0;
}
static cu_result cuModuleGetFunctionCount(unsigned *count, CUmodule module) {
  (void)module;
  *count = 1;
  return 0;
}
static cu_result cuModuleEnumerateFunctions(CUfunction *functions, unsigned count,
                                            CUmodule module) {
  (void)count;
  snprintf(module->functions[7].name, 64, "listed");
  functions[0] = &module->functions[7];
  return 0;
}
static cu_result cuFuncGetName(const char **name, CUfunction function) {
  *name = function->name;
  return 0;
}
static cu_result cuFuncGetAttribute(int *value, unsigned attribute, CUfunction function) {
  (void)function;
  *value = attribute == PG_CU_FUNC_NUM_REGS                ? 40
           : attribute == PG_CU_FUNC_LOCAL_SIZE_BYTES      ? 8
           : attribute == PG_CU_FUNC_SHARED_SIZE_BYTES     ? 1024
           : attribute == PG_CU_FUNC_MAX_THREADS_PER_BLOCK ? 512
                                                           : -1;
  return 0;
}
static cu_result cuFuncSetAttribute(CUfunction function, unsigned attribute, int value) {
  if (attribute != PG_CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES) return PG_CU_INVALID_VALUE;
  function->max_dynamic_shared = value;
  fake.set_attributes++;
  return 0;
}
/* As saxpy in the PTX below: pointer, pointer, f32, s32. */
static cu_result cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
                                    size_t *size) {
  static const size_t layout[4][2] = {{0, 8}, {8, 8}, {16, 4}, {20, 4}};
  if (index >= 4 || strcmp(function->name, "bare") == 0) return PG_CU_INVALID_VALUE;
  *offset = layout[index][0];
  *size = layout[index][1];
  return 0;
}
static cu_result ran(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                     unsigned bz, unsigned shared) {
  memcpy(fake.grid, (unsigned[]){gx, gy, gz}, sizeof fake.grid);
  memcpy(fake.block, (unsigned[]){bx, by, bz}, sizeof fake.block);
  fake.shared = shared;
  if (fake.sticky) return fake.sticky;
  if (!strncmp(f->name, "fault", 5)) fake.sticky = (cu_result)atoi(f->name + 5);
  return 0;
}
static cu_result cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                unsigned by, unsigned bz, unsigned shared, CUstream stream,
                                void **params, void **extra) {
  (void)stream;
  if (params) return PG_CU_INVALID_VALUE;
  fake.param_bytes = 0;
  for (void **e = extra; e && *e; e += 2) {
    if ((uintptr_t)*e == PG_CU_LAUNCH_BUFFER_SIZE) fake.param_bytes = *(size_t *)e[1];
  }
  for (void **e = extra; e && *e; e += 2) {
    if ((uintptr_t)*e == PG_CU_LAUNCH_BUFFER_POINTER) memcpy(fake.params, e[1], fake.param_bytes);
  }
  return ran(f, gx, gy, gz, bx, by, bz, shared);
}
static cu_result cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                           unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                           CUstream stream, void **params) {
  (void)stream;
  if (gx > 1000) return PG_CU_COOPERATIVE_LAUNCH_TOO_LARGE;
  memcpy(fake.params, params[0], 8);
  memcpy(fake.params + 8, params[1], 8);
  memcpy(fake.params + 16, params[2], 4);
  memcpy(fake.params + 20, params[3], 4);
  fake.param_bytes = 24;
  return ran(f, gx, gy, gz, bx, by, bz, shared);
}
static cu_result cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
                                  void **extra) {
  const cu_launch_config *c = (const void *)config;
  fake.cooperative = false;
  memset(fake.cluster, 0, sizeof fake.cluster);
  for (unsigned i = 0; i < c->count; i++) {
    if (c->attributes[i].id == PG_CU_LAUNCH_ATTRIBUTE_CLUSTER)
      memcpy(fake.cluster, c->attributes[i].value.cluster, sizeof fake.cluster);
    if (c->attributes[i].id == PG_CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      fake.cooperative = c->attributes[i].value.cooperative;
  }
  if (fake.cluster[0] > 8) return PG_CU_INVALID_CLUSTER_SIZE;
  return cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
                        c->block[2], c->shared, c->stream, params, extra);
}
static cu_result cuTensorMapEncodeTiled(CUtensorMap *map, unsigned type, uint32_t rank, void *at,
                                        const uint64_t *shape, const uint64_t *strides,
                                        const uint32_t *box, const uint32_t *steps,
                                        unsigned interleave, unsigned swizzle, unsigned promotion,
                                        unsigned fill) {
  if ((uintptr_t)map % 64 || (uintptr_t)at % 16 || strides[0] % 16 || interleave || fill ||
      promotion != PG_CU_TENSOR_PROMOTE_256B || steps[0] != 1)
    return PG_CU_INVALID_VALUE;
  const uint64_t said[] = {type, rank, shape[0], shape[1], strides[0], box[0], box[1], swizzle};
  memcpy(map, said, sizeof said);
  return 0;
}
static cu_result cuStreamCreate(CUstream *stream, unsigned flags) {
  (void)flags;
  *stream = calloc(1, sizeof **stream);
  count_in(&fake.streams, 1);
  return 0;
}
static cu_result cuStreamSynchronize(CUstream stream) {
  if (stream) drain(stream, stream->count);
  return fake.sticky;
}
static cu_result cuStreamDestroy_v2(CUstream stream) {
  free(stream);
  count_in(&fake.streams, -1);
  return 0;
}
static cu_result cuEventCreate(CUevent *event, unsigned flags) {
  (void)flags;
  *event = calloc(1, sizeof **event);
  count_in(&fake.events, 1);
  return 0;
}
static cu_result cuEventRecord(CUevent event, CUstream stream) {
  event->stream = stream;
  event->upto = stream ? stream->count : 0;
  event->at_ms = fake.clock_ms;
  return 0;
}
static cu_result cuEventQuery(CUevent event) {
  if (fake.sticky) return fake.sticky;
  return event->stream && event->upto > 0 && event->stream->count > 0 ? PG_CU_NOT_READY : 0;
}
static cu_result cuEventSynchronize(CUevent event) {
  if (event->stream) drain(event->stream, event->upto);
  return fake.sticky;
}
static cu_result cuEventDestroy_v2(CUevent event) {
  free(event);
  count_in(&fake.events, -1);
  return 0;
}

/* A graph has the copies that were enqueued since its capture began. */
struct CUgraph_st {
  copy copies[8];
  size_t count;
};
static cu_result cuStreamBeginCapture_v2(CUstream stream, unsigned mode) {
  if (mode != PG_CU_CAPTURE_RELAXED) return PG_CU_INVALID_VALUE;
  fake.captured_from = stream->count;
  return fake.sticky;
}
static cu_result cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  CUgraph g = *graph = calloc(1, sizeof *g);
  count_in(&fake.graphs, 1);
  for (size_t i = fake.captured_from; i < stream->count; i++)
    g->copies[g->count++] = stream->pending[i];
  stream->count = fake.captured_from;
  return fake.sticky;
}
static cu_result cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                             unsigned long long flags) {
  if (flags) return PG_CU_INVALID_VALUE;
  CUgraph made = malloc(sizeof *made);
  *made = *graph;
  *exec = (CUgraphExec)(void *)made;
  count_in(&fake.graphs, 1);
  return 0;
}
static cu_result cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  CUgraph g = (CUgraph)(void *)exec;
  for (size_t i = 0; i < g->count; i++)
    enqueue(stream, g->copies[i].to, g->copies[i].from, g->copies[i].bytes);
  return fake.sticky;
}
static cu_result cuGraphDestroy(CUgraph graph) {
  free(graph);
  count_in(&fake.graphs, -1);
  return 0;
}
static cu_result cuGraphExecDestroy(CUgraphExec exec) {
  return cuGraphDestroy((CUgraph)(void *)exec);
}
static cu_result cuCtxResetPersistingL2Cache(void) {
  fake.unpinned++;
  return 0;
}
static cu_result cuEventElapsedTime_v2(float *ms, CUevent start, CUevent stop) {
  *ms = (float)(stop->at_ms - start->at_ms);
  return 0;
}
static cu_result cuEventElapsedTime(float *ms, CUevent start, CUevent stop) {
  *ms = (float)(stop->at_ms - start->at_ms) + 1000; /* told apart from the newer one */
  return 0;
}

static void *fake_find(void *context, const char *symbol) {
  (void)context;
  if (fake.absent && !strcmp(symbol, fake.absent)) return NULL;
#define PG_X(presence, name, function, arguments) \
  if (!strcmp(symbol, #function)) return (void *)(uintptr_t)function;
  PG_DRIVER_CALLS(PG_X)
#undef PG_X
  fail_msg("the device asked for %s, which driver.h does not list", symbol);
  return NULL;
}

/* ---- helpers ---- */

static pg_error error;

static void contains(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("expected \"%s\" in: %s", part, text);
}

static pg_code open_fake(int ordinal, pg_device **out) {
  pg_driver driver;
  memset(&error, 0, sizeof error);
  pg_code code = pg_driver_resolve(&driver, fake_find, NULL, &error);
  if (!code) code = pg_driver_init(&driver, &error);
  return code ? code : pg_cuda_open_with(&driver, ordinal, out, &error);
}

static pg_device *device;

static int setup(void **state) {
  (void)state;
  fake_reset();
  return open_fake(1, &device) != PG_OK;
}

/* Closing must give back everything, whatever a test left behind. */
static int teardown(void **state) {
  (void)state;
  pg_device_close(device);
  return fake.retained || fake.allocations || fake.pinned || fake.streams || fake.events ||
         fake.modules || fake.graphs;
}

static void ok(pg_code code) {
  if (code) fail_msg("%s: %s", pg_code_name(code), error.message);
}

static const char ptx[] =
    ".version 8.4\n.target sm_90\n.address_size 64\n"
    ".visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)\n"
    "{ ld.param.u64 %rd1, [x]; cvta.to.global.u64 %rd2, %rd1; ret; }\n"
    ".visible .entry bare() { trap; }\n.visible .entry fault700() { ret; }\n"
    ".visible .entry fault719() { ret; }\n";

static pg_kernel *kernel_of(const char *name) {
  pg_module *module;
  pg_kernel *kernel;
  ok(device->ops->load(device, ptx, sizeof ptx - 1, "test.ptx", &module, &error));
  ok(device->ops->kernel(device, module, name, &kernel, &error));
  return kernel;
}

static const struct {
  uint64_t x, y;
  float a;
  int32_t n;
} arguments = {0x1111, 0x2222, 2.5f, 7};

static pg_launch launch_of(pg_kernel *kernel) {
  return (pg_launch){.kernel = kernel,
                     .grid = {3, 2, 1},
                     .block = {128, 1, 1},
                     .params = &arguments,
                     .param_bytes = sizeof arguments};
}

/* ---- opening ---- */

static void info_tells_what_the_gpu_is(void **state) {
  (void)state;
  pg_device_info info;
  ok(device->ops->info(device, &info, &error));
  assert_string_equal(info.spec, "cuda:1");
  assert_string_equal(info.kind, "cuda");
  assert_string_equal(info.name, "Pretended GPU 1");
  assert_int_equal(info.cc_major, 9);
  assert_int_equal(info.cc_minor, 0);
  assert_int_equal(info.multiprocessors, 132);
  assert_int_equal(info.max_threads_per_block, 1024);
  assert_int_equal(info.max_grid[0], 2147483647);
  assert_int_equal(info.max_block[2], 64);
  assert_int_equal(info.shared_per_block, 49152);
  assert_int_equal(info.shared_per_block_optin, 232448);
  assert_int_equal(info.l2_bytes, 50 << 20);
  assert_true(info.memory_bytes == (size_t)80 << 30);
  assert_float_equal(info.memory_gbs, 4916.736, 1e-3);
  assert_true(info.gpu_clock);
  contains(info.driver, "CUDA 12.4");
}

static void an_ordinal_past_the_last_gpu_says_how_many_there_are(void **state) {
  (void)state;
  pg_device *none;
  assert_int_equal(open_fake(2, &none), PG_ENVIRONMENT);
  assert_null(none);
  contains(error.message, "cuda:2 does not exist: CUDA sees 2 GPUs");
  contains(error.hint, "cuda:0 to cuda:1");
}

static void a_driver_without_a_function_is_too_old(void **state) {
  (void)state;
  pg_device *none = NULL;
  fake.absent = "cuDevicePrimaryCtxRelease_v2";
  assert_int_equal(open_fake(0, &none), PG_ENVIRONMENT);
  contains(error.message, "too old: it lacks cuDevicePrimaryCtxRelease_v2");
}

static void a_driver_that_does_not_start_says_why(void **state) {
  (void)state;
  pg_device *none = NULL;
  fake.init = PG_CU_NO_DEVICE;
  assert_int_equal(open_fake(0, &none), PG_ENVIRONMENT);
  contains(error.hint, "CUDA_VISIBLE_DEVICES");
  fake.init = PG_CU_SYSTEM_DRIVER_MISMATCH;
  assert_int_equal(open_fake(0, &none), PG_ENVIRONMENT);
  contains(error.message, "(803)");
  contains(error.hint, "restart");
  fake.init = 0;
}

/* ---- memory ---- */

static void memory_goes_there_and_back(void **state) {
  (void)state;
  int there[100], back[100] = {0};
  for (int i = 0; i < 100; i++) there[i] = i * i;
  pg_ptr a, b;
  ok(device->ops->alloc(device, sizeof there, &a, &error));
  ok(device->ops->alloc(device, sizeof there, &b, &error));
  ok(device->ops->upload(device, a, there, sizeof there, NULL, &error));
  ok(device->ops->copy(device, b, a, sizeof there, NULL, &error));
  ok(device->ops->download(device, back, b, sizeof back, NULL, &error));
  assert_memory_equal(there, back, sizeof there);
  ok(device->ops->free(device, a, &error));
  ok(device->ops->free(device, 0, &error));
  assert_int_equal(fake.allocations, 1);
  assert_int_equal(device->ops->free(device, a, &error), PG_INVALID);
  assert_int_equal(device->ops->free(device, b + 4, &error), PG_INVALID);
}

static void many_buffers_are_told_apart(void **state) {
  (void)state;
  enum { COUNT = 200 };
  pg_ptr at[COUNT];
  char one = 1;
  for (size_t i = 0; i < COUNT; i++) ok(device->ops->alloc(device, 64 + i, &at[i], &error));
  for (size_t i = 0; i < COUNT; i += 2) ok(device->ops->free(device, at[i], &error));
  for (size_t i = 1; i < COUNT; i += 2) {
    ok(device->ops->upload(device, at[i] + 63 + i, &one, 1, NULL, &error)); /* its last byte */
    assert_int_equal(device->ops->fill(device, at[i] + 1, 0, 1, 64 + i, NULL, &error), PG_RANGE);
  }
}

static void a_copy_past_the_end_names_the_buffer(void **state) {
  (void)state;
  char bytes[128] = {0};
  pg_ptr at;
  ok(device->ops->alloc(device, 100, &at, &error));
  ok(device->ops->name(device, at, 100, "points", false, &error));
  assert_int_equal(device->ops->upload(device, at, bytes, 101, NULL, &error), PG_RANGE);
  assert_string_equal(error.message,
                      "uploading 101 bytes at offset 0 of buffer points, which has 100 bytes");
  assert_int_equal(device->ops->download(device, bytes, at + 90, 11, NULL, &error), PG_RANGE);
  assert_int_equal(device->ops->copy(device, at, at + 50, 60, NULL, &error), PG_RANGE);
  assert_int_equal(device->ops->upload(device, at, NULL, 4, NULL, &error), PG_INVALID);
}

static void no_memory_says_how_much_there_is(void **state) {
  (void)state;
  pg_ptr at = 1;
  assert_int_equal(device->ops->alloc(device, (size_t)1 << 40, &at, &error), PG_MEMORY);
  assert_true(at == 0);
  contains(error.message, "no room for 1099511627776 bytes: 12345 of 67890 are free");
  assert_int_equal(device->ops->alloc(device, 0, &at, &error), PG_RANGE);
}

static void fills_write_patterns(void **state) {
  (void)state;
  unsigned char back[12];
  pg_ptr at;
  ok(device->ops->alloc(device, 12, &at, &error));
  ok(device->ops->fill(device, at, 0x11, 1, 12, NULL, &error));
  ok(device->ops->fill(device, at + 2, 0x2233, 2, 1, NULL, &error));
  ok(device->ops->fill(device, at + 4, 0x7fc0dead, 4, 2, NULL, &error));
  ok(device->ops->download(device, back, at, 12, NULL, &error));
  static const unsigned char wanted[12] = {0x11, 0x11, 0x33, 0x22, 0xad, 0xde,
                                           0xc0, 0x7f, 0xad, 0xde, 0xc0, 0x7f};
  assert_memory_equal(back, wanted, 12);
  assert_int_equal(device->ops->fill(device, at, 0, 3, 1, NULL, &error), PG_INVALID);
  assert_int_equal(device->ops->fill(device, at + 2, 0, 4, 1, NULL, &error), PG_INVALID);
  assert_int_equal(device->ops->fill(device, at, 0, 4, SIZE_MAX / 2, NULL, &error), PG_RANGE);
}

/* Large copies: the transfers of the pretended streams happen late, so a pinned buffer that is used
 * again too early, or read before its transfer, shows as wrong bytes. */
static void large_copies_arrive_whole(void **state) {
  (void)state;
  size_t bytes = PG_STAGING_FROM * 3 + 12345, words = bytes / 4;
  uint32_t *there = malloc(bytes), *back = malloc(bytes);
  pg_ptr at;
  for (size_t i = 0; i < words; i++) there[i] = (uint32_t)(i * 2654435761u);
  memset((char *)there + words * 4, 0x5a, bytes - words * 4);
  ok(device->ops->alloc(device, bytes + 8, &at, &error));
  for (int pinned = 1; pinned >= 0;
       pinned--) { /* then again with a driver that has no pinned memory */
    memset(back, 0, bytes);
    memset(HOST(at), 0, bytes + 8);
    ok(device->ops->upload(device, at + 8, there, bytes, NULL, &error));
    assert_memory_equal(HOST(at + 8), there, bytes);
    ok(device->ops->download(device, back, at + 8, bytes, NULL, &error));
    assert_memory_equal(back, there, bytes);
    assert_true(pinned == 0 || fake.pinned > 0);
    pg_staging_free((pg_cuda *)device);
    fake.no_pinned = true;
  }
  free(there);
  free(back);
}

static void a_large_copy_reports_a_fault(void **state) {
  (void)state;
  size_t bytes = PG_STAGING_FROM;
  void *host = calloc(1, bytes);
  pg_ptr at;
  ok(device->ops->alloc(device, bytes, &at, &error));
  ok(device->ops->upload(device, at, host, bytes, NULL, &error));
  fake.sticky = PG_CU_ILLEGAL_ADDRESS;
  assert_int_equal(device->ops->download(device, host, at, bytes, NULL, &error), PG_LAUNCH);
  free(host);
}

/* ---- modules ---- */

static void kernels_tell_their_parameters(void **state) {
  (void)state;
  pg_kernel_info info;
  ok(device->ops->kernel_info(device, kernel_of("saxpy"), &info, &error));
  assert_string_equal(info.name, "saxpy");
  assert_int_equal(info.param_count, 4);
  static const pg_param wanted[] = {{0, 8, 'p'}, {8, 8, 'i'}, {16, 4, 'f'}, {20, 4, 'i'}};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(info.params[i].offset, wanted[i].offset);
    assert_int_equal(info.params[i].size, wanted[i].size);
    assert_int_equal(info.params[i].kind, wanted[i].kind);
  }
  assert_int_equal(info.param_bytes, 24);
  assert_int_equal(info.registers, 40);
  assert_int_equal(info.local_bytes, 8);
  assert_int_equal(info.shared_bytes, 1024);
  assert_int_equal(info.max_threads, 512);
}

static void parameters_come_from_the_text_on_an_older_driver(void **state) {
  (void)state;
  pg_kernel_info newer, older;
  ok(device->ops->kernel_info(device, kernel_of("saxpy"), &newer, &error));
  pg_device_close(device);
  fake.absent = "cuFuncGetParamInfo";
  ok(open_fake(0, &device));
  ok(device->ops->kernel_info(device, kernel_of("saxpy"), &older, &error));
  assert_memory_equal(&newer, &older, sizeof newer);
}

static void a_kernel_is_looked_up_once(void **state) {
  (void)state;
  pg_module *module;
  pg_kernel *a, *b;
  ok(device->ops->load(device, ptx, sizeof ptx - 1, "test.ptx", &module, &error));
  ok(device->ops->kernel(device, module, "saxpy", &a, &error));
  ok(device->ops->kernel(device, module, "saxpy", &b, &error));
  assert_ptr_equal(a, b);
  assert_string_equal(device->ops->kernel_name(device, module, 0), "saxpy");
  assert_string_equal(device->ops->kernel_name(device, module, 3), "fault719");
  assert_null(device->ops->kernel_name(device, module, 4));
  assert_null(device->ops->kernel_name(device, module, -1));
}

static void a_wrong_kernel_name_suggests_the_nearest(void **state) {
  (void)state;
  pg_module *module;
  pg_kernel *kernel;
  ok(device->ops->load(device, ptx, sizeof ptx - 1, "test.ptx", &module, &error));
  assert_int_equal(device->ops->kernel(device, module, "fault700_missing", &kernel, &error),
                   PG_NOT_FOUND);
  assert_string_equal(error.message, "test.ptx has no kernel fault700_missing");
  contains(error.hint, "its kernels: saxpy, bare, fault700, fault719");
  static const char near[] = ".version 8.4\n.entry missin() { ret; }";
  ok(device->ops->load(device, near, sizeof near - 1, "near.ptx", &module, &error));
  assert_int_equal(device->ops->kernel(device, module, "missing", &kernel, &error), PG_NOT_FOUND);
  contains(error.hint, "did you mean missin?");
}

static void ptx_newer_than_the_driver_says_so(void **state) {
  (void)state;
  static const char newer[] = ".version 9.0\n.target sm_90\n.entry k() { ret; }";
  pg_module *module;
  fake.load = PG_CU_UNSUPPORTED_PTX_VERSION;
  assert_int_equal(device->ops->load(device, newer, sizeof newer - 1, "k.ptx", &module, &error),
                   PG_UNSUPPORTED);
  assert_null(module);
  assert_string_equal(error.message,
                      "k.ptx is PTX 9.0, which needs a driver for CUDA 13.0 or newer; "
                      "this one is for CUDA 12.4");
  contains(error.hint, "NVRTC 12.x");
}

static void wrong_ptx_gives_its_line(void **state) {
  (void)state;
  pg_module *module;
  fake.load = PG_CU_INVALID_PTX;
  fake.load_log = "ptxas application ptx input, line 12; error   : Unknown symbol 'x'\nptxas fatal";
  assert_int_equal(device->ops->load(device, ptx, sizeof ptx - 1, "k.ptx", &module, &error),
                   PG_SYNTAX);
  assert_string_equal(error.message, "k.ptx:12: Unknown symbol 'x'");
  assert_string_equal(error.where, "k.ptx:12");
  fake.load = PG_CU_NO_BINARY_FOR_GPU;
  assert_int_equal(device->ops->load(device, ptx, sizeof ptx - 1, "k.ptx", &module, &error),
                   PG_UNSUPPORTED);
  contains(error.hint, "compute_90");
}

static void what_is_no_ptx_is_refused(void **state) {
  (void)state;
  pg_module *module;
  assert_int_equal(device->ops->load(device, "hello", 5, "hello.ptx", &module, &error), PG_SYNTAX);
  contains(error.message, "hello.ptx is neither PTX");
  assert_int_equal(device->ops->load(device, "", 0, "empty", &module, &error), PG_SYNTAX);
}

/* A cubin as far as its outer shape goes: one section of 100 bytes. */
static size_t make_cubin(char image[512]) {
  Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                     .e_shoff = sizeof head,
                     .e_shentsize = sizeof(Elf64_Shdr),
                     .e_shnum = 1};
  Elf64_Shdr section = {.sh_type = SHT_PROGBITS, .sh_offset = 300, .sh_size = 100};
  memset(image, 0, 512);
  memcpy(image, &head, sizeof head);
  memcpy(image + sizeof head, &section, sizeof section);
  return 400;
}

static void a_cubin_lists_its_kernels(void **state) {
  (void)state;
  pg_module *module;
  pg_kernel *kernel;
  pg_kernel_info info;
  char image[512];
  size_t bytes = make_cubin(image);
  ok(device->ops->load(device, image, bytes, "k.cubin", &module, &error));
  assert_string_equal(device->ops->kernel_name(device, module, 0), "listed");
  ok(device->ops->kernel(device, module, "listed", &kernel, &error));
  ok(device->ops->kernel_info(device, kernel, &info, &error));
  assert_int_equal(info.param_count, 4);
  assert_int_equal(info.params[0].kind, '?');
}

static void a_cubin_that_was_cut_short_never_reaches_the_driver(void **state) {
  (void)state;
  pg_module *module;
  char image[512], fat[32] = {0x50, (char)0xed, 0x55, (char)0xba, 1, 0, 16, 0, 16};
  for (size_t bytes = make_cubin(image) - 1; bytes >= 4; bytes--)
    assert_int_equal(device->ops->load(device, image, bytes, "k.cubin", &module, &error),
                     PG_SYNTAX);
  contains(error.message, "k.cubin is a cubin that was cut short");
  ok(device->ops->load(device, fat, 32, "k.fatbin", &module, &error));
  for (size_t bytes = 31; bytes >= 4; bytes--)
    assert_int_equal(device->ops->load(device, fat, bytes, "k.fatbin", &module, &error), PG_SYNTAX);
}

/* ---- launches ---- */

static void a_launch_passes_shape_and_arguments(void **state) {
  (void)state;
  pg_launch launch = launch_of(kernel_of("saxpy"));
  launch.shared = 100;
  for (int cooperative = 0; cooperative < 2; cooperative++) {
    memset(fake.params, 0, sizeof fake.params);
    launch.cooperative = cooperative;
    ok(device->ops->launch(device, &launch, NULL, &error));
    assert_int_equal(fake.param_bytes, sizeof arguments);
    assert_memory_equal(fake.params, &arguments, sizeof arguments);
    assert_int_equal(fake.grid[0], 3);
    assert_int_equal(fake.grid[1], 2);
    assert_int_equal(fake.block[0], 128);
    assert_int_equal(fake.shared, 100);
  }
  assert_int_equal(fake.set_attributes, 0);
}

static void a_launch_may_have_clusters(void **state) {
  (void)state;
  pg_launch launch = launch_of(kernel_of("saxpy"));
  memcpy(launch.cluster, (uint32_t[]){3, 2, 1}, sizeof launch.cluster);
  for (int cooperative = 0; cooperative < 2; cooperative++) {
    launch.cooperative = cooperative;
    ok(device->ops->launch(device, &launch, NULL, &error));
    assert_memory_equal(fake.params, &arguments, sizeof arguments);
    assert_memory_equal(fake.cluster, launch.cluster, sizeof launch.cluster);
    assert_int_equal(fake.cooperative, cooperative);
    assert_int_equal(fake.grid[0], 3);
    assert_int_equal(fake.block[0], 128);
  }
  launch.cluster[0] = 9;
  assert_int_equal(device->ops->launch(device, &launch, NULL, &error), PG_LAUNCH);
  contains(error.hint, "at most 8 blocks");
}

/* Row-major extents become the driver's, which start with what runs fastest. */
static void a_tensor_map_is_what_the_driver_encodes(void **state) {
  (void)state;
  uint64_t map[16];
  pg_tensor t = {.scalar = PG_BF16, .rank = 2, .shape = {100, 64}, .box = {16, 8}, .swizzle = 128};
  const uint64_t want[] = {9, 2, 64, 100, 128, 8, 16, 3};
  ok(device->ops->tensor_map(device, 1 << 20, &t, map, &error));
  assert_memory_equal(map, want, sizeof want);
  t.shape[1] = 63;
  assert_int_equal(device->ops->tensor_map(device, 1 << 20, &t, map, &error), PG_LAUNCH);
  contains(error.hint, "rows are multiples of 16 bytes");
  t.scalar = PG_STRUCT;
  assert_int_equal(device->ops->tensor_map(device, 1 << 20, &t, map, &error), PG_UNSUPPORTED);
}

static void wrong_launches_are_refused_before_they_run(void **state) {
  (void)state;
  pg_launch good = launch_of(kernel_of("saxpy")), bad = good;
  bad.grid[1] = 0;
  assert_int_equal(device->ops->launch(device, &bad, NULL, &error), PG_LAUNCH);
  assert_string_equal(error.message, "kernel saxpy: grid.y is 0, expected 1 to 65535");
  bad = good, bad.block[2] = 65;
  assert_int_equal(device->ops->launch(device, &bad, NULL, &error), PG_LAUNCH);
  bad = good, bad.block[0] = 513;
  assert_int_equal(device->ops->launch(device, &bad, NULL, &error), PG_LAUNCH);
  contains(error.message, "has 513 threads, at most 512");
  contains(error.hint, "40 registers");
  bad = good, bad.param_bytes = 16;
  assert_int_equal(device->ops->launch(device, &bad, NULL, &error), PG_LAUNCH);
  contains(error.message, "takes 24 bytes of arguments, got 16");
  bad = good, bad.shared = 232448 - 1024 + 1;
  assert_int_equal(device->ops->launch(device, &bad, NULL, &error), PG_LAUNCH);
  bad = good, bad.cooperative = true, bad.grid[0] = 1001;
  assert_int_equal(device->ops->launch(device, &bad, NULL, &error), PG_LAUNCH);
  contains(error.hint, "fit on the GPU at once");
  ok(device->ops->launch(device, &good, NULL, &error));
  ok(device->ops->sync(device, &error));
}

static void much_shared_memory_is_asked_for_once(void **state) {
  (void)state;
  pg_launch launch = launch_of(kernel_of("saxpy"));
  launch.shared = 49152 - 1024;
  ok(device->ops->launch(device, &launch, NULL, &error));
  assert_int_equal(fake.set_attributes, 0);
  launch.shared = 100000;
  ok(device->ops->launch(device, &launch, NULL, &error));
  ok(device->ops->launch(device, &launch, NULL, &error));
  assert_int_equal(fake.set_attributes, 1);
}

static pg_fault_kind fault_of(cu_result result) {
  char text[128];
  pg_module *module;
  pg_kernel *kernel;
  pg_fault fault;
  pg_device_close(device);
  fake.sticky = 0;
  ok(open_fake(0, &device));
  snprintf(text, sizeof text, ".version 8.4\n.visible .entry fault%u() { %s; }", result,
           result == PG_CU_LAUNCH_FAILED ? "trap" : "ret");
  fake.absent = "cuFuncGetParamInfo";
  pg_device_close(device);
  ok(open_fake(0, &device));
  ok(device->ops->load(device, text, strlen(text), "f.ptx", &module, &error));
  ok(device->ops->kernel(device, module, device->ops->kernel_name(device, module, 0), &kernel,
                         &error));
  pg_launch launch = {.kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}};
  ok(device->ops->launch(device, &launch, NULL, &error));
  device->ops->fault(device, &fault);
  assert_int_equal(fault.kind, PG_FAULT_NONE); /* nobody has waited yet */
  pg_code code = device->ops->sync(device, &error);
  assert_int_equal(code, result == PG_CU_LAUNCH_TIMEOUT ? PG_TIMEOUT : PG_LAUNCH);
  device->ops->fault(device, &fault);
  assert_false(fault.located);
  snprintf(text, sizeof text, "fault%u", result);
  assert_string_equal(fault.kernel, text);
  return fault.kind;
}

static void every_fault_has_its_kind(void **state) {
  (void)state;
  assert_int_equal(fault_of(PG_CU_ILLEGAL_ADDRESS), PG_FAULT_OUT_OF_BOUNDS);
  assert_int_equal(fault_of(PG_CU_MISALIGNED_ADDRESS), PG_FAULT_MISALIGNED);
  assert_int_equal(fault_of(PG_CU_ASSERT), PG_FAULT_TRAP);
  assert_int_equal(fault_of(PG_CU_ILLEGAL_INSTRUCTION), PG_FAULT_TRAP);
  assert_int_equal(fault_of(PG_CU_LAUNCH_TIMEOUT), PG_FAULT_TIMEOUT);
  assert_int_equal(fault_of(PG_CU_LAUNCH_FAILED), PG_FAULT_TRAP); /* its PTX has a trap */
  assert_int_equal(fault_of(PG_CU_INVALID_PC), PG_FAULT_OTHER);
}

static void after_a_fault_the_device_only_tells_of_it(void **state) {
  (void)state;
  pg_kernel *saxpy = kernel_of("saxpy");
  pg_launch launch = launch_of(saxpy), bad = launch_of(kernel_of("fault700"));
  pg_stream *stream;
  pg_event *event;
  pg_ptr at;
  pg_fault fault;
  char byte = 0;
  ok(device->ops->stream_new(device, &stream, &error));
  ok(device->ops->event_new(device, &event, &error));
  ok(device->ops->alloc(device, 64, &at, &error));
  ok(device->ops->launch(device, &launch, NULL, &error));
  ok(device->ops->launch(device, &bad, NULL, &error));
  assert_int_equal(device->ops->sync(device, &error), PG_LAUNCH);
  contains(error.message, "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access");
  contains(error.hint, "sim:check");
  device->ops->fault(device, &fault);
  assert_int_equal(fault.kind, PG_FAULT_OUT_OF_BOUNDS);
  contains(fault.text, "one of those launched since the last sync; the last was fault700");

  assert_int_equal(device->ops->launch(device, &launch, NULL, &error), PG_LAUNCH);
  contains(error.message, "cuda:1 has stopped after a fault: CUDA_ERROR_ILLEGAL_ADDRESS");
  assert_int_equal(device->ops->alloc(device, 64, &at, &error), PG_LAUNCH);
  assert_int_equal(device->ops->upload(device, at, &byte, 1, NULL, &error), PG_LAUNCH);
  assert_int_equal(device->ops->event_record(device, event, stream, &error), PG_LAUNCH);
  assert_int_equal(device->ops->stream_sync(device, stream, &error), PG_LAUNCH);
  device->ops->stream_free(device, stream);
  device->ops->event_free(device, event);
  device->ops->fault(device, &fault);
  assert_int_equal(fault.kind, PG_FAULT_OUT_OF_BOUNDS);
}

static void a_fault_is_known_by_its_kernel_after_a_sync(void **state) {
  (void)state;
  pg_launch launch = launch_of(kernel_of("saxpy")), bad = launch_of(kernel_of("fault700"));
  pg_fault fault;
  ok(device->ops->launch(device, &launch, NULL, &error));
  ok(device->ops->sync(device, &error));
  ok(device->ops->launch(device, &bad, NULL, &error));
  assert_int_equal(device->ops->sync(device, &error), PG_LAUNCH);
  device->ops->fault(device, &fault);
  contains(fault.text, "kernel: fault700\n");
}

/* ---- time ---- */

static void events_measure_microseconds(void **state) {
  (void)state;
  pg_event *start, *stop;
  double us;
  ok(device->ops->event_new(device, &start, &error));
  ok(device->ops->event_new(device, &stop, &error));
  fake.clock_ms = 1.0;
  ok(device->ops->event_record(device, start, NULL, &error));
  fake.clock_ms = 1.5;
  ok(device->ops->event_record(device, stop, NULL, &error));
  ok(device->ops->event_elapsed(device, start, stop, &us, &error));
  assert_true(us == 500.0);
}

static void an_event_is_pending_until_the_stream_comes_to_it(void **state) {
  (void)state;
  pg_event *event;
  pg_stream *stream;
  pg_ptr a, b;
  ok(device->ops->event_new(device, &event, &error));
  ok(device->ops->stream_new(device, &stream, &error));
  ok(device->ops->alloc(device, 64, &a, &error));
  ok(device->ops->alloc(device, 64, &b, &error));
  ok(device->ops->copy(device, b, a, 64, stream, &error));
  ok(device->ops->event_record(device, event, stream, &error));
  assert_true(device->ops->event_pending(device, event));
  ok(device->ops->stream_sync(device, stream, &error));
  assert_false(device->ops->event_pending(device, event));
}

static void a_graph_does_later_what_was_enqueued(void **state) {
  (void)state;
  pg_stream *stream;
  pg_graph *graph, *left;
  pg_ptr a, b;
  ok(device->ops->stream_new(device, &stream, &error));
  ok(device->ops->alloc(device, 64, &a, &error));
  ok(device->ops->alloc(device, 64, &b, &error));
  memset(HOST(a), 5, 64);
  memset(HOST(b), 0, 64);
  ok(device->ops->graph_begin(device, stream, &error));
  ok(device->ops->copy(device, b, a, 64, stream, &error));
  ok(device->ops->graph_end(device, stream, &graph, &error));
  ok(device->ops->stream_sync(device, stream, &error));
  assert_int_equal(*(char *)HOST(b), 0);
  ok(device->ops->graph_launch(device, graph, stream, &error));
  ok(device->ops->stream_sync(device, stream, &error));
  assert_int_equal(*(char *)HOST(b), 5);
  device->ops->graph_free(device, graph);
  assert_int_equal(fake.graphs, 0);
  ok(device->ops->graph_begin(device, stream, &error));
  ok(device->ops->graph_end(device, stream, NULL, &error)); /* given up */
  assert_int_equal(fake.graphs, 0);
  ok(device->ops->graph_begin(device, stream, &error));
  ok(device->ops->graph_end(device, stream, &left, &error)); /* closing frees it */
}

static void a_driver_without_graphs_says_so(void **state) {
  (void)state;
  pg_stream *stream;
  pg_device_close(device);
  fake.absent = "cuGraphLaunch";
  ok(open_fake(0, &device));
  ok(device->ops->stream_new(device, &stream, &error));
  assert_int_equal(device->ops->graph_begin(device, stream, &error), PG_UNSUPPORTED);
  contains(error.hint, "11.4");
}

static void a_variable_of_a_module_has_a_place(void **state) {
  (void)state;
  pg_module *module;
  pg_ptr at;
  size_t bytes;
  ok(device->ops->load(device, ptx, sizeof ptx - 1, "test.ptx", &module, &error));
  ok(device->ops->global(device, module, "count", &at, &bytes, &error));
  assert_int_equal(bytes, 2 * sizeof(int));
  assert_int_equal(device->ops->global(device, module, "other", &at, &bytes, &error), PG_NOT_FOUND);
}

static void what_stays_in_l2_is_given_up(void **state) {
  (void)state;
  device->ops->unpin(device);
  assert_int_equal(fake.unpinned, 1);
}

static void health_is_unknown_without_nvml(void **state) {
  (void)state;
  pg_cuda *cuda = (pg_cuda *)device;
  cuda->nvml.state = PG_NVML_ABSENT;
  pg_health health;
  device->ops->health(device, &health);
  assert_int_equal(health.sm_clock_mhz, -1);
  assert_int_equal(health.temperature_c, -1);
  assert_true(health.throttle_reasons == -1);
}

#define ON_DEVICE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      ON_DEVICE(info_tells_what_the_gpu_is),
      ON_DEVICE(an_ordinal_past_the_last_gpu_says_how_many_there_are),
      ON_DEVICE(a_driver_without_a_function_is_too_old),
      ON_DEVICE(a_driver_that_does_not_start_says_why),
      ON_DEVICE(memory_goes_there_and_back),
      ON_DEVICE(many_buffers_are_told_apart),
      ON_DEVICE(a_copy_past_the_end_names_the_buffer),
      ON_DEVICE(no_memory_says_how_much_there_is),
      ON_DEVICE(fills_write_patterns),
      ON_DEVICE(large_copies_arrive_whole),
      ON_DEVICE(a_large_copy_reports_a_fault),
      ON_DEVICE(kernels_tell_their_parameters),
      ON_DEVICE(parameters_come_from_the_text_on_an_older_driver),
      ON_DEVICE(a_kernel_is_looked_up_once),
      ON_DEVICE(a_wrong_kernel_name_suggests_the_nearest),
      ON_DEVICE(ptx_newer_than_the_driver_says_so),
      ON_DEVICE(wrong_ptx_gives_its_line),
      ON_DEVICE(what_is_no_ptx_is_refused),
      ON_DEVICE(a_cubin_lists_its_kernels),
      ON_DEVICE(a_cubin_that_was_cut_short_never_reaches_the_driver),
      ON_DEVICE(a_launch_passes_shape_and_arguments),
      ON_DEVICE(a_launch_may_have_clusters),
      ON_DEVICE(a_tensor_map_is_what_the_driver_encodes),
      ON_DEVICE(wrong_launches_are_refused_before_they_run),
      ON_DEVICE(much_shared_memory_is_asked_for_once),
      ON_DEVICE(every_fault_has_its_kind),
      ON_DEVICE(after_a_fault_the_device_only_tells_of_it),
      ON_DEVICE(a_fault_is_known_by_its_kernel_after_a_sync),
      ON_DEVICE(events_measure_microseconds),
      ON_DEVICE(an_event_is_pending_until_the_stream_comes_to_it),
      ON_DEVICE(a_graph_does_later_what_was_enqueued),
      ON_DEVICE(a_driver_without_graphs_says_so),
      ON_DEVICE(a_variable_of_a_module_has_a_place),
      ON_DEVICE(what_stays_in_l2_is_given_up),
      ON_DEVICE(health_is_unknown_without_nvml),
  };
  return cmocka_run_group_tests_name("cuda", tests, NULL, NULL);
}
