/* NVML, opened at run time: the driver's version, clocks, temperature, power, throttle reasons.
 * Everything of it may be missing; what cannot be read is reported as unknown, never as an error.
 */
#ifndef PG_CUDA_NVML_H
#define PG_CUDA_NVML_H

#include "../device.h"

typedef struct nvmlDevice_st *nvml_device;

typedef struct pg_nvml {
  enum { PG_NVML_UNTRIED, PG_NVML_READY, PG_NVML_ABSENT } state;
  nvml_device device;
  int (*clock)(nvml_device, unsigned kind, unsigned *mhz);
  int (*temperature)(nvml_device, unsigned sensor, unsigned *celsius);
  int (*power)(nvml_device, unsigned *milliwatts);
  int (*reasons)(nvml_device, unsigned long long *mask);
  int (*driver)(char *version, unsigned bytes);
  int (*shutdown)(void);
} pg_nvml;

/* Opens NVML on the first call, for the GPU with this PCI bus id ("0000:1B:00.0"). */
void pg_nvml_health(pg_nvml *nvml, const char *bus_id, pg_health *out);
/* "580.159.04", or "" when unknown. */
void pg_nvml_driver(pg_nvml *nvml, const char *bus_id, char *out, unsigned bytes);
void pg_nvml_close(pg_nvml *nvml);

#endif
