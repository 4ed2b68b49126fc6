/* The CUDA device, over the driver API opened with dlopen. The device owns what it hands out. */
#ifndef PG_CUDA_H
#define PG_CUDA_H

#include "../device.h"

/* Device `ordinal`, on its primary context (which libraries share). PG_ENVIRONMENT without driver
 * or GPU. */
pg_code pg_cuda_open(int ordinal, pg_device **out, pg_error *error);

#endif
