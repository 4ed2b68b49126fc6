/* The CUDA driver library: finding and loading it, its table of functions, its results as pg_error
 * values. The library is never unloaded: its own threads and exit handlers outlive a device. */
#include "driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where it lies when the loader's own search does not reach it: WSL, and containers that mount the
 * driver. */
static const char *const driver_folders[] = {"/usr/lib/wsl/lib", "/usr/local/nvidia/lib64",
                                             "/usr/local/nvidia/lib", "/run/opengl-driver/lib"};

static void *open_in(const char *folder, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return dlopen(path, RTLD_NOW);
}

/* NULL, and why, when it is nowhere. */
static void *open_library(char *why, size_t why_bytes) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) snprintf(why, why_bytes, "%s", dlerror());
  for (size_t i = 0; !library && i < sizeof driver_folders / sizeof *driver_folders; i++) {
    library = open_in(driver_folders[i], "libcuda.so.1");
    /* libcuda opens its PTX compiler by bare name, which the loader could not find either. */
    if (library) open_in(driver_folders[i], "libnvidia-ptxjitcompiler.so.1");
  }
  return library;
}

static void *find_symbol(void *library, const char *symbol) {
  return dlsym(library, symbol);
}

pg_code pg_driver_resolve(pg_driver *out, pg_driver_find find, void *context, pg_error *error) {
  memset(out, 0, sizeof *out);
#define PG_X(presence, name, symbol, arguments)                                                    \
  {                                                                                                \
    void *address = find(context, #symbol);                                                        \
    if (!address && presence == '!') {                                                             \
      pg_fail(error, PG_ENVIRONMENT, "the CUDA driver is too old: it lacks %s", #symbol);          \
      return pg_hint(error, "install a driver for CUDA 11.0 or newer, or use --device sim:check"); \
    }                                                                                              \
    memcpy(&out->name, &address, sizeof address);                                                  \
  }
  PG_DRIVER_CALLS(PG_X)
#undef PG_X
  return PG_OK;
}

static const char *init_hint(cu_result result) {
  switch (result) {
  case PG_CU_NO_DEVICE:
    return "no GPU, or CUDA_VISIBLE_DEVICES hides it; --device sim:check needs none";
  case PG_CU_STUB_LIBRARY:
    return "the loader found the toolkit's stub library: remove the stubs folder from "
           "LD_LIBRARY_PATH";
  case PG_CU_SYSTEM_DRIVER_MISMATCH:
    return "libcuda and the kernel's driver differ: restart the machine after a driver update";
  case PG_CU_SYSTEM_NOT_READY: return "start the nvidia-fabricmanager service";
  default: return "`nvidia-smi` shows the driver's state; --device sim:check needs no driver";
  }
}

pg_code pg_driver_init(pg_driver *driver, pg_error *error) {
  cu_result result = driver->Init(0);
  if (result != PG_CU_SUCCESS) {
    pg_driver_fail(driver, result, error, "starting the CUDA driver");
    pg_hint(error, "%s", init_hint(result));
    if (error) error->code = PG_ENVIRONMENT;
    return PG_ENVIRONMENT;
  }
  result = driver->DriverGetVersion(&driver->version);
  if (result != PG_CU_SUCCESS)
    return pg_driver_fail(driver, result, error, "asking for the driver's version");
  return PG_OK;
}

pg_code pg_driver_open(pg_driver *out, pg_error *error) {
  /* Lazy loading would move a kernel's upload into its first, timed launch. Read by cuInit, once.
   */
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  char why[256];
  void *library = open_library(why, sizeof why);
  if (!library) {
    pg_fail(error, PG_ENVIRONMENT, "no CUDA driver: %s", why);
    return pg_hint(error, "install the NVIDIA driver, or use --device sim:check, which needs none");
  }
  pg_code code = pg_driver_resolve(out, find_symbol, library, error);
  return code ? code : pg_driver_init(out, error);
}

/* CUDA_VISIBLE_DEVICES lists what a process may see up to the first entry that names nothing. */
static bool hidden(void) {
  const char *visible = getenv("CUDA_VISIBLE_DEVICES");
  if (!visible) return false;
  return !strchr("0123456789GM", visible[0]) || visible[0] == '\0';
}

bool pg_driver_present(void) {
  static const char *const nodes[] = {"/dev/nvidia[0-9]*", "/dev/dxg", "/dev/nvgpu*",
                                      "/dev/nvhost-gpu"};
  bool node = false;
  for (size_t i = 0; !node && i < sizeof nodes / sizeof *nodes; i++) {
    glob_t found;
    node = glob(nodes[i], GLOB_NOSORT, NULL, &found) == 0;
    if (node) globfree(&found);
  }
  char why[256];
  return node && !hidden() && open_library(why, sizeof why) != NULL;
}

const char *pg_driver_name(const pg_driver *driver, cu_result result) {
  const char *name = NULL;
  driver->GetErrorName(result, &name);
  return name ? name : "?";
}

const char *pg_driver_text(const pg_driver *driver, cu_result result) {
  const char *text = NULL;
  driver->GetErrorString(result, &text);
  return text ? text : "?";
}

pg_code pg_driver_code(cu_result result) {
  switch (result) {
  case PG_CU_SUCCESS: return PG_OK;
#define PG_X(name, number, sticky, code) \
  case number: return code;
    PG_CU_ERRORS(PG_X)
#undef PG_X
  default: return PG_ENVIRONMENT;
  }
}

bool pg_driver_sticky(cu_result result) {
  switch (result) {
#define PG_X(name, number, sticky, code) \
  case number: return sticky;
    PG_CU_ERRORS(PG_X)
#undef PG_X
  default: return false;
  }
}

pg_code pg_driver_fail(const pg_driver *driver, cu_result result, pg_error *error,
                       const char *doing) {
  return pg_fail(error, pg_driver_code(result), "%s: %s (%u): %s", doing,
                 pg_driver_name(driver, result), result, pg_driver_text(driver, result));
}
