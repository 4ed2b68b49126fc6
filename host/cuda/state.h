/* What the files of the CUDA device share: the device and the objects it owns. Everything is freed
 * with the device; the lists exist for that. Every entry point first makes the context current and
 * refuses after a fault (pg_cuda_use). */
#ifndef PG_CUDA_STATE_H
#define PG_CUDA_STATE_H

#include "cuda.h"
#include "driver.h"
#include "nvml.h"
#include "../ptx_scan.h"

typedef struct pg_block { /* one allocation; the device keeps them sorted by address */
  pg_ptr at;
  size_t bytes;
  char name[48];
} pg_block;

struct pg_stream {
  CUstream handle;
  pg_stream *next;
};

struct pg_event {
  CUevent handle;
  pg_event *next;
};

struct pg_kernel {
  CUfunction function;
  pg_module *module;
  pg_kernel_info info;
  uint32_t
      shared_allowed; /* dynamic shared memory that a launch may ask for without another opt-in */
  pg_kernel *next;
};

struct pg_module {
  CUmodule handle;
  char name[128];
  pg_ptx_scan scan; /* empty for a cubin */
  char **names;     /* of its kernels */
  int name_count;
  pg_kernel *kernels;
  pg_module *next;
};

struct pg_staging;

typedef struct pg_cuda {
  pg_device base;
  pg_driver driver;
  CUdevice device;
  CUcontext context; /* the primary one */
  pg_device_info info;
  char bus_id[32];
  pg_block *blocks;
  size_t block_count, block_room;
  pg_stream *streams;
  pg_event *events;
  pg_module *modules;
  pg_graph *graphs;
  struct pg_staging *staging; /* made by the first large copy */
  pg_nvml nvml;
  /* Launches since the last successful sync, to name the kernel of a fault. */
  const pg_kernel *last;
  bool several; /* more than one kernel among them */
  pg_fault fault;
} pg_cuda;

/* The device over a driver table that is already filled (tests bring their own). */
pg_code pg_cuda_open_with(const pg_driver *driver, int ordinal, pg_device **out, pg_error *error);

/* Make the context current; PG_LAUNCH when the device has faulted. */
pg_code pg_cuda_use(pg_cuda *cuda, pg_error *error);
/* PG_OK for success; else an error "doing: NAME (number): text", and the fault is kept if it is
 * one. */
pg_code pg_cuda_check(pg_cuda *cuda, cu_result result, pg_error *error, const char *doing);

/* tensor.c */
pg_code pg_cuda_tensor_map(pg_device *, pg_ptr at, const pg_tensor *, void *out, pg_error *);

/* memory.c */
pg_code pg_cuda_alloc(pg_device *, size_t, pg_ptr *, pg_error *);
pg_code pg_cuda_free(pg_device *, pg_ptr, pg_error *);
pg_code pg_cuda_name(pg_device *, pg_ptr, size_t, const char *, bool, pg_error *);
pg_code pg_cuda_upload(pg_device *, pg_ptr, const void *, size_t, pg_stream *, pg_error *);
pg_code pg_cuda_download(pg_device *, void *, pg_ptr, size_t, pg_stream *, pg_error *);
pg_code pg_cuda_copy(pg_device *, pg_ptr, pg_ptr, size_t, pg_stream *, pg_error *);
pg_code pg_cuda_fill(pg_device *, pg_ptr, uint32_t, int, size_t, pg_stream *, pg_error *);
void pg_cuda_free_blocks(pg_cuda *cuda);

/* staging.c: large copies through pinned memory. */
enum { PG_STAGING_FROM = 24 << 20 }; /* bytes; below, the driver's own staging is as good */
pg_code pg_staging_copy(pg_cuda *cuda, pg_ptr device, void *host, size_t bytes, bool up,
                        pg_error *error);
void pg_staging_free(pg_cuda *cuda);

/* module.c */
pg_code pg_cuda_load(pg_device *, const void *, size_t, const char *, pg_module **, pg_error *);
void pg_cuda_unload(pg_device *, pg_module *);
pg_code pg_cuda_kernel(pg_device *, pg_module *, const char *, pg_kernel **, pg_error *);
pg_code pg_cuda_kernel_info(pg_device *, pg_kernel *, pg_kernel_info *, pg_error *);
const char *pg_cuda_kernel_name(pg_device *, pg_module *, int);
pg_code pg_cuda_global(pg_device *, pg_module *, const char *, pg_ptr *, size_t *, pg_error *);

/* launch.c */
pg_code pg_cuda_launch(pg_device *, const pg_launch *, pg_stream *, pg_error *);
pg_code pg_cuda_sync(pg_device *, pg_error *);
pg_code pg_cuda_stream_new(pg_device *, pg_stream **, pg_error *);
pg_code pg_cuda_stream_sync(pg_device *, pg_stream *, pg_error *);
void pg_cuda_stream_free(pg_device *, pg_stream *);
uint64_t pg_cuda_stream_handle(pg_stream *);
pg_code pg_cuda_event_new(pg_device *, pg_event **, pg_error *);
pg_code pg_cuda_event_record(pg_device *, pg_event *, pg_stream *, pg_error *);
pg_code pg_cuda_event_elapsed(pg_device *, pg_event *, pg_event *, double *, pg_error *);
void pg_cuda_event_free(pg_device *, pg_event *);
bool pg_cuda_event_pending(pg_device *, pg_event *);

/* graph.c */
pg_code pg_cuda_graph_begin(pg_device *, pg_stream *, pg_error *);
pg_code pg_cuda_graph_end(pg_device *, pg_stream *, pg_graph **, pg_error *);
pg_code pg_cuda_graph_launch(pg_device *, pg_graph *, pg_stream *, pg_error *);
void pg_cuda_graph_free(pg_device *, pg_graph *);

#endif
