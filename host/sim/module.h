/* A module of the simulator: its variables in device memory, its kernels lowered to a program.
 * The functions that take a device have the shape of pg_device_ops and do not look at it. */
#ifndef PG_SIM_MODULE_H
#define PG_SIM_MODULE_H

#include "../device.h"
#include "../ptx_scan.h"
#include "memory.h"
#include "program.h"

enum { SIM_MAX_THREADS = 1024 }; /* of a block */

struct pg_kernel {
  const sim_func *func;
  const pg_ptx_entry *entry; /* kinds of its parameters, as every device tells them */
};

struct pg_module {
  sim_program *program;
  pg_ptx_scan scan;
  pg_kernel *kernels;
  char *name;
  pg_module *next; /* all of a device */
};

/* Parse PTX, place its variables in `memory` and lower its kernels. */
pg_code sim_module_load(sim_memory *memory, const sim_program_kind *kind, const void *image,
                        size_t bytes, const char *name, pg_module **out, pg_error *error);
void sim_module_free(sim_memory *memory, pg_module *module);

const char *sim_kernel_name(pg_device *d, pg_module *m, int index);
pg_code sim_global(pg_device *d, pg_module *m, const char *name, pg_ptr *at, size_t *bytes,
                   pg_error *error);
pg_code sim_kernel(pg_device *d, pg_module *m, const char *name, pg_kernel **out, pg_error *error);
pg_code sim_kernel_info(pg_device *d, pg_kernel *k, pg_kernel_info *info, pg_error *error);

/* Bytes of shared memory that a kernel declares with a size. */
uint64_t sim_static_shared(const sim_func *f);

#endif
