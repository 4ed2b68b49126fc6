/* NVML by dlopen. Its handle is found by PCI bus id, because CUDA and NVML count devices
 * differently (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER). */
#include "nvml.h"

#include <dlfcn.h>
#include <string.h>

enum {
  CLOCK_SM = 1,
  CLOCK_MEMORY = 2,
  SENSOR_GPU = 0
}; /* nvmlClockType_t, nvmlTemperatureSensors_t */

static void *open_library(void) {
  static const char *const names[] = {"libnvidia-ml.so.1",
                                      "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
                                      "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
  void *library = NULL;
  for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
    library = dlopen(names[i], RTLD_NOW);
  return library;
}

/* Fill *slot with a function; both are pointers of one size, which POSIX guarantees for dlsym. */
static void find(void *library, const char *symbol, void *slot) {
  void *address = dlsym(library, symbol);
  memcpy(slot, &address, sizeof address);
}

static bool start(pg_nvml *nvml, const char *bus_id) {
  void *library = open_library();
  if (!library) return false;
  int (*init)(void);
  int (*by_bus)(const char *, nvml_device *);
  find(library, "nvmlInit_v2", &init);
  find(library, "nvmlDeviceGetHandleByPciBusId_v2", &by_bus);
  find(library, "nvmlDeviceGetClockInfo", &nvml->clock);
  find(library, "nvmlDeviceGetTemperature", &nvml->temperature);
  find(library, "nvmlDeviceGetPowerUsage", &nvml->power);
  find(library, "nvmlDeviceGetCurrentClocksEventReasons", &nvml->reasons);
  if (!nvml->reasons) /* its name before driver 535 */
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml->reasons);
  find(library, "nvmlSystemGetDriverVersion", &nvml->driver);
  find(library, "nvmlShutdown", &nvml->shutdown);
  if (!init || !by_bus || init() != 0) return false;
  if (by_bus(bus_id, &nvml->device) == 0) return true;
  if (nvml->shutdown) nvml->shutdown();
  return false;
}

static bool ready(pg_nvml *nvml, const char *bus_id) {
  if (nvml->state == PG_NVML_UNTRIED)
    nvml->state = start(nvml, bus_id) ? PG_NVML_READY : PG_NVML_ABSENT;
  return nvml->state == PG_NVML_READY;
}

void pg_nvml_health(pg_nvml *nvml, const char *bus_id, pg_health *out) {
  *out = (pg_health){-1, -1, -1, -1, -1};
  if (!ready(nvml, bus_id)) return;
  unsigned value;
  unsigned long long mask;
  if (nvml->clock && nvml->clock(nvml->device, CLOCK_SM, &value) == 0)
    out->sm_clock_mhz = (int)value;
  if (nvml->clock && nvml->clock(nvml->device, CLOCK_MEMORY, &value) == 0)
    out->memory_clock_mhz = (int)value;
  if (nvml->temperature && nvml->temperature(nvml->device, SENSOR_GPU, &value) == 0)
    out->temperature_c = (int)value;
  if (nvml->power && nvml->power(nvml->device, &value) == 0) out->power_mw = (int)value;
  if (nvml->reasons && nvml->reasons(nvml->device, &mask) == 0)
    out->throttle_reasons = (long long)mask;
}

void pg_nvml_driver(pg_nvml *nvml, const char *bus_id, char *out, unsigned bytes) {
  out[0] = '\0';
  if (!ready(nvml, bus_id) || !nvml->driver || nvml->driver(out, bytes) != 0) out[0] = '\0';
}

void pg_nvml_close(pg_nvml *nvml) {
  if (nvml->state == PG_NVML_READY && nvml->shutdown) nvml->shutdown();
  memset(nvml, 0, sizeof *nvml);
}
