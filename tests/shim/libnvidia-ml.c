/* An NVML that goes with the simulated driver (libcuda.c): the functions that host/cuda/nvml.c asks
 * for, with plausible figures. */
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default"))) int

EXPORT nvmlInit_v2(void);
EXPORT nvmlShutdown(void);
EXPORT nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device);
EXPORT nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz);
EXPORT nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius);
EXPORT nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
EXPORT nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *mask);
EXPORT nvmlSystemGetDriverVersion(char *version, unsigned bytes);

enum { SUCCESS = 0, INVALID_ARGUMENT = 2 }; /* nvmlReturn_t */

static int handle;

EXPORT nvmlInit_v2(void) {
  return SUCCESS;
}

EXPORT nvmlShutdown(void) {
  return SUCCESS;
}

EXPORT nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) {
  *device = &handle;
  return strcmp(id, "0000:01:00.0") == 0 ? SUCCESS : INVALID_ARGUMENT;
}

EXPORT nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz) {
  *mhz = kind == 1 ? 1980 : 3201; /* SM, memory */
  return device == &handle && (kind == 1 || kind == 2) ? SUCCESS : INVALID_ARGUMENT;
}

EXPORT nvmlDeviceGetTemperature(void *device, unsigned sensor, unsigned *celsius) {
  *celsius = 41;
  return device == &handle && sensor == 0 ? SUCCESS : INVALID_ARGUMENT;
}

EXPORT nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
  *milliwatts = 75000;
  return device == &handle ? SUCCESS : INVALID_ARGUMENT;
}

EXPORT nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *mask) {
  *mask = 1; /* the GPU is idle */
  return device == &handle ? SUCCESS : INVALID_ARGUMENT;
}

EXPORT nvmlSystemGetDriverVersion(char *version, unsigned bytes) {
  snprintf(version, bytes, "999.0");
  return SUCCESS;
}
