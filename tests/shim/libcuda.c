/* A CUDA driver whose GPU is the simulator: what host/cuda asks of libcuda.so.1, so that everything
 * above it (the device, the bindings, the judge's GPU path) runs on a machine without a GPU. Found
 * through LD_LIBRARY_PATH. Launches run at once, but a fault shows at the next call and stays, as
 * on a GPU. With PG_SHIM_COUNTS its clock counts work instead of time, so that a busy computer
 * changes nothing. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/driver.h"
#include "device.h"
#include "sim/sim.h"

#define EXPORT __attribute__((visibility("default"))) cu_result

struct CUstream_st {
  int unused;
};
struct CUevent_st {
  double at; /* seconds; 0: not recorded */
};
struct CUfunc_st {
  pg_kernel *kernel;
  pg_kernel_info info;
  CUfunction next;
};
struct CUmod_st {
  pg_module *module;
  CUfunction functions;
};

/* What a stream captures: a launch with its parameters, or bytes that are set or copied. */
typedef struct node {
  pg_launch launch; /* without a kernel: `pattern` of `size` bytes, `count` times, or a copy */
  CUdeviceptr to, from;
  uint32_t pattern, size;
  size_t count; /* of a copy: its bytes, and `size` is 0 */
} node;
struct CUgraph_st {
  node *nodes;
  size_t count;
};
struct CUgraphExec_st {
  struct CUgraph_st graph;
};

enum { MEMORY = 1 << 30 }; /* bytes that this GPU has */

static pg_device *sim;
static pg_error error;
static cu_result sticky; /* the fault that ended the context */
static size_t used;
static _Thread_local CUgraph capturing; /* what is enqueued goes here and does not run */
static pthread_mutex_t one_at_a_time = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* As a driver's, calls may come from many threads. */
static pthread_mutex_t *enter(void) {
  pthread_mutex_lock(&one_at_a_time);
  return &one_at_a_time;
}

static void leave(pthread_mutex_t **held) {
  pthread_mutex_unlock(*held);
}

#define ALONE __attribute__((cleanup(leave), unused)) pthread_mutex_t *held = enter()

#ifdef PG_SHIM_COUNTS
/* Times differ by up to 2% as those of a GPU do, by a fixed sequence: else two samples would do. */
static double jitter(void) {
  static uint32_t state = 1;
  state = state * 1664525 + 1013904223;
  return 1 + 0.02 * (2 * (double)state / UINT32_MAX - 1);
}

static const pg_sim_mode mode = PG_SIM_PROFILE;
enum { SECTOR = 4 }; /* instructions that moving 32 bytes takes as long as */

/* Atomics pay as instructions only: what a cheat keeps by them must not hide what it saves. */
static double now(void) {
  pg_counters done;
  sim->ops->counters(sim, &done, false);
  return 1 + 1e-9 * (double)(done.warp_instructions +
                             SECTOR * (done.global_load_sectors + done.global_store_sectors));
}
#else
static double jitter(void) {
  return 1;
}

static const pg_sim_mode mode = PG_SIM_PLAIN;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#endif

static cu_result answer(pg_code code) {
  return sticky ? sticky : code ? PG_CU_INVALID_VALUE : PG_CU_SUCCESS;
}

/* ---- the driver and its one device ---- */

EXPORT cuInit(unsigned flags) {
  ALONE;
  pg_sim_options options = {.mode = mode, .limit_s = 20};
  if (flags) return PG_CU_INVALID_VALUE;
  return sim || pg_sim_open(&options, &sim, &error) == PG_OK ? PG_CU_SUCCESS : PG_CU_UNKNOWN;
}

EXPORT cuDriverGetVersion(int *version) {
  *version = 13000;
  return PG_CU_SUCCESS;
}

EXPORT cuGetErrorName(cu_result result, const char **name) {
  switch (result) {
#define PG_X(id, number, is_sticky, code) \
  case number: *name = "CUDA_ERROR_" #id; return PG_CU_SUCCESS;
    PG_CU_ERRORS(PG_X)
#undef PG_X
  default: *name = NULL; return PG_CU_INVALID_VALUE;
  }
}

EXPORT cuGetErrorString(cu_result result, const char **text) {
  (void)result;
  *text = "as the simulated driver says";
  return PG_CU_SUCCESS;
}

EXPORT cuDeviceGetCount(int *count) {
  *count = 1;
  return PG_CU_SUCCESS;
}

EXPORT cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return PG_CU_SUCCESS;
}

EXPORT cuDeviceGetName(char *name, int bytes, CUdevice device) {
  (void)device;
  snprintf(name, (size_t)bytes, "simulated GPU");
  return PG_CU_SUCCESS;
}

EXPORT cuDeviceGetAttribute(int *value, unsigned attribute, CUdevice device) {
  ALONE;
  (void)device;
  pg_device_info info;
  if (sim->ops->info(sim, &info, &error)) return PG_CU_UNKNOWN;
  switch (attribute) {
  case PG_CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = info.max_threads_per_block; break;
  case PG_CU_ATTRIBUTE_MAX_BLOCK_DIM_X: *value = (int)info.max_block[0]; break;
  case PG_CU_ATTRIBUTE_MAX_BLOCK_DIM_Y: *value = (int)info.max_block[1]; break;
  case PG_CU_ATTRIBUTE_MAX_BLOCK_DIM_Z: *value = (int)info.max_block[2]; break;
  case PG_CU_ATTRIBUTE_MAX_GRID_DIM_X: *value = (int)info.max_grid[0]; break;
  case PG_CU_ATTRIBUTE_MAX_GRID_DIM_Y: *value = (int)info.max_grid[1]; break;
  case PG_CU_ATTRIBUTE_MAX_GRID_DIM_Z: *value = (int)info.max_grid[2]; break;
  case PG_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = (int)info.shared_per_block; break;
  case PG_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = (int)info.shared_per_block_optin;
    break;
  case PG_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 8; break; /* soon full */
  case PG_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = info.cc_major; break;
  case PG_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = info.cc_minor; break;
  case PG_CU_ATTRIBUTE_L2_CACHE_SIZE: *value = 1 << 20; break; /* small: flushes are quick */
  default: return PG_CU_INVALID_VALUE;
  }
  return PG_CU_SUCCESS;
}

EXPORT cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  (void)device;
  *bytes = MEMORY;
  return PG_CU_SUCCESS;
}

EXPORT cuDeviceGetPCIBusId(char *id, int bytes, CUdevice device) {
  (void)device;
  snprintf(id, (size_t)bytes, "0000:01:00.0");
  return PG_CU_SUCCESS;
}

EXPORT cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  ALONE;
  (void)device;
  *context = (CUcontext)(void *)&sim;
  return PG_CU_SUCCESS;
}

EXPORT cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  (void)device;
  return PG_CU_SUCCESS;
}

EXPORT cuCtxSetCurrent(CUcontext context) {
  (void)context;
  return PG_CU_SUCCESS;
}

EXPORT cuCtxSynchronize(void) {
  ALONE;
  return sticky;
}

/* NVRTC asks a driver for this, and does without it. */
EXPORT cuGetExportTable(const void **table, const void *id);
EXPORT cuGetExportTable(const void **table, const void *id) {
  (void)id;
  *table = NULL;
  return PG_CU_NOT_FOUND;
}

/* ---- memory ---- */

EXPORT cuMemGetInfo_v2(size_t *available, size_t *total) {
  ALONE;
  *total = MEMORY;
  *available = MEMORY - used;
  return PG_CU_SUCCESS;
}

/* The size is kept before the start, where it costs an allocation's alignment. */
EXPORT cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  ALONE;
  pg_ptr at;
  if (bytes > MEMORY - used) return PG_CU_OUT_OF_MEMORY;
  if (sim->ops->alloc(sim, bytes + 256, &at, &error)) return PG_CU_OUT_OF_MEMORY;
  sim->ops->upload(sim, at, &bytes, sizeof bytes, NULL, &error);
  used += bytes;
  *pointer = at + 256;
  return sticky;
}

EXPORT cuMemFree_v2(CUdeviceptr pointer) {
  ALONE;
  size_t bytes = 0;
  pg_code code = sim->ops->download(sim, &bytes, pointer - 256, sizeof bytes, NULL, &error);
  if (!code) code = sim->ops->free(sim, pointer - 256, &error);
  used -= bytes;
  return answer(code);
}

EXPORT cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  (void)flags;
  *pointer = malloc(bytes);
  return *pointer ? PG_CU_SUCCESS : PG_CU_OUT_OF_MEMORY;
}

EXPORT cuMemFreeHost(void *pointer) {
  free(pointer);
  return PG_CU_SUCCESS;
}

EXPORT cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  ALONE;
  return answer(sim->ops->upload(sim, to, from, bytes, NULL, &error));
}

EXPORT cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  ALONE;
  return answer(sim->ops->download(sim, to, from, bytes, NULL, &error));
}

EXPORT cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  (void)stream;
  return cuMemcpyHtoD_v2(to, from, bytes);
}

EXPORT cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  (void)stream;
  return cuMemcpyDtoH_v2(to, from, bytes);
}

static cu_result capture(node one) {
  node *nodes = realloc(capturing->nodes, (capturing->count + 1) * sizeof *nodes);
  if (!nodes) return PG_CU_OUT_OF_MEMORY;
  capturing->nodes = nodes;
  nodes[capturing->count++] = one;
  return sticky;
}

static cu_result move(node one) {
  if (capturing) return capture(one);
  if (one.size == 0) return answer(sim->ops->copy(sim, one.to, one.from, one.count, NULL, &error));
  return answer(sim->ops->fill(sim, one.to, one.pattern, one.size, one.count, NULL, &error));
}

EXPORT cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ALONE;
  (void)stream;
  return move((node){.to = to, .from = from, .count = bytes});
}

EXPORT cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  ALONE;
  (void)stream;
  return move((node){.to = to, .pattern = value, .size = 1, .count = count});
}

EXPORT cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  ALONE;
  (void)stream;
  return move((node){.to = to, .pattern = value, .size = 2, .count = count});
}

EXPORT cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  ALONE;
  (void)stream;
  return move((node){.to = to, .pattern = value, .size = 4, .count = count});
}

/* ---- modules ---- */

EXPORT cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, unsigned *options,
                          void **values) {
  ALONE;
  pg_module *loaded;
  if (!memcmp(image, "\177ELF", 4)) return PG_CU_INVALID_IMAGE;
  if (sim->ops->load(sim, image, strlen(image), "ptx", &loaded, &error)) {
    const char *line = strrchr(error.where, ':');
    for (unsigned i = 0; i < count; i++)
      if (options[i] == PG_CU_JIT_ERROR_LOG_BUFFER) /* the caller's has room for a message */
        snprintf(values[i], PG_MESSAGE_MAX,
                 "ptxas application ptx input, line %s; error   : %.1000s", line ? line + 1 : "0",
                 error.message);
    return PG_CU_INVALID_PTX;
  }
  *module = calloc(1, sizeof **module);
  (*module)->module = loaded;
  return sticky;
}

EXPORT cuModuleUnload(CUmodule module) {
  ALONE;
  while (module->functions) {
    CUfunction first = module->functions;
    module->functions = first->next;
    free(first);
  }
  sim->ops->unload(sim, module->module);
  free(module);
  return sticky;
}

EXPORT cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  ALONE;
  pg_kernel *kernel;
  if (sim->ops->kernel(sim, module->module, name, &kernel, &error)) return PG_CU_NOT_FOUND;
  CUfunction made = calloc(1, sizeof *made);
  made->kernel = kernel;
  sim->ops->kernel_info(sim, kernel, &made->info, &error);
  made->next = module->functions;
  *function = module->functions = made;
  return sticky;
}

EXPORT cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes, CUmodule module,
                            const char *name) {
  ALONE;
  pg_ptr at;
  if (sim->ops->global(sim, module->module, name, &at, bytes, &error)) return PG_CU_NOT_FOUND;
  *pointer = at;
  return sticky;
}

EXPORT cuFuncGetAttribute(int *value, unsigned attribute, CUfunction function) {
  switch (attribute) {
  case PG_CU_FUNC_MAX_THREADS_PER_BLOCK: *value = function->info.max_threads; break;
  case PG_CU_FUNC_SHARED_SIZE_BYTES: *value = function->info.shared_bytes; break;
  case PG_CU_FUNC_LOCAL_SIZE_BYTES: *value = function->info.local_bytes; break;
  case PG_CU_FUNC_NUM_REGS: *value = 32; break;
  default: return PG_CU_INVALID_VALUE;
  }
  return PG_CU_SUCCESS;
}

EXPORT cuFuncSetAttribute(CUfunction function, unsigned attribute, int value) {
  (void)function, (void)attribute, (void)value;
  return PG_CU_SUCCESS;
}

EXPORT cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
  if (index >= (size_t)function->info.param_count) return PG_CU_INVALID_VALUE;
  *offset = function->info.params[index].offset;
  *size = function->info.params[index].size;
  return PG_CU_SUCCESS;
}

/* ---- launches ---- */

static cu_result result_of(pg_fault_kind kind) {
  switch (kind) {
  case PG_FAULT_MISALIGNED: return PG_CU_MISALIGNED_ADDRESS;
  case PG_FAULT_TRAP: return PG_CU_LAUNCH_FAILED;
  case PG_FAULT_OUT_OF_BOUNDS: return PG_CU_ILLEGAL_ADDRESS;
  default: return PG_CU_LAUNCH_FAILED;
  }
}

static cu_result run(const pg_launch *launch) {
  pg_fault fault;
  if (sticky || sim->ops->launch(sim, launch, NULL, &error) == PG_OK) return sticky;
  sim->ops->fault(sim, &fault);
  while (fault.kind == PG_FAULT_TIMEOUT || fault.kind == PG_FAULT_DEADLOCK)
    nanosleep(&(struct timespec){1, 0}, NULL); /* a GPU would not come back either */
  if (fault.kind == PG_FAULT_NONE) return PG_CU_INVALID_VALUE;
  sticky = result_of(fault.kind);
  return PG_CU_SUCCESS; /* it shows later */
}

EXPORT cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                      CUstream stream, void **params, void **extra) {
  ALONE;
  (void)stream;
  char packed[65536];
  pg_launch launch = {.kernel = function->kernel,
                      .grid = {grid_x, grid_y, grid_z},
                      .block = {block_x, block_y, block_z},
                      .shared = shared,
                      .params = packed,
                      .param_bytes = function->info.param_bytes};
  for (int i = 0; params && i < function->info.param_count; i++)
    memcpy(packed + function->info.params[i].offset, params[i], function->info.params[i].size);
  for (void **e = extra; e && *e; e += 2) {
    if ((uintptr_t)*e == PG_CU_LAUNCH_BUFFER_POINTER) launch.params = e[1];
    if ((uintptr_t)*e == PG_CU_LAUNCH_BUFFER_SIZE) launch.param_bytes = *(size_t *)e[1];
  }
  if (!capturing) return run(&launch);
  void *copy = malloc(launch.param_bytes + 1);
  if (!copy) return PG_CU_OUT_OF_MEMORY;
  launch.params = memcpy(copy, launch.params, launch.param_bytes);
  return capture((node){.launch = launch});
}

EXPORT cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared, CUstream stream,
                                 void **params) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                        params, NULL);
}

/* ---- graphs ---- */

EXPORT cuStreamBeginCapture_v2(CUstream stream, unsigned strictness) {
  ALONE;
  (void)stream, (void)strictness;
  capturing = calloc(1, sizeof *capturing);
  return capturing ? sticky : PG_CU_OUT_OF_MEMORY;
}

EXPORT cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  ALONE;
  (void)stream;
  *graph = capturing;
  capturing = NULL;
  return sticky;
}

/* The nodes move. */
EXPORT cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  ALONE;
  (void)flags;
  *exec = calloc(1, sizeof **exec);
  if (!*exec) return PG_CU_OUT_OF_MEMORY;
  (*exec)->graph = *graph;
  *graph = (struct CUgraph_st){0};
  return sticky;
}

EXPORT cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  ALONE;
  (void)stream;
  for (size_t i = 0; i < exec->graph.count; i++) {
    const node *one = &exec->graph.nodes[i];
    cu_result result = one->launch.kernel ? run(&one->launch) : move(*one);
    if (result) return result;
  }
  return sticky;
}

EXPORT cuGraphDestroy(CUgraph graph) {
  ALONE;
  for (size_t i = 0; i < graph->count; i++) free((void *)graph->nodes[i].launch.params);
  free(graph->nodes);
  free(graph);
  return sticky;
}

EXPORT cuGraphExecDestroy(CUgraphExec exec) {
  CUgraph graph = malloc(sizeof *graph);
  if (!graph) return PG_CU_OUT_OF_MEMORY;
  *graph = exec->graph;
  free(exec);
  return cuGraphDestroy(graph);
}

/* ---- streams and events ---- */

EXPORT cuStreamCreate(CUstream *stream, unsigned flags) {
  ALONE;
  (void)flags;
  *stream = calloc(1, sizeof **stream);
  return sticky;
}

EXPORT cuStreamSynchronize(CUstream stream) {
  ALONE;
  (void)stream;
  return sticky;
}

EXPORT cuStreamDestroy_v2(CUstream stream) {
  ALONE;
  free(stream);
  return sticky;
}

EXPORT cuEventCreate(CUevent *event, unsigned flags) {
  ALONE;
  (void)flags;
  *event = calloc(1, sizeof **event);
  return sticky;
}

EXPORT cuEventRecord(CUevent event, CUstream stream) {
  ALONE;
  (void)stream;
  event->at = now();
  return sticky;
}

/* Everything has run when the call returns. A flush takes no time here, so the host is never ahead:
 * nothing would be accepted if that were told. */
EXPORT cuEventQuery(CUevent event) {
  ALONE;
  (void)event;
  return sticky ? sticky : PG_CU_NOT_READY;
}

EXPORT cuEventSynchronize(CUevent event) {
  ALONE;
  (void)event;
  return sticky;
}

EXPORT cuEventDestroy_v2(CUevent event) {
  ALONE;
  free(event);
  return sticky;
}

EXPORT cuEventElapsedTime(float *milliseconds, CUevent start, CUevent stop) {
  ALONE;
  if (start->at == 0 || stop->at == 0) return PG_CU_INVALID_HANDLE;
  *milliseconds = (float)(1e3 * (stop->at - start->at) * jitter());
  return sticky;
}
