/* The CUDA device: opening and closing it, what it is, and what stopped it. */
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pg_fault_kind fault_kind(const pg_cuda *cuda, cu_result result) {
  switch (result) {
  case PG_CU_ILLEGAL_ADDRESS: return PG_FAULT_OUT_OF_BOUNDS;
  case PG_CU_MISALIGNED_ADDRESS: return PG_FAULT_MISALIGNED;
  case PG_CU_ASSERT:
  case PG_CU_ILLEGAL_INSTRUCTION: return PG_FAULT_TRAP;
  case PG_CU_LAUNCH_TIMEOUT: return PG_FAULT_TIMEOUT;
  case PG_CU_LAUNCH_FAILED: /* what a trap gives, but shared memory overruns too */
    return cuda->last && !cuda->several && cuda->last->module->scan.traps ? PG_FAULT_TRAP
                                                                          : PG_FAULT_OTHER;
  default: return PG_FAULT_OTHER;
  }
}

static void keep_fault(pg_cuda *cuda, cu_result result) {
  pg_fault *fault = &cuda->fault;
  if (fault->kind != PG_FAULT_NONE) return;
  fault->kind = fault_kind(cuda, result);
  const char *which = "";
  if (cuda->last) {
    snprintf(fault->kernel, sizeof fault->kernel, "%s", cuda->last->info.name);
    which = cuda->several ? "kernel: one of those launched since the last sync; the last was "
                          : "kernel: ";
  }
  snprintf(fault->text, sizeof fault->text,
           "%s (%u): %s\n%s%s%sa GPU does not say where: the same run on --device sim:check names "
           "thread, address and source line",
           pg_driver_name(&cuda->driver, result), result, pg_driver_text(&cuda->driver, result),
           which, fault->kernel, cuda->last ? "\n" : "");
}

pg_code pg_cuda_use(pg_cuda *cuda, pg_error *error) {
  if (cuda->fault.kind != PG_FAULT_NONE) {
    pg_fail(error, PG_LAUNCH, "%s has stopped after a fault: %.*s", cuda->info.spec,
            (int)strcspn(cuda->fault.text, "\n"), cuda->fault.text);
    return pg_hint(error, "a fault ends a CUDA context: start a new process");
  }
  cu_result result = cuda->driver.CtxSetCurrent(cuda->context);
  return result ? pg_cuda_check(cuda, result, error, "using the device") : PG_OK;
}

pg_code pg_cuda_check(pg_cuda *cuda, cu_result result, pg_error *error, const char *doing) {
  if (result == PG_CU_SUCCESS) return PG_OK;
  pg_driver_fail(&cuda->driver, result, error, doing);
  if (pg_driver_sticky(result)) {
    keep_fault(cuda, result);
    pg_where(error, "%s", cuda->fault.kernel);
    pg_hint(error, "--device sim:check names thread, address and source line of such a fault");
  }
  return pg_driver_code(result);
}

static void cuda_fault(pg_device *device, pg_fault *out) {
  *out = ((pg_cuda *)device)->fault;
}

static void cuda_counters(pg_device *device, pg_counters *out, bool reset) {
  (void)device, (void)reset;
  memset(out, 0, sizeof *out); /* a GPU counts only under a profiler */
}

static void cuda_limit(pg_device *device, double seconds) {
  (void)device, (void)seconds;
}

static void cuda_unpin(pg_device *device) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (!cuda->driver.CtxResetPersistingL2Cache || pg_cuda_use(cuda, NULL)) return;
  cuda->driver.CtxResetPersistingL2Cache();
}

static void cuda_health(pg_device *device, pg_health *out) {
  pg_cuda *cuda = (pg_cuda *)device;
  pg_nvml_health(&cuda->nvml, cuda->bus_id, out);
}

/* The version is asked of NVML when somebody wants to know it: NVML takes a while to start. */
static pg_code cuda_info(pg_device *device, pg_device_info *out, pg_error *error) {
  (void)error;
  pg_cuda *cuda = (pg_cuda *)device;
  pg_device_info *info = &cuda->info;
  if (!info->driver[0]) {
    char version[40];
    int cuda_version = cuda->driver.version;
    pg_nvml_driver(&cuda->nvml, cuda->bus_id, version, sizeof version);
    snprintf(info->driver, sizeof info->driver, "%s%sCUDA %d.%d%s", version, version[0] ? " (" : "",
             cuda_version / 1000, cuda_version % 1000 / 10, version[0] ? ")" : "");
  }
  *out = *info;
  return PG_OK;
}

static void cuda_close(pg_device *device) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (cuda->context) {
    cuda->driver.CtxSetCurrent(cuda->context); /* after a fault what follows fails, harmlessly */
    while (cuda->graphs) pg_cuda_graph_free(device, cuda->graphs);
    while (cuda->events) pg_cuda_event_free(device, cuda->events);
    while (cuda->streams) pg_cuda_stream_free(device, cuda->streams);
    while (cuda->modules) pg_cuda_unload(device, cuda->modules);
    pg_staging_free(cuda);
    pg_cuda_free_blocks(cuda);
    cuda->driver.CtxSetCurrent(NULL);
    cuda->driver.DevicePrimaryCtxRelease(cuda->device);
  }
  pg_nvml_close(&cuda->nvml);
  free(cuda);
}

static const pg_device_ops cuda_ops = {
    .close = cuda_close,
    .info = cuda_info,
    .alloc = pg_cuda_alloc,
    .free = pg_cuda_free,
    .name = pg_cuda_name,
    .upload = pg_cuda_upload,
    .download = pg_cuda_download,
    .copy = pg_cuda_copy,
    .fill = pg_cuda_fill,
    .load = pg_cuda_load,
    .unload = pg_cuda_unload,
    .kernel = pg_cuda_kernel,
    .kernel_info = pg_cuda_kernel_info,
    .kernel_name = pg_cuda_kernel_name,
    .global = pg_cuda_global,
    .launch = pg_cuda_launch,
    .sync = pg_cuda_sync,
    .fault = cuda_fault,
    .counters = cuda_counters,
    .limit = cuda_limit,
    .stream_new = pg_cuda_stream_new,
    .stream_sync = pg_cuda_stream_sync,
    .tensor_map = pg_cuda_tensor_map,
    .stream_free = pg_cuda_stream_free,
    .stream_handle = pg_cuda_stream_handle,
    .event_new = pg_cuda_event_new,
    .event_record = pg_cuda_event_record,
    .event_elapsed = pg_cuda_event_elapsed,
    .event_free = pg_cuda_event_free,
    .event_pending = pg_cuda_event_pending,
    .graph_begin = pg_cuda_graph_begin,
    .graph_end = pg_cuda_graph_end,
    .graph_launch = pg_cuda_graph_launch,
    .graph_free = pg_cuda_graph_free,
    .unpin = cuda_unpin,
    .health = cuda_health,
};

/* Two transfers a cycle; kHz and bits. */
static double memory_speed(const pg_cuda *cuda) {
  int khz = 0, bits = 0;
  const pg_driver *driver = &cuda->driver;
  if (driver->DeviceGetAttribute(&khz, PG_CU_ATTRIBUTE_MEMORY_CLOCK_RATE, cuda->device) ||
      driver->DeviceGetAttribute(&bits, PG_CU_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, cuda->device) ||
      khz < 0 || bits < 0)
    return 0;
  return 2e-6 * khz * bits / 8;
}

static pg_code fill_info(pg_cuda *cuda, int ordinal, pg_error *error) {
  const pg_driver *driver = &cuda->driver;
  pg_device_info *info = &cuda->info;
  int shared = 0, optin = 0, l2 = 0, grid[3], block[3];
  const struct {
    unsigned attribute;
    int *to;
  } asked[] = {
      {PG_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &info->cc_major},
      {PG_CU_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &info->cc_minor},
      {PG_CU_ATTRIBUTE_MULTIPROCESSOR_COUNT, &info->multiprocessors},
      {PG_CU_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &info->max_threads_per_block},
      {PG_CU_ATTRIBUTE_MAX_GRID_DIM_X, &grid[0]},
      {PG_CU_ATTRIBUTE_MAX_GRID_DIM_Y, &grid[1]},
      {PG_CU_ATTRIBUTE_MAX_GRID_DIM_Z, &grid[2]},
      {PG_CU_ATTRIBUTE_MAX_BLOCK_DIM_X, &block[0]},
      {PG_CU_ATTRIBUTE_MAX_BLOCK_DIM_Y, &block[1]},
      {PG_CU_ATTRIBUTE_MAX_BLOCK_DIM_Z, &block[2]},
      {PG_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &shared},
      {PG_CU_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &optin},
      {PG_CU_ATTRIBUTE_L2_CACHE_SIZE, &l2},
  };
  cu_result result = PG_CU_SUCCESS;
  for (size_t i = 0; !result && i < sizeof asked / sizeof *asked; i++)
    result = driver->DeviceGetAttribute(asked[i].to, asked[i].attribute, cuda->device);
  if (!result) result = driver->DeviceGetName(info->name, sizeof info->name, cuda->device);
  if (!result) result = driver->DeviceTotalMem(&info->memory_bytes, cuda->device);
  if (!result) result = driver->DeviceGetPCIBusId(cuda->bus_id, sizeof cuda->bus_id, cuda->device);
  if (result) return pg_cuda_check(cuda, result, error, "asking what the GPU is");
  for (int i = 0; i < 3; i++) {
    info->max_grid[i] = (uint32_t)grid[i];
    info->max_block[i] = (uint32_t)block[i];
  }
  info->shared_per_block = (size_t)shared;
  info->shared_per_block_optin = (size_t)(optin > shared ? optin : shared);
  info->l2_bytes = (size_t)l2;
  info->memory_gbs = memory_speed(cuda);
  info->gpu_clock = true;
  snprintf(info->spec, sizeof info->spec, "cuda:%d", ordinal);
  snprintf(info->kind, sizeof info->kind, "cuda");
  return PG_OK;
}

static pg_code check_ordinal(const pg_driver *driver, int ordinal, pg_error *error) {
  int count = 0;
  cu_result result = driver->DeviceGetCount(&count);
  if (result) return pg_driver_fail(driver, result, error, "counting GPUs");
  if (ordinal >= 0 && ordinal < count) return PG_OK;
  pg_fail(error, PG_ENVIRONMENT, "cuda:%d does not exist: CUDA sees %d GPU%s", ordinal, count,
          count == 1 ? "" : "s");
  if (count == 0) return pg_hint(error, "--device sim:check needs no GPU");
  return count == 1 ? pg_hint(error, "use --device cuda:0")
                    : pg_hint(error, "use --device cuda:0 to cuda:%d", count - 1);
}

pg_code pg_cuda_open_with(const pg_driver *driver, int ordinal, pg_device **out, pg_error *error) {
  *out = NULL;
  pg_code code = check_ordinal(driver, ordinal, error);
  if (code) return code;
  pg_cuda *cuda = calloc(1, sizeof *cuda);
  if (!cuda) return pg_fail(error, PG_MEMORY, "out of memory opening cuda:%d", ordinal);
  cuda->base.ops = &cuda_ops;
  cuda->driver = *driver;
  cu_result result = driver->DeviceGet(&cuda->device, ordinal);
  if (!result) result = driver->DevicePrimaryCtxRetain(&cuda->context, cuda->device);
  code = pg_cuda_check(cuda, result, error, "opening the GPU");
  if (!code) code = fill_info(cuda, ordinal, error);
  if (!code) code = pg_cuda_use(cuda, error);
  if (code) {
    cuda_close(&cuda->base);
    return code;
  }
  *out = &cuda->base;
  return PG_OK;
}

pg_code pg_cuda_open(int ordinal, pg_device **out, pg_error *error) {
  pg_driver driver;
  *out = NULL;
  pg_code code = pg_driver_open(&driver, error);
  return code ? code : pg_cuda_open_with(&driver, ordinal, out, error);
}

int pg_cuda_count(char *why, size_t why_bytes) {
  pg_driver driver;
  pg_error error;
  int count = 0;
  pg_code code = pg_driver_open(&driver, &error);
  if (!code) {
    cu_result result = driver.DeviceGetCount(&count);
    code = result ? pg_driver_fail(&driver, result, &error, "counting GPUs") : PG_OK;
  }
  if (code) count = 0;
  if (why && why_bytes)
    snprintf(why, why_bytes, "%s",
             code         ? error.message
             : count == 0 ? "the CUDA driver sees no GPU"
                          : "");
  return count;
}
