/* The C API's devices, memory, modules and launches, over device.h.
 * Owns nothing but the argument bytes of a launch while it is made. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device.h"

int pg_open(const char *spec, pg_device **out, pg_error *error) {
  NEED(out);
  return (int)pg_device_open(spec, out, error);
}

void pg_close(pg_device *device) {
  pg_device_close(device);
}

int pg_describe(pg_device *device, pg_machine *out, pg_error *error) {
  pg_device_info info;
  NEED(device);
  NEED(out);
  pg_code code = device->ops->info(device, &info, error);
  if (code) return (int)code;
  *out = (pg_machine){.cc_major = info.cc_major,
                      .cc_minor = info.cc_minor,
                      .multiprocessors = info.multiprocessors,
                      .gpu_clock = info.gpu_clock,
                      .memory_bytes = info.memory_bytes,
                      .l2_bytes = info.l2_bytes};
  memcpy(out->spec, info.spec, sizeof out->spec);
  memcpy(out->name, info.name, sizeof out->name);
  memcpy(out->driver, info.driver, sizeof out->driver);
  return 0;
}

/* ---- memory ---- */

int pg_alloc(pg_device *device, size_t bytes, uint64_t *out, pg_error *error) {
  NEED(device);
  NEED(out);
  return (int)device->ops->alloc(device, bytes, out, error);
}

int pg_free(pg_device *device, uint64_t at, pg_error *error) {
  NEED(device);
  return (int)device->ops->free(device, at, error);
}

int pg_upload(pg_device *device, uint64_t to, const void *from, size_t bytes, pg_error *error) {
  NEED(device);
  if (!bytes) return 0;
  NEED(from);
  return (int)device->ops->upload(device, to, from, bytes, NULL, error);
}

int pg_download(pg_device *device, void *to, uint64_t from, size_t bytes, pg_error *error) {
  NEED(device);
  if (!bytes) return 0;
  NEED(to);
  return (int)device->ops->download(device, to, from, bytes, NULL, error);
}

int pg_clear(pg_device *device, uint64_t to, int byte, size_t bytes, pg_error *error) {
  NEED(device);
  if (!bytes) return 0;
  return (int)device->ops->fill(device, to, (uint32_t)byte & 0xFF, 1, bytes, NULL, error);
}

/* ---- modules ---- */

static pg_compile_request request_of(const char *source, const char *name, const char *arch,
                                     const char *const *options, int option_count) {
  return (pg_compile_request){.source = source,
                              .name = name ? name : "source.cu",
                              .arch = arch,
                              .options = options,
                              .option_count = option_count};
}

/* function: who was called. */
static int compile(const char *function, const pg_compile_request *request, char **ptx,
                   pg_error *error) {
  pg_compile_result result = {0};
  int code = pg_api_texts(function, "option", request->options, request->option_count, error);
  if (code) return code;
  code = (int)pg_compile(request, &result, error);
  if (!code) {
    *ptx = result.ptx;
    result.ptx = NULL;
  }
  pg_compile_free(&result);
  return code;
}

int pg_compile_text(const char *source, const char *name, const char *arch,
                    const char *const *options, int option_count, char **ptx, pg_error *error) {
  NEED(ptx);
  *ptx = NULL;
  NEED(source);
  const pg_compile_request request = request_of(source, name, arch, options, option_count);
  return compile(__func__, &request, ptx, error);
}

int pg_load(pg_device *device, const char *ptx, const char *name, pg_module **out,
            pg_error *error) {
  NEED(out);
  *out = NULL;
  NEED(device);
  NEED(ptx);
  return (int)device->ops->load(device, ptx, strlen(ptx), name ? name : "module.ptx", out, error);
}

int pg_build(pg_device *device, const char *source, const char *name, const char *const *options,
             int option_count, pg_module **out, pg_error *error) {
  pg_device_info info;
  char arch[32], *ptx;
  NEED(out);
  *out = NULL;
  NEED(device);
  NEED(source);
  int code = (int)device->ops->info(device, &info, error);
  if (code) return code;
  snprintf(arch, sizeof arch, "compute_%d%d", info.cc_major, info.cc_minor);
  const pg_compile_request request = request_of(source, name, arch, options, option_count);
  code = compile(__func__, &request, &ptx, error);
  if (code) return code;
  code = pg_load(device, ptx, request.name, out, error);
  pg_text_free(ptx);
  return code;
}

void pg_unload(pg_device *device, pg_module *module) {
  if (device && module) device->ops->unload(device, module);
}

/* ---- kernels ---- */

int pg_find_kernel(pg_device *device, pg_module *module, const char *name, pg_kernel **out,
                   pg_error *error) {
  NEED(device);
  NEED(module);
  NEED(name);
  NEED(out);
  return (int)device->ops->kernel(device, module, name, out, error);
}

int pg_parameter_count(pg_device *device, pg_kernel *kernel, int *out, pg_error *error) {
  pg_kernel_info info;
  NEED(device);
  NEED(kernel);
  NEED(out);
  int code = (int)device->ops->kernel_info(device, kernel, &info, error);
  if (!code) *out = info.param_count;
  return code;
}

int pg_parameter(pg_device *device, pg_kernel *kernel, int index, char *kind, uint32_t *bytes,
                 pg_error *error) {
  pg_kernel_info info;
  NEED(device);
  NEED(kernel);
  int code = (int)device->ops->kernel_info(device, kernel, &info, error);
  if (code) return code;
  if (index < 0 || index >= info.param_count)
    return (int)pg_fail(error, PG_RANGE, "kernel %s has no parameter %d; it takes %d", info.name,
                        index, info.param_count);
  if (kind) *kind = info.params[index].kind;
  if (bytes) *bytes = info.params[index].size;
  return 0;
}

/* The arguments as the kernel expects them in memory. */
static int pack(const pg_kernel_info *info, const void *const *arguments, int count,
                unsigned char *to, pg_error *error) {
  if (count != info->param_count)
    return (int)pg_fail(error, PG_LAUNCH, "kernel %s takes %d arguments, got %d", info->name,
                        info->param_count, count);
  for (int i = 0; i < count; i++) {
    if (!arguments || !arguments[i])
      return (int)pg_fail(error, PG_LAUNCH, "argument #%d of kernel %s is NULL; give its address",
                          i, info->name);
    memcpy(to + info->params[i].offset, arguments[i], info->params[i].size);
  }
  return 0;
}

int pg_start(pg_device *device, pg_kernel *kernel, const uint32_t *grid, const uint32_t *block,
             uint32_t shared, const void *const *arguments, int argument_count, pg_error *error) {
  pg_kernel_info info;
  NEED(device);
  NEED(kernel);
  int code = (int)device->ops->kernel_info(device, kernel, &info, error);
  if (code) return code;
  NEED(grid);
  NEED(block);
  unsigned char *bytes = calloc(1, info.param_bytes + 8u);
  if (!bytes) return (int)pg_fail(error, PG_MEMORY, "no memory for the arguments of a launch");
  code = pack(&info, arguments, argument_count, bytes, error);
  pg_launch launch = {
      .kernel = kernel, .shared = shared, .params = bytes, .param_bytes = info.param_bytes};
  memcpy(launch.grid, grid, sizeof launch.grid);
  memcpy(launch.block, block, sizeof launch.block);
  if (!code) code = (int)device->ops->launch(device, &launch, NULL, error);
  free(bytes);
  return code;
}

int pg_sync(pg_device *device, pg_error *error) {
  NEED(device);
  return (int)device->ops->sync(device, error);
}
