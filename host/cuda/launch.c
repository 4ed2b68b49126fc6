/* Launching, waiting and timing on the CUDA device: kernels, streams, events. */
#include "state.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- launches ---- */

static pg_code check_shape(const pg_cuda *cuda, const pg_launch *launch, pg_error *error) {
  static const char axis[3] = {'x', 'y', 'z'};
  const pg_kernel_info *info = &launch->kernel->info;
  for (int i = 0; i < 3; i++) {
    if (launch->grid[i] == 0 || launch->grid[i] > cuda->info.max_grid[i])
      return pg_fail(error, PG_LAUNCH, "kernel %s: grid.%c is %u, expected 1 to %u", info->name,
                     axis[i], launch->grid[i], cuda->info.max_grid[i]);
    if (launch->block[i] == 0 || launch->block[i] > cuda->info.max_block[i])
      return pg_fail(error, PG_LAUNCH, "kernel %s: block.%c is %u, expected 1 to %u", info->name,
                     axis[i], launch->block[i], cuda->info.max_block[i]);
  }
  uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
  if (threads <= (uint64_t)info->max_threads) return PG_OK;
  pg_fail(error, PG_LAUNCH,
          "kernel %s: a block of %ux%ux%u has %" PRIu64 " threads, at most %d are possible",
          info->name, launch->block[0], launch->block[1], launch->block[2], threads,
          info->max_threads);
  return info->max_threads < cuda->info.max_threads_per_block
             ? pg_hint(error, "it uses %d registers a thread, or a __launch_bounds__ says so",
                       info->registers)
             : PG_LAUNCH;
}

static pg_code check_params(const pg_launch *launch, pg_error *error) {
  const pg_kernel_info *info = &launch->kernel->info;
  if (launch->param_bytes == info->param_bytes && (launch->params || !launch->param_bytes))
    return PG_OK;
  return pg_fail(error, PG_LAUNCH, "kernel %s takes %u bytes of arguments, got %zu", info->name,
                 info->param_bytes, launch->params ? launch->param_bytes : 0);
}

/* More dynamic shared memory than a launch has by default must be asked for, once a kernel. */
static pg_code allow_shared(pg_cuda *cuda, const pg_launch *launch, pg_error *error) {
  pg_kernel *kernel = launch->kernel;
  if (launch->shared <= kernel->shared_allowed) return PG_OK;
  size_t fixed = (size_t)kernel->info.shared_bytes, limit = cuda->info.shared_per_block_optin;
  if (fixed + launch->shared > limit) {
    pg_fail(error, PG_LAUNCH,
            "kernel %s: %u bytes of dynamic and %zu of static shared memory, %s "
            "has %zu a block",
            kernel->info.name, launch->shared, fixed, cuda->info.name, limit);
    return PG_LAUNCH;
  }
  cu_result result = cuda->driver.FuncSetAttribute(
      kernel->function, PG_CU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)launch->shared);
  if (result) return pg_cuda_check(cuda, result, error, "asking for shared memory");
  kernel->shared_allowed = launch->shared;
  return PG_OK;
}

static cu_result launch_plain(pg_cuda *cuda, const pg_launch *l, CUstream stream) {
  size_t bytes = l->param_bytes;
  void *extra[] = {(void *)PG_CU_LAUNCH_BUFFER_POINTER, (void *)(uintptr_t)l->params,
                   (void *)PG_CU_LAUNCH_BUFFER_SIZE, &bytes, (void *)PG_CU_LAUNCH_END};
  return cuda->driver.LaunchKernel(l->kernel->function, l->grid[0], l->grid[1], l->grid[2],
                                   l->block[0], l->block[1], l->block[2], l->shared, stream, NULL,
                                   bytes ? extra : NULL);
}

static cu_result launch_cooperative(pg_cuda *cuda, const pg_launch *l, CUstream stream) {
  const pg_kernel_info *info = &l->kernel->info;
  void *params[PG_PARAM_MAX + 1] = {NULL};
  for (int i = 0; i < info->param_count; i++)
    params[i] = (char *)(uintptr_t)l->params + info->params[i].offset;
  return cuda->driver.LaunchCooperativeKernel(l->kernel->function, l->grid[0], l->grid[1],
                                              l->grid[2], l->block[0], l->block[1], l->block[2],
                                              l->shared, stream, params);
}

/* A launch with clusters, cooperative or not. */
static cu_result launch_clusters(pg_cuda *cuda, const pg_launch *l, CUstream stream) {
  size_t bytes = l->param_bytes;
  void *extra[] = {(void *)PG_CU_LAUNCH_BUFFER_POINTER, (void *)(uintptr_t)l->params,
                   (void *)PG_CU_LAUNCH_BUFFER_SIZE, &bytes, (void *)PG_CU_LAUNCH_END};
  cu_launch_attribute attributes[2] = {
      {.id = PG_CU_LAUNCH_ATTRIBUTE_CLUSTER,
       .value.cluster = {l->cluster[0], l->cluster[1], l->cluster[2]}},
      {.id = PG_CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1}};
  cu_launch_config config = {.grid = {l->grid[0], l->grid[1], l->grid[2]},
                             .block = {l->block[0], l->block[1], l->block[2]},
                             .shared = l->shared,
                             .stream = stream,
                             .attributes = attributes,
                             .count = l->cooperative ? 2 : 1};
  if (!cuda->driver.LaunchKernelEx) return PG_CU_NOT_SUPPORTED;
  return cuda->driver.LaunchKernelEx((const CUlaunchConfig *)(const void *)&config,
                                     l->kernel->function, NULL, bytes ? extra : NULL);
}

static pg_code explain_launch(pg_cuda *cuda, const pg_launch *launch, cu_result result,
                              pg_error *error) {
  pg_code code = pg_cuda_check(cuda, result, error, launch->kernel->info.name);
  if (result == PG_CU_COOPERATIVE_LAUNCH_TOO_LARGE)
    pg_hint(error,
            "all blocks of a cooperative launch must fit on the GPU at once: a smaller grid");
  if (result == PG_CU_LAUNCH_OUT_OF_RESOURCES)
    pg_hint(error, "a block needs too many registers (%d a thread) or too much shared memory",
            launch->kernel->info.registers);
  if (result == PG_CU_INVALID_CLUSTER_SIZE)
    pg_hint(error, "a cluster has at most 8 blocks, and the grid is a multiple of it");
  /* An argument that the driver rejects is a fault of the launch, not of the caller's C. */
  if (code == PG_INVALID && error) error->code = PG_LAUNCH;
  return code == PG_INVALID ? PG_LAUNCH : code;
}

pg_code pg_cuda_launch(pg_device *device, const pg_launch *launch, pg_stream *stream,
                       pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  pg_code code = pg_cuda_use(cuda, error);
  if (!code) code = check_shape(cuda, launch, error);
  if (!code) code = check_params(launch, error);
  if (!code) code = allow_shared(cuda, launch, error);
  if (code) return code;
  CUstream handle = stream ? stream->handle : NULL;
  cu_result result = launch->cluster[0]    ? launch_clusters(cuda, launch, handle)
                     : launch->cooperative ? launch_cooperative(cuda, launch, handle)
                                           : launch_plain(cuda, launch, handle);
  if (result) return explain_launch(cuda, launch, result, error);
  cuda->several = cuda->last && (cuda->several || cuda->last != launch->kernel);
  cuda->last = launch->kernel;
  return PG_OK;
}

pg_code pg_cuda_sync(pg_device *device, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  pg_code code = pg_cuda_use(cuda, error);
  if (!code) code = pg_cuda_check(cuda, cuda->driver.CtxSynchronize(), error, "running kernels");
  if (!code) cuda->last = NULL;
  return code;
}

/* ---- streams ---- */

pg_code pg_cuda_stream_new(pg_device *device, pg_stream **out, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  *out = NULL;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  pg_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return pg_fail(error, PG_MEMORY, "out of memory for a stream");
  cu_result result = cuda->driver.StreamCreate(&stream->handle, PG_CU_STREAM_DEFAULT);
  if (result) {
    free(stream);
    return pg_cuda_check(cuda, result, error, "making a stream");
  }
  stream->next = cuda->streams;
  *out = cuda->streams = stream;
  return PG_OK;
}

pg_code pg_cuda_stream_sync(pg_device *device, pg_stream *stream, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  cu_result result = cuda->driver.StreamSynchronize(stream ? stream->handle : NULL);
  return pg_cuda_check(cuda, result, error, "running kernels");
}

void pg_cuda_stream_free(pg_device *device, pg_stream *stream) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (!stream) return;
  pg_stream **link = &cuda->streams;
  while (*link && *link != stream) link = &(*link)->next;
  if (*link) *link = stream->next;
  cuda->driver.CtxSetCurrent(cuda->context);
  cuda->driver.StreamDestroy(stream->handle);
  free(stream);
}

uint64_t pg_cuda_stream_handle(pg_stream *stream) {
  return (uint64_t)(uintptr_t)stream->handle;
}

/* ---- events ---- */

pg_code pg_cuda_event_new(pg_device *device, pg_event **out, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  *out = NULL;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  pg_event *event = calloc(1, sizeof *event);
  if (!event) return pg_fail(error, PG_MEMORY, "out of memory for an event");
  cu_result result = cuda->driver.EventCreate(&event->handle, PG_CU_EVENT_DEFAULT);
  if (result) {
    free(event);
    return pg_cuda_check(cuda, result, error, "making an event");
  }
  event->next = cuda->events;
  *out = cuda->events = event;
  return PG_OK;
}

pg_code pg_cuda_event_record(pg_device *device, pg_event *event, pg_stream *stream,
                             pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  cu_result result = cuda->driver.EventRecord(event->handle, stream ? stream->handle : NULL);
  return pg_cuda_check(cuda, result, error, "recording an event");
}

pg_code pg_cuda_event_elapsed(pg_device *device, pg_event *start, pg_event *stop,
                              double *microseconds, pg_error *error) {
  pg_cuda *cuda = (pg_cuda *)device;
  const pg_driver *driver = &cuda->driver;
  *microseconds = 0;
  pg_code code = pg_cuda_use(cuda, error);
  if (code) return code;
  cu_result result = driver->EventSynchronize(stop->handle);
  if (result) return pg_cuda_check(cuda, result, error, "waiting for an event");
  float milliseconds = 0;
  result = driver->EventElapsedTime2
               ? driver->EventElapsedTime2(&milliseconds, start->handle, stop->handle)
               : driver->EventElapsedTime(&milliseconds, start->handle, stop->handle);
  *microseconds = 1e3 * (double)milliseconds;
  code = pg_cuda_check(cuda, result, error, "reading the time between two events");
  if (result == PG_CU_INVALID_HANDLE) pg_hint(error, "record both events before asking");
  return code;
}

void pg_cuda_event_free(pg_device *device, pg_event *event) {
  pg_cuda *cuda = (pg_cuda *)device;
  if (!event) return;
  pg_event **link = &cuda->events;
  while (*link && *link != event) link = &(*link)->next;
  if (*link) *link = event->next;
  cuda->driver.CtxSetCurrent(cuda->context);
  cuda->driver.EventDestroy(event->handle);
  free(event);
}

bool pg_cuda_event_pending(pg_device *device, pg_event *event) {
  pg_cuda *cuda = (pg_cuda *)device;
  return cuda->driver.EventQuery(event->handle) == PG_CU_NOT_READY;
}
